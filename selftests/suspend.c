// SPDX-License-Identifier: MIT
/*
 * System sleep, as far as the kernel's own test of it goes: all devices are put
 * to sleep and woken again, the machine itself stays on.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include "harness.h"
#include "npu_board.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define JOBS 12u
#define JOB_MS 60u

FIXTURE(suspend) {
	int fd;
	struct npu_job job;
};

FIXTURE_SETUP(suspend)
{
	unsigned int i;

	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
	if (!npu_board_open())
		SKIP(return, "not the emulated board with power domains");
	if (npu_write_text("/sys/power/pm_test", "devices"))
		SKIP(return, "this kernel cannot test sleep (no /sys/power/pm_test)");
	ASSERT_EQ(0, npu_write_text("/sys/module/suspend/parameters/pm_test_delay", "1"));
	/* This board's registers lie in PCI functions, which must be resumed before. */
	ASSERT_EQ(0, npu_write_text("/sys/power/pm_async", "0"));
	npu_board_write(BOARD_POWER_FAIL, 0);
	ASSERT_EQ(0, npu_job_init(&self->job, self->fd, 4, 5));
	for (i = 0; i < 4; i++)
		npu_job_add_offset(&self->job, i, i + 1, 1);
	npu_job_seal(&self->job);
}

FIXTURE_TEARDOWN(suspend)
{
	npu_board_write(BOARD_POWER_FAIL, 0);
	npu_board_write(BOARD_FAULT_JOBS, 0);
	npu_job_free(&self->job);
	EXPECT_EQ(0, npu_healthy());
	EXPECT_EQ(0, npu_board_read(BOARD_VIOLATIONS));
	EXPECT_EQ(0, npu_write_text("/sys/power/pm_test", "none"));
	EXPECT_EQ(0, npu_debugfs_write("delayms", "3000", 4));
	close(self->fd);
}

/* Returns when the system has woken up again. */
static int sleep_once(void)
{
	return npu_write_text("/sys/power/state", "freeze");
}

static int fence_status(int fence, int timeout_ms)
{
	struct pollfd poller = { .fd = fence, .events = POLLIN };

	return poll(&poller, 1, timeout_ms) == 1 ? 0 : -ETIME;
}

TEST_F_TIMEOUT(suspend, idle_npu_sleeps_and_works_again, 60)
{
	int round;

	for (round = 0; round < 3; round++) {
		if (round == 1)
			ASSERT_EQ(0, npu_debugfs_write("power", "on", 2));
		else
			ASSERT_TRUE(npu_board_wait_off());
		ASSERT_EQ(0, sleep_once());
		EXPECT_EQ(0, npu_chain_check(self->fd, 4, 0));
		EXPECT_EQ(0, npu_debugfs_write("power", "off", 3));
	}
}

TEST_F_TIMEOUT(suspend, queued_jobs_go_on_after_it, 60)
{
	struct rknpu_submit args;
	int fences[JOBS];
	unsigned int i;

	npu_board_slow(JOB_MS, JOBS);
	memset(npu_job_slot(&self->job, 1), 0, 4 * NPU_SLOT);
	npu_job_seal(&self->job);
	for (i = 0; i < JOBS; i++) {
		args = npu_job_args(&self->job, 1);
		args.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
		ASSERT_EQ(0, npu_submit(self->fd, &args));
		fences[i] = args.fence_fd;
	}
	ASSERT_EQ(0, sleep_once());
	for (i = 0; i < JOBS; i++) {
		EXPECT_EQ(0, fence_status(fences[i], 10000));
		close(fences[i]);
	}
	npu_job_fetch(&self->job);
	EXPECT_EQ(4, npu_job_slot(&self->job, 4)[0]);
}

struct worker {
	pthread_t thread;
	int fd;
	uint32_t mask;
	volatile int stop;
	int runs;
	int ret;
};

static void *work(void *argument)
{
	struct worker *worker = argument;

	while (!worker->stop && !worker->ret) {
		worker->ret = npu_chain_check(worker->fd, 2, worker->mask);
		worker->runs++;
	}
	return NULL;
}

/* The freezer must be able to stop a task that waits for its job. */
TEST_F_TIMEOUT(suspend, waiting_programs_notice_nothing, 120)
{
	struct worker workers[4] = {};
	int i, round, cores = npu_core_count(self->fd);

	ASSERT_LT(0, cores);
	npu_board_slow(JOB_MS, 200);
	for (i = 0; i < 4; i++) {
		workers[i].fd = i % 2 ? npu_open() : self->fd;
		workers[i].mask = i & ((1u << cores) - 1);
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, work, &workers[i]));
	}
	for (round = 0; round < 4; round++) {
		usleep(200000);
		EXPECT_EQ(0, sleep_once());
	}
	for (i = 0; i < 4; i++) {
		workers[i].stop = 1;
		pthread_join(workers[i].thread, NULL);
		EXPECT_EQ(0, workers[i].ret);
		EXPECT_LT(1, workers[i].runs);
		if (i % 2)
			close(workers[i].fd);
	}
}

TEST_F_TIMEOUT(suspend, job_that_hangs_is_stopped_first, 60)
{
	struct rknpu_submit args = npu_job_args(&self->job, 1);
	struct rknpu_submit next = args;

	npu_board_write(BOARD_FAULT, BOARD_FAULT_HANG | BOARD_ALL_CORES);
	npu_board_write(BOARD_FAULT_VALUE, 1);
	npu_board_write(BOARD_FAULT_JOBS, 1);
	args.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	args.timeout = 1500;
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	npu_board_write(BOARD_FAULT_JOBS, 0);
	ASSERT_EQ(0, sleep_once());
	EXPECT_EQ(0, fence_status(args.fence_fd, 0));
	close(args.fence_fd);
	EXPECT_EQ(0, npu_submit(self->fd, &next));
}

/* Without its supply the NPU cannot take part; the system stays awake and says so. */
TEST_F_TIMEOUT(suspend, b12_failed_supply_is_passed_up, 60)
{
	ASSERT_TRUE(npu_board_wait_off());
	npu_board_write(BOARD_POWER_FAIL, BOARD_FAIL(BOARD_FAIL_SUPPLY, 100));
	EXPECT_EQ(-EIO, sleep_once());
	npu_board_write(BOARD_POWER_FAIL, 0);
	EXPECT_EQ(0, npu_chain_check(self->fd, 4, 0));
	EXPECT_EQ(0, sleep_once());
}

TEST_HARNESS_MAIN
