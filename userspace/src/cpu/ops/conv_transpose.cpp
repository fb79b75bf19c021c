// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <vector>

#include "elementwise.hpp"
#include "ops.hpp"
#include "window.hpp"

namespace rknpu::cpu::ops {

namespace {

/// Here Window::in is the (small) input and Window::out the (large) output.
struct TransposeShape {
    Window window;
    std::int64_t groups = 1;
    std::int64_t in_per_group = 0;
    std::int64_t out_per_group = 0;
};

/// Output size, or with a given output_shape the pads, by the formulas of the ONNX operator.
Status place_output(const OpContext& context, const std::string& auto_pad, Window& w) {
    std::vector<std::int64_t> extra;
    std::vector<std::int64_t> wanted;
    RKNPU_CPU_TRY(attr(context, "output_padding", extra));
    RKNPU_CPU_TRY(attr(context, "output_shape", wanted));
    if (extra.empty())
        extra.assign(w.spatial, 0);
    const bool same = auto_pad.starts_with("SAME");
    // Some exporters give the full shape with batch and channels.
    if (wanted.size() == w.spatial + 2)
        wanted.erase(wanted.begin(), wanted.begin() + 2);
    if (extra.size() != w.spatial || (!wanted.empty() && wanted.size() != w.spatial))
        return fail(context, StatusCode::kInvalidAttribute,
                    "output_padding or output_shape has a wrong number of entries");
    for (std::size_t i = 0; i < w.spatial; ++i) {
        const std::size_t d = 3 - w.spatial + i;
        if (extra[i] < 0 || extra[i] > kMaxElements)
            return fail(context, StatusCode::kInvalidAttribute, "output_padding ", extra[i],
                        " is out of range");
        const std::int64_t full =
            w.stride[d] * (w.in[d] - 1) + extra[i] + (w.kernel[d] - 1) * w.dilation[d] + 1;
        if (wanted.empty() && !same) {
            w.out[d] = full - w.pad_before[d] - w.pad_after[d];
        } else {
            w.out[d] = wanted.empty() ? w.in[d] * w.stride[d] : wanted[i];
            const std::int64_t total = std::max<std::int64_t>(0, full - w.out[d]);
            w.pad_before[d] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
            w.pad_after[d] = total - w.pad_before[d];
        }
        if (w.out[d] < 1 || w.out[d] > kMaxElements)
            return fail(context, StatusCode::kInvalidShape, "output size ", w.out[d],
                        " is out of range");
    }
    return {};
}

Status read_shape(const OpContext& context, TransposeShape& out) {
    const Dims& x = context.inputs[0].dims;
    const Dims& w = context.inputs[1].dims;
    RKNPU_CPU_TRY(attr(context, "group", out.groups));
    if (x.rank() < 3 || w.rank() != x.rank() || out.groups < 1 || w[0] != x[1] ||
        x[1] % out.groups != 0)
        return fail(context, StatusCode::kInvalidShape, "input ", x.text(), " and weights ",
                    w.text(), " do not fit ", out.groups, " groups");
    out.in_per_group = x[1] / out.groups;
    out.out_per_group = w[1];
    std::string auto_pad;
    RKNPU_CPU_TRY(read_window_attributes(context, x, w.span().subspan(2), out.window, auto_pad));
    return place_output(context, auto_pad, out.window);
}

Status infer_conv_transpose(const OpContext& context, std::vector<TensorInfo>& outputs) {
    for (std::size_t i = 0; i < context.inputs.size(); ++i) {
        if (context.has(i) && context.inputs[i].dtype != DType::kF32)
            return bad_type(context, i);
    }
    TransposeShape shape;
    RKNPU_CPU_TRY(read_shape(context, shape));
    if (shape.groups > kMaxElements / std::max<std::int64_t>(shape.out_per_group, 1))
        return fail(context, StatusCode::kTooLarge, "too many output channels");
    const std::int64_t channels = shape.out_per_group * shape.groups;
    if (context.has(2) && context.inputs[2].elements() != channels)
        return fail(context, StatusCode::kInvalidShape, "bias ", context.inputs[2].dims.text(),
                    " does not match ", channels, " output channels");
    const Dims dims = window_output(shape.window, context.inputs[0].dims[0], channels);
    RKNPU_CPU_TRY(check_size(context, dims));
    push_like(outputs, context.inputs[0], dims);
    return {};
}

/// Adds one input plane times one kernel plane into one output plane.
void scatter_plane(const Window& w, const float* x, const float* kernel, float* y) {
    std::int64_t k = 0;
    for (std::int64_t kd = 0; kd < w.kernel[0]; ++kd) {
        for (std::int64_t kh = 0; kh < w.kernel[1]; ++kh) {
            for (std::int64_t kw = 0; kw < w.kernel[2]; ++kw, ++k) {
                const float factor = kernel[k];
                // Input columns whose target lies inside the output row.
                const std::int64_t shift = kw * w.dilation[2] - w.pad_before[2];
                const std::int64_t s = w.stride[2];
                const std::int64_t lo = shift >= 0 ? 0 : (-shift + s - 1) / s;
                const std::int64_t hi =
                    std::min(w.in[2], shift >= w.out[2] ? 0 : (w.out[2] - 1 - shift) / s + 1);
                for (std::int64_t id = 0; id < w.in[0]; ++id) {
                    const std::int64_t od = w.position(0, id, kd);
                    if (od < 0 || od >= w.out[0])
                        continue;
                    for (std::int64_t ih = 0; ih < w.in[1]; ++ih) {
                        const std::int64_t oh = w.position(1, ih, kh);
                        if (oh < 0 || oh >= w.out[1])
                            continue;
                        const float* src = x + (id * w.in[1] + ih) * w.in[2];
                        float* dst = y + (od * w.out[1] + oh) * w.out[2];
                        for (std::int64_t iw = lo; iw < hi; ++iw)
                            dst[iw * s + shift] += src[iw] * factor;
                    }
                }
            }
        }
    }
}

Status compute_conv_transpose(const OpContext& context) {
    TransposeShape s;
    RKNPU_CPU_TRY(read_shape(context, s));
    const Window& w = s.window;
    const float* x = context.inputs[0].as<float>().data();
    const float* weights = context.inputs[1].as<float>().data();
    const float* bias = context.has(2) ? context.inputs[2].as<float>().data() : nullptr;
    float* y = context.outputs[0].as<float>().data();
    const std::int64_t channels = s.out_per_group * s.groups;
    for (std::int64_t n = 0; n < context.inputs[0].dims[0]; ++n) {
        for (std::int64_t oc = 0; oc < channels; ++oc) {
            const std::int64_t g = oc / s.out_per_group;
            float* plane = y + (n * channels + oc) * w.out_plane();
            std::fill_n(plane, w.out_plane(), bias != nullptr ? bias[oc] : 0.0F);
            for (std::int64_t i = 0; i < s.in_per_group; ++i) {
                const std::int64_t ic = g * s.in_per_group + i;
                scatter_plane(
                    w, x + (n * s.in_per_group * s.groups + ic) * w.in_plane(),
                    weights + (ic * s.out_per_group + oc % s.out_per_group) * w.kernel_size(),
                    plane);
            }
        }
    }
    return {};
}

constexpr std::array kOps = {
    Operator{"ConvTranspose", 2, 3, 1, Numeric::kFloat, infer_conv_transpose,
             compute_conv_transpose},
};

}  // namespace

std::span<const Operator> conv_transpose_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
