/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_MMU_H
#define RKNPU_MMU_H

#include <linux/types.h>

#include "rknpu_device.h"
#include "rknpu_soc.h"

struct iommu_group;
struct rknpu_vm;

/**
 * struct rknpu_mmu - the IOMMU in front of all cores
 * @groups: its groups: one for the vendor's node, one per core for mainline's
 * @num_groups: number of @groups
 * @vm: address space the cores see, or NULL; written under
 *	&rknpu_device.reset_lock and &rknpu_device.job_lock, so that either is
 *	enough to read it
 * @lost: a reset made a bank forget its table; protected by
 *	&rknpu_device.job_lock
 */
struct rknpu_mmu {
	struct iommu_group *groups[RKNPU_MAX_CORES];
	unsigned int num_groups;
	struct rknpu_vm *vm;
	bool lost;
};

int rknpu_mmu_init(struct rknpu_device *ndev);
void rknpu_mmu_fini(struct rknpu_device *ndev);
struct rknpu_vm *rknpu_mmu_release(struct rknpu_device *ndev);
int rknpu_mmu_attach(struct rknpu_device *ndev, struct rknpu_vm *old, struct rknpu_vm *vm);
bool rknpu_mmu_is_live(const struct rknpu_vm *vm);
void rknpu_mmu_forget(struct rknpu_vm *vm);

/* Could a job in @vm start right now? Called with job_lock held. */
static inline bool rknpu_mmu_has(const struct rknpu_device *ndev, const struct rknpu_vm *vm)
{
	return !ndev->mmu || (ndev->mmu->vm == vm && !ndev->mmu->lost);
}

#endif
