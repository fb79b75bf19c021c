// SPDX-License-Identifier: MIT
// What the ONNX operators on bytes with zero points share (ConvInteger, QLinearConv,
// MatMulInteger, QLinearMatMul).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "support.hpp"

namespace rknpu::cpu::ops {

constexpr bool is_byte(DType type) {
    return type == DType::kI8 || type == DType::kU8;
}

/// Element `i` of an int8 or uint8 tensor.
inline std::int32_t byte_value(const TensorView& t, std::int64_t i) {
    const auto raw = static_cast<std::uint8_t>(t.data[static_cast<std::size_t>(i)]);
    return t.dtype == DType::kI8 ? static_cast<std::int8_t>(raw) : raw;
}

/// Inputs 0 and 1 of the integer operators must be bytes.
Status check_integer_types(const OpContext& context);

/// Types of x, x_scale, x_zp, w, w_scale, w_zp, y_scale, y_zp (inputs 0 to 7); the last two must
/// be one number each.
Status check_qlinear_types(const OpContext& context);

/// `count` zero points from an input that holds one for each, one for all, or is absent (0).
Status read_zero_points(const OpContext& context, std::size_t input, std::int64_t count,
                        std::vector<std::int32_t>& out);

/// `count` scales from an input that holds one for each or one for all.
Status read_scales(const OpContext& context, std::size_t input, std::int64_t count,
                   std::vector<float>& out);

/// Writes real numbers to output 0 with the scale and zero point of inputs 6 and 7.
Status store_qlinear(const OpContext& context, std::span<const float> real);

}  // namespace rknpu::cpu::ops
