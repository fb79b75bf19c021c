// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "status.hpp"
#include "tensor.hpp"

namespace rknpu::cpu {

/// Rounds to the nearest integer, ties to even. |value| must be below 2^22; unlike std::rint this
/// is two additions on every target, so loops vectorise.
inline float round_even_small(float value) {
    constexpr float kMagic = 12582912.0F;  // 1.5 * 2^23: one unit in the last place is 1
    return (value + kMagic) - kMagic;
}

/// code = clamp(round_half_even(value / scale) + zero_point), the rule of ONNX QuantizeLinear. NaN
/// gives the lowest code. Instantiated for int8_t, uint8_t and int16_t.
template <typename T>
void quantize(std::span<const float> src, const Quant& quant, std::span<T> dst);

/// value = scale * (code - zero_point). Instantiated for int8_t, uint8_t, int16_t and int32_t.
template <typename T>
void dequantize(std::span<const T> src, const Quant& quant, std::span<float> dst);

/// Copies the *values* of `src` to `dst`, which has as many elements: dequantises when src has a
/// Quant, quantises when dst has one, changes the type otherwise. Floats become integers by
/// truncation, everything saturates, NaN becomes 0, and bool is "not zero". Equal dtype and Quant
/// is a plain copy.
Status convert(const TensorView& src, const MutTensorView& dst);

/// A quantisation a converter can divide by: finite scale above zero, zero point within the type.
bool quant_is_valid(const Quant& quant, DType dtype);

}  // namespace rknpu::cpu
