// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "rknpu_device.h"
#include "rknpu_gem.h"
#include "rknpu_job.h"
#include "rknpu_mmu.h"
#include "rknpu_vm.h"

/**
 * DOC: Address spaces
 *
 * With an IOMMU each open file has address spaces of its own, so that no
 * client can reach the memory of another; rknpu_mmu.c says which one the cores
 * see.
 *
 * Programs that hand device addresses to each other need the module parameter
 * shared_domain: then files have their spaces of the same number in common.
 *
 * The DMA API is not used to make device addresses: it would put them into the
 * one default domain of the NPU. Memory is mapped for a device without IOMMU,
 * which gives bus addresses and cache maintenance; these are what the page
 * table points to.
 *
 * The page table is filled when a job is submitted, and cleared when that costs
 * little. In a space that is attached, each piece of memory that enters the
 * table costs two register writes per bank, and each page that leaves it one;
 * but taking the space away and back again costs the same for any number of
 * them.
 *
 * Without an IOMMU a device address is a bus address, and an address space is
 * only the list of what the file may name.
 */

static bool rknpu_shared_domain;
module_param_named(shared_domain, rknpu_shared_domain, bool, 0444);
MODULE_PARM_DESC(shared_domain,
		 "all clients share the address spaces, as with the vendor's driver (default: no)");

/* Never 0, which means "none"; and room above, so that ends do not wrap. */
#define RKNPU_VM_START		SZ_64K
#define RKNPU_VM_END		(SZ_4G - SZ_4K)

/* Two pages in four banks: few enough register writes to be paid at once. */
#define RKNPU_VM_CHEAP		SZ_8K

/*
 * Taking the space away and back again takes 88 register writes in four banks,
 * because the way to and from another space leads through the default one. So
 * many pieces can be mapped, and so many pages be unmapped, for the same price.
 */
#define RKNPU_VM_CHEAP_PIECES	11
#define RKNPU_VM_CHEAP_SRAM	(22 * SZ_4K)

/* What may stay mapped for nothing, until it is time to unmap it all. */
#define RKNPU_VM_RETIRED_MAX	SZ_32M

/* What one entry of the first level table covers: more alignment gains nothing. */
#define RKNPU_VM_ALIGN_MAX	SZ_4M

static int rknpu_vm_fault(struct iommu_domain *domain, struct device *dev,
			  unsigned long iova, int flags, void *token)
{
	struct rknpu_vm *vm = token;

	rknpu_job_page_fault(vm, iova, flags & IOMMU_FAULT_WRITE);
	return 0;
}

static int rknpu_vm_init_domain(struct rknpu_vm *vm)
{
	struct iommu_domain *domain;

	if (!vm->ndev->mmu)
		return 0;
	domain = iommu_paging_domain_alloc(vm->ndev->dev);
	if (IS_ERR(domain))
		return PTR_ERR(domain);
	iommu_set_fault_handler(domain, rknpu_vm_fault, vm);
	vm->domain = domain;
	return 0;
}

static struct rknpu_vm *rknpu_vm_create(struct rknpu_device *ndev)
{
	struct rknpu_vm *vm = kzalloc(sizeof(*vm), GFP_KERNEL);
	int ret;

	if (!vm)
		return ERR_PTR(-ENOMEM);
	kref_init(&vm->ref);
	vm->ndev = ndev;
	mutex_init(&vm->lock);
	INIT_LIST_HEAD(&vm->fresh);
	INIT_LIST_HEAD(&vm->retired);
	INIT_HLIST_HEAD(&vm->jobs);
	ret = rknpu_vm_init_domain(vm);
	if (ret) {
		kfree(vm);
		return ERR_PTR(ret);
	}
	drm_mm_init(&vm->mm, RKNPU_VM_START, RKNPU_VM_END - RKNPU_VM_START);
	return vm;
}

struct rknpu_vm *rknpu_vm_get(struct rknpu_vm *vm)
{
	kref_get(&vm->ref);
	return vm;
}

