// SPDX-License-Identifier: MIT
// PRIME and FLINK: exports, imports of our own and of foreign buffers, lifetimes.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

FIXTURE(prime) {
	int fd;
	struct npu_bo bo;
};

FIXTURE_SETUP(prime)
{
	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_DATA, 4 * NPU_PAGE, &self->bo));
}

FIXTURE_TEARDOWN(prime)
{
	npu_bo_destroy(&self->bo);
	close(self->fd);
}

static int look_up(int fd, uint32_t handle, struct rknpu_mem_create *args)
{
	*args = (struct rknpu_mem_create){ .handle = handle };
	return npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_CREATE, args);
}

static int destroy(int fd, uint32_t handle)
{
	struct rknpu_mem_destroy args = { .handle = handle };

	return npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &args);
}

static int map_offset(int fd, uint32_t handle)
{
	struct rknpu_mem_map args = { .handle = handle };

	return npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_MAP, &args);
}

/*
 * A dma-buf of ordinary memory from the udmabuf driver, or a negative errno. Its
 * pages are those of the memory in order, or the first one again and again.
 */
static int udmabuf_create(unsigned int pages, bool repeat)
{
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), memfd, fd;
	struct udmabuf_create_list *args;
	unsigned int i;

	if (device < 0)
		return -errno;
	memfd = memfd_create("selftest", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	if (memfd < 0 || ftruncate(memfd, pages * NPU_PAGE) ||
	    fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -errno;
	args = calloc(1, sizeof(*args) + pages * sizeof(args->list[0]));
	args->flags = UDMABUF_FLAGS_CLOEXEC;
	args->count = pages;
	for (i = 0; i < pages; i++)
		args->list[i] = (struct udmabuf_create_item){
			.memfd = memfd, .offset = repeat ? 0 : i * NPU_PAGE, .size = NPU_PAGE,
		};
	fd = ioctl(device, UDMABUF_CREATE_LIST, args);
	fd = fd < 0 ? -errno : fd;
	free(args);
	close(memfd);
	close(device);
	return fd;
}

TEST_F(prime, export_is_close_on_exec_and_writable)
{
	int dmabuf = npu_export(self->fd, self->bo.handle);
	uint8_t *map;

	ASSERT_LE(0, dmabuf);
	EXPECT_EQ(FD_CLOEXEC, fcntl(dmabuf, F_GETFD));
	map = mmap(NULL, self->bo.size, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
	ASSERT_TRUE(map != MAP_FAILED);
	map[100] = 77;
	EXPECT_EQ(77, ((uint8_t *)self->bo.map)[100]);
	munmap(map, self->bo.size);
	EXPECT_EQ(self->bo.size, lseek(dmabuf, 0, SEEK_END));
	close(dmabuf);
}

TEST_F(prime, unknown_handle_gets_enoent)
{
	EXPECT_EQ(-ENOENT, npu_export(self->fd, 9999));
	EXPECT_EQ(-ENOENT, npu_export(self->fd, 0));
}

TEST_F(prime, import_of_no_dmabuf_is_refused)
{
	int pipes[2];
	uint32_t handle;

	EXPECT_EQ(-EBADF, npu_import(self->fd, -1, &handle));
	ASSERT_EQ(0, pipe(pipes));
	EXPECT_EQ(-EINVAL, npu_import(self->fd, pipes[0], &handle));
}

TEST_F(prime, import_into_the_same_file_gives_the_same_handle)
{
	int dmabuf = npu_export(self->fd, self->bo.handle);
	uint32_t handle = 0;

	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, npu_import(self->fd, dmabuf, &handle));
	EXPECT_EQ(self->bo.handle, handle);
	close(dmabuf);
}

TEST_F(prime, cpu_access_brackets_work)
{
	static const uint64_t steps[] = {
		DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW,
		DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ,
	};
	int dmabuf = npu_export(self->fd, self->bo.handle);
	unsigned int i;

	ASSERT_LE(0, dmabuf);
	for (i = 0; i < 4; i++) {
		struct dma_buf_sync sync = { .flags = steps[i] };

		EXPECT_EQ(0, npu_ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync));
	}
	close(dmabuf);
}

static int bracket(int dmabuf, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags };

	return npu_ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync);
}

