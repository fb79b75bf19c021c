/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR MIT */
/*
 * Interface of the RKNPU DRM driver.
 *
 * The names, numbers and layouts are those that existing programs compile
 * against (driver version 0.9.8). Every 64 bit member lies on an 8 byte
 * boundary, so 32 bit and 64 bit programs share one layout.
 */
#ifndef _UAPI_RKNPU_DRM_H_
#define _UAPI_RKNPU_DRM_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * DOC: Rules of this interface
 *
 * - Requests are told apart by their number; a shorter structure is read as
 *   if it were filled up with zeroes, and no more is written back than was
 *   given. New members are only ever added at the end.
 * - Padding and reserved members named @reserved are ignored in the six
 *   requests of 0.9.8, because programs that exist do not clear them. In
 *   requests added since, they must be zero.
 * - An object is named by its GEM handle. @obj_addr is a random number that
 *   stands for the object in requests that have no handle member; it is only
 *   valid together with a handle of the same open file.
 * - When a file is closed, its jobs get 500 ms to end and are then stopped with
 *   %ECANCELED, at once if the process was killed.
 * - Device addresses are 32 bit, page aligned and never zero.
 * - After a request failed, nothing has changed, unless the request says
 *   otherwise.
 * - Every request may fail with %EFAULT (argument not accessible), %EINTR
 *   (a signal arrived, nothing was done), %ENODEV (the device is gone),
 *   or with the error of powering up the hardware.
 */

/** DOC: Request numbers, relative to DRM_COMMAND_BASE */
#define RKNPU_ACTION			0x00
#define RKNPU_SUBMIT			0x01
#define RKNPU_MEM_CREATE		0x02
#define RKNPU_MEM_MAP			0x03
#define RKNPU_MEM_DESTROY		0x04
#define RKNPU_MEM_SYNC			0x05
/* Not in driver 0.9.8 of the vendor: */
#define RKNPU_SUBMIT_SYNC		0x06

/**
 * enum e_rknpu_mem_type - Flags of &struct rknpu_mem_create
 *
 * Unknown bits are ignored.
 */
enum e_rknpu_mem_type {
	/** @RKNPU_MEM_CONTIGUOUS: physically contiguous memory */
	RKNPU_MEM_CONTIGUOUS = 0 << 0,
	/** @RKNPU_MEM_NON_CONTIGUOUS: scattered pages; needs an IOMMU, else ignored */
	RKNPU_MEM_NON_CONTIGUOUS = 1 << 0,
	/** @RKNPU_MEM_NON_CACHEABLE: uncached mapping in user space */
	RKNPU_MEM_NON_CACHEABLE = 0 << 1,
	/** @RKNPU_MEM_CACHEABLE: cached mapping; use RKNPU_MEM_SYNC around jobs */
	RKNPU_MEM_CACHEABLE = 1 << 1,
	/** @RKNPU_MEM_WRITE_COMBINE: write-combined mapping, unless cacheable */
	RKNPU_MEM_WRITE_COMBINE = 1 << 2,
	/** @RKNPU_MEM_KERNEL_MAPPING: the driver reads and writes it (task arrays) */
	RKNPU_MEM_KERNEL_MAPPING = 1 << 3,
	/** @RKNPU_MEM_IOMMU: accepted, without effect */
	RKNPU_MEM_IOMMU = 1 << 4,
	/** @RKNPU_MEM_ZEROING: clear the memory; this driver always does */
	RKNPU_MEM_ZEROING = 1 << 5,
	/** @RKNPU_MEM_SECURE: accepted, without effect */
	RKNPU_MEM_SECURE = 1 << 6,
	/** @RKNPU_MEM_DMA32: physical memory below 4 GiB */
	RKNPU_MEM_DMA32 = 1 << 7,
	/** @RKNPU_MEM_TRY_ALLOC_SRAM: on-chip memory first, the rest in DDR */
	RKNPU_MEM_TRY_ALLOC_SRAM = 1 << 8,
	/** @RKNPU_MEM_TRY_ALLOC_NBUF: accepted, the object stays in DDR */
	RKNPU_MEM_TRY_ALLOC_NBUF = 1 << 9,
	/**
	 * @RKNPU_MEM_IOMMU_LIMIT_IOVA_ALIGNMENT: the device address need not be
	 * aligned to the size: a page will do where room is short. Otherwise it
	 * is aligned to the size, rounded up to a power of two, 4 MiB at most
	 */
	RKNPU_MEM_IOMMU_LIMIT_IOVA_ALIGNMENT = 1 << 10,
	/** @RKNPU_MEM_MASK: all flags */
	RKNPU_MEM_MASK = RKNPU_MEM_NON_CONTIGUOUS | RKNPU_MEM_CACHEABLE |
			 RKNPU_MEM_WRITE_COMBINE | RKNPU_MEM_KERNEL_MAPPING |
			 RKNPU_MEM_IOMMU | RKNPU_MEM_ZEROING | RKNPU_MEM_SECURE |
			 RKNPU_MEM_DMA32 | RKNPU_MEM_TRY_ALLOC_SRAM |
			 RKNPU_MEM_TRY_ALLOC_NBUF |
			 RKNPU_MEM_IOMMU_LIMIT_IOVA_ALIGNMENT
};

