// SPDX-License-Identifier: GPL-2.0-only
/* Stands in for rknpu_debugfs.c when debugfs is configured out. */
#include "rknpu_debugfs.h"

void rknpu_debugfs_init(struct rknpu_device *ndev)
{
}

void rknpu_debugfs_fini(struct rknpu_device *ndev)
{
}