/* In place of MEM_SYNC, for programs that know the buffer only as a dma-buf. */
TEST_F(prime, cpu_access_brackets_make_data_visible)
{
	struct npu_job job;
	int8_t *map;
	int dmabuf, round;
	unsigned int i;

	ASSERT_EQ(0, npu_job_init(&job, self->fd, 1, 2));
	npu_job_add_offset(&job, 0, 1, 3);
	npu_job_seal(&job);
	dmabuf = npu_export(self->fd, job.data.handle);
	ASSERT_LE(0, dmabuf);
	map = mmap(NULL, job.data.size, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
	ASSERT_TRUE(map != MAP_FAILED);
	for (round = 1; round < 5; round++) {
		ASSERT_EQ(0, bracket(dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE));
		memset(map, 10 * round, NPU_SLOT);
		ASSERT_EQ(0, bracket(dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE));
		ASSERT_EQ(0, npu_job_run(&job, 0));
		ASSERT_EQ(0, bracket(dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
		for (i = 0; i < NPU_SLOT; i++)
			ASSERT_EQ(10 * round + 3, map[NPU_SLOT + i]);
		ASSERT_EQ(0, bracket(dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ));
	}
	munmap(map, job.data.size);
	close(dmabuf);
	npu_job_free(&job);
}

/* The output of a job on one file appears in a buffer that another file made. */
TEST_F(prime, shared_buffer_carries_a_job_result)
{
	int dmabuf = npu_export(self->fd, self->bo.handle), other = npu_open();
	struct rknpu_mem_create info;
	struct npu_job job;
	uint32_t handle;
	unsigned int i;

	ASSERT_LE(0, dmabuf);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, npu_import(other, dmabuf, &handle));
	ASSERT_EQ(0, look_up(other, handle, &info));
	EXPECT_EQ(self->bo.size, info.size);
	EXPECT_NE(0, info.dma_addr);
	ASSERT_EQ(0, npu_job_init(&job, other, 1, 1));
	memset(npu_job_slot(&job, 0), 11, NPU_SLOT);
	npu_job_add_offset_raw(&job, job.data.iova, info.dma_addr, 5);
	npu_job_seal(&job);
	ASSERT_EQ(0, npu_job_run(&job, 0));
	npu_bo_sync(&self->bo, RKNPU_MEM_SYNC_FROM_DEVICE, 0, NPU_SLOT);
	for (i = 0; i < NPU_SLOT; i++)
		ASSERT_EQ(16, ((int8_t *)self->bo.map)[i]);
	npu_job_free(&job);
	close(other);
	close(dmabuf);
}

TEST_F(prime, flink_name_opens_in_another_file)
{
	struct drm_gem_flink flink = { .handle = self->bo.handle };
	struct drm_gem_open open_name = { 0 };
	struct rknpu_mem_create info;
	int other = npu_open();

	ASSERT_LE(0, other);
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_GEM_FLINK, &flink));
	EXPECT_NE(0, flink.name);
	open_name.name = flink.name;
	if (npu_ioctl(other, DRM_IOCTL_GEM_OPEN, &open_name) == -EACCES)
		SKIP(return, "only one file of a primary node is authenticated here");
	ASSERT_EQ(0, look_up(other, open_name.handle, &info));
	EXPECT_NE(0, info.dma_addr);
	close(other);
}

/* A file of the vgem driver, which has memory but no device; or a negative errno. */
static int vgem_open(void)
{
	char path[32], name[8];
	int i, fd;

	for (i = 0; i < 8; i++) {
		struct drm_version version = { .name = name, .name_len = sizeof(name) };

		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!npu_ioctl(fd, DRM_IOCTL_VERSION, &version) && !strncmp(name, "vgem", 4))
			return fd;
		close(fd);
	}
	return -ENODEV;
}

