// SPDX-License-Identifier: MIT
// MaxPool, AveragePool, LpPool and their global forms.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "elementwise.hpp"
#include "ops.hpp"
#include "window.hpp"

namespace rknpu::cpu::ops {

namespace {

Status read_pool(const OpContext& context, Window& out) {
    std::vector<std::int64_t> kernel;
    RKNPU_CPU_TRY(attr(context, "kernel_shape", kernel));
    if (kernel.empty())
        return fail(context, StatusCode::kInvalidAttribute, "kernel_shape is missing");
    const Dims& dims = context.inputs[0].dims;
    RKNPU_CPU_TRY(read_window(context, dims, kernel, out));
    return check_size(context, window_output(out, dims[0], dims[1]));
}

Status infer_pool(const OpContext& context, std::vector<TensorInfo>& outputs) {
    Window window;
    RKNPU_CPU_TRY(read_pool(context, window));
    const Dims& in = context.inputs[0].dims;
    const Dims dims = window_output(window, in[0], in[1]);
    push_like(outputs, context.inputs[0], dims);
    outputs.push_back({DType::kI64, dims, std::nullopt});
    return {};
}

Status infer_global(const OpContext& context, std::vector<TensorInfo>& outputs) {
    Dims dims = context.inputs[0].dims;
    if (dims.rank() < 3 || dims.product(2, dims.rank()) == 0)
        return fail(context, StatusCode::kInvalidShape, "input ", dims.text(),
                    " has no spatial dimensions");
    for (std::size_t i = 2; i < dims.rank(); ++i)
        dims[i] = 1;
    push_like(outputs, context.inputs[0], dims);
    return {};
}

/// The valid kernel positions of one output position in one dimension.
struct Span {
    std::int64_t first;
    std::int64_t last;  // one past
};

Span valid(const Window& w, std::size_t d, std::int64_t o) {
    const std::int64_t base = w.position(d, o, 0);
    const std::int64_t step = w.dilation[d];
    const std::int64_t first = base >= 0 ? 0 : (-base + step - 1) / step;
    const std::int64_t last =
        base >= w.in[d] ? 0 : std::min(w.kernel[d], (w.in[d] - 1 - base) / step + 1);
    return {first, std::max(first, last)};
}

/// Calls f(output index, plane offset, the three spans, their base positions).
template <typename F>
void for_each_window(const Window& w, std::int64_t planes, F&& f) {
    std::int64_t index = 0;
    for (std::int64_t p = 0; p < planes; ++p) {
        for (std::int64_t od = 0; od < w.out[0]; ++od) {
            for (std::int64_t oh = 0; oh < w.out[1]; ++oh) {
                for (std::int64_t ow = 0; ow < w.out[2]; ++ow)
                    f(index++, p, std::array{od, oh, ow});
            }
        }
    }
}

/// Calls f(offset in the plane) for every valid position of one window.
template <typename F>
void for_each_position(const Window& w, const std::array<std::int64_t, 3>& o, F&& f) {
    const Span d = valid(w, 0, o[0]);
    const Span h = valid(w, 1, o[1]);
    const Span v = valid(w, 2, o[2]);
    for (std::int64_t kd = d.first; kd < d.last; ++kd) {
        for (std::int64_t kh = h.first; kh < h.last; ++kh) {
            const std::int64_t row =
                (w.position(0, o[0], kd) * w.in[1] + w.position(1, o[1], kh)) * w.in[2];
            for (std::int64_t kw = v.first; kw < v.last; ++kw)
                f(row + w.position(2, o[2], kw));
        }
    }
}

/// ONNX counts indices over the whole tensor; storage_order 1 is column-major within a plane.
std::int64_t flat_index(const Window& w, std::int64_t plane, std::int64_t at, bool column_major) {
    if (!column_major)
        return plane * w.in_plane() + at;
    const std::int64_t x = at % w.in[2];
    const std::int64_t y = at / w.in[2] % w.in[1];
    const std::int64_t z = at / w.in[2] / w.in[1];
    return plane * w.in_plane() + (x * w.in[1] + y) * w.in[0] + z;
}

Status compute_max_pool(const OpContext& context) {
    Window w;
    RKNPU_CPU_TRY(read_pool(context, w));
    bool column_major = false;
    RKNPU_CPU_TRY(attr(context, "storage_order", column_major));
    const TensorView& in = context.inputs[0];
    const std::int64_t planes = in.dims[0] * in.dims[1];
    const bool known = dispatch_numbers(in.dtype, [&]<typename T>(std::type_identity<T>) {
        const T* x = in.as<T>().data();
        const T lowest = std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                                     : std::numeric_limits<T>::lowest();
        for_each_window(w, planes, [&](std::int64_t index, std::int64_t plane, const auto& o) {
            T best = lowest;
            std::int64_t best_at = -1;
            const T* src = x + plane * w.in_plane();
            for_each_position(w, o, [&](std::int64_t at) {
                if (best_at < 0 || src[at] > best || src[at] != src[at]) {
                    best = src[at];
                    best_at = at;
                }
            });
            if (context.wants(0))
                context.outputs[0].as<T>()[static_cast<std::size_t>(index)] = best;
            if (context.wants(1))
                context.outputs[1].as<std::int64_t>()[static_cast<std::size_t>(index)] =
                    best_at < 0 ? -1 : flat_index(w, plane, best_at, column_major);
        });
    });
    return known ? Status{} : bad_type(context);
}

/// Window positions that count for count_include_pad: those inside input plus pads.
std::int64_t padded_count(const Window& w, const std::array<std::int64_t, 3>& o) {
    std::int64_t count = 1;
    for (std::size_t d = 0; d < 3; ++d) {
        const std::int64_t base = w.position(d, o[d], 0);
        const std::int64_t end = w.in[d] + w.pad_after[d];
        count *= base >= end ? 0 : std::min(w.kernel[d], (end - 1 - base) / w.dilation[d] + 1);
    }
    return count;
}

Status compute_average_pool(const OpContext& context) {
    Window w;
    RKNPU_CPU_TRY(read_pool(context, w));
    bool include_pad = false;
    RKNPU_CPU_TRY(attr(context, "count_include_pad", include_pad));
    const TensorView& in = context.inputs[0];
    const bool known = dispatch_floats(in.dtype, [&]<typename T>(std::type_identity<T>) {
        const T* x = in.as<T>().data();
        T* y = context.outputs[0].as<T>().data();
        for_each_window(w, in.dims[0] * in.dims[1],
                        [&](std::int64_t index, std::int64_t plane, const auto& o) {
                            const T* src = x + plane * w.in_plane();
                            T sum = 0;
                            std::int64_t count = 0;
                            for_each_position(w, o, [&](std::int64_t at) {
                                sum += src[at];
                                ++count;
                            });
                            if (include_pad)
                                count = padded_count(w, o);
                            y[index] = count == 0 ? T{0} : sum / static_cast<T>(count);
                        });
    });
    return known ? Status{} : bad_type(context);
}

Status read_p(const OpContext& context, double& p) {
    std::int64_t value = 2;
    RKNPU_CPU_TRY(attr(context, "p", value));
    if (value < 1 || value > 64)
        return fail(context, StatusCode::kInvalidAttribute, "p = ", value, " is out of range");
    p = static_cast<double>(value);
    return {};
}

Status compute_lp_pool(const OpContext& context) {
    Window w;
    double p = 2;
    RKNPU_CPU_TRY(read_pool(context, w));
    RKNPU_CPU_TRY(read_p(context, p));
    const TensorView& in = context.inputs[0];
    const bool known = dispatch_floats(in.dtype, [&]<typename T>(std::type_identity<T>) {
        const T* x = in.as<T>().data();
        T* y = context.outputs[0].as<T>().data();
        for_each_window(
            w, in.dims[0] * in.dims[1], [&](std::int64_t index, std::int64_t plane, const auto& o) {
                double sum = 0;
                for_each_position(w, o, [&](std::int64_t at) {
                    sum += std::pow(std::abs(static_cast<double>(x[plane * w.in_plane() + at])), p);
                });
                y[index] = static_cast<T>(std::pow(sum, 1.0 / p));
            });
    });
    return known ? Status{} : bad_type(context);
}

/// Calls f(plane pointer, plane size) -> T for every plane.
template <typename F>
Status global_pool(const OpContext& context, F&& f) {
    const TensorView& in = context.inputs[0];
    const std::int64_t plane = in.dims.product(2, in.dims.rank());
    const bool known = dispatch_numbers(in.dtype, [&]<typename T>(std::type_identity<T>) {
        const T* x = in.as<T>().data();
        T* y = context.outputs[0].as<T>().data();
        for (std::int64_t i = 0; i < in.dims[0] * in.dims[1]; ++i)
            y[i] = f(x + i * plane, plane);
    });
    return known ? Status{} : bad_type(context);
}

Status compute_global_average(const OpContext& context) {
    return global_pool(context, []<typename T>(const T* x, std::int64_t n) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i)
            sum += static_cast<double>(x[i]);
        return cast_saturate<T>(sum / static_cast<double>(n));
    });
}

