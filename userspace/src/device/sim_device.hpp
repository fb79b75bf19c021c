// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "device/device.hpp"

namespace rknpu {

/// An RK3588 NPU modelled inside this process; RKNPU_SIM_THREADS sets the threads per core.
Result<std::shared_ptr<Device>> open_sim_device();

}  // namespace rknpu
