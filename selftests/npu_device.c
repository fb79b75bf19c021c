// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "npu_device.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include "npu_jobs.h"

#define MAX_MINORS 16
#define EMULATOR_PAGE 0x1010e000
#define EMULATOR_ID 0x534b5052
#define DEBUGFS "/sys/kernel/debug"

int npu_ioctl(int fd, unsigned long request, void *argument)
{
	int ret;

	do {
		ret = ioctl(fd, request, argument);
	} while (ret < 0 && (errno == EINTR || errno == EAGAIN));
	return ret < 0 ? -errno : ret;
}

static bool is_rknpu(int fd)
{
	char name[32] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };

	return npu_ioctl(fd, DRM_IOCTL_VERSION, &version) == 0 && strcmp(name, "rknpu") == 0;
}

static int open_node(const char *prefix, int base)
{
	char path[64];
	int denied = -ENODEV, fd, i;

	for (i = 0; i < MAX_MINORS; i++) {
		snprintf(path, sizeof(path), "/dev/dri/%s%d", prefix, base + i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0) {
			if (errno == EACCES || errno == EPERM)
				denied = -errno;
			continue;
		}
		if (is_rknpu(fd))
			return fd;
		close(fd);
	}
	return denied;
}

int npu_open(void)
{
	return open_node("card", 0);
}

int npu_open_render(void)
{
	return open_node("renderD", 128);
}

bool npu_sysfs_name(char *name, size_t size)
{
	struct dirent *entry;
	DIR *dir;

	name[0] = '\0';
	dir = opendir(NPU_SYSFS);
	if (!dir)
		return false;
	while ((entry = readdir(dir)) != NULL) {
		if (strstr(entry->d_name, ".npu") &&
		    (!name[0] || strcmp(entry->d_name, name) < 0))
			snprintf(name, size, "%s", entry->d_name);
	}
	closedir(dir);
	return name[0];
}

bool npu_is_chip(const char *chip)
{
	char name[256], path[512], text[256];
	const char *dash;

	if (!npu_sysfs_name(name, sizeof(name)))
		return false;
	snprintf(path, sizeof(path), NPU_SYSFS "%s/of_node/compatible", name);
	if (npu_read_text(path, text, sizeof(text)) <= 0)
		return false;
	/* The first of its strings: "rockchip,CHIP-rknpu" */
	dash = strchr(text, '-');
	return strncmp(text, "rockchip,", 9) == 0 && dash &&
	       dash == text + 9 + strlen(chip) && strncmp(text + 9, chip, strlen(chip)) == 0;
}

int npu_action(int fd, uint32_t code, uint32_t *value)
{
	struct rknpu_action action = { .flags = code, .value = *value };
	int ret = npu_ioctl(fd, DRM_IOCTL_RKNPU_ACTION, &action);

	*value = action.value;
	return ret;
}

static int bo_map(struct npu_bo *bo, size_t length)
{
	struct rknpu_mem_map map = { .handle = bo->handle };
	int ret = npu_ioctl(bo->fd, DRM_IOCTL_RKNPU_MEM_MAP, &map);

	if (ret)
		return ret;
	/* mmap64: the offset has more than 32 bits also for 32-bit programs. */
	bo->map = mmap64(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, bo->fd,
			 (off64_t)map.offset);
	if (bo->map == MAP_FAILED) {
		bo->map = NULL;
		return -errno;
	}
	return 0;
}

int npu_bo_create(int fd, uint32_t flags, uint64_t size, struct npu_bo *bo)
{
	struct rknpu_mem_create create = { .flags = flags, .size = size };
	int ret;

	memset(bo, 0, sizeof(*bo));
	ret = npu_ioctl(fd, DRM_IOCTL_RKNPU_MEM_CREATE, &create);
	if (ret)
		return ret;
	bo->fd = fd;
	bo->handle = create.handle;
	bo->size = create.size;
	bo->token = create.obj_addr;
	bo->iova = create.dma_addr;
	bo->sram = create.sram_size;
	ret = bo_map(bo, size);
	if (ret)
		npu_bo_destroy(bo);
	return ret;
}

void npu_bo_destroy(struct npu_bo *bo)
{
	struct rknpu_mem_destroy destroy = { .handle = bo->handle };

	if (bo->map)
		munmap(bo->map, bo->size);
	if (bo->handle)
		npu_ioctl(bo->fd, DRM_IOCTL_RKNPU_MEM_DESTROY, &destroy);
	memset(bo, 0, sizeof(*bo));
}

int npu_bo_sync(const struct npu_bo *bo, uint32_t flags, uint64_t offset, uint64_t size)
{
	struct rknpu_mem_sync sync = {
		.flags = flags,
		.obj_addr = bo->token,
		.offset = offset,
		.size = size,
	};

	return npu_ioctl(bo->fd, DRM_IOCTL_RKNPU_MEM_SYNC, &sync);
}

