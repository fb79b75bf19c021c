// SPDX-License-Identifier: GPL-2.0-only
#include <linux/clk.h>
#include <linux/device.h>
#include <linux/of.h>
#include <linux/of_platform.h>
#include <linux/platform_device.h>
#include <linux/pm_domain.h>
#include <linux/pm_runtime.h>
#include <linux/regulator/consumer.h>

#include "rknpu_device.h"
#include "rknpu_supply.h"

/**
 * DOC: Supplies, clocks and power domains
 *
 * The IOMMU has a driver of its own, which resumes it as a supplier of the NPU:
 * before any callback of ours. So what its banks need must come before both.
 * Device links make runtime PM follow this order on the way up, and the reverse
 * on the way down:
 *
 *   rail (supplies on, clocks running) -> power domains -> IOMMU -> NPU
 *
 * The rail is a device without hardware, which has nothing but the callbacks
 * here. The clock is raised after all that, see rknpu_freq.c.
 */

static int rknpu_supply_rail_resume(struct device *dev)
{
	struct rknpu_supply *supply = container_of(dev->pm_domain, struct rknpu_supply, pm);
	int i, ret = 0;

	if (supply->vdd)
		ret = regulator_enable(supply->vdd);
	if (ret)
		return ret;
	if (supply->mem)
		ret = regulator_enable(supply->mem);
	if (ret)
		goto err_vdd;
	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		ret = clk_bulk_prepare_enable(supply->num_clks[i], supply->clks[i]);
		if (ret)
			goto err_clks;
	}
	return 0;

err_clks:
	while (i--)
		clk_bulk_disable_unprepare(supply->num_clks[i], supply->clks[i]);
	if (supply->mem)
		regulator_disable(supply->mem);
err_vdd:
	if (supply->vdd)
		regulator_disable(supply->vdd);
	return ret;
}

static int rknpu_supply_rail_suspend(struct device *dev)
{
	struct rknpu_supply *supply = container_of(dev->pm_domain, struct rknpu_supply, pm);
	int i;

	for (i = RKNPU_MAX_CORES - 1; i >= 0; i--)
		clk_bulk_disable_unprepare(supply->num_clks[i], supply->clks[i]);
	if (supply->mem)
		regulator_disable(supply->mem);
	if (supply->vdd)
		regulator_disable(supply->vdd);
	return 0;
}

static const struct dev_pm_ops rknpu_supply_rail_ops = {
	RUNTIME_PM_OPS(rknpu_supply_rail_suspend, rknpu_supply_rail_resume, NULL)
};

static void rknpu_supply_drop_rail(void *data)
{
	struct platform_device *rail = data;

	pm_runtime_disable(&rail->dev);
	dev_pm_domain_set(&rail->dev, NULL);
	platform_device_unregister(rail);
}

static int rknpu_supply_add_rail(struct rknpu_device *ndev)
{
	struct rknpu_supply *supply = &ndev->supply;

	/* No child of the NPU: it is the NPU that depends on it. */
	supply->rail = platform_device_register_simple("rknpu-rail", PLATFORM_DEVID_AUTO, NULL, 0);
	if (IS_ERR(supply->rail))
		return PTR_ERR(supply->rail);
	supply->pm.ops = rknpu_supply_rail_ops;
	dev_pm_domain_set(&supply->rail->dev, &supply->pm);
	pm_runtime_enable(&supply->rail->dev);
	return devm_add_action_or_reset(ndev->dev, rknpu_supply_drop_rail, supply->rail);
}

static void rknpu_supply_drop_link(void *data)
{
	device_link_del(data);
}

/* Resume @before first, and suspend it last. */
static int rknpu_supply_order(struct rknpu_device *ndev, struct device *dev,
			      struct device *before)
{
	struct device_link *link;

	link = device_link_add(dev, before, DL_FLAG_PM_RUNTIME | DL_FLAG_STATELESS);
	if (!link)
		return dev_err_probe(ndev->dev, -EINVAL, "%s cannot depend on %s\n",
				     dev_name(dev), dev_name(before));
	return devm_add_action_or_reset(ndev->dev, rknpu_supply_drop_link, link);
}

