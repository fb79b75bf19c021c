// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bitmap.h>
#include <linux/device.h>
#include <linux/io.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/seq_file.h>

#include <drm/drm_managed.h>

#include "rknpu_device.h"
#include "rknpu_sram.h"

/**
 * DOC: On-chip memory
 *
 * Firmware names parts of an mmio-sram for the NPU. They are handed out in
 * chunks of 4 KiB, first fit. A request takes what it can get: the caller puts
 * the rest of its object elsewhere. Chunks are cleared when they are handed
 * out, so that no process reads what another one left.
 */

/* A neighbour in the same SRAM that claims part of @res, or NULL. */
static struct device_node *rknpu_sram_neighbour(struct device_node *np,
						const struct resource *res)
{
	struct device_node *parent = of_get_parent(np);
	struct device_node *child;
	struct resource other;

	for_each_available_child_of_node(parent, child) {
		if (child == np || of_address_to_resource(child, 0, &other))
			continue;
		if (resource_overlaps(&other, (struct resource *)res))
			break;
	}
	of_node_put(parent);
	return child;
}

static int rknpu_sram_add(struct rknpu_device *ndev, const struct resource *res)
{
	struct rknpu_sram *sram = &ndev->sram;
	struct rknpu_sram_region *region = &sram->regions[sram->num_regions];
	phys_addr_t start = ALIGN(res->start, PAGE_SIZE);
	phys_addr_t end = ALIGN_DOWN(res->end + 1, PAGE_SIZE);

	if (end <= start) {
		dev_warn(ndev->dev, "RKNPU: sram region %pR is smaller than a page\n", res);
		return 0;
	}
	region->base = start;
	region->chunks = (end - start) / RKNPU_SRAM_CHUNK;
	region->regs = devm_ioremap_wc(ndev->dev, start, end - start);
	region->map = drmm_kcalloc(&ndev->drm, BITS_TO_LONGS(region->chunks),
				   sizeof(*region->map), GFP_KERNEL);
	if (!region->regs || !region->map)
		return -ENOMEM;

	sram->num_regions++;
	sram->total += region->chunks;
	sram->free += region->chunks;
	dev_info(ndev->dev, "RKNPU: sram region: [%pa, %pa), sram size: %#llx\n",
		 &start, &end, (u64)(end - start));
	return 0;
}

static int rknpu_sram_add_node(struct rknpu_device *ndev, struct device_node *np)
{
	struct device_node *neighbour;
	struct resource res;

	if (of_address_to_resource(np, 0, &res)) {
		dev_warn(ndev->dev, "RKNPU: %pOF has no usable reg, its sram is not used\n", np);
		return 0;
	}
	neighbour = rknpu_sram_neighbour(np, &res);
	if (neighbour) {
		dev_warn(ndev->dev, "RKNPU: sram %pR overlaps %pOF and is not used\n",
			 &res, neighbour);
		of_node_put(neighbour);
		return 0;
	}
	return rknpu_sram_add(ndev, &res);
}

/**
 * rknpu_sram_init() - take over the regions that firmware names
 * @ndev: the NPU
 *
 * Having none, or one that cannot be used, is not an error.
 *
 * Return: 0 or a negative error code
 */
int rknpu_sram_init(struct rknpu_device *ndev)
{
	struct device_node *np;
	unsigned int i;
	int ret;

	mutex_init(&ndev->sram.lock);
	/* User space maps pages, and they must not hold a neighbour's chunks. */
	if (PAGE_SIZE > RKNPU_SRAM_CHUNK) {
		dev_info(ndev->dev, "RKNPU: on-chip memory needs a kernel with pages of 4 KiB: it is left out\n");
		return 0;
	}
	for (i = 0; i < RKNPU_SRAM_REGIONS; i++) {
		np = of_parse_phandle(ndev->dev->of_node, "rockchip,sram", i);
		if (!np)
			break;
		ret = rknpu_sram_add_node(ndev, np);
		of_node_put(np);
		if (ret)
			return ret;
	}
	return 0;
}

