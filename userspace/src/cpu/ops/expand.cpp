// SPDX-License-Identifier: MIT
// Repetition: Expand and Tile.
#include <array>
#include <cstring>

#include "ops.hpp"
#include "support.hpp"

namespace rknpu::cpu::ops {

namespace {

Status infer_expand(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::vector<std::int64_t> list;
    bool present = false;
    RKNPU_CPU_TRY(ints_input_or_attr(context, 1, "shape", list, present));
    const std::optional<Dims> target = Dims::from(std::span<const std::int64_t>(list));
    if (!present || !target)
        return fail(context, StatusCode::kInvalidValue, "no target shape, or one out of range");
    Dims dims;
    RKNPU_CPU_TRY(broadcast(context, context.inputs[0].dims, *target, dims));
    push_like(outputs, context.inputs[0], dims);
    return {};
}

Status compute_expand(const OpContext& context) {
    const TensorView& in = context.inputs[0];
    const MutTensorView& out = context.outputs[0];
    Walk<2> walk;
    walk.dims = out.dims;
    walk.strides = {broadcast_strides(in.dims, out.dims), strides_of(out.dims)};
    if (!context.reference)
        walk.coalesce();
    dispatch_width(in.dtype, [&]<typename T>(std::type_identity<T>) {
        const T* src = in.as<T>().data();
        T* dst = out.as<T>().data();
        walk.elements([&](const auto& at) { dst[at[1]] = src[at[0]]; });
    });
    return {};
}

Status read_repeats(const OpContext& context, std::vector<std::int64_t>& out) {
    bool present = false;
    RKNPU_CPU_TRY(ints_input_or_attr(context, 1, "repeats", out, present));
    const std::size_t rank = context.inputs[0].dims.rank();
    if (!present || out.size() != rank)
        return fail(context, StatusCode::kInvalidValue, "needs one repeat count per dimension (",
                    rank, "), got ", out.size());
    return {};
}

Status infer_tile(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::vector<std::int64_t> repeats;
    RKNPU_CPU_TRY(read_repeats(context, repeats));
    Dims dims = context.inputs[0].dims;
    for (std::size_t i = 0; i < dims.rank(); ++i) {
        if (repeats[i] < 0 || repeats[i] > kMaxElements || dims[i] > kMaxElements)
            return fail(context, StatusCode::kInvalidValue, "repeat count ", repeats[i],
                        " is out of range");
        dims[i] *= repeats[i];
    }
    RKNPU_CPU_TRY(check_size(context, dims));
    push_like(outputs, context.inputs[0], dims);
    return {};
}

/// Seen as [r0, d0, r1, d1, ...], tiling is broadcasting; done axis by axis from the innermost it
/// is a series of block copies.
Status compute_tile(const OpContext& context) {
    std::vector<std::int64_t> repeats;
    RKNPU_CPU_TRY(read_repeats(context, repeats));
    const TensorView& in = context.inputs[0];
    const MutTensorView& out = context.outputs[0];
    if (out.elements() == 0)
        return {};
    const auto in_strides = strides_of(in.dims);
    const auto out_strides = strides_of(out.dims);
    dispatch_width(in.dtype, [&]<typename T>(std::type_identity<T>) {
        const T* src = in.as<T>().data();
        T* dst = out.as<T>().data();
        // The first copy, spread over the output, ...
        Walk<2> walk;
        walk.dims = in.dims;
        walk.strides = {in_strides, out_strides};
        if (!context.reference)
            walk.coalesce();
        walk.elements([&](const auto& at) { dst[at[1]] = src[at[0]]; });
        // ... then each axis repeats the block that is already there.
        for (std::size_t axis = in.dims.rank(); axis-- > 0;) {
            const std::int64_t block = in.dims[axis] * out_strides[axis];
            const std::int64_t row = out.dims[axis] * out_strides[axis];
            Walk<1> outer;
            for (std::size_t i = 0; i < axis; ++i) {
                (void)outer.dims.push_back(in.dims[i]);
                outer.strides[0][i] = out_strides[i];
            }
            outer.elements([&](const auto& at) {
                for (std::int64_t at_copy = block; at_copy < row; at_copy += block)
                    std::memcpy(dst + at[0] + at_copy, dst + at[0],
                                static_cast<std::size_t>(block) * sizeof(T));
            });
        }
    });
    return {};
}

constexpr std::array kOps = {
    Operator{"Expand", 1, 2, 1, Numeric::kMove, infer_expand, compute_expand},
    Operator{"Tile", 1, 2, 1, Numeric::kMove, infer_tile, compute_tile},
};

}  // namespace

std::span<const Operator> expand_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
