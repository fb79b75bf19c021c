// SPDX-License-Identifier: MIT
// SUBMIT: one wrong field at a time, everything else right, exact errno.
#define _GNU_SOURCE
#include <fcntl.h>

#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define TASKS 4u

FIXTURE(submit_invalid) {
	int fd;
	struct npu_job job;
	struct rknpu_submit args;
};

FIXTURE_SETUP(submit_invalid)
{
	unsigned int i;

	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_job_init(&self->job, self->fd, TASKS, TASKS + 1));
	for (i = 0; i < TASKS; i++)
		npu_job_add_offset(&self->job, i, i + 1, 1);
	npu_job_seal(&self->job);
	self->args = npu_job_args(&self->job, 0);
}

/* Whatever was refused, the same job without the mistake still runs. */
FIXTURE_TEARDOWN(submit_invalid)
{
	struct rknpu_submit args = npu_job_args(&self->job, 0);

	EXPECT_EQ(0, npu_submit(self->fd, &args));
	EXPECT_EQ(args.task_number, args.task_counter);
	npu_job_free(&self->job);
	close(self->fd);
}

#define REFUSED(error)                                                                  \
	do {                                                                            \
		struct rknpu_submit _args = self->args;                                 \
		EXPECT_EQ(-(error), npu_submit(self->fd, &_args));                      \
		EXPECT_EQ(0, memcmp(&_args, &self->args, sizeof(_args)));               \
	} while (0)

TEST_F(submit_invalid, flags_without_pc)
{
	self->args.flags = RKNPU_JOB_PINGPONG;
	REFUSED(EINVAL);
	self->args.flags = 0;
	REFUSED(EINVAL);
}

TEST_F(submit_invalid, flags_unknown)
{
	self->args.flags = RKNPU_JOB_PC | 0x20;
	REFUSED(EINVAL);
	self->args.flags = RKNPU_JOB_PC | 0x80000000;
	REFUSED(EINVAL);
}

TEST_F(submit_invalid, task_number_zero)
{
	self->args.task_number = 0;
	REFUSED(EINVAL);
}

TEST_F(submit_invalid, b05_core_mask_with_missing_core)
{
	static const uint32_t masks[] = { 8, 9, 0xf, 0x10, 0xffff, 0x80000000, UINT32_MAX };
	int cores = npu_core_count(self->fd);
	unsigned int i;

	for (i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
		self->args.core_mask = masks[i];
		REFUSED(EINVAL);
	}
	ASSERT_LT(0, cores);
	for (i = 1; i < 8; i++) {
		if (i < 1u << cores)
			continue;
		self->args.core_mask = i;
		REFUSED(EINVAL);
	}
}

TEST_F(submit_invalid, b13_token_unknown)
{
	const uint64_t right = self->args.task_obj_addr;
	const uint64_t tokens[] = {
		0, 1, right + 1, right - 1, ~right, right << 1, 0xffffff8000123400ull, UINT64_MAX,
	};
	unsigned int i;

	for (i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		self->args.task_obj_addr = tokens[i];
		REFUSED(EINVAL);
	}
}

TEST_F(submit_invalid, b13_token_stale)
{
	struct npu_bo bo;

	ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_TASKS, NPU_PAGE, &bo));
	memcpy(bo.map, self->job.records.map, TASKS * sizeof(struct rknpu_task));
	self->args.task_obj_addr = bo.token;
	npu_bo_destroy(&bo);
	REFUSED(EINVAL);
}

TEST_F(submit_invalid, b13_token_of_another_file)
{
	int other = npu_open();
	struct npu_bo bo;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, npu_bo_create(other, NPU_MEM_TASKS, NPU_PAGE, &bo));
	memcpy(bo.map, self->job.records.map, TASKS * sizeof(struct rknpu_task));
	self->args.task_obj_addr = bo.token;
	REFUSED(EINVAL);
	npu_bo_destroy(&bo);
	close(other);
}

TEST_F(submit_invalid, token_without_kernel_mapping)
{
	struct npu_bo bo;

	ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_DATA, NPU_PAGE, &bo));
	memcpy(bo.map, self->job.records.map, TASKS * sizeof(struct rknpu_task));
	self->args.task_obj_addr = bo.token;
	REFUSED(EINVAL);
	npu_bo_destroy(&bo);
}

TEST_F(submit_invalid, b13_range_outside_the_task_array)
{
	const uint32_t room = self->job.records.size / sizeof(struct rknpu_task);
	const struct rknpu_subcore_task ranges[] = {
		{ room, 1 },	      { 0, room + 1 },	   { 1, room },
		{ UINT32_MAX, 1 },    { UINT32_MAX, 2 },   { 2, UINT32_MAX },
		{ 1, UINT32_MAX },    { 0, UINT32_MAX },   { 0x80000000, 0x80000000 },
		{ 0x06666667, 1 },    { 0x66666667, 1 },
	};
	unsigned int i, k;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		for (k = 0; k < RKNPU_MAX_SUBCORE_TASKS; k++)
			self->args.subcore_task[k] = ranges[i];
		self->args.task_start = ranges[i].task_start;
		self->args.task_number = ranges[i].task_number;
		REFUSED(EINVAL);
	}
}

TEST_F(submit_invalid, all_ranges_empty)
{
	unsigned int k;

	for (k = 0; k < RKNPU_MAX_SUBCORE_TASKS; k++)
		self->args.subcore_task[k] = (struct rknpu_subcore_task){ UINT32_MAX, 0 };
	if (npu_core_count(self->fd) == 1)
		SKIP(return, "one core: task_start and task_number count");
	REFUSED(EINVAL);
}