/**
 * rknpu_vm_open() - the address space that a file is to use
 * @ndev: the NPU
 * @domain: its number in the file
 *
 * Return: the address space with one reference, or an error pointer
 */
struct rknpu_vm *rknpu_vm_open(struct rknpu_device *ndev, u32 domain)
{
	struct rknpu_vm *vm;

	if (!rknpu_shared_domain)
		return rknpu_vm_create(ndev);

	mutex_lock(&ndev->vms_lock);
	vm = ndev->vms[domain];
	if (vm && kref_get_unless_zero(&vm->ref))
		goto out_unlock;
	vm = rknpu_vm_create(ndev);
	if (!IS_ERR(vm)) {
		vm->shared = true;
		ndev->vms[domain] = vm;
	}
out_unlock:
	mutex_unlock(&ndev->vms_lock);
	return vm;
}

static void rknpu_vm_unshare(struct rknpu_vm *vm)
{
	struct rknpu_device *ndev = vm->ndev;
	unsigned int i;

	mutex_lock(&ndev->vms_lock);
	for (i = 0; i < ARRAY_SIZE(ndev->vms); i++) {
		if (ndev->vms[i] == vm)
			ndev->vms[i] = NULL;
	}
	mutex_unlock(&ndev->vms_lock);
}

static void rknpu_vm_release(struct kref *ref)
{
	struct rknpu_vm *vm = container_of(ref, struct rknpu_vm, ref);

	if (vm->shared)
		rknpu_vm_unshare(vm);
	if (vm->domain) {
		rknpu_mmu_forget(vm);
		iommu_domain_free(vm->domain);
	}
	drm_mm_takedown(&vm->mm);
	mutex_destroy(&vm->lock);
	kfree(vm);
}

void rknpu_vm_put(struct rknpu_vm *vm)
{
	kref_put(&vm->ref, rknpu_vm_release);
}

/* The mapping at @addr that covers @size bytes, or NULL. */
static struct rknpu_mapping *rknpu_vm_find(struct rknpu_vm *vm, u64 addr, u64 size)
{
	struct drm_mm_node *node;

	lockdep_assert_held(&vm->lock);

	if (addr >= RKNPU_VM_END || size > RKNPU_VM_END - addr)
		return NULL;
	drm_mm_for_each_node_in_range(node, &vm->mm, addr, addr + size) {
		if (node->start <= addr && node->start + node->size >= addr + size)
			return container_of(node, struct rknpu_mapping, node);
		break;
	}
	return NULL;
}

/**
 * rknpu_vm_locate() - find the object that a device address belongs to
 * @vm: the address space
 * @addr: the address
 * @size: number of bytes that must lie inside the same object
 * @span: the result
 *
 * Return: true if there is such an object
 */
bool rknpu_vm_locate(struct rknpu_vm *vm, u64 addr, u64 size, struct rknpu_span *span)
{
	struct rknpu_mapping *mapping;
	bool found;

	mutex_lock(&vm->lock);
	mapping = rknpu_vm_find(vm, addr, size);
	found = mapping && !mapping->retired;
	if (found)
		*span = (struct rknpu_span){ vm, mapping->node.start,
					     mapping->node.start + mapping->node.size };
	mutex_unlock(&vm->lock);
	return found;
}

/**
 * rknpu_vm_read() - read what the NPU would read, for a dump
 * @vm: the address space
 * @addr: device address, 8 byte aligned
 * @value: the result
 *
 * Return: 0, or -EFAULT if there is no memory that the CPU can read
 */
int rknpu_vm_read(struct rknpu_vm *vm, u64 addr, u64 *value)
{
	struct rknpu_mapping *mapping;
	int ret = -EFAULT;

	mutex_lock(&vm->lock);
	mapping = rknpu_vm_find(vm, addr, sizeof(*value));
	if (mapping)
		ret = rknpu_gem_read(mapping->bo, addr - mapping->node.start, value);
	mutex_unlock(&vm->lock);
	return ret;
}

