// SPDX-License-Identifier: MIT
// Arithmetic on two or more tensors with broadcasting. Integers wrap as in numpy; a division by
// zero gives 0 instead of a trap.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "../convert.hpp"
#include "elementwise.hpp"
#include "ops.hpp"

namespace rknpu::cpu::ops {

namespace {

/// An unsigned type at least as wide as int, in which overflow is defined.
template <typename T>
using Wrap = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;

template <typename T, typename F>
T wrapping(T a, T b, F f) {
    if constexpr (std::is_floating_point_v<T>)
        return f(a, b);
    else
        return static_cast<T>(f(static_cast<Wrap<T>>(a), static_cast<Wrap<T>>(b)));
}

struct Add {
    template <typename T>
    T operator()(T a, T b) const {
        return wrapping(a, b, [](auto x, auto y) { return x + y; });
    }
};

struct Sub {
    template <typename T>
    T operator()(T a, T b) const {
        return wrapping(a, b, [](auto x, auto y) { return x - y; });
    }
};

struct Mul {
    template <typename T>
    T operator()(T a, T b) const {
        return wrapping(a, b, [](auto x, auto y) { return x * y; });
    }
};

template <typename T>
bool division_overflows(T a, T b) {
    if constexpr (std::is_signed_v<T>)
        return a == std::numeric_limits<T>::min() && b == T(-1);
    return false;
}

struct Div {
    template <typename T>
    T operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>)
            return a / b;
        if (b == 0)
            return 0;
        return division_overflows(a, b) ? a : static_cast<T>(a / b);
    }
};

/// Result with the sign of the divisor, as in Python.
struct Mod {
    template <typename T>
    T operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>) {
            const T r = std::fmod(a, b);
            return r != 0 && (r < 0) != (b < 0) ? r + b : r;
        } else {
            if (b == 0 || division_overflows(a, b))
                return 0;
            const T r = static_cast<T>(a % b);
            if constexpr (std::is_signed_v<T>)
                return r != 0 && (r < 0) != (b < 0) ? static_cast<T>(r + b) : r;
            else
                return r;
        }
    }
};

/// Result with the sign of the dividend, as in C.
struct Fmod {
    template <typename T>
    T operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>)
            return std::fmod(a, b);
        else
            return b == 0 || division_overflows(a, b) ? T{0} : static_cast<T>(a % b);
    }
};

struct Max {
    template <typename T>
    T operator()(T a, T b) const {
        return a > b || a != a ? a : b;  // a NaN wins
    }
};

struct Min {
    template <typename T>
    T operator()(T a, T b) const {
        return a < b || a != a ? a : b;
    }
};

struct PRelu {
    template <typename T>
    T operator()(T x, T slope) const {
        return x < 0 ? Mul{}(x, slope) : x;
    }
};

template <typename F>
Status compute_binary(const OpContext& context) {
    const bool known =
        dispatch_numbers(context.inputs[0].dtype, [&]<typename T>(std::type_identity<T>) {
            zip<T, T, T>(context, context.inputs[0], context.inputs[1], context.outputs[0], F{});
        });
    return known ? Status{} : bad_type(context);
}

Status infer_mod(const OpContext& context, std::vector<TensorInfo>& outputs) {
    bool fmod = false;
    RKNPU_CPU_TRY(attr(context, "fmod", fmod));
    return infer_binary(context, outputs);
}

Status compute_mod(const OpContext& context) {
    bool fmod = false;
    RKNPU_CPU_TRY(attr(context, "fmod", fmod));
    return fmod ? compute_binary<Fmod>(context) : compute_binary<Mod>(context);
}

/// Folds the inputs from left to right; `finish` sees the result once more.
template <typename F>
Status fold(const OpContext& context) {
    const MutTensorView& out = context.outputs[0];
    const TensorView so_far{out, out.data};
    const bool known =
        dispatch_numbers(context.inputs[0].dtype, [&]<typename T>(std::type_identity<T>) {
            // The first operand is combined with nothing: pick it.
            zip<T, T, T>(context, context.inputs[0], so_far, out, [](T a, T) { return a; });
            for (std::size_t i = 1; i < context.inputs.size(); ++i)
                zip<T, T, T>(context, so_far, context.inputs[i], out, F{});
        });
    return known ? Status{} : bad_type(context);
}

