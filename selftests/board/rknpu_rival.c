// SPDX-License-Identifier: GPL-2.0-only
/* A driver that takes mainline's NPU nodes and does nothing with them, for tests only. */
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/platform_device.h>

static int rival_probe(struct platform_device *pdev)
{
	return 0;
}

static const struct of_device_id rival_of_match[] = {
	{ .compatible = "rockchip,rk3588-rknn-core" },
	{}
};

static struct platform_driver rival_driver = {
	.probe = rival_probe,
	.driver = {
		.name = "rknpu-rival",
		.of_match_table = rival_of_match,
	},
};
module_platform_driver(rival_driver);

MODULE_DESCRIPTION("Takes NPU nodes away from the NPU driver, for tests");
MODULE_AUTHOR("The RKNPU open stack developers");
MODULE_LICENSE("GPL");
