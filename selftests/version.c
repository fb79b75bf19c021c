// SPDX-License-Identifier: MIT
// Who the device says it is, and every action code.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define PRESET 0xffffffffu

FIXTURE(version) {
	int fd;
};

FIXTURE_SETUP(version)
{
	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(version)
{
	close(self->fd);
}

TEST_F(version, drm_version_is_0_9_8)
{
	char name[16] = "", date[16] = "", desc[32] = "";
	struct drm_version version = {
		.name = name, .name_len = sizeof(name) - 1,
		.date = date, .date_len = sizeof(date) - 1,
		.desc = desc, .desc_len = sizeof(desc) - 1,
	};

	ASSERT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_VERSION, &version));
	EXPECT_STREQ("rknpu", name);
	EXPECT_STREQ("RKNPU driver", desc);
	/* Kernels from 6.14 on have no date and answer "0". */
	EXPECT_TRUE(strcmp(date, "20240828") == 0 || strcmp(date, "0") == 0);
	EXPECT_EQ(0, version.version_major);
	EXPECT_EQ(9, version.version_minor);
	EXPECT_EQ(8, version.version_patchlevel);
}

TEST_F(version, primary_node_answers_get_unique)
{
	char name[64];
	struct drm_unique unique = { .unique = name, .unique_len = sizeof(name) };

	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_GET_UNIQUE, &unique));
}

TEST_F(version, b42_there_is_no_misc_node)
{
	struct stat info;

	EXPECT_EQ(-1, stat("/dev/rknpu", &info));
	EXPECT_EQ(ENOENT, errno);
}

TEST_F(version, b42_misc_requests_get_enotty)
{
	static const unsigned int sizes[] = { 8, 104, 48, 16, 16, 32 };
	char argument[128];
	unsigned int i;

	for (i = 0; i < 6; i++) {
		memset(argument, 0, sizeof(argument));
		EXPECT_EQ(-ENOTTY, npu_ioctl(self->fd, _IOC(_IOC_READ | _IOC_WRITE, 'r', i, sizes[i]),
					     argument));
	}
}

TEST_F(version, b41_render_node_takes_all_requests)
{
	int fd = npu_open_render();

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, npu_chain_check(fd, 1, 0));
	close(fd);
}

TEST_F(version, b37_all_sources_agree)
{
	char text[64] = "";
	uint32_t value = PRESET;

	ASSERT_EQ(0, npu_action(self->fd, RKNPU_GET_DRV_VERSION, &value));
	EXPECT_EQ(908, value);
	if (npu_debugfs_read("version", text, sizeof(text)) == 0)
		EXPECT_STREQ("RKNPU driver: v0.9.8\n", text);
	ASSERT_LT(0, npu_read_text("/sys/module/rknpu/version", text, sizeof(text)));
	EXPECT_STREQ("0.9.8\n", text);
}

TEST_F(version, hw_version_is_read_from_the_registers)
{
	uint32_t value = PRESET;

	ASSERT_EQ(0, npu_action(self->fd, RKNPU_GET_HW_VERSION, &value));
	EXPECT_NE(PRESET, value);
	/* As read on boards: "FIRE", and nothing. */
	if (npu_is_chip("rk3588") || npu_is_chip("rk3576"))
		EXPECT_EQ(0x46495245, value);
	if (npu_is_chip("rk3566") || npu_is_chip("rk3568"))
		EXPECT_EQ(0, value);
	TH_LOG("hardware version 0x%08x", value);
}

TEST_F(version, actions_without_function_get_einval)
{
	static const uint32_t codes[] = { 3, 5, 7, 8, 9, 10, 11, 12, 26, 27, 100, PRESET };
	unsigned int i;

	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		uint32_t value = 12345;

		EXPECT_EQ(-EINVAL, npu_action(self->fd, codes[i], &value));
		EXPECT_EQ(12345, value);
	}
}

TEST_F(version, traffic_counters_that_do_not_exist_leave_the_value)
{
	uint32_t code;

	for (code = RKNPU_ACT_CLR_TOTAL_RW_AMOUNT; code <= RKNPU_GET_TOTAL_RW_AMOUNT; code++) {
		uint32_t value = 12345;

		EXPECT_EQ(0, npu_action(self->fd, code, &value));
		EXPECT_EQ(12345, value);
	}
}

