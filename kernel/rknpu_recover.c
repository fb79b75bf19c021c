// SPDX-License-Identifier: GPL-2.0-only
#include <linux/ktime.h>

#include "rknpu_device.h"
#include "rknpu_dump.h"
#include "rknpu_io.h"
#include "rknpu_job.h"
#include "rknpu_mmu.h"
#include "rknpu_power.h"
#include "rknpu_recover.h"
#include "rknpu_regs.h"
#include "rknpu_trace.h"
#include "rknpu_vm.h"

/**
 * DOC: Recovery
 *
 * A core under suspicion has run too long, had a DMA error or a page fault, or
 * its job must not go on. Recovery looks at it once more: if its job has ended
 * after all and only the interrupt was lost, the job is booked as done. Else
 * the job is taken from all its cores and these are reset; other cores go on.
 *
 * Where the chip has no reset lines per core, all cores are reset, and jobs
 * that did nothing wrong start again from the beginning.
 *
 * A reset makes the core's IOMMU bank forget its table. The bank cannot be set
 * up alone, so until all cores are idle and the address space was attached
 * anew, no job starts.
 */

/* Why the job on a suspected core must be stopped, or 0. */
static int rknpu_recover_verdict(struct rknpu_core *core, u64 now, bool only)
{
	u32 status;

	if (core->error)
		return core->error;
	if (core->job->vm->faulted && (only || rknpu_core_dma_failed(core)))
		return -EFAULT;
	if (now < core->deadline)
		return 0;

	status = rknpu_core_ack(core);
	if (!status)
		return -ETIMEDOUT;
	/* The job has ended, or has taken a step of several. */
	dev_warn_ratelimited(core->ndev->dev, "RKNPU: core %u: interrupt %#x was lost\n",
			     core->index, status);
	if (rknpu_job_core_event(core, status))
		return 0;
	return core->error ?: -ETIMEDOUT;
}

static unsigned int rknpu_recover_running(struct rknpu_device *ndev)
{
	struct rknpu_core *core;
	unsigned int running = 0;

	rknpu_for_each_core(core, ndev, ~0)
		running += !!core->job;
	return running;
}

/* Find the cores to be reset; their jobs have ->error set. */
static u32 rknpu_recover_judge(struct rknpu_device *ndev)
{
	bool only = rknpu_recover_running(ndev) == 1;
	u32 suspects = ndev->jobs.suspects;
	u32 guilty = ndev->jobs.condemned;
	u64 now = ktime_get_ns();
	struct rknpu_core *core;
	int error;

	lockdep_assert_held(&ndev->job_lock);

	ndev->jobs.suspects = 0;
	ndev->jobs.condemned = 0;
	rknpu_for_each_core(core, ndev, suspects | guilty) {
		if (!core->job)
			continue;
		error = rknpu_recover_verdict(core, now, only);
		if (!error && guilty & BIT(core->index))
			error = -ECANCELED;
		if (!error || !core->job)
			continue;
		core->job->error = core->job->error ?: error;
		guilty |= core->job->sched.busy;
	}
	return guilty;
}

/* Cores that share reset lines are reset together. */
static u32 rknpu_recover_spread(struct rknpu_device *ndev, u32 cores)
{
	struct rknpu_core *core;

	rknpu_for_each_core(core, ndev, cores) {
		if (!core->num_resets)
			return ndev->core_mask;
	}
	return cores;
}

static void rknpu_recover_report(const struct rknpu_core *core, u32 done)
{
	const struct rknpu_job *job = core->job;
	const struct rknpu_range *range = &job->ranges[core->index];

	dev_err_ratelimited(core->ndev->dev,
			    "RKNPU: core %u: job of %s[%d] stopped: %pe, irq status: %#x, raw status: %#x, require mask: %#x, task counter: %u of %u\n",
			    core->index, job->comm, job->pid, ERR_PTR(job->error), core->status,
			    rknpu_read(core, PC_INTERRUPT_RAW_STATUS), range->first.int_last,
			    done, range->number);
	if (job->error == -EFAULT)
		dev_err_ratelimited(core->ndev->dev, "RKNPU: core %u: no memory at IOVA %#llx\n",
				    core->index, job->vm->fault_addr);
}

/* Take the job away from a core that is going to be reset. */
static void rknpu_recover_strip(struct rknpu_core *core, u64 now, struct rknpu_dump *dump)
{
	struct rknpu_device *ndev = core->ndev;
	struct rknpu_job *job = core->job;
	u32 done;

	done = core->batch * rknpu_max_tasks(ndev->soc) + rknpu_core_tasks_done(core);
	if (job->error) {
		rknpu_recover_report(core, done);
		rknpu_dump_core(dump, core, rknpu_job_batch(core), done);
		if (job->error == -ETIMEDOUT)
			trace_rknpu_timeout(core->index, done);
		WRITE_ONCE(*job->ranges[core->index].status, core->status);
		if (core->index == __ffs(job->mask))
			job->tasks_done = done;
	}
	rknpu_core_account(core, core->started, now);
	core->job = NULL;
	core->error = 0;
	if (ndev->jobs.held)
		wake_up(&ndev->jobs.quiet);
}

