// SPDX-License-Identifier: MIT
/*
 * Many processes do different things at once and some of them are killed.
 * RKNPU_STRESS_SECONDS sets how long (10), RKNPU_STRESS_SUSPEND how many seconds
 * lie between two attempts to put the machine to sleep (0: none). Afterwards
 * everything is back.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define WORKERS 8

static uint64_t stop_ms;

static bool time_is_up(void)
{
	return npu_now_ms() >= stop_ms;
}

/* Chains of growing length on the given cores, each result checked. */
static int work_chains(unsigned int seed, uint32_t mask)
{
	int fd = npu_open(), ret = fd < 0 ? fd : 0;
	unsigned int i;

	for (i = seed; !ret && !time_is_up(); i++)
		ret = npu_chain_check(fd, 1 + i % 40, mask);
	close(fd);
	return ret;
}

static int work_memory(unsigned int seed)
{
	int fd = npu_open(), ret = fd < 0 ? fd : 0;
	struct npu_bo bo;

	while (!ret && !time_is_up()) {
		uint32_t flags = rand_r(&seed) % 3 ? NPU_MEM_DATA : 0x103;

		ret = npu_bo_create(fd, flags, 1 + rand_r(&seed) % (1 << 18), &bo);
		if (ret)
			break;
		memset(bo.map, 1, bo.size);
		npu_bo_sync(&bo, RKNPU_MEM_SYNC_MASK, 0, bo.size);
		if (rand_r(&seed) % 4)
			npu_bo_destroy(&bo);
		else
			munmap(bo.map, bo.size);
		if (rand_r(&seed) % 50 == 0) {
			close(fd);
			fd = npu_open();
			ret = fd < 0 ? fd : 0;
		}
	}
	close(fd);
	return ret;
}

static int work_prime(void)
{
	int a = npu_open(), b = npu_open(), ret = 0, dmabuf;
	struct rknpu_mem_create info = { 0 };
	struct rknpu_mem_destroy destroy = { 0 };
	struct npu_bo bo;

	while (!ret && !time_is_up()) {
		ret = npu_bo_create(a, NPU_MEM_DATA, 5 * NPU_PAGE, &bo);
		dmabuf = npu_export(a, bo.handle);
		ret = ret ? ret : dmabuf < 0 ? dmabuf : npu_import(b, dmabuf, &info.handle);
		info.flags = 0;
		info.size = 0;
		ret = ret ? ret : npu_ioctl(b, DRM_IOCTL_RKNPU_MEM_CREATE, &info);
		npu_bo_destroy(&bo);
		close(dmabuf);
		destroy.handle = info.handle;
		ret = ret ? ret : npu_ioctl(b, DRM_IOCTL_RKNPU_MEM_DESTROY, &destroy);
	}
	close(a);
	close(b);
	return ret;
}

static int work_fences(void)
{
	int fd = npu_open(), ret = fd < 0 ? fd : 0;
	struct npu_job job;

	ret = ret ? ret : npu_job_init(&job, fd, 1, 2);
	if (ret)
		return ret;
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_seal(&job);
	while (!ret && !time_is_up()) {
		struct rknpu_submit args = npu_job_args(&job, 0);
		struct pollfd wait = { .events = POLLIN };

		args.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
		ret = npu_submit(fd, &args);
		wait.fd = args.fence_fd;
		if (!ret && poll(&wait, 1, 20000) != 1)
			ret = -ETIME;
		close(args.fence_fd);
	}
	npu_job_free(&job);
	close(fd);
	return ret;
}

/* Clients that hang a core and die while they wait for it. */
static int work_killed(void)
{
	while (!time_is_up()) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			struct rknpu_submit args;
			struct npu_job job;
			int fd = npu_open();

			if (npu_job_init_hang(&job, fd))
				_exit(1);
			args = npu_job_args(&job, 0);
			npu_submit(fd, &args);
			_exit(0);
		}
		usleep(50000);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
	return 0;
}

static int work_readers(void)
{
	static const char *const files[] = {
		"version", "load", "mm", "power", "freq", "volt", "delayms", "reset", "clients",
		"jobs",
	};
	char text[8192];
	unsigned int i;

	for (i = 0; !time_is_up(); i++)
		npu_debugfs_read(files[i % 10], text, sizeof(text));
	return 0;
}

