// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <algorithm>

namespace rknpu::cpu::ops {

Status normalize_axis(const OpContext& context, std::int64_t axis, std::size_t rank,
                      std::size_t& out) {
    const std::int64_t r = static_cast<std::int64_t>(rank);
    if (axis < -r || axis >= r)
        return fail(context, StatusCode::kInvalidAttribute, "axis ", axis,
                    " is outside a tensor of rank ", rank);
    out = static_cast<std::size_t>(axis < 0 ? axis + r : axis);
    return {};
}

Status normalize_axes(const OpContext& context, std::span<const std::int64_t> axes,
                      std::size_t rank, std::vector<std::size_t>& out) {
    out.clear();
    for (std::int64_t axis : axes) {
        std::size_t a = 0;
        RKNPU_CPU_TRY(normalize_axis(context, axis, rank, a));
        if (std::ranges::find(out, a) != out.end())
            return fail(context, StatusCode::kInvalidAttribute, "axis ", axis, " is given twice");
        out.push_back(a);
    }
    return {};
}

namespace {

Status need_data(const OpContext& context, std::size_t input) {
    if (!context.has(input))
        return fail(context, StatusCode::kInvalidShape, "input ", input, " is missing");
    const TensorView& t = context.inputs[input];
    if (t.data.empty() && t.elements() != 0)
        return fail(context, StatusCode::kNeedsData, "the output shape depends on input ", input,
                    ", whose contents are not known before the run");
    return {};
}

}  // namespace

Status read_ints(const OpContext& context, std::size_t input, std::vector<std::int64_t>& out) {
    RKNPU_CPU_TRY(need_data(context, input));
    const TensorView& t = context.inputs[input];
    if (t.dtype == DType::kI64) {
        const auto v = t.as<std::int64_t>();
        out.assign(v.begin(), v.end());
    } else if (t.dtype == DType::kI32) {
        const auto v = t.as<std::int32_t>();
        out.assign(v.begin(), v.end());
    } else {
        return fail(context, StatusCode::kInvalidType, "input ", input, " is ", dtype_name(t.dtype),
                    ", wanted int32 or int64");
    }
    return {};
}

Status read_floats(const OpContext& context, std::size_t input, std::vector<float>& out) {
    RKNPU_CPU_TRY(need_data(context, input));
    const TensorView& t = context.inputs[input];
    out.resize(static_cast<std::size_t>(t.elements()));
    dispatch_all(t.dtype, [&]<typename T>(std::type_identity<T>) {
        const auto v = t.as<T>();
        std::ranges::transform(v, out.begin(), [](T x) { return cast_saturate<float>(x); });
    });
    for (float& value : out) {
        if (t.quant)
            value = t.quant->scale * (value - static_cast<float>(t.quant->zero_point));
    }
    return {};
}

Status ints_input_or_attr(const OpContext& context, std::size_t input, std::string_view name,
                          std::vector<std::int64_t>& out, bool& present) {
    present = true;
    if (context.has(input))
        return read_ints(context, input, out);
    if (context.attributes->has(name))
        return attr(context, name, out);
    present = false;
    return {};
}

Status broadcast(const OpContext& context, const Dims& a, const Dims& b, Dims& out) {
    const std::size_t rank = std::max(a.rank(), b.rank());
    Dims result;
    result.resize(rank);
    for (std::size_t i = 0; i < rank; ++i) {
        const std::int64_t x = i + a.rank() < rank ? 1 : a[i + a.rank() - rank];
        const std::int64_t y = i + b.rank() < rank ? 1 : b[i + b.rank() - rank];
        if (x != y && x != 1 && y != 1)
            return fail(context, StatusCode::kInvalidShape, "shapes ", a.text(), " and ", b.text(),
                        " cannot be broadcast");
        result[i] = x == 1 ? y : x;
    }
    RKNPU_CPU_TRY(check_size(context, result));
    out = result;
    return {};
}

Status check_size(const OpContext& context, const Dims& dims) {
    if (!dims.checked_elements())
        return fail(context, StatusCode::kTooLarge, "output ", dims.text(),
                    " has a negative dimension or more than ", kMaxElements, " elements");
    return {};
}

Status infer_same(const OpContext& context, std::vector<TensorInfo>& outputs) {
    push_like(outputs, context.inputs[0], context.inputs[0].dims);
    return {};
}

std::array<std::int64_t, kMaxRank> strides_of(const Dims& dims) {
    std::array<std::int64_t, kMaxRank> strides{};
    std::int64_t step = 1;
    for (std::size_t i = dims.rank(); i-- > 0;) {
        strides[i] = step;
        step *= std::max<std::int64_t>(dims[i], 1);
    }
    return strides;
}

std::array<std::int64_t, kMaxRank> broadcast_strides(const Dims& dims, const Dims& target) {
    const std::array<std::int64_t, kMaxRank> own = strides_of(dims);
    std::array<std::int64_t, kMaxRank> strides{};
    for (std::size_t i = 0; i < dims.rank(); ++i)
        strides[i + target.rank() - dims.rank()] = dims[i] == 1 ? 0 : own[i];
    return strides;
}

}  // namespace rknpu::cpu::ops
