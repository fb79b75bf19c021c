// SPDX-License-Identifier: GPL-2.0-only
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include "rknpu_debugfs.h"
#include "rknpu_procfs.h"

/**
 * DOC: procfs
 *
 * /proc/rknpu holds the vendor's debugfs files once more. Everybody may read
 * them there, so a monitor needs no root; what names other people's processes
 * stays in debugfs.
 */

static int rknpu_proc_open(struct inode *inode, struct file *filp)
{
	return single_open(filp, rknpu_node_show, pde_data(inode));
}

static const struct proc_ops rknpu_proc_ops = {
	.proc_open = rknpu_proc_open,
	.proc_read = seq_read,
	.proc_write = rknpu_node_write,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

/**
 * rknpu_procfs_init() - make the folder
 *
 * Return: the folder, or NULL; not having it is no error
 */
struct proc_dir_entry *rknpu_procfs_init(void)
{
	return proc_mkdir("rknpu", NULL);
}

/**
 * rknpu_procfs_add() - make one file
 * @dir: what rknpu_procfs_init() returned
 * @name: its name
 * @mode: its rights
 * @file: what it shows
 */
void rknpu_procfs_add(struct proc_dir_entry *dir, const char *name, umode_t mode,
		      struct rknpu_node_file *file)
{
	if (dir)
		proc_create_data(name, mode, dir, &rknpu_proc_ops, file);
}

/* Waits for readers, so what the files show may be freed afterwards. */
void rknpu_procfs_fini(struct proc_dir_entry *dir)
{
	proc_remove(dir);
}
