// SPDX-License-Identifier: MIT
// On-chip memory: sizes, fall-back, accounting, content.
#define _GNU_SOURCE
#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define SRAM_FLAGS (RKNPU_MEM_NON_CONTIGUOUS | RKNPU_MEM_CACHEABLE | RKNPU_MEM_TRY_ALLOC_SRAM)

FIXTURE(sram) {
	int fd;
	uint32_t total;
};

static uint32_t sram_free(int fd)
{
	uint32_t value = 0;

	npu_action(fd, RKNPU_GET_FREE_SRAM_SIZE, &value);
	return value;
}

FIXTURE_SETUP(sram)
{
	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_action(self->fd, RKNPU_GET_TOTAL_SRAM_SIZE, &self->total));
	if (self->total == 0)
		SKIP(return, "this device has no SRAM");
	ASSERT_EQ(self->total, sram_free(self->fd));
}

FIXTURE_TEARDOWN(sram)
{
	EXPECT_EQ(self->total, sram_free(self->fd));
	close(self->fd);
}

static int create(int fd, uint64_t size, uint64_t wanted, struct npu_bo *bo)
{
	struct rknpu_mem_create args = { .flags = SRAM_FLAGS, .size = size, .sram_size = wanted };
	struct rknpu_mem_map map = { 0 };
	int ret = npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_CREATE, &args);

	memset(bo, 0, sizeof(*bo));
	if (ret)
		return ret;
	bo->fd = fd;
	bo->handle = map.handle = args.handle;
	bo->size = args.size;
	bo->token = args.obj_addr;
	bo->iova = args.dma_addr;
	bo->sram = args.sram_size;
	ret = npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_MAP, &map);
	if (ret)
		return ret;
	bo->map = mmap64(NULL, bo->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 (off64_t)map.offset);
	return bo->map == MAP_FAILED ? -errno : 0;
}

TEST_F(sram, b25_whole_object_in_sram)
{
	struct npu_bo bo;

	ASSERT_EQ(0, create(self->fd, 18816, 0, &bo));
	EXPECT_EQ(20480, bo.size);
	EXPECT_EQ(20480, bo.sram);
	EXPECT_EQ(self->total - 20480, sram_free(self->fd));
	npu_bo_destroy(&bo);
}

TEST_F(sram, b25_wanted_size_limits_it)
{
	struct npu_bo bo;

	ASSERT_EQ(0, create(self->fd, 1114112, 262144, &bo));
	EXPECT_EQ(1114112, bo.size);
	EXPECT_EQ(262144, bo.sram);
	npu_bo_destroy(&bo);
	ASSERT_EQ(0, create(self->fd, 8192, 1, &bo));
	EXPECT_EQ(4096, bo.sram);
	npu_bo_destroy(&bo);
	ASSERT_EQ(0, create(self->fd, 8192, 1 << 30, &bo));
	EXPECT_EQ(8192, bo.sram);
	npu_bo_destroy(&bo);
}

TEST_F(sram, b25_more_than_there_is_goes_to_ddr)
{
	struct npu_bo bo, second;

	ASSERT_EQ(0, create(self->fd, self->total + 135168, 0, &bo));
	EXPECT_EQ(self->total, bo.sram);
	EXPECT_EQ(0, sram_free(self->fd));
	ASSERT_EQ(0, create(self->fd, 8192, 0, &second));
	EXPECT_EQ(0, second.sram);
	npu_bo_destroy(&second);
	npu_bo_destroy(&bo);
}

/* Both parts hold data, for the CPU and for the NPU, also across the seam. */
TEST_F(sram, b25_data_across_the_seam)
{
	struct npu_job job;
	struct npu_bo bo;
	unsigned int i;

	ASSERT_EQ(0, create(self->fd, 8 * NPU_PAGE, 2 * NPU_PAGE, &bo));
	for (i = 0; i < bo.size; i++)
		ASSERT_EQ(0, ((uint8_t *)bo.map)[i]);
	for (i = 0; i < bo.size; i++)
		((int8_t *)bo.map)[i] = (int8_t)(i % 50);
	ASSERT_EQ(0, npu_bo_sync(&bo, RKNPU_MEM_SYNC_TO_DEVICE, 0, bo.size));
	ASSERT_EQ(0, npu_job_init(&job, self->fd, 3, 1));
	/* Over the seam to the end, from SRAM to DDR, from DDR to SRAM. */
	npu_job_add_offset_raw(&job, bo.iova + 2 * NPU_PAGE - NPU_SLOT / 2, bo.iova + 5 * NPU_PAGE, 1);
	npu_job_add_offset_raw(&job, bo.iova, bo.iova + 6 * NPU_PAGE, 2);
	npu_job_add_offset_raw(&job, bo.iova + 3 * NPU_PAGE, bo.iova + NPU_PAGE, 3);
	npu_job_seal(&job);
	ASSERT_EQ(0, npu_job_run(&job, 0));
	ASSERT_EQ(0, npu_bo_sync(&bo, RKNPU_MEM_SYNC_FROM_DEVICE, 0, bo.size));
	for (i = 0; i < NPU_SLOT; i++) {
		int8_t *bytes = bo.map;

		ASSERT_EQ((2 * NPU_PAGE - NPU_SLOT / 2 + i) % 50 + 1, bytes[5 * NPU_PAGE + i]);
		ASSERT_EQ(i % 50 + 2, bytes[6 * NPU_PAGE + i]);
		ASSERT_EQ((3 * NPU_PAGE + i) % 50 + 3, bytes[NPU_PAGE + i]);
	}
	npu_job_free(&job);
	npu_bo_destroy(&bo);
}

