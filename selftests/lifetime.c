// SPDX-License-Identifier: MIT
// Files that go away: with jobs running, killed, forked, passed on.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/socket.h>

#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

FIXTURE(lifetime) {
	int fd;
	long long sram_used;
};

FIXTURE_SETUP(lifetime)
{
	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
	self->sram_used = npu_sram_used();
}

FIXTURE_TEARDOWN(lifetime)
{
	close(self->fd);
	EXPECT_EQ(0, npu_healthy());
	EXPECT_EQ(self->sram_used, npu_sram_used());
}

/* A mapping would keep the file open after close(). */
static void unmap(struct npu_bo *bo)
{
	munmap(bo->map, bo->size);
	bo->map = NULL;
}

/* A job that never ends by itself within the test. */
static int submit_hang(int fd, uint32_t mask, bool block)
{
	struct rknpu_submit args;
	struct npu_job job;
	int ret = npu_job_init_hang(&job, fd);

	if (ret)
		return ret;
	args = npu_job_args(&job, mask);
	args.timeout = 20000;
	args.flags |= block ? 0 : RKNPU_JOB_NONBLOCK;
	unmap(&job.commands);
	unmap(&job.records);
	unmap(&job.data);
	return npu_submit(fd, &args);
}

/* The next client's job must start at once, not after the 20 s of the lost one. */
static int job_runs_soon(uint32_t mask)
{
	uint64_t start = npu_now_ms();
	int fd = npu_open(), ret;

	if (fd < 0)
		return fd;
	ret = npu_chain_check(fd, 2, mask);
	close(fd);
	return !ret && npu_now_ms() - start > 5000 ? -ETIME : ret;
}

TEST_F(lifetime, close_with_a_running_job)
{
	int other = npu_open();

	ASSERT_LE(0, other);
	ASSERT_EQ(0, submit_hang(other, 1, false));
	close(other);
	EXPECT_EQ(0, job_runs_soon(1));
}

TEST_F(lifetime, close_with_running_and_queued_jobs)
{
	int other = npu_open(), i;

	ASSERT_LE(0, other);
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, submit_hang(other, i % 2 ? 1 : 0, false));
	close(other);
	EXPECT_EQ(0, job_runs_soon(1));
	EXPECT_EQ(0, job_runs_soon(0));
}

static pid_t fork_blocked_client(int *ready)
{
	int pipes[2];
	pid_t child;

	if (pipe(pipes))
		return -1;
	child = fork();
	if (child == 0) {
		struct npu_bo bo;
		int fd = npu_open();

		npu_bo_create(fd, NPU_MEM_DATA | RKNPU_MEM_TRY_ALLOC_SRAM, 8 * NPU_PAGE, &bo);
		if (write(pipes[1], "x", 1) != 1)
			_exit(2);
		submit_hang(fd, 1, true);
		_exit(0);
	}
	close(pipes[1]);
	*ready = pipes[0];
	return child;
}

TEST_F(lifetime, b34_kill_9_of_a_client_that_waits_for_a_job)
{
	int ready, status, round;
	uint64_t start;
	pid_t child;
	char byte;

	for (round = 0; round < 5; round++) {
		child = fork_blocked_client(&ready);
		ASSERT_LT(0, child);
		ASSERT_EQ(1, read(ready, &byte, 1));
		usleep(100000);
		start = npu_now_ms();
		kill(child, SIGKILL);
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_GT(5000, npu_now_ms() - start);
		EXPECT_TRUE(WIFSIGNALED(status));
		EXPECT_EQ(0, job_runs_soon(1));
		close(ready);
	}
}

/* Good jobs until the time is up; 0, or the error of the first that goes wrong. */
static int survive(uint64_t until, uint32_t mask)
{
	int fd = npu_open(), ret = fd < 0 ? fd : 0;

	while (!ret && npu_now_ms() < until)
		ret = npu_chain_check(fd, 2, mask);
	close(fd);
	return ret;
}

/* Start a client that does good jobs until it is killed. */
static pid_t fork_victim(void)
{
	int ready, status;
	int pipes[2];
	pid_t child;
	char byte;

	if (pipe(pipes))
		return -1;
	child = fork();
	if (child == 0) {
		int fd = npu_open();

		status = npu_chain_check(fd, 1, 0);
		if (write(pipes[1], "r", 1) == 1)
			while (!status)
				status = npu_chain_check(fd, 1, 0);
		_exit(1);
	}
	close(pipes[1]);
	ready = read(pipes[0], &byte, 1);
	close(pipes[0]);
	return ready == 1 ? child : -1;
}

