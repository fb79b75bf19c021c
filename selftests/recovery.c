// SPDX-License-Identifier: MIT
// Jobs that hang or fault: errno, time, counter, and who else notices.
#define _GNU_SOURCE
#include <pthread.h>

#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define TIMEOUT_MS 200u

FIXTURE(recovery) {
	int fd;
	int cores;
};

FIXTURE_SETUP(recovery)
{
	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
	self->cores = npu_core_count(self->fd);
	ASSERT_LT(0, self->cores);
}

FIXTURE_TEARDOWN(recovery)
{
	close(self->fd);
	EXPECT_EQ(0, npu_healthy());
}

/* A job of @tasks tasks that stops after @good of them. */
static int hanging_job(struct npu_job *job, int fd, unsigned int tasks, unsigned int good)
{
	unsigned int i;
	int ret = npu_job_init(job, fd, tasks, tasks + 1);

	if (ret)
		return ret;
	for (i = 0; i < tasks; i++)
		npu_job_add_offset(job, i, i + 1, i & 1 ? -1 : 1);
	npu_job_cut(job, good);
	npu_job_seal(job);
	return 0;
}

static int run_timed(struct npu_job *job, uint32_t mask, uint32_t timeout,
		     struct rknpu_submit *args, uint64_t *ms)
{
	uint64_t start = npu_now_ms();
	int ret;

	*args = npu_job_args(job, mask);
	args->timeout = timeout;
	ret = npu_submit(job->fd, args);
	*ms = npu_now_ms() - start;
	return ret;
}

TEST_F(recovery, b01_hang_ends_with_etimedout_in_bounded_time)
{
	struct rknpu_submit args;
	struct npu_job job;
	uint64_t ms;

	ASSERT_EQ(0, hanging_job(&job, self->fd, 2, 0));
	EXPECT_EQ(-ETIMEDOUT, run_timed(&job, 1, TIMEOUT_MS, &args, &ms));
	EXPECT_EQ(0, args.task_counter);
	EXPECT_LE(TIMEOUT_MS, ms);
	EXPECT_GT(5 * TIMEOUT_MS + 500, ms);
	EXPECT_EQ(1, args.core_mask);
	npu_job_free(&job);
}

TEST_F(recovery, b02_partial_progress_is_reported)
{
	static const unsigned int rows[][2] = {
		{ 2, 0 }, { 2, 1 }, { 13, 12 }, { 823, 819 }, { 152, 79 },
	};
	struct rknpu_submit args;
	struct npu_job job;
	unsigned int i;
	uint64_t ms;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ASSERT_EQ(0, hanging_job(&job, self->fd, rows[i][0], rows[i][1]));
		EXPECT_EQ(-ETIMEDOUT, run_timed(&job, 1, TIMEOUT_MS, &args, &ms));
		EXPECT_EQ(rows[i][1], args.task_counter);
		npu_job_fetch(&job);
		if (rows[i][1])
			EXPECT_EQ(rows[i][1] & 1, npu_job_slot(&job, rows[i][1])[0]);
		EXPECT_EQ(0, npu_job_slot(&job, rows[i][1] + 1)[0]);
		npu_job_free(&job);
	}
}

TEST_F(recovery, b03_each_core_recovers)
{
	struct rknpu_submit args;
	struct npu_job job;
	uint64_t ms;
	int core;

	ASSERT_EQ(0, hanging_job(&job, self->fd, 2, 1));
	for (core = 0; core < self->cores; core++) {
		EXPECT_EQ(-ETIMEDOUT, run_timed(&job, 1u << core, TIMEOUT_MS, &args, &ms));
		EXPECT_EQ(1u << core, args.core_mask);
		EXPECT_EQ(0, npu_chain_check(self->fd, 3, 1u << core));
	}
	npu_job_free(&job);
}

TEST_F(recovery, b06_multi_core_hang_frees_every_core)
{
	struct rknpu_submit args;
	struct npu_job job;
	uint64_t ms;
	int round, k;

	if (self->cores < 3)
		SKIP(return, "needs three cores");
	/* Tasks 0..1 hang, 2..3 and 4..5 are good; each core hangs once. */
	ASSERT_EQ(0, npu_job_init(&job, self->fd, 6, 7));
	for (k = 0; k < 6; k++)
		npu_job_add_offset(&job, k, k + 1, 1);
	npu_job_cut(&job, 1);
	npu_job_seal(&job);
	for (round = 0; round < 6; round++) {
		uint64_t start = npu_now_ms();

		args = npu_job_args(&job, 7);
		args.timeout = TIMEOUT_MS;
		args.task_number = 6;
		for (k = 0; k < 3; k++)
			args.subcore_task[2 + k] =
				(struct rknpu_subcore_task){ (unsigned int)(round + k) % 3 * 2, 2 };
		EXPECT_EQ(-ETIMEDOUT, npu_submit(self->fd, &args));
		ms = npu_now_ms() - start;
		EXPECT_GT(5 * TIMEOUT_MS + 500, ms);
		for (k = 0; k < 3; k++)
			EXPECT_EQ(0, npu_chain_check(self->fd, 1, 1u << k));
	}
	npu_job_free(&job);
}

