/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_COMPAT_PLATFORM_H
#define RKNPU_COMPAT_PLATFORM_H

#include <linux/nvmem-consumer.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>

/* RKNPU_DEFINE_REMOVE(fn) once, then ".remove = RKNPU_REMOVE(fn)". */
#ifdef HAVE_PLATFORM_REMOVE_VOID
#define RKNPU_DEFINE_REMOVE(fn)
#define RKNPU_REMOVE(fn)	fn
#else
#define RKNPU_DEFINE_REMOVE(fn) \
static int fn##_int(struct platform_device *pdev) \
{ \
	fn(pdev); \
	return 0; \
}
#define RKNPU_REMOVE(fn)	fn##_int
#endif

#ifndef SYSTEM_SLEEP_PM_OPS
#define SYSTEM_SLEEP_PM_OPS(suspend_fn, resume_fn) SET_SYSTEM_SLEEP_PM_OPS(suspend_fn, resume_fn)
#define RUNTIME_PM_OPS(suspend_fn, resume_fn, idle_fn) \
	SET_RUNTIME_PM_OPS(suspend_fn, resume_fn, idle_fn)
#endif
#ifndef pm_ptr
#define pm_ptr(ptr)		(IS_ENABLED(CONFIG_PM) ? (ptr) : NULL)
#endif

/* As the headers have it for wider values where the kernel has no fuses. */
#ifndef HAVE_NVMEM_CELL_READ_U8
static inline int nvmem_cell_read_u8(struct device *dev, const char *name, u8 *value)
{
	return -EOPNOTSUPP;
}
#endif

/* Newer kernels make a cooling device of a devfreq device by themselves. */
#ifdef HAVE_DEVFREQ_IS_COOLING_DEVICE
#define RKNPU_DEVFREQ_COOLING(wanted)	.is_cooling_device = (wanted),
#else
#define RKNPU_DEVFREQ_COOLING(wanted)
#endif

#endif