TEST_F(prime, vgem_buffer_feeds_a_job_and_takes_its_result)
{
	struct drm_mode_create_dumb dumb = { .width = 4096, .height = 4, .bpp = 8 };
	struct drm_mode_map_dumb offset = { 0 };
	struct rknpu_mem_create info;
	int vgem = vgem_open(), dmabuf;
	struct npu_job job;
	uint32_t handle;
	unsigned int i;
	int8_t *map;

	if (vgem < 0)
		SKIP(return, "no DRM device named vgem");
	ASSERT_EQ(0, npu_ioctl(vgem, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	offset.handle = dumb.handle;
	ASSERT_EQ(0, npu_ioctl(vgem, DRM_IOCTL_MODE_MAP_DUMB, &offset));
	map = mmap64(NULL, dumb.size, PROT_READ | PROT_WRITE, MAP_SHARED, vgem,
		     (off64_t)offset.offset);
	ASSERT_TRUE(map != MAP_FAILED);
	memset(map, 21, NPU_SLOT);
	dmabuf = npu_export(vgem, dumb.handle);
	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, npu_import(self->fd, dmabuf, &handle));
	ASSERT_EQ(0, look_up(self->fd, handle, &info));
	EXPECT_EQ(dumb.size, info.size);
	ASSERT_NE(0, info.dma_addr);
	ASSERT_EQ(0, npu_job_init(&job, self->fd, 1, 1));
	npu_job_add_offset_raw(&job, info.dma_addr, info.dma_addr + 3 * NPU_PAGE, 4);
	npu_job_seal(&job);
	ASSERT_EQ(0, npu_job_run(&job, 0));
	for (i = 0; i < NPU_SLOT; i++)
		ASSERT_EQ(25, map[3 * NPU_PAGE + i]);
	npu_job_free(&job);
	EXPECT_EQ(0, destroy(self->fd, handle));
	close(dmabuf);
	close(vgem);
}

TEST_F(prime, udmabuf_feeds_a_job)
{
	/* Pages of a file lie anywhere; without an IOMMU one of them is all that can be named. */
	unsigned int pages = npu_has_iommu(self->fd) ? 4 : 1, page = pages / 2, i;
	int dmabuf = udmabuf_create(pages, false);
	struct rknpu_mem_create info;
	struct npu_job job;
	uint32_t handle;
	int8_t *map;

	if (dmabuf < 0)
		SKIP(return, "no /dev/udmabuf (%s)", strerror(-dmabuf));
	map = mmap(NULL, pages * NPU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
	ASSERT_TRUE(map != MAP_FAILED);
	/* Not in the first page if there are several: they must appear in order. */
	memset(map + page * NPU_PAGE, 40, NPU_SLOT);
	ASSERT_EQ(0, npu_import(self->fd, dmabuf, &handle));
	ASSERT_EQ(0, look_up(self->fd, handle, &info));
	EXPECT_EQ(pages * NPU_PAGE, info.size);
	EXPECT_NE(0, info.obj_addr);
	ASSERT_NE(0, info.dma_addr);
	ASSERT_EQ(0, npu_job_init(&job, self->fd, 1, 1));
	npu_job_add_offset_raw(&job, info.dma_addr + page * NPU_PAGE, job.data.iova, -2);
	npu_job_seal(&job);
	ASSERT_EQ(0, npu_job_run(&job, 0));
	npu_job_fetch(&job);
	for (i = 0; i < NPU_SLOT; i++)
		ASSERT_EQ(38, npu_job_slot(&job, 0)[i]);
	npu_job_free(&job);
	EXPECT_EQ(0, destroy(self->fd, handle));
	EXPECT_EQ(-EINVAL, destroy(self->fd, handle));
	close(dmabuf);
}

/* One device address would stand for the first piece only, and the rest for somebody else's. */
TEST_F(prime, b18_scattered_import_without_an_iommu_gets_einval)
{
	struct rknpu_mem_create info;
	int dmabuf;
	uint32_t handle;

	if (npu_has_iommu(self->fd))
		SKIP(return, "this NPU has an IOMMU");
	if (access("/sys/kernel/debug/dma-api", F_OK) == 0)
		SKIP(return, "DMA debugging warns of memory that is mapped many times");
	dmabuf = udmabuf_create(3, true);
	if (dmabuf < 0)
		SKIP(return, "no /dev/udmabuf (%s)", strerror(-dmabuf));
	ASSERT_EQ(0, npu_import(self->fd, dmabuf, &handle));
	EXPECT_EQ(-EINVAL, look_up(self->fd, handle, &info));
	EXPECT_EQ(0, destroy(self->fd, handle));
	close(dmabuf);
}

TEST_F(prime, import_may_not_be_mapped_synced_or_hold_tasks)
{
	int dmabuf = udmabuf_create(1, false);
	struct rknpu_mem_create info;
	struct rknpu_mem_sync sync = { .flags = RKNPU_MEM_SYNC_MASK, .size = 64 };
	struct rknpu_submit args;
	struct npu_job job;
	uint32_t handle;

	if (dmabuf < 0)
		SKIP(return, "no /dev/udmabuf (%s)", strerror(-dmabuf));
	ASSERT_EQ(0, npu_import(self->fd, dmabuf, &handle));
	EXPECT_EQ(-EINVAL, map_offset(self->fd, handle));
	ASSERT_EQ(0, look_up(self->fd, handle, &info));
	sync.obj_addr = info.obj_addr;
	EXPECT_EQ(-EINVAL, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_SYNC, &sync));
	ASSERT_EQ(0, npu_job_init(&job, self->fd, 1, 2));
	npu_job_add_offset(&job, 0, 1, 1);
	args = npu_job_args(&job, 0);
	args.task_obj_addr = info.obj_addr;
	EXPECT_EQ(-EINVAL, npu_submit(self->fd, &args));
	npu_job_free(&job);
	close(dmabuf);
}

/* What the closed runtime tries on an imported buffer before a run. */
TEST_F(prime, partial_sync_of_the_vendor_kernel_gets_enotty)
{
	int dmabuf = npu_export(self->fd, self->bo.handle);
	uint64_t words[2] = { 6, 0 };

	ASSERT_LE(0, dmabuf);
	EXPECT_EQ(-ENOTTY, npu_ioctl(dmabuf, 0x40106202, words));
	close(dmabuf);
}

TEST_F(prime, b16_export_without_free_fd_gets_emfile)
{
	struct rlimit limit = { .rlim_cur = 64, .rlim_max = 64 };
	int fds[64], count = 0, fd;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	while (count < 64 && (fd = npu_export(self->fd, self->bo.handle)) >= 0)
		fds[count++] = fd;
	EXPECT_EQ(-EMFILE, fd);
	EXPECT_LT(10, count);
	while (count > 0)
		close(fds[--count]);
	fd = npu_export(self->fd, self->bo.handle);
	EXPECT_LE(0, fd);
	EXPECT_EQ(0, npu_bo_sync(&self->bo, RKNPU_MEM_SYNC_MASK, 0, 1));
}

TEST_F(prime, b16_export_keeps_the_memory_alive)
{
	uint8_t byte = 0xc3, *map;
	struct npu_bo bo;
	int dmabuf;

	ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_DATA, NPU_PAGE, &bo));
	memset(bo.map, byte, NPU_PAGE);
	dmabuf = npu_export(self->fd, bo.handle);
	ASSERT_LE(0, dmabuf);
	npu_bo_destroy(&bo);
	close(self->fd);
	map = mmap(NULL, NPU_PAGE, PROT_READ, MAP_SHARED, dmabuf, 0);
	ASSERT_TRUE(map != MAP_FAILED);
	EXPECT_EQ(byte, map[0]);
	EXPECT_EQ(byte, map[NPU_PAGE - 1]);
	munmap(map, NPU_PAGE);
	close(dmabuf);
	self->fd = npu_open();
	EXPECT_EQ(0, npu_healthy());
}

