// SPDX-License-Identifier: GPL-2.0-only
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>

#include "rknpu_device.h"
#include "rknpu_fence.h"
#include "rknpu_file.h"
#include "rknpu_gem.h"
#include "rknpu_irq.h"
#include "rknpu_job.h"
#include "rknpu_mmu.h"
#include "rknpu_power.h"
#include "rknpu_recover.h"
#include "rknpu_regs.h"
#include "rknpu_trace.h"
#include "rknpu_vm.h"

/**
 * DOC: Life of a job
 *
 * A job is checked (rknpu_submit.c), waits for its in-fence if it has one, is
 * queued, and gets its cores from the policy (rknpu_sched.c). If the cores see
 * another address space, it stands at the door: nothing else starts until the
 * space is switched, which must sleep. Otherwise it is started right here, from
 * the submitter or from the interrupt that set a core free.
 *
 * Only a job whose start was written to a core can be ended by an interrupt of
 * that core, because the start and the look at the interrupt happen under one
 * lock, and a core forgets its job before the next one is started.
 *
 * One timer watches all cores. It is not stopped when a job ends in time: it
 * finds nothing to do when it fires, which is cheaper.
 *
 * What goes wrong is handed to rknpu_recover.c.
 */

/* Wait for jobs in the queue is not hardware time: it starts with the start. */
static void rknpu_job_watch(struct rknpu_device *ndev, u64 deadline, u64 now)
{
	lockdep_assert_held(&ndev->job_lock);

	if (deadline >= ndev->jobs.watchdog_at)
		return;
	ndev->jobs.watchdog_at = deadline;
	mod_timer(&ndev->watchdog, jiffies + nsecs_to_jiffies(deadline - min(now, deadline)) + 1);
}

static void rknpu_job_watchdog(struct timer_list *timer)
{
	struct rknpu_device *ndev = container_of(timer, struct rknpu_device, watchdog);
	u64 now = ktime_get_ns(), next = U64_MAX;
	struct rknpu_core *core;
	unsigned long flags;

	spin_lock_irqsave(&ndev->job_lock, flags);
	ndev->jobs.watchdog_at = U64_MAX;
	rknpu_for_each_core(core, ndev, ~0) {
		if (!core->job)
			continue;
		if (now >= core->deadline)
			rknpu_job_suspect(core, 0);
		else
			next = min(next, core->deadline);
	}
	if (next != U64_MAX)
		rknpu_job_watch(ndev, next, now);
	spin_unlock_irqrestore(&ndev->job_lock, flags);
}

/* What a core with a job is doing; called with job_lock held. */
const struct rknpu_batch *rknpu_job_batch(const struct rknpu_core *core)
{
	const struct rknpu_range *range = &core->job->ranges[core->index];

	return core->batch ? &range->more[core->batch - 1] : &range->first;
}

static void rknpu_job_start_batch(struct rknpu_core *core)
{
	core->status = 0;
	rknpu_core_start(core, rknpu_job_batch(core), core->job->pingpong, core->job->base);
}

/* The cores are idle and see the right address space. */
static void rknpu_job_start(struct rknpu_job *job, u64 now)
{
	struct rknpu_device *ndev = job->ndev;
	struct rknpu_core *core;

	lockdep_assert_held(&ndev->job_lock);

	job->mask = job->sched.mask;
	job->started = now;
	trace_rknpu_job_start(job);
	rknpu_for_each_core(core, ndev, job->mask) {
		core->job = job;
		core->batch = 0;
		core->error = 0;
		core->started = now;
		core->deadline = now + job->timeout;
		rknpu_irq_follow(core, job->cpu);
		rknpu_job_start_batch(core);
	}
	rknpu_job_watch(ndev, now + job->timeout, now);
}

/* The job has its cores: start it, or let it wait at the door. */
static void rknpu_job_place(struct rknpu_job *job, u64 now)
{
	if (rknpu_mmu_has(job->ndev, job->vm))
		rknpu_job_start(job, now);
	else
		job->ndev->jobs.door = job;
}

static bool rknpu_jobs_may_start(const struct rknpu_device *ndev)
{
	return !ndev->jobs.door && !ndev->jobs.held;
}

/**
 * rknpu_job_dispatch() - start what can be started
 * @ndev: the NPU
 *
 * Return: true if a job stands at the door, see rknpu_job_switch()
 */
