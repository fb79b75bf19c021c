// SPDX-License-Identifier: MIT
// The text files of debugfs, byte for byte, and what may be written to them.
#define _GNU_SOURCE
#include <ctype.h>
#include <fcntl.h>

#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

FIXTURE(debugfs) {
	int fd;
	int cores;
	char text[8192];
};

FIXTURE_SETUP(debugfs)
{
	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
	if (npu_debugfs_read("version", self->text, sizeof(self->text)))
		SKIP(return, "no debugfs directory rknpu");
	self->cores = npu_core_count(self->fd);
	ASSERT_LT(0, self->cores);
}

FIXTURE_TEARDOWN(debugfs)
{
	close(self->fd);
}

/* Takes one load figure: at least two characters, right-aligned, 0 to 100. */
static bool take_percent(const char **text, long *value)
{
	const char *start = *text;
	char *end;

	if (!isdigit((unsigned char)start[0]) && start[0] != ' ')
		return false;
	*value = strtol(start, &end, 10);
	if (end - start != (*value == 100 ? 3 : 2) || *value < 0 || *value > 100)
		return false;
	*text = end + 1;
	return *end == '%';
}

/* The exact layout; loads get the figures. */
static bool parse_load(const char *text, int cores, long *loads)
{
	char head[16];
	int core;

	if (strncmp(text, "NPU load: ", 10))
		return false;
	text += 10;
	if (cores == 1)
		return take_percent(&text, loads) && strcmp(text, "\n") == 0;
	for (core = 0; core < cores; core++) {
		int length = snprintf(head, sizeof(head), " Core%d: ", core);

		if (strncmp(text, head, (size_t)length))
			return false;
		text += length;
		if (!take_percent(&text, &loads[core]) || *text++ != ',')
			return false;
	}
	return strcmp(text, "\n") == 0;
}

static bool is_number_line(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits && strcmp(text + digits, "\n") == 0;
}

TEST_F(debugfs, b37_version)
{
	EXPECT_STREQ("RKNPU driver: v0.9.8\n", self->text);
}

TEST_F(debugfs, b35_b36_load_layout)
{
	long loads[3];

	ASSERT_EQ(0, npu_debugfs_read("load", self->text, sizeof(self->text)));
	EXPECT_TRUE(parse_load(self->text, self->cores, loads));
	TH_LOG("%.60s", self->text);
}

TEST_F(debugfs, b34_load_shows_a_hung_core_and_then_rests)
{
	struct rknpu_submit args;
	long loads[3] = { -1, -1, -1 };
	struct npu_job job;
	int i, full = 0;

	ASSERT_EQ(0, npu_job_init_hang(&job, self->fd));
	args = npu_job_args(&job, 1);
	args.flags |= RKNPU_JOB_NONBLOCK;
	args.timeout = 20000;
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	for (i = 0; i < 35; i++) {
		usleep(100000);
		ASSERT_EQ(0, npu_debugfs_read("load", self->text, sizeof(self->text)));
		ASSERT_TRUE(parse_load(self->text, self->cores, loads));
		full += loads[0] >= 95;
		if (self->cores > 1)
			EXPECT_GE(50, loads[1]);
	}
	EXPECT_LT(5, full);
	npu_job_free(&job);
	close(self->fd);
	self->fd = npu_open();
	for (i = 0; i < 30 && loads[0]; i++) {
		usleep(100000);
		ASSERT_EQ(0, npu_debugfs_read("load", self->text, sizeof(self->text)));
		ASSERT_TRUE(parse_load(self->text, self->cores, loads));
	}
	EXPECT_EQ(0, loads[0]);
}

TEST_F(debugfs, power_and_reset_say_on_or_off)
{
	static const char *const files[] = { "power", "reset" };
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, npu_debugfs_read(files[i], self->text, sizeof(self->text)));
		EXPECT_TRUE(strcmp(self->text, "on\n") == 0 || strcmp(self->text, "off\n") == 0);
	}
}

TEST_F(debugfs, freq_is_one_bare_number)
{
	uint32_t rate = 0;

	ASSERT_EQ(0, npu_debugfs_read("freq", self->text, sizeof(self->text)));
	EXPECT_TRUE(is_number_line(self->text));
	ASSERT_EQ(0, npu_action(self->fd, RKNPU_GET_FREQ, &rate));
	EXPECT_EQ(rate, strtoul(self->text, NULL, 10));
}

