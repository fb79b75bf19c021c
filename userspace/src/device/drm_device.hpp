// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "device/device.hpp"

namespace rknpu {

/// The first DRM node whose driver is called rknpu.
Result<std::shared_ptr<Device>> open_drm_device();

}  // namespace rknpu