bool rknpu_job_dispatch(struct rknpu_device *ndev)
{
	struct rknpu_sched_job *next;

	lockdep_assert_held(&ndev->job_lock);

	while (rknpu_sched_has_waiting(&ndev->jobs.sched) && rknpu_jobs_may_start(ndev)) {
		next = rknpu_sched_pick(&ndev->jobs.sched);
		if (!next)
			return false;
		rknpu_job_place(to_rknpu_job(next), ktime_get_ns());
	}
	return !!ndev->jobs.door;
}

/* The door opens: start the job if it is still there. */
static bool rknpu_job_enter(struct rknpu_device *ndev, struct rknpu_job *job, int error)
{
	bool again;

	spin_lock_irq(&ndev->job_lock);
	if (ndev->jobs.door == job) {
		ndev->jobs.door = NULL;
		if (error) {
			rknpu_sched_forget_cores(&ndev->jobs.sched, job->sched.mask);
			rknpu_sched_remove(&ndev->jobs.sched, &job->sched, 0);
			rknpu_job_finish(job, error);
		} else {
			rknpu_job_start(job, ktime_get_ns());
		}
	}
	again = rknpu_job_dispatch(ndev);
	spin_unlock_irq(&ndev->job_lock);
	return again;
}

/* The job at the door, and the space that has to make room for its own. */
static struct rknpu_job *rknpu_job_get_door(struct rknpu_device *ndev, struct rknpu_vm **old)
{
	struct rknpu_job *job;

	spin_lock_irq(&ndev->job_lock);
	job = ndev->jobs.door;
	if (job) {
		kref_get(&job->ref);
		*old = rknpu_mmu_release(ndev);
	}
	spin_unlock_irq(&ndev->job_lock);
	return job;
}

/**
 * rknpu_job_switch() - change the address space for the job at the door
 * @ndev: the NPU
 *
 * The policy sends a job there only when no core of its IOMMU works.
 */
void rknpu_job_switch(struct rknpu_device *ndev)
{
	struct rknpu_vm *old = NULL;
	struct rknpu_job *job;
	bool again = true;

	while (again) {
		mutex_lock(&ndev->reset_lock);
		job = rknpu_job_get_door(ndev, &old);
		again = job && rknpu_job_enter(ndev, job, rknpu_mmu_attach(ndev, old, job->vm));
		mutex_unlock(&ndev->reset_lock);
		if (job)
			rknpu_job_put(job);
	}
}

static void rknpu_job_switch_work(struct work_struct *work)
{
	rknpu_job_switch(container_of(work, struct rknpu_device, switch_work));
}

static void rknpu_job_finish_at(struct rknpu_job *job, int error, u64 now)
{
	lockdep_assert_held(&job->ndev->job_lock);

	job->error = error;
	if (job->started)
		job->elapsed = now - job->started;
	trace_rknpu_job_done(job, error);
	hlist_del_init(&job->file_entry);
	hlist_del_init(&job->vm_entry);
	job->file->num_jobs--;
	job->file->jobs_done++;
	if (job->file->closing && hlist_empty(&job->file->jobs))
		wake_up(&job->file->idle);
	if (job->powered)
		rknpu_power_release(job->ndev, now);
	job->powered = false;
	if (job->fence)
		rknpu_fence_signal(job->fence, error, now);
	/* Pairs with the look in rknpu_job_wait(): it sees all of the above. */
	smp_store_release(&job->ended, true);
	if (job->awaited)
		complete(&job->done);
	rknpu_job_put_later(job);
}

/**
 * rknpu_job_finish() - a job has ended and is on no core and in no queue
 * @job: the job; not to be used afterwards
 * @error: 0 or a negative error code
 */
void rknpu_job_finish(struct rknpu_job *job, int error)
{
	rknpu_job_finish_at(job, error, ktime_get_ns());
}

/* Tell recovery to look at a core; @error says why, 0 lets it find out. */
void rknpu_job_suspect(struct rknpu_core *core, int error)
{
	struct rknpu_device *ndev = core->ndev;

	lockdep_assert_held(&ndev->job_lock);

	if (!core->error)
		core->error = error;
	ndev->jobs.suspects |= BIT(core->index);
	queue_work(ndev->wq, &ndev->recover_work);
}

static void rknpu_job_core_done(struct rknpu_core *core)
{
	struct rknpu_device *ndev = core->ndev;
	struct rknpu_job *job = core->job;
	u64 now = ktime_get_ns();

	WRITE_ONCE(*job->ranges[core->index].status, core->status);
	core->job = NULL;
	core->jobs++;
	if (ndev->jobs.held)
		wake_up(&ndev->jobs.quiet);
	rknpu_core_account(core, core->started, now);
	if (rknpu_sched_core_done(&ndev->jobs.sched, &job->sched, core->index,
				  now - core->started))
		rknpu_job_finish_at(job, 0, now);
}