/* Collect the jobs on @cores that end here; send the others back to the queue. */
static void rknpu_recover_take(struct rknpu_device *ndev, u32 cores, struct list_head *ended,
			       struct rknpu_dump *dump)
{
	struct rknpu_core *core, *other;
	u64 now = ktime_get_ns();

	lockdep_assert_held(&ndev->job_lock);

	rknpu_for_each_core(core, ndev, cores) {
		struct rknpu_job *job = core->job;
		u64 start = core->started;

		if (!job)
			continue;
		rknpu_for_each_core(other, ndev, job->sched.busy)
			rknpu_recover_strip(other, now, dump);
		if (job->error) {
			rknpu_sched_remove(&ndev->jobs.sched, &job->sched, now - start);
			job->vm->faulted = false;
			list_add_tail(&job->entry, ended);
		} else {
			job->started = 0;
			job->mask = 0;
			rknpu_sched_requeue(&ndev->jobs.sched, &job->sched);
		}
	}
}

static int rknpu_recover_reset(struct rknpu_device *ndev, u32 cores)
{
	struct rknpu_core *core;
	int ret = 0;

	lockdep_assert_held(&ndev->reset_lock);

	if (ndev->bypass_reset)
		return 0;
	rknpu_for_each_core(core, ndev, cores)
		ret = ret ?: rknpu_core_reset(core);
	if (cores & BIT(0))
		rknpu_core_state_init(ndev);
	dev_info_ratelimited(ndev->dev, "RKNPU: soft reset, num: %u, cores: %#x\n",
			     ++ndev->resets, cores);
	trace_rknpu_reset(cores, ret);
	if (ret)
		dev_err(ndev->dev, "RKNPU: reset failed: %pe\n", ERR_PTR(ret));
	return ret;
}

/* The cores are back: end the jobs that were stopped, and start others. */
static bool rknpu_recover_release(struct rknpu_device *ndev, u32 cores, struct list_head *ended)
{
	struct rknpu_job *job, *next;

	lockdep_assert_held(&ndev->job_lock);

	if (cores && ndev->mmu) {
		ndev->mmu->lost = true;
		rknpu_sched_forget_cores(&ndev->jobs.sched, cores);
	}
	ndev->jobs.offline &= ~cores;
	rknpu_sched_set_disabled(&ndev->jobs.sched, ndev->jobs.offline);
	list_for_each_entry_safe(job, next, ended, entry) {
		list_del_init(&job->entry);
		rknpu_job_finish(job, job->error);
	}
	return rknpu_job_dispatch(ndev);
}

static void rknpu_recover(struct rknpu_device *ndev)
{
	struct rknpu_dump dump;
	LIST_HEAD(ended);
	bool door;
	u32 cores;

	rknpu_dump_begin(&dump, ndev);
	mutex_lock(&ndev->reset_lock);
	spin_lock_irq(&ndev->job_lock);
	cores = rknpu_recover_spread(ndev, rknpu_recover_judge(ndev));
	ndev->jobs.offline |= cores;
	rknpu_sched_set_disabled(&ndev->jobs.sched, ndev->jobs.offline);
	rknpu_recover_take(ndev, cores, &ended, &dump);
	spin_unlock_irq(&ndev->job_lock);

	if (cores)
		rknpu_recover_reset(ndev, cores);

	spin_lock_irq(&ndev->job_lock);
	door = rknpu_recover_release(ndev, cores, &ended);
	spin_unlock_irq(&ndev->job_lock);
	mutex_unlock(&ndev->reset_lock);
	if (door)
		rknpu_job_switch(ndev);
	rknpu_dump_end(&dump, ndev);
}

void rknpu_recover_work(struct work_struct *work)
{
	struct rknpu_device *ndev = container_of(work, struct rknpu_device, recover_work);

	/* Keeps the power on also when the last job has ended meanwhile. */
	if (rknpu_power_get(ndev))
		return;
	rknpu_recover(ndev);
	rknpu_power_put(ndev);
}

/**
 * rknpu_recover_reset_all() - reset all cores on behalf of a user
 * @ndev: the NPU
 *
 * Return: 0 or a negative error code
 */
int rknpu_recover_reset_all(struct rknpu_device *ndev)
{
	int ret = rknpu_power_get(ndev);

	if (ret)
		return ret;
	spin_lock_irq(&ndev->job_lock);
	ndev->jobs.condemned |= ndev->core_mask;
	spin_unlock_irq(&ndev->job_lock);
	queue_work(ndev->wq, &ndev->recover_work);
	flush_work(&ndev->recover_work);
	rknpu_power_put(ndev);
	return 0;
}
