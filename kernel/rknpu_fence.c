// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-fence.h>
#include <linux/dma-fence-chain.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "rknpu_fence.h"

/**
 * struct rknpu_fence - end of a job
 * @base: the fence
 * @lock: the fence's own lock
 *
 * It may outlive the job, the file and the device, but not the module, whose
 * code it needs. Jobs do not end in order, so each fence has its own context.
 */
struct rknpu_fence {
	struct dma_fence base;
	spinlock_t lock; /* protects @base */
};

static const char *rknpu_fence_name(struct dma_fence *fence)
{
	return "rknpu";
}

static void rknpu_fence_release(struct dma_fence *fence)
{
	dma_fence_free(fence);
	module_put(THIS_MODULE);
}

static const struct dma_fence_ops rknpu_fence_ops = {
	.get_driver_name = rknpu_fence_name,
	.get_timeline_name = rknpu_fence_name,
	.release = rknpu_fence_release,
};

/**
 * rknpu_fence_create() - make a fence that has not signalled
 *
 * Return: the fence, or NULL
 */
struct dma_fence *rknpu_fence_create(void)
{
	struct rknpu_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	if (!fence)
		return NULL;
	__module_get(THIS_MODULE);
	spin_lock_init(&fence->lock);
	dma_fence_init(&fence->base, &rknpu_fence_ops, &fence->lock,
		       dma_fence_context_alloc(1), 1);
	return &fence->base;
}

/**
 * rknpu_fence_failed() - has what a fence stands for failed?
 * @fence: a fence that has signalled
 *
 * A node of a timeline signals without an error of its own.
 */
bool rknpu_fence_failed(struct dma_fence *fence)
{
	struct dma_fence_chain *chain = to_dma_fence_chain(fence);

	return dma_fence_get_status(chain ? chain->fence : fence) < 0;
}

/* @error: 0 or a negative error code that waiters can read; @now: the time, in ns */
void rknpu_fence_signal(struct dma_fence *fence, int error, u64 now)
{
	if (error)
		dma_fence_set_error(fence, error);
	dma_fence_signal_timestamp(fence, ns_to_ktime(now));
}
