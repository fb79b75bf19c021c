// SPDX-License-Identifier: MIT
// Reads along indices: Gather, GatherElements, GatherND, Compress.
#include <algorithm>
#include <array>
#include <cstring>

#include "ops.hpp"
#include "support.hpp"

namespace rknpu::cpu::ops {

namespace {

/// Maps an index of [-dim, dim) to [0, dim).
Status wrap_index(const OpContext& context, std::int64_t dim, std::int64_t& index) {
    if (index < -dim || index >= dim)
        return fail(context, StatusCode::kInvalidValue, "index ", index, " is outside dimension ",
                    dim);
    index += index < 0 ? dim : 0;
    return {};
}

Status check_index_type(const OpContext& context) {
    const DType type = context.inputs[1].dtype;
    if (type != DType::kI32 && type != DType::kI64)
        return fail(context, StatusCode::kInvalidType, "indices are ", dtype_name(type),
                    ", wanted int32 or int64");
    return {};
}

Status read_axis(const OpContext& context, std::size_t& axis) {
    std::int64_t value = 0;
    RKNPU_CPU_TRY(attr(context, "axis", value));
    return normalize_axis(context, value, context.inputs[0].dims.rank(), axis);
}

Status infer_gather(const OpContext& context, std::vector<TensorInfo>& outputs) {
    RKNPU_CPU_TRY(check_index_type(context));
    std::size_t axis = 0;
    RKNPU_CPU_TRY(read_axis(context, axis));
    const Dims& data = context.inputs[0].dims;
    const Dims& indices = context.inputs[1].dims;
    if (data.rank() - 1 + indices.rank() > kMaxRank)
        return fail(context, StatusCode::kInvalidShape, "more than ", kMaxRank, " dimensions");
    Dims dims;
    for (std::size_t i = 0; i < data.rank(); ++i) {
        for (std::size_t k = 0; i == axis && k < indices.rank(); ++k)
            (void)dims.push_back(indices[k]);
        if (i != axis)
            (void)dims.push_back(data[i]);
    }
    push_like(outputs, context.inputs[0], dims);
    return {};
}

Status compute_gather(const OpContext& context) {
    std::size_t axis = 0;
    RKNPU_CPU_TRY(read_axis(context, axis));
    std::vector<std::int64_t> indices;
    RKNPU_CPU_TRY(read_ints(context, 1, indices));
    const TensorView& data = context.inputs[0];
    for (std::int64_t& index : indices)
        RKNPU_CPU_TRY(wrap_index(context, data.dims[axis], index));
    const std::int64_t outer = data.dims.product(0, axis);
    const std::size_t inner =
        static_cast<std::size_t>(data.dims.product(axis + 1, data.dims.rank())) *
        dtype_size(data.dtype);
    if (inner == 0)
        return {};
    std::byte* dst = context.outputs[0].data.data();
    for (std::int64_t i = 0; i < outer; ++i) {
        const std::byte* block =
            data.data.data() + static_cast<std::size_t>(i * data.dims[axis]) * inner;
        for (std::int64_t index : indices) {
            std::memcpy(dst, block + static_cast<std::size_t>(index) * inner, inner);
            dst += inner;
        }
    }
    return {};
}

Status infer_gather_elements(const OpContext& context, std::vector<TensorInfo>& outputs) {
    RKNPU_CPU_TRY(check_index_type(context));
    std::size_t axis = 0;
    RKNPU_CPU_TRY(read_axis(context, axis));
    const Dims& data = context.inputs[0].dims;
    const Dims& indices = context.inputs[1].dims;
    bool fits = data.rank() == indices.rank();
    for (std::size_t i = 0; fits && i < data.rank(); ++i)
        fits = i == axis || indices[i] <= data[i];
    if (!fits)
        return fail(context, StatusCode::kInvalidShape, "indices ", indices.text(),
                    " do not fit data ", data.text());
    push_like(outputs, context.inputs[0], indices);
    return {};
}

Status compute_gather_elements(const OpContext& context) {
    std::size_t axis = 0;
    RKNPU_CPU_TRY(read_axis(context, axis));
    std::vector<std::int64_t> indices;
    RKNPU_CPU_TRY(read_ints(context, 1, indices));
    const TensorView& data = context.inputs[0];
    for (std::int64_t& index : indices)
        RKNPU_CPU_TRY(wrap_index(context, data.dims[axis], index));
    Walk<2> walk;
    walk.dims = context.inputs[1].dims;
    walk.strides = {strides_of(data.dims), strides_of(walk.dims)};
    const std::int64_t step = walk.strides[0][axis];
    walk.strides[0][axis] = 0;
    dispatch_width(data.dtype, [&]<typename T>(std::type_identity<T>) {
        const T* src = data.as<T>().data();
        T* dst = context.outputs[0].as<T>().data();
        walk.elements([&](const auto& at) {
            dst[at[1]] = src[at[0] + indices[static_cast<std::size_t>(at[1])] * step];
        });
    });
    return {};
}

struct NdShape {
    std::size_t batch = 0;     // leading dimensions common to both
    std::size_t depth = 0;     // dimensions one index tuple addresses
    std::int64_t batches = 1;  // product of the common dimensions
    std::int64_t tuples = 1;   // index tuples per batch
    std::int64_t slice = 1;    // elements one tuple reads
};

Status nd_shape(const OpContext& context, NdShape& out) {
    std::int64_t batch = 0;
    RKNPU_CPU_TRY(attr(context, "batch_dims", batch));
    const Dims& data = context.inputs[0].dims;
    const Dims& indices = context.inputs[1].dims;
    const std::int64_t smaller = static_cast<std::int64_t>(std::min(data.rank(), indices.rank()));
    if (indices.rank() == 0 || data.rank() == 0 || batch < 0 || batch >= smaller)
        return fail(context, StatusCode::kInvalidAttribute, "batch_dims ", batch,
                    " does not fit data ", data.text(), " and indices ", indices.text());
    out.batch = static_cast<std::size_t>(batch);
    const std::int64_t depth = indices[indices.rank() - 1];
    if (depth < 1 || depth > static_cast<std::int64_t>(data.rank() - out.batch))
        return fail(context, StatusCode::kInvalidShape, "index tuples of ", depth,
                    " do not fit data ", data.text());
    out.depth = static_cast<std::size_t>(depth);
    for (std::size_t i = 0; i < out.batch; ++i) {
        if (data[i] != indices[i])
            return fail(context, StatusCode::kInvalidShape, "batch dimensions of ", data.text(),
                        " and ", indices.text(), " differ");
    }
    out.batches = data.product(0, out.batch);
    out.tuples = indices.product(out.batch, indices.rank() - 1);
    out.slice = data.product(out.batch + out.depth, data.rank());
    return {};
}

Status infer_gather_nd(const OpContext& context, std::vector<TensorInfo>& outputs) {
    RKNPU_CPU_TRY(check_index_type(context));
    NdShape shape;
    RKNPU_CPU_TRY(nd_shape(context, shape));
    const Dims& data = context.inputs[0].dims;
    Dims dims = context.inputs[1].dims;
    dims.resize(dims.rank() - 1);
    for (std::size_t i = shape.batch + shape.depth; i < data.rank(); ++i) {
        if (!dims.push_back(data[i]))
            return fail(context, StatusCode::kInvalidShape, "more than ", kMaxRank, " dimensions");
    }
    push_like(outputs, context.inputs[0], dims);
    return {};
}

Status compute_gather_nd(const OpContext& context) {
    NdShape shape;
    RKNPU_CPU_TRY(nd_shape(context, shape));
    std::vector<std::int64_t> indices;
    RKNPU_CPU_TRY(read_ints(context, 1, indices));
    const TensorView& data = context.inputs[0];
    const auto strides = strides_of(data.dims);
    const std::size_t element = dtype_size(data.dtype);
    const std::size_t bytes = static_cast<std::size_t>(shape.slice) * element;
    if (bytes == 0)
        return {};
    const std::int64_t batch_step = data.dims.product(shape.batch, data.dims.rank());
    std::byte* dst = context.outputs[0].data.data();
    const std::int64_t* tuple = indices.data();
    for (std::int64_t b = 0; b < shape.batches; ++b) {
        for (std::int64_t t = 0; t < shape.tuples; ++t, tuple += shape.depth, dst += bytes) {
            std::int64_t offset = b * batch_step;
            for (std::size_t k = 0; k < shape.depth; ++k) {
                std::int64_t index = tuple[k];
                RKNPU_CPU_TRY(wrap_index(context, data.dims[shape.batch + k], index));
                offset += index * strides[shape.batch + k];
            }
            std::memcpy(dst, data.data.data() + static_cast<std::size_t>(offset) * element, bytes);
        }
    }
    return {};
}

/// The positions along the axis (or in the flattened input) whose condition is true.
Status kept_positions(const OpContext& context, std::int64_t limit,
                      std::vector<std::int64_t>& out) {
    const TensorView& condition = context.inputs[1];
    if (condition.dtype != DType::kBool)
        return fail(context, StatusCode::kInvalidType, "the condition is not bool");
    if (condition.data.empty() && condition.elements() != 0)
        return fail(context, StatusCode::kNeedsData, "the output shape depends on the condition");
    for (std::size_t i = 0; i < condition.data.size() && std::cmp_less(i, limit); ++i) {
        if (condition.data[i] != std::byte{0})
            out.push_back(static_cast<std::int64_t>(i));
    }
    return {};
}

Status infer_compress(const OpContext& context, std::vector<TensorInfo>& outputs) {
    const Dims& in = context.inputs[0].dims;
    std::vector<std::int64_t> kept;
    Dims dims;
    if (context.attributes->has("axis")) {
        std::size_t axis = 0;
        RKNPU_CPU_TRY(read_axis(context, axis));
        RKNPU_CPU_TRY(kept_positions(context, in[axis], kept));
        dims = in;
        dims[axis] = static_cast<std::int64_t>(kept.size());
    } else {
        RKNPU_CPU_TRY(kept_positions(context, in.elements(), kept));
        dims = {static_cast<std::int64_t>(kept.size())};
    }
    push_like(outputs, context.inputs[0], dims);
    return {};
}

Status compute_compress(const OpContext& context) {
    const TensorView& in = context.inputs[0];
    std::size_t axis = 0;
    const bool flat = !context.attributes->has("axis");
    if (!flat)
        RKNPU_CPU_TRY(read_axis(context, axis));
    const std::int64_t length = flat ? in.elements() : in.dims[axis];
    const std::int64_t outer = flat ? 1 : in.dims.product(0, axis);
    const std::size_t inner =
        dtype_size(in.dtype) *
        static_cast<std::size_t>(flat ? 1 : in.dims.product(axis + 1, in.dims.rank()));
    std::vector<std::int64_t> kept;
    RKNPU_CPU_TRY(kept_positions(context, length, kept));
    std::byte* dst = context.outputs[0].data.data();
    for (std::int64_t i = 0; inner != 0 && i < outer; ++i) {
        for (std::int64_t k : kept) {
            std::memcpy(dst, in.data.data() + static_cast<std::size_t>(i * length + k) * inner,
                        inner);
            dst += inner;
        }
    }
    return {};
}

constexpr std::array kOps = {
    Operator{"Gather", 2, 2, 1, Numeric::kMove, infer_gather, compute_gather},
    Operator{"GatherElements", 2, 2, 1, Numeric::kMove, infer_gather_elements,
             compute_gather_elements},
    Operator{"GatherND", 2, 2, 1, Numeric::kMove, infer_gather_nd, compute_gather_nd},
    Operator{"Compress", 2, 2, 1, Numeric::kMove, infer_compress, compute_compress},
};

}  // namespace

std::span<const Operator> gather_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
