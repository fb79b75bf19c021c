/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_CORE_H
#define RKNPU_CORE_H

#include <linux/types.h>

#include "rknpu_regs.h"

struct device;
struct rknpu_device;
struct rknpu_job;
struct reset_control;

/* An A and an H line per core on all known chips. */
#define RKNPU_CORE_RESETS	2

/* Commands at the end of each stream that the amount in a task leaves out. */
#define RKNPU_PC_TAIL		4

/**
 * struct rknpu_batch - task records as far as the hardware start needs them
 * @regcmd: device address of the first command stream
 * @amount: register commands in it
 * @int_first: completion interrupts of the first task
 * @int_last: completion interrupts of the last task
 * @tasks: number of tasks
 */
struct rknpu_batch {
	u32 regcmd;
	u32 amount;
	u32 int_first;
	u32 int_last;
	u32 tasks;
};

/**
 * struct rknpu_core - one core
 * @ndev: the NPU
 * @index: number of the core
 * @dev: its device: that of the NPU, unless each core has one
 * @irq: its interrupt line, shared with the IOMMU
 * @regs: its register window
 * @resets: lines that reset this core only
 * @num_resets: number of @resets, 0 if its lines are shared with others
 *
 * All further members are protected by &rknpu_device.job_lock.
 *
 * @job: job whose start was written to the hardware, or NULL
 * @batch: batch of @job's range that is running
 * @status: interrupts seen since the batch was started
 * @started: when the first batch was started, in ns
 * @deadline: when @job counts as hung, in ns
 * @error: why @job must be stopped, or 0
 * @jobs: jobs ended on this core
 * @irq_cpu: where @irq was sent last
 * @busy: busy time of all jobs ended here, in ns
 * @window: number of the second that @busy_now is about
 * @busy_now: busy time in that second, in ns
 * @busy_last: busy time in the second before, in ns
 */
struct rknpu_core {
	struct rknpu_device *ndev;
	unsigned int index;
	struct device *dev;
	int irq;
	void __iomem *regs;
	struct reset_control *resets[RKNPU_CORE_RESETS];
	unsigned int num_resets;

	struct rknpu_job *job;
	unsigned int batch;
	u32 status;
	u64 started;
	u64 deadline;
	int error;
	unsigned int irq_cpu;
	u64 jobs;
	u64 busy;
	u64 window;
	u64 busy_now;
	u64 busy_last;
};

/*
 * Which register group a task ends in depends on the jobs before it, so one bit
 * of a pair stands for both.
 */
static inline u32 rknpu_core_fold_status(u32 status)
{
	u32 zero = status & PC_INTERRUPT_GROUP_0;
	u32 one = status & PC_INTERRUPT_GROUP_1;

	return zero | zero << 1 | one | one >> 1;
}

int rknpu_core_init(struct rknpu_device *ndev, unsigned int index);
u32 rknpu_core_version(const struct rknpu_core *core);
void rknpu_core_start(const struct rknpu_core *core, const struct rknpu_batch *batch,
		      bool pingpong, u32 base);
u32 rknpu_core_ack(const struct rknpu_core *core);
void rknpu_core_mute(const struct rknpu_core *core);
u32 rknpu_core_tasks_done(const struct rknpu_core *core);
bool rknpu_core_dma_failed(const struct rknpu_core *core);
void rknpu_core_state_init(struct rknpu_device *ndev);
int rknpu_core_reset(struct rknpu_core *core);

void rknpu_core_account(struct rknpu_core *core, u64 from, u64 to);
u64 rknpu_core_busy(const struct rknpu_core *core, u64 now);
unsigned int rknpu_core_load(struct rknpu_core *core, u64 now);

#endif
