/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_EXPLAIN_H
#define RKNPU_EXPLAIN_H

struct rknpu_device;

int rknpu_explain_interrupts(struct rknpu_device *ndev);
void rknpu_explain_optional(struct rknpu_device *ndev);
void rknpu_explain_no_mmu(struct rknpu_device *ndev);
void rknpu_explain_low_tables(struct rknpu_device *ndev);
void rknpu_explain_rivals(void);

#endif