static int rknpu_supply_chain(struct rknpu_device *ndev, struct device *dev)
{
	struct rknpu_supply *supply = &ndev->supply;

	if (WARN_ON(supply->num_chain == ARRAY_SIZE(supply->chain)))
		return -EINVAL;
	supply->chain[supply->num_chain++] = dev;
	return dev == &supply->rail->dev ? 0 : rknpu_supply_order(ndev, dev, &supply->rail->dev);
}

static void rknpu_supply_put_device(void *data)
{
	put_device(data);
}

/* The IOMMU that the firmware puts in front of a device of ours, with a reference. */
static struct device *rknpu_supply_find_mmu(struct device *dev)
{
	struct device_node *node = of_parse_phandle(dev->of_node, "iommus", 0);
	struct platform_device *mmu;

	if (!node)
		return NULL;
	mmu = of_find_device_by_node(node);
	of_node_put(node);
	return mmu ? &mmu->dev : NULL;
}

/**
 * rknpu_supply_hush() - do not resume the IOMMU of a device for now
 * @dev: a device that is being probed
 *
 * The driver core resumes all suppliers of a device before it is probed. As
 * soon as the kernel has put the device behind its IOMMU, that means the IOMMU's
 * registers, whose power nobody but this driver sees to. Up to 6.14 the kernel
 * does so at the first probe, so that this matters from the second one on.
 */
void rknpu_supply_hush(struct device *dev)
{
	struct device *mmu = rknpu_supply_find_mmu(dev);

	if (mmu && pm_runtime_enabled(mmu))
		pm_runtime_disable(mmu);
	put_device(mmu);
}

/* The opposite. An IOMMU that was not hushed is left as it is. */
static void rknpu_supply_unhush(struct device *dev)
{
	struct device *mmu = rknpu_supply_find_mmu(dev);

	if (mmu && mmu->driver && !pm_runtime_enabled(mmu))
		pm_runtime_enable(mmu);
	put_device(mmu);
}

static void rknpu_supply_each_waiting(const struct of_device_id *nodes,
				      void (*what)(struct device *dev))
{
	struct platform_device *pdev;
	struct device_node *node;

	for_each_matching_node(node, nodes) {
		pdev = of_find_device_by_node(node);
		if (!pdev)
			continue;
		if (!READ_ONCE(pdev->dev.driver) && device_iommu_mapped(&pdev->dev))
			what(&pdev->dev);
		put_device(&pdev->dev);
	}
}

/**
 * rknpu_supply_hush_all() - the same for all devices that wait for this driver
 * @nodes: what the driver supports
 *
 * From 6.15 on the kernel puts a device behind its IOMMU as soon as both are
 * there: then it is too late in the first probe already.
 */
void rknpu_supply_hush_all(const struct of_device_id *nodes)
{
	rknpu_supply_each_waiting(nodes, rknpu_supply_hush);
}

/**
 * rknpu_supply_unhush_all() - leave the IOMMUs as they were found
 * @nodes: what the driver supports
 *
 * For the end of this driver: another one may need them next.
 */
void rknpu_supply_unhush_all(const struct of_device_id *nodes)
{
	rknpu_supply_each_waiting(nodes, rknpu_supply_unhush);
}

static void rknpu_supply_hush_again(void *data)
{
	pm_runtime_disable(data);
}

/* What the IOMMUs need comes first now: they may be resumed. */
static int rknpu_supply_wake_mmus(struct rknpu_device *ndev)
{
	struct rknpu_supply *supply = &ndev->supply;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < supply->num_mmus && !ret; i++) {
		pm_runtime_enable(supply->mmus[i]);
		ret = devm_add_action_or_reset(ndev->dev, rknpu_supply_hush_again,
					       supply->mmus[i]);
	}
	return ret;
}

static int rknpu_supply_chain_mmu(struct rknpu_device *ndev, struct device *dev)
{
	struct device *mmu = rknpu_supply_find_mmu(dev);
	int ret;

	/* Without a driver it is none. */
	if (!mmu || !mmu->driver) {
		put_device(mmu);
		return 0;
	}
	ret = devm_add_action_or_reset(ndev->dev, rknpu_supply_put_device, mmu);
	if (ret)
		return ret;
	ndev->supply.mmus[ndev->supply.num_mmus++] = mmu;
	return rknpu_supply_chain(ndev, mmu);
}

