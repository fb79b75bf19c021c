/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_COMPAT_DRM_H
#define RKNPU_COMPAT_DRM_H

#include <linux/dma-buf.h>
#include <linux/seq_file.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_prime.h>
#include <drm/drm_print.h>

/* Entries for &struct drm_driver that newer kernels have by default or lost. */
#ifdef HAVE_DRM_DRIVER_DATE
#define RKNPU_DRM_DATE(text)	.date = (text),
#else
#define RKNPU_DRM_DATE(text)
#endif

/* The older core takes a pointer it could write to, but writes to legacy drivers only. */
#ifndef HAVE_DRM_DRIVER_CONST
static inline void *rknpu_compat_dev_alloc(struct device *parent, const struct drm_driver *driver,
					   size_t size, size_t offset)
{
	return __devm_drm_dev_alloc(parent, (struct drm_driver *)driver, size, offset);
}

#undef devm_drm_dev_alloc
#define devm_drm_dev_alloc(parent, driver, type, member) \
	((type *)rknpu_compat_dev_alloc(parent, driver, sizeof(type), offsetof(type, member)))
#endif

#ifdef HAVE_DRM_DRIVER_GEM_PRIME_MMAP
#define RKNPU_DRM_PRIME_OPS \
	.prime_handle_to_fd = drm_gem_prime_handle_to_fd, \
	.prime_fd_to_handle = drm_gem_prime_fd_to_handle, \
	.gem_prime_mmap = drm_gem_prime_mmap,
#else
#define RKNPU_DRM_PRIME_OPS
#endif

/*
 * Per-file statistics: RKNPU_DEFINE_SHOW_FDINFO(fn, id) once, then the two
 * entries in the file operations and in the DRM driver. Newer kernels number
 * their clients themselves, older ones ask the function @id.
 */
#ifdef HAVE_DRM_DRIVER_SHOW_FDINFO
#define RKNPU_DEFINE_SHOW_FDINFO(fn, id)
#define RKNPU_FOPS_FDINFO(fn)	.show_fdinfo = drm_show_fdinfo,
#define RKNPU_DRM_FDINFO(fn)	.show_fdinfo = (fn),
#else
#define RKNPU_DEFINE_SHOW_FDINFO(fn, id) \
static void fn##_seq(struct seq_file *m, struct file *f) \
{ \
	struct drm_file *file = f->private_data; \
	struct drm_printer p = drm_seq_file_printer(m); \
\
	drm_printf(&p, "drm-driver:\t%s\n", file->minor->dev->driver->name); \
	drm_printf(&p, "drm-client-id:\t%u\n", id(file)); \
	fn(&p, file); \
}
#define RKNPU_FOPS_FDINFO(fn)	.show_fdinfo = fn##_seq,
#define RKNPU_DRM_FDINFO(fn)
#endif

#ifdef FOP_UNSIGNED_OFFSET
#define RKNPU_FOPS_FLAGS	.fop_flags = FOP_UNSIGNED_OFFSET,
#else
#define RKNPU_FOPS_FLAGS
#endif

/*
 * For 32 bit programs. The helper looks at the number of a request only, so a
 * request of another kind of device would be taken for one of DRM's own.
 */
#ifdef CONFIG_COMPAT
static inline long rknpu_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	if (_IOC_TYPE(cmd) != DRM_IOCTL_BASE)
		return -ENOTTY;
	return drm_compat_ioctl(file, cmd, arg);
}
#else
#define rknpu_compat_ioctl	NULL
#endif

#ifndef HAVE_IMPORT_NS_TOKEN
#define RKNPU_IMPORT_NS(ns)	MODULE_IMPORT_NS(#ns)
#else
#define RKNPU_IMPORT_NS(ns)	MODULE_IMPORT_NS(ns)
#endif

#endif
