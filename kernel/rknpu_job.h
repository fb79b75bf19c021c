/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_JOB_H
#define RKNPU_JOB_H

#include <linux/completion.h>
#include <linux/dma-fence.h>
#include <linux/interrupt.h>
#include <linux/kref.h>
#include <linux/llist.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "rknpu_core.h"
#include "rknpu_sched.h"
#include "rknpu_soc.h"
#include "rknpu_vm.h"

struct rknpu_device;
struct rknpu_file;
struct rknpu_gem_object;

/**
 * struct rknpu_range - what one core does in a job
 * @start: first task
 * @number: number of tasks, 0 if the core takes no part
 * @num_batches: hardware starts it takes
 * @first: the first batch
 * @more: further batches, or NULL
 * @status: where the interrupt status of the last task goes
 */
struct rknpu_range {
	u32 start;
	u32 number;
	u32 num_batches;
	struct rknpu_batch first;
	struct rknpu_batch *more;
	u32 *status;
};

/**
 * struct rknpu_job - one submit
 * @ref: one reference for the submitter, one for the queue
 * @sched: its place in the queue; protected by &rknpu_device.job_lock
 * @ndev: the NPU
 * @file: whose job it is
 * @vm: the address space it runs in
 * @tasks: the object with the task array
 * @commands: an object that commands were found in, see rknpu_file_lookup_job()
 * @closes: &rknpu_file.closes at the time of that look
 * @ranges: what each core does, by number of the core
 * @pingpong: alternate between register groups
 * @base: added to addresses by the hardware
 * @timeout: time on the hardware after which it counts as hung, in ns
 * @cpu: where it was submitted
 * @pid: process that submitted it, for people
 * @comm: its name
 * @fence: signalled at the end, or NULL
 * @wait: fence to wait for, or NULL; protected by &rknpu_device.job_lock once
 *	the job is queued
 * @waits: more of them, waited for one after the other, or NULL
 * @num_waits: number of @waits not looked at yet
 * @wait_cb: callback on @wait
 * @ready_work: queues the job when @wait has signalled
 * @reap: entry in &rknpu_device.reap
 * @done: completed at the end, if @awaited
 *
 * All further members are protected by &rknpu_device.job_lock until the end,
 * and do not change after it.
 *
 * @file_entry: entry in &rknpu_file.jobs
 * @vm_entry: entry in &rknpu_vm.jobs
 * @entry: entry in &rknpu_device.jobs.waiting, or in a list of jobs being stopped
 * @number: position in @vm
 * @waiting: @wait has not signalled yet
 * @powered: keeps the power on, see rknpu_power_hold()
 * @mask: cores it was given
 * @queued: when it was queued, in ns
 * @started: when its first core was started, in ns, or 0
 * @elapsed: time on the hardware, in ns
 * @tasks_done: tasks that its first core had finished when it failed
 * @error: how it ended, or must end
 * @ended: it has; read without the lock
 * @awaited: the submitter sleeps until then
 */
struct rknpu_job {
	struct kref ref;
	struct rknpu_device *ndev;
	struct rknpu_file *file;
	struct rknpu_vm *vm;
	struct rknpu_gem_object *tasks;
	struct rknpu_span commands;
	u64 closes;
	bool pingpong;
	u32 base;
	u64 timeout;
	struct dma_fence *fence;
	struct dma_fence *wait;
	struct dma_fence **waits;
	u32 num_waits;

	struct hlist_node file_entry;
	struct hlist_node vm_entry;
	struct list_head entry;
	u64 number;
	bool waiting;
	bool powered;
	u32 mask;
	u64 queued;
	u64 started;
	u64 elapsed;
	u32 tasks_done;
	int error;
	bool ended;
	bool awaited;

	/* From here on nothing needs to be zero in a job that is used again. */
	struct rknpu_sched_job sched;
	struct rknpu_range ranges[RKNPU_MAX_CORES];
	unsigned int cpu;
	pid_t pid;
	char comm[TASK_COMM_LEN];
	struct dma_fence_cb wait_cb;
	struct work_struct ready_work;
	struct llist_node reap;
	struct completion done;
};

static inline struct rknpu_job *to_rknpu_job(struct rknpu_sched_job *sched)
{
	return container_of(sched, struct rknpu_job, sched);
}

void rknpu_jobs_init(struct rknpu_device *ndev);
void rknpu_jobs_fini(struct rknpu_device *ndev);

struct rknpu_job *rknpu_job_create(struct rknpu_file *file);
void rknpu_job_put(struct rknpu_job *job);
void rknpu_job_put_later(struct rknpu_job *job);
void rknpu_job_reap_work(struct work_struct *work);
int rknpu_job_queue(struct rknpu_job *job);
int rknpu_job_wait(struct rknpu_job *job);

bool rknpu_job_drain_file(struct rknpu_file *file, unsigned long timeout);
void rknpu_job_abort_file(struct rknpu_file *file);
void rknpu_job_page_fault(struct rknpu_vm *vm, u64 addr, bool write);
u64 rknpu_job_youngest(struct rknpu_vm *vm);
u64 rknpu_job_oldest(struct rknpu_vm *vm);
bool rknpu_job_forget_vm(struct rknpu_vm *vm);

/* For recovery; all with job_lock held. */
bool rknpu_job_dispatch(struct rknpu_device *ndev);
void rknpu_job_finish(struct rknpu_job *job, int error);
const struct rknpu_batch *rknpu_job_batch(const struct rknpu_core *core);
bool rknpu_job_core_event(struct rknpu_core *core, u32 status);
void rknpu_job_suspect(struct rknpu_core *core, int error);

irqreturn_t rknpu_job_irq(int irq, void *data);
void rknpu_job_switch(struct rknpu_device *ndev);
void rknpu_jobs_hold(struct rknpu_device *ndev);
void rknpu_jobs_resume(struct rknpu_device *ndev);

#endif
