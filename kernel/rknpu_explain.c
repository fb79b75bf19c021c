// SPDX-License-Identifier: GPL-2.0-only
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/of.h>
#include <linux/of_irq.h>
#include <linux/of_platform.h>
#include <linux/platform_device.h>
#include <linux/property.h>

#include "rknpu_device.h"
#include "rknpu_explain.h"

/**
 * DOC: What is missing, and the cure
 *
 * One line for each thing that the device tree lacks or has wrong: it names the
 * property, says what follows, and what to do. What is needed makes the probe
 * fail where it is looked for; what the NPU can do without is told here.
 */

/* Cells of each interrupt at the controller of @node, or 0. */
static u32 rknpu_explain_irq_cells(struct device_node *node)
{
	struct device_node *parent = of_irq_find_parent(node);
	u32 cells = 0;

	if (parent)
		of_property_read_u32(parent, "#interrupt-cells", &cells);
	of_node_put(parent);
	return cells;
}

/**
 * rknpu_explain_interrupts() - find lines that were copied with too few or many cells
 * @ndev: the NPU
 *
 * Such a list gives other lines than meant, some of which even exist.
 *
 * Return: 0, or -EINVAL after saying what is wrong
 */
int rknpu_explain_interrupts(struct rknpu_device *ndev)
{
	struct device_node *node = ndev->dev->of_node;
	int lines = of_property_count_strings(node, "interrupt-names");
	int words = of_property_count_u32_elems(node, "interrupts");
	u32 cells = rknpu_explain_irq_cells(node);

	if (lines <= 0)
		lines = rknpu_is_split(ndev) ? 1 : ndev->soc->num_cores;
	if (words <= 0 || !cells || words == lines * cells)
		return 0;
	return dev_err_probe(ndev->dev, -EINVAL,
			     "interrupts: %d cells are not %d lines: the interrupt controller of this device tree wants %u cells for each\n",
			     words, lines, cells);
}

/* Before the NPU is switched on: without a power domain that may be the end. */
void rknpu_explain_optional(struct rknpu_device *ndev)
{
	bool split = rknpu_is_split(ndev);
	struct rknpu_core *core;

	if (!device_property_present(ndev->dev, "power-domains"))
		dev_warn(ndev->dev,
			 "RKNPU: power-domains: none, the firmware must leave the NPU on: add those of the chip\n");
	if (!ndev->supply.vdd)
		dev_info(ndev->dev,
			 "RKNPU: %s-supply: none, so the rail must always be on and its voltage stays: add it if the board has one\n",
			 split ? "npu" : "rknpu");
	rknpu_for_each_core(core, ndev, ~0) {
		if (!core->num_resets) {
			dev_warn(core->dev,
				 "RKNPU: resets: none named srst_a%s of core %u, a job that hangs blocks it: add those of the chip\n",
				 split || ndev->soc->num_cores == 1 ? "" : "N", core->index);
			break;
		}
	}
	if (!ndev->sram.total)
		dev_info(ndev->dev,
			 "RKNPU: could not find sram resource! All memory is DDR: name a region in rockchip,sram to change that\n");
}

void rknpu_explain_no_mmu(struct rknpu_device *ndev)
{
	if (!device_property_present(ndev->dev, "iommus"))
		dev_info(ndev->dev,
			 "RKNPU: rknpu iommu device-tree entry not found!, using non-iommu mode: no iommus, clients are not isolated from each other\n");
	else
		dev_warn(ndev->dev,
			 "RKNPU: rknpu iommu is disabled, using non-iommu mode: clients are not isolated from each other; iommus names a node that is disabled or has no driver (CONFIG_ROCKCHIP_IOMMU)\n");
}

/* The kernel does not say where it puts page tables, only how much memory there is. */
void rknpu_explain_low_tables(struct rknpu_device *ndev)
{
	if (!(ndev->soc->quirks & RKNPU_QUIRK_LOW_TABLES) ||
	    dma_get_required_mask(ndev->dma_dev) <= DMA_BIT_MASK(32))
		return;
	dev_warn(ndev->dev,
		 "RKNPU: memory above 4 GiB: the iommu of this chip cannot read page tables there, and jobs fail if the kernel puts them there: boot with mem=3840M, use a kernel that keeps them low, or remove iommus\n");
}

static bool rknpu_explain_is_ours(const char *driver)
{
	return !strcmp(driver, "RKNPU");
}

/* Called when the driver was registered: another one may have been faster. */
void rknpu_explain_rivals(void)
{
	static const char * const nodes[] = {
		"rockchip,rk3588-rknn-core", "rockchip,rk3576-rknn-core", "rockchip,rk3588-rknpu",
	};
	struct platform_device *pdev;
	struct device_driver *driver;
	struct device_node *node;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(nodes); i++) {
		for_each_compatible_node(node, NULL, nodes[i]) {
			pdev = of_find_device_by_node(node);
			driver = pdev ? READ_ONCE(pdev->dev.driver) : NULL;
			if (driver && !rknpu_explain_is_ours(driver->name))
				dev_err(&pdev->dev,
					"RKNPU: driver %s has this node: remove its module or put it on the blacklist, then load rknpu again\n",
					driver->name);
			if (pdev)
				put_device(&pdev->dev);
		}
	}
}
