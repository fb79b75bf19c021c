// SPDX-License-Identifier: MIT
// Jobs on several cores: masks, task ranges, queues, fairness.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>

#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define PARTS 5u

FIXTURE(multicore) {
	int fd;
	int cores;
	struct npu_job job;
};

/* Five chains of two tasks; chain k adds k + 1 twice, from slot 0 into its own two slots. */
FIXTURE_SETUP(multicore)
{
	unsigned int k;

	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
	self->cores = npu_core_count(self->fd);
	if (self->cores < 2)
		SKIP(return, "needs two cores, this device has %d", self->cores);
	ASSERT_EQ(0, npu_job_init(&self->job, self->fd, 2 * PARTS, 1 + 2 * PARTS));
	memset(npu_job_slot(&self->job, 0), 3, NPU_SLOT);
	for (k = 0; k < PARTS; k++) {
		npu_job_add_offset(&self->job, 0, 1 + 2 * k, (int)k + 1);
		npu_job_add_offset(&self->job, 1 + 2 * k, 2 + 2 * k, (int)k + 1);
	}
	npu_job_seal(&self->job);
}

FIXTURE_TEARDOWN(multicore)
{
	EXPECT_EQ(0, npu_healthy());
	npu_job_free(&self->job);
	close(self->fd);
}

/* Does the device have all cores of the mask? */
static bool has_cores(FIXTURE_DATA(multicore) *self, uint32_t mask)
{
	return mask < 1u << self->cores;
}

static bool part_ran(struct npu_job *job, unsigned int k)
{
	return npu_job_slot(job, 2 + 2 * k)[100] == 3 + 2 * ((int)k + 1);
}

static struct rknpu_submit split_args(struct npu_job *job, uint32_t mask)
{
	struct rknpu_submit args = npu_job_args(job, mask);
	unsigned int k;

	for (k = 0; k < PARTS; k++)
		args.subcore_task[k] = (struct rknpu_subcore_task){ 2 * k, 2 };
	args.task_number = 6;
	return args;
}

static unsigned int run_split(struct npu_job *job, uint32_t mask, int *ret)
{
	struct rknpu_submit args = split_args(job, mask);
	unsigned int k, ran = 0;

	memset(npu_job_slot(job, 1), 0, 2 * PARTS * NPU_SLOT);
	npu_job_seal(job);
	*ret = npu_submit(job->fd, &args);
	npu_job_fetch(job);
	for (k = 0; k < PARTS; k++)
		ran |= (unsigned int)part_ran(job, k) << k;
	if (!*ret && (args.core_mask != mask || args.task_counter != 6 || args.hw_elapse_time <= 0))
		*ret = -EPROTO;
	return ran;
}

/* One or two cores use the entries of their index, three cores the last three entries. */
TEST_F(multicore, b03_each_mask_runs_the_ranges_of_its_cores)
{
	static const struct {
		uint32_t mask;
		unsigned int parts;
	} rows[] = {
		{ 1, 0x01 }, { 2, 0x02 }, { 4, 0x04 }, { 3, 0x03 },
		{ 5, 0x05 }, { 6, 0x06 }, { 7, 0x1c },
	};
	unsigned int i;
	int ret;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!has_cores(self, rows[i].mask))
			continue;
		EXPECT_EQ(rows[i].parts, run_split(&self->job, rows[i].mask, &ret));
		EXPECT_EQ(0, ret);
	}
}

TEST_F(multicore, auto_runs_the_range_of_one_core)
{
	struct rknpu_submit args = split_args(&self->job, 0);

	ASSERT_EQ(0, npu_submit(self->fd, &args));
	EXPECT_EQ(1, args.core_mask);
	npu_job_fetch(&self->job);
	EXPECT_TRUE(part_ran(&self->job, 0));
	EXPECT_FALSE(part_ran(&self->job, 1));
	EXPECT_FALSE(part_ran(&self->job, 2));
}

