// SPDX-License-Identifier: MIT
/*
 * The request sequences of the closed runtime, version 1.5.2, as observed on an
 * emulated board, around a job that computes: 40-byte MEM_CREATE, an export of
 * every buffer, MEM_DESTROY by handle alone, and so on.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define MEM_CREATE_40 0xc0286442ul
#define PRIME_FLAGS 0x80002u /* O_CLOEXEC | O_RDWR */
#define TASKS 3u
#define COPIES 5u
#define SLOTS (1 + TASKS * COPIES)

/* A buffer with what the runtime keeps for it. */
struct buffer {
	struct npu_bo bo;
	size_t length;
	int dmabuf;
};

FIXTURE(runtime_replay) {
	int fd;
	struct buffer model, commands, records, internal, data;
	struct npu_job job;
	uint32_t sram_wanted;
	uint32_t internal_flags;
};

static int action(int fd, uint32_t code, uint32_t value, uint32_t *out)
{
	int ret = npu_action(fd, code, &value);

	if (out)
		*out = value;
	return ret;
}

static int sync_range(struct buffer *buffer, uint32_t flags, uint64_t offset, uint64_t size)
{
	return npu_bo_sync(&buffer->bo, flags, offset, size);
}

static int create_40(int fd, uint32_t flags, uint64_t size, uint64_t sram, struct npu_bo *bo)
{
	struct rknpu_mem_create args = { .flags = flags, .size = size, .sram_size = sram };
	int ret = npu_ioctl(fd, MEM_CREATE_40, &args);

	*bo = (struct npu_bo){
		.fd = fd, .handle = args.handle, .size = args.size, .token = args.obj_addr,
		.iova = args.dma_addr, .sram = args.sram_size,
	};
	return ret;
}

static int map_exact(struct buffer *buffer)
{
	struct rknpu_mem_map map = { .handle = buffer->bo.handle };
	int ret = npu_ioctl(buffer->bo.fd, DRM_IOCTL_RKNPU_MEM_MAP, &map);

	if (ret)
		return ret;
	buffer->bo.map = mmap64(NULL, buffer->length, PROT_READ | PROT_WRITE, MAP_SHARED,
				buffer->bo.fd, (off64_t)map.offset);
	return buffer->bo.map == MAP_FAILED ? -errno : 0;
}

/* A18, MEM_CREATE, FLINK, export, MEM_MAP, mmap of the exact size, MEM_SYNC both ways. */
static int add_buffer(int fd, uint32_t flags, size_t length, uint64_t sram,
		      struct buffer *buffer)
{
	struct drm_prime_handle prime = { .flags = PRIME_FLAGS, .fd = -1 };
	struct drm_gem_flink flink = { 0 };
	int ret;

	action(fd, RKNPU_GET_IOMMU_EN, 0xffffffff, NULL);
	buffer->length = length;
	ret = create_40(fd, flags, length, sram, &buffer->bo);
	if (ret)
		return ret;
	flink.handle = prime.handle = buffer->bo.handle;
	npu_ioctl(fd, DRM_IOCTL_GEM_FLINK, &flink); /* a failure is ignored */
	ret = npu_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);
	if (ret)
		return ret;
	buffer->dmabuf = prime.fd;
	ret = map_exact(buffer);
	return ret ? ret : sync_range(buffer, 3, 0, length);
}

static int ask_version(int fd)
{
	struct drm_version lengths = { 0 }, version = { 0 };
	char name[32] = "", date[32] = "", desc[64] = "";
	int ret = npu_ioctl(fd, DRM_IOCTL_VERSION, &lengths);

	if (ret || lengths.name_len >= sizeof(name))
		return ret ? ret : -E2BIG;
	version = (struct drm_version){
		.name_len = lengths.name_len, .name = name,
		.date_len = lengths.date_len, .date = date,
		.desc_len = lengths.desc_len, .desc = desc,
	};
	ret = npu_ioctl(fd, DRM_IOCTL_VERSION, &version);
	return ret ? ret : strcmp(name, "rknpu") ? -ENODEV : 0;
}