Status compute_mean(const OpContext& context) {
    RKNPU_CPU_TRY(fold<Add>(context));
    const MutTensorView& out = context.outputs[0];
    const bool known = dispatch_floats(out.dtype, [&]<typename T>(std::type_identity<T>) {
        for (T& v : out.as<T>())
            v /= static_cast<T>(context.inputs.size());
    });
    return known ? Status{} : bad_type(context);
}

/// Before operator set 7 a slope vector meant one slope per channel; exporters still write that.
TensorView prelu_slope(const OpContext& context) {
    const Dims& x = context.inputs[0].dims;
    TensorView slope = context.inputs[1];
    const std::int64_t n = slope.elements();
    if (slope.dims.rank() == 1 && x.rank() > 2 && x[1] == n && x[x.rank() - 1] != n) {
        slope.dims.resize(x.rank() - 1);
        slope.dims[0] = n;
    }
    return slope;
}

Status infer_prelu(const OpContext& context, std::vector<TensorInfo>& outputs) {
    const TensorView inputs[] = {context.inputs[0], prelu_slope(context)};
    OpContext with_slope = context;
    with_slope.inputs = inputs;
    RKNPU_CPU_TRY(infer_binary(with_slope, outputs));
    if (outputs.back().dims != context.inputs[0].dims)
        return fail(context, StatusCode::kInvalidShape, "slope ", context.inputs[1].dims.text(),
                    " does not broadcast to ", context.inputs[0].dims.text());
    return {};
}

Status compute_prelu(const OpContext& context) {
    const TensorView inputs[] = {context.inputs[0], prelu_slope(context)};
    OpContext with_slope = context;
    with_slope.inputs = inputs;
    return compute_binary<PRelu>(with_slope);
}

template <typename T>
T integer_power(T base, std::int64_t exponent) {
    if (exponent < 0) {
        if (base == 1)
            return 1;
        if constexpr (std::is_signed_v<T>) {
            if (base == T(-1))
                return exponent % 2 == 0 ? T(1) : T(-1);
        }
        return 0;
    }
    T result = 1;
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1)
            result = Mul{}(result, base);
        base = Mul{}(base, base);
    }
    return result;
}

/// E is std::int64_t for two integers, double else.
template <typename T, typename E>
T power(T base, E exponent) {
    if constexpr (std::is_integral_v<E>)
        return integer_power(base, exponent);
    else if (exponent == 2.0 && std::is_floating_point_v<T>)
        return base * base;
    else
        return cast_saturate<T>(std::pow(static_cast<double>(base), exponent));
}

Status infer_pow(const OpContext& context, std::vector<TensorInfo>& outputs) {
    Dims dims;
    RKNPU_CPU_TRY(broadcast(context, context.inputs[0].dims, context.inputs[1].dims, dims));
    push_like(outputs, context.inputs[0], dims);
    return {};
}

template <typename T, typename E>
void raise(const OpContext& context, const TensorView& exponent) {
    zip<T, E, T>(context, context.inputs[0], exponent, context.outputs[0],
                 [](T a, E b) { return power<T, E>(a, b); });
}

Status compute_pow(const OpContext& context) {
    const TensorView& base = context.inputs[0];
    const TensorView& exponent = context.inputs[1];
    const bool integers = !dtype_is_float(base.dtype) && !dtype_is_float(exponent.dtype);
    Tensor wide;
    RKNPU_CPU_TRY(
        Tensor::create({integers ? DType::kI64 : DType::kF64, exponent.dims, std::nullopt}, wide));
    RKNPU_CPU_TRY(convert(exponent, wide.mut_view()));
    const bool known = dispatch_numbers(base.dtype, [&]<typename T>(std::type_identity<T>) {
        if constexpr (std::is_integral_v<T>) {
            if (integers)
                return raise<T, std::int64_t>(context, wide.view());
        }
        raise<T, double>(context, wide.view());
    });
    return known ? Status{} : bad_type(context);
}

