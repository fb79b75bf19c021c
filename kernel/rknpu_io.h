/* SPDX-License-Identifier: GPL-2.0-only */
/* The only place that knows how registers are reached. */
#ifndef RKNPU_IO_H
#define RKNPU_IO_H

#include <linux/io.h>

#include "rknpu_core.h"

static inline u32 rknpu_read(const struct rknpu_core *core, u32 reg)
{
	return readl(core->regs + reg);
}

/* Orders all earlier memory accesses before the register. */
static inline void rknpu_write(const struct rknpu_core *core, u32 reg, u32 value)
{
	writel(value, core->regs + reg);
}

/* Ordered against other registers of the core only. */
static inline void rknpu_write_relaxed(const struct rknpu_core *core, u32 reg, u32 value)
{
	writel_relaxed(value, core->regs + reg);
}

#endif
