// SPDX-License-Identifier: MIT
// Who uses the NPU: fdinfo of the open file, and the debugfs files clients and jobs.
#define _GNU_SOURCE
#include <fcntl.h>

#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

FIXTURE(accounting) {
	int fd;
	char text[16384];
};

FIXTURE_SETUP(accounting)
{
	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(accounting)
{
	close(self->fd);
}

static int read_fdinfo(int fd, char *text, size_t size)
{
	char path[64];
	int ret;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	ret = npu_read_text(path, text, size);
	return ret < 0 ? ret : 0;
}

/* The number behind a key of fdinfo; -1 when the key is missing. */
static long long fdinfo_value(int fd, const char *key)
{
	char text[4096], *line;

	if (read_fdinfo(fd, text, sizeof(text)))
		return -1;
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		size_t length = strlen(key);

		if (strncmp(line, key, length) == 0 && line[length] == ':')
			return atoll(line + length + 1);
	}
	return -1;
}

TEST_F(accounting, fdinfo_names_driver_and_client)
{
	ASSERT_EQ(0, read_fdinfo(self->fd, self->text, sizeof(self->text)));
	EXPECT_TRUE(strstr(self->text, "drm-driver:\trknpu\n") != NULL);
	EXPECT_LE(0, fdinfo_value(self->fd, "drm-client-id"));
}

TEST_F(accounting, fdinfo_counts_time_of_the_core_that_worked)
{
	struct rknpu_submit args;
	struct npu_job job;
	long long before[2], used;

	before[0] = fdinfo_value(self->fd, "drm-engine-core0");
	before[1] = fdinfo_value(self->fd, "drm-engine-core1");
	EXPECT_EQ(0, before[0]);
	ASSERT_EQ(0, npu_job_init(&job, self->fd, 50, 2));
	while (job.tasks < 50)
		npu_job_add_offset(&job, 0, 1, 1);
	npu_job_seal(&job);
	args = npu_job_args(&job, 1);
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	used = fdinfo_value(self->fd, "drm-engine-core0");
	/* Both say how long the job ran, seen from slightly different points. */
	EXPECT_LT(args.hw_elapse_time / 2, used);
	EXPECT_GT(2 * args.hw_elapse_time, used);
	EXPECT_EQ(before[1], fdinfo_value(self->fd, "drm-engine-core1"));
	npu_job_free(&job);
}

/* B-15: a leak can be blamed on the right side. */
TEST_F(accounting, b15_fdinfo_counts_memory_of_the_file)
{
	struct npu_bo bo[3];
	int i;

	EXPECT_EQ(0, fdinfo_value(self->fd, "drm-total-memory"));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_DATA, 1 << 20, &bo[i]));
	EXPECT_EQ(3 * 1024, fdinfo_value(self->fd, "drm-total-memory"));
	for (i = 0; i < 3; i++)
		npu_bo_destroy(&bo[i]);
	EXPECT_EQ(0, fdinfo_value(self->fd, "drm-total-memory"));
}

TEST_F(accounting, fdinfo_counts_sram_apart)
{
	uint32_t total = 0;
	struct npu_bo bo;

	ASSERT_EQ(0, npu_action(self->fd, RKNPU_GET_TOTAL_SRAM_SIZE, &total));
	if (!total)
		SKIP(return, "this device has no SRAM");
	ASSERT_EQ(0, npu_bo_create(self->fd, 0x103, 16 * NPU_PAGE, &bo));
	EXPECT_EQ(bo.sram >> 10, fdinfo_value(self->fd, "drm-total-sram"));
	npu_bo_destroy(&bo);
	EXPECT_EQ(0, fdinfo_value(self->fd, "drm-total-sram"));
}

TEST_F(accounting, fdinfo_of_two_files_is_apart)
{
	int other = npu_open();

	ASSERT_LE(0, other);
	ASSERT_EQ(0, npu_chain_check(other, 20, 1));
	EXPECT_EQ(0, fdinfo_value(self->fd, "drm-engine-core0"));
	EXPECT_LT(0, fdinfo_value(other, "drm-engine-core0"));
	EXPECT_NE(fdinfo_value(self->fd, "drm-client-id"), fdinfo_value(other, "drm-client-id"));
	close(other);
}

/* Lines of a debugfs file that begin with the number of this process. */
static int count_own_lines(const char *text)
{
	char head[16];
	int lines = 0;

	snprintf(head, sizeof(head), "%d ", getpid());
	while (text && *text) {
		lines += strncmp(text, head, strlen(head)) == 0;
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return lines;
}

TEST_F(accounting, clients_lists_every_open_file)
{
	int other;

	if (npu_debugfs_read("clients", self->text, sizeof(self->text)))
		SKIP(return, "no debugfs file clients");
	EXPECT_EQ(1, count_own_lines(self->text));
	other = npu_open();
	ASSERT_LE(0, other);
	ASSERT_EQ(0, npu_debugfs_read("clients", self->text, sizeof(self->text)));
	EXPECT_EQ(2, count_own_lines(self->text));
	close(other);
	ASSERT_EQ(0, npu_debugfs_read("clients", self->text, sizeof(self->text)));
	EXPECT_EQ(1, count_own_lines(self->text));
}

/* The owner of a hang can be found while it lasts. */
TEST_F(accounting, jobs_shows_the_hung_job_and_who_waits)
{
	struct rknpu_submit args;
	struct npu_job job;
	int i;

	if (npu_debugfs_read("jobs", self->text, sizeof(self->text)))
		SKIP(return, "no debugfs file jobs");
	EXPECT_EQ(0, count_own_lines(self->text));
	ASSERT_EQ(0, npu_job_init_hang(&job, self->fd));
	for (i = 0; i < 3; i++) {
		args = npu_job_args(&job, 1);
		args.flags |= RKNPU_JOB_NONBLOCK;
		args.timeout = 700;
		ASSERT_EQ(0, npu_submit(self->fd, &args));
	}
	ASSERT_EQ(0, npu_debugfs_read("jobs", self->text, sizeof(self->text)));
	EXPECT_EQ(3, count_own_lines(self->text));
	EXPECT_TRUE(strstr(self->text, "running") != NULL);
	EXPECT_TRUE(strstr(self->text, "queued") != NULL);
	EXPECT_EQ(0, npu_chain_check(self->fd, 1, 1));
	ASSERT_EQ(0, npu_debugfs_read("jobs", self->text, sizeof(self->text)));
	EXPECT_EQ(0, count_own_lines(self->text));
	npu_job_free(&job);
}

TEST_HARNESS_MAIN