struct victim {
	int fd;
	uint32_t mask;
	unsigned int tasks;
	int ret;
	uint64_t ms;
};

static void *run_victim(void *argument)
{
	struct victim *victim = argument;
	uint64_t start = npu_now_ms();

	victim->ret = npu_chain_check(victim->fd, victim->tasks, victim->mask);
	victim->ms = npu_now_ms() - start;
	return NULL;
}

TEST_F(recovery, b04_queue_wait_is_not_hardware_time)
{
	struct rknpu_submit args;
	struct npu_job hang, good;
	uint64_t ms;
	int i;

	/* Three hangs of 300 ms stand in front of a good job with a limit of 100 ms. */
	ASSERT_EQ(0, hanging_job(&hang, self->fd, 2, 0));
	ASSERT_EQ(0, npu_job_init(&good, self->fd, 1, 2));
	npu_job_add_offset(&good, 0, 1, 1);
	npu_job_seal(&good);
	for (i = 0; i < 3; i++) {
		args = npu_job_args(&hang, 1);
		args.flags |= RKNPU_JOB_NONBLOCK;
		args.timeout = 300;
		ASSERT_EQ(0, npu_submit(self->fd, &args));
	}
	EXPECT_EQ(0, run_timed(&good, 1, 100, &args, &ms));
	EXPECT_LE(600, ms);
	npu_job_free(&good);
	npu_job_free(&hang);
}

TEST_F(recovery, b09_other_clients_go_on_while_a_core_hangs)
{
	struct victim victim = { .fd = npu_open(), .tasks = 3 };
	struct rknpu_submit args;
	struct npu_job hang;
	uint32_t value = 0;
	uint64_t start;
	struct npu_bo bo;

	ASSERT_LE(0, victim.fd);
	ASSERT_EQ(0, hanging_job(&hang, self->fd, 2, 0));
	args = npu_job_args(&hang, 1);
	args.flags |= RKNPU_JOB_NONBLOCK;
	args.timeout = 3000;
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	start = npu_now_ms();
	EXPECT_EQ(0, npu_action(victim.fd, RKNPU_GET_DRV_VERSION, &value));
	EXPECT_EQ(0, npu_bo_create(victim.fd, NPU_MEM_DATA, NPU_PAGE, &bo));
	npu_bo_destroy(&bo);
	EXPECT_GT(200, npu_now_ms() - start);
	if (self->cores > 1) {
		/* The same file: it shares the address space, so another core is free for it. */
		struct victim same = { .fd = self->fd, .tasks = 3, .mask = 2 };

		run_victim(&same);
		EXPECT_EQ(0, same.ret);
		EXPECT_GT(1000, same.ms);
	}
	close(victim.fd);
	npu_job_free(&hang);
}

TEST_F(recovery, b14_innocent_job_on_another_core_survives_the_reset)
{
	struct victim victim = { .fd = self->fd, .tasks = 2000, .mask = 2 };
	struct rknpu_submit args;
	struct npu_job hang;
	pthread_t thread;
	uint64_t ms;
	int round;

	if (self->cores < 2)
		SKIP(return, "needs two cores");
	ASSERT_EQ(0, hanging_job(&hang, self->fd, 2, 0));
	for (round = 0; round < 5; round++) {
		ASSERT_EQ(0, pthread_create(&thread, NULL, run_victim, &victim));
		EXPECT_EQ(-ETIMEDOUT, run_timed(&hang, 1, 30, &args, &ms));
		pthread_join(thread, NULL);
		EXPECT_EQ(0, victim.ret);
	}
	npu_job_free(&hang);
}

TEST_F(recovery, hang_of_one_client_does_not_cost_the_next_client_its_job)
{
	struct victim victim = { .fd = npu_open(), .tasks = 3, .mask = 1 };
	struct rknpu_submit args;
	struct npu_job hang;

	ASSERT_LE(0, victim.fd);
	ASSERT_EQ(0, hanging_job(&hang, self->fd, 2, 0));
	args = npu_job_args(&hang, 1);
	args.flags |= RKNPU_JOB_NONBLOCK;
	args.timeout = TIMEOUT_MS;
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	run_victim(&victim);
	EXPECT_EQ(0, victim.ret);
	close(victim.fd);
	npu_job_free(&hang);
}