/* Longest free run of a region, at most @want chunks; 0 if it is full. */
static unsigned int rknpu_sram_find(const struct rknpu_sram_region *region,
				    unsigned int want, unsigned int *first)
{
	unsigned int start, end = 0, best = 0;

	while (best < want) {
		start = find_next_zero_bit(region->map, region->chunks, end);
		if (start >= region->chunks)
			break;
		end = find_next_bit(region->map, region->chunks, start);
		if (end - start > best) {
			best = end - start;
			*first = start;
		}
	}
	return min(best, want);
}

/**
 * rknpu_sram_alloc() - get on-chip memory, as much as there is in one piece
 * @sram: the on-chip memory
 * @size: bytes wanted
 * @block: the result, empty if there was nothing
 */
void rknpu_sram_alloc(struct rknpu_sram *sram, size_t size, struct rknpu_sram_block *block)
{
	unsigned int want = min_t(size_t, DIV_ROUND_UP(size, RKNPU_SRAM_CHUNK), sram->total);
	unsigned int i, chunks, first = 0;

	*block = (struct rknpu_sram_block){};
	mutex_lock(&sram->lock);
	for (i = 0; i < sram->num_regions; i++) {
		chunks = rknpu_sram_find(&sram->regions[i], want, &first);
		if (chunks <= block->chunks)
			continue;
		block->region = &sram->regions[i];
		block->first = first;
		block->chunks = chunks;
	}
	if (block->region) {
		bitmap_set(block->region->map, block->first, block->chunks);
		sram->free -= block->chunks;
	}
	mutex_unlock(&sram->lock);

	if (block->region)
		memset_io(block->region->regs + block->first * RKNPU_SRAM_CHUNK, 0,
			  rknpu_sram_block_size(block));
}

void rknpu_sram_free(struct rknpu_sram *sram, struct rknpu_sram_block *block)
{
	if (!block->region)
		return;
	mutex_lock(&sram->lock);
	bitmap_clear(block->region->map, block->first, block->chunks);
	sram->free += block->chunks;
	mutex_unlock(&sram->lock);
	*block = (struct rknpu_sram_block){};
}

/* Sizes in bytes. */
void rknpu_sram_usage(struct rknpu_sram *sram, u32 *total, u32 *free)
{
	mutex_lock(&sram->lock);
	*total = sram->total * RKNPU_SRAM_CHUNK;
	*free = sram->free * RKNPU_SRAM_CHUNK;
	mutex_unlock(&sram->lock);
}

static void rknpu_sram_show_region(const struct rknpu_sram_region *region, struct seq_file *m)
{
	unsigned int i;

	for (i = 0; i < region->chunks; i++) {
		if (i % 32 == 0)
			seq_printf(m, "[%03u] [", i / 32);
		seq_putc(m, test_bit(i, region->map) ? '*' : '.');
		if (i % 32 == 31 || i + 1 == region->chunks)
			seq_puts(m, "]\n");
	}
}

/* The text is an interface: programs parse it. */
void rknpu_sram_show(struct rknpu_sram *sram, struct seq_file *m)
{
	unsigned int i;

	if (!sram->total)
		return;
	mutex_lock(&sram->lock);
	seq_puts(m, "SRAM bitmap: \"*\" - used, \".\" - free (1bit = 4KB)\n");
	for (i = 0; i < sram->num_regions; i++)
		rknpu_sram_show_region(&sram->regions[i], m);
	seq_printf(m, "SRAM total size: %u, used: %u, free: %u\n",
		   sram->total * RKNPU_SRAM_CHUNK,
		   (sram->total - sram->free) * RKNPU_SRAM_CHUNK,
		   sram->free * RKNPU_SRAM_CHUNK);
	mutex_unlock(&sram->lock);
}