TEST_F(sram, content_is_cleared_for_the_next_owner)
{
	struct npu_bo bo;
	int other = npu_open();
	unsigned int i;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, create(self->fd, 16 * NPU_PAGE, 0, &bo));
	memset(bo.map, 0x99, bo.size);
	npu_bo_destroy(&bo);
	ASSERT_EQ(0, create(other, 16 * NPU_PAGE, 0, &bo));
	EXPECT_EQ(16 * NPU_PAGE, bo.sram);
	for (i = 0; i < bo.size; i++)
		ASSERT_EQ(0, ((uint8_t *)bo.map)[i]);
	npu_bo_destroy(&bo);
	close(other);
}

TEST_F(sram, b25_mm_text_follows_the_chunks)
{
	char text[8192], line[64];
	struct npu_bo bo;

	if (npu_debugfs_read("mm", text, sizeof(text)))
		SKIP(return, "no debugfs file mm");
	ASSERT_EQ(0, create(self->fd, 163840, 0, &bo));
	ASSERT_EQ(0, npu_debugfs_read("mm", text, sizeof(text)));
	EXPECT_TRUE(strstr(text, "[000] [********************************]\n"
				 "[001] [********........................]\n") != NULL);
	snprintf(line, sizeof(line), "SRAM total size: %u, used: 163840, free: %u\n", self->total,
		 self->total - 163840);
	EXPECT_TRUE(strstr(text, line) != NULL);
	npu_bo_destroy(&bo);
}

TEST_F(sram, b25_fragments_fill_and_merge_again)
{
	struct npu_bo bo[20], large;
	unsigned int i;

	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, create(self->fd, 2 * NPU_PAGE, 0, &bo[i]));
	for (i = 0; i < 20; i += 2)
		npu_bo_destroy(&bo[i]);
	EXPECT_EQ(self->total - 10 * 2 * NPU_PAGE, sram_free(self->fd));
	ASSERT_EQ(0, create(self->fd, self->total, 0, &large));
	/* However it is placed: what it says it took is what is gone. */
	EXPECT_EQ(self->total - 10 * 2 * NPU_PAGE - large.sram, sram_free(self->fd));
	npu_bo_destroy(&large);
	for (i = 1; i < 20; i += 2)
		npu_bo_destroy(&bo[i]);
	ASSERT_EQ(0, create(self->fd, self->total, 0, &large));
	EXPECT_EQ(self->total, large.sram);
	npu_bo_destroy(&large);
}

TEST_F(sram, killed_owner_gives_it_back)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		struct npu_bo bo;

		create(npu_open(), self->total / 2, 0, &bo);
		kill(getpid(), SIGKILL);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(self->total, sram_free(self->fd));
}

TEST_F(sram, export_of_an_sram_object_is_right_or_refused)
{
	struct npu_bo bo;
	uint8_t *map;
	int dmabuf;

	ASSERT_EQ(0, create(self->fd, 4 * NPU_PAGE, 2 * NPU_PAGE, &bo));
	dmabuf = npu_export(self->fd, bo.handle);
	/* The closed runtime cannot live without: it exports every buffer. */
	ASSERT_LE(0, dmabuf);
	((uint8_t *)bo.map)[10] = 0x11;
	((uint8_t *)bo.map)[3 * NPU_PAGE] = 0x22;
	map = mmap(NULL, bo.size, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
	if (map != MAP_FAILED) {
		EXPECT_EQ(0x11, map[10]);
		EXPECT_EQ(0x22, map[3 * NPU_PAGE]);
		munmap(map, bo.size);
	}
	close(dmabuf);
	npu_bo_destroy(&bo);
}

TEST_HARNESS_MAIN
