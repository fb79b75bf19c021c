// SPDX-License-Identifier: MIT
// Fixed-point helpers shared by all integer stages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace npusim {

/// Rounding of a right shift. kEven is CVT_ROUND/ROUND_TYPE 0 ("odd in, even not").
enum class Round : uint8_t { kEven, kHalfUp };

/// Arithmetic shift right with round half to even; shift 0 is the identity.
[[nodiscard]] constexpr int64_t shift_even(int64_t value, unsigned shift) {
    if (shift == 0)
        return value;
    const int64_t half_minus_one = (int64_t{1} << (shift - 1)) - 1;
    return (value + half_minus_one + ((value >> shift) & 1)) >> shift;
}

[[nodiscard]] constexpr int64_t shift_half_up(int64_t value, unsigned shift) {
    return shift == 0 ? value : (value + (int64_t{1} << (shift - 1))) >> shift;
}

/// `shift` 0..62; |value| at most 2^62 so that adding the rounding term cannot overflow.
[[nodiscard]] constexpr int64_t shift_round(int64_t value, unsigned shift, Round round) {
    return round == Round::kEven ? shift_even(value, shift) : shift_half_up(value, shift);
}

[[nodiscard]] constexpr int64_t saturate(int64_t value, unsigned bits) {
    const int64_t high = (int64_t{1} << (bits - 1)) - 1;
    return std::clamp(value, -high - 1, high);
}

[[nodiscard]] constexpr int32_t saturate32(int64_t value) {
    return static_cast<int32_t>(saturate(value, 32));
}

}  // namespace npusim
