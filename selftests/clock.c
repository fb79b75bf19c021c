// SPDX-License-Identifier: MIT
/* The clock: devfreq, the nodes and actions for rate and voltage, cooling. */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>

#include "harness.h"
#include "npu_board.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define LOWEST 300000000ul
#define HIGHEST 1000000000ul

/* The board's operating points. */
static const struct point {
	unsigned long hz;
	unsigned int uv;
} points[] = {
	{ 300000000, 700000 }, { 500000000, 700000 }, { 700000000, 700000 },
	{ 800000000, 750000 }, { 900000000, 800000 }, { 1000000000, 850000 },
};

#define POINTS (sizeof(points) / sizeof(points[0]))

FIXTURE(clock) {
	int fd;
};

FIXTURE_SETUP(clock)
{
	uint32_t value = 0;

	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
	if (!npu_board_open())
		SKIP(return, "not the emulated board with a clock");
	if (npu_debugfs_write("freq", "0", 1) == -EFAULT)
		SKIP(return, "the clock of this board is fixed");
	ASSERT_EQ(0, npu_action(self->fd, RKNPU_POWER_ON, &value));
}

FIXTURE_TEARDOWN(clock)
{
	npu_board_write(BOARD_FAULT_JOBS, 0);
	EXPECT_EQ(0, npu_debugfs_write("freq", "0", 1));
	EXPECT_EQ(0, npu_healthy());
	EXPECT_EQ(0, npu_board_read(BOARD_VIOLATIONS));
	close(self->fd);
}

static unsigned long node(const char *name)
{
	char text[32];

	return npu_debugfs_read(name, text, sizeof(text)) ? 0 : strtoul(text, NULL, 10);
}

/* Until the clock has @hz, or ten seconds are over. */
static unsigned long wait_rate(unsigned long hz)
{
	uint64_t end = npu_now_ms() + 10000;

	while (npu_board_read(BOARD_CLOCK_RATE) != hz && npu_now_ms() < end)
		usleep(20000);
	return npu_board_read(BOARD_CLOCK_RATE);
}

TEST_F(clock, freq_node_sets_rate_and_voltage)
{
	char text[32], want[32];
	uint32_t value;
	unsigned int i;

	for (i = 0; i < POINTS; i++) {
		snprintf(want, sizeof(want), "%lu\n", points[i].hz);
		ASSERT_EQ(0, npu_debugfs_write("freq", want, strlen(want) - i % 2));
		EXPECT_EQ(points[i].hz, npu_board_read(BOARD_CLOCK_RATE));
		EXPECT_EQ(points[i].uv, npu_board_read(BOARD_SUPPLY));
		ASSERT_EQ(0, npu_debugfs_read("freq", text, sizeof(text)));
		EXPECT_STREQ(want, text);
		ASSERT_EQ(0, npu_action(self->fd, RKNPU_GET_FREQ, &value));
		EXPECT_EQ(points[i].hz, value);
		snprintf(want, sizeof(want), "%u\n", points[i].uv);
		ASSERT_EQ(0, npu_debugfs_read("volt", text, sizeof(text)));
		EXPECT_STREQ(want, text);
		ASSERT_EQ(0, npu_action(self->fd, RKNPU_GET_VOLT, &value));
		EXPECT_EQ(points[i].uv, value);
	}
}

TEST_F(clock, rate_between_two_points_takes_the_higher_one)
{
	static const struct {
		const char *text;
		unsigned long hz;
	} writes[] = {
		{ "1", LOWEST },	 { "300000001", 500000000 }, { "799999999", 800000000 },
		{ "800000001\n", 900000000 }, { "1000000001", HIGHEST }, { "99999999999", HIGHEST },
	};
	unsigned int i;

	for (i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
		EXPECT_EQ(0, npu_debugfs_write("freq", writes[i].text, strlen(writes[i].text)));
		EXPECT_EQ(writes[i].hz, npu_board_read(BOARD_CLOCK_RATE));
	}
}

TEST_F(clock, b33_what_is_no_number_changes_nothing)
{
	static const char *const texts[] = { "", "\n", "x", "-1", "0x10", "1 ", "1e9", "on" };
	unsigned int i;

	ASSERT_EQ(0, npu_debugfs_write("freq", "500000000", 9));
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		EXPECT_EQ(-EINVAL, npu_debugfs_write("freq", texts[i], strlen(texts[i])));
		EXPECT_EQ(500000000, npu_board_read(BOARD_CLOCK_RATE));
	}
	EXPECT_EQ(-EINVAL, npu_debugfs_write("freq", "1\0000", 3));
	EXPECT_EQ(-EINVAL, npu_debugfs_write("freq", "12345678901234567", 17));
	EXPECT_EQ(500000000, npu_board_read(BOARD_CLOCK_RATE));
}

TEST_F(clock, rate_and_voltage_cannot_be_set_by_action)
{
	uint32_t value = 500000000;

	EXPECT_EQ(-EINVAL, npu_action(self->fd, RKNPU_SET_FREQ, &value));
	EXPECT_EQ(-EINVAL, npu_action(self->fd, RKNPU_SET_VOLT, &value));
}

