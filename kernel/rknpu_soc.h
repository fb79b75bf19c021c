/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_SOC_H
#define RKNPU_SOC_H

#include <linux/bits.h>
#include <linux/types.h>

#define RKNPU_MAX_CORES		3

/* After power-on and reset, a fixed series of writes to core 0 is needed. */
#define RKNPU_QUIRK_STATE_INIT	BIT(0)
/* An nvmem cell "cores" tells which cores were disabled in the factory. */
#define RKNPU_QUIRK_FUSED_CORES	BIT(1)
/* The IOMMU cannot read page tables above 4 GiB, and the kernel may put them there. */
#define RKNPU_QUIRK_LOW_TABLES	BIT(2)
/* Each core is a node of its own, as in mainline's device trees. */
#define RKNPU_QUIRK_SPLIT	BIT(3)

/**
 * struct rknpu_soc - what differs between chips
 * @dma_bits: width of physical addresses the NPU and its IOMMU can use
 * @num_cores: cores of the full chip
 * @amount_scale: register commands per unit of PC_REGISTER_AMOUNTS
 * @task_bits: width of the task number in PC_TASK_CON and of the task counter
 * @task_status: offset of the counter of finished tasks
 * @quirks: RKNPU_QUIRK bits
 */
struct rknpu_soc {
	u8 dma_bits;
	u8 num_cores;
	u8 amount_scale;
	u8 task_bits;
	u16 task_status;
	u32 quirks;
};

/* Tasks that one start of the hardware can run. */
static inline u32 rknpu_max_tasks(const struct rknpu_soc *soc)
{
	return GENMASK(soc->task_bits - 1, 0);
}

extern const struct rknpu_soc rknpu_soc_rk3562;
extern const struct rknpu_soc rknpu_soc_rk3568;
extern const struct rknpu_soc rknpu_soc_rk3576;
extern const struct rknpu_soc rknpu_soc_rk3576_split;
extern const struct rknpu_soc rknpu_soc_rk3588;
extern const struct rknpu_soc rknpu_soc_rk3588_split;

#endif
