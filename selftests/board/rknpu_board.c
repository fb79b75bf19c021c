// SPDX-License-Identifier: GPL-2.0-only
/*
 * Power of the emulated board, for tests only: three power domains, a clock and
 * a regulator on the control page of rknpu-sim, which counts what is done in a
 * wrong order. Everything is off until a driver asks for it.
 */
#include <linux/clk-provider.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/pm_domain.h>
#include <linux/regulator/driver.h>
#include <linux/regulator/of_regulator.h>

#define BOARD_POWER		0x20 /* bit n: domain n */
#define BOARD_CLOCK_RATE	0x24 /* Hz */
#define BOARD_CLOCK_ON		0x28
#define BOARD_SUPPLY		0x34 /* uV, 0 = off */

#define BOARD_DOMAINS		3
#define BOARD_MIN_RATE		100000000
#define BOARD_MAX_RATE		1000000000
#define BOARD_BOOT_RATE		200000000
#define BOARD_MIN_UV		600000
#define BOARD_STEP_UV		12500
#define BOARD_STEPS		29

struct board;

struct board_domain {
	struct generic_pm_domain genpd;
	struct board *board;
	unsigned int index;
};

struct board {
	void __iomem *regs;
	struct board_domain domains[BOARD_DOMAINS];
	struct generic_pm_domain *table[BOARD_DOMAINS];
	struct genpd_onecell_data onecell;
	struct mutex lock; /* protects the domains' register */
	struct clk_hw clk;
	struct regulator_desc desc;
	unsigned int selector;
	bool supply_on;
};

static int board_domain_set(struct generic_pm_domain *genpd, bool on)
{
	struct board_domain *domain = container_of(genpd, struct board_domain, genpd);
	struct board *board = domain->board;
	u32 bit = BIT(domain->index), state;

	mutex_lock(&board->lock);
	state = readl(board->regs + BOARD_POWER);
	writel(on ? state | bit : state & ~bit, board->regs + BOARD_POWER);
	state = readl(board->regs + BOARD_POWER);
	mutex_unlock(&board->lock);
	return !!(state & bit) == on ? 0 : -EIO;
}

static int board_domain_on(struct generic_pm_domain *genpd)
{
	return board_domain_set(genpd, true);
}

static int board_domain_off(struct generic_pm_domain *genpd)
{
	return board_domain_set(genpd, false);
}

static int board_add_domains(struct device *dev, struct board *board)
{
	unsigned int i;
	int ret;

	mutex_init(&board->lock);
	for (i = 0; i < BOARD_DOMAINS; i++) {
		struct board_domain *domain = &board->domains[i];

		domain->board = board;
		domain->index = i;
		domain->genpd.name = devm_kasprintf(dev, GFP_KERNEL, "npu%u", i);
		domain->genpd.power_on = board_domain_on;
		domain->genpd.power_off = board_domain_off;
		ret = pm_genpd_init(&domain->genpd, NULL, true);
		if (ret)
			return ret;
		board->table[i] = &domain->genpd;
	}
	board->onecell.domains = board->table;
	board->onecell.num_domains = BOARD_DOMAINS;
	return of_genpd_add_provider_onecell(dev->of_node, &board->onecell);
}

static struct board *board_of_clk(struct clk_hw *hw)
{
	return container_of(hw, struct board, clk);
}

static int board_clk_enable(struct clk_hw *hw)
{
	writel(1, board_of_clk(hw)->regs + BOARD_CLOCK_ON);
	return 0;
}

static void board_clk_disable(struct clk_hw *hw)
{
	writel(0, board_of_clk(hw)->regs + BOARD_CLOCK_ON);
}

static unsigned long board_clk_recalc_rate(struct clk_hw *hw, unsigned long parent_rate)
{
	return readl(board_of_clk(hw)->regs + BOARD_CLOCK_RATE);
}

static int board_clk_determine_rate(struct clk_hw *hw, struct clk_rate_request *req)
{
	req->rate = clamp_t(unsigned long, req->rate, BOARD_MIN_RATE, BOARD_MAX_RATE);
	return 0;
}

static int board_clk_set_rate(struct clk_hw *hw, unsigned long rate, unsigned long parent_rate)
{
	writel(rate, board_of_clk(hw)->regs + BOARD_CLOCK_RATE);
	return 0;
}

static const struct clk_ops board_clk_ops = {
	.enable = board_clk_enable,
	.disable = board_clk_disable,
	.recalc_rate = board_clk_recalc_rate,
	.determine_rate = board_clk_determine_rate,
	.set_rate = board_clk_set_rate,
};