/* Chosen while the NPU is off: there when it is on again, and shown meanwhile. */
TEST_F(clock, choice_is_kept_while_the_npu_is_off)
{
	uint32_t value = 0;

	ASSERT_EQ(0, npu_action(self->fd, RKNPU_POWER_OFF, &value));
	ASSERT_TRUE(npu_board_wait_off());
	ASSERT_EQ(0, npu_debugfs_write("freq", "900000000", 9));
	EXPECT_EQ(900000000, node("freq"));
	EXPECT_GE(200000000, npu_board_read(BOARD_CLOCK_RATE));
	ASSERT_EQ(0, npu_action(self->fd, RKNPU_POWER_ON, &value));
	EXPECT_EQ(900000000, npu_board_read(BOARD_CLOCK_RATE));
	EXPECT_EQ(800000, npu_board_read(BOARD_SUPPLY));
	EXPECT_EQ(0, npu_debugfs_write("delayms", "3000", 4));
}

struct load {
	pthread_t thread;
	int fd;
	volatile int stop;
	int ret;
};

static void *make_load(void *argument)
{
	struct load *load = argument;

	while (!load->stop && !load->ret) {
		npu_board_slow(200, 1);
		load->ret = npu_chain_check(load->fd, 1, 2);
	}
	return NULL;
}

static bool in_table(unsigned long hz)
{
	unsigned int i;

	for (i = 0; i < POINTS; i++) {
		if (points[i].hz == hz)
			return true;
	}
	return false;
}

/* One busy core is reason enough. */
TEST_F_TIMEOUT(clock, b30_clock_follows_the_load, 60)
{
	struct load load = { .fd = self->fd };
	int i;

	if (npu_core_count(self->fd) < 2)
		SKIP(return, "needs a second core");
	EXPECT_EQ(LOWEST, wait_rate(LOWEST));
	ASSERT_EQ(0, pthread_create(&load.thread, NULL, make_load, &load));
	EXPECT_EQ(HIGHEST, wait_rate(HIGHEST));
	load.stop = 1;
	for (i = 0; i < 50; i++) {
		EXPECT_TRUE(in_table(npu_board_read(BOARD_CLOCK_RATE)));
		usleep(10000);
	}
	pthread_join(load.thread, NULL);
	EXPECT_EQ(0, load.ret);
	EXPECT_EQ(LOWEST, wait_rate(LOWEST));
}

/* /sys/class/devfreq/NAME, of the NPU. */
static bool devfreq_dir(char *path, size_t size)
{
	struct dirent *entry;
	DIR *dir = opendir("/sys/class/devfreq");
	bool found = false;

	while (dir && !found && (entry = readdir(dir)) != NULL) {
		found = strstr(entry->d_name, ".npu") != NULL;
		snprintf(path, size, "/sys/class/devfreq/%s", entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

TEST_F(clock, monitors_find_the_usual_devfreq_files)
{
	char dir[280], path[320], text[160];

	ASSERT_TRUE(devfreq_dir(dir, sizeof(dir)));
	snprintf(path, sizeof(path), "%s/governor", dir);
	ASSERT_EQ(0, npu_read_line(path, text, sizeof(text)));
	EXPECT_STREQ("simple_ondemand", text);
	snprintf(path, sizeof(path), "%s/available_frequencies", dir);
	ASSERT_EQ(0, npu_read_line(path, text, sizeof(text)));
	EXPECT_STREQ("300000000 500000000 700000000 800000000 900000000 1000000000", text);
	ASSERT_EQ(0, npu_debugfs_write("freq", "700000000", 9));
	snprintf(path, sizeof(path), "%s/cur_freq", dir);
	ASSERT_EQ(0, npu_read_line(path, text, sizeof(text)));
	EXPECT_STREQ("700000000", text);
}

/* Path of the cooling device that is the NPU's. */
static bool cooling_dir(char *path, size_t size)
{
	char type[64];
	int i;

	for (i = 0; i < 16; i++) {
		snprintf(path, size, "/sys/class/thermal/cooling_device%d/type", i);
		if (npu_read_line(path, type, sizeof(type)) == 0 && strstr(type, "devfreq")) {
			snprintf(path, size, "/sys/class/thermal/cooling_device%d", i);
			return true;
		}
	}
	return false;
}

TEST_F(clock, heat_forces_a_lower_rate)
{
	char dir[64], path[96], text[16];

	if (!cooling_dir(dir, sizeof(dir)))
		SKIP(return, "no cooling device (CONFIG_DEVFREQ_THERMAL)");
	ASSERT_EQ(0, npu_debugfs_write("freq", "1000000000", 10));
	snprintf(path, sizeof(path), "%s/max_state", dir);
	ASSERT_EQ(0, npu_read_line(path, text, sizeof(text)));
	EXPECT_EQ(POINTS - 1, atoi(text));
	snprintf(path, sizeof(path), "%s/cur_state", dir);
	ASSERT_EQ(0, npu_write_text(path, "2"));
	EXPECT_EQ(800000000, npu_board_read(BOARD_CLOCK_RATE));
	ASSERT_EQ(0, npu_write_text(path, text));
	EXPECT_EQ(LOWEST, npu_board_read(BOARD_CLOCK_RATE));
	ASSERT_EQ(0, npu_write_text(path, "0"));
	EXPECT_EQ(HIGHEST, npu_board_read(BOARD_CLOCK_RATE));
}

TEST_HARNESS_MAIN
