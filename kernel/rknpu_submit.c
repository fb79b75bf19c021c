// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bitops.h>
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/log2.h>
#include <linux/slab.h>
#include <linux/sync_file.h>

#include <drm/drm_file.h>

#include <rknpu_drm.h>

#include "rknpu_device.h"
#include "rknpu_fence.h"
#include "rknpu_file.h"
#include "rknpu_gem.h"
#include "rknpu_job.h"
#include "rknpu_regs.h"
#include "rknpu_submit.h"
#include "rknpu_sync.h"
#include "rknpu_vm.h"

/**
 * DOC: Submit
 *
 * Everything a job needs is read and checked here, once, and copied: user space
 * may change the task array at any time. No register is touched here.
 */

/* Milliseconds, for programs that say nothing; what the closed runtime asks for. */
#define RKNPU_TIMEOUT_DEFAULT	6000

/* More than any job takes: others, and the sleep of the system, wait for one that hangs. */
#define RKNPU_TIMEOUT_MAX	60000

#define RKNPU_PRIORITY_MAX	2

/* Entries 2 to 4 of subcore_task are those of a job for three cores. */
#define RKNPU_SUBCORE_THREE	2
#define RKNPU_THREE_CORES	(RKNPU_CORE0_MASK | RKNPU_CORE1_MASK | RKNPU_CORE2_MASK)

#define RKNPU_COMMAND_SIZE	8

static int rknpu_submit_check(struct rknpu_device *ndev, const struct rknpu_submit *args)
{
	if (args->flags & ~RKNPU_JOB_MASK || !(args->flags & RKNPU_JOB_PC))
		return -EINVAL;
	if (args->core_mask & ~ndev->core_mask)
		return -EINVAL;
	if (!args->task_number || args->iommu_domain_id >= RKNPU_MAX_IOMMU_DOMAIN_NUM)
		return -EINVAL;
	if (upper_32_bits(args->task_base_addr))
		return -EINVAL;
	/* Without an IOMMU nothing keeps relocated addresses inside the objects. */
	return args->task_base_addr && !ndev->mmu ? -EINVAL : 0;
}

/* Does the job own @size bytes at @addr, of 32 bits? Mostly in the same object as last time. */
static bool rknpu_submit_owns(struct rknpu_job *job, u64 addr, u64 size)
{
	struct rknpu_span *known = &job->commands;

	if (addr >= known->start && addr + size <= known->end)
		return true;
	if (!rknpu_vm_locate(job->vm, addr, size, known))
		return false;
	rknpu_file_remember(job->file, job);
	return true;
}

/* The hardware fetches the tail of each stream, too. */
static int rknpu_submit_check_commands(struct rknpu_job *job, u64 addr, u32 amount)
{
	u64 size;

	if (!amount || amount > PC_REGISTER_AMOUNTS_DATA_AMOUNT - RKNPU_PC_TAIL)
		return -EINVAL;
	if (upper_32_bits(addr) || addr & ~PC_BASE_ADDRESS_SOURCE_ADDR)
		return -EINVAL;
	size = (u64)(amount + RKNPU_PC_TAIL) * RKNPU_COMMAND_SIZE;
	if (!job->base && !rknpu_submit_owns(job, addr, size))
		return -EINVAL;
	return 0;
}

static bool rknpu_submit_int_mask_valid(u32 mask)
{
	return mask && !(mask & ~PC_INTERRUPT_COMPLETION);
}

/* Only the first and the last record of a batch matter; each member is read once. */
static int rknpu_submit_batch(struct rknpu_job *job, const struct rknpu_task *tasks, u32 number,
			      struct rknpu_batch *batch)
{
	u64 addr = READ_ONCE(tasks[0].regcmd_addr);
	u32 amount = READ_ONCE(tasks[0].regcfg_amount);
	u32 first = READ_ONCE(tasks[0].int_mask);
	u32 last = READ_ONCE(tasks[number - 1].int_mask);

	if (!rknpu_submit_int_mask_valid(first) || !rknpu_submit_int_mask_valid(last))
		return -EINVAL;
	batch->regcmd = addr;
	batch->amount = amount;
	batch->int_first = first;
	batch->int_last = last;
	batch->tasks = number;
	return rknpu_submit_check_commands(job, addr, amount);
}

static int rknpu_submit_more(struct rknpu_job *job, const struct rknpu_task *tasks,
			     struct rknpu_range *range, u32 max)
{
	u32 i, left, batches = DIV_ROUND_UP(range->number, max);
	int ret;

