// SPDX-License-Identifier: GPL-2.0-only
#include <linux/iommu.h>

#include <drm/drm_managed.h>

#include "rknpu_device.h"
#include "rknpu_explain.h"
#include "rknpu_job.h"
#include "rknpu_mmu.h"
#include "rknpu_vm.h"

/**
 * DOC: The IOMMU
 *
 * All cores share one IOMMU, or are made to look as if they did: they see one
 * address space at a time, and it changes only while no core works. It stays
 * attached when a job ends, because the next job is most likely of the same
 * client.
 */

static void rknpu_mmu_set_vm(struct rknpu_device *ndev, struct rknpu_vm *vm)
{
	lockdep_assert_held(&ndev->reset_lock);

	spin_lock_irq(&ndev->job_lock);
	ndev->mmu->vm = vm;
	ndev->mmu->lost = false;
	spin_unlock_irq(&ndev->job_lock);
}

/**
 * rknpu_mmu_release() - from here on no job starts before rknpu_mmu_attach()
 * @ndev: the NPU, no core of which works
 *
 * Whoever knows that no core works, knows it only while holding job_lock: a job
 * that takes the old space for attached must not start behind his back.
 *
 * Return: what the cores still see, for rknpu_mmu_attach(); or NULL
 */
struct rknpu_vm *rknpu_mmu_release(struct rknpu_device *ndev)
{
	struct rknpu_vm *old = NULL;

	lockdep_assert_held(&ndev->reset_lock);
	lockdep_assert_held(&ndev->job_lock);

	if (ndev->mmu)
		swap(old, ndev->mmu->vm);
	return old;
}

static void rknpu_mmu_detach_groups(struct rknpu_mmu *mmu, struct rknpu_vm *vm, unsigned int num)
{
	while (num--)
		iommu_detach_group(vm->domain, mmu->groups[num]);
}

static int rknpu_mmu_attach_groups(struct rknpu_mmu *mmu, struct rknpu_vm *vm)
{
	unsigned int i;
	int ret;

	for (i = 0; i < mmu->num_groups; i++) {
		ret = iommu_attach_group(vm->domain, mmu->groups[i]);
		if (ret) {
			rknpu_mmu_detach_groups(mmu, vm, i);
			return ret;
		}
	}
	return 0;
}

/**
 * rknpu_mmu_attach() - let the cores see an address space
 * @ndev: the NPU, after rknpu_mmu_release()
 * @old: what that returned
 * @vm: the address space, or NULL for none
 *
 * Also when both are the same: detaching goes through the default domain,
 * which makes the IOMMU write its registers anew after a reset has wiped them.
 *
 * Return: 0 or a negative error code; then no address space is attached
 */
int rknpu_mmu_attach(struct rknpu_device *ndev, struct rknpu_vm *old, struct rknpu_vm *vm)
{
	struct rknpu_mmu *mmu = ndev->mmu;
	int ret = 0;

	lockdep_assert_held(&ndev->reset_lock);

	if (old)
		rknpu_mmu_detach_groups(mmu, old, mmu->num_groups);
	if (vm)
		ret = rknpu_mmu_attach_groups(mmu, vm);
	if (vm && !ret)
		rknpu_mmu_set_vm(ndev, vm);
	return ret;
}

/*
 * While the cores see an address space and have power, each page that leaves
 * its table costs a register write per bank.
 */
bool rknpu_mmu_is_live(const struct rknpu_vm *vm)
{
	struct rknpu_device *ndev = vm->ndev;

	return ndev->mmu && READ_ONCE(ndev->mmu->vm) == vm && READ_ONCE(ndev->jobs.powered);
}

/* No job uses @vm any more, but the cores may still see it. */
void rknpu_mmu_forget(struct rknpu_vm *vm)
{
	struct rknpu_device *ndev = vm->ndev;

	mutex_lock(&ndev->reset_lock);
	if (rknpu_job_forget_vm(vm))
		rknpu_mmu_attach(ndev, vm, NULL);
	mutex_unlock(&ndev->reset_lock);
}

/* The power went: what the cores see can be unmapped for nothing. */
static void rknpu_mmu_purge_work(struct work_struct *work)
{
	struct rknpu_device *ndev = container_of(work, struct rknpu_device, purge_work);
	struct rknpu_vm *vm;

	mutex_lock(&ndev->reset_lock);
	vm = ndev->mmu->vm;
	if (vm && !kref_get_unless_zero(&vm->ref))
		vm = NULL;
	mutex_unlock(&ndev->reset_lock);
	if (!vm)
		return;
	rknpu_vm_reap(vm);
	rknpu_vm_put(vm);
}

static void rknpu_mmu_put_groups(struct rknpu_mmu *mmu)
{
	while (mmu->num_groups)
		iommu_group_put(mmu->groups[--mmu->num_groups]);
}

static int rknpu_mmu_incomplete(struct rknpu_device *ndev, struct rknpu_mmu *mmu,
				struct rknpu_core *core)
{
	rknpu_mmu_put_groups(mmu);
	return dev_err_probe(ndev->dev, -EINVAL,
			     "%s has no iommu but others have: give all cores \"iommus\", or none\n",
			     dev_name(core->dev));
}

/**
 * rknpu_mmu_init() - find out whether there is an IOMMU
 * @ndev: the NPU
 *
 * Return: 0 or a negative error code
 */
int rknpu_mmu_init(struct rknpu_device *ndev)
{
	struct rknpu_mmu *mmu = drmm_kzalloc(&ndev->drm, sizeof(*mmu), GFP_KERNEL);
	struct iommu_group *group;
	struct rknpu_core *core;

	if (!mmu)
		return -ENOMEM;
	rknpu_for_each_core(core, ndev, ~0) {
		/* One group, unless each core has its own. */
		if (mmu->num_groups && !rknpu_is_split(ndev))
			break;
		group = iommu_group_get(core->dev);
		if (group)
			mmu->groups[mmu->num_groups++] = group;
		else if (mmu->num_groups)
			return rknpu_mmu_incomplete(ndev, mmu, core);
	}
	if (!mmu->num_groups) {
		rknpu_explain_no_mmu(ndev);
		return 0;
	}
	INIT_WORK(&ndev->purge_work, rknpu_mmu_purge_work);
	ndev->mmu = mmu;
	dev_info(ndev->dev, "RKNPU: rknpu iommu is enabled, using iommu mode\n");
	return 0;
}

void rknpu_mmu_fini(struct rknpu_device *ndev)
{
	struct rknpu_mmu *mmu = ndev->mmu;
	struct rknpu_vm *old;

	if (!mmu)
		return;
	mutex_lock(&ndev->reset_lock);
	spin_lock_irq(&ndev->job_lock);
	old = rknpu_mmu_release(ndev);
	spin_unlock_irq(&ndev->job_lock);
	rknpu_mmu_attach(ndev, old, NULL);
	mutex_unlock(&ndev->reset_lock);
	rknpu_mmu_put_groups(mmu);
}