/* Point the page table to @size bytes at @phys, behind those done already. */
static int rknpu_mapping_add(struct rknpu_mapping *mapping, phys_addr_t phys, u64 size, u64 *done)
{
	int ret;

	size = min(size, mapping->node.size - *done);
	if (!size)
		return 0;
	ret = iommu_map(mapping->vm->domain, mapping->node.start + *done, phys, size,
			IOMMU_READ | IOMMU_WRITE, GFP_KERNEL);
	if (!ret)
		*done += size;
	return ret;
}

static int rknpu_mapping_fill(struct rknpu_mapping *mapping)
{
	struct rknpu_gem_object *bo = mapping->bo;
	struct scatterlist *sg;
	u64 done = 0;
	unsigned int i;
	int ret = 0;

	lockdep_assert_held(&mapping->vm->lock);

	if (bo->sram.chunks)
		ret = rknpu_mapping_add(mapping, rknpu_sram_block_base(&bo->sram),
					rknpu_sram_block_size(&bo->sram), &done);
	if (bo->sgt) {
		for_each_sgtable_dma_sg(bo->sgt, sg, i) {
			if (ret)
				break;
			ret = rknpu_mapping_add(mapping, sg_dma_address(sg), sg_dma_len(sg),
						&done);
		}
	}
	if (!ret && done != mapping->node.size)
		ret = -EINVAL;
	if (ret && done)
		iommu_unmap(mapping->vm->domain, mapping->node.start, done);
	return ret;
}

/* Without an IOMMU the address is given; it must be one piece in reach. */
static int rknpu_mapping_insert_direct(struct rknpu_mapping *mapping)
{
	struct rknpu_gem_object *bo = mapping->bo;
	struct sg_table *sgt = bo->sgt;

	if (!sgt || sgt->nents != 1 || sg_dma_len(sgt->sgl) < bo->base.size)
		return -EINVAL;
	mapping->node.start = sg_dma_address(sgt->sgl);
	mapping->node.size = bo->base.size;
	return drm_mm_reserve_node(&mapping->vm->mm, &mapping->node);
}

/* Is it worth taking the space from the cores to map what is new? */
static bool rknpu_vm_fresh_is_costly(struct rknpu_vm *vm)
{
	struct rknpu_mapping *mapping;
	unsigned int pieces = 0;

	if (!rknpu_mmu_is_live(vm))
		return false;
	mutex_lock(&vm->lock);
	list_for_each_entry(mapping, &vm->fresh, vm_entry) {
		pieces += !!mapping->bo->sram.chunks;
		pieces += mapping->bo->sgt ? mapping->bo->sgt->nents : 0;
	}
	mutex_unlock(&vm->lock);
	return pieces > RKNPU_VM_CHEAP_PIECES;
}

/**
 * rknpu_vm_commit_fresh() - bring the page table up to date for a job
 * @vm: the address space
 *
 * Return: 0 or a negative error code
 */
int rknpu_vm_commit_fresh(struct rknpu_vm *vm)
{
	struct rknpu_mapping *mapping, *next;
	int ret = 0;

	if (rknpu_vm_fresh_is_costly(vm))
		rknpu_mmu_forget(vm);
	mutex_lock(&vm->lock);
	list_for_each_entry_safe(mapping, next, &vm->fresh, vm_entry) {
		ret = rknpu_mapping_fill(mapping);
		if (ret)
			break;
		list_del_init(&mapping->vm_entry);
	}
	mutex_unlock(&vm->lock);
	return ret;
}

static void rknpu_mapping_free(struct rknpu_mapping *mapping)
{
	drm_gem_object_put(&mapping->bo->base);
	rknpu_vm_put(mapping->vm);
	kfree(mapping);
}

/* Take a retired mapping out of the address space. */
static void rknpu_mapping_unmap(struct rknpu_mapping *mapping)
{
	struct rknpu_vm *vm = mapping->vm;

	lockdep_assert_held(&vm->lock);

	if (vm->domain)
		iommu_unmap(vm->domain, mapping->node.start, mapping->node.size);
	drm_mm_remove_node(&mapping->node);
	vm->retired_size -= mapping->bo->base.size;
}