TEST_F(prime, import_after_the_maker_is_gone)
{
	int maker = npu_open(), dmabuf;
	struct rknpu_mem_create info;
	struct npu_bo bo;
	uint32_t handle;

	ASSERT_LE(0, maker);
	ASSERT_EQ(0, npu_bo_create(maker, NPU_MEM_DATA, NPU_PAGE, &bo));
	dmabuf = npu_export(maker, bo.handle);
	ASSERT_LE(0, dmabuf);
	npu_bo_destroy(&bo);
	close(maker);
	ASSERT_EQ(0, npu_import(self->fd, dmabuf, &handle));
	close(dmabuf);
	ASSERT_EQ(0, look_up(self->fd, handle, &info));
	EXPECT_NE(0, info.dma_addr);
	EXPECT_EQ(0, destroy(self->fd, handle));
}

TEST_F_TIMEOUT(prime, b16_full_buffer_life_a_thousand_times, 120)
{
	struct npu_bo bo;
	int round, dmabuf, first = -1;

	for (round = 0; round < 1000; round++) {
		ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_DATA, 100, &bo));
		dmabuf = npu_export(self->fd, bo.handle);
		ASSERT_LE(0, dmabuf);
		if (first < 0)
			first = dmabuf;
		EXPECT_EQ(first, dmabuf);
		close(dmabuf);
		npu_bo_destroy(&bo);
	}
}

TEST_HARNESS_MAIN
