// SPDX-License-Identifier: MIT
// Fences: sync files out of and into jobs, their errors and their lifetimes.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define ASYNC (RKNPU_JOB_PC | RKNPU_JOB_NONBLOCK | RKNPU_JOB_PINGPONG)

FIXTURE(fence) {
	int fd;
	struct npu_job good;
	struct npu_job hang;
};

FIXTURE_SETUP(fence)
{
	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_job_init(&self->good, self->fd, 1, 1));
	npu_job_add_offset(&self->good, 0, 0, 1);
	npu_job_seal(&self->good);
	ASSERT_EQ(0, npu_job_init_hang(&self->hang, self->fd));
}

FIXTURE_TEARDOWN(fence)
{
	npu_job_free(&self->good);
	npu_job_free(&self->hang);
	close(self->fd);
	EXPECT_EQ(0, npu_healthy());
}

/* A job with an out-fence; returns its fd or a negative errno. */
static int start(struct npu_job *job, uint32_t mask, uint32_t timeout, int in_fence)
{
	struct rknpu_submit args = npu_job_args(job, mask);
	int ret;

	args.flags = ASYNC | RKNPU_JOB_FENCE_OUT | (in_fence >= 0 ? RKNPU_JOB_FENCE_IN : 0);
	args.timeout = timeout;
	args.fence_fd = in_fence;
	ret = npu_submit(job->fd, &args);
	return ret ? ret : args.fence_fd;
}

static int wait_fence(int fence, int timeout_ms)
{
	struct pollfd wait = { .fd = fence, .events = POLLIN };

	return poll(&wait, 1, timeout_ms);
}

/* 0 active, 1 done, negative errno failed; -ENOTTY and the like when it is no fence. */
static int fence_status(int fence)
{
	struct sync_file_info info = { 0 };

	return ioctl(fence, SYNC_IOC_FILE_INFO, &info) ? -1000 - errno : info.status;
}

TEST_F(fence, b10_out_fence_signals_at_completion)
{
	int fence = start(&self->good, 0, 6000, -1);

	ASSERT_LE(0, fence);
	ASSERT_EQ(1, wait_fence(fence, 5000));
	EXPECT_EQ(1, fence_status(fence));
	EXPECT_EQ(FD_CLOEXEC, fcntl(fence, F_GETFD));
	npu_job_fetch(&self->good);
	EXPECT_EQ(1, npu_job_slot(&self->good, 0)[0]);
	close(fence);
}

TEST_F(fence, blocking_job_may_have_an_out_fence)
{
	struct rknpu_submit args = npu_job_args(&self->good, 0);

	args.flags |= RKNPU_JOB_FENCE_OUT;
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	ASSERT_LE(0, args.fence_fd);
	EXPECT_EQ(1, wait_fence(args.fence_fd, 0));
	EXPECT_EQ(args.task_number, args.task_counter);
	close(args.fence_fd);
}

TEST_F(fence, b10_out_fence_carries_the_timeout)
{
	int fence = start(&self->hang, 1, 100, -1);

	ASSERT_LE(0, fence);
	EXPECT_EQ(0, wait_fence(fence, 20));
	ASSERT_EQ(1, wait_fence(fence, 5000));
	EXPECT_EQ(-ETIMEDOUT, fence_status(fence));
	close(fence);
}

TEST_F(fence, b10_out_fence_outlives_the_file)
{
	int other = npu_open(), fence;
	struct npu_job job;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, npu_job_init(&job, other, 1, 2));
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_seal(&job);
	fence = start(&job, 0, 6000, -1);
	ASSERT_LE(0, fence);
	npu_job_free(&job);
	close(other);
	/* Done before the close, or stopped by it; never pending for ever. */
	EXPECT_EQ(1, wait_fence(fence, 5000));
	EXPECT_NE(0, fence_status(fence));
	close(fence);
}

TEST_F(fence, fence_closed_before_it_signals)
{
	int fence = start(&self->hang, 1, 100, -1);

	ASSERT_LE(0, fence);
	close(fence);
	/* The same core: its turn comes after the time-out. */
	EXPECT_EQ(0, npu_job_run(&self->good, 1));
}

/* Core 1 may not start before core 0 is done, however free it is. */
TEST_F(fence, in_fence_orders_jobs_on_different_cores)
{
	int cores = npu_core_count(self->fd), slow, fence;
	struct npu_job job, after;
	unsigned int i;

	if (cores < 2)
		SKIP(return, "needs two cores");
	ASSERT_EQ(0, npu_job_init(&job, self->fd, 400, 401));
	for (i = 0; i < 400; i++)
		npu_job_add_offset(&job, i, i + 1, i % 4 ? 0 : 1);
	npu_job_seal(&job);
	slow = start(&job, 1, 6000, -1);
	ASSERT_LE(0, slow);
	/* The second job reads the last slot of the first. */
	ASSERT_EQ(0, npu_job_init(&after, self->fd, 1, 1));
	npu_job_add_offset_raw(&after, job.data.iova + 400 * NPU_SLOT, after.data.iova, 1);
	npu_job_seal(&after);
	fence = start(&after, 2, 6000, slow);
	ASSERT_LE(0, fence);
	ASSERT_EQ(1, wait_fence(fence, 10000));
	EXPECT_EQ(1, fence_status(slow));
	npu_job_fetch(&after);
	EXPECT_EQ(101, npu_job_slot(&after, 0)[0]);
	close(slow);
	close(fence);
	npu_job_free(&job);
	npu_job_free(&after);
}

