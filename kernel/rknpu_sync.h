/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_SYNC_H
#define RKNPU_SYNC_H

#include <linux/types.h>

struct dma_fence;
struct drm_file;
struct rknpu_submit_sync;
struct rknpu_sync_out;

int rknpu_sync_check(const struct rknpu_submit_sync *args);
int rknpu_sync_get_waits(struct drm_file *file, const struct rknpu_submit_sync *args,
			 struct dma_fence **waits, u32 *count);
struct rknpu_sync_out *rknpu_sync_prepare(struct drm_file *file,
					  const struct rknpu_submit_sync *args);
void rknpu_sync_attach(struct rknpu_sync_out *out, u32 count, struct dma_fence *fence);
void rknpu_sync_free(struct rknpu_sync_out *out, u32 count);

#endif
