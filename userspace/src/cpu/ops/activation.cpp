// SPDX-License-Identifier: MIT
// Functions of one element with parameters.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "elementwise.hpp"
#include "ops.hpp"

namespace rknpu::cpu::ops {

namespace {

/// The float attributes of an activation and their ONNX defaults.
struct Parameter {
    std::string_view name;
    float value;
};

template <typename F>
Status read_parameters(const OpContext& context, std::array<float, F::kCount>& out) {
    for (std::size_t i = 0; i < F::kCount; ++i) {
        out[i] = F::kParameters[i].value;
        RKNPU_CPU_TRY(attr(context, F::kParameters[i].name, out[i]));
    }
    return {};
}

template <typename F>
Status infer_activation(const OpContext& context, std::vector<TensorInfo>& outputs) {
    if (context.inputs[0].dtype != DType::kF32 && context.inputs[0].dtype != DType::kF64)
        return bad_type(context);
    std::array<float, F::kCount> parameters;
    RKNPU_CPU_TRY(read_parameters<F>(context, parameters));
    return infer_same(context, outputs);
}

template <typename F>
Status compute_activation(const OpContext& context) {
    std::array<float, F::kCount> p;
    RKNPU_CPU_TRY(read_parameters<F>(context, p));
    dispatch_floats(context.inputs[0].dtype, [&]<typename T>(std::type_identity<T>) {
        map<T, T>(context.inputs[0], context.outputs[0], [&p](T v) { return F::apply(v, p); });
    });
    return {};
}

struct LeakyRelu {
    static constexpr std::size_t kCount = 1;
    static constexpr std::array<Parameter, kCount> kParameters = {{{"alpha", 0.01F}}};
    template <typename T>
    static T apply(T v, const std::array<float, kCount>& p) {
        return v < 0 ? v * T(p[0]) : v;
    }
};

struct Elu {
    static constexpr std::size_t kCount = 1;
    static constexpr std::array<Parameter, kCount> kParameters = {{{"alpha", 1.0F}}};
    template <typename T>
    static T apply(T v, const std::array<float, kCount>& p) {
        return v < 0 ? T(p[0]) * std::expm1(v) : v;
    }
};

struct Selu {
    static constexpr std::size_t kCount = 2;
    static constexpr std::array<Parameter, kCount> kParameters = {
        {{"alpha", 1.67326319217681884765625F}, {"gamma", 1.05070102214813232421875F}}};
    template <typename T>
    static T apply(T v, const std::array<float, kCount>& p) {
        return T(p[1]) * (v > 0 ? v : T(p[0]) * std::expm1(v));
    }
};

struct Celu {
    static constexpr std::size_t kCount = 1;
    static constexpr std::array<Parameter, kCount> kParameters = {{{"alpha", 1.0F}}};
    template <typename T>
    static T apply(T v, const std::array<float, kCount>& p) {
        return std::max(T{0}, v) + std::min(T{0}, T(p[0]) * std::expm1(v / T(p[0])));
    }
};

struct HardSigmoid {
    static constexpr std::size_t kCount = 2;
    static constexpr std::array<Parameter, kCount> kParameters = {
        {{"alpha", 0.2F}, {"beta", 0.5F}}};
    template <typename T>
    static T apply(T v, const std::array<float, kCount>& p) {
        return std::clamp(T(p[0]) * v + T(p[1]), T{0}, T{1});
    }
};

struct ThresholdedRelu {
    static constexpr std::size_t kCount = 1;
    static constexpr std::array<Parameter, kCount> kParameters = {{{"alpha", 1.0F}}};
    template <typename T>
    static T apply(T v, const std::array<float, kCount>& p) {
        return v > T(p[0]) ? v : T{0};
    }
};

struct Shrink {
    static constexpr std::size_t kCount = 2;
    static constexpr std::array<Parameter, kCount> kParameters = {
        {{"bias", 0.0F}, {"lambd", 0.5F}}};
    template <typename T>
    static T apply(T v, const std::array<float, kCount>& p) {
        if (v < -T(p[1]))
            return v + T(p[0]);
        return v > T(p[1]) ? v - T(p[0]) : T{0};
    }
};

/// One bound of Clip: input `index`, else (operator set < 11) attribute `name`.
template <typename T>
Status clip_bound(const OpContext& context, std::size_t index, std::string_view name, T& bound) {
    if (context.has(index)) {
        const TensorView& t = context.inputs[index];
        if (t.elements() != 1 || t.dtype != context.inputs[0].dtype)
            return fail(context, StatusCode::kInvalidShape, "bound ", name,
                        " is not one number of the input's type");
        bound = t.as<T>()[0];
    } else if (context.attributes->has(name)) {
        float value = 0;
        RKNPU_CPU_TRY(attr(context, name, value));
        bound = cast_saturate<T>(value);
    }
    return {};
}

template <typename T>
Status clip(const OpContext& context) {
    T lo = std::numeric_limits<T>::lowest();
    T hi = std::numeric_limits<T>::max();
    if constexpr (std::is_floating_point_v<T>) {
        lo = -std::numeric_limits<T>::infinity();
        hi = std::numeric_limits<T>::infinity();
    }
    RKNPU_CPU_TRY(clip_bound(context, 1, "min", lo));
    RKNPU_CPU_TRY(clip_bound(context, 2, "max", hi));
    // In this order, as ONNX: with min > max every element becomes max. NaN stays.
    map<T, T>(context.inputs[0], context.outputs[0], [lo, hi](T v) {
        v = v < lo ? lo : v;
        return v > hi ? hi : v;
    });
    return {};
}

Status compute_clip(const OpContext& context) {
    Status status;
    const bool known =
        dispatch_numbers(context.inputs[0].dtype,
                         [&]<typename T>(std::type_identity<T>) { status = clip<T>(context); });
    return known ? status : bad_type(context);
}

template <typename F>
constexpr Operator activation(std::string_view type) {
    return {type, 1, 1, 1, Numeric::kFloat, infer_activation<F>, compute_activation<F>};
}

constexpr std::array kOps = {
    activation<LeakyRelu>("LeakyRelu"),
    activation<Elu>("Elu"),
    activation<Selu>("Selu"),
    activation<Celu>("Celu"),
    activation<HardSigmoid>("HardSigmoid"),
    activation<ThresholdedRelu>("ThresholdedRelu"),
    activation<Shrink>("Shrink"),
    Operator{"Clip", 1, 3, 1, Numeric::kFloat, infer_same, compute_clip},
};

}  // namespace

std::span<const Operator> activation_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