TEST_F(fence, in_fence_that_failed_cancels_the_job)
{
	int bad = start(&self->hang, 1, 100, -1), fence;
	struct rknpu_submit args;

	ASSERT_LE(0, bad);
	fence = start(&self->good, 0, 6000, bad);
	ASSERT_LE(0, fence);
	ASSERT_EQ(1, wait_fence(fence, 5000));
	EXPECT_EQ(-ECANCELED, fence_status(fence));
	npu_job_fetch(&self->good);
	EXPECT_EQ(0, npu_job_slot(&self->good, 0)[0]);
	/* Blocking, with a fence that has failed already. */
	args = npu_job_args(&self->good, 0);
	args.flags |= RKNPU_JOB_FENCE_IN;
	args.fence_fd = bad;
	EXPECT_EQ(-ECANCELED, npu_submit(self->fd, &args));
	close(bad);
	close(fence);
}

/* Waiting for a fence is no hardware time: the dependent job must not time out. */
TEST_F(fence, b04_wait_for_a_fence_is_not_counted_as_hardware_time)
{
	int slow = start(&self->hang, 1, 700, -1), fence, cores = npu_core_count(self->fd);

	ASSERT_LE(0, slow);
	fence = start(&self->good, cores > 1 ? 2 : 1, 100, slow);
	ASSERT_LE(0, fence);
	ASSERT_EQ(1, wait_fence(fence, 5000));
	EXPECT_EQ(-ECANCELED, fence_status(fence));
	close(slow);
	close(fence);
}

TEST_F(fence, in_fence_of_another_process)
{
	int pipes[2], fence, status = 1;
	pid_t child;

	ASSERT_EQ(0, pipe(pipes));
	fence = start(&self->good, 0, 6000, -1);
	ASSERT_LE(0, fence);
	child = fork();
	if (child == 0) {
		/* The fence came with the fork; the device is opened anew. */
		struct npu_job job;
		int fd = npu_open(), ret;

		ret = fd < 0 ? fd : npu_job_init(&job, fd, 1, 2);
		if (!ret) {
			npu_job_add_offset(&job, 0, 1, 7);
			npu_job_seal(&job);
			ret = start(&job, 0, 6000, fence);
			ret = ret < 0 ? ret : wait_fence(ret, 5000) - 1;
			npu_job_fetch(&job);
			ret = ret ? ret : npu_job_slot(&job, 1)[9] - 7;
		}
		_exit(ret ? 1 : 0);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	close(fence);
}

TEST_F(fence, chain_of_fifty_fenced_jobs)
{
	int last = -1, next, i;

	for (i = 0; i < 50; i++) {
		next = start(&self->good, 0, 6000, last);
		ASSERT_LE(0, next);
		if (last >= 0)
			close(last);
		last = next;
	}
	ASSERT_EQ(1, wait_fence(last, 10000));
	EXPECT_EQ(1, fence_status(last));
	npu_job_fetch(&self->good);
	EXPECT_EQ(50, npu_job_slot(&self->good, 0)[NPU_SLOT - 1]);
	close(last);
}

TEST_F(fence, software_fence_holds_the_job_back)
{
	int timeline = open("/sys/kernel/debug/sync/sw_sync", O_RDWR), fence;
	struct { uint32_t value; char name[32]; int32_t fence; } create = { .value = 1 };
	uint32_t step = 1;

	if (timeline < 0)
		SKIP(return, "no sw_sync (CONFIG_SW_SYNC)");
	ASSERT_EQ(0, ioctl(timeline, _IOWR('W', 0, create), &create));
	fence = start(&self->good, 0, 6000, create.fence);
	ASSERT_LE(0, fence);
	EXPECT_EQ(0, wait_fence(fence, 300));
	ASSERT_EQ(0, ioctl(timeline, _IOW('W', 1, step), &step));
	EXPECT_EQ(1, wait_fence(fence, 5000));
	EXPECT_EQ(1, fence_status(fence));
	close(timeline);
}

TEST_F(fence, close_while_waiting_for_a_fence_that_never_comes)
{
	int timeline = open("/sys/kernel/debug/sync/sw_sync", O_RDWR), other, fence;
	struct { uint32_t value; char name[32]; int32_t fence; } create = { .value = 1 };
	struct npu_job job;

	if (timeline < 0)
		SKIP(return, "no sw_sync (CONFIG_SW_SYNC)");
	ASSERT_EQ(0, ioctl(timeline, _IOWR('W', 0, create), &create));
	other = npu_open();
	ASSERT_LE(0, other);
	ASSERT_EQ(0, npu_job_init(&job, other, 1, 2));
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_seal(&job);
	fence = start(&job, 0, 6000, create.fence);
	ASSERT_LE(0, fence);
	npu_job_free(&job);
	close(other);
	EXPECT_EQ(1, wait_fence(fence, 5000));
	EXPECT_GT(0, fence_status(fence));
}

TEST_HARNESS_MAIN