static int open_twice(void)
{
	struct drm_unique unique = { 0 };
	int fd = npu_open(), ret;

	if (fd < 0)
		return fd;
	ret = ask_version(fd);
	close(fd);
	if (ret)
		return ret;
	fd = npu_open();
	if (fd < 0 || ask_version(fd))
		return -ENODEV;
	npu_ioctl(fd, DRM_IOCTL_GET_UNIQUE, &unique);
	npu_ioctl(fd, DRM_IOCTL_GET_UNIQUE, &unique);
	return fd;
}

/* The model file is read straight into its buffer. */
static int load_model(struct buffer *model)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ssize_t got = read(file, model->bo.map, model->length);

	close(file);
	return got == (ssize_t)model->length ? sync_range(model, 1, 0, model->length) : -EIO;
}

/* Copy k of the tasks starts at record k * TASKS and at slot 1 + k * TASKS. */
static void build_job(struct npu_job *job)
{
	unsigned int copy, i, slot;

	for (copy = 0; copy < COPIES; copy++) {
		for (i = 0; i < TASKS; i++) {
			slot = 1 + copy * TASKS + i;
			npu_job_add_offset(job, i ? slot - 1 : 0, slot, (int)(copy + 1));
		}
	}
}

static int init_buffers(FIXTURE_DATA(runtime_replay) *self)
{
	int fd = self->fd, ret;

	ret = add_buffer(fd, 0x3, 29772, 0, &self->model);
	ret = ret ? ret : load_model(&self->model);
	action(fd, RKNPU_GET_DRV_VERSION, 0xffffffff, NULL);
	ret = ret ? ret : add_buffer(fd, 0x3, TASKS * COPIES * 1024, 0, &self->commands);
	ret = ret ? ret : add_buffer(fd, 0xb, TASKS * COPIES * 40, 0, &self->records);
	ret = ret ? ret : add_buffer(fd, self->internal_flags, 1114112, self->sram_wanted,
				     &self->internal);
	action(fd, RKNPU_GET_DRV_VERSION, 0xffffffff, NULL);
	action(fd, RKNPU_GET_TOTAL_SRAM_SIZE, 0, NULL);
	action(fd, RKNPU_GET_FREE_SRAM_SIZE, 0, NULL);
	ret = ret ? ret : add_buffer(fd, 0x3, SLOTS * NPU_SLOT, 0, &self->data);
	return ret;
}

static void start_session(struct test_case *_test, FIXTURE_DATA(runtime_replay) *self)
{
	uint32_t value;

	ASSERT_EQ(0, action(self->fd, RKNPU_GET_HW_VERSION, 0xffffffff, &value));
	EXPECT_NE(0xffffffff, value);
	ASSERT_EQ(0, action(self->fd, RKNPU_GET_DRV_VERSION, 0xffffffff, &value));
	EXPECT_EQ(908, value);
	action(self->fd, RKNPU_POWER_ON, 0, NULL); /* may fail, and is ignored */
	EXPECT_EQ(0, action(self->fd, RKNPU_SET_PROC_NICE, (uint32_t)-19, NULL));
	ASSERT_EQ(0, init_buffers(self));
	self->job = (struct npu_job){
		.fd = self->fd, .slots = SLOTS, .commands = self->commands.bo,
		.records = self->records.bo, .data = self->data.bo,
	};
	build_job(&self->job);
}

FIXTURE_SETUP(runtime_replay)
{
	self->fd = open_twice();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
	self->internal_flags = 0x3;
}

static int drop_buffer(struct buffer *buffer)
{
	struct rknpu_mem_destroy destroy = { .handle = buffer->bo.handle };

	munmap(buffer->bo.map, buffer->length);
	close(buffer->dmabuf);
	return npu_ioctl(buffer->bo.fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &destroy);
}

