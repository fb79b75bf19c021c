// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <linux/iommu.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "rknpu_device.h"
#include "rknpu_gem.h"

/**
 * DOC: Memory of objects
 *
 * An object is a run of on-chip memory, which may be empty, and behind it
 * pages: one piece from the DMA allocator, or chunks as large as the page
 * allocator gives them. Chunks keep page tables and scatter lists short. All
 * memory is cleared.
 *
 * Pages are mapped for &rknpu_device.dma_dev as long as the object lives. That
 * gives the bus addresses and, where the NPU does not see the CPU caches, a
 * way to maintain them.
 */

/* 2 MiB: larger pieces are hard to get and save little. */
#define RKNPU_CHUNK_ORDER_MAX	9

static struct rknpu_device *rknpu_gem_device(const struct rknpu_gem_object *bo)
{
	return to_rknpu_device(bo->base.dev);
}

static gfp_t rknpu_gem_gfp(const struct rknpu_gem_object *bo)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN;

	if (bo->flags & RKNPU_MEM_DMA32 || rknpu_gem_device(bo)->soc->dma_bits <= 32)
		gfp |= GFP_DMA32;
	return gfp;
}

static struct page *rknpu_chunk_alloc(gfp_t gfp, unsigned int *order)
{
	struct page *page;

	while (*order) {
		page = alloc_pages(gfp | __GFP_NORETRY, *order);
		if (page)
			return page;
		--*order;
	}
	return alloc_pages(gfp | __GFP_RETRY_MAYFAIL, 0);
}

static void rknpu_chunk_free(struct page *page, unsigned int order)
{
	set_page_private(page, 0);
	__free_pages(page, order);
}

static void rknpu_chunks_free(struct list_head *chunks)
{
	struct page *page, *next;

	list_for_each_entry_safe(page, next, chunks, lru) {
		list_del(&page->lru);
		rknpu_chunk_free(page, page_private(page));
	}
}

/* Collect @size bytes in chunks, the order of each in page_private(). */
static int rknpu_chunks_alloc(struct rknpu_gem_object *bo, size_t size,
			      struct list_head *chunks, unsigned int *count)
{
	size_t limit = dma_max_mapping_size(rknpu_gem_device(bo)->dma_dev);
	unsigned int order = min_t(unsigned int, RKNPU_CHUNK_ORDER_MAX,
				   ilog2(limit >> PAGE_SHIFT));
	size_t pages = size >> PAGE_SHIFT;

	for (*count = 0; pages; ++*count) {
		struct page *page;

		order = min_t(unsigned int, order, ilog2(pages));
		page = rknpu_chunk_alloc(rknpu_gem_gfp(bo), &order);
		if (!page) {
			rknpu_chunks_free(chunks);
			return -ENOMEM;
		}
		set_page_private(page, order);
		list_add_tail(&page->lru, chunks);
		pages -= 1UL << order;
	}
	return 0;
}

static void rknpu_chunks_to_sgt(struct list_head *chunks, struct sg_table *sgt)
{
	struct scatterlist *sg = sgt->sgl;
	struct page *page, *next;

	list_for_each_entry_safe(page, next, chunks, lru) {
		list_del(&page->lru);
		sg_set_page(sg, page, PAGE_SIZE << page_private(page), 0);
		sg = sg_next(sg);
	}
}

static void rknpu_sgt_free_chunks(struct sg_table *sgt)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(sgt, sg, i)
		rknpu_chunk_free(sg_page(sg), get_order(sg->length));
}

static int rknpu_gem_alloc_scattered(struct rknpu_gem_object *bo, struct sg_table *sgt, size_t size)
{
	LIST_HEAD(chunks);
	unsigned int count;
	int ret;

	ret = rknpu_chunks_alloc(bo, size, &chunks, &count);
	if (ret)
		return ret;
	ret = sg_alloc_table(sgt, count, GFP_KERNEL);
	if (ret) {
		rknpu_chunks_free(&chunks);
		return ret;
	}
	rknpu_chunks_to_sgt(&chunks, sgt);
	ret = dma_map_sgtable(rknpu_gem_device(bo)->dma_dev, sgt, DMA_BIDIRECTIONAL, 0);
	if (ret) {
		rknpu_sgt_free_chunks(sgt);
		sg_free_table(sgt);
	}
	return ret;
}

