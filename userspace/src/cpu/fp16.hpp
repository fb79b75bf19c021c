// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

namespace rknpu::cpu {

/// IEEE binary16 to binary32, exact; signalling NaNs become quiet. Written without branches so that
/// a loop over it vectorises on targets without a half-float unit.
inline float fp16_to_fp32(std::uint16_t half) {
#if defined(__aarch64__)
    __fp16 value;
    std::memcpy(&value, &half, sizeof(value));
    return static_cast<float>(value);
#else
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
    const std::uint32_t magnitude = half & 0x7fffU;
    constexpr std::uint32_t kRebias = (127U - 15U) << 23;
    std::uint32_t normal = (magnitude << 13) + kRebias;
    normal += magnitude >= 0x7c00U ? kRebias : 0U;
    normal |= magnitude > 0x7c00U ? 0x00400000U : 0U;
    const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F;
    const std::uint32_t bits =
        magnitude < 0x0400U ? std::bit_cast<std::uint32_t>(subnormal) : normal;
    return std::bit_cast<float>(bits | sign);
#endif
}

/// IEEE binary32 to binary16, nearest-even, overflow to infinity, NaNs stay (quiet) NaNs.
inline std::uint16_t fp32_to_fp16(float value) {
#if defined(__aarch64__)
    const __fp16 half = static_cast<__fp16>(value);
    std::uint16_t bits;
    std::memcpy(&bits, &half, sizeof(bits));
    return bits;
#else
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    constexpr std::uint32_t kRebias = (127U - 15U) << 23;
    const std::uint32_t normal = (magnitude + 0x0fffU + ((magnitude >> 13) & 1U) - kRebias) >> 13;
    // Adding 0.5 makes the float unit round to the subnormal step 2^-24.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U;
    std::uint32_t out = magnitude < 0x38800000U ? subnormal : normal;
    out = magnitude >= 0x477ff000U ? 0x7c00U : out;
    out = magnitude > 0x7f800000U ? (0x7e00U | ((magnitude >> 13) & 0x03ffU)) : out;
    return static_cast<std::uint16_t>(out | sign);
#endif
}

/// bfloat16 is the upper half of a binary32.
inline float bf16_to_fp32(std::uint16_t value) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

/// Nearest-even; NaNs stay NaNs.
inline std::uint16_t fp32_to_bf16(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffffU) > 0x7f800000U)
        return static_cast<std::uint16_t>((bits >> 16) | 0x0040U);
    return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

/// Whole arrays; the shorter span decides.
void fp16_to_fp32(std::span<const std::uint16_t> src, std::span<float> dst);
void fp32_to_fp16(std::span<const float> src, std::span<std::uint16_t> dst);

}  // namespace rknpu::cpu
