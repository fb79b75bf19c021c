/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_GEM_H
#define RKNPU_GEM_H

#include <linux/mutex.h>

#include <drm/drm_gem.h>

#include <rknpu_drm.h>

#include "rknpu_sram.h"

struct rknpu_device;

/**
 * struct rknpu_gem_object - a memory object
 * @base: the GEM object
 * @cookie: random number, see rknpu_file_token()
 * @flags: RKNPU_MEM flags
 * @sram: on-chip memory at its start, may be empty
 * @sgt: the other memory, mapped for &rknpu_device.dma_dev, or NULL
 * @contiguous: @sgt is one piece from the DMA allocator
 * @lock: protects @vaddr and @vmapped
 * @vaddr: kernel address, once somebody asked for it
 * @vmapped: @vaddr is a mapping of its own
 */
struct rknpu_gem_object {
	struct drm_gem_object base;
	u64 cookie;
	u32 flags;
	struct rknpu_sram_block sram;
	struct sg_table *sgt;
	bool contiguous;
	struct mutex lock; /* protects @vaddr and @vmapped */
	void *vaddr;
	bool vmapped;
};

static inline struct rknpu_gem_object *to_rknpu_gem(struct drm_gem_object *obj)
{
	return container_of(obj, struct rknpu_gem_object, base);
}

static inline bool rknpu_gem_is_imported(const struct rknpu_gem_object *bo)
{
	return bo->base.import_attach;
}

/* rknpu_gem.c */
void *rknpu_gem_make_address(struct rknpu_gem_object *bo);
struct dma_buf *rknpu_gem_prime_export(struct drm_gem_object *obj, int flags);
struct drm_gem_object *rknpu_gem_prime_import(struct drm_device *drm, struct dma_buf *buf);
struct drm_gem_object *rknpu_gem_import_sg(struct drm_device *drm,
					   struct dma_buf_attachment *attach,
					   struct sg_table *sgt);
int rknpu_ioctl_mem_create(struct drm_device *drm, void *data, struct drm_file *drm_file);
int rknpu_ioctl_mem_map(struct drm_device *drm, void *data, struct drm_file *drm_file);
int rknpu_ioctl_mem_destroy(struct drm_device *drm, void *data, struct drm_file *drm_file);
int rknpu_ioctl_mem_sync(struct drm_device *drm, void *data, struct drm_file *drm_file);

/**
 * rknpu_gem_kernel_address() - where the driver can read and write an object
 * @bo: the object
 *
 * Return: the address, valid as long as the object; NULL if the object was not
 * made for it or there is no memory
 */
static inline void *rknpu_gem_kernel_address(struct rknpu_gem_object *bo)
{
	/* Once there, it stays: the lock is for those who make it. */
	return smp_load_acquire(&bo->vaddr) ?: rknpu_gem_make_address(bo);
}

/* rknpu_gem_mem.c */
int rknpu_gem_alloc(struct rknpu_gem_object *bo, size_t sram_size);
void rknpu_gem_free_memory(struct rknpu_gem_object *bo);
void rknpu_gem_sync(struct rknpu_gem_object *bo, u64 offset, u64 size, u32 flags);
void *rknpu_gem_vmap(struct rknpu_gem_object *bo, bool *vmapped);
int rknpu_gem_read(struct rknpu_gem_object *bo, u64 offset, u64 *value);
int rknpu_gem_remap(struct rknpu_gem_object *bo, struct vm_area_struct *vma, u64 skip);
struct sg_table *rknpu_gem_copy_sgt(struct rknpu_gem_object *bo);

#endif
