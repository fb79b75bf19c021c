/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_FENCE_H
#define RKNPU_FENCE_H

#include <linux/types.h>

struct dma_fence;

struct dma_fence *rknpu_fence_create(void);
bool rknpu_fence_failed(struct dma_fence *fence);
void rknpu_fence_signal(struct dma_fence *fence, int error, u64 now);

#endif
