// SPDX-License-Identifier: GPL-2.0-only
/*
 * 3f09a0cd4ea3 ("drm: Add common fdinfo helper"), 6.5
 */
#include <drm/drm_drv.h>

const struct drm_driver probe_driver = { .show_fdinfo = NULL };
