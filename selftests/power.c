// SPDX-License-Identifier: MIT
/*
 * Power: what is switched on and off, in which order, and what happens when it
 * fails. The board counts each wrong order (K13) and each register touched
 * without power (K14); every test ends with none.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include "harness.h"
#include "npu_board.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define SAFE_RATE 200000000u
#define FOR_EVER 0xffffu
#define SWITCHES 4u /* three domains and the supply */
#define DOMAINS "/sys/firmware/devicetree/base/npu@10100000/power-domains"
#define ONE_DOMAIN 8 /* bytes: phandle and number */

FIXTURE(power) {
	int fd;
	uint32_t cores;
};

FIXTURE_SETUP(power)
{
	int cores;

	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
	if (!npu_board_open())
		SKIP(return, "not the emulated board with power domains");
	npu_board_write(BOARD_POWER_FAIL, 0);
	npu_board_write(BOARD_FAULT_JOBS, 0);
	cores = npu_core_count(self->fd);
	ASSERT_LT(0, cores);
	self->cores = (1u << cores) - 1;
	EXPECT_EQ(0, npu_board_read(BOARD_VIOLATIONS));
}

FIXTURE_TEARDOWN(power)
{
	npu_board_write(BOARD_POWER_FAIL, 0);
	npu_board_write(BOARD_FAULT_JOBS, 0);
	EXPECT_EQ(0, npu_healthy());
	EXPECT_EQ(0, npu_debugfs_write("delayms", "3000", 4));
	EXPECT_EQ(0, npu_board_read(BOARD_VIOLATIONS));
	close(self->fd);
}

static void expect_all_off(struct test_case *_test)
{
	EXPECT_TRUE(npu_board_wait_off());
	EXPECT_EQ(0, npu_board_read(BOARD_POWER));
	EXPECT_EQ(0, npu_board_read(BOARD_SUPPLY));
	EXPECT_EQ(0, npu_board_read(BOARD_CLOCK_ON));
	EXPECT_GE(SAFE_RATE, npu_board_read(BOARD_CLOCK_RATE));
}

TEST_F(power, b29_idle_switches_everything_off_and_a_job_on_again)
{
	uint32_t value = 0;
	int round;

	for (round = 0; round < 3; round++) {
		expect_all_off(_test);
		ASSERT_EQ(0, npu_action(self->fd, RKNPU_POWER_ON, &value));
		EXPECT_EQ(self->cores, npu_board_read(BOARD_POWER) & self->cores);
		EXPECT_EQ(1, npu_board_read(BOARD_CLOCK_ON));
		EXPECT_LT(0, npu_board_read(BOARD_SUPPLY));
		EXPECT_EQ(0, npu_chain_check(self->fd, 3, 0));
		ASSERT_EQ(0, npu_action(self->fd, RKNPU_POWER_OFF, &value));
	}
	expect_all_off(_test);
}

/* At its highest rate as at its lowest: the clock goes down before the power does. */
TEST_F(power, b29_clock_is_never_high_without_power)
{
	static const char *const rates[] = { "300000000", "800000000", "1000000000" };
	unsigned int i;

	uint32_t value = 0;

	if (npu_debugfs_write("freq", "0", 1))
		SKIP(return, "the clock of this board is fixed");
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, npu_debugfs_write("freq", rates[i], strlen(rates[i])));
		EXPECT_EQ(0, npu_chain_check(self->fd, 1, 1));
		expect_all_off(_test);
		ASSERT_EQ(0, npu_action(self->fd, RKNPU_POWER_ON, &value));
		EXPECT_EQ(0, npu_chain_check(self->fd, 1, 1));
		EXPECT_EQ(strtoul(rates[i], NULL, 10), npu_board_read(BOARD_CLOCK_RATE));
		/* Gone while it is on. */
		ASSERT_EQ(0, npu_debugfs_write("delayms", "3000", 4));
		EXPECT_EQ(0, npu_chain_check(self->fd, 1, 1));
		ASSERT_EQ(0, npu_driver_bind(false));
		EXPECT_EQ(0, npu_board_read(BOARD_POWER));
		EXPECT_EQ(0, npu_board_read(BOARD_SUPPLY));
		EXPECT_GE(SAFE_RATE, npu_board_read(BOARD_CLOCK_RATE));
		ASSERT_EQ(0, npu_driver_bind(true));
		close(self->fd);
		self->fd = npu_open();
		ASSERT_LE(0, self->fd);
	}
}

/* The IOMMU has a bank in each core's window, and a driver that knows no domains. */
TEST_F(power, b21_no_bank_is_touched_without_its_domain)
{
	uint32_t mask;

	for (mask = 1; mask <= self->cores; mask <<= 1) {
		struct npu_bo bo;

		expect_all_off(_test);
		ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_DATA, NPU_PAGE, &bo));
		EXPECT_EQ(0, npu_board_read(BOARD_POWER));
		EXPECT_EQ(0, npu_chain_check(self->fd, 2, mask));
		npu_bo_destroy(&bo);
	}
	expect_all_off(_test);
}

static int try_submit(int fd)
{
	return npu_chain_check(fd, 1, 1);
}

static int try_power_on(int fd)
{
	uint32_t value = 0;
	int ret = npu_action(fd, RKNPU_POWER_ON, &value);

	return ret ? ret : npu_action(fd, RKNPU_POWER_OFF, &value);
}