FIXTURE_TEARDOWN(runtime_replay)
{
	action(self->fd, RKNPU_POWER_OFF, 0, NULL); /* may fail, and is ignored */
	EXPECT_EQ(0, drop_buffer(&self->records));
	EXPECT_EQ(0, drop_buffer(&self->commands));
	EXPECT_EQ(0, drop_buffer(&self->internal));
	EXPECT_EQ(0, drop_buffer(&self->model));
	EXPECT_EQ(0, drop_buffer(&self->data));
	close(self->fd);
	EXPECT_EQ(0, npu_healthy());
}

static struct rknpu_submit default_args(FIXTURE_DATA(runtime_replay) *self)
{
	struct rknpu_submit args = {
		.flags = 0x5,
		.timeout = 6000,
		.task_number = npu_job_shares() * TASKS,
		.task_obj_addr = self->records.bo.token,
		.fence_fd = -1,
		.subcore_task = { { 0, TASKS }, { TASKS, TASKS }, { 2 * TASKS, TASKS } },
	};

	return args;
}

static void set_inputs(struct test_case *_test, FIXTURE_DATA(runtime_replay) *self, int seed)
{
	memset(npu_job_slot(&self->job, 0), seed, NPU_SLOT);
	memset(npu_job_slot(&self->job, 1), 0, (SLOTS - 1) * NPU_SLOT);
	EXPECT_EQ(0, sync_range(&self->commands, 1, 0, self->commands.length));
	EXPECT_EQ(0, sync_range(&self->data, 1, 0, self->data.length));
	EXPECT_EQ(0, sync_range(&self->commands, 1, 0, self->commands.length));
}

static void get_outputs(struct test_case *_test, FIXTURE_DATA(runtime_replay) *self)
{
	EXPECT_EQ(0, sync_range(&self->data, 2, 0, self->data.length));
	EXPECT_EQ(0, sync_range(&self->internal, 2, 0, 1));
	EXPECT_EQ(0, sync_range(&self->data, 2, 0, self->data.length));
}

static bool copy_is_right(FIXTURE_DATA(runtime_replay) *self, unsigned int copy, int seed)
{
	const int8_t *out = npu_job_slot(&self->job, (copy + 1) * TASKS);
	unsigned int i;

	for (i = 0; i < NPU_SLOT; i++) {
		if (out[i] != seed + (int)(TASKS * (copy + 1)))
			return false;
	}
	return true;
}

static unsigned int core_index(uint32_t mask)
{
	return mask == 4 ? 2 : mask == 2 ? 1 : 0;
}

TEST_F(runtime_replay, default_sequence)
{
	struct rknpu_submit args;
	int loop;

	start_session(_test, self);
	for (loop = 0; loop < 4; loop++) {
		set_inputs(_test, self, loop);
		args = default_args(self);
		ASSERT_EQ(0, npu_submit(self->fd, &args));
		EXPECT_EQ(args.task_number, args.task_counter);
		EXPECT_LT(0, args.hw_elapse_time);
		EXPECT_EQ(1, args.core_mask);
		get_outputs(_test, self);
		EXPECT_TRUE(copy_is_right(self, 0, loop));
		EXPECT_EQ(0, npu_job_slot(&self->job, 2 * TASKS)[0]);
	}
}

TEST_F(runtime_replay, one_core_by_mask)
{
	int cores = npu_core_count(self->fd), core;
	struct rknpu_submit args;

	start_session(_test, self);
	for (core = 0; core < cores; core++) {
		set_inputs(_test, self, 10);
		args = default_args(self);
		args.core_mask = 1u << core;
		ASSERT_EQ(0, npu_submit(self->fd, &args));
		EXPECT_EQ(1u << core, args.core_mask);
		get_outputs(_test, self);
		EXPECT_TRUE(copy_is_right(self, core_index(args.core_mask), 10));
	}
}

