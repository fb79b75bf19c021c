// SPDX-License-Identifier: MIT
/*
 * How well 30 threads keep three cores busy: for scripts/bench.sh, with an
 * emulator whose jobs take some time (--fault late:core=any,job=any,value=MS).
 * Prints "NAME value" lines: the wall time over the ideal one, the most jobs of
 * a core over the least, and the busy share of the cores.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npu_device.h"
#include "npu_jobs.h"

#define THREADS 30u
#define ROUNDS 20u
#define CORES 3u

struct thread {
	pthread_t id;
	struct npu_job *job;
	int ret;
	int64_t hardware_ns;
	unsigned int jobs[CORES];
};

static void *work(void *argument)
{
	struct thread *thread = argument;
	unsigned int i, core;

	for (i = 0; i < ROUNDS && !thread->ret; i++) {
		struct rknpu_submit args = npu_job_args(thread->job, 0);

		thread->ret = npu_submit(thread->job->fd, &args);
		thread->hardware_ns += args.hw_elapse_time;
		for (core = 0; core < CORES; core++)
			thread->jobs[core] += args.core_mask >> core & 1;
	}
	return NULL;
}

static int run(struct npu_job *job, struct thread *threads, uint64_t *wall_ms)
{
	uint64_t start = npu_now_ms();
	unsigned int i;
	int ret = 0;

	for (i = 0; i < THREADS; i++) {
		threads[i].job = job;
		if (pthread_create(&threads[i].id, NULL, work, &threads[i]))
			return -EAGAIN;
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i].id, NULL);
		ret = ret ? ret : threads[i].ret;
	}
	*wall_ms = npu_now_ms() - start;
	return ret;
}

static void report(const struct thread *threads, uint64_t wall_ms, unsigned int job_ms)
{
	unsigned int jobs[CORES] = { 0 }, most = 0, least = UINT32_MAX, i, core;
	uint64_t ideal_ms = (uint64_t)THREADS * ROUNDS * job_ms / CORES;
	int64_t busy_ns = 0;

	for (i = 0; i < THREADS; i++) {
		busy_ns += threads[i].hardware_ns;
		for (core = 0; core < CORES; core++)
			jobs[core] += threads[i].jobs[core];
	}
	for (core = 0; core < CORES; core++) {
		most = jobs[core] > most ? jobs[core] : most;
		least = jobs[core] < least ? jobs[core] : least;
	}
	printf("spread-wall-percent-of-ideal %.1f\n", 100.0 * (double)wall_ms / (double)ideal_ms);
	printf("spread-most-by-least-jobs %.3f\n", least ? (double)most / least : 1e9);
	printf("spread-busy-percent %.1f\n",
	       (double)busy_ns / 1e4 / (double)wall_ms / (double)CORES);
}

/* Argument: how long a job takes, in ms. */
int main(int argc, char **argv)
{
	unsigned int job_ms = argc > 1 ? (unsigned int)atoi(argv[1]) : 0;
	static struct thread threads[THREADS];
	uint64_t wall_ms = 0;
	struct npu_job job;
	int fd = npu_open(), ret;

	ret = fd < 0 ? fd : npu_job_init(&job, fd, 1, 2);
	if (!ret) {
		npu_job_add_offset(&job, 0, 1, 1);
		npu_job_seal(&job);
		ret = npu_job_run(&job, 1);
	}
	ret = ret ? ret : run(&job, threads, &wall_ms);
	if (ret || !job_ms) {
		printf("spread: %s\n", strerror(ret ? -ret : EINVAL));
		return 1;
	}
	report(threads, wall_ms, job_ms);
	return 0;
}
