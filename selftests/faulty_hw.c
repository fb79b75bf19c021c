// SPDX-License-Identifier: MIT
/*
 * Hardware that misbehaves on one core. The emulator has to be told which way;
 * the file faults lists the rules, and RKNPU_FAULT carries the name of the line.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define TASKS 3u
#define BAD_CORE 2u /* the mask of core 1, where all rules apply */

FIXTURE(faulty_hw) {
	int fd;
	struct npu_job job;
};

FIXTURE_SETUP(faulty_hw)
{
	unsigned int i;

	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
	/* The name of a test contains that of its fault. */
	if (!npu_fault()[0] || !strstr(_test->name, npu_fault()))
		SKIP(return, "the emulator does not produce this fault (RKNPU_FAULT)");
	ASSERT_EQ(0, npu_job_init(&self->job, self->fd, TASKS, TASKS + 1));
	for (i = 0; i < TASKS; i++)
		npu_job_add_offset(&self->job, i, i + 1, 1);
	npu_job_seal(&self->job);
}

/* The other cores never noticed. */
FIXTURE_TEARDOWN(faulty_hw)
{
	EXPECT_EQ(0, npu_chain_check(self->fd, TASKS, 1));
	EXPECT_EQ(0, npu_chain_check(self->fd, TASKS, 4));
	npu_job_free(&self->job);
	close(self->fd);
}

static int run(struct npu_job *job, uint32_t mask, uint32_t timeout, struct rknpu_submit *args,
	       uint64_t *ms)
{
	uint64_t start = npu_now_ms();
	int ret;

	memset(npu_job_slot(job, 1), 0, TASKS * NPU_SLOT);
	npu_job_seal(job);
	*args = npu_job_args(job, mask);
	args->timeout = timeout;
	ret = npu_submit(job->fd, args);
	*ms = npu_now_ms() - start;
	npu_job_fetch(job);
	return ret;
}

TEST_F(faulty_hw, b01_hang_of_every_job_on_one_core)
{
	struct rknpu_submit args;
	uint64_t ms;
	int round;

	for (round = 0; round < 5; round++) {
		EXPECT_EQ(-ETIMEDOUT, run(&self->job, BAD_CORE, 100, &args, &ms));
		EXPECT_EQ(1, args.task_counter);
		EXPECT_GT(2000, ms);
		/* AUTO finds a core that works. */
		EXPECT_EQ(0, run(&self->job, 0, 6000, &args, &ms));
		EXPECT_EQ(TASKS, npu_job_slot(&self->job, TASKS)[0]);
	}
}

TEST_F(faulty_hw, b06_hang_in_one_part_of_a_gang)
{
	struct rknpu_submit args;
	uint64_t ms;
	int round;

	for (round = 0; round < 5; round++) {
		EXPECT_EQ(-ETIMEDOUT, run(&self->job, 7, 100, &args, &ms));
		EXPECT_GT(2000, ms);
		EXPECT_EQ(0, run(&self->job, 5, 6000, &args, &ms));
	}
}

TEST_F(faulty_hw, late_completion_within_the_time_is_no_error)
{
	struct rknpu_submit args;
	uint64_t ms;

	EXPECT_EQ(0, run(&self->job, BAD_CORE, 5000, &args, &ms));
	EXPECT_LE(400, ms);
	EXPECT_LE(300000000, args.hw_elapse_time);
	EXPECT_EQ(TASKS, npu_job_slot(&self->job, TASKS)[0]);
}

TEST_F(faulty_hw, b06_late_interrupt_after_the_timeout_is_ignored)
{
	struct rknpu_submit args;
	uint64_t ms;
	int round;

	for (round = 0; round < 5; round++) {
		EXPECT_EQ(-ETIMEDOUT, run(&self->job, BAD_CORE, 100, &args, &ms));
		/* In its place while the interrupt of the first one would be due. */
		EXPECT_EQ(0, run(&self->job, BAD_CORE, 5000, &args, &ms));
		EXPECT_LE(400, ms);
		EXPECT_EQ(TASKS, npu_job_slot(&self->job, TASKS)[0]);
	}
}

/* Found out at the deadline: the tasks are all done, whatever the verdict is. */
TEST_F(faulty_hw, lost_interrupt_ends_the_job_at_its_deadline)
{
	struct rknpu_submit args;
	uint64_t ms;
	int round, ret;

	for (round = 0; round < 5; round++) {
		ret = run(&self->job, BAD_CORE, 200, &args, &ms);
		EXPECT_TRUE(ret == 0 || ret == -ETIMEDOUT);
		EXPECT_EQ(ret ? TASKS : 3 * TASKS, args.task_counter);
		EXPECT_GT(2000, ms);
		EXPECT_EQ(TASKS, npu_job_slot(&self->job, TASKS)[0]);
	}
}

TEST_F(faulty_hw, status_that_was_not_asked_for_ends_the_job)
{
	struct rknpu_submit args;
	uint64_t ms;
	int round, ret;

	for (round = 0; round < 5; round++) {
		ret = run(&self->job, BAD_CORE, 500, &args, &ms);
		EXPECT_TRUE(ret == -EIO || ret == -ETIMEDOUT);
		EXPECT_GT(3000, ms);
	}
}

TEST_F(faulty_hw, poisoned_core_is_cured_by_its_reset)
{
	struct rknpu_submit args;
	uint64_t ms;
	int round;

	/* Each good job poisons the core for the next one. */
	for (round = 0; round < 5; round++) {
		EXPECT_EQ(0, run(&self->job, BAD_CORE, 6000, &args, &ms));
		EXPECT_EQ(TASKS, npu_job_slot(&self->job, TASKS)[0]);
		EXPECT_EQ(-ETIMEDOUT, run(&self->job, BAD_CORE, 100, &args, &ms));
	}
}

struct runner {
	pthread_t thread;
	int fd;
	uint32_t mask;
	int ret;
};

static void *run_many(void *argument)
{
	struct runner *runner = argument;
	int i;

	for (i = 0; i < 150 && !runner->ret; i++)
		runner->ret = npu_chain_check(runner->fd, 1 + i % 5, runner->mask);
	return NULL;
}

/* An interrupt without a cause comes with every start. */
TEST_F_TIMEOUT(faulty_hw, b71_spurious_interrupts_change_nothing, 180)
{
	static const uint32_t masks[] = { 0, 1, 2, 4, 7, 0 };
	struct runner runners[6];
	int i;

	for (i = 0; i < 6; i++) {
		runners[i] = (struct runner){ .fd = self->fd, .mask = masks[i] };
		ASSERT_EQ(0, pthread_create(&runners[i].thread, NULL, run_many, &runners[i]));
	}
	for (i = 0; i < 6; i++) {
		pthread_join(runners[i].thread, NULL);
		EXPECT_EQ(0, runners[i].ret);
	}
}

TEST_HARNESS_MAIN
