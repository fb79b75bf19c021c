// SPDX-License-Identifier: GPL-2.0-only
/*
 * 9d8619190031 ("PM: runtime: Add DEFINE_RUNTIME_DEV_PM_OPS() macro"), 5.17
 */
#include <linux/pm_runtime.h>

DEFINE_RUNTIME_DEV_PM_OPS(probe_ops, NULL, NULL, NULL);
#ifndef DEFINE_RUNTIME_DEV_PM_OPS
#error it was an implicit declaration
#endif
