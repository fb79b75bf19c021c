// SPDX-License-Identifier: MIT
// Operators that give the same bytes another shape.
#include <algorithm>
#include <array>
#include <cstring>

#include "ops.hpp"
#include "support.hpp"

namespace rknpu::cpu::ops {

namespace {

Status copy_bytes(const OpContext& context) {
    const auto src = context.inputs[0].data;
    if (!src.empty())
        std::memmove(context.outputs[0].data.data(), src.data(), src.size());
    return {};
}

Status reshape_dims(const OpContext& context, std::span<const std::int64_t> wanted, bool allow_zero,
                    Dims& out) {
    const Dims& in = context.inputs[0].dims;
    std::int64_t known = 1;
    std::optional<std::size_t> free_axis;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        std::int64_t d = wanted[i];
        if (d == 0 && !allow_zero) {
            if (i >= in.rank())
                return fail(context, StatusCode::kInvalidShape, "dimension ", i,
                            " shall be copied, but the input is only ", in.text());
            d = in[i];
        }
        if (d == -1 && !free_axis) {
            free_axis = i;
            d = 1;
        }
        if (d < 0 || (d != 0 && known > kMaxElements / d))
            return fail(context, StatusCode::kInvalidShape, "bad target dimension ", wanted[i]);
        if (!out.push_back(d))
            return fail(context, StatusCode::kInvalidShape, "more than ", kMaxRank, " dimensions");
        known *= d;
    }
    const std::int64_t total = in.elements();
    if (free_axis) {
        if (known == 0 || total % known != 0)
            return fail(context, StatusCode::kInvalidShape, "cannot split ", in.text(), " into ",
                        out.text(), " with one free dimension");
        out[*free_axis] = total / known;
        known = total;
    }
    if (known != total)
        return fail(context, StatusCode::kInvalidShape, in.text(), " and ", out.text(),
                    " have different numbers of elements");
    return {};
}

Status infer_reshape(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::vector<std::int64_t> wanted;
    bool present = false;
    bool allow_zero = false;
    RKNPU_CPU_TRY(ints_input_or_attr(context, 1, "shape", wanted, present));
    if (!present)
        return fail(context, StatusCode::kInvalidAttribute, "no target shape given");
    RKNPU_CPU_TRY(attr(context, "allowzero", allow_zero));
    Dims dims;
    RKNPU_CPU_TRY(reshape_dims(context, wanted, allow_zero, dims));
    push_like(outputs, context.inputs[0], dims);
    return {};
}

Status infer_flatten(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::int64_t axis = 1;
    RKNPU_CPU_TRY(attr(context, "axis", axis));
    const Dims& in = context.inputs[0].dims;
    const std::int64_t rank = static_cast<std::int64_t>(in.rank());
    if (axis < -rank || axis > rank)
        return fail(context, StatusCode::kInvalidAttribute, "axis ", axis,
                    " is outside a tensor of rank ", rank);
    const std::size_t a = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
    push_like(outputs, context.inputs[0], {in.product(0, a), in.product(a, in.rank())});
    return {};
}

Status infer_squeeze(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::vector<std::int64_t> list;
    bool present = false;
    RKNPU_CPU_TRY(ints_input_or_attr(context, 1, "axes", list, present));
    const Dims& in = context.inputs[0].dims;
    std::vector<std::size_t> axes;
    RKNPU_CPU_TRY(normalize_axes(context, list, in.rank(), axes));
    Dims dims;
    for (std::size_t i = 0; i < in.rank(); ++i) {
        const bool named = std::ranges::find(axes, i) != axes.end();
        if (named && in[i] != 1)
            return fail(context, StatusCode::kInvalidShape, "axis ", i, " of ", in.text(),
                        " is not 1");
        if (!(named || (!present && in[i] == 1)))
            (void)dims.push_back(in[i]);
    }
    push_like(outputs, context.inputs[0], dims);
    return {};
}

Status infer_unsqueeze(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::vector<std::int64_t> list;
    bool present = false;
    RKNPU_CPU_TRY(ints_input_or_attr(context, 1, "axes", list, present));
    if (!present)
        return fail(context, StatusCode::kInvalidAttribute, "no axes given");
    const Dims& in = context.inputs[0].dims;
    const std::size_t rank = in.rank() + list.size();
    if (rank > kMaxRank)
        return fail(context, StatusCode::kInvalidShape, "more than ", kMaxRank, " dimensions");
    std::vector<std::size_t> axes;
    RKNPU_CPU_TRY(normalize_axes(context, list, rank, axes));
    Dims dims;
    std::size_t next = 0;
    for (std::size_t i = 0; i < rank; ++i) {
        const bool added = std::ranges::find(axes, i) != axes.end();
        (void)dims.push_back(added ? 1 : in[next]);
        next += added ? 0 : 1;
    }
    push_like(outputs, context.inputs[0], dims);
    return {};
}

Status compute_dropout(const OpContext& context) {
    RKNPU_CPU_TRY(copy_bytes(context));
    if (context.wants(1))
        std::ranges::fill(context.outputs[1].data, std::byte{1});
    return {};
}

/// Inference hands the input through; so does training with ratio 0. Anything else is random.
Status infer_dropout(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::vector<float> training{0.0F};
    std::vector<float> ratio{0.5F};
    if (context.has(2))
        RKNPU_CPU_TRY(read_floats(context, 2, training));
    if (context.has(1))
        RKNPU_CPU_TRY(read_floats(context, 1, ratio));
    if (!training.empty() && training[0] != 0.0F && !ratio.empty() && ratio[0] != 0.0F)
        return fail(context, StatusCode::kInvalidValue,
                    "training mode is for training; export the model for inference");
    RKNPU_CPU_TRY(infer_same(context, outputs));
    outputs.push_back({DType::kBool, context.inputs[0].dims, std::nullopt});
    return {};
}

constexpr std::array kOps = {
    // Vendor files give Reshape a third, empty input ("..._exSecondary"); it is ignored.
    Operator{"Reshape", 1, 3, 1, Numeric::kMove, infer_reshape, copy_bytes},
    Operator{"Flatten", 1, 1, 1, Numeric::kMove, infer_flatten, copy_bytes},
    Operator{"Squeeze", 1, 2, 1, Numeric::kMove, infer_squeeze, copy_bytes},
    Operator{"Unsqueeze", 1, 2, 1, Numeric::kMove, infer_unsqueeze, copy_bytes},
    Operator{"Identity", 1, 1, 1, Numeric::kMove, infer_same, copy_bytes},
    Operator{"Dropout", 1, 3, 2, Numeric::kMove, infer_dropout, compute_dropout},
};

}  // namespace

std::span<const Operator> reshape_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