static void rknpu_supply_detach_domain(void *data)
{
	dev_pm_domain_detach(data, true);
}

/* Everything before the domain in the chain is an IOMMU or the NPU: all need it. */
static int rknpu_supply_chain_domain(struct rknpu_device *ndev, struct device *domain)
{
	struct rknpu_supply *supply = &ndev->supply;
	unsigned int i, users = supply->num_chain;
	int ret;

	ret = devm_add_action_or_reset(ndev->dev, rknpu_supply_detach_domain, domain);
	if (ret)
		return ret;
	ret = rknpu_supply_chain(ndev, domain);
	for (i = 0; i < users && !ret; i++) {
		if (supply->chain[i]->bus == ndev->dev->bus)
			ret = rknpu_supply_order(ndev, supply->chain[i], domain);
	}
	return ret;
}

/* The driver core attaches a single domain by itself, several it leaves alone. */
static int rknpu_supply_attach_domains(struct rknpu_device *ndev)
{
	int i, num = of_count_phandle_with_args(ndev->dev->of_node, "power-domains",
						"#power-domain-cells");
	struct device *domain;
	char name[8];
	int ret;

	if (ndev->dev->pm_domain || num <= 0)
		return 0;
	for (i = 0; i < num && i < RKNPU_MAX_CORES; i++) {
		snprintf(name, sizeof(name), "npu%u", i);
		domain = dev_pm_domain_attach_by_name(ndev->dev, name);
		if (IS_ERR_OR_NULL(domain)) {
			ret = domain ? PTR_ERR(domain) : -ENODEV;
			return dev_err_probe(ndev->dev, ret,
					     "power-domain-names: cannot get %s of %d: name all in power-domains npu0, npu1, ...\n",
					     name, num);
		}
		ret = rknpu_supply_chain_domain(ndev, domain);
		if (ret)
			return ret;
	}
	return 0;
}

static int rknpu_supply_get_regulator(struct rknpu_device *ndev, const char *name,
				      struct regulator **supply)
{
	*supply = devm_regulator_get_optional(ndev->dev, name);
	if (!IS_ERR(*supply))
		return 0;
	if (PTR_ERR(*supply) != -ENODEV)
		return dev_err_probe(ndev->dev, PTR_ERR(*supply), "%s-supply: cannot get it\n",
				     name);
	*supply = NULL;
	return 0;
}

static void rknpu_supply_put_clks(void *data)
{
	struct rknpu_core *core = data;
	struct rknpu_supply *supply = &core->ndev->supply;

	clk_bulk_put_all(supply->num_clks[core->index], supply->clks[core->index]);
	supply->num_clks[core->index] = 0;
}

/* All clocks of a node. The first one sets the rate, unless one has a name for it. */
static int rknpu_supply_get_clks(struct rknpu_device *ndev, struct rknpu_core *core)
{
	struct rknpu_supply *supply = &ndev->supply;
	struct clk_bulk_data **clks = &supply->clks[core->index];
	int i, num = clk_bulk_get_all(core->dev, clks);

	if (num < 0)
		return dev_err_probe(ndev->dev, num, "%s: clocks: cannot get them\n",
				     dev_name(core->dev));
	if (!num)
		return dev_err_probe(ndev->dev, -EINVAL,
				     "%s: clocks: none: add those of the chip, the rate clock first\n",
				     dev_name(core->dev));
	supply->num_clks[core->index] = num;
	for (i = 0; i < num && core->dev == ndev->dev; i++) {
		if (!i || (rknpu_is_split(ndev) && !strcmp((*clks)[i].id ?: "", "npu")))
			supply->rate_clk = (*clks)[i].clk;
	}
	return devm_add_action_or_reset(ndev->dev, rknpu_supply_put_clks, core);
}

/* The rails are common to all cores on every known board: those of the first count. */
static int rknpu_supply_get_regulators(struct rknpu_device *ndev)
{
	struct rknpu_supply *supply = &ndev->supply;
	bool split = rknpu_is_split(ndev);
	int ret;

	ret = rknpu_supply_get_regulator(ndev, split ? "npu" : "rknpu", &supply->vdd);
	return ret ?: rknpu_supply_get_regulator(ndev, split ? "sram" : "mem", &supply->mem);
}

