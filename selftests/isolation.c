// SPDX-License-Identifier: MIT
// Clients cannot reach each other: not by token, not by handle, not by device address.
#define _GNU_SOURCE
#include "harness.h"
#include "npu_device.h"
#include "npu_jobs.h"

#define SECRET 0x6b

FIXTURE(isolation) {
	int victim;
	int attacker;
	struct npu_bo secret;
};

FIXTURE_SETUP(isolation)
{
	uint32_t iommu = 0;

	self->victim = npu_open();
	if (self->victim == -ENODEV)
		SKIP(return, "no DRM device named rknpu");
	ASSERT_LE(0, self->victim);
	ASSERT_EQ(0, npu_action(self->victim, RKNPU_GET_IOMMU_EN, &iommu));
	if (!iommu)
		SKIP(return, "no IOMMU: clients are not isolated, and the driver says so");
	self->attacker = npu_open();
	ASSERT_LE(0, self->attacker);
	ASSERT_EQ(0, npu_bo_create(self->victim, NPU_MEM_DATA, 4 * NPU_PAGE, &self->secret));
	memset(self->secret.map, SECRET, self->secret.size);
	npu_bo_sync(&self->secret, RKNPU_MEM_SYNC_TO_DEVICE, 0, self->secret.size);
}

FIXTURE_TEARDOWN(isolation)
{
	npu_bo_destroy(&self->secret);
	close(self->attacker);
	close(self->victim);
	EXPECT_EQ(0, npu_healthy());
}

/* Runs one task between raw addresses on the attacker's file. */
static int attack(int fd, uint64_t from, uint64_t to, int8_t *loot)
{
	struct npu_job job;
	int ret = npu_job_init(&job, fd, 1, 1);

	if (ret)
		return ret;
	npu_job_add_offset_raw(&job, from ? from : job.data.iova, to ? to : job.data.iova, 1);
	npu_job_seal(&job);
	npu_expect_fault(true);
	ret = npu_job_run(&job, 0);
	npu_expect_fault(false);
	npu_job_fetch(&job);
	memcpy(loot, npu_job_slot(&job, 0), NPU_SLOT);
	npu_job_free(&job);
	return ret;
}

TEST_F(isolation, b13_job_cannot_read_another_files_buffer)
{
	uint64_t address = self->secret.iova + NPU_PAGE;
	int8_t loot[NPU_SLOT];
	unsigned int i;
	int ret;

	ret = attack(self->attacker, address, 0, loot);
	/* The address may happen to be the attacker's own; its content never is the secret. */
	EXPECT_TRUE(ret == 0 || ret == -EFAULT);
	for (i = 0; i < NPU_SLOT; i++)
		ASSERT_NE(SECRET + 1, loot[i]);
}

TEST_F(isolation, b13_job_cannot_write_another_files_buffer)
{
	int8_t loot[NPU_SLOT];
	unsigned int page, i;

	for (page = 0; page < 4; page++) {
		int ret = attack(self->attacker, 0, self->secret.iova + page * NPU_PAGE, loot);

		EXPECT_TRUE(ret == 0 || ret == -EFAULT);
	}
	npu_bo_sync(&self->secret, RKNPU_MEM_SYNC_FROM_DEVICE, 0, self->secret.size);
	for (i = 0; i < self->secret.size; i++)
		ASSERT_EQ(SECRET, ((uint8_t *)self->secret.map)[i]);
}

/* The victim's translations must be gone from the TLB when the attacker's job starts. */
TEST_F(isolation, b13_no_stale_translation_between_clients)
{
	int8_t loot[NPU_SLOT];
	unsigned int round, i;

	for (round = 0; round < 10; round++) {
		struct npu_job job;

		ASSERT_EQ(0, npu_job_init(&job, self->victim, 1, 1));
		npu_job_add_offset_raw(&job, self->secret.iova, job.data.iova, 0);
		npu_job_seal(&job);
		ASSERT_EQ(0, npu_job_run(&job, 0));
		npu_job_free(&job);
		attack(self->attacker, self->secret.iova, 0, loot);
		for (i = 0; i < NPU_SLOT; i++)
			ASSERT_NE(SECRET + 1, loot[i]);
	}
}

TEST_F(isolation, b13_freed_buffer_is_out_of_reach_at_once)
{
	int8_t loot[NPU_SLOT];
	unsigned int i;
	struct npu_bo bo;
	uint64_t iova;
	int ret;

	ASSERT_EQ(0, npu_bo_create(self->attacker, NPU_MEM_DATA, NPU_PAGE, &bo));
	memset(bo.map, SECRET, bo.size);
	npu_bo_sync(&bo, RKNPU_MEM_SYNC_TO_DEVICE, 0, bo.size);
	iova = bo.iova;
	ret = attack(self->attacker, iova, 0, loot);
	ASSERT_EQ(0, ret);
	EXPECT_EQ(SECRET + 1, loot[0]);
	npu_bo_destroy(&bo);
	ret = attack(self->attacker, iova, 0, loot);
	EXPECT_TRUE(ret == 0 || ret == -EFAULT);
	for (i = 0; i < NPU_SLOT; i++)
		ASSERT_NE(SECRET + 1, loot[i]);
}

TEST_F(isolation, b13_handle_numbers_are_per_file)
{
	struct rknpu_mem_create args = { .handle = self->secret.handle };

	/* Unknown there, so it would allocate: with size 0 that is refused. */
	EXPECT_EQ(-EINVAL, npu_ioctl(self->attacker, DRM_IOCTL_RKNPU_MEM_CREATE, &args));
}

TEST_F(isolation, two_clients_compute_side_by_side)
{
	int round;

	for (round = 0; round < 30; round++) {
		ASSERT_EQ(0, npu_chain_check(self->victim, 3, 0));
		ASSERT_EQ(0, npu_chain_check(self->attacker, 4, 0));
	}
}

TEST_F(isolation, domains_of_one_file_are_apart)
{
	struct rknpu_mem_create args = {
		.flags = NPU_MEM_DATA, .size = NPU_PAGE, .iommu_domain_id = 5,
	};
	int8_t loot[NPU_SLOT];
	uint64_t clash = 0;
	int ret;

	ASSERT_EQ(0, npu_ioctl(self->victim, DRM_IOCTL_RKNPU_MEM_CREATE, &args));
	/* In space 0 that address is free or the secret itself, never the buffer of space 5. */
	clash = args.dma_addr;
	ret = attack(self->victim, clash, 0, loot);
	EXPECT_TRUE(ret == 0 || ret == -EFAULT);
	if (ret == 0)
		EXPECT_NE(1, loot[0]);
}

TEST_HARNESS_MAIN