/* One submit per operator; task_start is that of no range, the last entry is unused. */
TEST_F(runtime_replay, cores_work_together)
{
	struct rknpu_submit args;
	unsigned int copy;

	start_session(_test, self);
	if (npu_core_count(self->fd) < 3)
		SKIP(return, "needs three cores");
	set_inputs(_test, self, 20);
	args = default_args(self);
	args.core_mask = 3;
	args.task_start = 2;
	args.task_number = 2 * TASKS;
	args.subcore_task[2] = args.subcore_task[0];
	args.subcore_task[3] = args.subcore_task[1];
	args.subcore_task[4] = (struct rknpu_subcore_task){ 0xffffffff, 0 };
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	EXPECT_EQ(3, args.core_mask);
	args = default_args(self);
	args.core_mask = 7;
	args.task_start = 8;
	args.subcore_task[2] = (struct rknpu_subcore_task){ 2 * TASKS, TASKS };
	args.subcore_task[3] = (struct rknpu_subcore_task){ 3 * TASKS, TASKS };
	args.subcore_task[4] = (struct rknpu_subcore_task){ 4 * TASKS, TASKS };
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	EXPECT_EQ(3 * TASKS, args.task_counter);
	get_outputs(_test, self);
	for (copy = 0; copy < COPIES; copy++)
		EXPECT_TRUE(copy_is_right(self, copy, 20));
}

/* Performance mode: one submit per task, GET_FREQ asked before. */
TEST_F(runtime_replay, one_submit_per_operator)
{
	struct rknpu_submit args;
	unsigned int i, k;

	start_session(_test, self);
	EXPECT_EQ(0, action(self->fd, RKNPU_GET_FREQ, 0, NULL));
	set_inputs(_test, self, 30);
	for (i = 0; i < TASKS; i++) {
		args = default_args(self);
		args.task_start = i;
		args.task_number = npu_job_shares();
		for (k = 0; k < 3; k++)
			args.subcore_task[k] = (struct rknpu_subcore_task){ k * TASKS + i, 1 };
		ASSERT_EQ(0, npu_submit(self->fd, &args));
		EXPECT_EQ(args.task_number, args.task_counter);
	}
	get_outputs(_test, self);
	EXPECT_TRUE(copy_is_right(self, 0, 30));
}

TEST_F(runtime_replay, asynchronous_without_a_fence)
{
	struct rknpu_submit args;
	int i;

	start_session(_test, self);
	set_inputs(_test, self, 40);
	args = default_args(self);
	args.flags = 0x7;
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	EXPECT_EQ(-1, args.fence_fd);
	/* The runtime simply reads the result some time later. */
	for (i = 0; i < 100; i++) {
		get_outputs(_test, self);
		if (copy_is_right(self, 0, 40))
			break;
		usleep(50000);
	}
	EXPECT_TRUE(copy_is_right(self, 0, 40));
}

TEST_F(runtime_replay, asynchronous_with_an_out_fence)
{
	struct rknpu_submit args;
	struct pollfd wait;

	start_session(_test, self);
	set_inputs(_test, self, 50);
	args = default_args(self);
	args.flags = 0x17;
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	ASSERT_LE(0, args.fence_fd);
	wait = (struct pollfd){ .fd = args.fence_fd, .events = POLLIN };
	EXPECT_EQ(1, poll(&wait, 1, 6000));
	close(args.fence_fd);
	get_outputs(_test, self);
	EXPECT_TRUE(copy_is_right(self, 0, 50));
	args = default_args(self);
	args.flags = 0x1f; /* both fences, but none is given */
	EXPECT_EQ(-EINVAL, npu_submit(self->fd, &args));
}

static void run_with_sram(struct test_case *_test, FIXTURE_DATA(runtime_replay) *self,
			  uint32_t wanted)
{
	uint32_t total = 0, left = 0;
	struct rknpu_submit args;
	uint64_t expected;

	action(self->fd, RKNPU_GET_TOTAL_SRAM_SIZE, 0, &total);
	self->internal_flags = 0x103;
	self->sram_wanted = wanted;
	start_session(_test, self);
	expected = wanted && wanted < total ? wanted : total;
	EXPECT_EQ(expected, self->internal.bo.sram);
	action(self->fd, RKNPU_GET_FREE_SRAM_SIZE, 0, &left);
	EXPECT_EQ(total - expected, left);
	set_inputs(_test, self, 60);
	args = default_args(self);
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	get_outputs(_test, self);
	EXPECT_EQ(0, sync_range(&self->internal, 2, 589824, 524288));
	EXPECT_TRUE(copy_is_right(self, 0, 60));
}