/**
 * rknpu_job_core_event() - a core with a job raised an interrupt
 * @core: the core
 * @status: its interrupts
 *
 * Return: true if the core has become idle
 */
bool rknpu_job_core_event(struct rknpu_core *core, u32 status)
{
	u32 expected = rknpu_core_fold_status(rknpu_job_batch(core)->int_last);
	u32 seen;

	lockdep_assert_held(&core->ndev->job_lock);

	core->status |= status;
	seen = rknpu_core_fold_status(core->status);
	if (core->status & PC_INTERRUPT_DMA_ERROR) {
		rknpu_job_suspect(core, core->job->vm->faulted ? -EFAULT : -EIO);
		return false;
	}
	if (seen & ~expected) {
		rknpu_job_suspect(core, -EIO);
		return false;
	}
	if (seen != expected)
		return false;
	if (++core->batch < core->job->ranges[core->index].num_batches) {
		rknpu_job_start_batch(core);
		return false;
	}
	rknpu_job_core_done(core);
	return true;
}

/* The line is shared with the IOMMU, and may be live while we are powered off. */
irqreturn_t rknpu_job_irq(int irq, void *data)
{
	struct rknpu_core *core = data;
	struct rknpu_device *ndev = core->ndev;
	irqreturn_t ret = IRQ_NONE;
	u32 status;

	spin_lock(&ndev->job_lock);
	status = ndev->jobs.powered ? rknpu_core_ack(core) : 0;
	if (status)
		ret = IRQ_HANDLED;
	if (status && core->job && !core->error && rknpu_job_core_event(core, status) &&
	    rknpu_job_dispatch(ndev))
		queue_work(ndev->wq, &ndev->switch_work);
	spin_unlock(&ndev->job_lock);
	return ret;
}

/* Put the job on the lists of those that have not ended. */
static int rknpu_job_register(struct rknpu_job *job)
{
	struct rknpu_device *ndev = job->ndev;

	lockdep_assert_held(&ndev->job_lock);

	if (ndev->jobs.gone)
		return -ENODEV;
	if (job->file->num_jobs == RKNPU_FILE_JOBS_MAX)
		return -EBUSY;
	job->file->num_jobs++;
	kref_get(&job->ref);
	job->number = ++job->vm->submitted;
	hlist_add_head(&job->file_entry, &job->file->jobs);
	hlist_add_head(&job->vm_entry, &job->vm->jobs);
	if (job->waiting)
		list_add_tail(&job->entry, &ndev->jobs.waiting);
	return 0;
}

/*
 * The job may run from now on, with the power on unless there was an @error. It
 * ends at once if it must not. True if a job stands at the door.
 */
static bool rknpu_job_ready(struct rknpu_job *job, int error)
{
	struct rknpu_device *ndev = job->ndev;

	lockdep_assert_held(&ndev->job_lock);

	job->powered = !error && rknpu_power_hold(ndev);
	/* Runtime PM is off while the system sleeps; the queue is not. */
	if (error == -EACCES && ndev->jobs.held)
		error = 0;
	if (!error)
		error = ndev->jobs.gone ? -ENODEV : job->error;
	if (error) {
		rknpu_job_finish(job, error);
		return false;
	}
	job->queued = ktime_get_ns();
	trace_rknpu_job_queue(job);
	if (rknpu_jobs_may_start(ndev) && rknpu_sched_start_now(&ndev->jobs.sched, &job->sched)) {
		rknpu_job_place(job, job->queued);
		return !!ndev->jobs.door;
	}
	rknpu_sched_enqueue(&ndev->jobs.sched, &job->sched);
	return rknpu_job_dispatch(ndev);
}

/* The job has waited long enough. */
static void rknpu_job_make_ready(struct rknpu_job *job, int error)
{
	struct rknpu_device *ndev = job->ndev;
	bool door, power = !error;

	if (power)
		error = rknpu_power_get(ndev);
	spin_lock_irq(&ndev->job_lock);
	list_del_init(&job->entry);
	job->waiting = false;
	door = rknpu_job_ready(job, error);
	spin_unlock_irq(&ndev->job_lock);
	if (door)
		rknpu_job_switch(ndev);
	/* From here on the job keeps it on. */
	if (power && !error)
		rknpu_power_put(ndev);
}

