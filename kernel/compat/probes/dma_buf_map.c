// SPDX-License-Identifier: GPL-2.0-only
/*
 * 6619ccf1bb1d ("dma-buf: Use struct dma_buf_map in dma_buf_vmap()
 * interfaces"), 5.11
 */
#include <linux/dma-buf-map.h>

struct dma_buf_map probe;
