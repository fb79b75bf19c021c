/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_DEBUGFS_H
#define RKNPU_DEBUGFS_H

struct rknpu_device;

void rknpu_debugfs_init(struct rknpu_device *ndev);
void rknpu_debugfs_fini(struct rknpu_device *ndev);

#endif