/**
 * enum e_rknpu_mem_sync_mode - Flags of &struct rknpu_mem_sync
 */
enum e_rknpu_mem_sync_mode {
	/** @RKNPU_MEM_SYNC_TO_DEVICE: make CPU writes visible to the NPU */
	RKNPU_MEM_SYNC_TO_DEVICE = 1 << 0,
	/** @RKNPU_MEM_SYNC_FROM_DEVICE: make NPU writes visible to the CPU */
	RKNPU_MEM_SYNC_FROM_DEVICE = 1 << 1,
	/** @RKNPU_MEM_SYNC_MASK: all flags */
	RKNPU_MEM_SYNC_MASK = RKNPU_MEM_SYNC_TO_DEVICE | RKNPU_MEM_SYNC_FROM_DEVICE
};

/**
 * enum e_rknpu_job_mode - Flags of &struct rknpu_submit
 */
enum e_rknpu_job_mode {
	/** @RKNPU_JOB_SLAVE: register writes by the CPU; refused with %EINVAL */
	RKNPU_JOB_SLAVE = 0 << 0,
	/** @RKNPU_JOB_PC: the program controller runs the tasks; required */
	RKNPU_JOB_PC = 1 << 0,
	/** @RKNPU_JOB_BLOCK: return when the job has ended */
	RKNPU_JOB_BLOCK = 0 << 1,
	/** @RKNPU_JOB_NONBLOCK: return when the job is queued */
	RKNPU_JOB_NONBLOCK = 1 << 1,
	/** @RKNPU_JOB_PINGPONG: alternate between the two register groups */
	RKNPU_JOB_PINGPONG = 1 << 2,
	/** @RKNPU_JOB_FENCE_IN: start only after the sync file @fence_fd has signalled */
	RKNPU_JOB_FENCE_IN = 1 << 3,
	/** @RKNPU_JOB_FENCE_OUT: return a sync file in @fence_fd */
	RKNPU_JOB_FENCE_OUT = 1 << 4,
	/** @RKNPU_JOB_MASK: all flags */
	RKNPU_JOB_MASK = RKNPU_JOB_PC | RKNPU_JOB_NONBLOCK | RKNPU_JOB_PINGPONG |
			 RKNPU_JOB_FENCE_IN | RKNPU_JOB_FENCE_OUT
};

/** DOC: Core masks of &struct rknpu_submit */
#define RKNPU_CORE_AUTO_MASK		0x00
#define RKNPU_CORE0_MASK		0x01
#define RKNPU_CORE1_MASK		0x02
#define RKNPU_CORE2_MASK		0x04

