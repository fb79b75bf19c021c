// SPDX-License-Identifier: GPL-2.0-only
/*
 * 9b13df3fb64e ("timers: Rename del_timer_sync() to timer_delete_sync()"), 6.2
 */
#include <linux/timer.h>

int probe(struct timer_list *timer);

int probe(struct timer_list *timer)
{
	return timer_delete_sync(timer);
}
