// SPDX-License-Identifier: MIT
#include <array>
#include <cstring>

#include "ops.hpp"
#include "support.hpp"

namespace rknpu::cpu::ops {

namespace {

Status concat_axis(const OpContext& context, std::size_t& axis) {
    std::int64_t value = 1;  // the default of operator sets below 4
    if (!context.attributes->has("axis") && context.opset >= 4)
        return fail(context, StatusCode::kInvalidAttribute, "no axis given");
    RKNPU_CPU_TRY(attr(context, "axis", value));
    return normalize_axis(context, value, context.inputs[0].dims.rank(), axis);
}

Status infer_concat(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::size_t axis = 0;
    RKNPU_CPU_TRY(concat_axis(context, axis));
    const TensorView& first = context.inputs[0];
    Dims dims = first.dims;
    dims[axis] = 0;
    for (const TensorView& t : context.inputs) {
        Dims rest = t.dims;
        if (rest.rank() != dims.rank() || t.dtype != first.dtype)
            return fail(context, StatusCode::kInvalidShape, "cannot join ", dtype_name(t.dtype),
                        " ", t.dims.text(), " to ", dtype_name(first.dtype), " ",
                        first.dims.text());
        rest[axis] = dims[axis];
        if (rest != dims)
            return fail(context, StatusCode::kInvalidShape, "cannot join ", t.dims.text(), " to ",
                        first.dims.text(), " along axis ", axis);
        dims[axis] += t.dims[axis];
        RKNPU_CPU_TRY(check_size(context, dims));
    }
    push_like(outputs, first, dims);
    // Codes of inputs without a Quant next to quantised ones count as theirs.
    for (const TensorView& t : context.inputs) {
        if (t.quant)
            outputs.back().quant = t.quant;
    }
    return {};
}

Status compute_concat(const OpContext& context) {
    std::size_t axis = 0;
    RKNPU_CPU_TRY(concat_axis(context, axis));
    const MutTensorView& out = context.outputs[0];
    const std::int64_t outer = out.dims.product(0, axis);
    const std::size_t element = dtype_size(out.dtype);
    const std::size_t row =
        static_cast<std::size_t>(out.dims.product(axis, out.dims.rank())) * element;
    std::size_t offset = 0;
    for (const TensorView& t : context.inputs) {
        const std::size_t part =
            static_cast<std::size_t>(t.dims.product(axis, t.dims.rank())) * element;
        if (part == 0)
            continue;
        for (std::int64_t i = 0; i < outer; ++i)
            std::memcpy(out.data.data() + static_cast<std::size_t>(i) * row + offset,
                        t.data.data() + static_cast<std::size_t>(i) * part, part);
        offset += part;
    }
    return {};
}

constexpr std::array kOps = {
    Operator{"Concat", 1, 4096, 1, Numeric::kMove, infer_concat, compute_concat},
};

}  // namespace

std::span<const Operator> concat_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
