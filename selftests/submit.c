// SPDX-License-Identifier: MIT
// SUBMIT: jobs that compute, checked byte by byte.
#define _GNU_SOURCE
#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

FIXTURE(submit) {
	int fd;
	int cores;
};

FIXTURE_SETUP(submit)
{
	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
	self->cores = npu_core_count(self->fd);
	ASSERT_LT(0, self->cores);
}

FIXTURE_TEARDOWN(submit)
{
	close(self->fd);
}

TEST_F(submit, b03_one_task_on_each_core)
{
	int core;

	for (core = 0; core < self->cores; core++)
		EXPECT_EQ(0, npu_chain_check(self->fd, 1, 1u << core));
}

TEST_F(submit, chains_of_tasks_run_in_order)
{
	static const unsigned int lengths[] = { 2, 3, 4, 16, 74, 135, 500 };
	unsigned int i;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		EXPECT_EQ(0, npu_chain_check(self->fd, lengths[i], 0));
}

TEST_F_TIMEOUT(submit, more_tasks_than_the_counter_holds_run_in_batches, 60)
{
	EXPECT_EQ(0, npu_chain_check(self->fd, 4095, 0));
	EXPECT_EQ(0, npu_chain_check(self->fd, 4096, 0));
	EXPECT_EQ(0, npu_chain_check(self->fd, 8200, 0));
}

TEST_F(submit, outputs_of_the_request_are_filled)
{
	struct rknpu_submit args;
	struct npu_job job;

	ASSERT_EQ(0, npu_job_init(&job, self->fd, 2, 3));
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_add_offset(&job, 1, 2, 1);
	npu_job_record(&job, 0)->int_status = 0x55;
	npu_job_seal(&job);
	args = npu_job_args(&job, 0);
	args.task_counter = 0;
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	EXPECT_EQ(args.task_number, args.task_counter);
	EXPECT_LT(0, args.hw_elapse_time);
	EXPECT_GT(5000000000ll, args.hw_elapse_time);
	/* An idle NPU: the first core is chosen. */
	EXPECT_EQ(1, args.core_mask);
	EXPECT_EQ(-1, args.fence_fd);
	EXPECT_NE(0, npu_job_record(&job, 1)->int_status & NPU_DONE_DPU);
	EXPECT_EQ(0x55, npu_job_record(&job, 0)->int_status);
	npu_job_free(&job);
}

TEST_F(submit, request_members_that_are_inputs_come_back_unchanged)
{
	struct rknpu_submit args, before;
	struct npu_job job;

	ASSERT_EQ(0, npu_job_init(&job, self->fd, 1, 2));
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_seal(&job);
	args = npu_job_args(&job, 1);
	args.priority = 1;
	before = args;
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	before.task_counter = args.task_counter;
	before.hw_elapse_time = args.hw_elapse_time;
	EXPECT_EQ(0, memcmp(&before, &args, sizeof(args)));
	npu_job_free(&job);
}

TEST_F(submit, convolution_gives_the_right_sums)
{
	struct npu_job job;
	unsigned int i, lane, oc;
	int8_t *in, *weights;

	ASSERT_EQ(0, npu_job_init(&job, self->fd, 1, 4));
	in = npu_job_slot(&job, 0);
	weights = npu_job_slot(&job, 1);
	for (i = 0; i < NPU_SLOT; i++) {
		in[i] = (int8_t)(i % 11) - 5;
		weights[i] = (int8_t)(i % 5) - 2;
	}
	npu_job_add_conv(&job, 0, 1, 2);
	npu_job_seal(&job);
	ASSERT_EQ(0, npu_job_run(&job, 0));
	npu_job_fetch(&job);
	for (i = 0; i < NPU_SLOT / 16; i++) {
		for (oc = 0; oc < 32; oc++) {
			int sum = 0;

			for (lane = 0; lane < 16; lane++)
				sum += in[i * 16 + lane] * weights[oc * 16 + lane];
			sum = sum > 127 ? 127 : sum < -128 ? -128 : sum;
			ASSERT_EQ(sum, npu_job_slot(&job, 2 + oc / 16)[i * 16 + oc % 16]);
		}
	}
	npu_job_free(&job);
}

static int8_t max4(const int8_t *in, unsigned int x, unsigned int y, unsigned int lane)
{
	int8_t best = -128;
	unsigned int dx, dy;

	for (dy = 0; dy < 2; dy++) {
		for (dx = 0; dx < 2; dx++) {
			int8_t v = in[((2 * y + dy) * NPU_SLOT_WIDTH + 2 * x + dx) * 16 + lane];

			best = v > best ? v : best;
		}
	}
	return best;
}

