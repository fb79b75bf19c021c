// SPDX-License-Identifier: GPL-2.0-only
/*
 * Removed by 0adec22702d4 ("drm: Remove struct drm_driver.gem_prime_mmap"),
 * 6.6. Kernels that have it also want the PRIME ioctl helpers to be named.
 */
#include <drm/drm_drv.h>

const struct drm_driver probe_driver = { .gem_prime_mmap = NULL };
