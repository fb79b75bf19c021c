/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_COMPAT_PLATFORM_H
#define RKNPU_COMPAT_PLATFORM_H

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

#ifndef HAVE_RUNTIME_DEV_PM_OPS
#define DEFINE_RUNTIME_DEV_PM_OPS(name, suspend_fn, resume_fn, idle_fn) \
const struct dev_pm_ops name = { \
	SET_SYSTEM_SLEEP_PM_OPS(pm_runtime_force_suspend, pm_runtime_force_resume) \
	SET_RUNTIME_PM_OPS(suspend_fn, resume_fn, idle_fn) \
}
#ifndef pm_ptr
#define pm_ptr(ptr)		(IS_ENABLED(CONFIG_PM) ? (ptr) : NULL)
#endif
#endif

#endif
