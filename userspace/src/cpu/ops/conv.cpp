// SPDX-License-Identifier: MIT
// Conv, ConvInteger and QLinearConv on the CPU: the fallback for convolutions that a model leaves
// to it, and the reference of rknn-compare.
#include <algorithm>
#include <array>
#include <vector>

#include "elementwise.hpp"
#include "gemm.hpp"
#include "ops.hpp"
#include "quantized.hpp"
#include "window.hpp"

namespace rknpu::cpu::ops {

namespace {

struct ConvShape {
    Window window;
    std::int64_t n = 0;
    std::int64_t groups = 1;
    std::int64_t in_per_group = 0;
    std::int64_t out_per_group = 0;

    std::int64_t in_channels() const { return in_per_group * groups; }
    std::int64_t out_channels() const { return out_per_group * groups; }
    Dims output() const { return window_output(window, n, out_channels()); }
};

Status read_conv(const OpContext& context, const Dims& x, const Dims& w, ConvShape& out) {
    RKNPU_CPU_TRY(attr(context, "group", out.groups));
    if (x.rank() < 3 || w.rank() != x.rank())
        return fail(context, StatusCode::kInvalidShape, "input ", x.text(), " and weights ",
                    w.text(), " do not fit");
    if (out.groups < 1 || x[1] % out.groups != 0 || x[1] / out.groups != w[1] ||
        w[0] % out.groups != 0)
        return fail(context, StatusCode::kInvalidShape, "input ", x.text(), " and weights ",
                    w.text(), " do not fit ", out.groups, " groups");
    out.n = x[0];
    out.in_per_group = w[1];
    out.out_per_group = w[0] / out.groups;
    std::vector<std::int64_t> kernel;
    RKNPU_CPU_TRY(attr(context, "kernel_shape", kernel));
    const auto real = w.span().subspan(2);
    if (!kernel.empty() && !std::ranges::equal(kernel, real))
        return fail(context, StatusCode::kInvalidAttribute, "kernel_shape differs from weights ",
                    w.text());
    RKNPU_CPU_TRY(read_window(context, x, real, out.window));
    return check_size(context, out.output());
}

/// The plain convolution: store(out_index, out_channel, sum) with
/// sum = sum of load_x(x_index) * load_w(w_index, out_channel) over the window's valid positions,
/// begun at start(out_channel). Order: input channel, then kernel position.
template <typename Acc, typename Start, typename LoadX, typename LoadW, typename Store>
void conv_plain(const ConvShape& s, Start start, LoadX load_x, LoadW load_w, Store store) {
    const Window& w = s.window;
    std::int64_t index = 0;
    const auto sum_at = [&](std::int64_t n, std::int64_t oc, std::int64_t od, std::int64_t oh,
                            std::int64_t ow) {
        Acc sum = start(oc);
        const std::int64_t first = oc / s.out_per_group * s.in_per_group;
        for (std::int64_t ic = 0; ic < s.in_per_group; ++ic) {
            const std::int64_t x0 = (n * s.in_channels() + first + ic) * w.in_plane();
            const std::int64_t w0 = (oc * s.in_per_group + ic) * w.kernel_size();
            std::int64_t k = 0;
            for (std::int64_t kd = 0; kd < w.kernel[0]; ++kd) {
                const std::int64_t id = w.position(0, od, kd);
                for (std::int64_t kh = 0; kh < w.kernel[1]; ++kh) {
                    const std::int64_t ih = w.position(1, oh, kh);
                    for (std::int64_t kw = 0; kw < w.kernel[2]; ++kw, ++k) {
                        const std::int64_t iw = w.position(2, ow, kw);
                        if (id < 0 || id >= w.in[0] || ih < 0 || ih >= w.in[1] || iw < 0 ||
                            iw >= w.in[2])
                            continue;
                        sum += load_x(x0 + (id * w.in[1] + ih) * w.in[2] + iw) * load_w(w0 + k, oc);
                    }
                }
            }
        }
        return sum;
    };
    for (std::int64_t n = 0; n < s.n; ++n) {
        for (std::int64_t oc = 0; oc < s.out_channels(); ++oc) {
            for (std::int64_t od = 0; od < w.out[0]; ++od) {
                for (std::int64_t oh = 0; oh < w.out[1]; ++oh) {
                    for (std::int64_t ow = 0; ow < w.out[2]; ++ow)
                        store(index++, oc, sum_at(n, oc, od, oh, ow));
                }
            }
        }
    }
}

// --- Conv

Status infer_conv(const OpContext& context, std::vector<TensorInfo>& outputs) {
    for (std::size_t i = 0; i < context.inputs.size(); ++i) {
        if (context.has(i) && context.inputs[i].dtype != DType::kF32)
            return bad_type(context, i);
    }
    ConvShape shape;
    RKNPU_CPU_TRY(read_conv(context, context.inputs[0].dims, context.inputs[1].dims, shape));
    if (context.has(2) && context.inputs[2].elements() != shape.out_channels())
        return fail(context, StatusCode::kInvalidShape, "bias ", context.inputs[2].dims.text(),
                    " does not match ", shape.out_channels(), " output channels");
    push_like(outputs, context.inputs[0], shape.output());
    return {};
}

/// Columns [first, first + count) of the matrix whose rows are (input channel, kernel position) and
/// whose columns are output positions.
void fill_columns(const ConvShape& s, const float* x, std::int64_t first, std::int64_t count,
                  float* columns) {
    const Window& w = s.window;
    std::int64_t row = 0;
    for (std::int64_t ic = 0; ic < s.in_per_group; ++ic) {
        const float* plane = x + ic * w.in_plane();
        for (std::int64_t k = 0; k < w.kernel_size(); ++k, ++row) {
            const std::int64_t kd = k / (w.kernel[1] * w.kernel[2]);
            const std::int64_t kh = k / w.kernel[2] % w.kernel[1];
            const std::int64_t kw = k % w.kernel[2];
            float* dst = columns + row * count;
            // Whole runs of one output row at a time.
            for (std::int64_t at = 0; at < count;) {
                const std::int64_t o = first + at;
                const std::int64_t ow = o % w.out[2];
                const std::int64_t run = std::min(count - at, w.out[2] - ow);
                const std::int64_t id = w.position(0, o / (w.out[1] * w.out[2]), kd);
                const std::int64_t ih = w.position(1, o / w.out[2] % w.out[1], kh);
                const bool inside = id >= 0 && id < w.in[0] && ih >= 0 && ih < w.in[1];
                const float* src = inside ? plane + (id * w.in[1] + ih) * w.in[2] : nullptr;
                for (std::int64_t i = 0; i < run; ++i) {
                    const std::int64_t iw = w.position(2, ow + i, kw);
                    dst[at + i] = src != nullptr && iw >= 0 && iw < w.in[2] ? src[iw] : 0.0F;
                }
                at += run;
            }
        }
    }
}

void conv_fast(const ConvShape& s, const float* x, const float* w, const float* bias, float* y) {
    const std::int64_t depth = s.in_per_group * s.window.kernel_size();
    const std::int64_t plane = s.window.out_plane();
    // At most 1 MiB of columns, at least one tile of the multiplication kernel.
    const std::int64_t tile = std::clamp<std::int64_t>(
        (std::int64_t{1} << 18) / std::max<std::int64_t>(depth, 1) & ~7, 8, 1024);
    std::vector<float> columns(static_cast<std::size_t>(depth * std::min(tile, plane)));
    for (std::int64_t n = 0; n < s.n; ++n) {
        for (std::int64_t g = 0; g < s.groups; ++g) {
            const float* src = x + (n * s.in_channels() + g * s.in_per_group) * s.window.in_plane();
            float* dst = y + (n * s.out_channels() + g * s.out_per_group) * plane;
            for (std::int64_t oc = 0; oc < s.out_per_group; ++oc)
                std::fill_n(dst + oc * plane, plane,
                            bias != nullptr ? bias[g * s.out_per_group + oc] : 0.0F);
            for (std::int64_t first = 0; first < plane; first += tile) {
                const std::int64_t count = std::min(tile, plane - first);
                fill_columns(s, src, first, count, columns.data());
                gemm_fast({w + g * s.out_per_group * depth, depth, columns.data(), count,
                           dst + first, plane, s.out_per_group, count, depth});
            }
        }
    }
}

Status compute_conv(const OpContext& context) {
    ConvShape shape;
    RKNPU_CPU_TRY(read_conv(context, context.inputs[0].dims, context.inputs[1].dims, shape));
    const float* x = context.inputs[0].as<float>().data();
    const float* w = context.inputs[1].as<float>().data();
    const float* bias = context.has(2) ? context.inputs[2].as<float>().data() : nullptr;
    float* y = context.outputs[0].as<float>().data();
    if (!context.reference) {
        conv_fast(shape, x, w, bias, y);
        return {};
    }
    conv_plain<float>(
        shape, [&](std::int64_t oc) { return bias != nullptr ? bias[oc] : 0.0F; },
        [&](std::int64_t i) { return x[i]; }, [&](std::int64_t i, std::int64_t) { return w[i]; },
        [&](std::int64_t i, std::int64_t, float v) { y[i] = v; });
    return {};
}

// --- ConvInteger: x, w, x_zero_point, w_zero_point

Status infer_conv_integer(const OpContext& context, std::vector<TensorInfo>& outputs) {
    RKNPU_CPU_TRY(check_integer_types(context));
    ConvShape shape;
    RKNPU_CPU_TRY(read_conv(context, context.inputs[0].dims, context.inputs[1].dims, shape));
    outputs.push_back({DType::kI32, shape.output(), std::nullopt});
    return {};
}

Status compute_conv_integer(const OpContext& context) {
    const TensorView& x = context.inputs[0];
    const TensorView& w = context.inputs[1];
    ConvShape shape;
    RKNPU_CPU_TRY(read_conv(context, x.dims, w.dims, shape));
    std::vector<std::int32_t> zx;
    std::vector<std::int32_t> zw;
    RKNPU_CPU_TRY(read_zero_points(context, 2, 1, zx));
    RKNPU_CPU_TRY(read_zero_points(context, 3, shape.out_channels(), zw));
    const auto y = context.outputs[0].as<std::int32_t>();
    conv_plain<std::int64_t>(
        shape, [](std::int64_t) { return std::int64_t{0}; },
        [&](std::int64_t i) { return byte_value(x, i) - zx[0]; },
        [&](std::int64_t i, std::int64_t oc) {
            return byte_value(w, i) - zw[static_cast<std::size_t>(oc)];
        },
        [&](std::int64_t i, std::int64_t, std::int64_t v) {
            y[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(v);
        });
    return {};
}

// --- QLinearConv: x, x_scale, x_zp, w, w_scale, w_zp, y_scale, y_zp, B (int32)

Status infer_qlinear_conv(const OpContext& context, std::vector<TensorInfo>& outputs) {
    RKNPU_CPU_TRY(check_qlinear_types(context));
    for (std::size_t i : {1, 2}) {
        if (context.inputs[i].elements() != 1)
            return fail(context, StatusCode::kInvalidShape, "input ", i, " is not one number");
    }
    ConvShape shape;
    RKNPU_CPU_TRY(read_conv(context, context.inputs[0].dims, context.inputs[3].dims, shape));
    if (context.has(8) && (context.inputs[8].dtype != DType::kI32 ||
                           context.inputs[8].elements() != shape.out_channels()))
        return fail(context, StatusCode::kInvalidShape,
                    "bias is not int32 with one entry per "
                    "output channel");
    outputs.push_back({context.inputs[7].dtype, shape.output(), std::nullopt});
    return {};
}

Status compute_qlinear_conv(const OpContext& context) {
    const TensorView& x = context.inputs[0];
    const TensorView& w = context.inputs[3];
    ConvShape shape;
    RKNPU_CPU_TRY(read_conv(context, x.dims, w.dims, shape));
    const std::int64_t channels = shape.out_channels();
    std::vector<std::int32_t> zw;
    RKNPU_CPU_TRY(read_zero_points(context, 5, channels, zw));
    std::vector<float> sw;
    RKNPU_CPU_TRY(read_scales(context, 4, channels, sw));
    const std::int32_t zx = byte_value(context.inputs[2], 0);
    const double sx = context.inputs[1].as<float>()[0];
    std::vector<float> real(static_cast<std::size_t>(context.outputs[0].elements()));
    conv_plain<std::int64_t>(
        shape,
        [&](std::int64_t oc) -> std::int64_t {
            return context.has(8)
                       ? context.inputs[8].as<std::int32_t>()[static_cast<std::size_t>(oc)]
                       : 0;
        },
        [&](std::int64_t i) { return byte_value(x, i) - zx; },
        [&](std::int64_t i, std::int64_t oc) {
            return byte_value(w, i) - zw[static_cast<std::size_t>(oc)];
        },
        [&](std::int64_t i, std::int64_t oc, std::int64_t v) {
            real[static_cast<std::size_t>(i)] =
                static_cast<float>(static_cast<double>(v) * sx * sw[static_cast<std::size_t>(oc)]);
        });
    return store_qlinear(context, real);
}

constexpr std::array kOps = {
    Operator{"Conv", 2, 3, 1, Numeric::kFloat, infer_conv, compute_conv},
    Operator{"ConvInteger", 2, 4, 1, Numeric::kRaw, infer_conv_integer, compute_conv_integer},
    Operator{"QLinearConv", 8, 9, 1, Numeric::kRaw, infer_qlinear_conv, compute_qlinear_conv},
};

}  // namespace

std::span<const Operator> conv_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
