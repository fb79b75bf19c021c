// SPDX-License-Identifier: MIT
#pragma once

namespace rknpu::api {

/// The interface we follow, then our own version. Clients compare the first number.
inline constexpr char kApiVersion[] = "2.3.2 (rknpu " RKNPU_VERSION "@open)";

}  // namespace rknpu::api