static int board_add_clk(struct device *dev, struct board *board)
{
	const struct clk_init_data init = {
		.name = "clk_npu_board",
		.ops = &board_clk_ops,
	};
	int ret;

	board->clk.init = &init;
	ret = devm_clk_hw_register(dev, &board->clk);
	if (ret)
		return ret;
	return devm_of_clk_add_hw_provider(dev, of_clk_hw_simple_get, &board->clk);
}

static int board_supply_write(struct board *board)
{
	u32 uv = board->supply_on ? BOARD_MIN_UV + board->selector * BOARD_STEP_UV : 0;

	writel(uv, board->regs + BOARD_SUPPLY);
	return readl(board->regs + BOARD_SUPPLY) == uv ? 0 : -EIO;
}

static int board_supply_enable(struct regulator_dev *rdev)
{
	struct board *board = rdev_get_drvdata(rdev);
	int ret;

	board->supply_on = true;
	ret = board_supply_write(board);
	if (ret)
		board->supply_on = false;
	return ret;
}

static int board_supply_disable(struct regulator_dev *rdev)
{
	struct board *board = rdev_get_drvdata(rdev);

	board->supply_on = false;
	return board_supply_write(board);
}

static int board_supply_is_enabled(struct regulator_dev *rdev)
{
	struct board *board = rdev_get_drvdata(rdev);

	return board->supply_on;
}

static int board_supply_get(struct regulator_dev *rdev)
{
	struct board *board = rdev_get_drvdata(rdev);

	return board->selector;
}

static int board_supply_set(struct regulator_dev *rdev, unsigned int selector)
{
	struct board *board = rdev_get_drvdata(rdev);

	board->selector = selector;
	return board_supply_write(board);
}

static const struct regulator_ops board_supply_ops = {
	.list_voltage = regulator_list_voltage_linear,
	.map_voltage = regulator_map_voltage_linear,
	.enable = board_supply_enable,
	.disable = board_supply_disable,
	.is_enabled = board_supply_is_enabled,
	.get_voltage_sel = board_supply_get,
	.set_voltage_sel = board_supply_set,
};

static int board_add_supply(struct device *dev, struct board *board)
{
	struct regulator_config config = {
		.dev = dev,
		.driver_data = board,
	};

	board->desc = (struct regulator_desc) {
		.name = "vdd_npu",
		.of_match = "regulator",
		.ops = &board_supply_ops,
		.type = REGULATOR_VOLTAGE,
		.owner = THIS_MODULE,
		.min_uV = BOARD_MIN_UV,
		.uV_step = BOARD_STEP_UV,
		.n_voltages = BOARD_STEPS,
	};
	return PTR_ERR_OR_ZERO(devm_regulator_register(dev, &board->desc, &config));
}

static int board_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	struct board *board;
	struct resource *res;
	int ret;

	board = devm_kzalloc(dev, sizeof(*board), GFP_KERNEL);
	if (!board)
		return -ENOMEM;
	res = platform_get_resource(pdev, IORESOURCE_MEM, 0);
	if (!res)
		return -EINVAL;
	/* Not requested: it lies in the window of core 0. */
	board->regs = devm_ioremap(dev, res->start, resource_size(res));
	if (!board->regs)
		return -ENOMEM;
	writel(BOARD_BOOT_RATE, board->regs + BOARD_CLOCK_RATE);
	writel(0, board->regs + BOARD_CLOCK_ON);
	writel(0, board->regs + BOARD_POWER);
	writel(0, board->regs + BOARD_SUPPLY);

	ret = board_add_supply(dev, board);
	if (ret)
		return dev_err_probe(dev, ret, "supply\n");
	ret = board_add_clk(dev, board);
	if (ret)
		return dev_err_probe(dev, ret, "clock\n");
	ret = board_add_domains(dev, board);
	return ret ? dev_err_probe(dev, ret, "power domains\n") : 0;
}

static const struct of_device_id board_of_match[] = {
	{ .compatible = "rknpu,emulated-board" },
	{}
};
MODULE_DEVICE_TABLE(of, board_of_match);

/* Its consumers are built in and stay for ever, so it does too. */
static struct platform_driver board_driver = {
	.probe = board_probe,
	.driver = {
		.name = "rknpu-board",
		.of_match_table = board_of_match,
		.suppress_bind_attrs = true,
	},
};
builtin_platform_driver(board_driver);

MODULE_DESCRIPTION("Power of the emulated NPU board, for tests");
MODULE_AUTHOR("The RKNPU open stack developers");
MODULE_LICENSE("GPL");
