// SPDX-License-Identifier: GPL-2.0-only
#include <linux/clk.h>
#include <linux/device.h>
#include <linux/ktime.h>
#include <linux/pm_opp.h>
#include <linux/property.h>
#include <linux/regulator/consumer.h>

#include "rknpu_device.h"
#include "rknpu_freq.h"

/**
 * DOC: Clock rate and voltage
 *
 * With a table of operating points, devfreq chooses one by the load of the
 * busiest core. Without it the clock stays as the firmware has left it.
 *
 * The rate is above the parking rate only while the NPU is on: on the larger
 * chips the PLL for higher rates lies in the NPU's own power domain. So the
 * voltage and then the rate go up when everything else is on, and the reverse
 * on the way down. A choice made meanwhile is kept for the next time.
 */

#define RKNPU_FREQ_PARKED_HZ	200000000
#define RKNPU_FREQ_POLL_MS	50

static int rknpu_freq_set_voltage(struct rknpu_device *ndev, unsigned long hz)
{
	struct dev_pm_opp *opp;
	unsigned long uv;
	int ret = 0;

	if (!ndev->freq.table)
		return 0;
	opp = dev_pm_opp_find_freq_ceil(ndev->dev, &hz);
	if (IS_ERR(opp))
		return PTR_ERR(opp);
	uv = dev_pm_opp_get_voltage(opp);
	dev_pm_opp_put(opp);
	if (!uv)
		return 0;
	/* The memories need no less than the logic; more is up to the board. */
	if (ndev->supply.mem)
		ret = regulator_set_voltage(ndev->supply.mem, uv, INT_MAX);
	if (!ret && ndev->supply.vdd)
		ret = regulator_set_voltage(ndev->supply.vdd, uv, INT_MAX);
	return ret;
}

static int rknpu_freq_set(struct rknpu_device *ndev, unsigned long hz)
{
	struct clk *clk = ndev->supply.rate_clk;
	unsigned long now = clk_get_rate(clk);
	int ret = 0;

	lockdep_assert_held(&ndev->freq.lock);

	if (hz == now)
		return 0;
	if (hz > now)
		ret = rknpu_freq_set_voltage(ndev, hz);
	if (!ret)
		ret = clk_set_rate(clk, hz);
	if (!ret && hz < now)
		ret = rknpu_freq_set_voltage(ndev, hz);
	return ret;
}

static int rknpu_freq_target(struct device *dev, unsigned long *hz, u32 flags)
{
	struct rknpu_device *ndev = dev_get_drvdata(dev);
	struct rknpu_freq *freq = &ndev->freq;
	struct dev_pm_opp *opp = devfreq_recommended_opp(dev, hz, flags);
	int ret = 0;

	if (IS_ERR(opp))
		return PTR_ERR(opp);
	dev_pm_opp_put(opp);
	mutex_lock(&freq->lock);
	if (freq->on)
		ret = rknpu_freq_set(ndev, *hz);
	if (!ret)
		freq->rate = *hz;
	mutex_unlock(&freq->lock);
	return ret;
}

static int rknpu_freq_status(struct device *dev, struct devfreq_dev_status *status)
{
	struct rknpu_device *ndev = dev_get_drvdata(dev);
	struct rknpu_freq *freq = &ndev->freq;
	u64 now, busy, most = 0;
	struct rknpu_core *core;

	spin_lock_irq(&ndev->job_lock);
	now = ktime_get_ns();
	rknpu_for_each_core(core, ndev, ~0) {
		busy = rknpu_core_busy(core, now);
		most = max(most, busy - freq->busy[core->index]);
		freq->busy[core->index] = busy;
	}
	spin_unlock_irq(&ndev->job_lock);
	status->current_frequency = rknpu_freq_rate(ndev);
	status->total_time = now - freq->sampled;
	status->busy_time = min_t(u64, most, status->total_time);
	freq->sampled = now;
	return 0;
}

static int rknpu_freq_current(struct device *dev, unsigned long *hz)
{
	*hz = rknpu_freq_rate(dev_get_drvdata(dev));
	return 0;
}

/* The last reference to the devfreq device goes: maybe later than its removal. */
static void rknpu_freq_exit(struct device *dev)
{
	struct rknpu_device *ndev = dev_get_drvdata(dev);

	complete(&ndev->freq.released);
}

