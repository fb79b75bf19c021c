/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_DEBUGFS_H
#define RKNPU_DEBUGFS_H

#include <linux/types.h>

struct file;
struct rknpu_device;
struct rknpu_node_file;
struct seq_file;

void rknpu_debugfs_init(struct rknpu_device *ndev);
void rknpu_debugfs_fini(struct rknpu_device *ndev);

/* What each file does, in whatever file system it stands. */
int rknpu_node_show(struct seq_file *m, void *unused);
ssize_t rknpu_node_write(struct file *filp, const char __user *buf, size_t len, loff_t *pos);

#endif