int npu_export(int fd, uint32_t handle)
{
	struct drm_prime_handle prime = {
		.handle = handle,
		.flags = DRM_CLOEXEC | DRM_RDWR,
		.fd = -1,
	};
	int ret = npu_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime);

	return ret ? ret : prime.fd;
}

int npu_import(int fd, int dmabuf, uint32_t *handle)
{
	struct drm_prime_handle prime = { .fd = dmabuf };
	int ret = npu_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime);

	*handle = prime.handle;
	return ret;
}

int npu_core_count(int fd)
{
	struct npu_job job;
	int count, ret;

	ret = npu_job_init(&job, fd, 1, 2);
	if (ret)
		return ret;
	npu_job_add_offset(&job, 0, 1, 1);
	npu_job_seal(&job);
	for (count = 3; count > 1; count--) {
		ret = npu_job_run(&job, 1u << (count - 1));
		if (ret != -EINVAL)
			break;
	}
	npu_job_free(&job);
	return ret && ret != -EINVAL ? ret : count;
}

bool npu_has_iommu(int fd)
{
	uint32_t value = 0;

	return npu_action(fd, RKNPU_GET_IOMMU_EN, &value) == 0 && value;
}

static int debugfs_path(const char *name, char *path, size_t size)
{
	snprintf(path, size, DEBUGFS "/rknpu/%s", name);
	if (access(path, F_OK) == 0)
		return 0;
	/* Not there: debugfs may just not be mounted. EBUSY = it is. */
	mount("none", DEBUGFS, "debugfs", 0, NULL);
	return access(path, F_OK) == 0 ? 0 : -errno;
}

int npu_read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;
	ssize_t got, total = 0;

	text[0] = '\0';
	if (fd < 0)
		return -errno;
	while ((got = read(fd, text + total, size - 1 - total)) > 0)
		total += got;
	ret = got < 0 ? -errno : (int)total;
	text[total] = '\0';
	close(fd);
	return ret;
}

int npu_read_line(const char *path, char *text, size_t size)
{
	int ret = npu_read_text(path, text, size);

	text[strcspn(text, "\n")] = '\0';
	return ret < 0 ? ret : 0;
}

static int write_bytes(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = write(fd, bytes, size) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

int npu_write_text(const char *path, const char *text)
{
	return write_bytes(path, text, strlen(text));
}

int npu_debugfs_read(const char *name, char *text, size_t size)
{
	char path[128];
	int ret = debugfs_path(name, path, sizeof(path));

	if (!ret)
		ret = npu_read_text(path, text, size);
	return ret < 0 ? ret : 0;
}

int npu_debugfs_write(const char *name, const void *text, size_t size)
{
	char path[128];
	int ret = debugfs_path(name, path, sizeof(path));

	return ret ? ret : write_bytes(path, text, size);
}

long long npu_sram_used(void)
{
	char text[8192];
	const char *used;

	if (npu_debugfs_read("mm", text, sizeof(text)))
		return -1;
	used = strstr(text, "used: ");
	return used ? atoll(used + strlen("used: ")) : -1;
}

void npu_expect_fault(bool on)
{
	const char *line = on ? "rknpu-vm: expect-fault on\n" : "rknpu-vm: expect-fault off\n";
	int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, line, strlen(line)) < 0)
		perror("/dev/kmsg");
	close(fd);
}

/* Anywhere else that address could be anything. */
static bool on_emulated_board(void)
{
	char text[256];

	return npu_read_text("/proc/device-tree/compatible", text, sizeof(text)) > 0 &&
	       strcmp(text, "linux,dummy-virt") == 0;
}

volatile uint32_t *npu_emulator(void)
{
	volatile uint32_t *page;
	int fd;

	if (!on_emulated_board())
		return NULL;
	fd = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	page = mmap(NULL, NPU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, EMULATOR_PAGE);
	close(fd);
	if (page == MAP_FAILED || page[0] != EMULATOR_ID)
		return NULL;
	return page;
}

int npu_log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	lseek(fd, 0, SEEK_END);
	return fd;
}

bool npu_log_has(int fd, const char *text)
{
	char line[2048];
	ssize_t got;

	/* One read, one line; EPIPE: some were overwritten. */
	while ((got = read(fd, line, sizeof(line) - 1)) > 0 || (got < 0 && errno == EPIPE)) {
		line[got > 0 ? got : 0] = '\0';
		if (strstr(line, text))
			return true;
	}
	return false;
}

const char *npu_fault(void)
{
	const char *name = getenv("RKNPU_FAULT");

	return name ? name : "";
}

uint64_t npu_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
