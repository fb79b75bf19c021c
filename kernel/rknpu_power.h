/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_POWER_H
#define RKNPU_POWER_H

#include <linux/lockdep.h>
#include <linux/pm.h>

#include "rknpu_device.h"

extern const struct dev_pm_ops rknpu_pm_ops;

void rknpu_power_enable(struct rknpu_device *ndev);
void rknpu_power_disable(struct rknpu_device *ndev);
int rknpu_power_get(struct rknpu_device *ndev);
void rknpu_power_put(struct rknpu_device *ndev);
unsigned int rknpu_power_delay(struct rknpu_device *ndev);
void rknpu_power_set_delay(struct rknpu_device *ndev, unsigned int ms);
bool rknpu_power_is_on(struct rknpu_device *ndev);
int rknpu_power_force(struct rknpu_device *ndev, bool on);

/**
 * rknpu_power_hold() - a job keeps the power on
 * @ndev: the NPU, locked with job_lock
 *
 * Return: false if the power is off or about to go
 */
static inline bool rknpu_power_hold(struct rknpu_device *ndev)
{
	lockdep_assert_held(&ndev->job_lock);

	if (!ndev->jobs.powered || ndev->jobs.held)
		return false;
	ndev->jobs.users++;
	return true;
}

/* A job lets go of the power at @now, in ns; called with job_lock held. */
static inline void rknpu_power_release(struct rknpu_device *ndev, u64 now)
{
	lockdep_assert_held(&ndev->job_lock);

	ndev->jobs.users--;
	ndev->jobs.used = now;
}

#endif
