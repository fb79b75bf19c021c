/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_FREQ_H
#define RKNPU_FREQ_H

#include <linux/completion.h>
#include <linux/devfreq.h>
#include <linux/mutex.h>
#include <linux/pm_qos.h>

#include "rknpu_soc.h"

struct rknpu_device;

/**
 * struct rknpu_freq - clock rate and voltage
 * @devfreq: chooses the rate, or NULL
 * @profile: what it needs to know, until @released
 * @released: devfreq does not look at @profile any more
 * @min: with @max, the rate somebody asked for through debugfs
 * @max: see @min
 * @table: there are operating points
 * @sampled: when the load was last looked at, in ns; in get_dev_status only
 * @busy: busy time of each core until then, in ns
 * @lock: protects all members below
 * @on: the clock may be raised
 * @rate: rate while the NPU is on, in Hz
 */
struct rknpu_freq {
	struct devfreq *devfreq;
	struct devfreq_dev_profile profile;
	struct completion released;
	struct dev_pm_qos_request min;
	struct dev_pm_qos_request max;
	bool table;
	u64 sampled;
	u64 busy[RKNPU_MAX_CORES];
	struct mutex lock; /* protects all members below */
	bool on;
	unsigned long rate;
};

void rknpu_freq_setup(struct rknpu_device *ndev);
int rknpu_freq_init(struct rknpu_device *ndev);
void rknpu_freq_fini(struct rknpu_device *ndev);
int rknpu_freq_raise(struct rknpu_device *ndev);
void rknpu_freq_park(struct rknpu_device *ndev);
unsigned long rknpu_freq_rate(struct rknpu_device *ndev);
int rknpu_freq_voltage(struct rknpu_device *ndev, int *uv);
int rknpu_freq_pin(struct rknpu_device *ndev, unsigned long hz);

#endif
