/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_SUBMIT_H
#define RKNPU_SUBMIT_H

struct drm_device;
struct drm_file;

int rknpu_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *drm_file);
int rknpu_ioctl_submit_sync(struct drm_device *drm, void *data, struct drm_file *drm_file);

#endif
