// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace rknpu::cpu {

/// True for names that cannot belong to a custom operator: the types of the ONNX standard, which
/// the toolkit does not let custom operators have, and the vendor's own ("ex" and a capital
/// letter). Says nothing about whether find() knows them.
bool is_reserved_type(std::string_view type);

}  // namespace rknpu::cpu
