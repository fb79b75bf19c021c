/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_DUMP_H
#define RKNPU_DUMP_H

#include <linux/types.h>

#include "rknpu_core.h"
#include "rknpu_soc.h"

struct rknpu_device;
struct rknpu_vm;

/**
 * struct rknpu_dump - what is kept of jobs that were stopped
 * @text: the dump, in &rknpu_device.dump_text
 * @used: bytes in @text
 * @cores: what each core was doing; holds a reference of the address space
 */
struct rknpu_dump {
	char *text;
	size_t used;
	struct {
		struct rknpu_batch batch;
		struct rknpu_vm *vm;
	} cores[RKNPU_MAX_CORES];
};

int rknpu_dump_init(struct rknpu_device *ndev);
void rknpu_dump_begin(struct rknpu_dump *dump, struct rknpu_device *ndev);
void rknpu_dump_core(struct rknpu_dump *dump, const struct rknpu_core *core,
		     const struct rknpu_batch *batch, u32 done);
void rknpu_dump_end(struct rknpu_dump *dump, struct rknpu_device *ndev);

#endif