/**
 * enum e_rknpu_action - Codes of &struct rknpu_action
 */
enum e_rknpu_action {
	/** @RKNPU_GET_HW_VERSION: version registers of core 0 */
	RKNPU_GET_HW_VERSION = 0,
	/** @RKNPU_GET_DRV_VERSION: major * 10000 + minor * 100 + patch level */
	RKNPU_GET_DRV_VERSION = 1,
	/** @RKNPU_GET_FREQ: rate of the NPU clock in Hz */
	RKNPU_GET_FREQ = 2,
	/** @RKNPU_SET_FREQ: set by the kernel alone: %EINVAL */
	RKNPU_SET_FREQ = 3,
	/** @RKNPU_GET_VOLT: supply voltage in uV; %ENODEV without regulator */
	RKNPU_GET_VOLT = 4,
	/** @RKNPU_SET_VOLT: set by the kernel alone: %EINVAL */
	RKNPU_SET_VOLT = 5,
	/** @RKNPU_ACT_RESET: reset all cores; jobs that run are lost */
	RKNPU_ACT_RESET = 6,
	/** @RKNPU_GET_BW_PRIORITY: no such register on supported chips: %EINVAL */
	RKNPU_GET_BW_PRIORITY = 7,
	/** @RKNPU_SET_BW_PRIORITY: no such register on supported chips: %EINVAL */
	RKNPU_SET_BW_PRIORITY = 8,
	/** @RKNPU_GET_BW_EXPECT: no such register on supported chips: %EINVAL */
	RKNPU_GET_BW_EXPECT = 9,
	/** @RKNPU_SET_BW_EXPECT: no such register on supported chips: %EINVAL */
	RKNPU_SET_BW_EXPECT = 10,
	/** @RKNPU_GET_BW_TW: no such register on supported chips: %EINVAL */
	RKNPU_GET_BW_TW = 11,
	/** @RKNPU_SET_BW_TW: no such register on supported chips: %EINVAL */
	RKNPU_SET_BW_TW = 12,
	/** @RKNPU_ACT_CLR_TOTAL_RW_AMOUNT: no counters: 0, without effect */
	RKNPU_ACT_CLR_TOTAL_RW_AMOUNT = 13,
	/** @RKNPU_GET_DT_WR_AMOUNT: no counters: 0, @value is left alone */
	RKNPU_GET_DT_WR_AMOUNT = 14,
	/** @RKNPU_GET_DT_RD_AMOUNT: no counters: 0, @value is left alone */
	RKNPU_GET_DT_RD_AMOUNT = 15,
	/** @RKNPU_GET_WT_RD_AMOUNT: no counters: 0, @value is left alone */
	RKNPU_GET_WT_RD_AMOUNT = 16,
	/** @RKNPU_GET_TOTAL_RW_AMOUNT: no counters: 0, @value is left alone */
	RKNPU_GET_TOTAL_RW_AMOUNT = 17,
	/** @RKNPU_GET_IOMMU_EN: 1 when device addresses go through an IOMMU */
	RKNPU_GET_IOMMU_EN = 18,
	/**
	 * @RKNPU_SET_PROC_NICE: nice value of the calling thread; a caller
	 * without the right to it gets 0 and keeps its old value
	 */
	RKNPU_SET_PROC_NICE = 19,
	/** @RKNPU_POWER_ON: keep the NPU powered until POWER_OFF or close */
	RKNPU_POWER_ON = 20,
	/** @RKNPU_POWER_OFF: undo one POWER_ON of this file; %EINVAL without one */
	RKNPU_POWER_OFF = 21,
	/** @RKNPU_GET_TOTAL_SRAM_SIZE: on-chip memory in bytes, 0 if none */
	RKNPU_GET_TOTAL_SRAM_SIZE = 22,
	/** @RKNPU_GET_FREE_SRAM_SIZE: free on-chip memory in bytes */
	RKNPU_GET_FREE_SRAM_SIZE = 23,
	/** @RKNPU_GET_IOMMU_DOMAIN_ID: address space this file last selected */
	RKNPU_GET_IOMMU_DOMAIN_ID = 24,
	/** @RKNPU_SET_IOMMU_DOMAIN_ID: select an address space, 0 to 15 */
	RKNPU_SET_IOMMU_DOMAIN_ID = 25
};