TEST_F(multicore, used_core_with_an_empty_range_takes_no_part)
{
	struct rknpu_submit args = split_args(&self->job, 7);

	if (self->cores < 3)
		SKIP(return, "needs three cores, this device has %d", self->cores);
	args.subcore_task[3] = (struct rknpu_subcore_task){ 0xffffffff, 0 };
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	npu_job_fetch(&self->job);
	EXPECT_TRUE(part_ran(&self->job, 2));
	EXPECT_FALSE(part_ran(&self->job, 3));
	EXPECT_TRUE(part_ran(&self->job, 4));
}

/* Shapes of the closed runtime; task_start lies outside of all ranges there. */
TEST_F(multicore, shapes_of_the_closed_runtime_are_taken)
{
	static const struct {
		uint32_t mask, start, number;
		struct rknpu_subcore_task entries[5];
	} rows[] = {
		{ 0, 0, 6, { { 0, 2 }, { 2, 2 }, { 4, 2 }, { 0, 0 }, { 0, 0 } } },
		{ 1, 0, 6, { { 0, 2 }, { 0, 2 }, { 0, 2 }, { 0, 0 }, { 0, 0 } } },
		{ 1, 0, 2, { { 0, 2 }, { 2, 0 }, { 4, 0 }, { 0, 0 }, { 0, 0 } } },
		{ 3, 2, 2, { { 2, 1 }, { 5, 1 }, { 2, 1 }, { 5, 1 }, { 0xffffffff, 0 } } },
		{ 3, 4, 4, { { 2, 2 }, { 6, 2 }, { 2, 2 }, { 6, 2 }, { 0xffffffff, 0 } } },
		{ 7, 8, 3, { { 0, 1 }, { 3, 1 }, { 0, 1 }, { 3, 1 }, { 6, 1 } } },
		{ 7, 200, 6, { { 0, 2 }, { 2, 2 }, { 4, 2 }, { 6, 2 }, { 8, 2 } } },
		{ 1, 8, 2, { { 8, 2 }, { 15, 0 }, { 17, 0 }, { 0, 0 }, { 0, 0 } } },
		{ 0, 1, 3, { { 1, 1 }, { 3, 1 }, { 5, 1 }, { 0, 0 }, { 0, 0 } } },
	};
	unsigned int i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rknpu_submit args = npu_job_args(&self->job, rows[i].mask);

		if (!has_cores(self, rows[i].mask))
			continue;
		args.task_start = rows[i].start;
		args.task_number = rows[i].number;
		memcpy(args.subcore_task, rows[i].entries, sizeof(args.subcore_task));
		EXPECT_EQ(0, npu_submit(self->fd, &args));
		EXPECT_EQ(rows[i].number, args.task_counter);
	}
}

struct worker {
	pthread_t thread;
	int fd;
	uint32_t mask;
	unsigned int rounds, tasks;
	int ret;
};

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct npu_job job;
	unsigned int i;

	worker->ret = npu_job_init(&job, worker->fd, worker->tasks, worker->tasks + 1);
	if (worker->ret)
		return NULL;
	for (i = 0; i < worker->tasks; i++)
		npu_job_add_offset(&job, i, i + 1, 1);
	npu_job_seal(&job);
	for (i = 0; i < worker->rounds && !worker->ret; i++) {
		struct rknpu_submit args = npu_job_args(&job, worker->mask);

		worker->ret = npu_submit(worker->fd, &args);
	}
	npu_job_fetch(&job);
	if (!worker->ret && npu_job_slot(&job, worker->tasks)[0] != (int)worker->tasks)
		worker->ret = -EBADMSG;
	npu_job_free(&job);
	return NULL;
}

struct crowd {
	pthread_t thread;
	struct npu_job *job;
	int ret;
	int64_t hw_ns;
	unsigned int used[3];
};

#define CROWD 30u
#define CROWD_ROUNDS 10u
#define CROWD_TASKS 8u

static void *crowd_member(void *argument)
{
	struct crowd *member = argument;
	unsigned int i, core;

	for (i = 0; i < CROWD_ROUNDS && !member->ret; i++) {
		struct rknpu_submit args = npu_job_args(member->job, 0);

		member->ret = npu_submit(member->job->fd, &args);
		member->hw_ns += args.hw_elapse_time;
		for (core = 0; core < 3; core++)
			member->used[core] += args.core_mask >> core & 1;
	}
	return NULL;
}