static int try_reset(int fd)
{
	uint32_t value = 0;

	return npu_action(fd, RKNPU_ACT_RESET, &value);
}

static int try_node(int fd)
{
	int ret = npu_debugfs_write("power", "on", 2);

	(void)fd;
	return ret ? ret : npu_debugfs_write("power", "off", 3);
}

/* Create, map, sync, destroy: these need no hardware, so no power either. */
static int try_memory(int fd)
{
	struct npu_bo bo;
	int ret = npu_bo_create(fd, NPU_MEM_DATA, NPU_PAGE, &bo);

	if (ret)
		return ret;
	ret = npu_bo_sync(&bo, RKNPU_MEM_SYNC_TO_DEVICE, 0, NPU_PAGE);
	npu_bo_destroy(&bo);
	return ret;
}

static int try_query(int fd)
{
	uint32_t value = 0;

	return npu_action(fd, RKNPU_GET_HW_VERSION, &value);
}

static const struct {
	int (*run)(int fd);
	int error;
} requests[] = {
	{ try_submit, -EIO }, { try_power_on, -EIO }, { try_reset, -EIO },
	{ try_node, -EIO },   { try_memory, 0 },      { try_query, 0 },
};

TEST_F_TIMEOUT(power, b12_failed_power_on_is_passed_up_and_rolled_back, 120)
{
	static const uint32_t times[] = { 1, FOR_EVER };
	char text[16];
	unsigned int what, i, t;

	for (what = 0; what < SWITCHES * 2 * 6; what++) {
		i = what % 6;
		t = what / 6 % 2;
		if (what / 12 < BOARD_FAIL_SUPPLY && !(self->cores >> what / 12 & 1))
			continue;
		ASSERT_TRUE(npu_board_wait_off());
		npu_board_write(BOARD_POWER_FAIL, BOARD_FAIL(what / 12, times[t]));
		EXPECT_EQ(requests[i].error, requests[i].run(self->fd));
		if (requests[i].error && times[t] == FOR_EVER)
			EXPECT_EQ(requests[i].error, requests[i].run(self->fd));
		ASSERT_EQ(0, npu_debugfs_read("power", text, sizeof(text)));
		EXPECT_STREQ("off\n", text);
		expect_all_off(_test);
		npu_board_write(BOARD_POWER_FAIL, 0);
		ASSERT_EQ(0, npu_chain_check(self->fd, 1, 0));
	}
}

TEST_F(power, b12_out_fence_tells_that_there_was_no_power)
{
	struct rknpu_submit args;
	struct pollfd fence = { .events = POLLIN };
	struct npu_job job;

	ASSERT_EQ(0, npu_job_init(&job, self->fd, 1, 2));
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_seal(&job);
	ASSERT_TRUE(npu_board_wait_off());
	npu_board_write(BOARD_POWER_FAIL, BOARD_FAIL(1, FOR_EVER));
	args = npu_job_args(&job, 1);
	args.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
	ASSERT_EQ(0, npu_submit(self->fd, &args));
	fence.fd = args.fence_fd;
	EXPECT_EQ(1, poll(&fence, 1, 5000));
	close(args.fence_fd);
	npu_job_free(&job);
}

TEST_F_TIMEOUT(power, b28_failed_power_on_at_probe_is_clean, 120)
{
	unsigned int what, round;
	struct stat info;

	if (stat(DOMAINS, &info) == 0 && info.st_size <= ONE_DOMAIN)
		SKIP(return, "the kernel attaches the only domain itself, before any driver is asked");
	for (what = 0; what < SWITCHES; what++) {
		if (what < BOARD_FAIL_SUPPLY && !(self->cores >> what & 1))
			continue;
		ASSERT_EQ(0, npu_driver_bind(false));
		npu_board_write(BOARD_POWER_FAIL, BOARD_FAIL(what, FOR_EVER));
		for (round = 0; round < 3; round++) {
			EXPECT_EQ(-EIO, npu_driver_bind(true));
			EXPECT_EQ(0, npu_board_read(BOARD_POWER));
			EXPECT_EQ(0, npu_board_read(BOARD_SUPPLY));
		}
		npu_board_write(BOARD_POWER_FAIL, 0);
		ASSERT_EQ(0, npu_driver_bind(true));
		close(self->fd);
		self->fd = npu_open();
		ASSERT_LE(0, self->fd);
		EXPECT_EQ(0, npu_chain_check(self->fd, 2, 0));
	}
}

/* References of files that stay open over an unbind do not keep the power on. */
TEST_F(power, unbind_switches_off_what_open_files_hold)
{
	uint32_t value = 0;

	ASSERT_EQ(0, npu_action(self->fd, RKNPU_POWER_ON, &value));
	ASSERT_EQ(0, npu_debugfs_write("power", "on", 2));
	EXPECT_LT(0, npu_board_read(BOARD_SUPPLY));
	ASSERT_EQ(0, npu_driver_bind(false));
	EXPECT_EQ(0, npu_board_read(BOARD_POWER));
	EXPECT_EQ(0, npu_board_read(BOARD_SUPPLY));
	close(self->fd);
	ASSERT_EQ(0, npu_driver_bind(true));
	self->fd = npu_open();
	ASSERT_LE(0, self->fd);
	expect_all_off(_test);
}

TEST_HARNESS_MAIN
