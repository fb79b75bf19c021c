// SPDX-License-Identifier: MIT
#pragma once

#include <rknn_api.h>

#include "core/status.hpp"
#include "runtime/runtime.hpp"

namespace rknpu::api {

/// rknn_init(): reads the model from a path or memory and registers the new context.
Status init_context(rknn_context* context, const void* model, uint32_t size, uint32_t flags,
                    const rknn_init_extend* extend);

}  // namespace rknpu::api