/* Is it worth the register writes to unmap it while the cores see it? */
static bool rknpu_mapping_is_cheap(const struct rknpu_mapping *mapping)
{
	return mapping->bo->base.size <= RKNPU_VM_CHEAP || mapping->bo->sram.chunks;
}

/* Free retired mappings that no job can use; only the cheap ones unless @all. */
static void rknpu_vm_free_retired(struct rknpu_vm *vm, bool all)
{
	struct rknpu_mapping *mapping, *next;
	LIST_HEAD(dead);
	u64 oldest;

	mutex_lock(&vm->lock);
	oldest = rknpu_job_oldest(vm);
	list_for_each_entry_safe(mapping, next, &vm->retired, vm_entry) {
		if (mapping->retired_at >= oldest)
			break;
		if (!all && !rknpu_mapping_is_cheap(mapping))
			continue;
		rknpu_mapping_unmap(mapping);
		list_move_tail(&mapping->vm_entry, &dead);
	}
	mutex_unlock(&vm->lock);

	list_for_each_entry_safe(mapping, next, &dead, vm_entry)
		rknpu_mapping_free(mapping);
}

/* On-chip memory is too scarce to wait for a cheaper moment: is there some to free? */
static bool rknpu_vm_withholds_sram(struct rknpu_vm *vm)
{
	struct rknpu_mapping *mapping;
	bool found = false;
	u64 oldest;

	mutex_lock(&vm->lock);
	oldest = rknpu_job_oldest(vm);
	list_for_each_entry(mapping, &vm->retired, vm_entry) {
		if (found || mapping->retired_at >= oldest)
			break;
		found = mapping->bo->sram.chunks && mapping->bo->base.size > RKNPU_VM_CHEAP_SRAM;
	}
	mutex_unlock(&vm->lock);
	return found;
}

/**
 * rknpu_vm_reap_retired() - free what has been retired, as far as it is worth it
 * @vm: the address space
 *
 * While the cores see @vm, large mappings are kept for a cheaper moment: a job
 * ends while they see another one, the power goes, too much has piled up, or the
 * file is closed.
 */
void rknpu_vm_reap_retired(struct rknpu_vm *vm)
{
	if (rknpu_mmu_is_live(vm) && rknpu_vm_withholds_sram(vm))
		rknpu_mmu_forget(vm);
	rknpu_vm_free_retired(vm, !rknpu_mmu_is_live(vm));
	if (READ_ONCE(vm->retired_size) > RKNPU_VM_RETIRED_MAX)
		rknpu_vm_purge(vm);
}

/* Free all that has been retired, at any price. */
void rknpu_vm_purge(struct rknpu_vm *vm)
{
	if (list_empty_careful(&vm->retired))
		return;
	if (vm->domain)
		rknpu_mmu_forget(vm);
	rknpu_vm_free_retired(vm, true);
}

static int rknpu_mapping_insert_aligned(struct rknpu_mapping *mapping, u64 align)
{
	struct rknpu_vm *vm = mapping->vm;

	return drm_mm_insert_node_in_range(&vm->mm, &mapping->node, mapping->bo->base.size,
					   min_t(u64, align, RKNPU_VM_ALIGN_MAX), 0,
					   RKNPU_VM_START, RKNPU_VM_END, DRM_MM_INSERT_HIGH);
}

/*
 * Pieces of memory are aligned to their sizes and lie in order of size: with an
 * address that is aligned likewise each of them takes one step to map. Objects
 * that may not waste addresses do without it where room is short.
 */
static int rknpu_mapping_insert_locked(struct rknpu_mapping *mapping)
{
	struct rknpu_gem_object *bo = mapping->bo;
	struct rknpu_vm *vm = mapping->vm;
	u64 size = bo->base.size;
	int ret;

	lockdep_assert_held(&vm->lock);

	if (!vm->domain)
		return rknpu_mapping_insert_direct(mapping);

	if (bo->flags & RKNPU_MEM_IOMMU_LIMIT_IOVA_ALIGNMENT) {
		ret = rknpu_mapping_insert_aligned(mapping, rounddown_pow_of_two(size));
		if (ret)
			ret = rknpu_mapping_insert_aligned(mapping, PAGE_SIZE);
	} else {
		ret = rknpu_mapping_insert_aligned(mapping, roundup_pow_of_two(size));
	}
	if (ret)
		return -ENOMEM;
	list_add_tail(&mapping->vm_entry, &vm->fresh);
	return 0;
}

