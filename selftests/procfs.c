// SPDX-License-Identifier: MIT
// /proc/rknpu: the debugfs files once more, where everybody may read them.
#define _GNU_SOURCE
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "npu_device.h"

#define PROCFS "/proc/rknpu/"

FIXTURE(procfs) {
	char text[8192];
};

FIXTURE_SETUP(procfs)
{
	if (access(PROCFS "version", F_OK))
		SKIP(return, "no /proc/rknpu: the driver was built without it");
	if (npu_debugfs_read("version", self->text, sizeof(self->text)))
		SKIP(return, "no debugfs directory rknpu");
}

FIXTURE_TEARDOWN(procfs)
{
}

TEST_F(procfs, b37_same_texts_as_debugfs)
{
	static const char *const names[] = { "version", "delayms", "reset", "mm" };
	char path[64], text[8192];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), PROCFS "%s", names[i]);
		ASSERT_EQ(0, npu_debugfs_read(names[i], self->text, sizeof(self->text)));
		ASSERT_LE(0, npu_read_text(path, text, sizeof(text)));
		EXPECT_STREQ(self->text, text);
	}
	EXPECT_LT(0, npu_read_text(PROCFS "load", text, sizeof(text)));
	EXPECT_EQ(0, strncmp(text, "NPU load: ", 10));
}

TEST_F(procfs, what_names_processes_is_not_there)
{
	EXPECT_EQ(-ENOENT, npu_read_text(PROCFS "clients", self->text, sizeof(self->text)));
	EXPECT_EQ(-ENOENT, npu_read_text(PROCFS "jobs", self->text, sizeof(self->text)));
}

TEST_F(procfs, everybody_may_read_and_only_root_may_write)
{
	pid_t child;
	int status;

	if (geteuid() != 0)
		SKIP(return, "dropping rights needs root");
	child = fork();
	ASSERT_LE(0, child);
	if (child == 0) {
		if (setgid(65534) || setuid(65534))
			_exit(1);
		if (npu_read_text(PROCFS "load", self->text, sizeof(self->text)) <= 0)
			_exit(2);
		_exit(npu_write_text(PROCFS "delayms", "1\n") == -EACCES ? 0 : 3);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, WEXITSTATUS(status));
}

TEST_F(procfs, b33_writes_have_the_same_rules)
{
	char before[32];

	if (geteuid() != 0)
		SKIP(return, "writing needs root");
	ASSERT_LT(0, npu_read_text(PROCFS "delayms", before, sizeof(before)));
	EXPECT_EQ(0, npu_write_text(PROCFS "delayms", "4321"));
	EXPECT_EQ(0, npu_debugfs_read("delayms", self->text, sizeof(self->text)));
	EXPECT_STREQ("4321\n", self->text);
	EXPECT_EQ(-EINVAL, npu_write_text(PROCFS "delayms", "soon\n"));
	EXPECT_EQ(-EINVAL, npu_write_text(PROCFS "reset", "maybe\n"));
	EXPECT_EQ(0, npu_write_text(PROCFS "delayms", before));
}

TEST_HARNESS_MAIN
