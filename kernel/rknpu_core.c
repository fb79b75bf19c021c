// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/math64.h>
#include <linux/platform_device.h>
#include <linux/reset.h>

#include "rknpu_core.h"
#include "rknpu_device.h"
#include "rknpu_io.h"
#include "rknpu_regs.h"

/* The whole window of a core, of which the IOMMU's driver has claimed a part. */
static int rknpu_core_map_window(struct rknpu_device *ndev, struct rknpu_core *core)
{
	struct platform_device *pdev = to_platform_device(core->dev);
	struct resource *res;

	res = platform_get_resource(pdev, IORESOURCE_MEM, core->index);
	if (!res)
		return dev_err_probe(ndev->dev, -EINVAL,
				     "reg: no window for core %u: one is needed for each core\n",
				     core->index);
	core->regs = devm_ioremap(ndev->dev, res->start, resource_size(res));
	return core->regs ? 0 : -ENOMEM;
}

/* The windows that a core's own node names, at the offsets they always have. */
static int rknpu_core_map_parts(struct rknpu_device *ndev, struct rknpu_core *core)
{
	static const struct {
		const char *name;
		unsigned int offset;
	} parts[] = { { "pc", 0 }, { "cna", 0x1000 }, { "core", 0x3000 } };
	struct platform_device *pdev = to_platform_device(core->dev);
	resource_size_t base = 0, end = 0;
	struct resource *res;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		res = platform_get_resource_byname(pdev, IORESOURCE_MEM, parts[i].name);
		base = res && !i ? res->start : base;
		if (!res || res->start != base + parts[i].offset)
			return dev_err_probe(ndev->dev, -EINVAL,
					     "%s: reg-names: no window %s at offset %#x\n",
					     dev_name(core->dev), parts[i].name, parts[i].offset);
		if (!devm_request_mem_region(ndev->dev, res->start, resource_size(res),
					     dev_name(core->dev)))
			return dev_err_probe(ndev->dev, -EBUSY,
					     "%s: reg: another driver has %pR: remove its module\n",
					     dev_name(core->dev), res);
		end = res->end;
	}
	core->regs = devm_ioremap(ndev->dev, base, end - base + 1);
	return core->regs ? 0 : -ENOMEM;
}

static void rknpu_core_put_reset(void *data)
{
	reset_control_put(data);
}

static int rknpu_core_get_resets(struct rknpu_device *ndev, struct rknpu_core *core)
{
	static const char * const kinds[RKNPU_CORE_RESETS] = { "a", "h" };
	unsigned int i;
	int ret;

	for (i = 0; i < RKNPU_CORE_RESETS; i++) {
		struct reset_control *reset;
		char name[16];

		if (rknpu_is_split(ndev) || ndev->soc->num_cores == 1)
			snprintf(name, sizeof(name), "srst_%s", kinds[i]);
		else
			snprintf(name, sizeof(name), "srst_%s%u", kinds[i], core->index);
		reset = reset_control_get_optional_exclusive(core->dev, name);
		if (IS_ERR(reset))
			return dev_err_probe(ndev->dev, PTR_ERR(reset), "resets: cannot get %s\n",
					     name);
		if (!reset)
			continue;
		ret = devm_add_action_or_reset(ndev->dev, rknpu_core_put_reset, reset);
		if (ret)
			return ret;
		core->resets[core->num_resets++] = reset;
	}
	return 0;
}

/**
 * rknpu_core_init() - find the resources of one core
 * @ndev: the NPU
 * @index: number of the core
 *
 * Return: 0 or a negative error code
 */
int rknpu_core_init(struct rknpu_device *ndev, unsigned int index)
{
	struct rknpu_core *core = &ndev->cores[index];
	int ret;

	core->ndev = ndev;
	if (rknpu_is_split(ndev)) {
		ret = rknpu_core_map_parts(ndev, core);
	} else {
		core->dev = ndev->dev;
		ret = rknpu_core_map_window(ndev, core);
	}
	if (ret)
		return ret;
	return rknpu_core_get_resets(ndev, core);
}

u32 rknpu_core_version(const struct rknpu_core *core)
{
	return rknpu_read(core, PC_VERSION) +
	       (rknpu_read(core, PC_VERSION_NUM) & PC_VERSION_NUM_MASK);
}

/**
 * rknpu_core_start() - let the hardware run a chain of tasks
 * @core: a core that is idle and powered
 * @batch: the tasks
 * @pingpong: alternate between register groups
 * @base: added to addresses by the hardware
 *
 * Only the first command stream is named here; the end of each stream sends
 * the program controller to the next one.
 */
void rknpu_core_start(const struct rknpu_core *core, const struct rknpu_batch *batch,
		      bool pingpong, u32 base)
{
	const struct rknpu_soc *soc = core->ndev->soc;
	u32 pointer = S_POINTER_POINTER_PP_EN | S_POINTER_EXECUTER_PP_EN |
		      S_POINTER_POINTER_PP_MODE | core->index << S_POINTER_CORE_SHIFT;
	u32 control = PC_TASK_CON_RESERVED_SET | PC_TASK_CON_COUNT_CLEAR |
		      (pingpong ? PC_TASK_CON_PP_EN : 0);
	u32 amount = DIV_ROUND_UP(batch->amount + RKNPU_PC_TAIL, soc->amount_scale) - 1;

	rknpu_write_relaxed(core, PC_BASE_ADDRESS, PC_BASE_ADDRESS_SLAVE);
	if (soc->num_cores > 1) {
		rknpu_write_relaxed(core, CNA_S_POINTER, pointer);
		rknpu_write_relaxed(core, CORE_S_POINTER, pointer);
	}
	rknpu_write_relaxed(core, PC_BASE_ADDRESS, batch->regcmd);
	rknpu_write_relaxed(core, PC_REGISTER_AMOUNTS, amount);
	rknpu_write_relaxed(core, PC_INTERRUPT_MASK, batch->int_last | PC_INTERRUPT_DMA_ERROR);
	rknpu_write_relaxed(core, PC_INTERRUPT_CLEAR, batch->int_first);
	rknpu_write_relaxed(core, PC_TASK_CON, control << soc->task_bits | batch->tasks);
	rknpu_write_relaxed(core, PC_TASK_DMA_BASE_ADDR, base);
	/* The commands and tables in memory must be there before the start. */
	rknpu_write(core, PC_OPERATION_ENABLE, PC_OPERATION_ENABLE_OP_EN);
	rknpu_write_relaxed(core, PC_OPERATION_ENABLE, 0);
}