/* People who see ENOMEM with gigabytes of free memory need to know that it is this. */
static void rknpu_vm_report_full(struct rknpu_vm *vm, u64 size)
{
	u64 start, end, largest = 0;
	struct drm_mm_node *node;

	mutex_lock(&vm->lock);
	drm_mm_for_each_hole(node, &vm->mm, start, end)
		largest = max(largest, end - start);
	mutex_unlock(&vm->lock);
	dev_warn_ratelimited(vm->ndev->dev,
			     "RKNPU: no IOVA for %llu bytes, largest free: %llu of %llu\n",
			     size, largest, (u64)(RKNPU_VM_END - RKNPU_VM_START));
}

static int rknpu_mapping_insert(struct rknpu_mapping *mapping)
{
	int ret;

	mutex_lock(&mapping->vm->lock);
	ret = rknpu_mapping_insert_locked(mapping);
	mutex_unlock(&mapping->vm->lock);
	return ret;
}

/**
 * rknpu_mapping_create() - give an object a device address
 * @vm: the address space
 * @bo: the object
 *
 * The page table is left alone until a job comes: see rknpu_vm_commit().
 *
 * Return: the mapping, or an error pointer
 */
struct rknpu_mapping *rknpu_mapping_create(struct rknpu_vm *vm, struct rknpu_gem_object *bo)
{
	struct rknpu_mapping *mapping = kzalloc(sizeof(*mapping), GFP_KERNEL);
	int ret;

	if (!mapping)
		return ERR_PTR(-ENOMEM);
	mapping->vm = vm;
	mapping->bo = bo;
	INIT_LIST_HEAD(&mapping->entry);
	INIT_LIST_HEAD(&mapping->vm_entry);
	ret = rknpu_mapping_insert(mapping);
	if (ret == -ENOMEM) {
		rknpu_vm_purge(vm);
		ret = rknpu_mapping_insert(mapping);
	}
	if (ret) {
		if (ret == -ENOMEM && vm->domain)
			rknpu_vm_report_full(vm, bo->base.size);
		kfree(mapping);
		return ERR_PTR(ret);
	}
	rknpu_vm_get(vm);
	drm_gem_object_get(&bo->base);
	return mapping;
}

/* A mapping that never made it into the page table can go at once. */
static bool rknpu_mapping_retire_fresh(struct rknpu_mapping *mapping)
{
	lockdep_assert_held(&mapping->vm->lock);

	if (list_empty(&mapping->vm_entry))
		return false;
	list_del_init(&mapping->vm_entry);
	drm_mm_remove_node(&mapping->node);
	return true;
}

/**
 * rknpu_mapping_retire() - the handle is closed
 * @mapping: the mapping, on no list of the file; not to be used afterwards
 *
 * Nobody knows which objects a job uses. So all of them stay where they are
 * until the jobs that were submitted before have ended.
 */
void rknpu_mapping_retire(struct rknpu_mapping *mapping)
{
	struct rknpu_vm *vm = mapping->vm;
	bool fresh;

	mutex_lock(&vm->lock);
	fresh = rknpu_mapping_retire_fresh(mapping);
	if (!fresh) {
		mapping->retired = true;
		mapping->retired_at = rknpu_job_youngest(vm);
		list_add_tail(&mapping->vm_entry, &vm->retired);
		vm->retired_size += mapping->bo->base.size;
	}
	mutex_unlock(&vm->lock);
	if (fresh) {
		rknpu_mapping_free(mapping);
		return;
	}
	/* The mapping may be gone with the space's last reference. */
	rknpu_vm_get(vm);
	rknpu_vm_reap(vm);
	rknpu_vm_put(vm);
}
