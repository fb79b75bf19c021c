// SPDX-License-Identifier: MIT
// Softmax and LogSoftmax. Before operator set 13 the input counts as a matrix split at the axis.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "elementwise.hpp"
#include "math.hpp"
#include "ops.hpp"

namespace rknpu::cpu::ops {

namespace {

/// The input as [outer, n, inner], normalised along n.
struct Layout {
    std::int64_t outer = 1;
    std::int64_t n = 1;
    std::int64_t inner = 1;
};

Status read_layout(const OpContext& context, Layout& out) {
    // The vendor writes the operator set into the name ("exSoftmax13").
    const bool as_matrix = context.opset < 13 && context.type != "exSoftmax13";
    std::int64_t value = as_matrix ? 1 : -1;
    RKNPU_CPU_TRY(attr(context, "axis", value));
    const Dims& dims = context.inputs[0].dims;
    std::size_t axis = 0;
    if (dims.rank() == 0) {
        out = {1, 1, 1};
        return {};
    }
    RKNPU_CPU_TRY(normalize_axis(context, value, dims.rank(), axis));
    out.outer = dims.product(0, axis);
    out.n = as_matrix ? dims.product(axis, dims.rank()) : dims[axis];
    out.inner = as_matrix ? 1 : dims.product(axis + 1, dims.rank());
    return {};
}

Status infer_softmax(const OpContext& context, std::vector<TensorInfo>& outputs) {
    if (context.inputs[0].dtype != DType::kF32 && context.inputs[0].dtype != DType::kF64)
        return bad_type(context);
    Layout layout;
    RKNPU_CPU_TRY(read_layout(context, layout));
    return infer_same(context, outputs);
}

template <typename T>
void softmax_reference(const Layout& l, bool log, const T* x, T* y) {
    for (std::int64_t o = 0; o < l.outer; ++o) {
        for (std::int64_t i = 0; i < l.inner; ++i) {
            const T* src = x + o * l.n * l.inner + i;
            T* dst = y + o * l.n * l.inner + i;
            T highest = -std::numeric_limits<T>::infinity();
            for (std::int64_t k = 0; k < l.n; ++k)
                highest = std::max(highest, src[k * l.inner]);
            double sum = 0;
            for (std::int64_t k = 0; k < l.n; ++k)
                sum += std::exp(static_cast<double>(src[k * l.inner] - highest));
            for (std::int64_t k = 0; k < l.n; ++k) {
                const double v = static_cast<double>(src[k * l.inner] - highest);
                dst[k * l.inner] = static_cast<T>(log ? v - std::log(sum) : std::exp(v) / sum);
            }
        }
    }
}

/// One row along the last dimension.
void softmax_row(bool log, const float* x, float* y, std::int64_t n) {
    float highest = -std::numeric_limits<float>::infinity();
    for (std::int64_t k = 0; k < n; ++k)
        highest = x[k] > highest ? x[k] : highest;
    // Eight partial sums: short dependence chains, and less rounding than one long sum.
    constexpr std::int64_t kLanes = 8;
    std::array<float, kLanes> sums{};
    std::int64_t k = 0;
    for (; k + kLanes <= n; k += kLanes) {
        for (std::int64_t j = 0; j < kLanes; ++j) {
            const float e = fast_exp(x[k + j] - highest);
            y[k + j] = e;
            sums[static_cast<std::size_t>(j)] += e;
        }
    }
    for (; k < n; ++k) {
        y[k] = fast_exp(x[k] - highest);
        sums[0] += y[k];
    }
    float sum = 0;
    for (float s : sums)
        sum += s;
    const float log_sum = std::log(sum);
    for (k = 0; k < n; ++k)
        y[k] = log ? (x[k] - highest) - log_sum : y[k] / sum;
}

/// Along an outer dimension: `inner` columns side by side, blocked to stay in the cache.
void softmax_columns(bool log, const float* x, float* y, std::int64_t n, std::int64_t inner) {
    constexpr std::int64_t kBlock = 64;
    for (std::int64_t i0 = 0; i0 < inner; i0 += kBlock) {
        const std::int64_t width = std::min(kBlock, inner - i0);
        std::array<float, kBlock> highest;
        std::array<float, kBlock> sum{};
        highest.fill(-std::numeric_limits<float>::infinity());
        for (std::int64_t k = 0; k < n; ++k) {
            const float* src = x + k * inner + i0;
            for (std::int64_t i = 0; i < width; ++i)
                highest[i] = src[i] > highest[i] ? src[i] : highest[i];
        }
        for (std::int64_t k = 0; k < n; ++k) {
            const float* src = x + k * inner + i0;
            float* dst = y + k * inner + i0;
            for (std::int64_t i = 0; i < width; ++i) {
                dst[i] = fast_exp(src[i] - highest[i]);
                sum[i] += dst[i];
            }
        }
        std::array<float, kBlock> log_sum;
        for (std::int64_t i = 0; i < width; ++i)
            log_sum[i] = std::log(sum[i]);
        for (std::int64_t k = 0; k < n; ++k) {
            const float* src = x + k * inner + i0;
            float* dst = y + k * inner + i0;
            for (std::int64_t i = 0; i < width; ++i)
                dst[i] = log ? (src[i] - highest[i]) - log_sum[i] : dst[i] / sum[i];
        }
    }
}

void softmax_fast(const Layout& l, bool log, const float* x, float* y) {
    for (std::int64_t o = 0; o < l.outer; ++o) {
        const std::int64_t at = o * l.n * l.inner;
        if (l.inner == 1)
            softmax_row(log, x + at, y + at, l.n);
        else
            softmax_columns(log, x + at, y + at, l.n, l.inner);
    }
}

template <bool kLog>
Status compute_softmax(const OpContext& context) {
    Layout layout;
    RKNPU_CPU_TRY(read_layout(context, layout));
    const TensorView& in = context.inputs[0];
    if (in.elements() == 0)
        return {};
    if (!context.reference && in.dtype == DType::kF32) {
        softmax_fast(layout, kLog, in.as<float>().data(), context.outputs[0].as<float>().data());
        return {};
    }
    dispatch_floats(in.dtype, [&]<typename T>(std::type_identity<T>) {
        softmax_reference(layout, kLog, in.as<T>().data(), context.outputs[0].as<T>().data());
    });
    return {};
}

Status compute_hardmax(const OpContext& context) {
    Layout l;
    RKNPU_CPU_TRY(read_layout(context, l));
    dispatch_floats(context.inputs[0].dtype, [&]<typename T>(std::type_identity<T>) {
        const T* x = context.inputs[0].as<T>().data();
        T* y = context.outputs[0].as<T>().data();
        for (std::int64_t o = 0; o < l.outer; ++o) {
            for (std::int64_t i = 0; i < l.inner; ++i) {
                const std::int64_t base = o * l.n * l.inner + i;
                std::int64_t best = 0;
                for (std::int64_t k = 0; k < l.n; ++k)
                    best = x[base + k * l.inner] > x[base + best * l.inner] ? k : best;
                for (std::int64_t k = 0; k < l.n; ++k)
                    y[base + k * l.inner] = k == best ? T{1} : T{0};
            }
        }
    });
    return {};
}

constexpr std::array kOps = {
    Operator{"Softmax", 1, 1, 1, Numeric::kFloat, infer_softmax, compute_softmax<false>},
    Operator{"LogSoftmax", 1, 1, 1, Numeric::kFloat, infer_softmax, compute_softmax<true>},
    Operator{"Hardmax", 1, 1, 1, Numeric::kFloat, infer_softmax, compute_hardmax},
};

}  // namespace

std::span<const Operator> softmax_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