/*
 * Each client has an address space of its own, so nearly every start switches
 * it. A client that dies while the switch for its job is under way must not let
 * the next job see what is half attached.
 */
TEST_F_TIMEOUT(lifetime, b34_clients_killed_while_their_address_space_is_attached, 60)
{
	uint64_t until = npu_now_ms() + 6000;
	pid_t survivors[2], victim;
	unsigned int seed = 1;
	int i, status, cores = npu_core_count(self->fd);

	if (cores < 2)
		SKIP(return, "one core: nothing to share");
	for (i = 0; i < 2; i++) {
		survivors[i] = fork();
		if (survivors[i] == 0)
			_exit(-survive(until, i ? (1u << cores) - 1 : 0));
	}
	while (npu_now_ms() < until) {
		victim = fork_victim();
		ASSERT_LT(0, victim);
		usleep(rand_r(&seed) % 20000);
		kill(victim, SIGKILL);
		ASSERT_EQ(victim, waitpid(victim, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
	}
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(survivors[i], waitpid(survivors[i], &status, 0));
		if (status)
			TH_LOG("survivor %d: %s", i, strerror(WEXITSTATUS(status)));
		EXPECT_EQ(0, status);
	}
}

#define HOARD (16u << 20)

/* A client with much memory whose job hangs, killed. */
static int kill_hoarder(void)
{
	int pipes[2], status, ret;
	pid_t child;
	char byte;

	if (pipe(pipes))
		return -errno;
	child = fork();
	if (child == 0) {
		struct npu_bo bo;
		int fd = npu_open();

		if (npu_bo_create(fd, NPU_MEM_DATA, HOARD, &bo) || submit_hang(fd, 1, false) ||
		    write(pipes[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	close(pipes[1]);
	ret = read(pipes[0], &byte, 1) == 1 ? 0 : -EIO;
	close(pipes[0]);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return ret;
}

static long available_kib(void)
{
	char text[4096];
	const char *line;

	if (npu_read_text("/proc/meminfo", text, sizeof(text)) < 0)
		return -1;
	line = strstr(text, "MemAvailable:");
	return line ? strtol(line + sizeof("MemAvailable:"), NULL, 10) : -1;
}

/* Its job ends after it, while the cores still see its memory; then comes somebody else. */
TEST_F_TIMEOUT(lifetime, b15_memory_of_killed_clients_comes_back, 120)
{
	long before, after;
	int round;

	if (!npu_has_iommu(self->fd))
		SKIP(return, "without an IOMMU memory does not wait for a cheap moment to go");
	ASSERT_EQ(0, kill_hoarder());
	ASSERT_EQ(0, job_runs_soon(1));
	before = available_kib();
	for (round = 0; round < 8; round++) {
		ASSERT_EQ(0, kill_hoarder());
		/* The end of the job finds nobody waiting, who would have the space changed. */
		usleep(300000);
		ASSERT_EQ(0, job_runs_soon(1));
	}
	usleep(500000);
	after = available_kib();
	ASSERT_LT(0, before);
	TH_LOG("%ld KiB available before, %ld after", before, after);
	EXPECT_GT(4 * (long)HOARD / 1024, before - after);
}

/* Otherwise one program could fill the memory of the kernel, and every list with it. */
TEST_F_TIMEOUT(lifetime, jobs_without_end_are_refused, 60)
{
	int other = npu_open(), ret, number = 0;
	struct rknpu_submit args;
	struct npu_job job;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, submit_hang(other, 1, false));
	ASSERT_EQ(0, npu_job_init(&job, other, 1, 2));
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_seal(&job);
	do {
		args = npu_job_args(&job, 1);
		args.flags |= RKNPU_JOB_NONBLOCK;
		ret = npu_submit(other, &args);
		number++;
	} while (!ret && number < 5000);
	EXPECT_EQ(-EBUSY, ret);
	EXPECT_EQ(1024, number);
	npu_job_free(&job);
	close(other);
	EXPECT_EQ(0, job_runs_soon(1));
}

static void on_signal(int number)
{
	(void)number;
}

/* A signal that is handled either lets the wait go on or ends it; it never loses the job. */
TEST_F(lifetime, handled_signal_during_a_blocking_submit)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct rknpu_submit args;
	struct npu_job job;
	pid_t parent = getpid(), child;
	int ret, status;

	sigaction(SIGUSR1, &action, NULL);
	ASSERT_EQ(0, npu_job_init_hang(&job, self->fd));
	child = fork();
	if (child == 0) {
		usleep(100000);
		kill(parent, SIGUSR1);
		_exit(0);
	}
	args = npu_job_args(&job, 1);
	args.timeout = 600;
	ret = npu_submit(self->fd, &args);
	EXPECT_EQ(-ETIMEDOUT, ret);
	EXPECT_EQ(1, args.task_counter);
	waitpid(child, &status, 0);
	npu_job_free(&job);
}

TEST_F(lifetime, buffers_of_a_running_job_may_be_destroyed)
{
	struct rknpu_submit args;
	struct npu_job job;
	int i;

	ASSERT_EQ(0, npu_job_init(&job, self->fd, 300, 301));
	for (i = 0; i < 300; i++)
		npu_job_add_offset(&job, i, i + 1, 1);
	npu_job_seal(&job);
	args = npu_job_args(&job, 1);
	args.flags |= RKNPU_JOB_NONBLOCK;
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	npu_job_free(&job);
	/* No fault may be logged: the job holds on to what it was given. */
	EXPECT_EQ(0, npu_chain_check(self->fd, 2, 1));
}

TEST_F(lifetime, fork_shares_the_file_and_its_end)
{
	int other = npu_open(), status;
	pid_t child;

	ASSERT_LE(0, other);
	child = fork();
	if (child == 0)
		_exit(npu_chain_check(other, 3, 0) ? 1 : 0);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	/* The child's exit closed its copy only. */
	EXPECT_EQ(0, npu_chain_check(other, 3, 0));
	close(other);
}

static int send_fd(int via, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = "", byte = 'x';
	struct iovec data = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	return sendmsg(via, &message, 0) == 1 ? 0 : -errno;
}

/* A file in flight on a socket that nobody reads dies with the socket. */
TEST_F(lifetime, file_lost_in_a_socket)
{
	int other = npu_open(), pair[2];

	ASSERT_LE(0, other);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	ASSERT_EQ(0, submit_hang(other, 1, false));
	ASSERT_EQ(0, send_fd(pair[0], other));
	close(other);
	close(pair[0]);
	close(pair[1]);
	EXPECT_EQ(0, job_runs_soon(1));
}

TEST_F_TIMEOUT(lifetime, b15_sixty_careless_clients, 120)
{
	int round;

	for (round = 0; round < 60; round++) {
		struct npu_bo bo[4];
		struct npu_job job;
		int fd = npu_open(), i;

		ASSERT_LE(0, fd);
		for (i = 0; i < 4; i++) {
			ASSERT_EQ(0, npu_bo_create(fd, i == 3 ? 0x103 : NPU_MEM_DATA,
						   (i + 1) * 100000, &bo[i]));
			unmap(&bo[i]);
		}
		close(npu_export(fd, bo[0].handle));
		ASSERT_EQ(0, npu_job_init(&job, fd, 1, 2));
		npu_job_add_offset(&job, 0, 1, 1);
		npu_job_seal(&job);
		ASSERT_EQ(0, npu_job_run(&job, 0));
		npu_bo_destroy(&bo[1]);
		unmap(&job.commands);
		unmap(&job.records);
		unmap(&job.data);
		/* Everything else is left to close(). */
		close(fd);
	}
}

struct churn {
	int fd;
	volatile bool *stop;
	struct npu_bo *shared;
	int ret;
};

static void *churn_memory(void *argument)
{
	struct churn *churn = argument;
	struct npu_bo bo;

	while (!*churn->stop && !churn->ret) {
		churn->ret = npu_bo_create(churn->fd, NPU_MEM_DATA, 5 * NPU_PAGE, &bo);
		if (!churn->ret)
			npu_bo_destroy(&bo);
	}
	return NULL;
}

static void *churn_sync(void *argument)
{
	struct churn *churn = argument;
	uint64_t token = churn->shared->token;

	while (!*churn->stop) {
		struct npu_bo guess = *churn->shared;

		guess.token = token;
		npu_bo_sync(&guess, RKNPU_MEM_SYNC_MASK, 0, NPU_PAGE);
	}
	return NULL;
}

TEST_F_TIMEOUT(lifetime, b17_memory_and_jobs_from_many_threads_of_one_file, 60)
{
	volatile bool stop = false;
	struct npu_bo shared;
	struct churn churn = { self->fd, &stop, &shared, 0 };
	pthread_t threads[5];
	uint64_t end = npu_now_ms() + 4000;
	int i;

	ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_DATA, NPU_PAGE, &shared));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, i < 4 ? churn_memory : churn_sync,
					    &churn));
	while (npu_now_ms() < end)
		ASSERT_EQ(0, npu_chain_check(self->fd, 20, 0));
	stop = true;
	for (i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	EXPECT_EQ(0, churn.ret);
	npu_bo_destroy(&shared);
}

TEST_HARNESS_MAIN
