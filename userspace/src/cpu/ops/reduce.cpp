// SPDX-License-Identifier: MIT
// Reductions over axes. Sums of floats are kept in double, sums of integers wrap.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "elementwise.hpp"
#include "ops.hpp"

namespace rknpu::cpu::ops {

namespace {

struct Settings {
    std::array<bool, kMaxRank> reduced{};
    bool keep_dims = true;
    std::int64_t count = 1;  // elements that go into one result
};

Status read_settings(const OpContext& context, Settings& out) {
    RKNPU_CPU_TRY(attr(context, "keepdims", out.keep_dims));
    bool noop = false;
    RKNPU_CPU_TRY(attr(context, "noop_with_empty_axes", noop));
    std::vector<std::int64_t> list;
    bool present = false;
    RKNPU_CPU_TRY(ints_input_or_attr(context, 1, "axes", list, present));
    const Dims& dims = context.inputs[0].dims;
    std::vector<std::size_t> axes;
    RKNPU_CPU_TRY(normalize_axes(context, list, dims.rank(), axes));
    const bool all = axes.empty() && !noop;
    for (std::size_t i = 0; i < dims.rank(); ++i) {
        out.reduced[i] = all || std::ranges::find(axes, i) != axes.end();
        if (out.reduced[i])
            out.count *= dims[i];
    }
    return {};
}

Status infer_reduce(const OpContext& context, std::vector<TensorInfo>& outputs) {
    Settings settings;
    RKNPU_CPU_TRY(read_settings(context, settings));
    Dims dims;
    for (std::size_t i = 0; i < context.inputs[0].dims.rank(); ++i) {
        if (!settings.reduced[i])
            (void)dims.push_back(context.inputs[0].dims[i]);
        else if (settings.keep_dims)
            (void)dims.push_back(1);
    }
    push_like(outputs, context.inputs[0], dims);
    return {};
}

/// Sums of floats in double, of integers in 64 bits that may wrap.
template <typename T>
using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

// Each reduction: start value, step and result from the accumulator and the number of elements.
struct Sum {
    template <typename T>
    static Accumulator<T> start() {
        return 0;
    }
    template <typename T>
    static Accumulator<T> step(Accumulator<T> acc, T v) {
        return acc + static_cast<Accumulator<T>>(v);
    }
    template <typename T>
    static T finish(Accumulator<T> acc, std::int64_t) {
        return static_cast<T>(acc);
    }
};

struct Mean : Sum {
    template <typename T>
    static T finish(Accumulator<T> acc, std::int64_t n) {
        if constexpr (std::is_floating_point_v<T>)
            return static_cast<T>(acc / static_cast<double>(n));
        else if constexpr (std::is_signed_v<T>)
            return n == 0 ? T{0} : static_cast<T>(static_cast<std::int64_t>(acc) / n);
        else
            return n == 0 ? T{0} : static_cast<T>(acc / static_cast<std::uint64_t>(n));
    }
};

struct SumSquare : Sum {
    template <typename T>
    static Accumulator<T> step(Accumulator<T> acc, T v) {
        const auto wide = static_cast<Accumulator<T>>(v);
        return acc + wide * wide;
    }
};

struct L1 : Sum {
    template <typename T>
    static Accumulator<T> step(Accumulator<T> acc, T v) {
        const auto wide = static_cast<Accumulator<T>>(v);
        return v < 0 ? acc - wide : acc + wide;
    }
};

struct L2 : SumSquare {
    template <typename T>
    static T finish(Accumulator<T> acc, std::int64_t) {
        return cast_saturate<T>(std::sqrt(static_cast<double>(acc)));
    }
};

struct LogSum : Sum {
    template <typename T>
    static T finish(Accumulator<T> acc, std::int64_t) {
        return cast_saturate<T>(std::log(static_cast<double>(acc)));
    }
};

struct Prod : Sum {
    template <typename T>
    static Accumulator<T> start() {
        return 1;
    }
    template <typename T>
    static Accumulator<T> step(Accumulator<T> acc, T v) {
        return acc * static_cast<Accumulator<T>>(v);
    }
};

struct Max {
    template <typename T>
    static T start() {
        return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                           : std::numeric_limits<T>::lowest();
    }
    template <typename T>
    static T step(T acc, T v) {
        return v > acc || v != v ? v : acc;
    }
    template <typename T>
    static T finish(T acc, std::int64_t) {
        return acc;
    }
};

struct Min : Max {
    template <typename T>
    static T start() {
        return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                           : std::numeric_limits<T>::max();
    }
    template <typename T>
    static T step(T acc, T v) {
        return v < acc || v != v ? v : acc;
    }
};

/// Walks the input with the accumulators' strides (0 along reduced dimensions).
Walk<2> reduce_walk(const Dims& in, const Settings& settings) {
    Dims kept = in;
    for (std::size_t i = 0; i < in.rank(); ++i)
        kept[i] = settings.reduced[i] ? 1 : in[i];
    Walk<2> walk;
    walk.dims = in;
    walk.strides = {strides_of(in), broadcast_strides(kept, in)};
    for (std::size_t i = 0; i < in.rank(); ++i) {
        if (settings.reduced[i])
            walk.strides[1][i] = 0;
    }
    return walk;
}

template <typename F, typename T>
void reduce(const OpContext& context, const Settings& settings) {
    using A = decltype(F::template start<T>());
    const TensorView& in = context.inputs[0];
    const auto out = context.outputs[0].as<T>();
    std::vector<A> acc(out.size(), F::template start<T>());
    const T* x = in.as<T>().data();
    Walk<2> walk = reduce_walk(in.dims, settings);
    if (context.reference) {
        walk.elements([&](const auto& at) {
            A& a = acc[static_cast<std::size_t>(at[1])];
            a = F::template step<T>(a, x[at[0]]);
        });
    } else {
        walk.coalesce();
        const std::int64_t n = walk.row_length();
        const std::int64_t step_in = walk.row_stride(0);
        const bool along = walk.row_stride(1) == 0;
        walk.rows([&](const auto& at) {
            const T* src = x + at[0];
            A* dst = acc.data() + at[1];
            if (along) {
                A a = *dst;
                for (std::int64_t i = 0; i < n; ++i)
                    a = F::template step<T>(a, src[i * step_in]);
                *dst = a;
            } else {
                for (std::int64_t i = 0; i < n; ++i)
                    dst[i] = F::template step<T>(dst[i], src[i]);
            }
        });
    }
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = F::template finish<T>(acc[i], settings.count);
}

template <typename F>
Status compute_reduce(const OpContext& context) {
    Settings settings;
    RKNPU_CPU_TRY(read_settings(context, settings));
    const bool known = dispatch_numbers(
        context.inputs[0].dtype,
        [&]<typename T>(std::type_identity<T>) { reduce<F, T>(context, settings); });
    return known ? Status{} : bad_type(context);
}

/// ln(sum(e^x)) relative to the maximum, so that nothing overflows.
Status compute_log_sum_exp(const OpContext& context) {
    Settings settings;
    RKNPU_CPU_TRY(read_settings(context, settings));
    const TensorView& in = context.inputs[0];
    const bool known = dispatch_floats(in.dtype, [&]<typename T>(std::type_identity<T>) {
        const T* x = in.as<T>().data();
        const auto out = context.outputs[0].as<T>();
        std::vector<double> highest(out.size(), -std::numeric_limits<double>::infinity());
        std::vector<double> sums(out.size(), 0.0);
        const Walk<2> walk = reduce_walk(in.dims, settings);
        walk.elements([&](const auto& at) {
            double& h = highest[static_cast<std::size_t>(at[1])];
            h = std::max(h, static_cast<double>(x[at[0]]));
        });
        walk.elements([&](const auto& at) {
            const std::size_t to = static_cast<std::size_t>(at[1]);
            sums[to] += std::isinf(highest[to]) ? 1.0 : std::exp(x[at[0]] - highest[to]);
        });
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] =
                static_cast<T>(highest[i] + (std::isinf(highest[i]) ? 0.0 : std::log(sums[i])));
    });
    return known ? Status{} : bad_type(context);
}

template <typename F>
constexpr Operator reduction(std::string_view type, Numeric numeric = Numeric::kFloat) {
    return {type, 1, 2, 1, numeric, infer_reduce, compute_reduce<F>};
}

constexpr std::array kOps = {
    reduction<Sum>("ReduceSum"),
    reduction<Mean>("ReduceMean"),
    reduction<Max>("ReduceMax", Numeric::kOrder),
    reduction<Min>("ReduceMin", Numeric::kOrder),
    reduction<Prod>("ReduceProd"),
    reduction<L1>("ReduceL1"),
    reduction<L2>("ReduceL2"),
    reduction<LogSum>("ReduceLogSum"),
    reduction<SumSquare>("ReduceSumSquare"),
    Operator{"ReduceLogSumExp", 1, 2, 1, Numeric::kFloat, infer_reduce, compute_log_sum_exp},
};

}  // namespace

std::span<const Operator> reduce_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
