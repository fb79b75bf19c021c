// SPDX-License-Identifier: GPL-2.0-only
/*
 * "drm: Constify drm_driver in drivers that don't modify it" and what it rests
 * on, 5.11: a DRM driver may be read-only.
 */
#include <drm/drm_drv.h>

void *probe(struct device *dev, const struct drm_driver *driver);

void *probe(struct device *dev, const struct drm_driver *driver)
{
	return __devm_drm_dev_alloc(dev, driver, sizeof(struct drm_device), 0);
}
