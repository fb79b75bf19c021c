// SPDX-License-Identifier: MIT
// One function per file of this folder, listing the operators it implements.
#pragma once

#include <span>

#include "../operator.hpp"

namespace rknpu::cpu::ops {

std::span<const Operator> reshape_ops();

}  // namespace rknpu::cpu::ops