TEST_F(runtime_replay, internal_memory_in_all_of_the_sram)
{
	run_with_sram(_test, self, 0);
}

TEST_F(runtime_replay, internal_memory_in_256_kib_of_sram)
{
	run_with_sram(_test, self, 262144);
}

/* A buffer of another exporter: look-up with flags 0 and size 0, no map, no sync. */
TEST_F(runtime_replay, input_from_a_foreign_dmabuf)
{
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), memfd;
	/* Without an IOMMU it must be one piece, which two pages may not be. */
	size_t size = npu_has_iommu(self->fd) ? 2 * NPU_PAGE : NPU_PAGE;
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = size };
	struct drm_prime_handle prime = { .flags = PRIME_FLAGS };
	struct rknpu_mem_create info = { 0 };
	struct rknpu_mem_destroy destroy = { 0 };
	struct rknpu_submit args;

	start_session(_test, self);
	memfd = memfd_create("input", MFD_ALLOW_SEALING);
	if (device < 0)
		SKIP(return, "no /dev/udmabuf");
	ASSERT_EQ(0, ftruncate(memfd, (off_t)size));
	ASSERT_EQ(0, fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	create.memfd = memfd;
	prime.fd = ioctl(device, UDMABUF_CREATE, &create);
	ASSERT_LE(0, prime.fd);
	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
	info.handle = prime.handle;
	ASSERT_EQ(0, npu_ioctl(self->fd, MEM_CREATE_40, &info));
	EXPECT_EQ(size, info.size);
	EXPECT_NE(0, info.obj_addr);
	ASSERT_NE(0, info.dma_addr);
	self->job.tasks = 0;
	npu_job_add_offset_raw(&self->job, info.dma_addr, self->data.bo.iova + NPU_SLOT, 9);
	set_inputs(_test, self, 0);
	args = default_args(self);
	args.task_number = npu_job_shares();
	args.subcore_task[0].task_number = 1;
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	get_outputs(_test, self);
	EXPECT_EQ(9, npu_job_slot(&self->job, 1)[NPU_SLOT - 1]);
	destroy.handle = prime.handle;
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &destroy));
	close(prime.fd);
}

TEST_F_TIMEOUT(runtime_replay, hang_after_six_seconds_then_on, 60)
{
	struct rknpu_submit args;
	uint64_t start;

	start_session(_test, self);
	npu_job_cut(&self->job, 1);
	set_inputs(_test, self, 1);
	args = default_args(self);
	args.core_mask = 1;
	start = npu_now_ms();
	EXPECT_EQ(-ETIMEDOUT, npu_submit(self->fd, &args));
	EXPECT_LE(6000, npu_now_ms() - start);
	EXPECT_GT(9000, npu_now_ms() - start);
	EXPECT_EQ(1, args.task_counter);
	self->job.tasks = 0;
	build_job(&self->job);
	set_inputs(_test, self, 2);
	args = default_args(self);
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	get_outputs(_test, self);
	EXPECT_TRUE(copy_is_right(self, core_index(args.core_mask), 2));
}

/* An unprivileged user with access to the node gets all of it. */
TEST_F(runtime_replay, b41_without_root)
{
	bool dropped = geteuid() == 0 && seteuid(65534) == 0;
	struct rknpu_submit args;

	start_session(_test, self);
	if (!dropped)
		SKIP(return, "dropping rights needs root");
	set_inputs(_test, self, 70);
	args = default_args(self);
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	get_outputs(_test, self);
	EXPECT_TRUE(copy_is_right(self, 0, 70));
	EXPECT_EQ(0, seteuid(0));
}

TEST_HARNESS_MAIN
