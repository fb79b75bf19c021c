// SPDX-License-Identifier: MIT
/*
 * Many processes do different things at once and some of them are killed.
 * RKNPU_STRESS_SECONDS sets how long (10). Afterwards everything is back.
 */
#define _GNU_SOURCE
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

			if (npu_job_init(&job, fd, 2, 3))
				_exit(1);
			npu_job_add_offset(&job, 0, 1, 1);
			npu_job_add_offset(&job, 1, 2, 1);
			npu_job_cut(&job, 1);
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

TEST_TIMEOUT(b08_everything_at_once, 1200)
{
	const char *text = getenv("RKNPU_STRESS_SECONDS");
	uint32_t sram_before = 0, sram_after = 0;
	pid_t children[WORKERS];
	int fd = npu_open(), cores, i, status;

	if (fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, fd);
	cores = npu_core_count(fd);
	npu_action(fd, RKNPU_GET_FREE_SRAM_SIZE, &sram_before);
	stop_ms = npu_now_ms() + 1000 * (text ? strtoul(text, NULL, 10) : 10);
	for (i = 0; i < WORKERS; i++) {
		children[i] = 0;
		if (cores < 3 && (i == 1 || i == 2))
			continue;
		children[i] = fork();
		if (children[i] == 0)
			_exit(-work(i));
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
	close(fd);
}

TEST_HARNESS_MAIN
