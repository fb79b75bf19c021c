// SPDX-License-Identifier: GPL-2.0-only
/* Jobs as their address space sees them. */
#include "rknpu_device.h"
#include "rknpu_job.h"
#include "rknpu_mmu.h"
#include "rknpu_vm.h"

/**
 * rknpu_job_page_fault() - the IOMMU met an address that is not mapped
 * @vm: the address space
 * @addr: the address
 * @write: the NPU wanted to write
 *
 * Called in interrupt context. The IOMMU does not say which core it was.
 */
void rknpu_job_page_fault(struct rknpu_vm *vm, u64 addr, bool write)
{
	struct rknpu_device *ndev = vm->ndev;
	struct rknpu_core *core;
	unsigned long flags;

	spin_lock_irqsave(&ndev->job_lock, flags);
	vm->faulted = true;
	vm->fault_addr = addr;
	rknpu_for_each_core(core, ndev, ~0) {
		if (core->job && core->job->vm == vm)
			rknpu_job_suspect(core, 0);
	}
	spin_unlock_irqrestore(&ndev->job_lock, flags);
	dev_err_ratelimited(ndev->dev, "RKNPU: page fault at IOVA %#llx, %s\n", addr,
			    write ? "write" : "read");
}

/* Number of the last job submitted in @vm. */
u64 rknpu_job_youngest(struct rknpu_vm *vm)
{
	u64 number;

	spin_lock_irq(&vm->ndev->job_lock);
	number = vm->submitted;
	spin_unlock_irq(&vm->ndev->job_lock);
	return number;
}

/* Number of the first job in @vm that has not ended. */
u64 rknpu_job_oldest(struct rknpu_vm *vm)
{
	struct rknpu_job *job;
	u64 number = U64_MAX;

	spin_lock_irq(&vm->ndev->job_lock);
	hlist_for_each_entry(job, &vm->jobs, vm_entry)
		number = min(number, job->number);
	spin_unlock_irq(&vm->ndev->job_lock);
	return number;
}

/* Take @vm from the cores; true if they still see it and it has to be detached. */
bool rknpu_job_forget_vm(struct rknpu_vm *vm)
{
	struct rknpu_device *ndev = vm->ndev;
	bool idle = true, seen = false;
	struct rknpu_core *core;

	spin_lock_irq(&ndev->job_lock);
	rknpu_for_each_core(core, ndev, ~0)
		idle = idle && !(core->job && core->job->vm == vm);
	if (idle) {
		seen = ndev->mmu->vm == vm && rknpu_mmu_release(ndev);
		rknpu_sched_forget_space(&ndev->jobs.sched, vm);
	}
	spin_unlock_irq(&ndev->job_lock);
	return seen;
}
