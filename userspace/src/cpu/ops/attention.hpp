// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "../operator.hpp"

namespace rknpu::cpu::ops {

/// Operators that compilers form out of several ONNX ones.
std::span<const Operator> attention_ops();

}  // namespace rknpu::cpu::ops
