// SPDX-License-Identifier: GPL-2.0-only
#include <linux/device.h>
#include <linux/interrupt.h>
#include <linux/ktime.h>
#include <linux/pm_runtime.h>

#include "rknpu_device.h"
#include "rknpu_job.h"
#include "rknpu_mmu.h"
#include "rknpu_power.h"

/**
 * DOC: Power
 *
 * Runtime PM of the NPU's device; what must be on before it follows from
 * device links, see rknpu_supply.c. The IOMMU is resumed as a supplier of the
 * NPU and sets itself up anew.
 *
 * A job takes no reference: with all that runtime PM does for one, a short job
 * would cost a tenth more. Jobs are counted, and the suspend callback refuses
 * while there are any, or when the last one ended less than the delay ago.
 *
 * When the system sleeps, jobs on the cores are waited for, and those in the
 * queue are held without power until it has resumed.
 *
 * Nothing but the callbacks here writes &rknpu_device.jobs.powered, which is
 * what everybody else looks at before touching a register.
 */

#define RKNPU_POWER_DELAY_MS	3000

/* With a delay of 0, how often to look whether the job has ended. */
#define RKNPU_POWER_RETRY_NS	(10 * NSEC_PER_MSEC)

/**
 * rknpu_power_get() - switch the NPU on and keep it on
 * @ndev: the NPU
 *
 * Return: 0, or what the part that failed says; the next call tries again
 */
int rknpu_power_get(struct rknpu_device *ndev)
{
	int ret = rknpu_supply_keep(ndev);

	if (ret)
		return ret;
	ret = pm_runtime_resume_and_get(ndev->dev);
	/* Not while the system sleeps, when nothing was tried. */
	if (ret && ret != -EACCES)
		rknpu_supply_roll_back(ndev);
	rknpu_supply_keep_no_more(ndev);
	return ret;
}

void rknpu_power_put(struct rknpu_device *ndev)
{
	pm_runtime_mark_last_busy(ndev->dev);
	pm_runtime_put_autosuspend(ndev->dev);
}

unsigned int rknpu_power_delay(struct rknpu_device *ndev)
{
	return ndev->dev->power.autosuspend_delay;
}

void rknpu_power_set_delay(struct rknpu_device *ndev, unsigned int ms)
{
	pm_runtime_set_autosuspend_delay(ndev->dev, ms);
}

/* In use, that is: not only waiting for the end of the delay. */
bool rknpu_power_is_on(struct rknpu_device *ndev)
{
	return READ_ONCE(ndev->jobs.users) ||
	       (READ_ONCE(ndev->jobs.powered) && atomic_read(&ndev->dev->power.usage_count) > 0);
}

/**
 * rknpu_power_force() - keep the power on for people who look at the hardware
 * @ndev: the NPU
 * @on: take one more reference, or drop all that were taken here
 *
 * Return: 0 or a negative error code
 */
int rknpu_power_force(struct rknpu_device *ndev, bool on)
{
	int ret = 0;

	mutex_lock(&ndev->power_lock);
	if (on)
		ret = rknpu_power_get(ndev);
	if (on && !ret)
		ndev->forced_on++;
	for (; !on && ndev->forced_on; ndev->forced_on--)
		rknpu_power_put(ndev);
	mutex_unlock(&ndev->power_lock);
	return ret;
}

/*
 * When somebody last wanted the power, so that it must stay on for the delay from
 * then on; 0 if it may go now.
 */
static u64 rknpu_power_wanted(struct rknpu_device *ndev)
{
	u64 delay = (u64)rknpu_power_delay(ndev) * NSEC_PER_MSEC;
	u64 now = ktime_get_ns();

	lockdep_assert_held(&ndev->job_lock);

	/* Sleep and unbinding see to the jobs themselves. */
	if (ndev->jobs.held || ndev->jobs.gone)
		return 0;
	if (ndev->jobs.users)
		return now + RKNPU_POWER_RETRY_NS;
	return ndev->jobs.used + delay > now ? ndev->jobs.used : 0;
}

static void rknpu_power_mark_on(struct rknpu_device *ndev)
{
	spin_lock_irq(&ndev->job_lock);
	ndev->jobs.powered = true;
	spin_unlock_irq(&ndev->job_lock);
}

