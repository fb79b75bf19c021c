// SPDX-License-Identifier: GPL-2.0-only
/* Jobs while the system sleeps: those on cores end first, the others wait. */
#include <linux/ktime.h>

#include "rknpu_device.h"
#include "rknpu_job.h"
#include "rknpu_power.h"

static bool rknpu_jobs_running(struct rknpu_device *ndev)
{
	struct rknpu_core *core;
	bool running = false;

	spin_lock_irq(&ndev->job_lock);
	rknpu_for_each_core(core, ndev, ~0)
		running = running || core->job;
	spin_unlock_irq(&ndev->job_lock);
	return running;
}

/* Queued jobs let go of the power; they get it again when they may start. */
static void rknpu_jobs_drop_power(struct rknpu_device *ndev)
{
	struct rknpu_sched_job *next;

	spin_lock_irq(&ndev->job_lock);
	rknpu_sched_for_each_job(next, &ndev->jobs.sched) {
		struct rknpu_job *job = to_rknpu_job(next);

		if (job->powered)
			rknpu_power_release(ndev, ktime_get_ns());
		job->powered = false;
	}
	spin_unlock_irq(&ndev->job_lock);
}

/**
 * rknpu_jobs_hold() - start no job until rknpu_jobs_resume()
 * @ndev: the NPU
 *
 * Returns when the hardware is quiet. A job that hangs is stopped at its
 * deadline as ever, so this is bounded by the longest timeout.
 */
void rknpu_jobs_hold(struct rknpu_device *ndev)
{
	struct rknpu_job *door;

	spin_lock_irq(&ndev->job_lock);
	ndev->jobs.held = true;
	door = ndev->jobs.door;
	if (door)
		rknpu_sched_requeue(&ndev->jobs.sched, &door->sched);
	ndev->jobs.door = NULL;
	spin_unlock_irq(&ndev->job_lock);

	wait_event(ndev->jobs.quiet, !rknpu_jobs_running(ndev));
	flush_workqueue(ndev->wq);
	rknpu_jobs_drop_power(ndev);
}

static bool rknpu_jobs_release(struct rknpu_device *ndev, int error)
{
	struct rknpu_sched_job *next, *tmp;

	lockdep_assert_held(&ndev->job_lock);

	ndev->jobs.held = false;
	rknpu_sched_for_each_job_safe(next, tmp, &ndev->jobs.sched) {
		struct rknpu_job *job = to_rknpu_job(next);

		if (error) {
			rknpu_sched_remove(&ndev->jobs.sched, &job->sched, 0);
			rknpu_job_finish(job, error);
		} else if (!job->powered) {
			job->powered = rknpu_power_hold(ndev);
		}
	}
	return rknpu_job_dispatch(ndev);
}

/* Go on. If there is no power, the jobs that were held end with that error. */
void rknpu_jobs_resume(struct rknpu_device *ndev)
{
	int error = rknpu_power_get(ndev);
	bool door;

	spin_lock_irq(&ndev->job_lock);
	door = rknpu_jobs_release(ndev, error);
	spin_unlock_irq(&ndev->job_lock);
	if (door)
		rknpu_job_switch(ndev);
	if (error)
		dev_err(ndev->dev, "RKNPU: no power after sleep: %pe\n", ERR_PTR(error));
	else
		rknpu_power_put(ndev);
}