/* Read and clear the interrupts of a core; 0 if none of them is ours. */
u32 rknpu_core_ack(const struct rknpu_core *core)
{
	u32 status = rknpu_read(core, PC_INTERRUPT_STATUS);

	if (status)
		rknpu_write_relaxed(core, PC_INTERRUPT_CLEAR, PC_INTERRUPT_ALL);
	return status;
}

/**
 * rknpu_core_mute() - let a core raise no interrupt until its next job
 * @core: a core that is idle and powered
 *
 * Read back, so that this has reached the core before its power goes: from then
 * on nobody could take its line down.
 */
void rknpu_core_mute(const struct rknpu_core *core)
{
	rknpu_write_relaxed(core, PC_INTERRUPT_MASK, 0);
	rknpu_read(core, PC_INTERRUPT_MASK);
}

/* Tasks of the current batch that have ended. */
u32 rknpu_core_tasks_done(const struct rknpu_core *core)
{
	const struct rknpu_soc *soc = core->ndev->soc;

	return rknpu_read(core, soc->task_status) & GENMASK(soc->task_bits - 1, 0);
}

bool rknpu_core_dma_failed(const struct rknpu_core *core)
{
	return rknpu_read(core, PC_INTERRUPT_RAW_STATUS) & PC_INTERRUPT_DMA_ERROR;
}

/* Writes that one chip needs before its first job; the values are the vendor's. */
void rknpu_core_state_init(struct rknpu_device *ndev)
{
	struct rknpu_core *core = &ndev->cores[0];

	if (!(ndev->soc->quirks & RKNPU_QUIRK_STATE_INIT))
		return;
	rknpu_write(core, PC_BASE_ADDRESS, PC_BASE_ADDRESS_SLAVE);
	rknpu_write(core, CNA_S_POINTER, 0);
	rknpu_write(core, CNA_RK3576_INIT, CNA_RK3576_INIT_VALUE);
	rknpu_write(core, CNA_S_POINTER, S_POINTER_POINTER);
	rknpu_write(core, CNA_RK3576_INIT, CNA_RK3576_INIT_VALUE);
	rknpu_write(core, CNA_S_POINTER, S_POINTER_POINTER_PP_EN | S_POINTER_EXECUTER_PP_EN |
		    S_POINTER_POINTER_PP_MODE | S_POINTER_EXECUTER_PP_CLEAR);
}

/**
 * rknpu_core_reset() - pulse the reset lines of one core
 * @core: a powered core
 *
 * The core forgets everything, and so does its IOMMU bank.
 *
 * Return: 0 or a negative error code
 */
int rknpu_core_reset(struct rknpu_core *core)
{
	unsigned int i;
	int ret = 0, err;

	for (i = 0; i < core->num_resets; i++)
		ret = ret ?: reset_control_assert(core->resets[i]);
	/* The vendor holds the lines for 10 us, at any clock rate. */
	usleep_range(10, 20);
	/* Also after a failure: a core that stays in reset is lost. */
	for (i = core->num_resets; i > 0; i--) {
		err = reset_control_deassert(core->resets[i - 1]);
		ret = ret ?: err;
	}
	usleep_range(10, 20);
	return ret;
}

/* Move the books on to the second that @now lies in. */
static void rknpu_core_roll(struct rknpu_core *core, u64 now)
{
	u64 window = div_u64(now, NSEC_PER_SEC);

	if (window == core->window)
		return;
	core->busy_last = window == core->window + 1 ? core->busy_now : 0;
	core->busy_now = 0;
	core->window = window;
}

/* Part of [from, to) that lies in second @window. */
static u64 rknpu_core_overlap(u64 from, u64 to, u64 window)
{
	u64 start = max(from, window * NSEC_PER_SEC);
	u64 end = min(to, (window + 1) * NSEC_PER_SEC);

	return end > start ? end - start : 0;
}

/* The core was busy from @from to @to, in ns; called with job_lock held. */
void rknpu_core_account(struct rknpu_core *core, u64 from, u64 to)
{
	rknpu_core_roll(core, to);
	core->busy += to - from;
	core->busy_now += rknpu_core_overlap(from, to, core->window);
	if (from < core->window * NSEC_PER_SEC && core->window)
		core->busy_last += rknpu_core_overlap(from, to, core->window - 1);
}

/* All busy time until @now, in ns; called with job_lock held. */
u64 rknpu_core_busy(const struct rknpu_core *core, u64 now)
{
	return core->busy + (core->job ? now - core->started : 0);
}

/* Percentage of the last whole second; called with job_lock held. */
unsigned int rknpu_core_load(struct rknpu_core *core, u64 now)
{
	u64 busy;

	rknpu_core_roll(core, now);
	busy = core->busy_last;
	if (core->job && core->window)
		busy += rknpu_core_overlap(core->started, now, core->window - 1);
	return min_t(u64, div_u64(busy, NSEC_PER_SEC / 100), 100);
}
