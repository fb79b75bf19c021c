// SPDX-License-Identifier: MIT
// Sizes and layouts: what older and newer programs pass, in 64 and 32 bits.
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/ioctl.h>

#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define AT(type, member, offset) \
	_Static_assert(offsetof(struct type, member) == (offset), #type "." #member)
#define SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type)

/* The interface of 0.9.8, the same for every architecture (B-44). */
SIZE(rknpu_action, 8);
SIZE(rknpu_mem_create, 48);
AT(rknpu_mem_create, size, 8);
AT(rknpu_mem_create, obj_addr, 16);
AT(rknpu_mem_create, dma_addr, 24);
AT(rknpu_mem_create, sram_size, 32);
AT(rknpu_mem_create, iommu_domain_id, 40);
AT(rknpu_mem_create, core_mask, 44);
SIZE(rknpu_mem_map, 16);
AT(rknpu_mem_map, offset, 8);
SIZE(rknpu_mem_destroy, 16);
AT(rknpu_mem_destroy, obj_addr, 8);
SIZE(rknpu_mem_sync, 32);
AT(rknpu_mem_sync, obj_addr, 8);
AT(rknpu_mem_sync, offset, 16);
AT(rknpu_mem_sync, size, 24);
SIZE(rknpu_task, 40);
AT(rknpu_task, int_mask, 12);
AT(rknpu_task, int_status, 20);
AT(rknpu_task, regcfg_amount, 24);
AT(rknpu_task, regcmd_addr, 32);
SIZE(rknpu_subcore_task, 8);
SIZE(rknpu_submit, 104);
AT(rknpu_submit, task_counter, 16);
AT(rknpu_submit, task_obj_addr, 24);
AT(rknpu_submit, iommu_domain_id, 32);
AT(rknpu_submit, task_base_addr, 40);
AT(rknpu_submit, hw_elapse_time, 48);
AT(rknpu_submit, core_mask, 56);
AT(rknpu_submit, fence_fd, 60);
AT(rknpu_submit, subcore_task, 64);
_Static_assert(DRM_IOCTL_RKNPU_ACTION == 0xc0086440u, "ACTION");
_Static_assert(DRM_IOCTL_RKNPU_SUBMIT == 0xc0686441u, "SUBMIT");
_Static_assert(DRM_IOCTL_RKNPU_MEM_CREATE == 0xc0306442u, "MEM_CREATE");
_Static_assert(DRM_IOCTL_RKNPU_MEM_MAP == 0xc0106443u, "MEM_MAP");
_Static_assert(DRM_IOCTL_RKNPU_MEM_DESTROY == 0xc0106444u, "MEM_DESTROY");
_Static_assert(DRM_IOCTL_RKNPU_MEM_SYNC == 0xc0206445u, "MEM_SYNC");

#define REQUESTS 6u
#define MAX_SIZE 128u
#define CANARY 0xa7

FIXTURE(uapi_compat) {
	int fd;
};

FIXTURE_SETUP(uapi_compat)
{
	self->fd = npu_open();
	if (self->fd == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(uapi_compat)
{
	close(self->fd);
	EXPECT_EQ(0, npu_healthy());
}

static unsigned long request_of(unsigned int number, unsigned int size)
{
	return _IOC(_IOC_READ | _IOC_WRITE, DRM_IOCTL_BASE, DRM_COMMAND_BASE + number, size);
}

static bool canary_intact(const uint8_t *buffer, unsigned int from, unsigned int to)
{
	while (from < to) {
		if (buffer[from++] != CANARY)
			return false;
	}
	return true;
}

/* Not one byte beyond what the caller said it has may be written, whatever is passed. */
TEST_F(uapi_compat, b43_size_sweep_leaves_canaries_intact)
{
	static const uint8_t fills[] = { 0x00, 0xff, 0x01 };
	uint8_t buffer[MAX_SIZE + 64];
	unsigned int number, size, fill;

	for (number = 0; number < REQUESTS; number++) {
		for (size = 0; size <= MAX_SIZE; size++) {
			for (fill = 0; fill < 3; fill++) {
				memset(buffer, CANARY, sizeof(buffer));
				memset(buffer, fills[fill], size);
				npu_ioctl(self->fd, request_of(number, size), buffer);
				ASSERT_TRUE(canary_intact(buffer, size, sizeof(buffer)));
			}
		}
	}
}

TEST_F(uapi_compat, b43_mem_create_of_40_bytes)
{
	uint8_t buffer[64];
	struct rknpu_mem_create *args = (struct rknpu_mem_create *)buffer;

	memset(buffer, CANARY, sizeof(buffer));
	memset(buffer, 0, 40);
	args->flags = NPU_MEM_DATA;
	args->size = 29772;
	ASSERT_EQ(0, npu_ioctl(self->fd, 0xc0286442, buffer));
	EXPECT_TRUE(canary_intact(buffer, 40, sizeof(buffer)));
	EXPECT_NE(0, args->handle);
	EXPECT_NE(0, args->obj_addr);
	EXPECT_NE(0, args->dma_addr);
	EXPECT_EQ(32768, args->size);
}

TEST_F(uapi_compat, b43_mem_create_of_64_bytes)
{
	uint8_t buffer[96] = { 0 };
	struct rknpu_mem_create *args = (struct rknpu_mem_create *)buffer;

	memset(buffer + 48, CANARY, sizeof(buffer) - 48);
	args->flags = NPU_MEM_DATA;
	args->size = NPU_PAGE;
	ASSERT_EQ(0, npu_ioctl(self->fd, request_of(RKNPU_MEM_CREATE, 64), buffer));
	EXPECT_NE(0, args->handle);
	EXPECT_TRUE(canary_intact(buffer, 64, sizeof(buffer)));
}

TEST_F(uapi_compat, b43_submit_of_120_bytes)
{
	struct {
		struct rknpu_submit args;
		uint8_t tail[32];
	} buffer;
	struct npu_job job;

	memset(&buffer, CANARY, sizeof(buffer));
	ASSERT_EQ(0, npu_job_init(&job, self->fd, 1, 2));
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_seal(&job);
	buffer.args = npu_job_args(&job, 0);
	EXPECT_EQ(0, npu_ioctl(self->fd, request_of(RKNPU_SUBMIT, 120), &buffer));
	EXPECT_EQ(buffer.args.task_number, buffer.args.task_counter);
	EXPECT_TRUE(canary_intact(buffer.tail, 16, 32));
	npu_job_free(&job);
}

/* The last entry is cut off: it reads as an empty range. */
TEST_F(uapi_compat, b43_submit_of_96_bytes)
{
	struct rknpu_submit args;
	struct npu_job job;

	ASSERT_EQ(0, npu_job_init(&job, self->fd, 1, 2));
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_seal(&job);
	args = npu_job_args(&job, 1);
	args.subcore_task[4] = (struct rknpu_subcore_task){ 0xa7a7a7a7, 0xa7a7a7a7 };
	EXPECT_EQ(0, npu_ioctl(self->fd, request_of(RKNPU_SUBMIT, 96), &args));
	EXPECT_EQ(0xa7a7a7a7, args.subcore_task[4].task_start);
	npu_job_free(&job);
}

TEST_F(uapi_compat, direction_bits_do_not_matter_to_the_command)
{
	struct rknpu_action action = { .flags = RKNPU_GET_DRV_VERSION };

	/* Write only: the answer does not come back, the call still works. */
	EXPECT_EQ(0, npu_ioctl(self->fd, _IOC(_IOC_WRITE, DRM_IOCTL_BASE, DRM_COMMAND_BASE, 8),
			       &action));
	EXPECT_EQ(0, action.value);
}

TEST_F(uapi_compat, unknown_requests_are_refused)
{
	uint64_t buffer[16] = { 0 };
	unsigned int number;
	int ret;

	for (number = 0x20; number < 0x60; number++) {
		ret = npu_ioctl(self->fd, request_of(number, 16), buffer);
		EXPECT_TRUE(ret == -EINVAL || ret == -ENOTTY);
	}
}

TEST_F(uapi_compat, bad_pointers_get_efault)
{
	static const unsigned int sizes[] = { 8, 104, 48, 16, 16, 32 };
	unsigned int number;

	for (number = 0; number < REQUESTS; number++) {
		EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, request_of(number, sizes[number]), NULL));
		EXPECT_EQ(-EFAULT, npu_ioctl(self->fd, request_of(number, sizes[number]),
					     (void *)(uintptr_t)0x1000));
	}
}

/* Pointers in the upper half of a 32-bit process are no negative numbers. */
TEST_F(uapi_compat, b44_argument_above_two_gib)
{
	struct rknpu_action *action;
	void *page;

	page = mmap((void *)(uintptr_t)0xb0000000u, NPU_PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (page == MAP_FAILED)
		SKIP(return, "the address 0xb0000000 is taken");
	action = page;
	action->flags = RKNPU_GET_DRV_VERSION;
	EXPECT_EQ(0, npu_ioctl(self->fd, DRM_IOCTL_RKNPU_ACTION, action));
	EXPECT_EQ(908, action->value);
}

TEST_F(uapi_compat, b44_tokens_keep_64_bits)
{
	struct npu_bo bo;
	int i, wide = 0;

	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, npu_bo_create(self->fd, NPU_MEM_DATA, NPU_PAGE, &bo));
		wide += bo.token >> 32 != 0;
		EXPECT_EQ(0, npu_bo_sync(&bo, RKNPU_MEM_SYNC_MASK, 0, 1));
		bo.token &= 0xffffffff;
		EXPECT_EQ(-EINVAL, npu_bo_sync(&bo, RKNPU_MEM_SYNC_MASK, 0, 1));
		npu_bo_destroy(&bo);
	}
	EXPECT_EQ(8, wide);
}

TEST_HARNESS_MAIN
