// SPDX-License-Identifier: GPL-2.0-only
/*
 * 7938f4218168 ("dma-buf-map: Rename to iosys-map"), 5.18
 */
#include <linux/iosys-map.h>

struct iosys_map probe;
