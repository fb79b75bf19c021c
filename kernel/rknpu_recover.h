/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RKNPU_RECOVER_H
#define RKNPU_RECOVER_H

struct rknpu_device;
struct work_struct;

void rknpu_recover_work(struct work_struct *work);
int rknpu_recover_reset_all(struct rknpu_device *ndev);

#endif
