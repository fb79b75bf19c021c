// SPDX-License-Identifier: MIT
// Loops shared by the element-by-element operators.
#pragma once

#include <cstdint>
#include <type_traits>

#include "support.hpp"

namespace rknpu::cpu::ops {

/// The rows of zip(), with the common strides as loops of their own.
template <typename A, typename B, typename R, typename F>
void zip_rows(const Walk<3>& walk, const A* pa, const B* pb, R* po, F f) {
    const std::int64_t n = walk.row_length();
    const std::int64_t sa = walk.row_stride(0);
    const std::int64_t sb = walk.row_stride(1);
    walk.rows([&](const auto& at) {
        const A* x = pa + at[0];
        const B* y = pb + at[1];
        R* z = po + at[2];
        if (sa == 1 && sb == 1) {
            for (std::int64_t i = 0; i < n; ++i)
                z[i] = f(x[i], y[i]);
        } else if (sa == 1 && sb == 0) {
            const B fixed = *y;
            for (std::int64_t i = 0; i < n; ++i)
                z[i] = f(x[i], fixed);
        } else if (sa == 0 && sb == 1) {
            const A fixed = *x;
            for (std::int64_t i = 0; i < n; ++i)
                z[i] = f(fixed, y[i]);
        } else {
            for (std::int64_t i = 0; i < n; ++i)
                z[i] = f(x[i * sa], y[i * sb]);
        }
    });
}

/// out[i] = f(a[i], b[i]) with broadcasting; A, B and R are storage types.
template <typename A, typename B, typename R, typename F>
void zip(const OpContext& context, const TensorView& a, const TensorView& b,
         const MutTensorView& out, F f) {
    Walk<3> walk;
    walk.dims = out.dims;
    walk.strides = {broadcast_strides(a.dims, out.dims), broadcast_strides(b.dims, out.dims),
                    strides_of(out.dims)};
    const A* pa = a.as<A>().data();
    const B* pb = b.as<B>().data();
    R* po = out.as<R>().data();
    // The other types are rare in models: they share the plain loop, which keeps the library small.
    constexpr bool kFast = std::is_same_v<A, float> || std::is_same_v<A, std::int32_t> ||
                           std::is_same_v<A, std::int64_t>;
    if (!context.reference)
        walk.coalesce();
    if (context.reference || !kFast) {
        walk.elements([&](const auto& at) { po[at[2]] = f(pa[at[0]], pb[at[1]]); });
        return;
    }
    if constexpr (kFast)
        zip_rows(walk, pa, pb, po, f);
}

/// out[i] = f(a[i]) over equally shaped tensors.
template <typename A, typename R, typename F>
void map(const TensorView& a, const MutTensorView& out, F f) {
    const A* x = a.as<A>().data();
    R* z = out.as<R>().data();
    const std::int64_t n = a.elements();
    for (std::int64_t i = 0; i < n; ++i)
        z[i] = f(x[i]);
}

/// Two inputs of one type, result of that type and of the broadcast shape.
inline Status infer_binary(const OpContext& context, std::vector<TensorInfo>& outputs) {
    const TensorView& a = context.inputs[0];
    const TensorView& b = context.inputs[1];
    if (a.dtype != b.dtype)
        return fail(context, StatusCode::kInvalidType, "inputs are ", dtype_name(a.dtype), " and ",
                    dtype_name(b.dtype));
    Dims dims;
    RKNPU_CPU_TRY(broadcast(context, a.dims, b.dims, dims));
    push_like(outputs, a, dims);
    return {};
}

/// Any number of inputs of one type.
inline Status infer_variadic(const OpContext& context, std::vector<TensorInfo>& outputs) {
    const TensorView& first = context.inputs[0];
    Dims dims = first.dims;
    for (const TensorView& t : context.inputs) {
        if (t.dtype != first.dtype)
            return fail(context, StatusCode::kInvalidType, "inputs are ", dtype_name(first.dtype),
                        " and ", dtype_name(t.dtype));
        RKNPU_CPU_TRY(broadcast(context, dims, t.dims, dims));
    }
    push_like(outputs, first, dims);
    return {};
}

inline Status bad_type(const OpContext& context, std::size_t input = 0) {
    return fail(context, StatusCode::kInvalidType, "does not take ",
                dtype_name(context.inputs[input].dtype));
}

}  // namespace rknpu::cpu::ops
