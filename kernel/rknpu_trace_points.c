// SPDX-License-Identifier: GPL-2.0-only
#include "rknpu_job.h"

#define CREATE_TRACE_POINTS
#include "rknpu_trace.h"