static int rknpu_power_mark_off(struct rknpu_device *ndev)
{
	struct rknpu_core *core;
	u64 wanted;

	spin_lock_irq(&ndev->job_lock);
	wanted = rknpu_power_wanted(ndev);
	if (!wanted) {
		rknpu_for_each_core(core, ndev, ~0)
			rknpu_core_mute(core);
		ndev->jobs.powered = false;
		/* The IOMMU sets itself up anew when it resumes. */
		if (ndev->mmu)
			ndev->mmu->lost = false;
	}
	spin_unlock_irq(&ndev->job_lock);
	if (!wanted)
		return 0;
	/* As pm_runtime_mark_last_busy(), had it been called then: it is tried again. */
	WRITE_ONCE(ndev->dev->power.last_busy, wanted);
	return -EBUSY;
}

static int rknpu_power_resume(struct device *dev)
{
	struct rknpu_device *ndev = dev_get_drvdata(dev);
	int ret;

	/* One of several devices: the first one acts for all. */
	if (!ndev)
		return 0;
	ret = rknpu_freq_raise(ndev);
	if (ret)
		return ret;
	rknpu_core_state_init(ndev);
	rknpu_power_mark_on(ndev);
	return 0;
}

static int rknpu_power_suspend(struct device *dev)
{
	struct rknpu_device *ndev = dev_get_drvdata(dev);
	int ret;

	if (!ndev)
		return 0;
	ret = rknpu_power_mark_off(ndev);
	if (ret)
		return ret;
	rknpu_freq_park(ndev);
	/* Not while the system sleeps: then nobody may ask the IOMMU for anything. */
	if (ndev->mmu && !READ_ONCE(ndev->jobs.held))
		queue_work(ndev->wq, &ndev->purge_work);
	return 0;
}

void rknpu_power_enable(struct rknpu_device *ndev)
{
	struct rknpu_core *core;

	pm_runtime_set_autosuspend_delay(ndev->dev, RKNPU_POWER_DELAY_MS);
	pm_runtime_use_autosuspend(ndev->dev);
	rknpu_for_each_core(core, ndev, ~0) {
		if (core->dev != ndev->dev)
			pm_runtime_enable(core->dev);
	}
	pm_runtime_enable(ndev->dev);
}

void rknpu_power_disable(struct rknpu_device *ndev)
{
	struct rknpu_core *core;
	unsigned int held = 0;

	pm_runtime_dont_use_autosuspend(ndev->dev);
	/* Files that are still open may hold it on; they give their references back later. */
	while (atomic_add_unless(&ndev->dev->power.usage_count, -1, 0))
		held++;
	pm_runtime_suspend(ndev->dev);
	rknpu_supply_settle(ndev);
	pm_runtime_disable(ndev->dev);
	while (held--)
		pm_runtime_get_noresume(ndev->dev);
	rknpu_for_each_core(core, ndev, ~0) {
		if (core->dev != ndev->dev)
			pm_runtime_disable(core->dev);
	}
}

static int rknpu_power_sleep(struct device *dev)
{
	struct rknpu_device *ndev = dev_get_drvdata(dev);
	int ret;

	if (!ndev)
		return pm_runtime_force_suspend(dev);
	ret = rknpu_supply_keep(ndev);
	if (ret)
		return ret;
	rknpu_jobs_hold(ndev);
	ret = pm_runtime_force_suspend(dev);
	if (ret) {
		rknpu_jobs_resume(ndev);
		rknpu_supply_keep_no_more(ndev);
	}
	return ret;
}

static int rknpu_power_wake(struct device *dev)
{
	struct rknpu_device *ndev = dev_get_drvdata(dev);
	int ret;

	ret = pm_runtime_force_resume(dev);
	/* Also if that failed: the jobs then end with the error they meet. */
	if (ndev) {
		rknpu_jobs_resume(ndev);
		rknpu_supply_keep_no_more(ndev);
	}
	return ret;
}

const struct dev_pm_ops rknpu_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(rknpu_power_sleep, rknpu_power_wake)
	RUNTIME_PM_OPS(rknpu_power_suspend, rknpu_power_resume, NULL)
};
