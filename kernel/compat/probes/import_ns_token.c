// SPDX-License-Identifier: GPL-2.0-only
/*
 * Until cdd30ebb1b9f ("module: Convert symbol namespace to string literal"),
 * 6.13, a bare word was wanted; a string compiles there too, but is wrong.
 */
#include <linux/module.h>

MODULE_IMPORT_NS(DMA_BUF);
