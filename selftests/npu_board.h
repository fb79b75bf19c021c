/* SPDX-License-Identifier: MIT */
/* The control page of the emulated board; see Documentation/emulated-board.rst. */
#ifndef RKNPU_SELFTEST_BOARD_H
#define RKNPU_SELFTEST_BOARD_H

#include <stdbool.h>
#include <stdint.h>

enum npu_board_register {
	BOARD_FAULT = 0x10,
	BOARD_FAULT_VALUE = 0x14,
	BOARD_FAULT_JOBS = 0x18,
	BOARD_POWER = 0x20,
	BOARD_CLOCK_RATE = 0x24,
	BOARD_CLOCK_ON = 0x28,
	BOARD_POWER_FAIL = 0x2c,
	BOARD_VIOLATIONS = 0x30,
	BOARD_SUPPLY = 0x34,
};

/* Kinds of faults, for BOARD_FAULT; the core is in bits 15:8, 0xff for all. */
#define BOARD_FAULT_HANG	0u
#define BOARD_FAULT_LATE	1u
#define BOARD_ALL_CORES		0xff00u

/* For BOARD_POWER_FAIL: the next n attempts to switch on domain 0..2 or the supply. */
#define BOARD_FAIL(what, n)	(1u << (16 + (what)) | (n))
#define BOARD_FAIL_SUPPLY	3u

/* False when this is no emulated board, or its power is not under the driver's control. */
bool npu_board_open(void);
uint32_t npu_board_read(enum npu_board_register reg);
void npu_board_write(enum npu_board_register reg, uint32_t value);

/* The next @jobs jobs take @ms on the hardware. */
void npu_board_slow(uint32_t ms, uint32_t jobs);

/* Lets the driver switch off at once, and waits for it: false if it does not. */
bool npu_board_wait_off(void);

/* Through sysfs: 0 or a negative errno. */
int npu_driver_bind(bool bind);

#endif