static int rknpu_gem_alloc_contiguous(struct rknpu_gem_object *bo, struct sg_table *sgt,
				      size_t size)
{
	struct device *dev = rknpu_gem_device(bo)->dma_dev;
	struct page *page;
	dma_addr_t addr;
	int ret;

	ret = sg_alloc_table(sgt, 1, GFP_KERNEL);
	if (ret)
		return ret;
	page = dma_alloc_pages(dev, size, &addr, DMA_BIDIRECTIONAL,
			       GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY);
	if (!page) {
		sg_free_table(sgt);
		return -ENOMEM;
	}
	/* It was cleared through the cache. */
	dma_sync_single_for_device(dev, addr, size, DMA_BIDIRECTIONAL);
	sg_set_page(sgt->sgl, page, size, 0);
	sg_dma_address(sgt->sgl) = addr;
	sg_dma_len(sgt->sgl) = size;
	bo->contiguous = true;
	return 0;
}

/* With an IOMMU, contiguous is a wish, and not one for a zone of its own. */
static bool rknpu_gem_wants_one_piece(const struct rknpu_gem_object *bo)
{
	return !rknpu_gem_device(bo)->mmu ||
	       !(bo->flags & (RKNPU_MEM_NON_CONTIGUOUS | RKNPU_MEM_DMA32));
}

static int rknpu_gem_alloc_pages(struct rknpu_gem_object *bo, size_t size)
{
	struct rknpu_device *ndev = rknpu_gem_device(bo);
	struct sg_table *sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	int ret = -ENOMEM;

	if (!sgt)
		return -ENOMEM;
	if (rknpu_gem_wants_one_piece(bo))
		ret = rknpu_gem_alloc_contiguous(bo, sgt, size);
	if (ret && ndev->mmu)
		ret = rknpu_gem_alloc_scattered(bo, sgt, size);
	else if (ret)
		dev_warn_ratelimited(ndev->dev,
				     "RKNPU: no %zu bytes in one piece, as there is no IOMMU: boot with a larger cma= (CmaTotal in /proc/meminfo)\n",
				     size);
	if (ret) {
		kfree(sgt);
		return ret;
	}
	bo->sgt = sgt;
	return 0;
}

static void rknpu_gem_free_pages(struct rknpu_gem_object *bo)
{
	struct device *dev = rknpu_gem_device(bo)->dma_dev;
	struct sg_table *sgt = bo->sgt;

	if (!sgt)
		return;
	if (bo->contiguous) {
		dma_free_pages(dev, sgt->sgl->length, sg_page(sgt->sgl),
			       sg_dma_address(sgt->sgl), DMA_BIDIRECTIONAL);
	} else {
		dma_unmap_sgtable(dev, sgt, DMA_BIDIRECTIONAL, DMA_ATTR_SKIP_CPU_SYNC);
		rknpu_sgt_free_chunks(sgt);
	}
	sg_free_table(sgt);
	kfree(sgt);
	bo->sgt = NULL;
}

/* The CPU reads task arrays through a cached or combining mapping: not in SRAM. */
static bool rknpu_gem_wants_sram(const struct rknpu_gem_object *bo)
{
	return bo->flags & RKNPU_MEM_TRY_ALLOC_SRAM &&
	       !(bo->flags & RKNPU_MEM_KERNEL_MAPPING) && rknpu_gem_device(bo)->mmu;
}

/**
 * rknpu_gem_alloc() - get the memory of a new object
 * @bo: the object, size and flags set
 * @sram_size: on-chip bytes wanted, 0 for as many as possible
 *
 * Return: 0 or a negative error code
 */
