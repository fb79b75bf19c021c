// SPDX-License-Identifier: MIT
// MEM_MAP and mmap: who may map what, and what a mapping keeps alive.
#define _GNU_SOURCE
#include <fcntl.h>

#include "harness.h"
#include "npu_device.h"

FIXTURE(mem_map) {
	int fd;
	struct npu_bo bo;
};

FIXTURE_SETUP(mem_map)
{
	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_DATA, 2 * NPU_PAGE, &self->bo));
}

FIXTURE_TEARDOWN(mem_map)
{
	npu_bo_destroy(&self->bo);
	close(self->fd);
}

static int map_offset(int fd, uint32_t handle, uint64_t *offset)
{
	struct rknpu_mem_map args = { .handle = handle };
	int ret = npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_MAP, &args);

	*offset = args.offset;
	return ret;
}

static void *try_map(int fd, size_t length, uint64_t offset)
{
	return mmap64(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off64_t)offset);
}

TEST_F(mem_map, unknown_handle_gets_enoent)
{
	uint64_t offset;

	EXPECT_EQ(-ENOENT, map_offset(self->fd, 0, &offset));
	EXPECT_EQ(-ENOENT, map_offset(self->fd, 9999, &offset));
	EXPECT_EQ(-ENOENT, map_offset(self->fd, UINT32_MAX, &offset));
}

TEST_F(mem_map, handle_of_another_file_gets_enoent)
{
	int other = npu_open();
	uint64_t offset;

	ASSERT_LE(0, other);
	EXPECT_EQ(-ENOENT, map_offset(other, self->bo.handle, &offset));
	close(other);
}

TEST_F(mem_map, offset_is_stable)
{
	uint64_t first, second;

	ASSERT_EQ(0, map_offset(self->fd, self->bo.handle, &first));
	ASSERT_EQ(0, map_offset(self->fd, self->bo.handle, &second));
	EXPECT_EQ(first, second);
}

TEST_F(mem_map, reserved_is_ignored)
{
	struct rknpu_mem_map args = { .handle = self->bo.handle, .reserved = 0xdeadbeef };

	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_MAP, &args));
}

TEST_F(mem_map, any_length_up_to_the_size_can_be_mapped)
{
	static const size_t lengths[] = { 1, 440, NPU_PAGE, NPU_PAGE + 1, 2 * NPU_PAGE };
	uint64_t offset;
	unsigned int i;

	ASSERT_EQ(0, map_offset(self->fd, self->bo.handle, &offset));
	for (i = 0; i < 5; i++) {
		void *map = try_map(self->fd, lengths[i], offset);

		ASSERT_TRUE(map != MAP_FAILED);
		*(volatile uint8_t *)map = 1;
		munmap(map, lengths[i]);
	}
}

TEST_F(mem_map, more_than_the_object_gets_einval)
{
	uint64_t offset;

	ASSERT_EQ(0, map_offset(self->fd, self->bo.handle, &offset));
	EXPECT_TRUE(try_map(self->fd, 2 * NPU_PAGE + 1, offset) == MAP_FAILED);
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(mem_map, another_file_may_not_map_the_offset)
{
	int other = npu_open();
	uint64_t offset;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, map_offset(self->fd, self->bo.handle, &offset));
	EXPECT_TRUE(try_map(other, NPU_PAGE, offset) == MAP_FAILED);
	EXPECT_EQ(EACCES, errno);
	close(other);
}

TEST_F(mem_map, made_up_offsets_get_einval)
{
	EXPECT_TRUE(try_map(self->fd, NPU_PAGE, 0) == MAP_FAILED);
	EXPECT_EQ(EINVAL, errno);
	EXPECT_TRUE(try_map(self->fd, NPU_PAGE, 0x7000000000ull) == MAP_FAILED);
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(mem_map, two_mappings_show_the_same_bytes)
{
	uint64_t offset;
	uint8_t *map;

	ASSERT_EQ(0, map_offset(self->fd, self->bo.handle, &offset));
	map = try_map(self->fd, 2 * NPU_PAGE, offset);
	ASSERT_TRUE(map != MAP_FAILED);
	map[5000] = 99;
	EXPECT_EQ(99, ((uint8_t *)self->bo.map)[5000]);
	munmap(map, 2 * NPU_PAGE);
}

TEST_F(mem_map, mapping_outlives_handle_and_file)
{
	struct rknpu_mem_destroy destroy = { 0 };
	int other = npu_open();
	uint64_t offset;
	struct npu_bo bo;
	uint8_t *map;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, npu_bo_create(other, NPU_MEM_DATA, NPU_PAGE, &bo));
	ASSERT_EQ(0, map_offset(other, bo.handle, &offset));
	map = try_map(other, NPU_PAGE, offset);
	ASSERT_TRUE(map != MAP_FAILED);
	memset(map, 0x3c, NPU_PAGE);
	destroy.handle = bo.handle;
	EXPECT_EQ(0, npu_ioctl(other, DRM_IOCTL_RKNPU_MEM_DESTROY, &destroy));
	EXPECT_EQ(0x3c, map[NPU_PAGE - 1]);
	close(other);
	EXPECT_EQ(0x3c, map[0]);
	map[0] = 1;
	munmap(map, NPU_PAGE);
}

/* The closed runtime reads the model file straight into the buffer. */
TEST_F(mem_map, read_goes_directly_into_the_mapping)
{
	int file = open("/proc/self/exe", O_RDONLY);
	uint8_t head[64];

	ASSERT_LE(0, file);
	ASSERT_EQ(sizeof(head), read(file, head, sizeof(head)));
	ASSERT_EQ(NPU_PAGE, pread(file, self->bo.map, NPU_PAGE, 0));
	EXPECT_EQ(0, memcmp(self->bo.map, head, sizeof(head)));
	close(file);
}

/* Device memory would fault here, whatever the caching that was asked for. */
TEST_F(mem_map, b22_unaligned_access_works_with_every_caching)
{
	static const uint32_t flags[] = {
		0, RKNPU_MEM_CACHEABLE, RKNPU_MEM_WRITE_COMBINE,
		RKNPU_MEM_CACHEABLE | RKNPU_MEM_WRITE_COMBINE,
	};
	unsigned int i, k;

	for (i = 0; i < 8; i++) {
		uint32_t scattered = i & 4 ? RKNPU_MEM_NON_CONTIGUOUS : 0;
		struct npu_bo bo;

		ASSERT_EQ(0, npu_bo_create(self->fd, flags[i & 3] | scattered, NPU_PAGE, &bo));
		for (k = 0; k < 16; k++) {
			uint64_t value = 0x1122334455667788ull * (k + 1), back;

			memcpy((uint8_t *)bo.map + 3 * k + 1, &value, sizeof(value));
			memcpy(&back, (uint8_t *)bo.map + 3 * k + 1, sizeof(back));
			EXPECT_EQ(value, back);
		}
		memset(bo.map, 0, bo.size);
		npu_bo_destroy(&bo);
	}
}

TEST_F(mem_map, private_mapping_is_refused)
{
	uint64_t offset;
	void *map;

	ASSERT_EQ(0, map_offset(self->fd, self->bo.handle, &offset));
	map = mmap64(NULL, NPU_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, self->fd,
		     (off64_t)offset);
	EXPECT_TRUE(map == MAP_FAILED);
	EXPECT_EQ(EINVAL, errno);
}

TEST_HARNESS_MAIN
