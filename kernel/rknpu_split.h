/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_SPLIT_H
#define RKNPU_SPLIT_H

struct component_master_ops;
struct device;

int rknpu_split_add(struct device *dev, const struct component_master_ops *ops);
void rknpu_split_del(struct device *dev, const struct component_master_ops *ops);

#endif
