// SPDX-License-Identifier: GPL-2.0-only
/*
 * 359745d78351 ("proc: remove PDE_DATA() completely"), 5.17: what a file of
 * procfs was made with is pde_data(), before that PDE_DATA().
 */
#include <linux/proc_fs.h>

void *probe(struct inode *inode);

void *probe(struct inode *inode)
{
	return pde_data(inode);
}
