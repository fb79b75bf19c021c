/* SPDX-License-Identifier: GPL-2.0-only */
/* Host stand-in: libc includes the uapi file of this name, so keep it reachable. */
#include_next <linux/limits.h>

#ifndef U64_MAX
#define U64_MAX (~0ULL)
#endif
