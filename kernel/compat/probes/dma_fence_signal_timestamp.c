// SPDX-License-Identifier: GPL-2.0-only
/*
 * 5a164ac4dbd2 ("dma-fence: allow signaling drivers to set fence timestamp"), 5.13
 */
#include <linux/dma-fence.h>

void probe(struct dma_fence *fence, ktime_t now);

void probe(struct dma_fence *fence, ktime_t now)
{
	dma_fence_signal_timestamp(fence, now);
}
