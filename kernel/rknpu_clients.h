/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_CLIENTS_H
#define RKNPU_CLIENTS_H

struct drm_file;
struct drm_printer;
struct rknpu_device;
struct seq_file;

int rknpu_clients_show(struct rknpu_device *ndev, struct seq_file *m);
int rknpu_clients_show_jobs(struct rknpu_device *ndev, struct seq_file *m);
void rknpu_clients_show_fdinfo(struct drm_printer *p, struct drm_file *drm_file);

#endif
