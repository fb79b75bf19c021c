// SPDX-License-Identifier: GPL-2.0-only
#include <linux/component.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/property.h>

#include "rknpu_device.h"
#include "rknpu_split.h"

/**
 * DOC: One device for several nodes
 *
 * Mainline's device trees have a node for each core, with registers, clocks,
 * power domain and IOMMU of its own. They make one NPU all the same, since a job
 * may occupy several. The first core's device stands for it, and is bound as
 * soon as all cores that are not disabled have been probed.
 *
 * Cores are numbered by address, disabled ones included.
 */

static const struct of_device_id rknpu_split_nodes[] = {
	{ .compatible = "rockchip,rk3576-rknn-core" },
	{ .compatible = "rockchip,rk3588-rknn-core" },
	{}
};

static resource_size_t rknpu_split_address(struct device_node *node)
{
	struct resource res;

	return of_address_to_resource(node, 0, &res) ? 0 : res.start;
}

static unsigned int rknpu_split_index(struct device_node *node)
{
	resource_size_t address = rknpu_split_address(node);
	struct device_node *other;
	unsigned int index = 0;

	for_each_matching_node(other, rknpu_split_nodes)
		index += rknpu_split_address(other) < address;
	return index;
}

static bool rknpu_split_is_first(struct device_node *node)
{
	resource_size_t address = rknpu_split_address(node);
	struct device_node *other;
	bool first = true;

	for_each_matching_node(other, rknpu_split_nodes) {
		if (of_device_is_available(other) && rknpu_split_address(other) < address)
			first = false;
	}
	return first;
}

static int rknpu_split_bind(struct device *dev, struct device *master, void *data)
{
	unsigned int index = rknpu_split_index(dev->of_node);
	struct rknpu_device *ndev = data;

	if (index >= ndev->soc->num_cores)
		return dev_err_probe(dev, -EINVAL, "there is no core %u on this chip\n", index);
	ndev->cores[index].dev = dev;
	ndev->core_mask |= BIT(index);
	return 0;
}

static void rknpu_split_unbind(struct device *dev, struct device *master, void *data)
{
	/* Nothing here is taken in rknpu_split_bind(). */
}

static const struct component_ops rknpu_split_ops = {
	.bind = rknpu_split_bind,
	.unbind = rknpu_split_unbind,
};

static int rknpu_split_compare(struct device *dev, void *data)
{
	return dev->of_node == data;
}

static void rknpu_split_release(struct device *dev, void *data)
{
	of_node_put(data);
}

static int rknpu_split_add_master(struct device *dev, const struct component_master_ops *ops)
{
	struct component_match *match = NULL;
	struct device_node *node;

	for_each_matching_node(node, rknpu_split_nodes) {
		if (of_device_is_available(node))
			component_match_add_release(dev, &match, rknpu_split_release,
						    rknpu_split_compare, of_node_get(node));
	}
	return component_master_add_with_match(dev, ops, match);
}

/**
 * rknpu_split_add() - a core was probed
 * @dev: its device
 * @ops: what to do when all are there
 *
 * Return: 0 or a negative error code
 */
int rknpu_split_add(struct device *dev, const struct component_master_ops *ops)
{
	bool first = rknpu_split_is_first(dev->of_node);
	int ret = 0;

	if (first)
		ret = rknpu_split_add_master(dev, ops);
	if (ret)
		return ret;
	ret = component_add(dev, &rknpu_split_ops);
	if (ret && first)
		component_master_del(dev, ops);
	return ret;
}

void rknpu_split_del(struct device *dev, const struct component_master_ops *ops)
{
	component_del(dev, &rknpu_split_ops);
	if (rknpu_split_is_first(dev->of_node))
		component_master_del(dev, ops);
}