int rknpu_gem_alloc(struct rknpu_gem_object *bo, size_t sram_size)
{
	struct rknpu_sram *sram = &rknpu_gem_device(bo)->sram;
	size_t size = bo->base.size;
	int ret = 0;

	if (rknpu_gem_wants_sram(bo)) {
		rknpu_sram_alloc(sram, sram_size ? min(sram_size, size) : size, &bo->sram);
		size -= rknpu_sram_block_size(&bo->sram);
	}
	if (size)
		ret = rknpu_gem_alloc_pages(bo, size);
	if (ret)
		rknpu_sram_free(sram, &bo->sram);
	return ret;
}

void rknpu_gem_free_memory(struct rknpu_gem_object *bo)
{
	if (bo->vmapped)
		vunmap(bo->vaddr);
	bo->vaddr = NULL;
	rknpu_gem_free_pages(bo);
	rknpu_sram_free(&rknpu_gem_device(bo)->sram, &bo->sram);
}

static void rknpu_gem_sync_piece(struct device *dev, dma_addr_t addr, size_t size, u32 flags)
{
	if (flags & RKNPU_MEM_SYNC_TO_DEVICE)
		dma_sync_single_for_device(dev, addr, size, DMA_TO_DEVICE);
	if (flags & RKNPU_MEM_SYNC_FROM_DEVICE)
		dma_sync_single_for_cpu(dev, addr, size, DMA_FROM_DEVICE);
}

/**
 * rknpu_gem_sync() - maintain the CPU caches
 * @bo: the object
 * @offset: first byte
 * @size: number of bytes; the range was checked
 * @flags: RKNPU_MEM_SYNC flags
 *
 * On-chip memory is never mapped cached; the barriers of the mapping's own
 * accesses are enough for it.
 */
void rknpu_gem_sync(struct rknpu_gem_object *bo, u64 offset, u64 size, u32 flags)
{
	struct device *dev = rknpu_gem_device(bo)->dma_dev;
	u64 end = offset + size, pos = rknpu_sram_block_size(&bo->sram);
	struct scatterlist *sg;
	unsigned int i;

	if (!bo->sgt)
		return;
	if (!pos && bo->sgt->nents == 1) {
		rknpu_gem_sync_piece(dev, sg_dma_address(bo->sgt->sgl) + offset, size, flags);
		return;
	}
	for_each_sgtable_dma_sg(bo->sgt, sg, i) {
		u64 from = max(offset, pos);
		u64 to = min(end, pos + sg_dma_len(sg));

		if (from < to)
			rknpu_gem_sync_piece(dev, sg_dma_address(sg) + (from - pos), to - from,
					     flags);
		pos += sg_dma_len(sg);
		if (pos >= end)
			break;
	}
}

/*
 * The attributes of all CPU mappings must agree. Uncached means normal memory
 * that is not cached, as the DMA API would map it: programs use it with any
 * alignment, which device memory does not allow.
 */
static pgprot_t rknpu_gem_prot(const struct rknpu_gem_object *bo, pgprot_t prot)
{
	if (bo->flags & RKNPU_MEM_CACHEABLE && !bo->sram.chunks)
		return prot;
	return pgprot_writecombine(prot);
}

static void *rknpu_gem_vmap_pages(struct rknpu_gem_object *bo)
{
	pgprot_t prot = bo->flags & RKNPU_MEM_CACHEABLE ?
			PAGE_KERNEL : pgprot_writecombine(PAGE_KERNEL);
	unsigned int i, n = bo->base.size >> PAGE_SHIFT, k = 0;
	struct page **pages = kvmalloc_array(n, sizeof(*pages), GFP_KERNEL);
	struct scatterlist *sg;
	size_t offset;
	void *vaddr;

	if (!pages)
		return NULL;
	for_each_sgtable_sg(bo->sgt, sg, i) {
		for (offset = 0; offset < sg->length && k < n; offset += PAGE_SIZE)
			pages[k++] = pfn_to_page(page_to_pfn(sg_page(sg)) + PHYS_PFN(offset));
	}
	vaddr = vmap(pages, n, VM_MAP, prot);
	kvfree(pages);
	return vaddr;
}