/* Fences signal in any context, also under our own lock. */
static void rknpu_job_wait_done(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct rknpu_job *job = container_of(cb, struct rknpu_job, wait_cb);

	queue_work(job->ndev->wq, &job->ready_work);
}

/* Go on to a fence that has not signalled; false if there is none. */
static bool rknpu_job_wait_next(struct rknpu_job *job, int *error)
{
	bool pending = false;

	spin_lock_irq(&job->ndev->job_lock);
	while (!pending && !job->error) {
		/* A producer that failed has left nothing that is worth reading. */
		*error = rknpu_fence_failed(job->wait) ? -ECANCELED : 0;
		if (*error || !job->num_waits)
			break;
		dma_fence_put(job->wait);
		job->wait = job->waits[--job->num_waits];
		pending = !dma_fence_add_callback(job->wait, &job->wait_cb, rknpu_job_wait_done);
	}
	spin_unlock_irq(&job->ndev->job_lock);
	return pending;
}

static void rknpu_job_ready_work(struct work_struct *work)
{
	struct rknpu_job *job = container_of(work, struct rknpu_job, ready_work);
	int error = 0;

	if (rknpu_job_wait_next(job, &error))
		return;
	rknpu_job_make_ready(job, error);
	rknpu_job_put(job);
}

static int rknpu_job_queue_behind(struct rknpu_job *job)
{
	int ret;

	INIT_WORK(&job->ready_work, rknpu_job_ready_work);
	job->waiting = true;
	spin_lock_irq(&job->ndev->job_lock);
	ret = rknpu_job_register(job);
	spin_unlock_irq(&job->ndev->job_lock);
	if (ret)
		return ret;
	/* For the work; given back by whoever takes the callback away. */
	kref_get(&job->ref);
	if (dma_fence_add_callback(job->wait, &job->wait_cb, rknpu_job_wait_done))
		queue_work(job->ndev->wq, &job->ready_work);
	return 0;
}

/* Under job_lock; *@door: a job stands there now. */
static int rknpu_job_queue_up(struct rknpu_job *job, int error, bool *door)
{
	int ret = rknpu_job_register(job);

	if (!ret)
		*door = rknpu_job_ready(job, error);
	return ret;
}

static int rknpu_job_queue_cold(struct rknpu_job *job)
{
	struct rknpu_device *ndev = job->ndev;
	int error = rknpu_power_get(ndev), ret;
	bool door = false;

	spin_lock_irq(&ndev->job_lock);
	ret = rknpu_job_queue_up(job, error, &door);
	spin_unlock_irq(&ndev->job_lock);
	if (door)
		rknpu_job_switch(ndev);
	if (!error)
		rknpu_power_put(ndev);
	return ret;
}

/* What takes more than job_lock: it needs the device, which must not be unbound meanwhile. */
static int rknpu_job_queue_slowly(struct rknpu_job *job)
{
	int idx, ret;

	if (!drm_dev_enter(&job->ndev->drm, &idx))
		return -ENODEV;
	ret = job->wait ? rknpu_job_queue_behind(job) : rknpu_job_queue_cold(job);
	drm_dev_exit(idx);
	return ret;
}

/**
 * rknpu_job_queue() - hand a job over to the queue
 * @job: a job that is complete
 *
 * Return: 0, or a negative error code if the job was not taken
 */
int rknpu_job_queue(struct rknpu_job *job)
{
	struct rknpu_device *ndev = job->ndev;
	bool door = false, on;
	int ret = 0;

	spin_lock_irq(&ndev->job_lock);
	on = ndev->jobs.powered && !job->wait;
	if (on)
		ret = rknpu_job_queue_up(job, 0, &door);
	spin_unlock_irq(&ndev->job_lock);
	if (!on)
		return rknpu_job_queue_slowly(job);
	if (door)
		rknpu_job_switch(ndev);
	return ret;
}

/* Make a job end with @error, now or soon. */
static void rknpu_job_abort(struct rknpu_job *job, int error)
{
	struct rknpu_device *ndev = job->ndev;
	struct rknpu_core *core;

	lockdep_assert_held(&ndev->job_lock);

	if (job->waiting) {
		job->error = error;
		if (dma_fence_remove_callback(job->wait, &job->wait_cb))
			queue_work(ndev->wq, &job->ready_work);
	} else if (rknpu_sched_is_queued(&job->sched) || ndev->jobs.door == job) {
		if (ndev->jobs.door == job)
			ndev->jobs.door = NULL;
		rknpu_sched_remove(&ndev->jobs.sched, &job->sched, 0);
		rknpu_job_finish(job, error);
	} else {
		rknpu_for_each_core(core, ndev, job->sched.busy)
			rknpu_job_suspect(core, error);
	}
}

