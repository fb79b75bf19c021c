// SPDX-License-Identifier: MIT
/*
 * Every allocation of a request fails once. The request must answer with an
 * error and leave nothing behind, or work all the same; splats and leaks are
 * found by the checkers of a debug kernel. Needs CONFIG_FAULT_INJECTION with
 * FAILSLAB and FAIL_PAGE_ALLOC, debugfs and root; see the file config.
 *
 * Copies from and to user space count as well where the kernel can inject
 * faults there (FAULT_INJECTION_USERCOPY): these give EFAULT.
 */
#define _GNU_SOURCE
#include <fcntl.h>

#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define MAX_ALLOCATIONS 2000
#define MANY_RECORDS 5000u

static int fail_file = -1;

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		perror(path);
	close(fd);
}

static int set_up(void)
{
	static const char *const quiet[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
	char path[64];
	unsigned int i;

	/* A call trace for each failure would look like a finding. */
	for (i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/verbose", quiet[i]);
		write_text(path, "0");
	}
	write_text("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
	write_text("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
	write_text("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N");
	write_text("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	fail_file = open("/proc/self/fail-nth", O_RDWR);
	return fail_file < 0 ? -errno : 0;
}

static void arm(int nth)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%d", nth);

	if (pwrite(fail_file, text, (size_t)length, 0) < 0)
		perror("fail-nth");
}

/* Returns true if an allocation was made to fail since arm(). */
static bool disarm(void)
{
	char text[16] = "";
	ssize_t got = pread(fail_file, text, sizeof(text) - 1, 0);

	arm(0);
	return got > 0 && atoi(text) == 0;
}

struct world {
	int fd;
	uint32_t all_cores;
	struct npu_job job;
	struct npu_bo bo;
	struct npu_bo records;
	uint32_t syncobjs[3];
	uint64_t point;
	int dmabuf;
};

static int op_open(struct world *world)
{
	int fd = npu_open();

	(void)world;
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static int op_create(struct world *world, uint32_t flags)
{
	struct npu_bo bo;
	int ret = npu_bo_create(world->fd, flags, 5 * NPU_PAGE, &bo);

	if (!ret) {
		memset(bo.map, 1, bo.size);
		npu_bo_destroy(&bo);
	}
	return ret;
}

static int op_create_scattered(struct world *world)
{
	return op_create(world, NPU_MEM_DATA);
}

static int op_create_contiguous(struct world *world)
{
	return op_create(world, RKNPU_MEM_CACHEABLE | RKNPU_MEM_KERNEL_MAPPING);
}

static int op_create_sram(struct world *world)
{
	return op_create(world, 0x103);
}

static int op_submit(struct world *world)
{
	return npu_job_run(&world->job, 0);
}

static int op_submit_fenced(struct world *world)
{
	struct rknpu_submit args = npu_job_args(&world->job, world->all_cores);
	int ret;

	args.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	ret = npu_submit(world->fd, &args);
	if (!ret)
		close(args.fence_fd);
	return ret;
}

static int op_sync(struct world *world)
{
	return npu_bo_sync(&world->bo, RKNPU_MEM_SYNC_MASK, 0, world->bo.size);
}

static int op_export(struct world *world)
{
	int fd = npu_export(world->fd, world->bo.handle);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static int op_import(struct world *world)
{
	struct rknpu_mem_create info = { 0 };
	int other = npu_open(), ret;

	if (other < 0)
		return other;
	ret = npu_import(other, world->dmabuf, &info.handle);
	ret = ret ? ret : npu_ioctl(other, DRM_IOCTL_RKNPU_MEM_CREATE, &info);
	close(other);
	return ret;
}

/* Every address space of a file is made when it is first used. */
static int op_create_in_a_new_space(struct world *world)
{
	struct rknpu_mem_create args = { .flags = NPU_MEM_DATA, .size = 1, .iommu_domain_id = 9 };
	int fd = npu_open(), ret;

	(void)world;
	if (fd < 0)
		return fd;
	ret = npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_CREATE, &args);
	close(fd);
	return ret;
}

static int op_submit_all_cores(struct world *world)
{
	return npu_job_run(&world->job, world->all_cores);
}

/* More tasks than the hardware takes at once; refused only when all was read. */
static int op_submit_batches(struct world *world)
{
	struct rknpu_submit args = npu_job_args(&world->job, 1);
	int ret;

	args.task_obj_addr = world->records.token;
	args.task_number = MANY_RECORDS;
	args.subcore_task[0].task_number = MANY_RECORDS;
	args.flags |= RKNPU_JOB_FENCE_IN;
	args.fence_fd = -1;
	ret = npu_submit(world->fd, &args);
	return ret == -EINVAL ? 0 : ret;
}

static int op_submit_behind_a_fence(struct world *world)
{
	struct rknpu_submit args = npu_job_args(&world->job, 1);
	int ret, fence;

	args.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	ret = npu_submit(world->fd, &args);
	if (ret)
		return ret;
	fence = args.fence_fd;
	args.flags = RKNPU_JOB_PC | RKNPU_JOB_FENCE_IN;
	ret = npu_submit(world->fd, &args);
	close(fence);
	return ret;
}

static int op_submit_sync(struct world *world)
{
	struct rknpu_sync in = { .handle = world->syncobjs[0] };
	struct rknpu_sync out[2] = {
		{ .handle = world->syncobjs[1] },
		{ .handle = world->syncobjs[2], .point = ++world->point },
	};
	struct rknpu_submit_sync args = {
		.submit = npu_job_args(&world->job, 1),
		.in_syncs = (uintptr_t)&in,
		.out_syncs = (uintptr_t)out,
		.in_count = 1,
		.out_count = 2,
		.stride = sizeof(in),
	};

	return npu_ioctl(world->fd, DRM_IOCTL_RKNPU_SUBMIT_SYNC, &args);
}

static int op_actions(struct world *world)
{
	uint32_t code, value;
	int ret = 0;

	for (code = RKNPU_GET_HW_VERSION; !ret && code <= RKNPU_GET_IOMMU_EN; code++) {
		value = 0;
		ret = npu_action(world->fd, code, &value);
		/* Some codes mean nothing here; that is no failure. */
		ret = ret == -EINVAL || ret == -ENODEV ? 0 : ret;
	}
	return ret;
}

static int op_read(const char *path)
{
	char text[4096];
	int fd = open(path, O_RDONLY), ret = fd < 0 ? -errno : 0;

	while (!ret) {
		ssize_t got = read(fd, text, sizeof(text));

		ret = got < 0 ? -errno : 0;
		if (got <= 0)
			break;
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

static int op_read_debugfs(struct world *world)
{
	static const char *const files[] = { "clients", "jobs", "mm", "load", "freq", "volt" };
	char path[64];
	unsigned int i;
	int ret = 0;

	(void)world;
	for (i = 0; !ret && i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/rknpu/%s", files[i]);
		ret = op_read(path);
		ret = ret == -ENODEV ? 0 : ret;
	}
	return ret;
}

static int op_read_fdinfo(struct world *world)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", world->fd);
	return op_read(path);
}

static int op_reset(struct world *world)
{
	uint32_t value = 0;

	return npu_action(world->fd, RKNPU_ACT_RESET, &value);
}

static int make_records(struct world *world)
{
	struct rknpu_task *records;
	unsigned int i;
	int ret = npu_bo_create(world->fd, NPU_MEM_TASKS, MANY_RECORDS * sizeof(*records),
				&world->records);

	if (ret)
		return ret;
	records = world->records.map;
	for (i = 0; i < MANY_RECORDS; i++)
		records[i] = *npu_job_record(&world->job, 0);
	return npu_bo_sync(&world->records, RKNPU_MEM_SYNC_TO_DEVICE, 0, world->records.size);
}

/* The first one has signalled. */
static int make_syncobjs(struct world *world)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < 3; i++) {
		struct drm_syncobj_create args = {
			.flags = i == 0 ? DRM_SYNCOBJ_CREATE_SIGNALED : 0,
		};

		ret = npu_ioctl(world->fd, DRM_IOCTL_SYNCOBJ_CREATE, &args);
		world->syncobjs[i] = args.handle;
	}
	return ret;
}

static int make_world(struct world *world)
{
	int ret;

	memset(world, 0, sizeof(*world));

	world->fd = npu_open();
	if (world->fd < 0)
		return world->fd;
	ret = npu_job_init(&world->job, world->fd, 2, 3);
	if (ret)
		return ret;
	npu_job_add_offset(&world->job, 0, 1, 1);
	npu_job_add_offset(&world->job, 1, 2, 1);
	npu_job_seal(&world->job);
	ret = npu_core_count(world->fd);
	if (ret < 0)
		return ret;
	world->all_cores = (1u << ret) - 1;
	ret = npu_bo_create(world->fd, NPU_MEM_DATA, 3 * NPU_PAGE, &world->bo);
	if (ret)
		return ret;
	ret = make_records(world);
	ret = ret ? ret : make_syncobjs(world);
	if (ret)
		return ret;
	world->dmabuf = npu_export(world->fd, world->bo.handle);
	return world->dmabuf < 0 ? world->dmabuf : 0;
}

static void sweep(struct test_case *_test, int (*op)(struct world *world))
{
	struct world world;
	int ret, nth, failed = 0;

	ret = make_world(&world);
	if (ret == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_EQ(0, ret);
	ret = set_up();
	if (ret)
		SKIP(return, "no /proc/self/fail-nth (%s)", strerror(-ret));
	for (nth = 1; nth < MAX_ALLOCATIONS; nth++) {
		arm(nth);
		ret = op(&world);
		if (!disarm())
			break;
		failed += ret != 0;
		if (ret && ret != -ENOMEM && ret != -EFAULT && ret != -ENODEV) {
			TH_LOG("allocation %d: %s", nth, strerror(-ret));
			_test->failed = true;
		}
	}
	TH_LOG("%d allocations, %d of them end the request", nth - 1, failed);
	EXPECT_GT(MAX_ALLOCATIONS, nth);
	EXPECT_EQ(0, ret);
	EXPECT_EQ(0, op(&world));
	EXPECT_EQ(0, npu_healthy());
}

#define SWEEP(name) \
	TEST_TIMEOUT(fail_nth_##name, 300) \
	{ \
		sweep(_test, op_##name); \
	}

SWEEP(open)
SWEEP(create_scattered)
SWEEP(create_contiguous)
SWEEP(create_sram)
SWEEP(create_in_a_new_space)
SWEEP(submit)
SWEEP(submit_all_cores)
SWEEP(submit_batches)
SWEEP(submit_fenced)
SWEEP(submit_behind_a_fence)
SWEEP(submit_sync)
SWEEP(sync)
SWEEP(export)
SWEEP(import)
SWEEP(actions)
SWEEP(reset)
SWEEP(read_debugfs)
SWEEP(read_fdinfo)

TEST_HARNESS_MAIN
