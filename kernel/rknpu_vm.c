// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-mapping.h>
#include <linux/iommu.h>
#include <linux/log2.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include <drm/drm_managed.h>

#include "rknpu_device.h"
#include "rknpu_gem.h"
#include "rknpu_job.h"
#include "rknpu_vm.h"

/**
 * DOC: Address spaces
 *
 * With an IOMMU each open file has address spaces of its own, so that no
 * client can reach the memory of another. All cores share one IOMMU, or are
 * made to look as if they did: they see one address space at a time, and it
 * changes only while no core works. It stays attached when a job ends, because
 * the next job is most likely of the same client.
 *
 * The DMA API is not used to make device addresses: it would put them into the
 * one default domain of the NPU. Memory is mapped for a device without IOMMU,
 * which gives bus addresses and cache maintenance; these are what the page
 * table points to.
 *
 * Without an IOMMU a device address is a bus address, and an address space is
 * only the list of what the file may name.
 */

/* Never 0, which means "none"; and room above, so that ends do not wrap. */
#define RKNPU_VM_START		SZ_64K
#define RKNPU_VM_END		(SZ_4G - SZ_4K)

/* What one entry of the first level table covers: more alignment gains nothing. */
#define RKNPU_VM_ALIGN_MAX	SZ_4M

static int rknpu_vm_fault(struct iommu_domain *domain, struct device *dev,
			  unsigned long iova, int flags, void *token)
{
	struct rknpu_vm *vm = token;

	rknpu_job_page_fault(vm, iova, flags & IOMMU_FAULT_WRITE);
	return 0;
}

/**
 * rknpu_mmu_init() - find out whether there is an IOMMU
 * @ndev: the NPU
 *
 * Return: 0 or a negative error code
 */
int rknpu_mmu_init(struct rknpu_device *ndev)
{
	struct iommu_group *group = iommu_group_get(ndev->dev);
	struct rknpu_mmu *mmu;

	if (!group) {
		dev_info(ndev->dev, "RKNPU: no iommu, clients are not isolated from each other\n");
		return 0;
	}
	mmu = drmm_kzalloc(&ndev->drm, sizeof(*mmu), GFP_KERNEL);
	if (!mmu) {
		iommu_group_put(group);
		return -ENOMEM;
	}
	mutex_init(&mmu->lock);
	mmu->groups[mmu->num_groups++] = group;
	ndev->mmu = mmu;
	dev_info(ndev->dev, "RKNPU: rknpu iommu is enabled, using iommu mode\n");
	return 0;
}

void rknpu_mmu_fini(struct rknpu_device *ndev)
{
	struct rknpu_mmu *mmu = ndev->mmu;

	if (!mmu)
		return;
	rknpu_mmu_attach(ndev, NULL);
	while (mmu->num_groups)
		iommu_group_put(mmu->groups[--mmu->num_groups]);
}

static void rknpu_mmu_set_vm(struct rknpu_device *ndev, struct rknpu_vm *vm)
{
	lockdep_assert_held(&ndev->mmu->lock);

	spin_lock_irq(&ndev->job_lock);
	ndev->mmu->vm = vm;
	ndev->mmu->lost = false;
	spin_unlock_irq(&ndev->job_lock);
}

static void rknpu_mmu_detach_groups(struct rknpu_mmu *mmu, struct rknpu_vm *vm, unsigned int num)
{
	while (num--)
		iommu_detach_group(vm->domain, mmu->groups[num]);
}

static int rknpu_mmu_attach_groups(struct rknpu_mmu *mmu, struct rknpu_vm *vm)
{
	unsigned int i;
	int ret;

	for (i = 0; i < mmu->num_groups; i++) {
		ret = iommu_attach_group(vm->domain, mmu->groups[i]);
		if (ret) {
			rknpu_mmu_detach_groups(mmu, vm, i);
			return ret;
		}
	}
	return 0;
}

/**
 * rknpu_mmu_attach() - let the cores see an address space
 * @ndev: the NPU, no core of which works
 * @vm: the address space, or NULL for none
 *
 * Also when @vm is the present one: detaching goes through the default domain,
 * which makes the IOMMU write its registers anew after a reset has wiped them.
 *
 * Return: 0 or a negative error code; then no address space is attached
 */
int rknpu_mmu_attach(struct rknpu_device *ndev, struct rknpu_vm *vm)
{
	struct rknpu_mmu *mmu = ndev->mmu;
	int ret = 0;

	mutex_lock(&mmu->lock);
	if (mmu->vm) {
		rknpu_mmu_detach_groups(mmu, mmu->vm, mmu->num_groups);
		rknpu_mmu_set_vm(ndev, NULL);
	}
	if (vm)
		ret = rknpu_mmu_attach_groups(mmu, vm);
	if (vm && !ret)
		rknpu_mmu_set_vm(ndev, vm);
	mutex_unlock(&mmu->lock);
	return ret;
}

/* Could a job in @vm start right now? Called with job_lock held. */
bool rknpu_mmu_has(const struct rknpu_device *ndev, const struct rknpu_vm *vm)
{
	return !ndev->mmu || (ndev->mmu->vm == vm && !ndev->mmu->lost);
}