/**
 * rknpu_gem_vmap() - make a kernel mapping with the attributes of the user's
 * @bo: an object without on-chip memory
 * @vmapped: set if the result must be given to vunmap()
 *
 * Return: its address, or NULL
 */
void *rknpu_gem_vmap(struct rknpu_gem_object *bo, bool *vmapped)
{
	struct page *page = sg_page(bo->sgt->sgl);

	*vmapped = false;
	if (bo->flags & RKNPU_MEM_CACHEABLE && bo->sgt->orig_nents == 1 && !PageHighMem(page))
		return page_address(page);
	*vmapped = true;
	return rknpu_gem_vmap_pages(bo);
}

/* For a dump, which must not add to the trouble: only plain memory of ours. */
int rknpu_gem_read(struct rknpu_gem_object *bo, u64 offset, u64 *value)
{
	struct scatterlist *sg;
	struct page *page;
	unsigned int i;
	void *vaddr;

	if (bo->sram.chunks || rknpu_gem_is_imported(bo) || offset % sizeof(*value))
		return -EFAULT;
	for_each_sgtable_sg(bo->sgt, sg, i) {
		if (offset < sg->length) {
			page = pfn_to_page(page_to_pfn(sg_page(sg)) + PHYS_PFN(offset));
			vaddr = kmap_local_page(page);
			*value = *(u64 *)(vaddr + offset_in_page(offset));
			kunmap_local(vaddr);
			return 0;
		}
		offset -= sg->length;
	}
	return -EFAULT;
}

/* Map one physical run at @addr, leaving out its first @skip bytes. */
static int rknpu_gem_remap_run(struct vm_area_struct *vma, unsigned long *addr, u64 *skip,
			       phys_addr_t phys, size_t size)
{
	size_t cut = min_t(u64, *skip, size);
	int ret;

	*skip -= cut;
	size = min_t(size_t, size - cut, vma->vm_end - *addr);
	if (!size)
		return 0;
	ret = remap_pfn_range(vma, *addr, PHYS_PFN(phys + cut), size, vma->vm_page_prot);
	*addr += size;
	return ret;
}

/**
 * rknpu_gem_remap() - fill a mapping in user space
 * @bo: the object
 * @vma: the mapping
 * @skip: offset of the mapping in the object
 *
 * Return: 0 or a negative error code
 */
int rknpu_gem_remap(struct rknpu_gem_object *bo, struct vm_area_struct *vma, u64 skip)
{
	unsigned long addr = vma->vm_start;
	struct scatterlist *sg;
	unsigned int i;
	int ret = 0;

	vm_flags_set(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_page_prot = rknpu_gem_prot(bo, vm_get_page_prot(vma->vm_flags));
	if (bo->sram.chunks)
		ret = rknpu_gem_remap_run(vma, &addr, &skip, rknpu_sram_block_base(&bo->sram),
					  rknpu_sram_block_size(&bo->sram));
	if (!bo->sgt)
		return ret;
	for_each_sgtable_sg(bo->sgt, sg, i) {
		if (ret || addr >= vma->vm_end)
			break;
		ret = rknpu_gem_remap_run(vma, &addr, &skip, page_to_phys(sg_page(sg)), sg->length);
	}
	return ret;
}

/* A scatter list of the same pages, for another device; not with SRAM. */
struct sg_table *rknpu_gem_copy_sgt(struct rknpu_gem_object *bo)
{
	struct scatterlist *from, *to;
	struct sg_table *sgt;
	unsigned int i;
	int ret;

	if (bo->sram.chunks)
		return ERR_PTR(-EOPNOTSUPP);
	sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	if (!sgt)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table(sgt, bo->sgt->orig_nents, GFP_KERNEL);
	if (ret) {
		kfree(sgt);
		return ERR_PTR(ret);
	}
	to = sgt->sgl;
	for_each_sgtable_sg(bo->sgt, from, i) {
		sg_set_page(to, sg_page(from), from->length, 0);
		to = sg_next(to);
	}
	return sgt;
}