TEST_F(submit_invalid, domain_id_out_of_range)
{
	self->args.iommu_domain_id = 16;
	REFUSED(EINVAL);
	self->args.iommu_domain_id = UINT32_MAX;
	REFUSED(EINVAL);
}

TEST_F(submit_invalid, fence_in_that_is_no_fence)
{
	int pipes[2];

	self->args.flags |= RKNPU_JOB_FENCE_IN;
	REFUSED(EINVAL);
	self->args.fence_fd = 12345;
	REFUSED(EINVAL);
	ASSERT_EQ(0, pipe(pipes));
	self->args.fence_fd = pipes[0];
	REFUSED(EINVAL);
}

#define BAD_RECORD(task, field, value)                                                  \
	do {                                                                            \
		struct rknpu_task *_record = npu_job_record(&self->job, task);          \
		const struct rknpu_task _good = *_record;                               \
		_record->field = (value);                                               \
		REFUSED(EINVAL);                                                        \
		*_record = _good;                                                       \
	} while (0)

TEST_F(submit_invalid, record_without_completion_bits)
{
	BAD_RECORD(TASKS - 1, int_mask, 0);
}

TEST_F(submit_invalid, record_with_bits_that_are_no_completion)
{
	BAD_RECORD(TASKS - 1, int_mask, 0x1000);
	BAD_RECORD(TASKS - 1, int_mask, 0x1ffff);
	BAD_RECORD(TASKS - 1, int_mask, 0x80000300);
}

TEST_F(submit_invalid, record_without_commands)
{
	BAD_RECORD(0, regcfg_amount, 0);
}

TEST_F(submit_invalid, record_with_more_commands_than_the_register_holds)
{
	BAD_RECORD(0, regcfg_amount, 0x20000);
	BAD_RECORD(0, regcfg_amount, UINT32_MAX);
	BAD_RECORD(0, regcfg_amount, UINT32_MAX - 3);
}

TEST_F(submit_invalid, b13_commands_outside_the_callers_buffers)
{
	const uint64_t inside = self->job.commands.iova;
	struct npu_bo bo;

	BAD_RECORD(0, regcmd_addr, 0);
	BAD_RECORD(0, regcmd_addr, 0x1000);
	BAD_RECORD(0, regcmd_addr, 0xfffffff0);
	BAD_RECORD(0, regcmd_addr, inside + (1ull << 32));
	BAD_RECORD(0, regcmd_addr, inside | 1ull << 63);
	ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_DATA, NPU_PAGE, &bo));
	npu_bo_destroy(&bo);
}

TEST_F(submit_invalid, commands_that_run_past_their_buffer)
{
	BAD_RECORD(0, regcmd_addr, self->job.commands.iova + self->job.commands.size - 16);
	BAD_RECORD(0, regcfg_amount, 0x7000);
}

TEST_F(submit_invalid, commands_that_are_not_aligned)
{
	BAD_RECORD(0, regcmd_addr, self->job.commands.iova + 8);
	BAD_RECORD(0, regcmd_addr, self->job.commands.iova + 1);
}

TEST_F(submit_invalid, nonblock_is_checked_alike)
{
	self->args.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	self->args.task_obj_addr++;
	REFUSED(EINVAL);
}

/* Tasks that one start of the hardware takes: its counter has 12 or 16 bits. */
static uint32_t batch_size(void)
{
	return npu_is_chip("rk3576") || npu_is_chip("rk3562") ? 65535 : 4095;
}

/* One more task than that, all of them the job's first one. */
static int make_two_batches(struct npu_job *job, struct rknpu_submit *args, struct npu_bo *bo)
{
	uint32_t i, number = batch_size() + 1;
	int ret = npu_bo_create(job->fd, NPU_MEM_TASKS, number * sizeof(struct rknpu_task), bo);
	struct rknpu_task *tasks = bo->map;

	if (ret)
		return ret;
	for (i = 0; i < number; i++)
		tasks[i] = *npu_job_record(job, 0);
	args->task_obj_addr = bo->token;
	args->core_mask = 1;
	args->task_start = 0;
	args->task_number = number;
	args->subcore_task[0] = (struct rknpu_subcore_task){ 0, number };
	return 0;
}

/* A job that is refused is used again for the next one: nothing of it may be left. */
TEST_F(submit_invalid, batches_refused_twice_are_freed_once)
{
	struct rknpu_task *tasks;
	struct npu_bo bo;
	uint32_t bad[] = { batch_size(), 0 };
	unsigned int i;

	ASSERT_EQ(0, make_two_batches(&self->job, &self->args, &bo));
	tasks = bo.map;
	for (i = 0; i < 20; i++) {
		struct rknpu_task *task = &tasks[bad[i % 2]], right = *task;

		task->int_mask = 0;
		REFUSED(EINVAL);
		*task = right;
	}
	npu_bo_destroy(&bo);
}

/* Under KMEMLEAK each lost job would be reported; without, memory runs out. */
TEST_F_TIMEOUT(submit_invalid, b07_ten_thousand_refusals_leave_nothing, 120)
{
	int round;

	self->args.flags |= RKNPU_JOB_FENCE_IN;
	for (round = 0; round < 10000; round++) {
		struct rknpu_submit args = self->args;

		ASSERT_EQ(-EINVAL, npu_submit(self->fd, &args));
	}
}

TEST_HARNESS_MAIN
