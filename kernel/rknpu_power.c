// SPDX-License-Identifier: GPL-2.0-only
#include <linux/clk.h>
#include <linux/device.h>
#include <linux/interrupt.h>
#include <linux/pm_domain.h>
#include <linux/pm_runtime.h>
#include <linux/regulator/consumer.h>

#include "rknpu_device.h"
#include "rknpu_mmu.h"
#include "rknpu_power.h"
#include "rknpu_vm.h"

/**
 * DOC: Power
 *
 * Runtime PM holds the power domains; the driver core and device links switch
 * them on before, and off after, the callbacks here. So the order is domain,
 * voltage, clocks on the way up and the reverse on the way down. The IOMMU is
 * resumed as a supplier of the NPU and sets itself up anew.
 *
 * Nothing but the callbacks here writes &rknpu_device.jobs.powered, which is
 * what everybody else looks at before touching a register.
 */

#define RKNPU_POWER_DELAY_MS	3000

static int rknpu_power_get_supply(struct rknpu_device *ndev, const char *name,
				  struct regulator **supply)
{
	*supply = devm_regulator_get_optional(ndev->dev, name);
	if (!IS_ERR(*supply))
		return 0;
	if (PTR_ERR(*supply) != -ENODEV)
		return dev_err_probe(ndev->dev, PTR_ERR(*supply), "supply %s\n", name);
	*supply = NULL;
	return 0;
}

static void rknpu_power_drop_domain(void *data)
{
	dev_pm_domain_detach(data, true);
}

/* The driver core attaches a single domain by itself, several it leaves alone. */
static int rknpu_power_attach_domains(struct rknpu_device *ndev)
{
	struct device_link *link;
	struct device *domain;
	unsigned int i;
	char name[8];
	int ret;

	if (ndev->dev->pm_domain)
		return 0;
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		snprintf(name, sizeof(name), "npu%u", i);
		domain = dev_pm_domain_attach_by_name(ndev->dev, name);
		if (!domain)
			continue;
		if (IS_ERR(domain))
			return PTR_ERR(domain) == -ENODATA || PTR_ERR(domain) == -EINVAL ? 0 :
			       dev_err_probe(ndev->dev, PTR_ERR(domain), "power domain %s\n", name);
		ret = devm_add_action_or_reset(ndev->dev, rknpu_power_drop_domain, domain);
		if (ret)
			return ret;
		link = device_link_add(ndev->dev, domain, DL_FLAG_PM_RUNTIME |
				       DL_FLAG_AUTOREMOVE_CONSUMER);
		if (!link)
			return -EINVAL;
	}
	return 0;
}

/**
 * rknpu_power_init() - find clocks, supplies and power domains
 * @ndev: the NPU
 *
 * Return: 0 or a negative error code
 */
int rknpu_power_init(struct rknpu_device *ndev)
{
	int ret;

	mutex_init(&ndev->power_lock);
	ndev->num_clks = devm_clk_bulk_get_all(ndev->dev, &ndev->clks);
	if (ndev->num_clks < 0)
		return dev_err_probe(ndev->dev, ndev->num_clks, "clocks\n");
	if (!ndev->num_clks)
		return dev_err_probe(ndev->dev, -EINVAL, "no clocks\n");
	ret = rknpu_power_get_supply(ndev, "rknpu", &ndev->vdd);
	if (ret)
		return ret;
	ret = rknpu_power_get_supply(ndev, "mem", &ndev->mem);
	if (ret)
		return ret;
	return rknpu_power_attach_domains(ndev);
}

void rknpu_power_enable(struct rknpu_device *ndev)
{
	pm_runtime_set_autosuspend_delay(ndev->dev, RKNPU_POWER_DELAY_MS);
	pm_runtime_use_autosuspend(ndev->dev);
	pm_runtime_enable(ndev->dev);
}

void rknpu_power_disable(struct rknpu_device *ndev)
{
	pm_runtime_dont_use_autosuspend(ndev->dev);
	pm_runtime_suspend(ndev->dev);
	pm_runtime_disable(ndev->dev);
}

int rknpu_power_get(struct rknpu_device *ndev)
{
	return pm_runtime_resume_and_get(ndev->dev);
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
	return pm_runtime_active(ndev->dev) && atomic_read(&ndev->dev->power.usage_count) > 0;
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

int rknpu_power_rate(struct rknpu_device *ndev, unsigned long *hz)
{
	*hz = clk_get_rate(ndev->clks[0].clk);
	return 0;
}

int rknpu_power_voltage(struct rknpu_device *ndev, int *uv)
{
	int ret;

	if (!ndev->vdd)
		return -ENODEV;
	ret = regulator_get_voltage(ndev->vdd);
	if (ret < 0)
		return ret;
	*uv = ret;
	return 0;
}

static int rknpu_power_supplies_on(struct rknpu_device *ndev)
{
	int ret = ndev->vdd ? regulator_enable(ndev->vdd) : 0;

	if (ret || !ndev->mem)
		return ret;
	ret = regulator_enable(ndev->mem);
	if (ret && ndev->vdd)
		regulator_disable(ndev->vdd);
	return ret;
}

static void rknpu_power_supplies_off(struct rknpu_device *ndev)
{
	if (ndev->mem)
		regulator_disable(ndev->mem);
	if (ndev->vdd)
		regulator_disable(ndev->vdd);
}

static void rknpu_power_mark(struct rknpu_device *ndev, bool powered)
{
	spin_lock_irq(&ndev->job_lock);
	ndev->jobs.powered = powered;
	/* The IOMMU sets itself up anew when it resumes. */
	if (!powered && ndev->mmu)
		ndev->mmu->lost = false;
	spin_unlock_irq(&ndev->job_lock);
}

static int rknpu_power_resume(struct device *dev)
{
	struct rknpu_device *ndev = dev_get_drvdata(dev);
	int ret;

	ret = rknpu_power_supplies_on(ndev);
	if (ret)
		return ret;
	ret = clk_bulk_prepare_enable(ndev->num_clks, ndev->clks);
	if (ret) {
		rknpu_power_supplies_off(ndev);
		return ret;
	}
	rknpu_core_state_init(ndev);
	rknpu_power_mark(ndev, true);
	return 0;
}

static int rknpu_power_suspend(struct device *dev)
{
	struct rknpu_device *ndev = dev_get_drvdata(dev);

	rknpu_power_mark(ndev, false);
	clk_bulk_disable_unprepare(ndev->num_clks, ndev->clks);
	rknpu_power_supplies_off(ndev);
	if (ndev->mmu)
		queue_work(ndev->wq, &ndev->purge_work);
	return 0;
}

DEFINE_RUNTIME_DEV_PM_OPS(rknpu_pm_ops, rknpu_power_suspend, rknpu_power_resume, NULL);
