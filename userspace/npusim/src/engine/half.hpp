// SPDX-License-Identifier: MIT
// Conversions between fp32 and the 16-bit and 19-bit float formats, without host support.
#pragma once

#include <bit>
#include <cstdint>

namespace npusim {

/// IEEE binary16 to binary32, exact; NaN payloads are kept.
[[nodiscard]] inline float half_to_float(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
    const uint32_t magnitude = half & 0x7fffU;
    // Scale by 2^112 in float: turns subnormals into normal numbers without a branch.
    const float scaled =
        std::bit_cast<float>(magnitude << 13) * std::bit_cast<float>(uint32_t{0x77800000});
    const uint32_t special = magnitude >= 0x7c00U ? 0x7f800000U : 0U;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | sign);
}

/// binary32 to binary16, round to nearest even; overflow gives infinity.
[[nodiscard]] inline uint16_t float_to_half(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = bits >> 16 & 0x8000U;
    const uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U)
        return static_cast<uint16_t>(sign | 0x7e00U);
    if (magnitude >= 0x47800000U)  // 65536 and above, infinity
        return static_cast<uint16_t>(sign | 0x7c00U);
    if (magnitude < 0x38800000U) {  // below 2^-14: subnormal or zero
        // Adding 2^-1 aligns the units of the last place to 2^-24 and rounds to even.
        const float aligned = std::bit_cast<float>(magnitude) + 0.5F;
        return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(aligned) - 0x3f000000U));
    }
    const uint32_t rounded = magnitude + 0xfffU + (magnitude >> 13 & 1U);
    return static_cast<uint16_t>(sign | ((rounded >> 13) - (112U << 10)));
}

[[nodiscard]] inline float bf16_to_float(uint16_t value) {
    return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

/// binary32 to bfloat16, round to nearest even.
[[nodiscard]] inline uint16_t float_to_bf16(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    if ((bits & 0x7fffffffU) > 0x7f800000U)
        return static_cast<uint16_t>(bits >> 16 | 0x40U);
    return static_cast<uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

/// tf32 input: cut (not rounded) to 10 fraction bits, as board tests show.
[[nodiscard]] inline float cut_to_tf32(float value) {
    return std::bit_cast<float>(std::bit_cast<uint32_t>(value) & 0xffffe000U);
}

}  // namespace npusim
