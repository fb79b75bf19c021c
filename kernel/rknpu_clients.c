// SPDX-License-Identifier: GPL-2.0-only
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/seq_file.h>

#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "rknpu_clients.h"
#include "rknpu_device.h"
#include "rknpu_file.h"
#include "rknpu_job.h"

/**
 * DOC: Who uses the NPU
 *
 * The same figures as fdinfo of each open file, which needs no rights but the
 * owner's, and as debugfs nodes for the whole device.
 */

/**
 * struct rknpu_usage - what one open file has and had
 * @busy: time on each core, in ns, running jobs included
 * @jobs: jobs that have not ended
 * @jobs_done: jobs that have
 * @bytes: memory in DDR
 * @sram_bytes: memory on chip
 */
struct rknpu_usage {
	u64 busy[RKNPU_MAX_CORES];
	unsigned int jobs;
	u64 jobs_done;
	u64 bytes;
	u64 sram_bytes;
};

static void rknpu_usage_get_jobs(struct rknpu_file *file, struct rknpu_usage *usage)
{
	struct rknpu_device *ndev = file->ndev;
	struct rknpu_core *core;
	struct rknpu_job *job;

	spin_lock_irq(&ndev->job_lock);
	rknpu_for_each_core(core, ndev, ~0) {
		usage->busy[core->index] = file->sched.busy_ns[core->index];
		if (core->job && core->job->file == file)
			usage->busy[core->index] += ktime_get_ns() - core->started;
	}
	usage->jobs_done = file->jobs_done;
	hlist_for_each_entry(job, &file->jobs, file_entry)
		usage->jobs++;
	spin_unlock_irq(&ndev->job_lock);
}

static void rknpu_usage_get(struct rknpu_file *file, struct rknpu_usage *usage)
{
	*usage = (struct rknpu_usage){};
	rknpu_usage_get_jobs(file, usage);
	mutex_lock(&file->lock);
	usage->sram_bytes = file->sram_bytes;
	usage->bytes = file->bytes - file->sram_bytes;
	mutex_unlock(&file->lock);
}

/* Keys as in Documentation/gpu/drm-usage-stats.rst. */
void rknpu_clients_show_fdinfo(struct drm_printer *p, struct drm_file *drm_file)
{
	struct rknpu_file *file = drm_file->driver_priv;
	struct rknpu_usage usage;
	struct rknpu_core *core;

	rknpu_usage_get(file, &usage);
	rknpu_for_each_core(core, file->ndev, ~0)
		drm_printf(p, "drm-engine-core%u:\t%llu ns\n", core->index,
			   usage.busy[core->index]);
	drm_printf(p, "drm-total-memory:\t%llu KiB\n", usage.bytes >> 10);
	drm_printf(p, "drm-total-sram:\t%llu KiB\n", usage.sram_bytes >> 10);
	drm_printf(p, "rknpu-jobs-pending:\t%u\n", usage.jobs);
	drm_printf(p, "rknpu-jobs-done:\t%llu\n", usage.jobs_done);
}

static void rknpu_client_show(struct rknpu_file *file, struct seq_file *m)
{
	struct rknpu_usage usage;
	struct rknpu_core *core;

	rknpu_usage_get(file, &usage);
	seq_printf(m, "%d %s memory %llu sram %llu jobs %u done %llu", file->pid, file->comm,
		   usage.bytes, usage.sram_bytes, usage.jobs, usage.jobs_done);
	rknpu_for_each_core(core, file->ndev, ~0)
		seq_printf(m, " core%u %llu", core->index, usage.busy[core->index]);
	seq_putc(m, '\n');
}

/* One line per open file: bytes of memory, ns on each core. */
int rknpu_clients_show(struct rknpu_device *ndev, struct seq_file *m)
{
	struct drm_file *drm_file;

	mutex_lock(&ndev->drm.filelist_mutex);
	list_for_each_entry(drm_file, &ndev->drm.filelist, lhead)
		rknpu_client_show(drm_file->driver_priv, m);
	mutex_unlock(&ndev->drm.filelist_mutex);
	return 0;
}

static void rknpu_clients_show_job(const struct rknpu_job *job, u64 now, struct seq_file *m)
{
	bool running = job->started;
	u64 since = running ? job->started : job->queued;

	seq_printf(m, "%d %s %s wanted %#x cores %#x priority %d tasks %u us %llu\n", job->pid,
		   job->comm, running ? "running" : "queued", job->sched.wanted,
		   job->sched.mask, job->sched.priority, job->sched.cost,
		   div_u64(now - since, NSEC_PER_USEC));
}

/* One line per job, in order of arrival; time since its start or its arrival. */
int rknpu_clients_show_jobs(struct rknpu_device *ndev, struct seq_file *m)
{
	struct rknpu_sched_job *job;
	u64 now;

	spin_lock_irq(&ndev->job_lock);
	now = ktime_get_ns();
	rknpu_sched_for_each_job(job, &ndev->jobs.sched)
		rknpu_clients_show_job(to_rknpu_job(job), now, m);
	spin_unlock_irq(&ndev->job_lock);
	return 0;
}
