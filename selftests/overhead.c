// SPDX-License-Identifier: MIT
/*
 * What the driver costs: instructions of the kernel in the calling task, and
 * what the emulator counted meanwhile. For scripts/bench.sh, on one CPU that
 * counts instructions (QEMU's -icount) and with rknpu-sim --synchronous.
 *
 * A line is "NAME instructions reads writes interrupts iommu_reads iommu_writes".
 * Instructions are the minimum of the series, less what the measuring costs;
 * each of the other figures is the lowest of a round.
 *
 * overhead --profile NAME announces the operation and does it once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "npu_device.h"
#include "npu_jobs.h"

#define SERIES 21
#define MANY 1000

#define CORES 3

enum counter { JOBS, TASKS, READS, WRITES, INTERRUPTS, MMU_READS, MMU_WRITES, FAULTS, COUNTERS_NUM };

static volatile uint32_t *control;
static int perf_fd = -1;
static uint64_t calibration;

static void die(const char *what, int error)
{
	printf("overhead: %s: %s\n", what, strerror(error));
	exit(1);
}

static void set_up(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_user = 1,
	};
	struct sched_param param = { .sched_priority = 10 };

	control = npu_emulator();
	if (!control)
		die("registers of the emulator", ENODEV);
	perf_fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (perf_fd < 0)
		die("counter of instructions", errno);
	if (mlockall(MCL_CURRENT))
		die("mlockall", errno);
	sched_setscheduler(0, SCHED_FIFO, &param);
}

static uint64_t instructions(void)
{
	uint64_t value = 0;

	if (read(perf_fd, &value, sizeof(value)) != sizeof(value))
		die("counter of instructions", errno);
	return value;
}

static void counters(uint32_t *sum)
{
	unsigned int core, i;

	memset(sum, 0, COUNTERS_NUM * sizeof(*sum));
	for (core = 0; core < CORES; core++) {
		for (i = 0; i < COUNTERS_NUM; i++)
			sum[i] += control[NPU_EMULATOR_COUNTERS +
					  core * NPU_EMULATOR_COUNTERS_STRIDE + i];
	}
}

struct world {
	int fd;
	struct npu_job one;
	struct npu_job chain;
	struct npu_bo page;
	struct rknpu_mem_create create;
	struct npu_bo *crowd;
	int exported;
};

/* prepare() is not counted. */
struct operation {
	const char *name;
	int (*run)(struct world *world);
	int (*prepare)(struct world *world);
	uint64_t size;
};

static uint64_t measure(const struct operation *op, struct world *world, uint32_t *used)
{
	uint32_t before[COUNTERS_NUM], after[COUNTERS_NUM];
	uint64_t best = UINT64_MAX, start, taken;
	unsigned int i, k;
	int ret;

	memset(used, 0xff, COUNTERS_NUM * sizeof(*used));
	world->create = (struct rknpu_mem_create){ .flags = NPU_MEM_DATA, .size = op->size };
	for (i = 0; i < SERIES; i++) {
		ret = op->prepare ? op->prepare(world) : 0;
		if (ret)
			die(op->name, -ret);
		counters(before);
		start = instructions();
		ret = op->run(world);
		taken = instructions() - start;
		counters(after);
		if (ret)
			die(op->name, -ret);
		best = taken < best ? taken : best;
		for (k = 0; k < COUNTERS_NUM; k++)
			used[k] = after[k] - before[k] < used[k] ? after[k] - before[k] : used[k];
	}
	return best;
}

static int nothing(struct world *world)
{
	(void)world;
	return 0;
}

static int submit(struct npu_job *job, uint32_t mask)
{
	struct rknpu_submit args = npu_job_args(job, mask);

	return npu_submit(job->fd, &args);
}

static int submit_one(struct world *world)
{
	return submit(&world->one, 1);
}

static int submit_chain(struct world *world)
{
	return submit(&world->chain, 1);
}

static int submit_three(struct world *world)
{
	return submit(&world->one, 7);
}

static int submit_fenced(struct world *world)
{
	struct rknpu_submit args = npu_job_args(&world->one, 1);
	struct pollfd wait = { .events = POLLIN };
	int ret;

	args.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	ret = npu_submit(world->fd, &args);
	if (ret)
		return ret;
	wait.fd = args.fence_fd;
	if (poll(&wait, 1, 5000) != 1)
		return -ETIME;
	close(args.fence_fd);
	return 0;
}

static int sync_page_to(struct world *world)
{
	return npu_bo_sync(&world->page, RKNPU_MEM_SYNC_TO_DEVICE, 0, NPU_PAGE);
}

static int sync_page_from(struct world *world)
{
	return npu_bo_sync(&world->page, RKNPU_MEM_SYNC_FROM_DEVICE, 0, NPU_PAGE);
}

static int sync_page(struct world *world)
{
	return npu_bo_sync(&world->page, RKNPU_MEM_SYNC_MASK, 0, NPU_PAGE);
}

static int create(struct world *world)
{
	world->create.handle = 0;
	return npu_ioctl(world->fd, DRM_IOCTL_RKNPU_MEM_CREATE, &world->create);
}

static int destroy(struct world *world)
{
	struct rknpu_mem_destroy args = { .handle = world->create.handle };

	return npu_ioctl(world->fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &args);
}

static int create_destroy(struct world *world)
{
	int ret = create(world);

	return ret ? ret : destroy(world);
}

/* The page table is filled by a job, so one runs between; its own accesses are no IOMMU's. */
static int create_use_destroy(struct world *world)
{
	int ret = create(world);

	ret = ret ? ret : submit_one(world);
	return ret ? ret : destroy(world);
}

