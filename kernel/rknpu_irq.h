/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_IRQ_H
#define RKNPU_IRQ_H

struct rknpu_core;
struct rknpu_device;

int rknpu_irq_init(struct rknpu_device *ndev);
void rknpu_irq_shutdown(struct rknpu_device *ndev);
void rknpu_irq_follow(struct rknpu_core *core, unsigned int cpu);

#endif