static int work(int index)
{
	switch (index) {
	case 0:
		return work_chains(1, 0);
	case 1:
		return work_chains(7, 7);
	case 2:
		return work_chains(20, 2);
	case 3:
		return work_memory(3);
	case 4:
		return work_prime();
	case 5:
		return work_fences();
	case 6:
		return work_killed();
	default:
		return work_readers();
	}
}

static unsigned long number_from(const char *variable, unsigned long otherwise)
{
	const char *text = getenv(variable);

	return text ? strtoul(text, NULL, 10) : otherwise;
}

/* All that a suspend does, but for the sleep itself, from which nothing would wake us. */
static unsigned int sleep_now_and_then(unsigned long period_s)
{
	unsigned int count = 0;

	npu_write_text("/sys/module/suspend/parameters/pm_test_delay", "1");
	/* The emulated board's registers lie in PCI functions, which must be resumed before. */
	npu_write_text("/sys/power/pm_async", "0");
	if (!period_s || npu_write_text("/sys/power/pm_test", "devices"))
		return 0;
	while (npu_now_ms() + 1000 * period_s < stop_ms) {
		sleep((unsigned int)period_s);
		count += npu_write_text("/sys/power/state", "freeze") == 0;
	}
	npu_write_text("/sys/power/pm_test", "none");
	return count;
}

/* Users of the module: open files, buffers that others hold, fences. -1 if nobody tells. */
static int module_users(void)
{
	char text[16];

	return npu_read_text("/sys/module/rknpu/refcnt", text, sizeof(text)) > 0 ? atoi(text) : -1;
}

static unsigned int lines_of(const char *file)
{
	static char text[65536];
	unsigned int lines = 0;
	const char *at;

	if (npu_debugfs_read(file, text, sizeof(text)))
		return 0;
	for (at = strchr(text, '\n'); at; at = strchr(at + 1, '\n'))
		lines++;
	return lines;
}

/* The last references are dropped by work items. */
static void wait_for_users(int users)
{
	unsigned int i;

	for (i = 0; i < 100 && module_users() != users; i++)
		usleep(100000);
}

TEST_TIMEOUT(b08_everything_at_once, 1800)
{
	unsigned long suspend_s = number_from("RKNPU_STRESS_SUSPEND", 0);
	uint32_t sram_before = 0, sram_after = 0;
	pid_t children[WORKERS];
	int fd = npu_open(), cores, i, status, users;
	unsigned int clients, naps;

	if (fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, fd);
	cores = npu_core_count(fd);
	npu_action(fd, RKNPU_GET_FREE_SRAM_SIZE, &sram_before);
	users = module_users();
	clients = lines_of("clients");
	stop_ms = npu_now_ms() + 1000 * number_from("RKNPU_STRESS_SECONDS", 10);
	for (i = 0; i < WORKERS; i++) {
		children[i] = 0;
		if (cores < 3 && (i == 1 || i == 2))
			continue;
		children[i] = fork();
		if (children[i] == 0)
			_exit(-work(i));
	}
	if (suspend_s) {
		naps = sleep_now_and_then(suspend_s);
		TH_LOG("put to sleep %u times", naps);
		EXPECT_LT(0, naps);
	}
	for (i = 0; i < WORKERS; i++) {
		if (!children[i])
			continue;
		ASSERT_EQ(children[i], waitpid(children[i], &status, 0));
		if (status)
			TH_LOG("worker %d: %s", i, strerror(WEXITSTATUS(status)));
		EXPECT_EQ(0, status);
	}
	EXPECT_EQ(0, npu_healthy());
	npu_action(fd, RKNPU_GET_FREE_SRAM_SIZE, &sram_after);
	EXPECT_EQ(sram_before, sram_after);
	wait_for_users(users);
	EXPECT_EQ(users, module_users());
	EXPECT_EQ(clients, lines_of("clients"));
	EXPECT_EQ(0, lines_of("jobs"));
	close(fd);
}

TEST_HARNESS_MAIN
