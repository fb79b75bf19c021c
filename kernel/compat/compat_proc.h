/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_COMPAT_PROC_H
#define RKNPU_COMPAT_PROC_H

#include <linux/proc_fs.h>

#ifndef HAVE_PDE_DATA
#define pde_data(inode)	PDE_DATA(inode)
#endif

#endif