static void rknpu_freq_remove_devfreq(struct rknpu_freq *freq, struct devfreq *devfreq)
{
	devfreq_remove_device(devfreq);
	wait_for_completion(&freq->released);
}

/* The rate to start with: what the table asks for, or what is there now. */
static unsigned long rknpu_freq_initial(struct rknpu_device *ndev)
{
	unsigned long hz = clk_get_rate(ndev->supply.rate_clk);
	struct fwnode_handle *table;
	struct dev_pm_opp *opp;
	u32 khz;

	table = fwnode_find_reference(dev_fwnode(ndev->dev), "operating-points-v2", 0);
	if (!IS_ERR(table)) {
		if (!fwnode_property_read_u32(table, "rockchip,init-freq", &khz))
			hz = khz * 1000UL;
		fwnode_handle_put(table);
	}
	opp = dev_pm_opp_find_freq_ceil(ndev->dev, &hz);
	if (IS_ERR(opp)) {
		hz = ULONG_MAX;
		opp = dev_pm_opp_find_freq_floor(ndev->dev, &hz);
	}
	if (!IS_ERR(opp))
		dev_pm_opp_put(opp);
	return hz;
}

static void rknpu_freq_drop_table(void *data)
{
	dev_pm_opp_of_remove_table(data);
}

static int rknpu_freq_add_table(struct rknpu_device *ndev)
{
	int ret = dev_pm_opp_of_add_table(ndev->dev);

	return ret ?: devm_add_action_or_reset(ndev->dev, rknpu_freq_drop_table, ndev->dev);
}

static int rknpu_freq_add_devfreq(struct rknpu_device *ndev)
{
	struct rknpu_freq *freq = &ndev->freq;
	struct devfreq *devfreq;
	int ret;

	freq->profile = (struct devfreq_dev_profile) {
		.initial_freq = freq->rate,
		.polling_ms = RKNPU_FREQ_POLL_MS,
		.timer = DEVFREQ_TIMER_DELAYED,
		.target = rknpu_freq_target,
		.get_dev_status = rknpu_freq_status,
		.get_cur_freq = rknpu_freq_current,
		.exit = rknpu_freq_exit,
		RKNPU_DEVFREQ_COOLING(device_property_present(ndev->dev, "#cooling-cells"))
	};
	init_completion(&freq->released);
	devfreq = devfreq_add_device(ndev->dev, &freq->profile, "simple_ondemand", NULL);
	if (IS_ERR(devfreq))
		return PTR_ERR(devfreq);
	ret = dev_pm_qos_add_request(ndev->dev, &freq->min, DEV_PM_QOS_MIN_FREQUENCY, 0);
	if (ret < 0)
		goto err_devfreq;
	ret = dev_pm_qos_add_request(ndev->dev, &freq->max, DEV_PM_QOS_MAX_FREQUENCY, S32_MAX);
	if (ret < 0)
		goto err_min;
	freq->devfreq = devfreq;
	return 0;

err_min:
	dev_pm_qos_remove_request(&freq->min);
err_devfreq:
	rknpu_freq_remove_devfreq(freq, devfreq);
	return ret;
}

/* Before the NPU is switched on for the first time. */
void rknpu_freq_setup(struct rknpu_device *ndev)
{
	mutex_init(&ndev->freq.lock);
	ndev->freq.rate = clk_get_rate(ndev->supply.rate_clk);
}

/**
 * rknpu_freq_init() - let the load choose the clock rate
 * @ndev: the NPU, which is on
 *
 * Return: 0, also if the clock must stay as it is, or a negative error code
 */
int rknpu_freq_init(struct rknpu_device *ndev)
{
	struct rknpu_freq *freq = &ndev->freq;
	int ret;

	ret = rknpu_freq_add_table(ndev);
	if (ret == -ENODEV || ret == -EOPNOTSUPP || ret == -ENOTSUPP)
		return 0;
	if (ret)
		return dev_err_probe(ndev->dev, ret, "operating-points-v2\n");
	freq->table = true;
	freq->rate = rknpu_freq_initial(ndev);
	ret = rknpu_freq_raise(ndev);
	if (ret)
		return dev_err_probe(ndev->dev, ret, "clock rate %lu\n", freq->rate);
	ret = rknpu_freq_add_devfreq(ndev);
	if (ret == -EPROBE_DEFER)
		goto err_park;
	if (ret)
		dev_warn(ndev->dev,
			 "RKNPU: clock stays at %lu Hz: devfreq with simple_ondemand failed: %pe\n",
			 freq->rate, ERR_PTR(ret));
	return 0;

err_park:
	rknpu_freq_park(ndev);
	return ret;
}

