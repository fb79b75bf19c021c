// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "device/device.hpp"

namespace rknpu {

/// An NPU modelled inside this process, that of RKNPU_SIM_SOC (RK3588); RKNPU_SIM_THREADS sets the
/// threads per core.
Result<std::shared_ptr<Device>> open_sim_device();

/// Errors: kPlatformMismatch if RKNPU_SIM_SOC has changed since `open` was opened.
Status check_sim_soc(const Device& open);

}  // namespace rknpu
