// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "rknpu_compiler/lower.hpp"

namespace rknpu::compiler {

/// The bytes of a .rknn file, container layout 6, for RK3588: header, FlatBuffer, JSON trailer.
[[nodiscard]] std::vector<std::byte> write_rknn(const Job& job);

}  // namespace rknpu::compiler
