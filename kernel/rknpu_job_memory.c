// SPDX-License-Identifier: GPL-2.0-only
/* Jobs as memory: made, counted, freed. */
#include <linux/dma-fence.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "rknpu_device.h"
#include "rknpu_file.h"
#include "rknpu_gem.h"
#include "rknpu_job.h"
#include "rknpu_vm.h"

/**
 * rknpu_job_create() - make an empty job
 * @file: whose job it is
 *
 * Return: the job with one reference, or NULL
 */
struct rknpu_job *rknpu_job_create(struct rknpu_file *file)
{
	struct rknpu_job *job = xchg(&file->spare, NULL);

	if (job)
		memset(job, 0, offsetof(struct rknpu_job, sched));
	else
		job = kzalloc(sizeof(*job), GFP_KERNEL_ACCOUNT);
	if (!job)
		return NULL;
	kref_init(&job->ref);
	job->ndev = file->ndev;
	job->file = rknpu_file_get(file);
	job->cpu = raw_smp_processor_id();
	job->pid = task_tgid_nr(current);
	/* For people only: a name that changes meanwhile may come out mixed. */
	memcpy(job->comm, current->group_leader->comm, sizeof(job->comm));
	INIT_LIST_HEAD(&job->entry);
	return job;
}

static void rknpu_job_drop_waits(struct rknpu_job *job)
{
	dma_fence_put(job->wait);
	while (job->num_waits)
		dma_fence_put(job->waits[--job->num_waits]);
	kfree(job->waits);
}

static void rknpu_job_free(struct rknpu_job *job)
{
	struct rknpu_file *file = job->file;
	struct rknpu_vm *vm = job->vm;
	unsigned int i;

	for (i = 0; i < RKNPU_MAX_CORES; i++) {
		if (job->ranges[i].num_batches > 1)
			kfree(job->ranges[i].more);
		job->ranges[i].num_batches = 0;
	}
	dma_fence_put(job->fence);
	if (job->wait || job->waits)
		rknpu_job_drop_waits(job);
	if (job->tasks)
		drm_gem_object_put(&job->tasks->base);
	if (vm)
		rknpu_vm_reap(vm);
	/* The next job of the file is most likely not far. */
	if (cmpxchg(&file->spare, NULL, job))
		kfree(job);
	rknpu_file_put(file);
}

static void rknpu_job_release(struct kref *ref)
{
	rknpu_job_free(container_of(ref, struct rknpu_job, ref));
}

void rknpu_job_put(struct rknpu_job *job)
{
	kref_put(&job->ref, rknpu_job_release);
}

static void rknpu_job_release_later(struct kref *ref)
{
	struct rknpu_job *job = container_of(ref, struct rknpu_job, ref);

	if (llist_add(&job->reap, &job->ndev->reap))
		queue_work(job->ndev->wq, &job->ndev->reap_work);
}

/* As rknpu_job_put(), in any context. */
void rknpu_job_put_later(struct rknpu_job *job)
{
	kref_put(&job->ref, rknpu_job_release_later);
}

void rknpu_job_reap_work(struct work_struct *work)
{
	struct rknpu_device *ndev = container_of(work, struct rknpu_device, reap_work);
	struct rknpu_job *job, *next;

	llist_for_each_entry_safe(job, next, llist_del_all(&ndev->reap), reap)
		rknpu_job_free(job);
}