/* An address that is not mapped: the job ends at once, long before its time. */
static int run_fault(int fd, bool write, uint32_t mask, uint64_t *ms, struct rknpu_submit *args)
{
	struct npu_job job;
	int ret = npu_job_init(&job, fd, 2, 3);

	if (ret)
		return ret;
	npu_job_add_offset(&job, 0, 1, 1);
	if (write)
		npu_job_add_offset_raw(&job, job.data.iova, 0x00010000, 1);
	else
		npu_job_add_offset_raw(&job, 0x00010000, job.data.iova, 1);
	npu_job_seal(&job);
	npu_expect_fault(true);
	ret = run_timed(&job, mask, 6000, args, ms);
	npu_expect_fault(false);
	npu_job_free(&job);
	return ret;
}

TEST_F(recovery, b20_page_fault_ends_the_job_early)
{
	struct rknpu_submit args;
	uint32_t iommu = 0;
	uint64_t ms;
	int core;

	ASSERT_EQ(0, npu_action(self->fd, RKNPU_GET_IOMMU_EN, &iommu));
	if (!iommu)
		SKIP(return, "no IOMMU, so nothing is unmapped");
	for (core = 0; core < self->cores; core++) {
		EXPECT_EQ(-EFAULT, run_fault(self->fd, false, 1u << core, &ms, &args));
		EXPECT_GT(2000, ms);
		EXPECT_EQ(1, args.task_counter);
		EXPECT_EQ(-EFAULT, run_fault(self->fd, true, 1u << core, &ms, &args));
		EXPECT_GT(2000, ms);
		EXPECT_EQ(0, npu_chain_check(self->fd, 2, 1u << core));
	}
}

TEST_F(recovery, b20_fault_on_one_core_spares_the_others)
{
	struct victim victim = { .fd = self->fd, .tasks = 2000, .mask = 1 };
	struct rknpu_submit args;
	uint32_t iommu = 0;
	pthread_t thread;
	uint64_t ms;

	ASSERT_EQ(0, npu_action(self->fd, RKNPU_GET_IOMMU_EN, &iommu));
	if (!iommu || self->cores < 2)
		SKIP(return, "needs an IOMMU and two cores");
	ASSERT_EQ(0, pthread_create(&thread, NULL, run_victim, &victim));
	EXPECT_EQ(-EFAULT, run_fault(self->fd, false, 2, &ms, &args));
	pthread_join(thread, NULL);
	EXPECT_EQ(0, victim.ret);
}

TEST_F(recovery, b20_command_address_fault_after_the_first_task)
{
	struct rknpu_submit args;
	uint32_t iommu = 0;
	struct npu_job job;
	uint64_t ms, *tail;

	ASSERT_EQ(0, npu_action(self->fd, RKNPU_GET_IOMMU_EN, &iommu));
	if (!iommu)
		SKIP(return, "no IOMMU, so nothing is unmapped");
	ASSERT_EQ(0, npu_job_init(&job, self->fd, 2, 3));
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_add_offset(&job, 1, 2, 1);
	/* The link in the first stream leads to an unmapped page. */
	tail = (uint64_t *)job.commands.map + npu_job_record(&job, 0)->regcfg_amount;
	tail[0] = 0x0101000000000010ull | 0x00020000ull << 16;
	npu_job_seal(&job);
	npu_expect_fault(true);
	EXPECT_EQ(-EFAULT, run_timed(&job, 0, 6000, &args, &ms));
	npu_expect_fault(false);
	EXPECT_EQ(1, args.task_counter);
	EXPECT_GT(2000, ms);
	npu_job_free(&job);
}

TEST_F_TIMEOUT(recovery, b01_twenty_hangs_in_a_row, 60)
{
	struct rknpu_submit args;
	struct npu_job job;
	uint64_t ms;
	int round;

	ASSERT_EQ(0, hanging_job(&job, self->fd, 3, 2));
	for (round = 0; round < 20; round++) {
		EXPECT_EQ(-ETIMEDOUT, run_timed(&job, 0, 20, &args, &ms));
		EXPECT_EQ(2, args.task_counter);
	}
	EXPECT_EQ(0, npu_chain_check(self->fd, 5, 0));
	npu_job_free(&job);
}

TEST_F(recovery, b11_reset_action_ends_a_hung_job)
{
	struct rknpu_submit args;
	uint32_t value = 0;
	struct npu_job job;
	int other = npu_open();
	uint64_t start;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, hanging_job(&job, self->fd, 2, 0));
	args = npu_job_args(&job, 1);
	args.flags |= RKNPU_JOB_NONBLOCK;
	args.timeout = 20000;
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	start = npu_now_ms();
	EXPECT_EQ(0, npu_action(other, RKNPU_ACT_RESET, &value));
	EXPECT_EQ(0, npu_chain_check(other, 2, 1));
	EXPECT_GT(5000, npu_now_ms() - start);
	npu_job_free(&job);
	close(other);
}

TEST_HARNESS_MAIN
