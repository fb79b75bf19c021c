// SPDX-License-Identifier: MIT
// SUBMIT_SYNC: DRM sync objects and points of timelines, waited for and signalled.
#define _GNU_SOURCE
#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define WAIT_S 10

FIXTURE(syncobj) {
	int fd;
	uint32_t handles[3];
	struct npu_job good;
	struct npu_job hang;
};

static int make_syncobj(int fd, uint32_t flags, uint32_t *handle)
{
	struct drm_syncobj_create args = { .flags = flags };
	int ret = npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_CREATE, &args);

	*handle = args.handle;
	return ret;
}

FIXTURE_SETUP(syncobj)
{
	unsigned int i;

	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, make_syncobj(self->fd, 0, &self->handles[i]));
	ASSERT_EQ(0, npu_job_init(&self->good, self->fd, 1, 1));
	npu_job_add_offset(&self->good, 0, 0, 1);
	npu_job_seal(&self->good);
	ASSERT_EQ(0, npu_job_init_hang(&self->hang, self->fd));
}

FIXTURE_TEARDOWN(syncobj)
{
	npu_job_free(&self->good);
	npu_job_free(&self->hang);
	close(self->fd);
	EXPECT_EQ(0, npu_healthy());
}

/* Absolute time of the monotonic clock, as the wait requests want it. */
static int64_t deadline(unsigned int ms)
{
	return (int64_t)(npu_now_ms() + ms) * 1000000;
}

static int wait_binary(int fd, uint32_t handle, unsigned int ms)
{
	struct drm_syncobj_wait args = {
		.handles = (uintptr_t)&handle,
		.timeout_nsec = deadline(ms),
		.count_handles = 1,
	};

	return npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_WAIT, &args);
}

static int wait_point(int fd, uint32_t handle, uint64_t point, unsigned int ms)
{
	struct drm_syncobj_timeline_wait args = {
		.handles = (uintptr_t)&handle,
		.points = (uintptr_t)&point,
		.timeout_nsec = deadline(ms),
		.count_handles = 1,
	};

	return npu_ioctl(fd, DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, &args);
}

static struct rknpu_submit_sync sync_args(struct npu_job *job, uint32_t mask,
					  const struct rknpu_sync *in, uint32_t in_count,
					  const struct rknpu_sync *out, uint32_t out_count)
{
	struct rknpu_submit_sync args = {
		.submit = npu_job_args(job, mask),
		.in_syncs = (uintptr_t)in,
		.out_syncs = (uintptr_t)out,
		.in_count = in_count,
		.out_count = out_count,
		.stride = sizeof(*in),
	};

	args.submit.flags |= RKNPU_JOB_NONBLOCK;
	return args;
}

static int submit(struct npu_job *job, uint32_t mask, const struct rknpu_sync *in,
		  uint32_t in_count, const struct rknpu_sync *out, uint32_t out_count)
{
	struct rknpu_submit_sync args = sync_args(job, mask, in, in_count, out, out_count);

	return npu_ioctl(job->fd, DRM_IOCTL_RKNPU_SUBMIT_SYNC, &args);
}

TEST_F(syncobj, binary_object_signals_at_completion)
{
	struct rknpu_sync out = { .handle = self->handles[0] };

	ASSERT_EQ(0, submit(&self->good, 0, NULL, 0, &out, 1));
	ASSERT_EQ(0, wait_binary(self->fd, out.handle, WAIT_S * 1000));
	npu_job_fetch(&self->good);
	EXPECT_EQ(1, npu_job_slot(&self->good, 0)[0]);
}

TEST_F(syncobj, blocking_submit_fills_in_its_results)
{
	struct rknpu_sync out = { .handle = self->handles[0], .point = 5 };
	struct rknpu_submit_sync args = sync_args(&self->good, 0, NULL, 0, &out, 1);

	args.submit.flags &= ~(uint32_t)RKNPU_JOB_NONBLOCK;
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_SUBMIT_SYNC, &args));
	EXPECT_EQ(args.submit.task_number, args.submit.task_counter);
	EXPECT_LT(0, args.submit.hw_elapse_time);
	EXPECT_EQ(0, wait_point(self->fd, out.handle, 5, 0));
}

/* Each job adds 1 to the same slot; the cores are different, the order is the timeline's. */
TEST_F(syncobj, points_of_a_timeline_order_jobs_on_different_cores)
{
	int cores = npu_core_count(self->fd);
	unsigned int i;

	for (i = 1; i <= 30; i++) {
		struct rknpu_sync in = { .handle = self->handles[0], .point = i - 1 };
		struct rknpu_sync out = { .handle = self->handles[0], .point = i };

		ASSERT_EQ(0, submit(&self->good, 1u << (i % (unsigned int)cores), &in, i > 1, &out,
				    1));
	}
	ASSERT_EQ(0, wait_point(self->fd, self->handles[0], 30, WAIT_S * 1000));
	npu_job_fetch(&self->good);
	for (i = 0; i < NPU_SLOT; i++)
		ASSERT_EQ(30, npu_job_slot(&self->good, 0)[i]);
}

