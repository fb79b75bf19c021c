// SPDX-License-Identifier: MIT
// Functions of one element.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "elementwise.hpp"
#include "math.hpp"
#include "ops.hpp"

namespace rknpu::cpu::ops {

namespace {

Status infer_float(const OpContext& context, std::vector<TensorInfo>& outputs) {
    const DType type = context.inputs[0].dtype;
    if (type != DType::kF32 && type != DType::kF64)
        return bad_type(context);
    return infer_same(context, outputs);
}

template <typename F>
Status compute_float(const OpContext& context) {
    dispatch_floats(context.inputs[0].dtype, [&]<typename T>(std::type_identity<T>) {
        map<T, T>(context.inputs[0], context.outputs[0], [](T v) { return F{}(v); });
    });
    return {};
}

/// Functions with a vectorising float form beside the exact one.
template <typename Exact, typename Fast>
Status compute_two_ways(const OpContext& context) {
    if (context.reference || context.inputs[0].dtype != DType::kF32)
        return compute_float<Exact>(context);
    return compute_float<Fast>(context);
}

template <typename F>
Status compute_number(const OpContext& context) {
    const bool known =
        dispatch_numbers(context.inputs[0].dtype, [&]<typename T>(std::type_identity<T>) {
            map<T, T>(context.inputs[0], context.outputs[0], [](T v) -> T { return F{}(v); });
        });
    return known ? Status{} : bad_type(context);
}

// clang-format off
struct Ceil { auto operator()(auto v) const { return std::ceil(v); } };
struct Floor { auto operator()(auto v) const { return std::floor(v); } };
struct Round { auto operator()(auto v) const { return std::nearbyint(v); } };  // ties to even
struct Sqrt { auto operator()(auto v) const { return std::sqrt(v); } };
struct Exp { auto operator()(auto v) const { return std::exp(v); } };
struct FastExp { auto operator()(auto v) const { return fast_exp(static_cast<float>(v)); } };
struct Log { auto operator()(auto v) const { return std::log(v); } };
struct Sin { auto operator()(auto v) const { return std::sin(v); } };
struct Cos { auto operator()(auto v) const { return std::cos(v); } };
struct Tan { auto operator()(auto v) const { return std::tan(v); } };
struct Asin { auto operator()(auto v) const { return std::asin(v); } };
struct Acos { auto operator()(auto v) const { return std::acos(v); } };
struct Atan { auto operator()(auto v) const { return std::atan(v); } };
struct Sinh { auto operator()(auto v) const { return std::sinh(v); } };
struct Cosh { auto operator()(auto v) const { return std::cosh(v); } };
struct Tanh { auto operator()(auto v) const { return std::tanh(v); } };
struct Asinh { auto operator()(auto v) const { return std::asinh(v); } };
struct Acosh { auto operator()(auto v) const { return std::acosh(v); } };
struct Atanh { auto operator()(auto v) const { return std::atanh(v); } };
struct Erf { auto operator()(auto v) const { return std::erf(v); } };
struct Reciprocal { auto operator()(auto v) const { return 1 / v; } };
struct FastSigmoid { auto operator()(auto v) const { return fast_sigmoid(static_cast<float>(v)); } };
struct Swish { auto operator()(auto v) const { return v / (1 + std::exp(-v)); } };
struct FastSwish {
    auto operator()(auto v) const {
        // The two infinities of a far negative v would make a NaN.
        const float x = static_cast<float>(v);
        const float y = x * fast_sigmoid(x);
        return x < -88.0F ? -0.0F : y;
    }
};
// clang-format on

struct Sigmoid {
    template <typename T>
    T operator()(T v) const {
        return 1 / (1 + std::exp(-v));
    }
};

/// ln(1 + e^x) without overflow.
template <typename T>
T softplus(T v) {
    return std::max(v, T{0}) + std::log1p(std::exp(-std::abs(v)));
}

struct Softplus {
    auto operator()(auto v) const { return softplus(v); }
};
struct Softsign {
    auto operator()(auto v) const { return v / (1 + std::abs(v)); }
};
struct Mish {
    auto operator()(auto v) const { return v * std::tanh(softplus(v)); }
};
struct HardSwish {
    template <typename T>
    T operator()(T v) const {
        return v * std::clamp(v / 6 + T(0.5), T{0}, T{1});
    }
};

struct Abs {
    template <typename T>
    T operator()(T v) const {
        if constexpr (std::is_floating_point_v<T>)
            return std::abs(v);
        else if constexpr (std::is_signed_v<T>)
            return v < 0 ? static_cast<T>(std::make_unsigned_t<T>(0) - std::make_unsigned_t<T>(v))
                         : v;
        else
            return v;
    }
};

struct Neg {
    template <typename T>
    T operator()(T v) const {
        if constexpr (std::is_floating_point_v<T>)
            return -v;
        else
            return static_cast<T>(std::make_unsigned_t<T>(0) - std::make_unsigned_t<T>(v));
    }
};

struct Sign {
    template <typename T>
    T operator()(T v) const {
        return v > 0 ? T(1) : v < 0 ? T(-1) : v;
    }
};

struct Relu {
    template <typename T>
    T operator()(T v) const {
        return v < 0 ? T{0} : v;
    }
};

Status compute_gelu(const OpContext& context) {
    std::string approximate = "none";
    RKNPU_CPU_TRY(attr(context, "approximate", approximate));
    const bool tanh_form = approximate == "tanh";
    if (!tanh_form && approximate != "none")
        return fail(context, StatusCode::kInvalidAttribute, "approximate '", approximate,
                    "' is neither none nor tanh");
    dispatch_floats(context.inputs[0].dtype, [&]<typename T>(std::type_identity<T>) {
        map<T, T>(context.inputs[0], context.outputs[0], [tanh_form](T v) -> T {
            if (!tanh_form)
                return v / 2 * (1 + std::erf(v * T(1 / std::numbers::sqrt2)));
            const T inner = T(0.7978845608028654) * (v + T(0.044715) * v * v * v);
            return v / 2 * (1 + std::tanh(inner));
        });
    });
    return {};
}

constexpr std::array kOps = {
    Operator{"Abs", 1, 1, 1, Numeric::kFloat, infer_same, compute_number<Abs>},
    Operator{"Neg", 1, 1, 1, Numeric::kFloat, infer_same, compute_number<Neg>},
    Operator{"Sign", 1, 1, 1, Numeric::kFloat, infer_same, compute_number<Sign>},
    Operator{"Relu", 1, 1, 1, Numeric::kFloat, infer_same, compute_number<Relu>},
    Operator{"Ceil", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Ceil>},
    Operator{"Floor", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Floor>},
    Operator{"Round", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Round>},
    Operator{"Sqrt", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Sqrt>},
    Operator{"Exp", 1, 1, 1, Numeric::kFloat, infer_float, compute_two_ways<Exp, FastExp>},
    Operator{"Log", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Log>},
    Operator{"Sin", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Sin>},
    Operator{"Cos", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Cos>},
    Operator{"Tan", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Tan>},
    Operator{"Asin", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Asin>},
    Operator{"Acos", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Acos>},
    Operator{"Atan", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Atan>},
    Operator{"Sinh", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Sinh>},
    Operator{"Cosh", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Cosh>},
    Operator{"Tanh", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Tanh>},
    Operator{"Asinh", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Asinh>},
    Operator{"Acosh", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Acosh>},
    Operator{"Atanh", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Atanh>},
    Operator{"Erf", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Erf>},
    Operator{"Reciprocal", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Reciprocal>},
    Operator{"Sigmoid", 1, 1, 1, Numeric::kFloat, infer_float,
             compute_two_ways<Sigmoid, FastSigmoid>},
    Operator{"Softplus", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Softplus>},
    Operator{"Softsign", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Softsign>},
    Operator{"Mish", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<Mish>},
    Operator{"HardSwish", 1, 1, 1, Numeric::kFloat, infer_float, compute_float<HardSwish>},
    Operator{"Swish", 1, 1, 1, Numeric::kFloat, infer_float, compute_two_ways<Swish, FastSwish>},
    Operator{"Gelu", 1, 1, 1, Numeric::kFloat, infer_float, compute_gelu},
};

}  // namespace

std::span<const Operator> unary_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
