/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_SRAM_H
#define RKNPU_SRAM_H

#include <linux/mutex.h>
#include <linux/types.h>

struct rknpu_device;
struct seq_file;

/* One per core is the most that a chip could make use of. */
#define RKNPU_SRAM_REGIONS	3
#define RKNPU_SRAM_CHUNK	4096

/**
 * struct rknpu_sram_region - one carve-out of on-chip memory
 * @base: physical address
 * @regs: kernel mapping, write-combined
 * @chunks: number of chunks
 * @map: one bit per chunk, set when used
 */
struct rknpu_sram_region {
	phys_addr_t base;
	void __iomem *regs;
	unsigned int chunks;
	unsigned long *map;
};

/**
 * struct rknpu_sram - all on-chip memory
 * @lock: protects the bitmaps and @free
 * @regions: the carve-outs
 * @num_regions: number of @regions
 * @total: chunks in all regions
 * @free: chunks not in use
 */
struct rknpu_sram {
	struct mutex lock; /* protects the bitmaps and @free */
	struct rknpu_sram_region regions[RKNPU_SRAM_REGIONS];
	unsigned int num_regions;
	unsigned int total;
	unsigned int free;
};

/**
 * struct rknpu_sram_block - a run of chunks
 * @region: where it lies, NULL for an empty block
 * @first: first chunk
 * @chunks: number of chunks
 */
struct rknpu_sram_block {
	struct rknpu_sram_region *region;
	unsigned int first;
	unsigned int chunks;
};

static inline size_t rknpu_sram_block_size(const struct rknpu_sram_block *block)
{
	return (size_t)block->chunks * RKNPU_SRAM_CHUNK;
}

static inline phys_addr_t rknpu_sram_block_base(const struct rknpu_sram_block *block)
{
	return block->region->base + (phys_addr_t)block->first * RKNPU_SRAM_CHUNK;
}

int rknpu_sram_init(struct rknpu_device *ndev);
void rknpu_sram_alloc(struct rknpu_sram *sram, size_t size, struct rknpu_sram_block *block);
void rknpu_sram_free(struct rknpu_sram *sram, struct rknpu_sram_block *block);
void rknpu_sram_usage(struct rknpu_sram *sram, u32 *total, u32 *free);
void rknpu_sram_show(struct rknpu_sram *sram, struct seq_file *m);

#endif