/*
 * The cores have to be what everybody waits for, not the CPUs: the emulator has
 * to end each job 20 ms late (line "spread" of the file faults).
 */
TEST_F_TIMEOUT(multicore, b04_thirty_threads_spread_over_the_cores, 180)
{
	unsigned int used[3] = { 0 }, least, most, i, core;
	uint64_t start, wall_ms;
	int64_t job_ns = 0;
	struct crowd crowd[CROWD];
	struct npu_job job;

	if (strcmp(npu_fault(), "spread"))
		SKIP(return, "the emulator does not delay jobs (RKNPU_FAULT=spread)");
	if (self->cores < 3)
		SKIP(return, "needs three cores, this device has %d", self->cores);
	ASSERT_EQ(0, npu_job_init(&job, self->fd, CROWD_TASKS, 2));
	for (i = 0; i < CROWD_TASKS; i++)
		npu_job_add_offset(&job, 0, 1, 1);
	npu_job_seal(&job);
	memset(crowd, 0, sizeof(crowd));
	start = npu_now_ms();
	for (i = 0; i < CROWD; i++) {
		crowd[i].job = &job;
		ASSERT_EQ(0, pthread_create(&crowd[i].thread, NULL, crowd_member, &crowd[i]));
	}
	for (i = 0; i < CROWD; i++) {
		pthread_join(crowd[i].thread, NULL);
		EXPECT_EQ(0, crowd[i].ret);
		job_ns += crowd[i].hw_ns;
		for (core = 0; core < 3; core++)
			used[core] += crowd[i].used[core];
	}
	EXPECT_EQ(CROWD * CROWD_ROUNDS, used[0] + used[1] + used[2]);
	wall_ms = npu_now_ms() - start;
	TH_LOG("jobs per core: %u %u %u, %lld %% of three cores busy", used[0], used[1], used[2],
	       (long long)(job_ns / 30000 / (int64_t)wall_ms));
	npu_job_free(&job);
	least = most = used[0];
	for (core = 1; core < 3; core++) {
		least = used[core] < least ? used[core] : least;
		most = used[core] > most ? used[core] : most;
	}
	EXPECT_LT(10 * most, 12 * least);
}

TEST_F_TIMEOUT(multicore, b08_all_masks_at_once_from_many_files, 120)
{
	static const uint32_t masks[] = { 0, 1, 2, 4, 3, 5, 6, 7 };
	struct worker workers[16];
	unsigned int i;

	for (i = 0; i < 16; i++) {
		uint32_t mask = has_cores(self, masks[i % 8]) ? masks[i % 8] : masks[i % 4 / 2];

		workers[i] = (struct worker){ .fd = npu_open(), .mask = mask,
					      .rounds = 8, .tasks = 1 + i };
		ASSERT_LE(0, workers[i].fd);
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	for (i = 0; i < 16; i++) {
		pthread_join(workers[i].thread, NULL);
		EXPECT_EQ(0, workers[i].ret);
		close(workers[i].fd);
	}
}

TEST_F(multicore, nonblocking_jobs_finish_in_order_on_one_core)
{
	struct rknpu_submit args;
	struct npu_job job;
	struct pollfd wait;
	unsigned int i;

	/* Each job adds 1 to the same slot: a lost or reordered one would show. */
	ASSERT_EQ(0, npu_job_init(&job, self->fd, 1, 1));
	npu_job_add_offset(&job, 0, 0, 1);
	npu_job_seal(&job);
	for (i = 0; i < 100; i++) {
		args = npu_job_args(&job, 2);
		args.flags |= RKNPU_JOB_NONBLOCK | (i == 99 ? RKNPU_JOB_FENCE_OUT : 0);
		ASSERT_EQ(0, npu_submit(self->fd, &args));
	}
	wait = (struct pollfd){ .fd = args.fence_fd, .events = POLLIN };
	ASSERT_LE(0, args.fence_fd);
	ASSERT_EQ(1, poll(&wait, 1, 10000));
	close(args.fence_fd);
	npu_job_fetch(&job);
	for (i = 0; i < NPU_SLOT; i++)
		ASSERT_EQ(100, npu_job_slot(&job, 0)[i]);
	npu_job_free(&job);
}

TEST_HARNESS_MAIN
