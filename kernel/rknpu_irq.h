/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_IRQ_H
#define RKNPU_IRQ_H

#include <linux/compiler.h>
#include <linux/types.h>

struct rknpu_core;
struct rknpu_device;

extern bool rknpu_irq_follows;

int rknpu_irq_init(struct rknpu_device *ndev);
void rknpu_irq_shutdown(struct rknpu_device *ndev);
void rknpu_irq_move(struct rknpu_core *core, unsigned int cpu);

/* A job that was submitted on @cpu starts; called with job_lock held. */
static inline void rknpu_irq_follow(struct rknpu_core *core, unsigned int cpu)
{
	if (READ_ONCE(rknpu_irq_follows))
		rknpu_irq_move(core, cpu);
}

#endif