/* The device nodes of the NPU: one, or one for each core. */
static u32 rknpu_supply_units(const struct rknpu_device *ndev)
{
	return rknpu_is_split(ndev) ? ndev->core_mask : BIT(__ffs(ndev->core_mask));
}

static int rknpu_supply_chain_units(struct rknpu_device *ndev)
{
	u32 units = rknpu_supply_units(ndev);
	struct rknpu_core *core;
	int ret = 0;

	rknpu_for_each_core(core, ndev, units) {
		ret = ret ?: rknpu_supply_chain(ndev, core->dev);
		if (!ret && core->dev != ndev->dev)
			ret = rknpu_supply_order(ndev, ndev->dev, core->dev);
	}
	rknpu_for_each_core(core, ndev, units)
		ret = ret ?: rknpu_supply_chain_mmu(ndev, core->dev);
	return ret;
}

/**
 * rknpu_supply_init() - find clocks, supplies and power domains
 * @ndev: the NPU
 *
 * Return: 0 or a negative error code
 */
int rknpu_supply_init(struct rknpu_device *ndev)
{
	u32 units = rknpu_supply_units(ndev);
	struct rknpu_core *core;
	int ret = 0;

	rknpu_for_each_core(core, ndev, units)
		ret = ret ?: rknpu_supply_get_clks(ndev, core);
	if (ret)
		return ret;
	ret = rknpu_supply_get_regulators(ndev);
	if (ret)
		return ret;
	ret = rknpu_supply_add_rail(ndev);
	if (ret)
		return ret;
	ret = rknpu_supply_chain_units(ndev);
	if (ret)
		return ret;
	if (!rknpu_is_split(ndev))
		ret = rknpu_supply_attach_domains(ndev);
	ret = ret ?: rknpu_supply_chain(ndev, &ndev->supply.rail->dev);
	return ret ?: rknpu_supply_wake_mmus(ndev);
}

/*
 * One of the chain could not be resumed, and runtime PM refuses to try again
 * until it is told that the device is off for sure.
 */
static void rknpu_supply_forget_errors(struct rknpu_device *ndev)
{
	struct rknpu_supply *supply = &ndev->supply;
	unsigned int i;

	for (i = 0; i < supply->num_chain; i++) {
		if (supply->chain[i]->power.runtime_error)
			pm_runtime_set_suspended(supply->chain[i]);
	}
}

/**
 * rknpu_supply_roll_back() - the NPU could not be resumed: switch off what was on
 * @ndev: the NPU; the rail is kept on meanwhile
 *
 * An IOMMU that had been resumed goes while the NPU is still being resumed. If
 * both are in one power domain, that is not switched off then, because one of
 * its devices may be in use, and nobody comes back to it. So the IOMMUs go once
 * more, now that the NPU is off for sure.
 */
void rknpu_supply_roll_back(struct rknpu_device *ndev)
{
	struct rknpu_supply *supply = &ndev->supply;
	unsigned int i;

	rknpu_supply_forget_errors(ndev);
	for (i = 0; i < supply->num_mmus; i++) {
		if (!pm_runtime_resume_and_get(supply->mmus[i]))
			pm_runtime_put_sync_suspend(supply->mmus[i]);
	}
	rknpu_supply_forget_errors(ndev);
}

/**
 * rknpu_supply_keep() - keep the rail on
 * @ndev: the NPU
 *
 * Also when the system is going to sleep: the kernel switches power domains off
 * late and on early, when a regulator cannot be talked to, and also those that
 * were off before. Whether the rail is cut while the system sleeps is up to its
 * own description.
 *
 * Return: 0 or a negative error code
 */
int rknpu_supply_keep(struct rknpu_device *ndev)
{
	int ret = pm_runtime_resume_and_get(&ndev->supply.rail->dev);

	if (ret)
		rknpu_supply_forget_errors(ndev);
	return ret;
}

void rknpu_supply_keep_no_more(struct rknpu_device *ndev)
{
	pm_runtime_put(&ndev->supply.rail->dev);
}

/* The NPU is off: see to it that all the others are, before they lose their order. */
void rknpu_supply_settle(struct rknpu_device *ndev)
{
	struct rknpu_supply *supply = &ndev->supply;
	unsigned int i;

	for (i = 1; i < supply->num_chain; i++)
		pm_runtime_suspend(supply->chain[i]);
}
