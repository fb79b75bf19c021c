/* SPDX-License-Identifier: MIT */
/*
 * Small jobs with a known result, as register-command streams for RK3588 and
 * RK3576. RK3562, RK3566 and RK3568 get those of RK3588, in units of their own:
 * what their blocks want is not known, and on the emulated board they take these.
 *
 * A job has a data buffer that is cut into slots of NPU_SLOT bytes: a cube of
 * 8 x 4 pixels with 16 int8 channels. Tasks read one slot and write another,
 * and run as one chain.
 */
#ifndef RKNPU_SELFTEST_JOBS_H
#define RKNPU_SELFTEST_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "npu_device.h"

#define NPU_SLOT_WIDTH 8u
#define NPU_SLOT_HEIGHT 4u
#define NPU_SLOT (NPU_SLOT_WIDTH * NPU_SLOT_HEIGHT * 16u)

#define NPU_DONE_DPU 0x300u
#define NPU_DONE_PPU 0xc00u

struct npu_job {
	int fd;
	unsigned int tasks;
	unsigned int slots;
	struct npu_bo commands;
	struct npu_bo records;
	struct npu_bo data;
};

/* Buffers for up to max_tasks tasks and that many slots; 0 or a negative errno. */
int npu_job_init(struct npu_job *job, int fd, unsigned int max_tasks, unsigned int slots);
void npu_job_free(struct npu_job *job);

/* to = from + addend, saturated to int8, for each element. */
void npu_job_add_offset(struct npu_job *job, unsigned int from, unsigned int to, int addend);

/* The same between any two device addresses, mapped or not. */
void npu_job_add_offset_raw(struct npu_job *job, uint64_t from, uint64_t to, int addend);

/* 1x1 convolution, 16 to 32 channels: to and to + 1 get the two output halves. */
void npu_job_add_conv(struct npu_job *job, unsigned int from, unsigned int weights,
		      unsigned int to);

/* How RK3576 pools is not known. */
bool npu_job_has_pool(void);

/* 2x2 max pool with stride 2; the result fills a quarter of the slot. */
void npu_job_add_pool(struct npu_job *job, unsigned int from, unsigned int to);

/* The chain ends after @tasks tasks although the job promises more: it hangs there. */
void npu_job_cut(struct npu_job *job, unsigned int tasks);

/* A job of two tasks that stops after the first and never ends by itself; ready to be submitted. */
int npu_job_init_hang(struct npu_job *job, int fd);

/* Make the CPU's writes visible to the NPU, and back. */
void npu_job_seal(struct npu_job *job);
void npu_job_fetch(struct npu_job *job);

int8_t *npu_job_slot(struct npu_job *job, unsigned int slot);
struct rknpu_task *npu_job_record(struct npu_job *job, unsigned int task);

/*
 * Number of entries that task_number counts together: one for each core of the
 * chip. With one core, task_number alone says how many tasks to run.
 */
unsigned int npu_job_shares(void);

/* The arguments the closed runtime would pass: all tasks on each core's entry. */
struct rknpu_submit npu_job_args(const struct npu_job *job, uint32_t core_mask);

/* Submits with those arguments and waits; 0 or a negative errno. */
int npu_job_run(struct npu_job *job, uint32_t core_mask);
int npu_submit(int fd, struct rknpu_submit *args);

/* Fills slot 0 with a pattern, runs a chain of n additions, checks every slot: 0 if right. */
int npu_chain_check(int fd, unsigned int tasks, uint32_t core_mask);

/* A plain job on each core of a fresh file: 0 if all are right. */
int npu_healthy(void);

#endif
