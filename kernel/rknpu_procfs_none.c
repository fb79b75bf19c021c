// SPDX-License-Identifier: GPL-2.0-only
/* Stands in for rknpu_procfs.c when /proc/rknpu is configured out. */
#include <linux/stddef.h>

#include "rknpu_procfs.h"

struct proc_dir_entry *rknpu_procfs_init(void)
{
	return NULL;
}

void rknpu_procfs_add(struct proc_dir_entry *dir, const char *name, umode_t mode,
		      struct rknpu_node_file *file)
{
}

void rknpu_procfs_fini(struct proc_dir_entry *dir)
{
}
