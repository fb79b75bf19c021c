// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "../fp16.hpp"
#include "../tensor.hpp"

namespace rknpu::cpu::ops {

/// Storage types of the two 16-bit float formats and of bool: distinct, so that templates see them.
struct Half {
    std::uint16_t bits;
};
struct Brain {
    std::uint16_t bits;
};
struct Bool {
    std::uint8_t value;
};

/// The C++ value of an element.
template <typename T>
auto load(T v) {
    if constexpr (std::is_same_v<T, Half>)
        return fp16_to_fp32(v.bits);
    else if constexpr (std::is_same_v<T, Brain>)
        return bf16_to_fp32(v.bits);
    else if constexpr (std::is_same_v<T, Bool>)
        return static_cast<std::uint8_t>(v.value != 0);
    else
        return v;
}

/// Float to integer: truncation, saturation, NaN to 0.
template <typename I, typename F>
I truncate_saturate(F v) {
    // 2^bits is exact in F, the largest integer often is not: compare with >=.
    const F limit = std::ldexp(F{1}, std::numeric_limits<I>::digits);
    if (v >= limit)
        return std::numeric_limits<I>::max();
    if constexpr (std::is_signed_v<I>) {
        if (v < -limit)
            return std::numeric_limits<I>::min();
    } else if (v <= F{-1}) {
        return 0;
    }
    return v == v ? static_cast<I>(v) : I{0};
}

/// Value conversion between any two element types: saturating, half floats rounded to nearest even.
template <typename D, typename S>
D cast_saturate(S stored) {
    const auto v = load(stored);
    using V = std::remove_const_t<decltype(v)>;
    if constexpr (std::is_same_v<D, Half>) {
        return Half{fp32_to_fp16(static_cast<float>(v))};
    } else if constexpr (std::is_same_v<D, Brain>) {
        return Brain{fp32_to_bf16(static_cast<float>(v))};
    } else if constexpr (std::is_same_v<D, Bool>) {
        return Bool{static_cast<std::uint8_t>(v != V{0})};
    } else if constexpr (std::is_floating_point_v<D> || std::is_same_v<D, V>) {
        return static_cast<D>(v);
    } else if constexpr (std::is_floating_point_v<V>) {
        return truncate_saturate<D>(v);
    } else {
        if (std::cmp_less(v, std::numeric_limits<D>::min()))
            return std::numeric_limits<D>::min();
        if (std::cmp_greater(v, std::numeric_limits<D>::max()))
            return std::numeric_limits<D>::max();
        return static_cast<D>(v);
    }
}

/// Calls f(std::type_identity<T>) for the number types without half floats and bool; false for
/// those and for kNone.
template <typename F>
bool dispatch_numbers(DType type, F&& f) {
    switch (type) {
        case DType::kF32:
            f(std::type_identity<float>{});
            return true;
        case DType::kF64:
            f(std::type_identity<double>{});
            return true;
        case DType::kI8:
            f(std::type_identity<std::int8_t>{});
            return true;
        case DType::kU8:
            f(std::type_identity<std::uint8_t>{});
            return true;
        case DType::kI16:
            f(std::type_identity<std::int16_t>{});
            return true;
        case DType::kU16:
            f(std::type_identity<std::uint16_t>{});
            return true;
        case DType::kI32:
            f(std::type_identity<std::int32_t>{});
            return true;
        case DType::kU32:
            f(std::type_identity<std::uint32_t>{});
            return true;
        case DType::kI64:
            f(std::type_identity<std::int64_t>{});
            return true;
        case DType::kU64:
            f(std::type_identity<std::uint64_t>{});
            return true;
        default:
            return false;
    }
}

/// As dispatch_numbers(), plus Half, Brain and Bool.
template <typename F>
bool dispatch_all(DType type, F&& f) {
    switch (type) {
        case DType::kF16:
            f(std::type_identity<Half>{});
            return true;
        case DType::kBf16:
            f(std::type_identity<Brain>{});
            return true;
        case DType::kBool:
            f(std::type_identity<Bool>{});
            return true;
        default:
            return dispatch_numbers(type, f);
    }
}

/// float or double only.
template <typename F>
bool dispatch_floats(DType type, F&& f) {
    if (type == DType::kF32)
        f(std::type_identity<float>{});
    else if (type == DType::kF64)
        f(std::type_identity<double>{});
    else
        return false;
    return true;
}

/// Moves elements of 1, 2, 4 or 8 bytes whatever they mean: f(std::type_identity<uintN_t>).
template <typename F>
bool dispatch_width(DType type, F&& f) {
    switch (dtype_size(type)) {
        case 1:
            f(std::type_identity<std::uint8_t>{});
            return true;
        case 2:
            f(std::type_identity<std::uint16_t>{});
            return true;
        case 4:
            f(std::type_identity<std::uint32_t>{});
            return true;
        case 8:
            f(std::type_identity<std::uint64_t>{});
            return true;
        default:
            return false;
    }
}

}  // namespace rknpu::cpu::ops
