// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "cpu/fp16.hpp"

namespace rknpu {

inline float half_to_float(uint16_t half) {
    return cpu::fp16_to_fp32(half);
}
inline uint16_t float_to_half(float value) {
    return cpu::fp32_to_fp16(value);
}
inline float bfloat_to_float(uint16_t value) {
    return cpu::bf16_to_fp32(value);
}
inline uint16_t float_to_bfloat(float value) {
    return cpu::fp32_to_bf16(value);
}

}  // namespace rknpu
