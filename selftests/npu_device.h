/* SPDX-License-Identifier: MIT */
/* Access to the device node for the selftests: thin, without any check of its own. */
#ifndef RKNPU_SELFTEST_DEVICE_H
#define RKNPU_SELFTEST_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rknpu_drm.h"

#define NPU_PAGE 4096u

/* Memory flags as the closed runtime uses them. */
#define NPU_MEM_DATA                                                                    \
	(RKNPU_MEM_NON_CONTIGUOUS | RKNPU_MEM_CACHEABLE |                               \
	 RKNPU_MEM_IOMMU_LIMIT_IOVA_ALIGNMENT)
#define NPU_MEM_TASKS (NPU_MEM_DATA | RKNPU_MEM_KERNEL_MAPPING)

/* A buffer, mapped. */
struct npu_bo {
	int fd;
	uint32_t handle;
	uint64_t size;
	uint64_t token;
	uint64_t iova;
	uint64_t sram;
	void *map;
};

/* ioctl() that returns 0 or a negative errno, and starts again after a signal. */
int npu_ioctl(int fd, unsigned long request, void *argument);

/* An fd of the primary or render node, or a negative errno; -ENODEV: no such device. */
int npu_open(void);
int npu_open_render(void);

/* Action: 0 or a negative errno; *value goes in and comes out. */
int npu_action(int fd, uint32_t code, uint32_t *value);

/* MEM_CREATE, MEM_MAP, mmap; the size may be any. 0 or a negative errno. */
int npu_bo_create(int fd, uint32_t flags, uint64_t size, struct npu_bo *bo);
void npu_bo_destroy(struct npu_bo *bo);
int npu_bo_sync(const struct npu_bo *bo, uint32_t flags, uint64_t offset, uint64_t size);

/* PRIME; an fd or handle, or a negative errno. */
int npu_export(int fd, uint32_t handle);
int npu_import(int fd, int dmabuf, uint32_t *handle);

/* Opens nothing itself: number of cores that accept a job, 1 to 3, or a negative errno. */
int npu_core_count(int fd);

/* The driver's folder in sysfs, and the (first core's) device in it: false if there is none. */
#define NPU_SYSFS "/sys/bus/platform/drivers/RKNPU/"
bool npu_sysfs_name(char *name, size_t size);

/* By the device tree: npu_is_chip("rk3576"). */
bool npu_is_chip(const char *chip);

/* Without an IOMMU memory must lie in one piece. */
bool npu_has_iommu(int fd);

/* A file's text with a final NUL: its length or a negative errno. */
int npu_read_text(const char *path, char *text, size_t size);
/* Its first line without the newline: 0 or a negative errno. */
int npu_read_line(const char *path, char *text, size_t size);
int npu_write_text(const char *path, const char *text);

/* The same with a file under debugfs rknpu/: 0 or a negative errno. */
int npu_debugfs_read(const char *name, char *text, size_t size);
int npu_debugfs_write(const char *name, const void *text, size_t size);

/* SRAM in use, from debugfs mm; -1 when there is none or no debugfs. */
long long npu_sram_used(void);

/* Tells a watcher of the kernel log that page faults are meant to happen now. */
void npu_expect_fault(bool on);

/* Registers that only the emulated board has, in words, or NULL; see emulated-board.rst. */
#define NPU_EMULATOR_LIVE_START (0x40 / 4)
#define NPU_EMULATOR_LIVE_SIZE (0x44 / 4)
#define NPU_EMULATOR_LIVE (0x48 / 4)
#define NPU_EMULATOR_STRAY (0x4c / 4)
#define NPU_EMULATOR_COUNTERS (0x100 / 4)
#define NPU_EMULATOR_COUNTERS_STRIDE (0x20 / 4)
volatile uint32_t *npu_emulator(void);

/* The kernel log from now on, an fd or a negative errno; is there a line with that text? */
int npu_log_open(void);
bool npu_log_has(int fd, const char *text);

/* The fault that the emulator was told to produce: a name in the file faults, or "". */
const char *npu_fault(void);

uint64_t npu_now_ms(void);

#endif