Status compute_global_max(const OpContext& context) {
    return global_pool(context, []<typename T>(const T* x, std::int64_t n) {
        T best = x[0];
        for (std::int64_t i = 1; i < n; ++i)
            best = x[i] > best || x[i] != x[i] ? x[i] : best;
        return best;
    });
}

Status compute_global_lp(const OpContext& context) {
    double p = 2;
    RKNPU_CPU_TRY(read_p(context, p));
    return global_pool(context, [p]<typename T>(const T* x, std::int64_t n) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i)
            sum += std::pow(std::abs(static_cast<double>(x[i])), p);
        return cast_saturate<T>(std::pow(sum, 1.0 / p));
    });
}

constexpr std::array kOps = {
    Operator{"MaxPool", 1, 1, 2, Numeric::kOrder, infer_pool, compute_max_pool},
    Operator{"AveragePool", 1, 1, 1, Numeric::kFloat, infer_pool, compute_average_pool},
    Operator{"LpPool", 1, 1, 1, Numeric::kFloat, infer_pool, compute_lp_pool},
    Operator{"GlobalAveragePool", 1, 1, 1, Numeric::kFloat, infer_global, compute_global_average},
    Operator{"GlobalMaxPool", 1, 1, 1, Numeric::kOrder, infer_global, compute_global_max},
    Operator{"GlobalLpPool", 1, 1, 1, Numeric::kFloat, infer_global, compute_global_lp},
};

}  // namespace

std::span<const Operator> pool_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