/* Cores were set free outside of an interrupt. */
static void rknpu_jobs_kick(struct rknpu_device *ndev)
{
	bool door;

	spin_lock_irq(&ndev->job_lock);
	door = rknpu_job_dispatch(ndev);
	spin_unlock_irq(&ndev->job_lock);
	if (door)
		rknpu_job_switch(ndev);
}

/**
 * rknpu_job_wait() - wait for the end of a job
 * @job: a queued job
 *
 * Its owner may be killed meanwhile; the job ends with it.
 *
 * Return: how the job ended
 */
int rknpu_job_wait(struct rknpu_job *job)
{
	struct rknpu_device *ndev = job->ndev;

	/* Short jobs have ended by now. */
	if (smp_load_acquire(&job->ended))
		return job->error;
	init_completion(&job->done);
	spin_lock_irq(&ndev->job_lock);
	job->awaited = true;
	spin_unlock_irq(&ndev->job_lock);
	/* Or by now, since interrupts have been off. */
	if (!smp_load_acquire(&job->ended) && rknpu_wait_killable_freezable(&job->done)) {
		spin_lock_irq(&ndev->job_lock);
		if (!job->ended)
			rknpu_job_abort(job, -ECANCELED);
		spin_unlock_irq(&ndev->job_lock);
		wait_for_completion(&job->done);
		rknpu_jobs_kick(ndev);
	}
	return job->error;
}

/**
 * rknpu_job_drain_file() - wait until all jobs of a file have ended
 * @file: the file, no more jobs are submitted through it
 * @timeout: how long, in jiffies
 *
 * Return: true if none is left
 */
bool rknpu_job_drain_file(struct rknpu_file *file, unsigned long timeout)
{
	struct rknpu_device *ndev = file->ndev;
	bool empty;

	spin_lock_irq(&ndev->job_lock);
	file->closing = true;
	empty = hlist_empty(&file->jobs);
	spin_unlock_irq(&ndev->job_lock);
	return empty || wait_event_timeout(file->idle, hlist_empty(&file->jobs), timeout);
}

void rknpu_job_abort_file(struct rknpu_file *file)
{
	struct rknpu_device *ndev = file->ndev;
	struct hlist_node *next;
	struct rknpu_job *job;

	spin_lock_irq(&ndev->job_lock);
	hlist_for_each_entry_safe(job, next, &file->jobs, file_entry)
		rknpu_job_abort(job, -ECANCELED);
	spin_unlock_irq(&ndev->job_lock);
	rknpu_jobs_kick(ndev);
}

void rknpu_jobs_init(struct rknpu_device *ndev)
{
	spin_lock_init(&ndev->job_lock);
	rknpu_sched_init(&ndev->jobs.sched, ndev->core_mask, ndev->mmu);
	INIT_LIST_HEAD(&ndev->jobs.waiting);
	ndev->jobs.watchdog_at = U64_MAX;
	init_waitqueue_head(&ndev->jobs.quiet);
	timer_setup(&ndev->watchdog, rknpu_job_watchdog, 0);
	INIT_WORK(&ndev->switch_work, rknpu_job_switch_work);
	INIT_WORK(&ndev->recover_work, rknpu_recover_work);
	INIT_WORK(&ndev->reap_work, rknpu_job_reap_work);
	init_llist_head(&ndev->reap);
}

/* The device goes away: end all jobs, and wait until the hardware is quiet. */
void rknpu_jobs_fini(struct rknpu_device *ndev)
{
	struct rknpu_sched_job *next, *tmp;
	struct rknpu_job *job;

	spin_lock_irq(&ndev->job_lock);
	ndev->jobs.gone = true;
	list_for_each_entry(job, &ndev->jobs.waiting, entry)
		rknpu_job_abort(job, -ENODEV);
	rknpu_sched_for_each_job_safe(next, tmp, &ndev->jobs.sched)
		rknpu_job_abort(to_rknpu_job(next), -ENODEV);
	spin_unlock_irq(&ndev->job_lock);
	flush_workqueue(ndev->wq);
	timer_delete_sync(&ndev->watchdog);
}