TEST_F(version, iommu_state_is_0_or_1)
{
	uint32_t value = PRESET;

	ASSERT_EQ(0, npu_action(self->fd, RKNPU_GET_IOMMU_EN, &value));
	EXPECT_GE(1, value);
}

TEST_F(version, frequency_is_a_rate_in_hz)
{
	uint32_t value = 0;

	ASSERT_EQ(0, npu_action(self->fd, RKNPU_GET_FREQ, &value));
	EXPECT_LE(1000000, value);
}

TEST_F(version, b31_voltage_is_plausible_or_refused)
{
	uint32_t value = PRESET;
	int ret = npu_action(self->fd, RKNPU_GET_VOLT, &value);

	if (ret == 0) {
		EXPECT_LE(300000, value);
		EXPECT_GE(2000000, value);
	} else {
		EXPECT_EQ(-ENODEV, ret);
		EXPECT_EQ(PRESET, value);
	}
}

TEST_F(version, nice_value_is_set_for_root)
{
	uint32_t value = (uint32_t)-7;

	ASSERT_EQ(0, npu_action(self->fd, RKNPU_SET_PROC_NICE, &value));
	if (geteuid() != 0)
		SKIP(return, "the right to a negative nice value needs root");
	errno = 0;
	EXPECT_EQ(-7, getpriority(PRIO_PROCESS, 0));
}

TEST_F(version, nice_value_without_the_right_is_ignored)
{
	uint32_t value = (uint32_t)-19;

	if (geteuid() != 0 || setresuid(65534, 65534, 65534))
		SKIP(return, "dropping rights needs root");
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_SET_PROC_NICE, &value));
	errno = 0;
	EXPECT_EQ(0, getpriority(PRIO_PROCESS, 0));
}

TEST_F(version, b11_power_on_and_off_balance)
{
	uint32_t value = 0;

	EXPECT_EQ(-EINVAL, npu_action(self->fd, RKNPU_POWER_OFF, &value));
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_POWER_ON, &value));
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_POWER_ON, &value));
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_POWER_OFF, &value));
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_POWER_OFF, &value));
	EXPECT_EQ(-EINVAL, npu_action(self->fd, RKNPU_POWER_OFF, &value));
}

TEST_F(version, b11_power_on_is_undone_by_close)
{
	char text[16] = "";
	uint32_t value = 0;
	int fd = npu_open(), i;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, npu_action(fd, RKNPU_POWER_ON, &value));
	if (npu_debugfs_read("power", text, sizeof(text)))
		SKIP(return, "no debugfs file power");
	EXPECT_STREQ("on\n", text);
	close(fd);
	/* The driver keeps the power on for delayms (3 s) after the last use. */
	for (i = 0; i < 80 && strcmp(text, "off\n"); i++) {
		usleep(100000);
		ASSERT_EQ(0, npu_debugfs_read("power", text, sizeof(text)));
	}
	EXPECT_STREQ("off\n", text);
}

TEST_F(version, b11_reset_action_resets_and_works_after)
{
	uint32_t value = 0;

	EXPECT_EQ(0, npu_action(self->fd, RKNPU_ACT_RESET, &value));
	EXPECT_EQ(0, npu_healthy());
}

TEST_F(version, domain_id_is_per_file_and_checked)
{
	uint32_t value = PRESET;

	ASSERT_EQ(0, npu_action(self->fd, RKNPU_GET_IOMMU_DOMAIN_ID, &value));
	EXPECT_EQ(0, value);
	value = 16;
	EXPECT_EQ(-EINVAL, npu_action(self->fd, RKNPU_SET_IOMMU_DOMAIN_ID, &value));
	value = (uint32_t)-1;
	EXPECT_EQ(-EINVAL, npu_action(self->fd, RKNPU_SET_IOMMU_DOMAIN_ID, &value));
	value = 15;
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_SET_IOMMU_DOMAIN_ID, &value));
	value = PRESET;
	EXPECT_EQ(0, npu_action(self->fd, RKNPU_GET_IOMMU_DOMAIN_ID, &value));
	EXPECT_EQ(15, value);
}

TEST_HARNESS_MAIN
