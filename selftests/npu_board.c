// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "npu_board.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "npu_device.h"

#define BOARD_ADDRESS 0x1010e000
#define BOARD_ID 0x534b5052u
#define WAIT_MS 10000

static volatile uint32_t *board;
static char device[256]; /* the first core's, if each has one */

bool npu_board_open(void)
{
	int fd;

	/* Only such a board has this driver; elsewhere the page may be anything. */
	if (access("/sys/bus/platform/drivers/rknpu-board", F_OK) ||
	    !npu_sysfs_name(device, sizeof(device)))
		return false;
	fd = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
	if (fd < 0)
		return false;
	board = mmap(NULL, NPU_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, BOARD_ADDRESS);
	close(fd);
	return board != MAP_FAILED && board[0] == BOARD_ID;
}

uint32_t npu_board_read(enum npu_board_register reg)
{
	return board[reg / 4];
}

void npu_board_write(enum npu_board_register reg, uint32_t value)
{
	board[reg / 4] = value;
}

void npu_board_slow(uint32_t ms, uint32_t jobs)
{
	npu_board_write(BOARD_FAULT, BOARD_FAULT_LATE | BOARD_ALL_CORES);
	npu_board_write(BOARD_FAULT_VALUE, ms);
	npu_board_write(BOARD_FAULT_JOBS, jobs);
}

bool npu_board_wait_off(void)
{
	uint64_t end = npu_now_ms() + WAIT_MS;

	if (npu_debugfs_write("delayms", "0", 1))
		return false;
	while (npu_now_ms() < end) {
		if (!npu_board_read(BOARD_POWER) && !npu_board_read(BOARD_SUPPLY))
			return true;
		usleep(10000);
	}
	return false;
}

int npu_driver_bind(bool bind)
{
	return npu_write_text(bind ? NPU_SYSFS "bind" : NPU_SYSFS "unbind", device);
}