	range->more = kcalloc(batches - 1, sizeof(*range->more), GFP_KERNEL_ACCOUNT);
	if (!range->more)
		return -ENOMEM;
	/* From here on rknpu_job_free() sees that there is something to free. */
	range->num_batches = batches;
	for (i = 1; i < batches; i++) {
		left = range->number - i * max;
		ret = rknpu_submit_batch(job, tasks + i * max, min(left, max), &range->more[i - 1]);
		if (ret)
			return ret;
	}
	return 0;
}

static int rknpu_submit_range(struct rknpu_job *job, struct rknpu_task *array,
			      struct rknpu_subcore_task entry, struct rknpu_range *range)
{
	u64 capacity = job->tasks->base.size / sizeof(*array);
	u32 max = rknpu_max_tasks(job->ndev->soc);
	struct rknpu_task *tasks;
	int ret;

	if (!entry.task_number)
		return 0;
	if (entry.task_start >= capacity || entry.task_number > capacity - entry.task_start)
		return -EINVAL;

	tasks = array + entry.task_start;
	range->start = entry.task_start;
	range->number = entry.task_number;
	range->num_batches = 1;
	range->status = &tasks[entry.task_number - 1].int_status;
	ret = rknpu_submit_batch(job, tasks, min(range->number, max), &range->first);
	if (ret || range->number <= max)
		return ret;
	return rknpu_submit_more(job, tasks, range, max);
}

static struct rknpu_subcore_task rknpu_submit_entry(struct rknpu_device *ndev,
						    const struct rknpu_submit *args,
						    unsigned int core)
{
	if (ndev->soc->num_cores == 1)
		return (struct rknpu_subcore_task){ args->task_start, args->task_number };
	if (args->core_mask == RKNPU_THREE_CORES)
		core += RKNPU_SUBCORE_THREE;
	return args->subcore_task[core];
}

/* Returns the cores that have something to do, or a negative error code. */
static int rknpu_submit_ranges(struct rknpu_job *job, const struct rknpu_submit *args)
{
	struct rknpu_device *ndev = job->ndev;
	struct rknpu_task *array = rknpu_gem_kernel_address(job->tasks);
	struct rknpu_core *core;
	int mask = 0, ret;

	if (!array)
		return job->tasks->flags & RKNPU_MEM_KERNEL_MAPPING &&
		       !rknpu_gem_is_imported(job->tasks) ? -ENOMEM : -EINVAL;

	rknpu_for_each_core(core, ndev, args->core_mask ?: ndev->core_mask) {
		struct rknpu_subcore_task entry = rknpu_submit_entry(ndev, args, core->index);

		ret = rknpu_submit_range(job, array, entry, &job->ranges[core->index]);
		if (ret)
			return ret;
		if (entry.task_number)
			mask |= BIT(core->index);
	}
	return mask ?: -EINVAL;
}

/* What runs before everybody else's jobs takes the right to do so. */
static s32 rknpu_submit_priority(s32 priority)
{
	if (priority > 0 && !capable(CAP_SYS_NICE))
		return 0;
	return clamp(priority, -RKNPU_PRIORITY_MAX, RKNPU_PRIORITY_MAX);
}

static int rknpu_submit_schedule(struct rknpu_job *job, const struct rknpu_submit *args)
{
	/* Without an IOMMU all jobs share one space, and cores need no switching. */
	const void *space = job->ndev->mmu ? (void *)job->vm : job->ndev;
	s32 priority = rknpu_submit_priority(args->priority);
	bool any = !args->core_mask;
	int mask = rknpu_submit_ranges(job, args);
	u32 cost;

	if (mask < 0)
		return mask;
	cost = job->ranges[__ffs(mask)].number;
	any = any && !is_power_of_2(mask);
	rknpu_sched_job_init(&job->sched, &job->file->sched, space, any ? 0 : mask, priority, cost);
	if (any)
		job->sched.allowed = mask;
	return 0;
}

static int rknpu_submit_fences(struct rknpu_job *job, const struct rknpu_submit *args)
{
	if (args->flags & RKNPU_JOB_FENCE_IN) {
		job->wait = sync_file_get_fence(args->fence_fd);
		if (!job->wait)
			return -EINVAL;
	}
	if (args->flags & RKNPU_JOB_FENCE_OUT) {
		job->fence = rknpu_fence_create();
		if (!job->fence)
			return -ENOMEM;
	}
	return 0;
}

