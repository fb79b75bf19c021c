// SPDX-License-Identifier: MIT
// Normalisations: BatchNormalization, InstanceNormalization, GroupNormalization,
// LayerNormalization, RMSNormalization, LpNormalization, MeanVarianceNormalization and LRN. Means
// and variances are kept in double.
#include <algorithm>
#include <array>
#include <cmath>

#include "elementwise.hpp"
#include "ops.hpp"

namespace rknpu::cpu::ops {

namespace {

Status want_float(const OpContext& context) {
    for (std::size_t i = 0; i < context.inputs.size(); ++i) {
        if (context.has(i) && context.inputs[i].dtype != DType::kF32)
            return bad_type(context, i);
    }
    return {};
}

/// Checks that input `i` is a vector with one number per channel.
Status want_channels(const OpContext& context, std::size_t i, std::int64_t channels) {
    if (context.inputs[i].elements() != channels)
        return fail(context, StatusCode::kInvalidShape, "input ", i, " ",
                    context.inputs[i].dims.text(), " does not match ", channels, " channels");
    return {};
}

struct Moments {
    double mean = 0;
    double variance = 0;
};

Moments moments(const float* x, std::int64_t n) {
    Moments m;
    for (std::int64_t i = 0; i < n; ++i)
        m.mean += x[i];
    m.mean /= static_cast<double>(n);
    for (std::int64_t i = 0; i < n; ++i)
        m.variance += (x[i] - m.mean) * (x[i] - m.mean);
    m.variance /= static_cast<double>(n);
    return m;
}

// --- BatchNormalization: inputs X, scale, B, mean, variance

Status batch_settings(const OpContext& context, float& epsilon, float& momentum, bool& training) {
    epsilon = 1e-5F;
    momentum = 0.9F;
    training = false;
    RKNPU_CPU_TRY(attr(context, "epsilon", epsilon));
    RKNPU_CPU_TRY(attr(context, "momentum", momentum));
    return attr(context, "training_mode", training);
}

Status infer_batch(const OpContext& context, std::vector<TensorInfo>& outputs) {
    RKNPU_CPU_TRY(want_float(context));
    float epsilon = 0;
    float momentum = 0;
    bool training = false;
    RKNPU_CPU_TRY(batch_settings(context, epsilon, momentum, training));
    const Dims& dims = context.inputs[0].dims;
    if (dims.rank() < 2)
        return fail(context, StatusCode::kInvalidShape, "input ", dims.text(),
                    " has no channel dimension");
    for (std::size_t i = 1; i < 5; ++i)
        RKNPU_CPU_TRY(want_channels(context, i, dims[1]));
    RKNPU_CPU_TRY(infer_same(context, outputs));
    outputs.push_back(context.inputs[3]);
    outputs.push_back(context.inputs[4]);
    return {};
}

Moments channel_moments(const TensorView& in, std::int64_t channel) {
    const std::int64_t plane = in.dims.product(2, in.dims.rank());
    const float* x = in.as<float>().data();
    Moments m;
    const double count = static_cast<double>(in.dims[0] * plane);
    for (std::int64_t n = 0; n < in.dims[0]; ++n) {
        for (std::int64_t i = 0; i < plane; ++i)
            m.mean += x[(n * in.dims[1] + channel) * plane + i];
    }
    m.mean /= count;
    for (std::int64_t n = 0; n < in.dims[0]; ++n) {
        for (std::int64_t i = 0; i < plane; ++i) {
            const double d = x[(n * in.dims[1] + channel) * plane + i] - m.mean;
            m.variance += d * d;
        }
    }
    m.variance /= count;
    return m;
}

Status compute_batch(const OpContext& context) {
    float epsilon = 0;
    float momentum = 0;
    bool training = false;
    RKNPU_CPU_TRY(batch_settings(context, epsilon, momentum, training));
    const TensorView& in = context.inputs[0];
    const std::int64_t channels = in.dims[1];
    const std::int64_t plane = in.dims.product(2, in.dims.rank());
    const auto scale = context.inputs[1].as<float>();
    const auto bias = context.inputs[2].as<float>();
    const auto mean = context.inputs[3].as<float>();
    const auto variance = context.inputs[4].as<float>();
    const float* x = in.as<float>().data();
    float* y = context.outputs[0].as<float>().data();
    for (std::int64_t channel = 0; channel < channels; ++channel) {
        const std::size_t c = static_cast<std::size_t>(channel);
        Moments m{mean[c], variance[c]};
        if (training) {
            m = channel_moments(in, channel);
            if (context.wants(1))
                context.outputs[1].as<float>()[c] =
                    static_cast<float>(mean[c] * momentum + m.mean * (1.0 - momentum));
            if (context.wants(2))
                context.outputs[2].as<float>()[c] =
                    static_cast<float>(variance[c] * momentum + m.variance * (1.0 - momentum));
        }
        const double factor = scale[c] / std::sqrt(m.variance + epsilon);
        const float a = static_cast<float>(factor);
        const float b = static_cast<float>(bias[c] - m.mean * factor);
        for (std::int64_t n = 0; n < in.dims[0]; ++n) {
            const std::int64_t at = (n * channels + channel) * plane;
            for (std::int64_t i = 0; i < plane; ++i)
                y[at + i] = x[at + i] * a + b;
        }
    }
    return {};
}

// --- InstanceNormalization: inputs X, scale, B

Status infer_instance(const OpContext& context, std::vector<TensorInfo>& outputs) {
    RKNPU_CPU_TRY(want_float(context));
    const Dims& dims = context.inputs[0].dims;
    if (dims.rank() < 2)
        return fail(context, StatusCode::kInvalidShape, "input ", dims.text(),
                    " has no channel dimension");
    RKNPU_CPU_TRY(want_channels(context, 1, dims[1]));
    RKNPU_CPU_TRY(want_channels(context, 2, dims[1]));
    return infer_same(context, outputs);
}

Status compute_instance(const OpContext& context) {
    float epsilon = 1e-5F;
    RKNPU_CPU_TRY(attr(context, "epsilon", epsilon));
    const TensorView& in = context.inputs[0];
    const std::int64_t plane = in.dims.product(2, in.dims.rank());
    const auto scale = context.inputs[1].as<float>();
    const auto bias = context.inputs[2].as<float>();
    const float* x = in.as<float>().data();
    float* y = context.outputs[0].as<float>().data();
    for (std::int64_t i = 0; plane != 0 && i < in.dims[0] * in.dims[1]; ++i) {
        const std::size_t c = static_cast<std::size_t>(i % in.dims[1]);
        const Moments m = moments(x + i * plane, plane);
        const double factor = scale[c] / std::sqrt(m.variance + epsilon);
        for (std::int64_t k = 0; k < plane; ++k)
            y[i * plane + k] = static_cast<float>((x[i * plane + k] - m.mean) * factor + bias[c]);
    }
    return {};
}

// --- GroupNormalization: inputs X, scale, B, with one number per group (operator set 18) or
// channel

Status group_count(const OpContext& context, std::int64_t& groups) {
    groups = 0;
    RKNPU_CPU_TRY(attr(context, "num_groups", groups));
    const Dims& dims = context.inputs[0].dims;
    if (dims.rank() < 2 || groups < 1 || dims[1] % groups != 0)
        return fail(context, StatusCode::kInvalidAttribute, "num_groups ", groups,
                    " does not divide the channels of ", dims.text());
    return {};
}

Status infer_group(const OpContext& context, std::vector<TensorInfo>& outputs) {
    RKNPU_CPU_TRY(want_float(context));
    std::int64_t groups = 0;
    RKNPU_CPU_TRY(group_count(context, groups));
    for (std::size_t i : {1, 2}) {
        if (context.inputs[i].elements() != groups)
            RKNPU_CPU_TRY(want_channels(context, i, context.inputs[0].dims[1]));
    }
    return infer_same(context, outputs);
}

Status compute_group(const OpContext& context) {
    std::int64_t groups = 0;
    float epsilon = 1e-5F;
    RKNPU_CPU_TRY(group_count(context, groups));
    RKNPU_CPU_TRY(attr(context, "epsilon", epsilon));
    const TensorView& in = context.inputs[0];
    const std::int64_t channels = in.dims[1];
    const std::int64_t plane = in.dims.product(2, in.dims.rank());
    const std::int64_t n = channels / groups * plane;
    const float* x = in.as<float>().data();
    float* y = context.outputs[0].as<float>().data();
    const auto number = [&](std::size_t input, std::int64_t group, std::int64_t channel) {
        const TensorView& t = context.inputs[input];
        return t.as<float>()[static_cast<std::size_t>(t.elements() == groups ? group : channel)];
    };
    for (std::int64_t i = 0; n != 0 && i < in.dims[0] * groups; ++i) {
        const std::int64_t group = i % groups;
        const Moments m = moments(x + i * n, n);
        const double inverse = 1.0 / std::sqrt(m.variance + epsilon);
        for (std::int64_t k = 0; k < n; ++k) {
            const std::int64_t channel = group * (channels / groups) + k / plane;
            y[i * n + k] =
                static_cast<float>((x[i * n + k] - m.mean) * inverse * number(1, group, channel) +
                                   number(2, group, channel));
        }
    }
    return {};
}

// --- LayerNormalization: inputs X, Scale, B (optional; the vendor's exNorm may lack Scale too)

Status layer_axis(const OpContext& context, std::size_t& axis) {
    std::int64_t value = -1;
    RKNPU_CPU_TRY(attr(context, "axis", value));
    return normalize_axis(context, value, context.inputs[0].dims.rank(), axis);
}

Status infer_layer(const OpContext& context, std::vector<TensorInfo>& outputs) {
    RKNPU_CPU_TRY(want_float(context));
    std::size_t axis = 0;
    RKNPU_CPU_TRY(layer_axis(context, axis));
    const Dims& dims = context.inputs[0].dims;
    const std::int64_t n = dims.product(axis, dims.rank());
    for (std::size_t i : {1, 2}) {
        if (context.has(i))
            RKNPU_CPU_TRY(want_channels(context, i, n));
    }
    RKNPU_CPU_TRY(infer_same(context, outputs));
    Dims kept = dims;
    for (std::size_t i = axis; i < dims.rank(); ++i)
        kept[i] = 1;
    outputs.push_back({DType::kF32, kept, std::nullopt});
    outputs.push_back({DType::kF32, kept, std::nullopt});
    return {};
}

Status compute_layer(const OpContext& context) {
    std::size_t axis = 0;
    float epsilon = 1e-5F;
    RKNPU_CPU_TRY(layer_axis(context, axis));
    RKNPU_CPU_TRY(attr(context, "epsilon", epsilon));
    const TensorView& in = context.inputs[0];
    const std::int64_t rows = in.dims.product(0, axis);
    const std::int64_t n = in.dims.product(axis, in.dims.rank());
    const float* scale = context.has(1) ? context.inputs[1].as<float>().data() : nullptr;
    const float* bias = context.has(2) ? context.inputs[2].as<float>().data() : nullptr;
    const float* x = in.as<float>().data();
    float* y = context.wants(0) ? context.outputs[0].as<float>().data() : nullptr;
    for (std::int64_t r = 0; n != 0 && r < rows; ++r) {
        const Moments m = moments(x + r * n, n);
        const double inverse = 1.0 / std::sqrt(m.variance + epsilon);
        for (std::int64_t i = 0; y != nullptr && i < n; ++i) {
            const double v = (x[r * n + i] - m.mean) * inverse;
            y[r * n + i] =
                static_cast<float>(v * (scale ? scale[i] : 1.0F) + (bias ? bias[i] : 0.0F));
        }
        if (context.wants(1))
            context.outputs[1].as<float>()[static_cast<std::size_t>(r)] =
                static_cast<float>(m.mean);
        if (context.wants(2))
            context.outputs[2].as<float>()[static_cast<std::size_t>(r)] =
                static_cast<float>(inverse);
    }
    return {};
}

// --- RMSNormalization: inputs X, scale (optional)

Status infer_rms(const OpContext& context, std::vector<TensorInfo>& outputs) {
    RKNPU_CPU_TRY(want_float(context));
    std::size_t axis = 0;
    RKNPU_CPU_TRY(layer_axis(context, axis));
    const Dims& dims = context.inputs[0].dims;
    if (context.has(1))
        RKNPU_CPU_TRY(want_channels(context, 1, dims.product(axis, dims.rank())));
    return infer_same(context, outputs);
}

Status compute_rms(const OpContext& context) {
    std::size_t axis = 0;
    float epsilon = 1e-5F;
    RKNPU_CPU_TRY(layer_axis(context, axis));
    RKNPU_CPU_TRY(attr(context, "epsilon", epsilon));
    const TensorView& in = context.inputs[0];
    const std::int64_t n = in.dims.product(axis, in.dims.rank());
    const float* scale = context.has(1) ? context.inputs[1].as<float>().data() : nullptr;
    const float* x = in.as<float>().data();
    float* y = context.outputs[0].as<float>().data();
    for (std::int64_t r = 0; n != 0 && r < in.dims.product(0, axis); ++r) {
        double squares = 0;
        for (std::int64_t i = 0; i < n; ++i)
            squares += double{x[r * n + i]} * x[r * n + i];
        const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(n) + epsilon);
        for (std::int64_t i = 0; i < n; ++i)
            y[r * n + i] = static_cast<float>(x[r * n + i] * inverse * (scale ? scale[i] : 1.0F));
    }
    return {};
}

// --- LpNormalization, MeanVarianceNormalization, LRN

Status infer_float(const OpContext& context, std::vector<TensorInfo>& outputs) {
    RKNPU_CPU_TRY(want_float(context));
    return infer_same(context, outputs);
}

Status compute_lp(const OpContext& context) {
    std::int64_t value = -1;
    std::int64_t p = 2;
    RKNPU_CPU_TRY(attr(context, "axis", value));
    RKNPU_CPU_TRY(attr(context, "p", p));
    const Dims& dims = context.inputs[0].dims;
    std::size_t axis = 0;
    RKNPU_CPU_TRY(normalize_axis(context, value, dims.rank(), axis));
    if (p != 1 && p != 2)
        return fail(context, StatusCode::kInvalidAttribute, "p = ", p, " is neither 1 nor 2");
    const std::int64_t n = dims[axis];
    const std::int64_t inner = dims.product(axis + 1, dims.rank());
    const float* x = context.inputs[0].as<float>().data();
    float* y = context.outputs[0].as<float>().data();
    for (std::int64_t o = 0; o < dims.product(0, axis); ++o) {
        for (std::int64_t i = 0; i < inner; ++i) {
            const std::int64_t at = o * n * inner + i;
            double sum = 0;
            for (std::int64_t k = 0; k < n; ++k) {
                const double v = x[at + k * inner];
                sum += p == 1 ? std::abs(v) : v * v;
            }
            const double norm = p == 1 ? sum : std::sqrt(sum);
            for (std::int64_t k = 0; k < n; ++k)
                y[at + k * inner] = norm == 0 ? 0.0F : static_cast<float>(x[at + k * inner] / norm);
        }
    }
    return {};
}

Status compute_mvn(const OpContext& context) {
    std::vector<std::int64_t> list{0, 2, 3};
    RKNPU_CPU_TRY(attr(context, "axes", list));
    const TensorView& in = context.inputs[0];
    std::vector<std::size_t> axes;
    RKNPU_CPU_TRY(normalize_axes(context, list, in.dims.rank(), axes));
    Dims kept = in.dims;
    double count = 1;
    for (std::size_t axis : axes) {
        count *= static_cast<double>(in.dims[axis]);
        kept[axis] = 1;
    }
    Walk<2> walk;
    walk.dims = in.dims;
    walk.strides = {strides_of(in.dims), broadcast_strides(kept, in.dims)};
    const std::size_t groups = static_cast<std::size_t>(kept.elements());
    std::vector<double> mean(groups);
    std::vector<double> square(groups);
    const float* x = in.as<float>().data();
    float* y = context.outputs[0].as<float>().data();
    walk.elements([&](const auto& at) { mean[static_cast<std::size_t>(at[1])] += x[at[0]]; });
    for (double& m : mean)
        m /= count;
    walk.elements([&](const auto& at) {
        const std::size_t g = static_cast<std::size_t>(at[1]);
        square[g] += (x[at[0]] - mean[g]) * (x[at[0]] - mean[g]);
    });
    walk.elements([&](const auto& at) {
        const std::size_t g = static_cast<std::size_t>(at[1]);
        // The epsilon of the function body in the ONNX specification.
        y[at[0]] = static_cast<float>((x[at[0]] - mean[g]) / (std::sqrt(square[g] / count) + 1e-9));
    });
    return {};
}

Status compute_lrn(const OpContext& context) {
    float alpha = 1e-4F;
    float beta = 0.75F;
    float bias = 1.0F;
    std::int64_t size = 0;
    RKNPU_CPU_TRY(attr(context, "alpha", alpha));
    RKNPU_CPU_TRY(attr(context, "beta", beta));
    RKNPU_CPU_TRY(attr(context, "bias", bias));
    RKNPU_CPU_TRY(attr(context, "size", size));
    const TensorView& in = context.inputs[0];
    if (size < 1 || in.dims.rank() < 2)
        return fail(context, StatusCode::kInvalidAttribute, "size ", size,
                    " is not positive, or the input has no channels");
    const std::int64_t channels = in.dims[1];
    const std::int64_t plane = in.dims.product(2, in.dims.rank());
    const std::int64_t before = (size - 1) / 2;
    const std::int64_t after = size - 1 - before;
    const float* x = in.as<float>().data();
    float* y = context.outputs[0].as<float>().data();
    for (std::int64_t n = 0; n < in.dims[0]; ++n) {
        for (std::int64_t c = 0; c < channels; ++c) {
            const std::int64_t first = c > before ? c - before : 0;
            const std::int64_t last = after < channels - 1 - c ? c + after : channels - 1;
            for (std::int64_t i = 0; i < plane; ++i) {
                double sum = 0;
                for (std::int64_t k = first; k <= last; ++k) {
                    const double v = x[(n * channels + k) * plane + i];
                    sum += v * v;
                }
                const std::int64_t at = (n * channels + c) * plane + i;
                y[at] = static_cast<float>(x[at] /
                                           std::pow(bias + alpha / static_cast<double>(size) * sum,
                                                    static_cast<double>(beta)));
            }
        }
    }
    return {};
}

constexpr std::array kOps = {
    Operator{"BatchNormalization", 5, 5, 3, Numeric::kFloat, infer_batch, compute_batch},
    Operator{"InstanceNormalization", 3, 3, 1, Numeric::kFloat, infer_instance, compute_instance},
    Operator{"GroupNormalization", 3, 3, 1, Numeric::kFloat, infer_group, compute_group},
    Operator{"RMSNormalization", 1, 2, 1, Numeric::kFloat, infer_rms, compute_rms},
    Operator{"LayerNormalization", 1, 3, 3, Numeric::kFloat, infer_layer, compute_layer},
    Operator{"LpNormalization", 1, 1, 1, Numeric::kFloat, infer_float, compute_lp},
    Operator{"MeanVarianceNormalization", 1, 1, 1, Numeric::kFloat, infer_float, compute_mvn},
    Operator{"LRN", 1, 1, 1, Numeric::kFloat, infer_float, compute_lrn},
};

}  // namespace

std::span<const Operator> norm_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