/* The last task is a pool: its completion bits are 0xC00. */
TEST_F(submit, pool_after_other_blocks_in_one_chain)
{
	struct npu_job job;
	unsigned int x, y, lane;

	if (!npu_job_has_pool())
		SKIP(return, "no pooling task is known for this chip");
	ASSERT_EQ(0, npu_job_init(&job, self->fd, 2, 3));
	for (x = 0; x < NPU_SLOT; x++)
		npu_job_slot(&job, 0)[x] = (int8_t)(x * 37);
	npu_job_add_offset(&job, 0, 1, -3);
	npu_job_add_pool(&job, 1, 2);
	npu_job_seal(&job);
	ASSERT_EQ(0, npu_job_run(&job, 0));
	npu_job_fetch(&job);
	for (y = 0; y < NPU_SLOT_HEIGHT / 2; y++)
		for (x = 0; x < NPU_SLOT_WIDTH / 2; x++)
			for (lane = 0; lane < 16; lane++)
				ASSERT_EQ(max4(npu_job_slot(&job, 1), x, y, lane),
					  npu_job_slot(&job, 2)[(y * NPU_SLOT_WIDTH / 2 + x) * 16 +
								lane]);
	EXPECT_NE(0, npu_job_record(&job, 1)->int_status & NPU_DONE_PPU);
	npu_job_free(&job);
}

/* Register groups alternate between jobs, too: either bit of a pair completes. */
TEST_F(submit, odd_numbers_of_tasks_leave_the_other_group)
{
	int round;

	for (round = 0; round < 8; round++)
		ASSERT_EQ(0, npu_chain_check(self->fd, 1 + round % 3, 1));
}

TEST_F(submit, flags_and_priorities_that_programs_use)
{
	static const uint32_t flags[] = { 0x1, 0x5 };
	static const int32_t priorities[] = { 0, 1, 2, -1, -2, 100, -100, INT32_MAX, INT32_MIN };
	struct npu_job job;
	unsigned int i;

	ASSERT_EQ(0, npu_job_init(&job, self->fd, 1, 2));
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_seal(&job);
	for (i = 0; i < 9; i++) {
		struct rknpu_submit args = npu_job_args(&job, 0);

		args.flags = flags[i % 2];
		args.priority = priorities[i];
		EXPECT_EQ(0, npu_submit(self->fd, &args));
	}
	npu_job_free(&job);
}

static int submit_task(const struct npu_job *job, uint32_t task, int32_t priority, uint32_t flags)
{
	struct rknpu_submit args = npu_job_args(job, 1);

	args.flags |= flags;
	args.priority = priority;
	args.task_start = task;
	args.task_number = npu_job_shares();
	args.subcore_task[0] = (struct rknpu_subcore_task){ task, 1 };
	return npu_submit(job->fd, &args);
}

/*
 * While a job hangs: slot 1 = slot 0 + 1, then with a higher priority slot 2 =
 * slot 1 + 1. Returns what slot 2 holds in the end, which tells the order: 2 for
 * that of submission.
 */
static int run_with_priority(int fd, struct npu_job *job, struct npu_job *hang)
{
	struct rknpu_submit args = npu_job_args(hang, 1);
	int ret;

	memset(npu_job_slot(job, 0), 0, 3 * NPU_SLOT);
	npu_job_seal(job);
	args.timeout = 400;
	args.flags |= RKNPU_JOB_NONBLOCK;
	ret = npu_submit(fd, &args);
	ret = ret ? ret : submit_task(job, 0, 0, RKNPU_JOB_NONBLOCK);
	ret = ret ? ret : submit_task(job, 1, 2, 0);
	npu_job_fetch(job);
	return ret ? ret : npu_job_slot(job, 2)[0];
}

TEST_F(submit, b13_without_privilege_nobody_runs_before_others)
{
	struct npu_job job, hang;
	int privileged, other;

	ASSERT_EQ(0, npu_job_init(&job, self->fd, 2, 3));
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_add_offset(&job, 1, 2, 1);
	ASSERT_EQ(0, npu_job_init_hang(&hang, self->fd));
	privileged = run_with_priority(self->fd, &job, &hang);
	ASSERT_EQ(0, seteuid(65534));
	other = run_with_priority(self->fd, &job, &hang);
	ASSERT_EQ(0, seteuid(0));
	EXPECT_EQ(1, privileged);
	EXPECT_EQ(2, other);
	npu_job_free(&hang);
	npu_job_free(&job);
}

