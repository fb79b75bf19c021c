// SPDX-License-Identifier: MIT
// ArgMax and ArgMin. Codes of a quantised tensor order as their values do, so they are compared
// directly.
#include <algorithm>
#include <array>
#include <vector>

#include "elementwise.hpp"
#include "ops.hpp"

namespace rknpu::cpu::ops {

namespace {

struct Settings {
    std::size_t axis = 0;
    bool keep_dims = true;
    bool last = false;  // of several equal ones take the last instead of the first
};

Status read_settings(const OpContext& context, Settings& out) {
    std::int64_t axis = 0;
    RKNPU_CPU_TRY(attr(context, "axis", axis));
    RKNPU_CPU_TRY(attr(context, "keepdims", out.keep_dims));
    RKNPU_CPU_TRY(attr(context, "select_last_index", out.last));
    const Dims& dims = context.inputs[0].dims;
    RKNPU_CPU_TRY(normalize_axis(context, axis, dims.rank(), out.axis));
    if (dims[out.axis] == 0)
        return fail(context, StatusCode::kInvalidShape, "axis ", out.axis, " of ", dims.text(),
                    " is empty");
    return {};
}

Status infer_arg(const OpContext& context, std::vector<TensorInfo>& outputs) {
    Settings settings;
    RKNPU_CPU_TRY(read_settings(context, settings));
    Dims dims;
    for (std::size_t i = 0; i < context.inputs[0].dims.rank(); ++i) {
        if (i != settings.axis)
            (void)dims.push_back(context.inputs[0].dims[i]);
        else if (settings.keep_dims)
            (void)dims.push_back(1);
    }
    outputs.push_back({DType::kI64, dims, std::nullopt});
    return {};
}

/// Is `b` better than the best so far?
template <bool kMax, bool kLast, typename T>
bool better(T best, T b) {
    if constexpr (kLast)
        return kMax ? b >= best : b <= best;
    else
        return kMax ? b > best : b < best;
}

template <bool kMax, bool kLast, typename T>
void arg_columns(const T* x, std::int64_t* out, std::int64_t n, std::int64_t inner,
                 std::vector<T>& best, std::vector<std::int32_t>& index) {
    best.assign(x, x + inner);
    index.assign(static_cast<std::size_t>(inner), 0);
    T* b = best.data();
    std::int32_t* at = index.data();
    for (std::int64_t k = 1; k < n; ++k) {
        const T* row = x + k * inner;
        for (std::int64_t i = 0; i < inner; ++i) {
            const bool take = better<kMax, kLast>(b[i], row[i]);
            b[i] = take ? row[i] : b[i];
            at[i] = take ? static_cast<std::int32_t>(k) : at[i];
        }
    }
    for (std::int64_t i = 0; i < inner; ++i)
        out[i] = at[i];
}

template <bool kMax, bool kLast, typename T>
void arg_one(const T* x, std::int64_t* out, std::int64_t n, std::int64_t stride) {
    std::int64_t best = 0;
    for (std::int64_t k = 1; k < n; ++k)
        best = better<kMax, kLast>(x[best * stride], x[k * stride]) ? k : best;
    *out = best;
}

template <bool kMax, bool kLast, typename T>
void arg_all(const OpContext& context, std::size_t axis) {
    const Dims& dims = context.inputs[0].dims;
    const std::int64_t outer = dims.product(0, axis);
    const std::int64_t n = dims[axis];
    const std::int64_t inner = dims.product(axis + 1, dims.rank());
    const T* x = context.inputs[0].as<T>().data();
    std::int64_t* out = context.outputs[0].as<std::int64_t>().data();
    std::vector<T> best;
    std::vector<std::int32_t> index;
    for (std::int64_t o = 0; o < outer; ++o) {
        if (!context.reference && inner > 1) {
            arg_columns<kMax, kLast>(x + o * n * inner, out + o * inner, n, inner, best, index);
            continue;
        }
        for (std::int64_t i = 0; i < inner; ++i)
            arg_one<kMax, kLast>(x + o * n * inner + i, out + o * inner + i, n, inner);
    }
}

template <bool kMax>
Status compute_arg(const OpContext& context) {
    Settings settings;
    RKNPU_CPU_TRY(read_settings(context, settings));
    const bool known =
        dispatch_numbers(context.inputs[0].dtype, [&]<typename T>(std::type_identity<T>) {
            if (settings.last)
                arg_all<kMax, true, T>(context, settings.axis);
            else
                arg_all<kMax, false, T>(context, settings.axis);
        });
    return known ? Status{} : bad_type(context);
}

constexpr std::array kOps = {
    Operator{"ArgMax", 1, 1, 1, Numeric::kOrder, infer_arg, compute_arg<true>},
    Operator{"ArgMin", 1, 1, 1, Numeric::kOrder, infer_arg, compute_arg<false>},
};

}  // namespace

std::span<const Operator> argminmax_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
