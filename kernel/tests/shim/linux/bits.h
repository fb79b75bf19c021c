/* SPDX-License-Identifier: GPL-2.0-only */
/* Host stand-in for the one macro the policy uses. */
#ifndef RKNPU_SHIM_BITS_H
#define RKNPU_SHIM_BITS_H

#define BIT(n) (1UL << (n))

#endif