/** DOC: Number of address spaces one open file can have */
#define RKNPU_MAX_IOMMU_DOMAIN_NUM	16

/**
 * struct rknpu_mem_create - Arguments of DRM_IOCTL_RKNPU_MEM_CREATE
 *
 * With @handle 0 or with a handle this file does not have, a new object is
 * made. With a handle that exists the call only reports on that object; this
 * gives an imported dma-buf its device address.
 *
 * Programs built against older versions pass the first 40 bytes only.
 *
 * Errors: %EINVAL (@size is 0 for a new object, @iommu_domain_id out of
 * range, imported memory that is scattered without an IOMMU), %ENOMEM (no
 * memory, or no device addresses left).
 */
struct rknpu_mem_create {
	/** @handle: Input: 0, or an existing handle. Output: the handle. */
	__u32 handle;
	/** @flags: Input: &enum e_rknpu_mem_type, for a new object. */
	__u32 flags;
	/** @size: Input: size in bytes. Output: size rounded up to pages. */
	__u64 size;
	/** @obj_addr: Output: token of the object, never 0. */
	__u64 obj_addr;
	/** @dma_addr: Output: device address of its first byte, never 0. */
	__u64 dma_addr;
	/**
	 * @sram_size: Input: on-chip bytes wanted, 0 for as many as possible.
	 * Output: on-chip bytes at the start of the object.
	 */
	__u64 sram_size;
	/** @iommu_domain_id: Input: address space of this file, 0 to 15. */
	__s32 iommu_domain_id;
	/** @core_mask: Input: ignored, it places NBUF memory only. */
	__u32 core_mask;
};

/**
 * struct rknpu_mem_map - Arguments of DRM_IOCTL_RKNPU_MEM_MAP
 *
 * Errors: %ENOENT (no such handle), %EINVAL (imported object).
 */
struct rknpu_mem_map {
	/** @handle: Input: handle of the object. */
	__u32 handle;
	/** @reserved: Ignored. */
	__u32 reserved;
	/** @offset: Output: offset for mmap() on this file. */
	__u64 offset;
};

/**
 * struct rknpu_mem_destroy - Arguments of DRM_IOCTL_RKNPU_MEM_DESTROY
 *
 * The memory lives on until its last mapping, export and job are gone.
 *
 * Errors: %EINVAL (no such handle).
 */
struct rknpu_mem_destroy {
	/** @handle: Input: handle to close. */
	__u32 handle;
	/** @reserved: Ignored. */
	__u32 reserved;
	/** @obj_addr: Ignored. */
	__u64 obj_addr;
};

/**
 * struct rknpu_mem_sync - Arguments of DRM_IOCTL_RKNPU_MEM_SYNC
 *
 * Errors: %EINVAL (unknown flag or none, token not known to this file, object
 * not cacheable or imported, range not inside the object).
 */
struct rknpu_mem_sync {
	/** @flags: Input: &enum e_rknpu_mem_sync_mode, one or both. */
	__u32 flags;
	/** @reserved: Ignored. */
	__u32 reserved;
	/** @obj_addr: Input: token from MEM_CREATE. */
	__u64 obj_addr;
	/** @offset: Input: first byte. */
	__u64 offset;
	/** @size: Input: number of bytes, of any alignment; 0 does nothing. */
	__u64 size;
};

/**
 * struct rknpu_task - One record of a task array in memory
 *
 * The array lies in an object with %RKNPU_MEM_KERNEL_MAPPING. It is copied
 * once when a job is submitted; later changes have no effect on that job.
 */
