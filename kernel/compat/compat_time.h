/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_COMPAT_TIME_H
#define RKNPU_COMPAT_TIME_H

#include <linux/timer.h>

#ifndef HAVE_TIMER_DELETE_SYNC
#define timer_delete_sync(timer)	del_timer_sync(timer)
#endif

#endif
