// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace rknpu::cpu::ops {

/// e^x within 2 units in the last place for results in the normal range, without branches or calls,
/// so that loops over it vectorise. Results below the normal range become 0; NaN stays NaN.
/// Range reduction to |r| <= ln2/2 and a Taylor polynomial of degree 7 (remainder below 2^-27).
inline float fast_exp(float x) {
    constexpr float kLog2e = 1.44269504F;
    constexpr float kLn2Hi = 0.693359375F;  // 9 bits: n * kLn2Hi is exact
    constexpr float kLn2Lo = -2.12194440e-4F;
    constexpr float kMagic = 12582912.0F;  // 1.5 * 2^23: rounds to an integer
    constexpr float kLowest = -87.3365F;   // ln of the smallest normal number
    constexpr float kHighest = 88.7228F;   // ln of the largest number
    float c = x > kLowest ? x : kLowest;
    c = c < kHighest ? c : kHighest;
    const float shifted = c * kLog2e + kMagic;
    const float n = shifted - kMagic;
    const float r = (c - n * kLn2Hi) - n * kLn2Lo;
    float p = 1.98412698e-4F;
    p = p * r + 1.38888889e-3F;
    p = p * r + 8.33333333e-3F;
    p = p * r + 4.16666667e-2F;
    p = p * r + 1.66666667e-1F;
    p = p * r + 0.5F;
    p = (p * r) * r + r + 1.0F;
    // n may be 128, one more than a normal exponent holds: apply it in two halves.
    const std::int32_t whole = static_cast<std::int32_t>(n);
    const std::int32_t half = whole >> 1;
    const float scale_a = std::bit_cast<float>((half + 127) << 23);
    const float scale_b = std::bit_cast<float>((whole - half + 127) << 23);
    float y = (p * scale_a) * scale_b;
    y = x < kLowest ? 0.0F : y;
    y = x > kHighest ? HUGE_VALF : y;
    return x != x ? x : y;
}

inline float fast_sigmoid(float x) {
    return 1.0F / (1.0F + fast_exp(-x));
}

}  // namespace rknpu::cpu::ops