struct rknpu_task {
	/** @flags: Ignored. */
	__u32 flags;
	/** @op_idx: Ignored; index of the operator, for people. */
	__u32 op_idx;
	/** @enable_mask: Ignored; blocks in use, for people. */
	__u32 enable_mask;
	/**
	 * @int_mask: Input: completion interrupts, bits 0 to 11. Used of the
	 * first and the last task of a range, where it must not be 0.
	 */
	__u32 int_mask;
	/** @int_clear: Ignored. */
	__u32 int_clear;
	/** @int_status: Output: interrupt status, in the last task of a range. */
	__u32 int_status;
	/** @regcfg_amount: Input: register commands of the first task. */
	__u32 regcfg_amount;
	/** @regcfg_offset: Ignored. */
	__u32 regcfg_offset;
	/**
	 * @regcmd_addr: Input: device address of the register commands of the
	 * first task, 16 byte aligned, inside an object of this file.
	 */
	__u64 regcmd_addr;
} __attribute__((packed));

/**
 * struct rknpu_subcore_task - Range of tasks for one core
 */
struct rknpu_subcore_task {
	/** @task_start: Input: index of the first task. */
	__u32 task_start;
	/** @task_number: Input: number of tasks. */
	__u32 task_number;
};

/** DOC: Number of entries in &rknpu_submit.subcore_task */
#define RKNPU_MAX_SUBCORE_TASKS		5

/**
 * struct rknpu_submit - Arguments of DRM_IOCTL_RKNPU_SUBMIT
 *
 * Which range a core runs: on a chip with one core @task_start and
 * @task_number. On other chips core c runs @subcore_task[c] in a job for one
 * or two cores and @subcore_task[c + 2] in a job for three cores; entries of
 * cores that are not used are not looked at, and with @core_mask 0 a core is
 * only chosen if its entry is not empty. A used core with an empty range
 * takes no part in the job.
 *
 * Errors: %EINVAL (flags, @core_mask with a core the chip lacks, @task_number
 * 0, @iommu_domain_id, token not known to this file or without kernel
 * mapping, range outside the task array, bad task record, @fence_fd is no
 * sync file), %ENOMEM, %EMFILE (no file descriptor for the out-fence),
 * %EBUSY (1024 jobs of this file have not ended).
 *
 * Errors of a blocking job that started; output members are filled:
 * %ETIMEDOUT (it did not end in time and was stopped), %EFAULT (it used an
 * address that is not mapped), %EIO (wrong or failing hardware status),
 * %ECANCELED (a reset by somebody else, or its in-fence failed),
 * %ENODEV (the device went away).
 */
struct rknpu_submit {
	/** @flags: Input: &enum e_rknpu_job_mode. */
	__u32 flags;
	/**
	 * @timeout: Input: time in ms that the hardware may take; waiting in
	 * the queue does not count. 0 stands for 6000; more than 60000 is
	 * 60000, since others may have to wait for a job that hangs.
	 */
	__u32 timeout;
	/** @task_start: Input: first task, on chips with one core. */
	__u32 task_start;
	/** @task_number: Input: tasks in all, not 0. */
	__u32 task_number;
	/**
	 * @task_counter: Output: @task_number, or tasks that the first core
	 * had finished when the job failed.
	 */
	__u32 task_counter;
	/**
	 * @priority: Input: higher runs first, -2 to 2; others are clamped.
	 * Without CAP_SYS_NICE more than 0 is 0.
	 */
	__s32 priority;
	/** @task_obj_addr: Input: token of the object with the task array. */
	__u64 task_obj_addr;
	/** @iommu_domain_id: Input: address space the job runs in, 0 to 15. */
	__u32 iommu_domain_id;
	/** @reserved: Ignored. */
	__u32 reserved;
	/** @task_base_addr: Input: added by the hardware to addresses; 0. */
	__u64 task_base_addr;
	/** @hw_elapse_time: Output: time on the hardware in ns. */
	__s64 hw_elapse_time;
	/** @core_mask: Input: cores, 0 for any one. Output: cores used. */
	__u32 core_mask;
	/** @fence_fd: Input: sync file to wait for. Output: new sync file, or -1. */
	__s32 fence_fd;
	/** @subcore_task: Input: ranges per core. */
	struct rknpu_subcore_task subcore_task[RKNPU_MAX_SUBCORE_TASKS];
};

