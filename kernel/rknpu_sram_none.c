// SPDX-License-Identifier: GPL-2.0-only
/* Stands in for rknpu_sram.c when on-chip memory is configured out: there is none. */
#include "rknpu_device.h"
#include "rknpu_sram.h"

int rknpu_sram_init(struct rknpu_device *ndev)
{
	return 0;
}

void rknpu_sram_alloc(struct rknpu_sram *sram, size_t size, struct rknpu_sram_block *block)
{
	*block = (struct rknpu_sram_block){};
}

void rknpu_sram_free(struct rknpu_sram *sram, struct rknpu_sram_block *block)
{
}

void rknpu_sram_usage(struct rknpu_sram *sram, u32 *total, u32 *free)
{
	*total = 0;
	*free = 0;
}

void rknpu_sram_show(struct rknpu_sram *sram, struct seq_file *m)
{
}
