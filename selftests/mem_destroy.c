// SPDX-License-Identifier: MIT
// MEM_DESTROY: what it refuses, what it ignores, what it must not free.
#define _GNU_SOURCE
#include <pthread.h>

#include "harness.h"
#include "npu_device.h"

FIXTURE(mem_destroy) {
	int fd;
};

FIXTURE_SETUP(mem_destroy)
{
	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(mem_destroy)
{
	close(self->fd);
}

static int destroy(int fd, uint32_t handle, uint64_t token)
{
	struct rknpu_mem_destroy args = {
		.handle = handle, .reserved = 0xdeadbeef, .obj_addr = token,
	};

	return npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &args);
}

static uint32_t create(int fd)
{
	struct rknpu_mem_create args = { .flags = NPU_MEM_DATA, .size = NPU_PAGE };

	return npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_CREATE, &args) ? 0 : args.handle;
}

TEST_F(mem_destroy, unknown_handles_get_einval)
{
	EXPECT_EQ(-EINVAL, destroy(self->fd, 0, 0));
	EXPECT_EQ(-EINVAL, destroy(self->fd, 4711, 0));
	EXPECT_EQ(-EINVAL, destroy(self->fd, UINT32_MAX, 0));
}

TEST_F(mem_destroy, second_destroy_gets_einval)
{
	uint32_t handle = create(self->fd);

	ASSERT_NE(0, handle);
	EXPECT_EQ(0, destroy(self->fd, handle, 0));
	EXPECT_EQ(-EINVAL, destroy(self->fd, handle, 0));
}

/* The closed runtime passes the handle alone. */
TEST_F(mem_destroy, token_is_ignored)
{
	static const uint64_t tokens[] = { 0, 1, 0xffffff8000000000ull, UINT64_MAX };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		uint32_t handle = create(self->fd);

		ASSERT_NE(0, handle);
		EXPECT_EQ(0, destroy(self->fd, handle, tokens[i]));
	}
}

TEST_F(mem_destroy, handle_of_another_file_gets_einval)
{
	uint32_t handle = create(self->fd);
	int other = npu_open();

	ASSERT_LE(0, other);
	ASSERT_NE(0, handle);
	EXPECT_EQ(-EINVAL, destroy(other, handle, 0));
	EXPECT_EQ(0, destroy(self->fd, handle, 0));
	close(other);
}

TEST_F(mem_destroy, token_is_dead_afterwards)
{
	struct npu_bo bo, copy;

	ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_DATA, NPU_PAGE, &bo));
	copy = bo;
	EXPECT_EQ(0, npu_bo_sync(&copy, RKNPU_MEM_SYNC_TO_DEVICE, 0, 64));
	npu_bo_destroy(&bo);
	EXPECT_EQ(-EINVAL, npu_bo_sync(&copy, RKNPU_MEM_SYNC_TO_DEVICE, 0, 64));
}

struct racer {
	int fd;
	uint32_t handle;
	pthread_barrier_t *start;
	int ret;
};

static void *race(void *argument)
{
	struct racer *racer = argument;

	pthread_barrier_wait(racer->start);
	racer->ret = destroy(racer->fd, racer->handle, 0);
	return NULL;
}

TEST_F(mem_destroy, b17_two_threads_destroy_one_handle_once)
{
	pthread_barrier_t start;
	int round;

	pthread_barrier_init(&start, NULL, 2);
	for (round = 0; round < 200; round++) {
		uint32_t handle = create(self->fd);
		struct racer a = { self->fd, handle, &start, 1 }, b = a;
		pthread_t thread;

		ASSERT_NE(0, handle);
		ASSERT_EQ(0, pthread_create(&thread, NULL, race, &a));
		race(&b);
		pthread_join(thread, NULL);
		EXPECT_EQ(-EINVAL, a.ret + b.ret);
	}
	pthread_barrier_destroy(&start);
}

TEST_HARNESS_MAIN
