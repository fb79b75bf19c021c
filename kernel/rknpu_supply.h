/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_SUPPLY_H
#define RKNPU_SUPPLY_H

#include <linux/mod_devicetable.h>
#include <linux/pm.h>
#include <linux/types.h>

#include "rknpu_soc.h"

struct clk;
struct clk_bulk_data;
struct device;
struct platform_device;
struct regulator;
struct rknpu_device;

/* The NPU's devices, their IOMMUs, power domains, and the rail. */
#define RKNPU_SUPPLY_CHAIN	(3 * RKNPU_MAX_CORES + 1)

/**
 * struct rknpu_supply - what the NPU needs before it can be touched
 * @rail: a device that stands for supplies and clocks, so that others can wait
 *	for them
 * @pm: the callbacks of @rail
 * @clks: clocks of each node
 * @num_clks: number of each of @clks
 * @rate_clk: the clock whose rate is that of the cores
 * @vdd: supply of the NPU, or NULL
 * @mem: supply of its memories, or NULL
 * @mmus: the IOMMUs in front of the cores
 * @num_mmus: number of @mmus
 * @chain: all devices that are resumed with the NPU, the NPU first
 * @num_chain: number of @chain
 */
struct rknpu_supply {
	struct platform_device *rail;
	struct dev_pm_domain pm;
	struct clk_bulk_data *clks[RKNPU_MAX_CORES];
	int num_clks[RKNPU_MAX_CORES];
	struct clk *rate_clk;
	struct regulator *vdd;
	struct regulator *mem;
	struct device *mmus[RKNPU_MAX_CORES];
	unsigned int num_mmus;
	struct device *chain[RKNPU_SUPPLY_CHAIN];
	unsigned int num_chain;
};

void rknpu_supply_hush(struct device *dev);
void rknpu_supply_hush_all(const struct of_device_id *nodes);
void rknpu_supply_unhush_all(const struct of_device_id *nodes);
int rknpu_supply_init(struct rknpu_device *ndev);
int rknpu_supply_keep(struct rknpu_device *ndev);
void rknpu_supply_keep_no_more(struct rknpu_device *ndev);
void rknpu_supply_settle(struct rknpu_device *ndev);
void rknpu_supply_roll_back(struct rknpu_device *ndev);

#endif