TEST_F(syncobj, all_points_are_waited_for)
{
	struct rknpu_sync done = { .handle = self->handles[0] };
	struct rknpu_sync late = { .handle = self->handles[1], .point = 7 };
	struct rknpu_sync last = { .handle = self->handles[2] };
	struct rknpu_submit_sync args;
	struct rknpu_sync both[2];
	unsigned int first;

	for (first = 0; first < 2; first++) {
		ASSERT_EQ(0, submit(&self->good, 0, NULL, 0, &done, 1));
		ASSERT_EQ(0, wait_binary(self->fd, done.handle, WAIT_S * 1000));
		late.point++;
		args = sync_args(&self->hang, 1, NULL, 0, &late, 1);
		args.submit.timeout = 300;
		ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_SUBMIT_SYNC, &args));
		both[first] = done;
		both[1 - first] = late;
		ASSERT_EQ(0, submit(&self->good, 0, both, 2, &last, 1));
		/* It waits for the one that hangs, and ends with it. */
		EXPECT_EQ(-ETIME, wait_binary(self->fd, last.handle, 50));
		EXPECT_EQ(0, wait_binary(self->fd, last.handle, WAIT_S * 1000));
	}
	npu_job_fetch(&self->good);
	EXPECT_EQ(2, npu_job_slot(&self->good, 0)[0]);
}

TEST_F(syncobj, point_that_failed_cancels_the_job)
{
	struct rknpu_sync bad = { .handle = self->handles[0] };
	struct rknpu_submit_sync args = sync_args(&self->hang, 1, NULL, 0, &bad, 1);

	args.submit.timeout = 100;
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_SUBMIT_SYNC, &args));
	args = sync_args(&self->good, 0, &bad, 1, NULL, 0);
	args.submit.flags &= ~(uint32_t)RKNPU_JOB_NONBLOCK;
	EXPECT_EQ(-ECANCELED, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_SUBMIT_SYNC, &args));
}

TEST_F(syncobj, object_of_another_file_is_signalled_through_its_fd)
{
	struct drm_syncobj_handle share = { .handle = self->handles[0] };
	struct rknpu_sync out = { .handle = self->handles[0] };
	int other = npu_open();

	ASSERT_LE(0, other);
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &share));
	ASSERT_EQ(0, npu_ioctl(other, DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, &share));
	close(share.fd);
	ASSERT_EQ(0, submit(&self->good, 0, NULL, 0, &out, 1));
	EXPECT_EQ(0, wait_binary(other, share.handle, WAIT_S * 1000));
	close(other);
}

/* One wrong member at a time, and no point is signalled. */
TEST_F(syncobj, wrong_arguments_are_refused)
{
	struct rknpu_sync in = { .handle = self->handles[1] };
	struct rknpu_sync out = { .handle = self->handles[0] };
	struct rknpu_sync odd = out;
	const struct rknpu_submit_sync right = sync_args(&self->good, 0, NULL, 0, &out, 1);
	struct rknpu_submit_sync args = right;

	args.pad = 1;
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_SUBMIT_SYNC, &args));
	args = right;
	args.stride = sizeof(in) + 8;
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_SUBMIT_SYNC, &args));
	args = right;
	args.out_count = RKNPU_MAX_SYNCS + 1;
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_SUBMIT_SYNC, &args));
	args = right;
	args.out_syncs = 8;
	EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_SUBMIT_SYNC, &args));
	args = right;
	args.in_syncs = 8;
	args.in_count = 1;
	EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_SUBMIT_SYNC, &args));
	odd.flags = 1;
	EXPECT_EQ(-EINVAL, submit(&self->good, 0, NULL, 0, &odd, 1));
	odd = (struct rknpu_sync){ .handle = 12345 };
	EXPECT_EQ(-ENOENT, submit(&self->good, 0, NULL, 0, &odd, 1));
	EXPECT_EQ(-ENOENT, submit(&self->good, 0, &odd, 1, &out, 1));
	/* Nothing was ever promised for it. */
	EXPECT_EQ(-EINVAL, submit(&self->good, 0, &in, 1, &out, 1));
	args = sync_args(&self->good, 0, &in, 1, &out, 1);
	args.submit.flags |= RKNPU_JOB_FENCE_IN;
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_SUBMIT_SYNC, &args));
	EXPECT_EQ(-EINVAL, wait_binary(self->fd, out.handle, 0));
	npu_job_fetch(&self->good);
	EXPECT_EQ(0, npu_job_slot(&self->good, 0)[0]);
}

TEST_HARNESS_MAIN