TEST_F(submit, timeout_zero_means_the_default)
{
	struct rknpu_submit args;
	struct npu_job job;

	ASSERT_EQ(0, npu_job_init(&job, self->fd, 1, 2));
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_seal(&job);
	args = npu_job_args(&job, 0);
	args.timeout = 0;
	EXPECT_EQ(0, npu_submit(self->fd, &args));
	args.timeout = UINT32_MAX;
	EXPECT_EQ(0, npu_submit(self->fd, &args));
	npu_job_free(&job);
}

/* A part of the array, from anywhere in it; other records may be rubbish. */
TEST_F(submit, range_picks_its_tasks)
{
	struct rknpu_submit args;
	struct npu_job job;
	unsigned int i;

	ASSERT_EQ(0, npu_job_init(&job, self->fd, 4, 6));
	memset(npu_job_slot(&job, 0), 10, NPU_SLOT);
	for (i = 0; i < 4; i++)
		npu_job_add_offset(&job, 0, i + 1, (int)i);
	memset(npu_job_record(&job, 0), 0xff, sizeof(struct rknpu_task));
	npu_job_seal(&job);
	args = npu_job_args(&job, 1);
	args.task_start = 2;
	args.task_number = 1;
	for (i = 0; i < RKNPU_MAX_SUBCORE_TASKS; i++)
		args.subcore_task[i] = (struct rknpu_subcore_task){ 2, 1 };
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	npu_job_fetch(&job);
	EXPECT_EQ(0, npu_job_slot(&job, 2)[0]);
	EXPECT_EQ(12, npu_job_slot(&job, 3)[0]);
	EXPECT_EQ(0, npu_job_slot(&job, 4)[0]);
	npu_job_free(&job);
}

TEST_F(submit, unused_entries_are_not_looked_at)
{
	struct rknpu_submit args;
	struct npu_job job;
	unsigned int i;

	if (self->cores == 1)
		SKIP(return, "one core: entries are not used at all");
	ASSERT_EQ(0, npu_job_init(&job, self->fd, 1, 2));
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_seal(&job);
	args = npu_job_args(&job, 1);
	args.task_start = 0xffffffff;
	for (i = 1; i < RKNPU_MAX_SUBCORE_TASKS; i++)
		args.subcore_task[i] = (struct rknpu_subcore_task){ 0xffffffff, 0xffffffff };
	EXPECT_EQ(0, npu_submit(self->fd, &args));
	npu_job_free(&job);
}

TEST_F(submit, auto_takes_a_core_that_has_work)
{
	struct rknpu_submit args;
	struct npu_job job;

	if (self->cores == 1)
		SKIP(return, "needs two cores");
	ASSERT_EQ(0, npu_job_init(&job, self->fd, 1, 2));
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_seal(&job);
	args = npu_job_args(&job, 0);
	args.subcore_task[0].task_number = 0;
	args.subcore_task[2].task_number = 0;
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	EXPECT_EQ(2, args.core_mask);
	npu_job_free(&job);
}

TEST_F(submit, every_domain_runs_jobs)
{
	struct rknpu_submit args;
	struct npu_job job;
	uint32_t id = 3;

	ASSERT_EQ(0, npu_action(self->fd, RKNPU_SET_IOMMU_DOMAIN_ID, &id));
	/* Buffers name their space in MEM_CREATE; those here lie in space 0. */
	ASSERT_EQ(0, npu_job_init(&job, self->fd, 1, 2));
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_seal(&job);
	args = npu_job_args(&job, 0);
	EXPECT_EQ(0, npu_submit(self->fd, &args));
	npu_job_free(&job);
}

TEST_F(submit, results_appear_in_every_kind_of_memory)
{
	static const uint32_t kinds[] = { 0x0, 0x1, 0x2, 0x3, 0x4, 0x403, 0x103, 0x83 };
	struct npu_job job;
	unsigned int i, k;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct npu_bo bo;

		ASSERT_EQ(0, npu_bo_create(self->fd, kinds[i], 3 * NPU_PAGE, &bo));
		ASSERT_EQ(0, npu_job_init(&job, self->fd, 1, 1));
		memset((char *)bo.map + NPU_PAGE, (int)i, NPU_SLOT);
		npu_job_add_offset_raw(&job, bo.iova + NPU_PAGE, bo.iova + 2 * NPU_PAGE, 50);
		npu_job_seal(&job);
		npu_bo_sync(&bo, RKNPU_MEM_SYNC_TO_DEVICE, 0, bo.size);
		ASSERT_EQ(0, npu_job_run(&job, 0));
		npu_bo_sync(&bo, RKNPU_MEM_SYNC_FROM_DEVICE, 0, bo.size);
		for (k = 0; k < NPU_SLOT; k++)
			ASSERT_EQ(50 + i, ((int8_t *)bo.map + 2 * NPU_PAGE)[k]);
		npu_job_free(&job);
		npu_bo_destroy(&bo);
	}
}

