// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "core/status.hpp"
#include "runtime/runtime.hpp"

namespace rknpu::api {

/// The cores that a mask of the caller means on this chip: 0 (any one), 1, 2, 4, 3 or 7.
/// Errors: kPlatformMismatch on chips with one core, kInvalidArgument for cores the chip lacks and
/// for combinations that it cannot do.
Result<uint32_t> check_core_mask(const DeviceInfo& device, uint32_t mask);

}  // namespace rknpu::api