static int create_sram(struct world *world)
{
	world->create.flags = NPU_MEM_DATA | RKNPU_MEM_TRY_ALLOC_SRAM;
	return create_use_destroy(world);
}

static int close_export(struct world *world)
{
	if (world->exported > 0)
		close(world->exported);
	world->exported = 0;
	return 0;
}

static int export(struct world *world)
{
	world->exported = npu_export(world->fd, world->page.handle);
	return world->exported < 0 ? world->exported : 0;
}

/* Another file's job ran: the next one has to bring the address space back. */
static int switch_away(struct world *world)
{
	struct npu_job other;
	int fd = npu_open(), ret;

	(void)world;
	ret = fd < 0 ? fd : npu_job_init(&other, fd, 1, 2);
	if (ret)
		return ret;
	npu_job_add_offset(&other, 0, 1, 1);
	npu_job_seal(&other);
	ret = submit(&other, 1);
	npu_job_free(&other);
	close(fd);
	return ret;
}

static const struct operation operations[] = {
	{ "submit-1", submit_one, NULL, 0 },
	{ "submit-16", submit_chain, NULL, 0 },
	{ "submit-mask7", submit_three, NULL, 0 },
	{ "submit-fence-poll-close", submit_fenced, NULL, 0 },
	{ "submit-1-other-space", submit_one, switch_away, 0 },
	{ "sync-4k-to-device", sync_page_to, NULL, 0 },
	{ "sync-4k-from-device", sync_page_from, NULL, 0 },
	{ "sync-4k-both", sync_page, NULL, 0 },
	{ "create-destroy-4k", create_destroy, NULL, 4096 },
	{ "create-destroy-1m", create_destroy, NULL, 1 << 20 },
	{ "create-destroy-16m", create_destroy, NULL, 1 << 24 },
	{ "create-use-destroy-4k", create_use_destroy, submit_one, 4096 },
	{ "create-use-destroy-64k", create_use_destroy, submit_one, 1 << 16 },
	{ "create-use-destroy-1m", create_use_destroy, submit_one, 1 << 20 },
	{ "create-use-destroy-16m", create_use_destroy, submit_one, 1 << 24 },
	{ "create-use-destroy-sram", create_sram, submit_one, 1 << 16 },
	{ "export", export, close_export, 0 },
};

/* With many buffers alive. */
static const struct operation crowded[] = {
	{ "submit-1-of-1000", submit_one, NULL, 0 },
	{ "sync-4k-of-1000", sync_page_to, NULL, 0 },
	{ "create-destroy-4k-of-1000", create_destroy, NULL, 4096 },
	{ "export-of-1000", export, close_export, 0 },
};

static void report(const struct operation *op, struct world *world)
{
	uint32_t used[COUNTERS_NUM];
	uint64_t taken = measure(op, world, used) - calibration;

	printf("%-26s %9llu %6u %6u %6u %6u %6u\n", op->name, (unsigned long long)taken, used[READS],
	       used[WRITES], used[INTERRUPTS], used[MMU_READS], used[MMU_WRITES]);
	fflush(stdout);
}

static int make_job(struct npu_job *job, int fd, unsigned int tasks)
{
	unsigned int i;
	int ret = npu_job_init(job, fd, tasks, tasks + 1);

	for (i = 0; !ret && i < tasks; i++)
		npu_job_add_offset(job, i, i + 1, 1);
	if (!ret)
		npu_job_seal(job);
	return ret;
}

static int make_crowd(struct world *world)
{
	unsigned int i;
	int ret = 0;

	world->crowd = calloc(MANY, sizeof(*world->crowd));
	for (i = 0; !ret && i < MANY; i++)
		ret = npu_bo_create(world->fd, NPU_MEM_DATA, NPU_PAGE, &world->crowd[i]);
	return ret ? ret : submit_one(world);
}

/* For people: one operation, announced, so that they can trace what it does. */
static int profile(const char *name, struct world *world)
{
	uint32_t used[COUNTERS_NUM];
	unsigned int i;

	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		if (strcmp(operations[i].name, name))
			continue;
		measure(&operations[i], world, used);
		if (operations[i].prepare)
			operations[i].prepare(world);
		printf("profile-go\n");
		fflush(stdout);
		sleep(2);
		operations[i].run(world);
		printf("profile-done\n");
		fflush(stdout);
		sleep(2);
		return 0;
	}
	die(name, ENOENT);
	return 1;
}

int main(int argc, char **argv)
{
	static const struct operation empty = { "nothing", nothing, NULL, 0 };
	uint32_t used[COUNTERS_NUM];
	struct world world = { 0 };
	unsigned int i;
	int ret;

	set_up();
	calibration = measure(&empty, &world, used);
	world.fd = npu_open();
	ret = world.fd < 0 ? world.fd : make_job(&world.one, world.fd, 1);
	ret = ret ? ret : make_job(&world.chain, world.fd, 16);
	ret = ret ? ret : npu_bo_create(world.fd, NPU_MEM_DATA, NPU_PAGE, &world.page);
	if (ret)
		die("buffers", -ret);
	if (argc == 3 && strcmp(argv[1], "--profile") == 0)
		return profile(argv[2], &world);
	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		report(&operations[i], &world);
	ret = make_crowd(&world);
	if (ret)
		die("many buffers", -ret);
	for (i = 0; i < sizeof(crowded) / sizeof(crowded[0]); i++)
		report(&crowded[i], &world);
	return 0;
}
