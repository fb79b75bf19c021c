// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-fence-chain.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_syncobj.h>

#include <rknpu_drm.h>

#include "rknpu_sync.h"

/**
 * struct rknpu_sync_out - a point to be signalled
 * @syncobj: the sync object
 * @chain: node of its timeline, or NULL without one
 * @point: the point
 */
struct rknpu_sync_out {
	struct drm_syncobj *syncobj;
	struct dma_fence_chain *chain;
	u64 point;
};

/* What can be said before anything is read or allocated. */
int rknpu_sync_check(const struct rknpu_submit_sync *args)
{
	if (args->pad || args->stride != sizeof(struct rknpu_sync))
		return -EINVAL;
	if (args->in_count > RKNPU_MAX_SYNCS || args->out_count > RKNPU_MAX_SYNCS)
		return -EINVAL;
	return args->in_count && args->submit.flags & RKNPU_JOB_FENCE_IN ? -EINVAL : 0;
}

static int rknpu_sync_read(u64 array, u32 index, struct rknpu_sync *sync)
{
	const struct rknpu_sync __user *from = u64_to_user_ptr(array);

	if (copy_from_user(sync, from + index, sizeof(*sync)))
		return -EFAULT;
	return sync->flags ? -EINVAL : 0;
}

static int rknpu_sync_find_fence(struct drm_file *file, u64 array, u32 index,
				 struct dma_fence **fence)
{
	struct rknpu_sync sync;
	int ret = rknpu_sync_read(array, index, &sync);

	if (ret)
		return ret;
	return drm_syncobj_find_fence(file, sync.handle, sync.point, 0, fence);
}

/**
 * rknpu_sync_get_waits() - the fences of all points to wait for
 * @file: the open file
 * @args: the request, with at least one such point
 * @waits: room for as many fences
 * @count: number of fences found, also on failure
 *
 * Return: 0 or a negative error code
 */
int rknpu_sync_get_waits(struct drm_file *file, const struct rknpu_submit_sync *args,
			 struct dma_fence **waits, u32 *count)
{
	int ret;

	for (*count = 0; *count < args->in_count; ++*count) {
		ret = rknpu_sync_find_fence(file, args->in_syncs, *count, &waits[*count]);
		if (ret)
			return ret;
	}
	return 0;
}

static int rknpu_sync_prepare_one(struct drm_file *file, u64 array, u32 index,
				  struct rknpu_sync_out *out)
{
	struct rknpu_sync sync;
	int ret = rknpu_sync_read(array, index, &sync);

	if (ret)
		return ret;
	out->point = sync.point;
	out->syncobj = drm_syncobj_find(file, sync.handle);
	if (!out->syncobj)
		return -ENOENT;
	if (!sync.point)
		return 0;
	out->chain = kzalloc(sizeof(*out->chain), GFP_KERNEL);
	return out->chain ? 0 : -ENOMEM;
}

/**
 * rknpu_sync_prepare() - get hold of all points to be signalled
 * @file: the open file
 * @args: the request, with at least one such point
 *
 * Return: an array for rknpu_sync_attach(), or an error pointer
 */
struct rknpu_sync_out *rknpu_sync_prepare(struct drm_file *file,
					  const struct rknpu_submit_sync *args)
{
	struct rknpu_sync_out *out = kcalloc(args->out_count, sizeof(*out), GFP_KERNEL);
	int ret;
	u32 i;

	if (!out)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < args->out_count; i++) {
		ret = rknpu_sync_prepare_one(file, args->out_syncs, i, &out[i]);
		if (ret) {
			rknpu_sync_free(out, args->out_count);
			return ERR_PTR(ret);
		}
	}
	return out;
}

/* The job is queued: let the points stand for its fence. Cannot fail. */
void rknpu_sync_attach(struct rknpu_sync_out *out, u32 count, struct dma_fence *fence)
{
	u32 i;

	for (i = 0; i < count; i++) {
		if (out[i].chain)
			drm_syncobj_add_point(out[i].syncobj, out[i].chain, fence, out[i].point);
		else
			drm_syncobj_replace_fence(out[i].syncobj, fence);
		out[i].chain = NULL;
	}
}

void rknpu_sync_free(struct rknpu_sync_out *out, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		kfree(out[i].chain);
		if (out[i].syncobj)
			drm_syncobj_put(out[i].syncobj);
	}
	kfree(out);
}
