// SPDX-License-Identifier: MIT
/*
 * Interrupt lines: their names, where they start and who may move them.
 * RKNPU_IRQ_CPUS and RKNPU_IRQ_FOLLOW say how the driver was loaded.
 *
 * "irq cost CPU JOBS" measures instead: jobs submitted on one CPU with the line
 * on CPU 0.
 */
#define _GNU_SOURCE
#include <sched.h>

#include "harness.h"
#include "npu_board.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define LINES 3

FIXTURE(irq) {
	int fd;
	int lines[LINES];
	int count;
	int cpus;
};

/* Numbers of the NPU's lines, by core; how many there are. */
static int find_lines(int *lines)
{
	FILE *file = fopen("/proc/interrupts", "r");
	char text[512];
	int count = 0;

	while (file && fgets(text, sizeof(text), file)) {
		const char *name = strstr(text, ".npu-core");
		int core = name ? atoi(name + strlen(".npu-core")) : -1;

		if (core < 0 || core >= LINES)
			continue;
		lines[core] = atoi(text);
		count++;
	}
	if (file)
		fclose(file);
	return count;
}

FIXTURE_SETUP(irq)
{
	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
	self->count = find_lines(self->lines);
	self->cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
}

FIXTURE_TEARDOWN(irq)
{
	close(self->fd);
}

/* The CPUs that a line may go to, as a list, or how many interrupts each has had. */
static void affinity(int line, char *list, unsigned int size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/irq/%d/smp_affinity_list", line);
	if (npu_read_line(path, list, size))
		list[0] = '\0';
}

static int set_affinity(int line, const char *list)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/irq/%d/smp_affinity_list", line);
	return npu_write_text(path, list);
}

static unsigned long count_on(int line, int cpu)
{
	FILE *file = fopen("/proc/interrupts", "r");
	unsigned long count = 0;
	char text[512], *at;
	int i;

	while (file && fgets(text, sizeof(text), file)) {
		if (atoi(text) != line || !strchr(text, ':'))
			continue;
		at = strchr(text, ':') + 1;
		for (i = 0; i <= cpu; i++)
			count = strtoul(at, &at, 10);
		break;
	}
	if (file)
		fclose(file);
	return count;
}

static int move_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

TEST_F(irq, b32_each_core_has_a_line_with_a_name)
{
	EXPECT_EQ(npu_core_count(self->fd), self->count);
}

TEST_F(irq, b32_lines_start_where_they_were_sent)
{
	const char *cpus = getenv("RKNPU_IRQ_CPUS"), *follow = getenv("RKNPU_IRQ_FOLLOW");
	char list[64], want[16];
	int core;

	if (follow)
		SKIP(return, "the lines follow the jobs (irq_follow)");
	for (core = 0; core < self->count; core++) {
		if (cpus)
			snprintf(want, sizeof(want), "%s", cpus);
		else
			snprintf(want, sizeof(want), "%d", core % self->cpus);
		affinity(self->lines[core], list, sizeof(list));
		EXPECT_STREQ(want, list);
	}
}

TEST_F(irq, b32_administrators_choice_survives_power_cycles)
{
	const char *follow = getenv("RKNPU_IRQ_FOLLOW");
	char list[64], before[64], want[2];
	unsigned long seen;
	int round;

	if (follow)
		SKIP(return, "the lines follow the jobs (irq_follow)");
	if (self->cpus < 2)
		SKIP(return, "needs a second CPU");
	affinity(self->lines[0], before, sizeof(before));
	for (round = 0; round < 4; round++) {
		snprintf(want, sizeof(want), "%d", round % 2);
		ASSERT_EQ(0, set_affinity(self->lines[0], want));
		if (npu_board_open())
			ASSERT_TRUE(npu_board_wait_off());
		seen = count_on(self->lines[0], round % 2);
		ASSERT_EQ(0, npu_chain_check(self->fd, 2, 1));
		affinity(self->lines[0], list, sizeof(list));
		EXPECT_STREQ(want, list);
		EXPECT_LT(seen, count_on(self->lines[0], round % 2));
	}
	EXPECT_EQ(0, npu_debugfs_write("delayms", "3000", 4));
	EXPECT_EQ(0, set_affinity(self->lines[0], before));
}

TEST_F(irq, b32_line_follows_the_submitter_if_told_to)
{
	unsigned long seen;
	char list[64], want[16];
	int round, cpu;

	if (!getenv("RKNPU_IRQ_FOLLOW"))
		SKIP(return, "the driver was loaded without irq_follow=1");
	if (self->cpus < 2)
		SKIP(return, "needs a second CPU");
	for (round = 0; round < 6; round++) {
		cpu = round % 2;
		ASSERT_EQ(0, move_to(cpu));
		seen = count_on(self->lines[0], cpu);
		ASSERT_EQ(0, npu_chain_check(self->fd, 2, 1));
		affinity(self->lines[0], list, sizeof(list));
		snprintf(want, sizeof(want), "%d", cpu);
		EXPECT_STREQ(want, list);
		EXPECT_LT(seen, count_on(self->lines[0], cpu));
	}
}

/* Interrupts between CPUs, of all kinds. */
static unsigned long count_ipis(void)
{
	FILE *file = fopen("/proc/interrupts", "r");
	unsigned long count = 0;
	char text[512], *at, *end;

	while (file && fgets(text, sizeof(text), file)) {
		if (!strstr(text, "IPI"))
			continue;
		for (at = strchr(text, ':') + 1;; at = end) {
			unsigned long one = strtoul(at, &end, 10);

			if (end == at)
				break;
			count += one;
		}
	}
	if (file)
		fclose(file);
	return count;
}

static int measure(int cpu, unsigned int jobs)
{
	int lines[LINES] = {}, fd = npu_open();
	unsigned long ipis;
	struct npu_job job;
	unsigned int i;
	uint64_t start;

	if (fd < 0 || find_lines(lines) < 1 || npu_job_init(&job, fd, 1, 2))
		return 1;
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_seal(&job);
	if (move_to(cpu) || set_affinity(lines[0], "0"))
		return 1;
	for (i = 0; i < 20; i++) {
		if (npu_job_run(&job, 1))
			return 1;
	}
	ipis = count_ipis();
	start = npu_now_ms();
	for (i = 0; i < jobs; i++) {
		if (npu_job_run(&job, 1))
			return 1;
	}
	printf("line on CPU 0, jobs from CPU %d: %.2f interrupts between CPUs, %.0f us per job\n",
	       cpu, (double)(count_ipis() - ipis) / jobs,
	       (double)(npu_now_ms() - start) * 1000 / jobs);
	npu_job_free(&job);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "cost") == 0)
		return measure(atoi(argv[2]), (unsigned int)atoi(argv[3]));
	return test_harness_run(argc, argv);
}
