/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_PROCFS_H
#define RKNPU_PROCFS_H

#include <linux/types.h>

struct proc_dir_entry;
struct rknpu_node_file;

struct proc_dir_entry *rknpu_procfs_init(void);
void rknpu_procfs_add(struct proc_dir_entry *dir, const char *name, umode_t mode,
		      struct rknpu_node_file *file);
void rknpu_procfs_fini(struct proc_dir_entry *dir);

#endif