/**
 * struct rknpu_sync - One point of a DRM sync object
 */
struct rknpu_sync {
	/** @handle: Input: handle of the sync object. */
	__u32 handle;
	/** @flags: Input: must be 0. */
	__u32 flags;
	/** @point: Input: point on its timeline, 0 for one without timeline. */
	__u64 point;
};

/** DOC: Points that one RKNPU_SUBMIT_SYNC can wait for, and signal */
#define RKNPU_MAX_SYNCS			64

/**
 * struct rknpu_submit_sync - Arguments of DRM_IOCTL_RKNPU_SUBMIT_SYNC
 *
 * A submit that waits for and signals DRM sync objects. Points to wait for must
 * have a fence already. Points to signal get theirs when the job is queued; it
 * carries the error if the job fails.
 *
 * Errors: those of DRM_IOCTL_RKNPU_SUBMIT, %EINVAL (padding or flags not 0,
 * too many points, point without a fence, %RKNPU_JOB_FENCE_IN together with
 * points to wait for), %ENOENT (no such sync object).
 */
struct rknpu_submit_sync {
	/** @submit: Input and output: as for DRM_IOCTL_RKNPU_SUBMIT. */
	struct rknpu_submit submit;
	/** @in_syncs: Input: address of an array of &struct rknpu_sync to wait for. */
	__u64 in_syncs;
	/** @out_syncs: Input: address of an array of &struct rknpu_sync to signal. */
	__u64 out_syncs;
	/** @in_count: Input: entries of @in_syncs. */
	__u32 in_count;
	/** @out_count: Input: entries of @out_syncs. */
	__u32 out_count;
	/** @stride: Input: size of one entry, sizeof(struct rknpu_sync). */
	__u32 stride;
	/** @pad: Input: must be 0. */
	__u32 pad;
};

/**
 * struct rknpu_action - Arguments of DRM_IOCTL_RKNPU_ACTION
 *
 * Errors: %EINVAL (unknown code, or one this chip does not have), %ENODEV
 * (no regulator), others by code.
 */
struct rknpu_action {
	/** @flags: Input: &enum e_rknpu_action. */
	__u32 flags;
	/** @value: Input or output, by code; signed codes use the same bits. */
	__u32 value;
};

#define DRM_IOCTL_RKNPU_ACTION \
	DRM_IOWR(DRM_COMMAND_BASE + RKNPU_ACTION, struct rknpu_action)
#define DRM_IOCTL_RKNPU_SUBMIT \
	DRM_IOWR(DRM_COMMAND_BASE + RKNPU_SUBMIT, struct rknpu_submit)
#define DRM_IOCTL_RKNPU_MEM_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + RKNPU_MEM_CREATE, struct rknpu_mem_create)
#define DRM_IOCTL_RKNPU_MEM_MAP \
	DRM_IOWR(DRM_COMMAND_BASE + RKNPU_MEM_MAP, struct rknpu_mem_map)
#define DRM_IOCTL_RKNPU_MEM_DESTROY \
	DRM_IOWR(DRM_COMMAND_BASE + RKNPU_MEM_DESTROY, struct rknpu_mem_destroy)
#define DRM_IOCTL_RKNPU_MEM_SYNC \
	DRM_IOWR(DRM_COMMAND_BASE + RKNPU_MEM_SYNC, struct rknpu_mem_sync)

#define DRM_IOCTL_RKNPU_SUBMIT_SYNC \
	DRM_IOWR(DRM_COMMAND_BASE + RKNPU_SUBMIT_SYNC, struct rknpu_submit_sync)

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_RKNPU_DRM_H_ */
