// SPDX-License-Identifier: MIT
// MEM_SYNC: one wrong field at a time, and every range that is right.
#define _GNU_SOURCE
#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define BOTH RKNPU_MEM_SYNC_MASK

FIXTURE(mem_sync) {
	int fd;
	struct npu_bo bo;
};

FIXTURE_SETUP(mem_sync)
{
	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_DATA, 4 * NPU_PAGE, &self->bo));
}

FIXTURE_TEARDOWN(mem_sync)
{
	npu_bo_destroy(&self->bo);
	close(self->fd);
}

TEST_F(mem_sync, flags_other_than_the_two_get_einval)
{
	static const uint32_t flags[] = { 0, 4, 5, 8, 0x80000001, UINT32_MAX };
	unsigned int i;

	for (i = 0; i < 6; i++)
		EXPECT_EQ(-EINVAL, npu_bo_sync(&self->bo, flags[i], 0, 64));
	for (i = 1; i <= 3; i++)
		EXPECT_EQ(0, npu_bo_sync(&self->bo, i, 0, 64));
}

TEST_F(mem_sync, b13_wrong_tokens_get_einval)
{
	uint64_t right = self->bo.token;
	const uint64_t tokens[] = {
		0, 1, right + 1, right ^ (1ull << 63), ~right, 0xffffff8000123400ull, UINT64_MAX,
	};
	unsigned int i;

	for (i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
		self->bo.token = tokens[i];
		EXPECT_EQ(-EINVAL, npu_bo_sync(&self->bo, BOTH, 0, 64));
	}
	self->bo.token = right;
	EXPECT_EQ(0, npu_bo_sync(&self->bo, BOTH, 0, 64));
}

TEST_F(mem_sync, b13_token_of_another_file_gets_einval)
{
	struct npu_bo foreign = self->bo;

	foreign.fd = npu_open();
	ASSERT_LE(0, foreign.fd);
	EXPECT_EQ(-EINVAL, npu_bo_sync(&foreign, BOTH, 0, 64));
	close(foreign.fd);
}

TEST_F(mem_sync, b13_ranges_past_the_end_get_einval)
{
	const uint64_t size = self->bo.size;
	const uint64_t ranges[][2] = {
		{ 0, size + 1 },	{ 1, size },		  { size, 1 },
		{ size + 1, 0 },	{ size - 1, 2 },	  { UINT64_MAX, 1 },
		{ UINT64_MAX, 2 },	{ 2, UINT64_MAX },	  { 1, UINT64_MAX },
		{ 0, UINT64_MAX },	{ 1ull << 63, 1ull << 63 }, { 0, 1ull << 32 },
		{ 1ull << 32, 64 },	{ UINT64_MAX - 63, 64 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		EXPECT_EQ(-EINVAL, npu_bo_sync(&self->bo, BOTH, ranges[i][0], ranges[i][1]));
}

TEST_F(mem_sync, size_zero_does_nothing)
{
	EXPECT_EQ(0, npu_bo_sync(&self->bo, BOTH, 0, 0));
	EXPECT_EQ(0, npu_bo_sync(&self->bo, BOTH, self->bo.size, 0));
}

TEST_F(mem_sync, uncached_object_gets_einval)
{
	static const uint32_t flags[] = { 0, RKNPU_MEM_WRITE_COMBINE };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct npu_bo bo;

		ASSERT_EQ(0, npu_bo_create(self->fd, RKNPU_MEM_NON_CONTIGUOUS | flags[i],
					   NPU_PAGE, &bo));
		EXPECT_EQ(-EINVAL, npu_bo_sync(&bo, BOTH, 0, 64));
		npu_bo_destroy(&bo);
	}
}

TEST_F(mem_sync, reserved_is_ignored)
{
	struct rknpu_mem_sync args = {
		.flags = BOTH, .reserved = 0xdeadbeef, .obj_addr = self->bo.token, .size = 64,
	};

	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_SYNC, &args));
}

TEST_F(mem_sync, b23_any_range_leaves_the_bytes_alone)
{
	unsigned int seed = 42, i, k;
	uint8_t *bytes = self->bo.map;

	for (i = 0; i < self->bo.size; i++)
		bytes[i] = (uint8_t)(i * 31);
	for (i = 0; i < 300; i++) {
		uint64_t offset = rand_r(&seed) % self->bo.size;
		uint64_t size = rand_r(&seed) % (self->bo.size - offset + 1);

		ASSERT_EQ(0, npu_bo_sync(&self->bo, 1 + i % 3, offset, size));
	}
	for (k = 0; k < self->bo.size; k++)
		ASSERT_EQ((uint8_t)(k * 31), bytes[k]);
}

TEST_F(mem_sync, b70_scattered_megabytes_sync_whole_and_in_part)
{
	static const uint32_t kinds[] = { 0x403, 0x3, 0x2, 0x103 };
	unsigned int i, flags;

	for (i = 0; i < 4; i++) {
		struct npu_bo bo;

		ASSERT_EQ(0, npu_bo_create(self->fd, kinds[i], 1 << 20, &bo));
		for (flags = 1; flags <= 3; flags++) {
			EXPECT_EQ(0, npu_bo_sync(&bo, flags, 0, bo.size));
			EXPECT_EQ(0, npu_bo_sync(&bo, flags, 100 * NPU_PAGE, NPU_PAGE));
			EXPECT_EQ(0, npu_bo_sync(&bo, flags, 100 * NPU_PAGE + 1234, 200000));
			EXPECT_EQ(0, npu_bo_sync(&bo, flags, bo.size - 1, 1));
		}
		npu_bo_destroy(&bo);
	}
}

TEST_F(mem_sync, b23_job_sees_and_shows_synced_bytes)
{
	int round;

	for (round = 0; round < 10; round++)
		ASSERT_EQ(0, npu_chain_check(self->fd, 3, 0));
}

TEST_HARNESS_MAIN
