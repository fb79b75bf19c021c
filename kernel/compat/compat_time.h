/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_COMPAT_TIME_H
#define RKNPU_COMPAT_TIME_H

#include <linux/completion.h>
#include <linux/dma-fence.h>
#include <linux/freezer.h>
#include <linux/sched.h>
#include <linux/timer.h>

#ifndef HAVE_TIMER_DELETE_SYNC
#define timer_delete_sync(timer)	del_timer_sync(timer)
#endif

/* The older core looks at the clock itself. */
#ifndef HAVE_DMA_FENCE_SIGNAL_TIMESTAMP
#define dma_fence_signal_timestamp(fence, now)	((void)(now), dma_fence_signal(fence))
#endif

/* As wait_for_completion_killable(), but the task may be frozen meanwhile. */
static inline int rknpu_wait_killable_freezable(struct completion *done)
{
#ifdef TASK_FREEZABLE
	return wait_for_completion_state(done, TASK_KILLABLE | TASK_FREEZABLE);
#else
	int ret;

	freezer_do_not_count();
	ret = wait_for_completion_killable(done);
	freezer_count();
	return ret;
#endif
}

#endif
