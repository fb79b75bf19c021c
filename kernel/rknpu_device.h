/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_DEVICE_H
#define RKNPU_DEVICE_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <drm/drm_device.h>
#include <drm/drm_util.h>

#include <rknpu_drm.h>

#include "rknpu_core.h"
#include "rknpu_freq.h"
#include "rknpu_sched.h"
#include "rknpu_soc.h"
#include "rknpu_sram.h"
#include "rknpu_supply.h"

#define RKNPU_DRIVER_MAJOR	0
#define RKNPU_DRIVER_MINOR	9
#define RKNPU_DRIVER_PATCH	8

struct dentry;
struct rknpu_job;
struct rknpu_mmu;
struct rknpu_vm;

/**
 * struct rknpu_device - the whole NPU
 * @drm: the DRM device, also its lifetime
 * @dev: the device that is powered and described by firmware
 * @dma_dev: the device memory is mapped for; without an IOMMU in front
 * @soc: data of the chip
 * @hw_version: contents of the version registers of core 0
 * @core_mask: cores that exist and work
 * @cores: the cores, those of @core_mask are set up
 * @mmu: the IOMMU in front of the cores, or NULL
 * @supply: supplies, clocks and power domains
 * @freq: clock rate and voltage
 * @sram: on-chip memory
 * @debugfs: directory of the debugfs nodes
 * @procfs: directory of the same nodes in procfs
 * @wq: runs whatever follows an interrupt and must sleep; ordered
 */
struct rknpu_device {
	struct drm_device drm;
	struct device *dev;
	struct device *dma_dev;
	const struct rknpu_soc *soc;
	u32 hw_version;
	u32 core_mask;
	struct rknpu_core cores[RKNPU_MAX_CORES];
	struct rknpu_mmu *mmu;

	struct rknpu_supply supply;
	struct rknpu_freq freq;
	struct rknpu_sram sram;
	struct dentry *debugfs;
	struct proc_dir_entry *procfs;
	struct workqueue_struct *wq;

	/** @job_lock: protects the members of @jobs, and those of cores and jobs that say so */
	spinlock_t job_lock;
	struct {
		/** @jobs.sched: waiting and running jobs, the policy */
		struct rknpu_sched sched;
		/** @jobs.door: a job with cores that waits for its address space, or NULL */
		struct rknpu_job *door;
		/** @jobs.waiting: jobs whose in-fence has not signalled */
		struct list_head waiting;
		/** @jobs.offline: cores that are being reset */
		u32 offline;
		/** @jobs.suspects: cores that @recover_work must look at */
		u32 suspects;
		/** @jobs.condemned: cores that it must reset, whatever they do */
		u32 condemned;
		/** @jobs.powered: registers may be touched */
		bool powered;
		/** @jobs.users: jobs that keep the power on */
		unsigned int users;
		/** @jobs.used: when the last of them ended, in ns */
		u64 used;
		/** @jobs.held: no job starts, until the system has resumed */
		bool held;
		/** @jobs.gone: the device was unplugged, no job starts any more */
		bool gone;
		/** @jobs.watchdog_at: when @watchdog fires, in ns, or U64_MAX */
		u64 watchdog_at;
		/** @jobs.quiet: woken when a core becomes idle while @jobs.held */
		wait_queue_head_t quiet;
	} jobs;
	struct timer_list watchdog;
	struct work_struct switch_work;
	struct work_struct recover_work;
	/** @purge_work: unmaps what can be unmapped for nothing without power */
	struct work_struct purge_work;
	/** @reap: ended jobs to be freed by @reap_work */
	struct llist_head reap;
	struct work_struct reap_work;

	/** @reset_lock: serialises resets and changes of address space; protects @resets */
	struct mutex reset_lock;
	/** @dump_text: room for the dump of a stopped job; used by @recover_work only */
	char *dump_text;
	/** @resets: number of resets since the driver was bound */
	unsigned int resets;
	/** @bypass_reset: leave hung cores alone, for hardware debugging */
	bool bypass_reset;

	/** @power_lock: protects @forced_on */
	struct mutex power_lock;
	/** @forced_on: power references taken through debugfs */
	unsigned int forced_on;

	/** @vms_lock: protects @vms */
	struct mutex vms_lock;
	/** @vms: address spaces in common, by number, if files share them */
	struct rknpu_vm *vms[RKNPU_MAX_IOMMU_DOMAIN_NUM];
};

static inline struct rknpu_device *to_rknpu_device(struct drm_device *drm)
{
	return container_of(drm, struct rknpu_device, drm);
}

/* Each core is a device of its own, @dev being the first of them. */
static inline bool rknpu_is_split(const struct rknpu_device *ndev)
{
	return ndev->soc->quirks & RKNPU_QUIRK_SPLIT;
}

/* Walk the cores in @mask that exist. */
#define rknpu_for_each_core(core, ndev, mask) \
	for ((core) = (ndev)->cores; (core) < (ndev)->cores + RKNPU_MAX_CORES; (core)++) \
		for_each_if((mask) & (ndev)->core_mask & BIT((core)->index))

int rknpu_device_init(struct rknpu_device *ndev);
void rknpu_device_fini(struct rknpu_device *ndev);

#endif