TEST_F(debugfs, b31_volt_is_a_number_or_enodev)
{
	uint32_t value = 0;
	int ret = npu_debugfs_read("volt", self->text, sizeof(self->text));

	EXPECT_EQ(ret, npu_action(self->fd, RKNPU_GET_VOLT, &value));
	if (ret == 0)
		EXPECT_TRUE(is_number_line(self->text));
	else
		EXPECT_EQ(-ENODEV, ret);
}

TEST_F(debugfs, delayms_reads_back)
{
	static const char *const values[][2] = {
		{ "100\n", "100\n" }, { "0", "0\n" }, { "2500", "2500\n" }, { "3000\n", "3000\n" },
	};
	int i;

	ASSERT_EQ(0, npu_debugfs_read("delayms", self->text, sizeof(self->text)));
	EXPECT_STREQ("3000\n", self->text);
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(0, npu_debugfs_write("delayms", values[i][0], strlen(values[i][0])));
		ASSERT_EQ(0, npu_debugfs_read("delayms", self->text, sizeof(self->text)));
		EXPECT_STREQ(values[i][1], self->text);
	}
}

TEST_F(debugfs, b33_reset_switch_takes_both_newline_forms)
{
	static const char *const words[] = { "off\n", "on\n", "off", "on" };
	char want[8];
	int i;

	for (i = 0; i < 4; i++) {
		EXPECT_EQ(0, npu_debugfs_write("reset", words[i], strlen(words[i])));
		ASSERT_EQ(0, npu_debugfs_read("reset", self->text, sizeof(self->text)));
		snprintf(want, sizeof(want), "%s\n", i % 2 ? "on" : "off");
		EXPECT_STREQ(want, self->text);
	}
	EXPECT_EQ(0, npu_debugfs_write("reset", "1", 1));
	EXPECT_EQ(0, npu_debugfs_write("reset", "1\n", 2));
	EXPECT_EQ(0, npu_healthy());
}

TEST_F(debugfs, b33_power_switch_balances)
{
	char before[16];

	ASSERT_EQ(0, npu_debugfs_read("power", before, sizeof(before)));
	EXPECT_EQ(0, npu_debugfs_write("power", "on", 2));
	ASSERT_EQ(0, npu_debugfs_read("power", self->text, sizeof(self->text)));
	EXPECT_STREQ("on\n", self->text);
	EXPECT_EQ(0, npu_debugfs_write("power", "on\n", 3));
	EXPECT_EQ(0, npu_debugfs_write("power", "off", 3));
	EXPECT_EQ(0, npu_chain_check(self->fd, 1, 0));
}

struct bad_write {
	const char *text;
	size_t size;
};

static const struct bad_write bad_writes[] = {
	{ "", 0 },		       { "\n", 1 },		{ "on ", 3 },
	{ "x", 1 },		       { "onn", 3 },		{ "o", 1 },
	{ "1234567", 7 },	       { "12345678", 8 },	{ "aaaaaaaaaaaaaaa", 15 },
	{ "aaaaaaaaaaaaaaaa", 16 },    { "aaaaaaaaaaaaaaaaa", 17 }, { "-1", 2 },
	{ "o\0n", 3 },		       { "0x10z", 5 },		{ "18446744073709551616", 20 },
};

/* Nothing that is not understood may change anything. */
TEST_F(debugfs, b33_bad_writes_are_refused)
{
	static const char *const files[] = { "power", "reset" };
	char before[16];
	unsigned int f, i;

	for (f = 0; f < 2; f++) {
		ASSERT_EQ(0, npu_debugfs_read(files[f], before, sizeof(before)));
		for (i = 0; i < sizeof(bad_writes) / sizeof(bad_writes[0]); i++)
			EXPECT_EQ(-EINVAL, npu_debugfs_write(files[f], bad_writes[i].text,
							     bad_writes[i].size));
		ASSERT_EQ(0, npu_debugfs_read(files[f], self->text, sizeof(self->text)));
		EXPECT_STREQ(before, self->text);
	}
}