/* No job uses @vm any more, but the cores may still see it. */
static void rknpu_mmu_forget(struct rknpu_vm *vm)
{
	struct rknpu_mmu *mmu = vm->ndev->mmu;

	mutex_lock(&mmu->lock);
	if (mmu->vm == vm) {
		rknpu_mmu_detach_groups(mmu, vm, mmu->num_groups);
		rknpu_mmu_set_vm(vm->ndev, NULL);
	}
	mutex_unlock(&mmu->lock);
	rknpu_job_forget_vm(vm);
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

/**
 * rknpu_vm_create() - make an empty address space
 * @ndev: the NPU
 *
 * Return: the address space with one reference, or an error pointer
 */
struct rknpu_vm *rknpu_vm_create(struct rknpu_device *ndev)
{
	struct rknpu_vm *vm = kzalloc(sizeof(*vm), GFP_KERNEL);
	int ret;

	if (!vm)
		return ERR_PTR(-ENOMEM);
	kref_init(&vm->ref);
	vm->ndev = ndev;
	mutex_init(&vm->lock);
	INIT_LIST_HEAD(&vm->retired);
	INIT_LIST_HEAD(&vm->jobs);
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

static void rknpu_vm_release(struct kref *ref)
{
	struct rknpu_vm *vm = container_of(ref, struct rknpu_vm, ref);

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

/* Do @size bytes at device address @addr lie inside one object? */
bool rknpu_vm_contains(struct rknpu_vm *vm, u64 addr, u64 size)
{
	struct rknpu_mapping *mapping;
	bool found;

	mutex_lock(&vm->lock);
	mapping = rknpu_vm_find(vm, addr, size);
	found = mapping && !mapping->retired;
	mutex_unlock(&vm->lock);
	return found;
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

static int rknpu_mapping_insert(struct rknpu_mapping *mapping)
{
	struct rknpu_gem_object *bo = mapping->bo;
	struct rknpu_vm *vm = mapping->vm;
	u64 align = PAGE_SIZE;
	int ret;

	if (!vm->domain)
		return rknpu_mapping_insert_direct(mapping);

	if (!(bo->flags & RKNPU_MEM_IOMMU_LIMIT_IOVA_ALIGNMENT))
		align = min_t(u64, roundup_pow_of_two(bo->base.size), RKNPU_VM_ALIGN_MAX);
	ret = drm_mm_insert_node_in_range(&vm->mm, &mapping->node, bo->base.size, align, 0,
					  RKNPU_VM_START, RKNPU_VM_END, DRM_MM_INSERT_HIGH);
	if (ret)
		return -ENOMEM;
	ret = rknpu_mapping_fill(mapping);
	if (ret)
		drm_mm_remove_node(&mapping->node);
	return ret;
}

/**
 * rknpu_mapping_create() - give an object a device address
 * @vm: the address space
 * @bo: the object
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
	mutex_lock(&vm->lock);
	ret = rknpu_mapping_insert(mapping);
	mutex_unlock(&vm->lock);
	if (ret) {
		kfree(mapping);
		return ERR_PTR(ret);
	}
	rknpu_vm_get(vm);
	drm_gem_object_get(&bo->base);
	return mapping;
}

static void rknpu_mapping_unmap(struct rknpu_mapping *mapping)
{
	struct rknpu_vm *vm = mapping->vm;

	lockdep_assert_held(&vm->lock);

	if (vm->domain)
		iommu_unmap(vm->domain, mapping->node.start, mapping->node.size);
	drm_mm_remove_node(&mapping->node);
}

static void rknpu_mapping_free(struct rknpu_mapping *mapping)
{
	drm_gem_object_put(&mapping->bo->base);
	rknpu_vm_put(mapping->vm);
	kfree(mapping);
}

/**
 * rknpu_mapping_retire() - the handle is closed
 * @mapping: the mapping, on no list; not to be used afterwards
 *
 * Nobody knows which objects a job uses. So all of them stay where they are
 * until the jobs that were submitted before have ended.
 */
void rknpu_mapping_retire(struct rknpu_mapping *mapping)
{
	struct rknpu_vm *vm = mapping->vm;
	bool busy;

	mutex_lock(&vm->lock);
	busy = rknpu_job_youngest(vm, &mapping->retired_at);
	if (busy) {
		mapping->retired = true;
		list_add_tail(&mapping->entry, &vm->retired);
	} else {
		rknpu_mapping_unmap(mapping);
	}
	mutex_unlock(&vm->lock);
	if (busy)
		rknpu_vm_reap(vm);
	else
		rknpu_mapping_free(mapping);
}

/* Free what was retired before the oldest job that has not ended. */
void rknpu_vm_reap(struct rknpu_vm *vm)
{
	struct rknpu_mapping *mapping, *next;
	LIST_HEAD(dead);
	u64 oldest;

	if (list_empty_careful(&vm->retired))
		return;
	mutex_lock(&vm->lock);
	oldest = rknpu_job_oldest(vm);
	list_for_each_entry_safe(mapping, next, &vm->retired, entry) {
		if (mapping->retired_at >= oldest)
			break;
		rknpu_mapping_unmap(mapping);
		list_move_tail(&mapping->entry, &dead);
	}
	mutex_unlock(&vm->lock);

	list_for_each_entry_safe(mapping, next, &dead, entry)
		rknpu_mapping_free(mapping);
}