static int rknpu_submit_fill(struct rknpu_job *job, const struct rknpu_submit *args)
{
	int ret;

	job->pingpong = args->flags & RKNPU_JOB_PINGPONG;
	job->base = args->task_base_addr;
	job->timeout = (u64)min(args->timeout ?: RKNPU_TIMEOUT_DEFAULT, RKNPU_TIMEOUT_MAX) *
		       NSEC_PER_MSEC;
	if (!rknpu_file_lookup_job(job->file, args->task_obj_addr, args->iommu_domain_id, job))
		return -EINVAL;
	ret = rknpu_submit_schedule(job, args);
	if (ret)
		return ret;
	ret = rknpu_vm_commit(job->vm);
	if (ret)
		return ret;
	return rknpu_submit_fences(job, args);
}

/* Queue the job; with an out-fence user space gets its descriptor. */
static int rknpu_submit_queue(struct rknpu_job *job, struct rknpu_submit *args)
{
	struct sync_file *sync;
	int fd, ret;

	if (args->flags & RKNPU_JOB_FENCE_IN)
		args->fence_fd = -1;
	if (!(args->flags & RKNPU_JOB_FENCE_OUT))
		return rknpu_job_queue(job);

	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	sync = sync_file_create(job->fence);
	ret = sync ? rknpu_job_queue(job) : -ENOMEM;
	if (ret) {
		if (sync)
			fput(sync->file);
		put_unused_fd(fd);
		return ret;
	}
	fd_install(fd, sync->file);
	args->fence_fd = fd;
	return 0;
}

static int rknpu_submit_wait(struct rknpu_job *job, struct rknpu_submit *args)
{
	int ret = rknpu_job_wait(job);

	args->task_counter = ret ? job->tasks_done : args->task_number;
	args->hw_elapse_time = job->elapsed;
	if (job->mask)
		args->core_mask = job->mask;
	return ret;
}

int rknpu_ioctl_submit(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	struct rknpu_submit *args = data;
	struct rknpu_job *job;
	int ret;

	ret = rknpu_submit_check(to_rknpu_device(drm), args);
	if (ret)
		return ret;
	job = rknpu_job_create(drm_file->driver_priv);
	if (!job)
		return -ENOMEM;
	ret = rknpu_submit_fill(job, args) ?: rknpu_submit_queue(job, args);
	if (!ret && !(args->flags & RKNPU_JOB_NONBLOCK))
		ret = rknpu_submit_wait(job, args);
	rknpu_job_put(job);
	return ret;
}

/* What SUBMIT_SYNC adds to a job that is complete otherwise. */
static int rknpu_submit_syncs(struct rknpu_job *job, struct rknpu_submit_sync *args,
			      struct drm_file *drm_file, struct rknpu_sync_out **out)
{
	int ret;

	if (args->in_count) {
		job->waits = kcalloc(args->in_count, sizeof(*job->waits), GFP_KERNEL);
		if (!job->waits)
			return -ENOMEM;
		ret = rknpu_sync_get_waits(drm_file, args, job->waits, &job->num_waits);
		if (ret)
			return ret;
		job->wait = job->waits[--job->num_waits];
	}
	if (!args->out_count)
		return 0;
	if (!job->fence)
		job->fence = rknpu_fence_create();
	if (!job->fence)
		return -ENOMEM;
	*out = rknpu_sync_prepare(drm_file, args);
	return PTR_ERR_OR_ZERO(*out);
}

static int rknpu_submit_queue_sync(struct rknpu_job *job, struct rknpu_submit_sync *args,
				   struct drm_file *drm_file)
{
	struct rknpu_sync_out *out = NULL;
	int ret;

	ret = rknpu_submit_syncs(job, args, drm_file, &out);
	if (ret)
		return ret;
	ret = rknpu_submit_queue(job, &args->submit);
	if (out && !ret)
		rknpu_sync_attach(out, args->out_count, job->fence);
	if (out)
		rknpu_sync_free(out, args->out_count);
	return ret;
}

int rknpu_ioctl_submit_sync(struct drm_device *drm, void *data, struct drm_file *drm_file)
{
	struct rknpu_submit_sync *args = data;
	struct rknpu_job *job;
	int ret;

	ret = rknpu_sync_check(args) ?: rknpu_submit_check(to_rknpu_device(drm), &args->submit);
	if (ret)
		return ret;
	job = rknpu_job_create(drm_file->driver_priv);
	if (!job)
		return -ENOMEM;
	ret = rknpu_submit_fill(job, &args->submit) ?:
	      rknpu_submit_queue_sync(job, args, drm_file);
	if (!ret && !(args->submit.flags & RKNPU_JOB_NONBLOCK))
		ret = rknpu_submit_wait(job, &args->submit);
	rknpu_job_put(job);
	return ret;
}