TEST_F(debugfs, b33_bad_numbers_are_refused)
{
	unsigned int i;

	for (i = 0; i < sizeof(bad_writes) / sizeof(bad_writes[0]); i++) {
		int ret;

		/* These two are numbers, and a long wait is no mistake. */
		if (strncmp(bad_writes[i].text, "1234567", 7) == 0)
			continue;
		ret = npu_debugfs_write("delayms", bad_writes[i].text, bad_writes[i].size);
		EXPECT_TRUE(ret == -EINVAL || ret == -EFAULT || ret == -ERANGE);
	}
	ASSERT_EQ(0, npu_debugfs_read("delayms", self->text, sizeof(self->text)));
	EXPECT_STREQ("3000\n", self->text);
}

TEST_F(debugfs, mm_has_the_sram_layout)
{
	unsigned int total, used, free_bytes, chunks, row = 0, length;
	uint32_t sram = 0;
	char *line;

	ASSERT_EQ(0, npu_action(self->fd, RKNPU_GET_TOTAL_SRAM_SIZE, &sram));
	ASSERT_EQ(0, npu_debugfs_read("mm", self->text, sizeof(self->text)));
	if (sram == 0) {
		EXPECT_STREQ("", self->text);
		SKIP(return, "this device has no SRAM: the file is empty");
	}
	line = strtok(self->text, "\n");
	ASSERT_TRUE(line != NULL);
	EXPECT_STREQ("SRAM bitmap: \"*\" - used, \".\" - free (1bit = 4KB)", line);
	for (chunks = sram / 4096; chunks; chunks -= length, row++) {
		char want[64];

		length = chunks < 32 ? chunks : 32;
		snprintf(want, sizeof(want), "[%03u] [%.*s]", row, (int)length,
			 "................................");
		line = strtok(NULL, "\n");
		ASSERT_TRUE(line != NULL);
		EXPECT_STREQ(want, line);
	}
	line = strtok(NULL, "\n");
	ASSERT_TRUE(line != NULL);
	ASSERT_EQ(3, sscanf(line, "SRAM total size: %u, used: %u, free: %u", &total, &used,
			    &free_bytes));
	EXPECT_EQ(sram, total);
	EXPECT_EQ(0, used);
	EXPECT_EQ(sram, free_bytes);
	EXPECT_TRUE(strtok(NULL, "\n") == NULL);
}

/* The rules of the public monitors, applied to what is shown. */
TEST_F(debugfs, b35_public_monitors_find_their_figures)
{
	const char *core, *percent;
	int found = 0, figures = 0;

	ASSERT_EQ(0, npu_debugfs_read("load", self->text, sizeof(self->text)));
	EXPECT_GT(255, strlen(self->text));
	for (core = self->text; (core = strstr(core, "Core")) != NULL; core++) {
		int index, load;

		if (sscanf(core, "Core%d: %d%%", &index, &load) == 2)
			found++;
	}
	for (percent = self->text; (percent = strchr(percent, '%')) != NULL; percent++)
		figures += percent > self->text && isdigit((unsigned char)percent[-1]);
	EXPECT_EQ(self->cores, figures);
	EXPECT_EQ(self->cores > 1 ? self->cores : 0, found);
	ASSERT_EQ(0, npu_debugfs_read("version", self->text, sizeof(self->text)));
	EXPECT_TRUE(strchr(self->text, ':') == strrchr(self->text, ':'));
}

TEST_F(debugfs, small_reads_give_the_same_text)
{
	char path[] = "/sys/kernel/debug/rknpu/load", byte, joined[256] = "";
	int file = open(path, O_RDONLY), length = 0;
	long loads[3];

	ASSERT_LE(0, file);
	while (length < 255 && read(file, &byte, 1) == 1)
		joined[length++] = byte;
	EXPECT_TRUE(parse_load(joined, self->cores, loads));
	close(file);
}

/* Watching must not keep the NPU awake. */
TEST_F(debugfs, reading_does_not_wake_the_npu)
{
	static const char *const files[] = { "version", "load", "power", "delayms", "mm" };
	int i;

	close(self->fd);
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, npu_debugfs_read("power", self->text, sizeof(self->text)));
		if (strcmp(self->text, "off\n") == 0)
			break;
		usleep(100000);
	}
	EXPECT_STREQ("off\n", self->text);
	for (i = 0; i < 50; i++) {
		ASSERT_EQ(0, npu_debugfs_read(files[i % 5], self->text, sizeof(self->text)));
		ASSERT_EQ(0, npu_debugfs_read("power", self->text, sizeof(self->text)));
		ASSERT_STREQ("off\n", self->text);
	}
	self->fd = npu_open();
}

TEST_HARNESS_MAIN