Status infer_bitshift(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::string direction;
    RKNPU_CPU_TRY(attr(context, "direction", direction));
    if (direction != "LEFT" && direction != "RIGHT")
        return fail(context, StatusCode::kInvalidAttribute, "direction '", direction,
                    "' is neither LEFT nor RIGHT");
    return infer_binary(context, outputs);
}

Status compute_bitshift(const OpContext& context) {
    std::string direction;
    RKNPU_CPU_TRY(attr(context, "direction", direction));
    const bool left = direction == "LEFT";
    bool known = false;
    dispatch_numbers(context.inputs[0].dtype, [&]<typename T>(std::type_identity<T>) {
        if constexpr (std::is_unsigned_v<T>) {
            known = true;
            zip<T, T, T>(context, context.inputs[0], context.inputs[1], context.outputs[0],
                         [left](T a, T b) -> T {
                             if (b >= std::numeric_limits<T>::digits)
                                 return 0;
                             return static_cast<T>(left ? Wrap<T>(a) << b : Wrap<T>(a) >> b);
                         });
        }
    });
    return known ? Status{} : bad_type(context);
}

/// BitwiseAnd, BitwiseOr, BitwiseXor.
template <typename F>
Status compute_bitwise(const OpContext& context) {
    bool known = false;
    dispatch_numbers(context.inputs[0].dtype, [&]<typename T>(std::type_identity<T>) {
        if constexpr (std::is_integral_v<T>) {
            known = true;
            zip<T, T, T>(context, context.inputs[0], context.inputs[1], context.outputs[0],
                         [](T a, T b) -> T { return static_cast<T>(F{}(a, b)); });
        }
    });
    return known ? Status{} : bad_type(context);
}

Status compute_bitwise_not(const OpContext& context) {
    bool known = false;
    dispatch_numbers(context.inputs[0].dtype, [&]<typename T>(std::type_identity<T>) {
        if constexpr (std::is_integral_v<T>) {
            known = true;
            map<T, T>(context.inputs[0], context.outputs[0],
                      [](T v) -> T { return static_cast<T>(~v); });
        }
    });
    return known ? Status{} : bad_type(context);
}

constexpr std::size_t kMany = 1024;

constexpr std::array kOps = {
    Operator{"Add", 2, 2, 1, Numeric::kFloat, infer_binary, compute_binary<Add>},
    Operator{"Sub", 2, 2, 1, Numeric::kFloat, infer_binary, compute_binary<Sub>},
    Operator{"Mul", 2, 2, 1, Numeric::kFloat, infer_binary, compute_binary<Mul>},
    Operator{"Div", 2, 2, 1, Numeric::kFloat, infer_binary, compute_binary<Div>},
    Operator{"Mod", 2, 2, 1, Numeric::kFloat, infer_mod, compute_mod},
    Operator{"Pow", 2, 2, 1, Numeric::kFloat, infer_pow, compute_pow},
    Operator{"PRelu", 2, 2, 1, Numeric::kFloat, infer_prelu, compute_prelu},
    Operator{"BitShift", 2, 2, 1, Numeric::kRaw, infer_bitshift, compute_bitshift},
    Operator{"BitwiseAnd", 2, 2, 1, Numeric::kRaw, infer_binary, compute_bitwise<std::bit_and<>>},
    Operator{"BitwiseOr", 2, 2, 1, Numeric::kRaw, infer_binary, compute_bitwise<std::bit_or<>>},
    Operator{"BitwiseXor", 2, 2, 1, Numeric::kRaw, infer_binary, compute_bitwise<std::bit_xor<>>},
    Operator{"BitwiseNot", 1, 1, 1, Numeric::kRaw, infer_same, compute_bitwise_not},
    Operator{"Max", 1, kMany, 1, Numeric::kFloat, infer_variadic, fold<Max>},
    Operator{"Min", 1, kMany, 1, Numeric::kFloat, infer_variadic, fold<Min>},
    Operator{"Sum", 1, kMany, 1, Numeric::kFloat, infer_variadic, fold<Add>},
    Operator{"Mean", 1, kMany, 1, Numeric::kFloat, infer_variadic, compute_mean},
};

}  // namespace

std::span<const Operator> binary_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
