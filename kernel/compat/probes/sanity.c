// SPDX-License-Identifier: GPL-2.0-only
/* Compiles on every kernel: tells a "no" from broken flags. */
#include <linux/module.h>
#include <drm/drm_drv.h>
