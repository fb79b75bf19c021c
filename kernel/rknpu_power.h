/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_POWER_H
#define RKNPU_POWER_H

#include <linux/pm.h>

struct rknpu_device;

extern const struct dev_pm_ops rknpu_pm_ops;

void rknpu_power_enable(struct rknpu_device *ndev);
void rknpu_power_disable(struct rknpu_device *ndev);
int rknpu_power_get(struct rknpu_device *ndev);
void rknpu_power_put(struct rknpu_device *ndev);
unsigned int rknpu_power_delay(struct rknpu_device *ndev);
void rknpu_power_set_delay(struct rknpu_device *ndev, unsigned int ms);
bool rknpu_power_is_on(struct rknpu_device *ndev);
int rknpu_power_force(struct rknpu_device *ndev, bool on);

#endif