/* One task that reads the last slot of @bo and writes the first one. */
static int last_to_first(int fd, const struct npu_bo *bo)
{
	struct npu_job job;
	int ret = npu_job_init(&job, fd, 1, 1);

	if (ret)
		return ret;
	npu_job_add_offset_raw(&job, bo->iova + bo->size - NPU_SLOT, bo->iova, 3);
	npu_job_seal(&job);
	ret = npu_job_run(&job, 0);
	npu_job_free(&job);
	return ret;
}

/* How memory is cut into pieces must not matter: neither for access nor when it goes. */
TEST_F_TIMEOUT(submit, b24_large_scattered_memory_is_whole_and_comes_back, 60)
{
	uint64_t lowest = UINT64_MAX, highest = 0;
	bool scattered = npu_has_iommu(self->fd);
	/* In one piece there is no telling how much can be had: see b18 in mem_create. */
	uint64_t size = scattered ? 64 << 20 : 1 << 20;
	unsigned int round;
	struct npu_bo bo;

	for (round = 0; round < 4; round++) {
		ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_DATA | RKNPU_MEM_ZEROING, size, &bo));
		memset((char *)bo.map + bo.size - NPU_SLOT, 40, NPU_SLOT);
		EXPECT_EQ(0, npu_bo_sync(&bo, RKNPU_MEM_SYNC_TO_DEVICE, 0, bo.size));
		EXPECT_EQ(0, last_to_first(self->fd, &bo));
		EXPECT_EQ(0, npu_bo_sync(&bo, RKNPU_MEM_SYNC_FROM_DEVICE, 0, bo.size));
		EXPECT_EQ(43, *(int8_t *)bo.map);
		EXPECT_EQ(0, ((int8_t *)bo.map)[bo.size / 2]);
		lowest = bo.iova < lowest ? bo.iova : lowest;
		highest = bo.iova > highest ? bo.iova : highest;
		npu_bo_destroy(&bo);
	}
	/* With the first one still there, they would lie elsewhere. */
	if (scattered)
		EXPECT_EQ(lowest, highest);
}

/* Free memory above 4 GiB, which is a zone of its own, in pages. */
static long free_above_4_gib(void)
{
	FILE *file = fopen("/proc/zoneinfo", "re");
	char line[256], zone[32] = "";
	long value, total = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Node %*d, zone %31s", zone) == 1)
			continue;
		if (strcmp(zone, "Normal") == 0 && sscanf(line, " pages free %ld", &value) == 1)
			total += value;
	}
	if (file)
		fclose(file);
	return total;
}

TEST_F(submit, b19_memory_above_4_gib_takes_part)
{
	long before = free_above_4_gib();
	struct npu_bo bo[16];
	unsigned int i;

	if (before < (128 << 20) / (long)NPU_PAGE)
		SKIP(return, "this machine has no memory above 4 GiB");
	for (i = 0; i < 16; i++) {
		ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_DATA, 4 << 20, &bo[i]));
		memset((char *)bo[i].map + bo[i].size - NPU_SLOT, (int)i, NPU_SLOT);
		npu_bo_sync(&bo[i], RKNPU_MEM_SYNC_TO_DEVICE, 0, bo[i].size);
	}
	/* A good part of the 64 MiB must have come from there; others may free some meanwhile. */
	EXPECT_LT((8 << 20) / (long)NPU_PAGE, before - free_above_4_gib());
	for (i = 0; i < 16; i++) {
		EXPECT_EQ(0, last_to_first(self->fd, &bo[i]));
		npu_bo_sync(&bo[i], RKNPU_MEM_SYNC_FROM_DEVICE, 0, NPU_PAGE);
		EXPECT_EQ((int)i + 3, *(int8_t *)bo[i].map);
		npu_bo_destroy(&bo[i]);
	}
}

TEST_F_TIMEOUT(submit, b17_three_hundred_jobs_in_a_row, 60)
{
	struct npu_job job;
	int round;

	ASSERT_EQ(0, npu_job_init(&job, self->fd, 2, 3));
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_add_offset(&job, 1, 2, 1);
	npu_job_seal(&job);
	for (round = 0; round < 300; round++)
		ASSERT_EQ(0, npu_job_run(&job, 0));
	npu_job_fetch(&job);
	EXPECT_EQ(2, npu_job_slot(&job, 2)[5]);
	npu_job_free(&job);
}

TEST_HARNESS_MAIN
