/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included before every file of the driver. The driver is written for the
 * newest kernel; each header here supplies what an older one lacks.
 */
#ifndef RKNPU_COMPAT_H
#define RKNPU_COMPAT_H

#include "compat_config.h"

#include "compat_drm.h"
#include "compat_iommu.h"
#include "compat_mm.h"
#include "compat_platform.h"
#include "compat_proc.h"
#include "compat_time.h"

#endif
