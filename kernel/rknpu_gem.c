// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-buf.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_prime.h>

#include "rknpu_device.h"
#include "rknpu_file.h"
#include "rknpu_gem.h"

static void rknpu_gem_free_object(struct drm_gem_object *obj)
{
	struct rknpu_gem_object *bo = to_rknpu_gem(obj);

	if (rknpu_gem_is_imported(bo))
		drm_prime_gem_destroy(obj, bo->sgt);
	else
		rknpu_gem_free_memory(bo);
	drm_gem_object_release(obj);
	mutex_destroy(&bo->lock);
	kfree(bo);
}

static int rknpu_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	struct rknpu_gem_object *bo = to_rknpu_gem(obj);
	u64 skip = (u64)(vma->vm_pgoff - drm_vma_node_start(&obj->vma_node)) << PAGE_SHIFT;

	if (rknpu_gem_is_imported(bo) || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (skip >= obj->size || vma->vm_end - vma->vm_start > obj->size - skip)
		return -EINVAL;
	return rknpu_gem_remap(bo, vma, skip);
}

static struct sg_table *rknpu_gem_get_sg_table(struct drm_gem_object *obj)
{
	return rknpu_gem_copy_sgt(to_rknpu_gem(obj));
}

static const struct vm_operations_struct rknpu_gem_vm_ops = {
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
};

static const struct drm_gem_object_funcs rknpu_gem_funcs = {
	.free = rknpu_gem_free_object,
	.open = rknpu_file_add_handle,
	.close = rknpu_file_del_handle,
	.export = rknpu_gem_prime_export,
	.get_sg_table = rknpu_gem_get_sg_table,
	.mmap = rknpu_gem_mmap,
	.vm_ops = &rknpu_gem_vm_ops,
};

/* An object without memory. */
static struct rknpu_gem_object *rknpu_gem_new(struct drm_device *drm, size_t size, u32 flags)
{
	struct rknpu_gem_object *bo = kzalloc(sizeof(*bo), GFP_KERNEL);

	if (!bo)
		return ERR_PTR(-ENOMEM);
	bo->base.funcs = &rknpu_gem_funcs;
	bo->flags = flags & RKNPU_MEM_MASK;
	mutex_init(&bo->lock);
	bo->cookie = get_random_u64();
	drm_gem_private_object_init(drm, &bo->base, size);
	return bo;
}

/* For rknpu_gem_kernel_address(): the slow way, the first time. */
void *rknpu_gem_make_address(struct rknpu_gem_object *bo)
{
	if (!(bo->flags & RKNPU_MEM_KERNEL_MAPPING) || rknpu_gem_is_imported(bo))
		return NULL;
	mutex_lock(&bo->lock);
	if (!bo->vaddr)
		/* Pairs with the look there: a mapping is seen whole or not at all. */
		smp_store_release(&bo->vaddr, rknpu_gem_vmap(bo, &bo->vmapped));
	mutex_unlock(&bo->lock);
	return bo->vaddr;
}

/**
 * rknpu_gem_import_sg() - make an object of somebody else's memory
 * @drm: the DRM device
 * @attach: attachment of the device that memory is mapped for
 * @sgt: the memory, mapped
 *
 * Return: the object, or an error pointer
 */
struct drm_gem_object *rknpu_gem_import_sg(struct drm_device *drm,
					   struct dma_buf_attachment *attach,
					   struct sg_table *sgt)
{
	struct rknpu_gem_object *bo;

	bo = rknpu_gem_new(drm, PAGE_ALIGN(attach->dmabuf->size), RKNPU_MEM_NON_CONTIGUOUS);
	if (IS_ERR(bo))
		return ERR_CAST(bo);
	bo->sgt = sgt;
	return &bo->base;
}

static struct rknpu_gem_object *rknpu_gem_create(struct drm_device *drm,
						 const struct rknpu_mem_create *args)
{
	struct rknpu_gem_object *bo;
	int ret;

	/* A device address has 32 bits; this also keeps the sums below from wrapping. */
	if (args->size > SZ_4G - PAGE_SIZE || args->size >> PAGE_SHIFT > totalram_pages())
		return ERR_PTR(-ENOMEM);

	bo = rknpu_gem_new(drm, PAGE_ALIGN(args->size), args->flags);
	if (IS_ERR(bo))
		return bo;
	ret = rknpu_gem_alloc(bo, min_t(u64, args->sram_size, SZ_4G - PAGE_SIZE));
	if (ret) {
		drm_gem_object_put(&bo->base);
		return ERR_PTR(ret);
	}
	return bo;
}

