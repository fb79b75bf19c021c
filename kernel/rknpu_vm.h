/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_VM_H
#define RKNPU_VM_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include <drm/drm_mm.h>

struct iommu_domain;
struct rknpu_device;
struct rknpu_gem_object;

/**
 * struct rknpu_vm - an address space
 * @ref: one reference for each file, job and mapping that uses it
 * @ndev: the NPU
 * @domain: its page table, or NULL without an IOMMU
 * @lock: protects @mm, the page table, @fresh, @retired and the state of
 *	mappings
 * @mm: device addresses in use
 * @fresh: mappings that are not in the page table yet
 * @retired: mappings whose handle is closed and that are still there
 * @retired_size: bytes in @retired
 * @shared: several files may use it
 * @jobs: jobs submitted and not ended; protected by &rknpu_device.job_lock
 * @submitted: number of the youngest job; protected by &rknpu_device.job_lock
 * @fault_addr: address of the last page fault; protected by
 *	&rknpu_device.job_lock
 * @faulted: there was a page fault nobody has dealt with; protected by
 *	&rknpu_device.job_lock
 */
struct rknpu_vm {
	struct kref ref;
	struct rknpu_device *ndev;
	struct iommu_domain *domain;
	struct mutex lock; /* protects the page table and what is in it */
	struct drm_mm mm;
	struct list_head fresh;
	struct list_head retired;
	u64 retired_size;
	bool shared;
	struct hlist_head jobs;
	u64 submitted;
	u64 fault_addr;
	bool faulted;
};

/**
 * struct rknpu_mapping - an object in an address space
 * @node: its device addresses
 * @vm: the address space
 * @bo: the object; the mapping holds a reference
 * @entry: entry in &rknpu_handle.mappings
 * @vm_entry: entry in &rknpu_vm.fresh or &rknpu_vm.retired
 * @retired_at: youngest job that may use it, once it is retired
 * @retired: its handle is closed; protected by &rknpu_vm.lock
 */
struct rknpu_mapping {
	struct drm_mm_node node;
	struct rknpu_vm *vm;
	struct rknpu_gem_object *bo;
	struct list_head entry;
	struct list_head vm_entry;
	u64 retired_at;
	bool retired;
};

/**
 * struct rknpu_span - the device addresses of an object
 * @vm: the address space, or NULL for none
 * @start: the first one
 * @end: the first one behind
 */
struct rknpu_span {
	const struct rknpu_vm *vm;
	u64 start;
	u64 end;
};

struct rknpu_vm *rknpu_vm_open(struct rknpu_device *ndev, u32 domain);
struct rknpu_vm *rknpu_vm_get(struct rknpu_vm *vm);
void rknpu_vm_put(struct rknpu_vm *vm);
int rknpu_vm_commit_fresh(struct rknpu_vm *vm);
void rknpu_vm_reap_retired(struct rknpu_vm *vm);
bool rknpu_vm_locate(struct rknpu_vm *vm, u64 addr, u64 size, struct rknpu_span *span);
int rknpu_vm_read(struct rknpu_vm *vm, u64 addr, u64 *value);
void rknpu_vm_purge(struct rknpu_vm *vm);

/* Before a job: mostly there is nothing to do. */
static inline int rknpu_vm_commit(struct rknpu_vm *vm)
{
	return list_empty_careful(&vm->fresh) ? 0 : rknpu_vm_commit_fresh(vm);
}

/* After a job: likewise. */
static inline void rknpu_vm_reap(struct rknpu_vm *vm)
{
	if (!list_empty_careful(&vm->retired))
		rknpu_vm_reap_retired(vm);
}

struct rknpu_mapping *rknpu_mapping_create(struct rknpu_vm *vm, struct rknpu_gem_object *bo);
void rknpu_mapping_retire(struct rknpu_mapping *mapping);

#endif
