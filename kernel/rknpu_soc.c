// SPDX-License-Identifier: GPL-2.0-only
#include "rknpu_regs.h"
#include "rknpu_soc.h"

const struct rknpu_soc rknpu_soc_rk3562 = {
	.dma_bits = 40,
	.num_cores = 1,
	.amount_scale = 2,
	.task_bits = 16,
	.task_status = PC_TASK_STATUS_V2,
};

const struct rknpu_soc rknpu_soc_rk3568 = {
	.dma_bits = 32,
	.num_cores = 1,
	.amount_scale = 1,
	.task_bits = 12,
	.task_status = PC_TASK_STATUS,
	.quirks = RKNPU_QUIRK_LOW_TABLES,
};

const struct rknpu_soc rknpu_soc_rk3576 = {
	.dma_bits = 40,
	.num_cores = 2,
	.amount_scale = 2,
	.task_bits = 16,
	.task_status = PC_TASK_STATUS_V2,
	.quirks = RKNPU_QUIRK_STATE_INIT,
};

const struct rknpu_soc rknpu_soc_rk3576_split = {
	.dma_bits = 40,
	.num_cores = 2,
	.amount_scale = 2,
	.task_bits = 16,
	.task_status = PC_TASK_STATUS_V2,
	.quirks = RKNPU_QUIRK_STATE_INIT | RKNPU_QUIRK_SPLIT,
};

const struct rknpu_soc rknpu_soc_rk3588 = {
	.dma_bits = 40,
	.num_cores = 3,
	.amount_scale = 2,
	.task_bits = 12,
	.task_status = PC_TASK_STATUS,
	.quirks = RKNPU_QUIRK_FUSED_CORES,
};

/* Mainline's binding has no fuses: a core that does not work is disabled there. */
const struct rknpu_soc rknpu_soc_rk3588_split = {
	.dma_bits = 40,
	.num_cores = 3,
	.amount_scale = 2,
	.task_bits = 12,
	.task_status = PC_TASK_STATUS,
	.quirks = RKNPU_QUIRK_SPLIT,
};