/* Device address of @bo, and what else the caller wants to know. */
static int rknpu_gem_describe(struct drm_file *drm_file, struct rknpu_gem_object *bo,
			      u32 handle, struct rknpu_mem_create *args)
{
	u64 addr;
	int ret;

	ret = rknpu_file_map(drm_file->driver_priv, bo, args->iommu_domain_id, &addr);
	if (ret)
		return ret;
	args->handle = handle;
	args->size = bo->base.size;
	args->obj_addr = rknpu_file_token(drm_file->driver_priv, bo);
	args->dma_addr = addr;
	args->sram_size = rknpu_sram_block_size(&bo->sram);
	return 0;
}

static int rknpu_gem_query(struct drm_file *drm_file, struct drm_gem_object *obj,
			   struct rknpu_mem_create *args)
{
	int ret = rknpu_gem_describe(drm_file, to_rknpu_gem(obj), args->handle, args);

	drm_gem_object_put(obj);
	return ret;
}

static int rknpu_gem_create_or_query(struct drm_device *drm, struct rknpu_mem_create *args,
				     struct drm_file *drm_file)
{
	struct rknpu_gem_object *bo;
	struct drm_gem_object *obj;
	u32 handle;
	int ret;

	if (args->iommu_domain_id < 0 || args->iommu_domain_id >= RKNPU_MAX_IOMMU_DOMAIN_NUM)
		return -EINVAL;
	obj = args->handle ? drm_gem_object_lookup(drm_file, args->handle) : NULL;
	if (obj)
		return rknpu_gem_query(drm_file, obj, args);
	if (!args->size)
		return -EINVAL;

	bo = rknpu_gem_create(drm, args);
	if (bo == ERR_PTR(-ENOMEM)) {
		rknpu_file_purge(drm_file->driver_priv);
		bo = rknpu_gem_create(drm, args);
	}
	if (IS_ERR(bo))
		return PTR_ERR(bo);
	ret = drm_gem_handle_create(drm_file, &bo->base, &handle);
	if (!ret) {
		ret = rknpu_gem_describe(drm_file, bo, handle, args);
		if (ret)
			drm_gem_handle_delete(drm_file, handle);
	}
	/* From here on the handle keeps it. */
	drm_gem_object_put(&bo->base);
	return ret;
}

int rknpu_ioctl_mem_create(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	int idx, ret;

	/* On-chip memory is gone with the device. */
	if (!drm_dev_enter(drm, &idx))
		return -ENODEV;
	ret = rknpu_gem_create_or_query(drm, data, drm_file);
	drm_dev_exit(idx);
	return ret;
}

int rknpu_ioctl_mem_map(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	struct rknpu_mem_map *args = data;

	return drm_gem_dumb_map_offset(drm_file, drm, args->handle, &args->offset);
}

int rknpu_ioctl_mem_destroy(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	struct rknpu_mem_destroy *args = data;

	return drm_gem_handle_delete(drm_file, args->handle);
}

int rknpu_ioctl_mem_sync(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	struct rknpu_mem_sync *args = data;
	struct rknpu_gem_object *bo;
	int ret = -EINVAL;

	if (!args->flags || args->flags & ~RKNPU_MEM_SYNC_MASK)
		return -EINVAL;
	bo = rknpu_file_lookup(drm_file->driver_priv, args->obj_addr);
	if (!bo)
		return -EINVAL;
	if (!(bo->flags & RKNPU_MEM_CACHEABLE) || rknpu_gem_is_imported(bo))
		goto out_put;
	if (args->offset > bo->base.size || args->size > bo->base.size - args->offset)
		goto out_put;
	if (args->size)
		rknpu_gem_sync(bo, args->offset, args->size, args->flags);
	ret = 0;
out_put:
	drm_gem_object_put(&bo->base);
	return ret;
}