void rknpu_freq_fini(struct rknpu_device *ndev)
{
	struct rknpu_freq *freq = &ndev->freq;

	if (!freq->devfreq)
		return;
	dev_pm_qos_remove_request(&freq->max);
	dev_pm_qos_remove_request(&freq->min);
	rknpu_freq_remove_devfreq(freq, freq->devfreq);
	freq->devfreq = NULL;
}

/**
 * rknpu_freq_raise() - the NPU is on now: give it the rate it is to have
 * @ndev: the NPU
 *
 * Return: 0 or a negative error code
 */
int rknpu_freq_raise(struct rknpu_device *ndev)
{
	struct rknpu_freq *freq = &ndev->freq;
	int ret;

	mutex_lock(&freq->lock);
	ret = rknpu_freq_set(ndev, freq->rate);
	freq->on = !ret;
	mutex_unlock(&freq->lock);
	if (!ret && freq->devfreq)
		devfreq_resume_device(freq->devfreq);
	return ret;
}

/* The NPU goes off. That the parking rate cannot be set is not worth staying on. */
void rknpu_freq_park(struct rknpu_device *ndev)
{
	struct rknpu_freq *freq = &ndev->freq;

	if (freq->devfreq)
		devfreq_suspend_device(freq->devfreq);
	mutex_lock(&freq->lock);
	freq->on = false;
	if (clk_get_rate(ndev->supply.rate_clk) > RKNPU_FREQ_PARKED_HZ)
		rknpu_freq_set(ndev, RKNPU_FREQ_PARKED_HZ);
	mutex_unlock(&freq->lock);
}

/* In Hz; while the NPU is off, what it is going to have. */
unsigned long rknpu_freq_rate(struct rknpu_device *ndev)
{
	struct rknpu_freq *freq = &ndev->freq;
	unsigned long hz;

	mutex_lock(&freq->lock);
	hz = freq->on ? clk_get_rate(ndev->supply.rate_clk) : freq->rate;
	mutex_unlock(&freq->lock);
	return hz;
}

/**
 * rknpu_freq_voltage() - voltage of the NPU's supply
 * @ndev: the NPU
 * @uv: the result, in microvolts
 *
 * Return: 0, -ENODEV without a supply, or what the regulator says
 */
int rknpu_freq_voltage(struct rknpu_device *ndev, int *uv)
{
	int ret;

	if (!ndev->supply.vdd)
		return -ENODEV;
	ret = regulator_get_voltage(ndev->supply.vdd);
	if (ret < 0)
		return ret;
	*uv = ret;
	return 0;
}

/**
 * rknpu_freq_pin() - hold the rate at one operating point
 * @ndev: the NPU
 * @hz: the rate; the next higher point is taken, or the highest; 0 lets the
 *	load choose again
 *
 * Heat may still force a lower rate.
 *
 * Return: 0 or a negative error code; -EFAULT, as the vendor's driver, if the
 * rate cannot be changed
 */
int rknpu_freq_pin(struct rknpu_device *ndev, unsigned long hz)
{
	struct rknpu_freq *freq = &ndev->freq;
	struct dev_pm_opp *opp;
	s32 khz;
	int ret;

	if (!freq->devfreq)
		return -EFAULT;
	if (!hz) {
		ret = dev_pm_qos_update_request(&freq->min, 0);
		return min(ret, 0) ?: min(dev_pm_qos_update_request(&freq->max, S32_MAX), 0);
	}
	opp = devfreq_recommended_opp(ndev->dev, &hz, 0);
	if (IS_ERR(opp))
		return PTR_ERR(opp);
	dev_pm_opp_put(opp);
	khz = hz / 1000;
	ret = dev_pm_qos_update_request(&freq->min, khz);
	return min(ret, 0) ?: min(dev_pm_qos_update_request(&freq->max, khz), 0);
}
