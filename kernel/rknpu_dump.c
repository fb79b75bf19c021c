// SPDX-License-Identifier: GPL-2.0-only
#include <linux/devcoredump.h>
#include <linux/kernel.h>
#include <linux/vmalloc.h>

#include <drm/drm_managed.h>

#include "rknpu_device.h"
#include "rknpu_dump.h"
#include "rknpu_gem.h"
#include "rknpu_io.h"
#include "rknpu_job.h"
#include "rknpu_regs.h"
#include "rknpu_vm.h"

/**
 * DOC: Dump of a stopped job
 *
 * Lines of text, so that people can read it without a tool: a word that says
 * what the line is about, then values. The registers are those of the moment
 * before the reset; the commands are read later, and are what is then in
 * memory. It ends up in the kernel's devcoredump class.
 */

#define RKNPU_DUMP_SIZE		(48 * 1024)

/* The first commands of a stream tell which operator it is, and usually all. */
#define RKNPU_DUMP_COMMANDS	512

static const u16 rknpu_dump_regs[] = {
	PC_VERSION, PC_VERSION_NUM, PC_OPERATION_ENABLE, PC_BASE_ADDRESS, PC_REGISTER_AMOUNTS,
	PC_INTERRUPT_MASK, PC_INTERRUPT_STATUS, PC_INTERRUPT_RAW_STATUS, PC_TASK_CON,
	PC_TASK_DMA_BASE_ADDR, CNA_S_POINTER, CORE_S_POINTER,
};

static __printf(2, 3) void rknpu_dump_line(struct rknpu_dump *dump, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	dump->used += vscnprintf(dump->text + dump->used, RKNPU_DUMP_SIZE - dump->used, format,
				 args);
	va_end(args);
}

/* Others wait for the jobs' fences while a dump is made: allocate it now. */
int rknpu_dump_init(struct rknpu_device *ndev)
{
	ndev->dump_text = drmm_kzalloc(&ndev->drm, RKNPU_DUMP_SIZE, GFP_KERNEL);
	return ndev->dump_text ? 0 : -ENOMEM;
}

/* One at a time: recovery does not run beside itself. */
void rknpu_dump_begin(struct rknpu_dump *dump, struct rknpu_device *ndev)
{
	*dump = (struct rknpu_dump){ .text = ndev->dump_text };
}

/**
 * rknpu_dump_core() - keep the state of a core whose job is being stopped
 * @dump: the dump
 * @core: the core, powered
 * @batch: what it was doing
 * @done: tasks of its range that had ended
 */
void rknpu_dump_core(struct rknpu_dump *dump, const struct rknpu_core *core,
		     const struct rknpu_batch *batch, u32 done)
{
	const struct rknpu_job *job = core->job;
	unsigned int i;

	lockdep_assert_held(&core->ndev->job_lock);

	dump->cores[core->index].batch = *batch;
	dump->cores[core->index].vm = rknpu_vm_get(job->vm);
	rknpu_dump_line(dump, "core %u error %d pid %d name %s\n", core->index, job->error,
			job->pid, job->comm);
	if (job->vm->faulted)
		rknpu_dump_line(dump, "fault %#llx\n", job->vm->fault_addr);
	rknpu_dump_line(dump, "tasks start %u number %u done %u\n",
			job->ranges[core->index].start, job->ranges[core->index].number, done);
	rknpu_dump_line(dump, "batch regcmd %#x amount %u int_first %#x int_last %#x tasks %u\n",
			batch->regcmd, batch->amount, batch->int_first, batch->int_last,
			batch->tasks);
	for (i = 0; i < ARRAY_SIZE(rknpu_dump_regs); i++)
		rknpu_dump_line(dump, "reg %#06x %#010x\n", rknpu_dump_regs[i],
				rknpu_read(core, rknpu_dump_regs[i]));
	rknpu_dump_line(dump, "reg %#06x %#010x\n", core->ndev->soc->task_status,
			rknpu_read(core, core->ndev->soc->task_status));
}

static void rknpu_dump_commands(struct rknpu_dump *dump, unsigned int core)
{
	const struct rknpu_batch *batch = &dump->cores[core].batch;
	u32 count = min_t(u32, batch->amount, RKNPU_DUMP_COMMANDS), i;
	u64 command;

	rknpu_dump_line(dump, "commands core %u address %#x\n", core, batch->regcmd);
	for (i = 0; i < count; i++) {
		if (rknpu_vm_read(dump->cores[core].vm, batch->regcmd + i * sizeof(command),
				  &command))
			break;
		rknpu_dump_line(dump, "command %#018llx\n", command);
	}
}

/* The jobs have ended: add what must sleep, and hand the dump to user space. */
void rknpu_dump_end(struct rknpu_dump *dump, struct rknpu_device *ndev)
{
	unsigned int i;
	void *copy;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (!dump->cores[i].vm)
			continue;
		rknpu_dump_commands(dump, i);
		rknpu_vm_put(dump->cores[i].vm);
	}
	copy = dump->used ? vmalloc(dump->used) : NULL;
	if (!copy)
		return;
	memcpy(copy, dump->text, dump->used);
	/* It frees the copy, some minutes later if nobody fetches it. */
	dev_coredumpv(ndev->dev, copy, dump->used, GFP_KERNEL);
}
