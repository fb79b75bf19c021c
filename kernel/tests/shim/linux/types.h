/* SPDX-License-Identifier: GPL-2.0-only */
/* Host stand-in: the kernel's short type names over the uapi ones. */
#ifndef RKNPU_SHIM_TYPES_H
#define RKNPU_SHIM_TYPES_H

#include_next <linux/types.h>

#ifndef __cplusplus
#include <stdbool.h>
#endif
#include <stddef.h>

typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;

#endif
