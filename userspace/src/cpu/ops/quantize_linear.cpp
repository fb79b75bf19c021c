// SPDX-License-Identifier: MIT
// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear on explicit scales.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "elementwise.hpp"
#include "ops.hpp"

namespace rknpu::cpu::ops {

namespace {

/// Scales along one axis, seen as [outer, n, inner]; n = 1 for one scale.
struct Axis {
    std::int64_t outer = 1;
    std::int64_t n = 1;
    std::int64_t inner = 1;
};

Status read_axis(const OpContext& context, Axis& out) {
    const Dims& dims = context.inputs[0].dims;
    const TensorView& scale = context.inputs[1];
    if (scale.dtype != DType::kF32)
        return bad_type(context, 1);
    if (context.has(2) && context.inputs[2].elements() != scale.elements())
        return fail(context, StatusCode::kInvalidShape, "scale ", scale.dims.text(),
                    " and zero point ", context.inputs[2].dims.text(), " differ in size");
    if (scale.elements() == 1) {
        out.inner = dims.elements();
        return {};
    }
    std::int64_t value = 1;
    RKNPU_CPU_TRY(attr(context, "axis", value));
    std::size_t axis = 0;
    RKNPU_CPU_TRY(normalize_axis(context, value, dims.rank(), axis));
    if (scale.elements() != dims[axis])
        return fail(context, StatusCode::kInvalidShape, "scale ", scale.dims.text(),
                    " does not match axis ", axis, " of ", dims.text());
    out = {dims.product(0, axis), dims[axis], dims.product(axis + 1, dims.rank())};
    return {};
}

bool is_code(DType type) {
    return type == DType::kI8 || type == DType::kU8 || type == DType::kI16 || type == DType::kU16 ||
           type == DType::kI32;
}

Status infer_quantize(const OpContext& context, std::vector<TensorInfo>& outputs) {
    Axis axis;
    RKNPU_CPU_TRY(read_axis(context, axis));
    const DType type = context.has(2) ? context.inputs[2].dtype : DType::kU8;
    if (!is_code(type) || type == DType::kI32)
        return bad_type(context, 2);
    outputs.push_back({type, context.inputs[0].dims, std::nullopt});
    return {};
}

Status compute_quantize(const OpContext& context) {
    Axis axis;
    RKNPU_CPU_TRY(read_axis(context, axis));
    std::vector<float> x;
    std::vector<float> zero;
    RKNPU_CPU_TRY(read_floats(context, 0, x));
    if (context.has(2))
        RKNPU_CPU_TRY(read_floats(context, 2, zero));
    const auto scale = context.inputs[1].as<float>();
    zero.resize(scale.size(), 0.0F);
    dispatch_numbers(context.outputs[0].dtype, [&]<typename T>(std::type_identity<T>) {
        const auto y = context.outputs[0].as<T>();
        for (std::size_t i = 0; i < x.size(); ++i) {
            const std::int64_t at = static_cast<std::int64_t>(i) / axis.inner % axis.n;
            const std::size_t s = static_cast<std::size_t>(at);
            y[i] = cast_saturate<T>(std::nearbyint(x[i] / scale[s]) + zero[s]);
        }
    });
    return {};
}

Status infer_dequantize(const OpContext& context, std::vector<TensorInfo>& outputs) {
    Axis axis;
    RKNPU_CPU_TRY(read_axis(context, axis));
    if (!is_code(context.inputs[0].dtype))
        return bad_type(context);
    outputs.push_back({DType::kF32, context.inputs[0].dims, std::nullopt});
    return {};
}

Status compute_dequantize(const OpContext& context) {
    Axis axis;
    RKNPU_CPU_TRY(read_axis(context, axis));
    const auto scale = context.inputs[1].as<float>();
    const auto y = context.outputs[0].as<float>();
    std::vector<std::int64_t> zero(scale.size(), 0);
    if (context.has(2)) {
        dispatch_numbers(context.inputs[2].dtype, [&]<typename T>(std::type_identity<T>) {
            std::ranges::transform(context.inputs[2].as<T>(), zero.begin(),
                                   [](T v) { return cast_saturate<std::int64_t>(v); });
        });
    }
    dispatch_numbers(context.inputs[0].dtype, [&]<typename T>(std::type_identity<T>) {
        const auto x = context.inputs[0].as<T>();
        for (std::size_t i = 0; i < x.size(); ++i) {
            const std::int64_t at = static_cast<std::int64_t>(i) / axis.inner % axis.n;
            const std::size_t s = static_cast<std::size_t>(at);
            y[i] = static_cast<float>(cast_saturate<std::int64_t>(x[i]) - zero[s]) * scale[s];
        }
    });
    return {};
}

Status infer_dynamic(const OpContext& context, std::vector<TensorInfo>& outputs) {
    if (context.inputs[0].dtype != DType::kF32)
        return bad_type(context);
    outputs.push_back({DType::kU8, context.inputs[0].dims, std::nullopt});
    outputs.push_back({DType::kF32, {}, std::nullopt});
    outputs.push_back({DType::kU8, {}, std::nullopt});
    return {};
}

/// Scale and zero point for uint8 so that the range covers the data and 0.
Status compute_dynamic(const OpContext& context) {
    const auto x = context.inputs[0].as<float>();
    float lo = 0;
    float hi = 0;
    for (float v : x) {
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
    }
    const float range = hi - lo;
    const float scale = range > 0 ? range / 255.0F : 1.0F;
    const float zero = std::nearbyint(std::clamp(-lo / scale, 0.0F, 255.0F));
    if (context.wants(0)) {
        const auto y = context.outputs[0].as<std::uint8_t>();
        for (std::size_t i = 0; i < x.size(); ++i)
            y[i] = cast_saturate<std::uint8_t>(std::nearbyint(x[i] / scale) + zero);
    }
    if (context.wants(1))
        context.outputs[1].as<float>()[0] = scale;
    if (context.wants(2))
        context.outputs[2].as<std::uint8_t>()[0] = static_cast<std::uint8_t>(zero);
    return {};
}

constexpr std::array kOps = {
    Operator{"QuantizeLinear", 2, 3, 1, Numeric::kRaw, infer_quantize, compute_quantize},
    Operator{"DequantizeLinear", 2, 3, 1, Numeric::kRaw, infer_dequantize, compute_dequantize},
    Operator{"DynamicQuantizeLinear", 1, 1, 3, Numeric::kRaw, infer_dynamic, compute_dynamic},
};

}  // namespace

std::span<const Operator> quantize_linear_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
