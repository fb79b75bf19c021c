// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dma-buf.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_prime.h>

#include "rknpu_device.h"
#include "rknpu_gem.h"

/**
 * DOC: dma-buf
 *
 * As DRM's own, with one addition: a program that maps an exported buffer
 * brackets its accesses with DMA_BUF_IOCTL_SYNC, which takes the place of
 * MEM_SYNC for programs that know nothing of this driver.
 */

static void rknpu_prime_sync(struct dma_buf *buf, u32 flags)
{
	struct rknpu_gem_object *bo = to_rknpu_gem(buf->priv);

	if (bo->flags & RKNPU_MEM_CACHEABLE)
		rknpu_gem_sync(bo, 0, bo->base.size, flags);
}

static int rknpu_prime_begin_cpu_access(struct dma_buf *buf, enum dma_data_direction dir)
{
	if (dir != DMA_TO_DEVICE)
		rknpu_prime_sync(buf, RKNPU_MEM_SYNC_FROM_DEVICE);
	return 0;
}

static int rknpu_prime_end_cpu_access(struct dma_buf *buf, enum dma_data_direction dir)
{
	if (dir != DMA_FROM_DEVICE)
		rknpu_prime_sync(buf, RKNPU_MEM_SYNC_TO_DEVICE);
	return 0;
}

static const struct dma_buf_ops rknpu_prime_ops = {
	.attach = drm_gem_map_attach,
	.detach = drm_gem_map_detach,
	.map_dma_buf = drm_gem_map_dma_buf,
	.unmap_dma_buf = drm_gem_unmap_dma_buf,
	.release = drm_gem_dmabuf_release,
	.begin_cpu_access = rknpu_prime_begin_cpu_access,
	.end_cpu_access = rknpu_prime_end_cpu_access,
	.mmap = drm_gem_dmabuf_mmap,
	.vmap = drm_gem_dmabuf_vmap,
	.vunmap = drm_gem_dmabuf_vunmap,
};

/* Called by DRM when user space asks for a descriptor of an object. */
struct dma_buf *rknpu_gem_prime_export(struct drm_gem_object *obj, int flags)
{
	struct dma_buf_export_info info = {
		.exp_name = KBUILD_MODNAME,
		.owner = THIS_MODULE,
		.ops = &rknpu_prime_ops,
		.size = obj->size,
		.flags = flags,
		.priv = obj,
		.resv = obj->resv,
	};

	return drm_gem_dmabuf_export(obj->dev, &info);
}

/* A buffer of ours comes back as the same object. */
struct drm_gem_object *rknpu_gem_prime_import(struct drm_device *drm, struct dma_buf *buf)
{
	struct drm_gem_object *obj = buf->priv;

	if (buf->ops == &rknpu_prime_ops && obj->dev == drm) {
		drm_gem_object_get(obj);
		return obj;
	}
	return drm_gem_prime_import_dev(drm, buf, to_rknpu_device(drm)->dma_dev);
}
