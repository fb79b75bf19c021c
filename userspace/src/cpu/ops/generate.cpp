// SPDX-License-Identifier: MIT
// Tensors made from shapes and numbers: Shape, Size, ConstantOfShape, Range, EyeLike, OneHot,
// Trilu, NonZero.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "ops.hpp"
#include "support.hpp"

namespace rknpu::cpu::ops {

namespace {

Status shape_bounds(const OpContext& context, std::int64_t& start, std::int64_t& end) {
    const std::int64_t rank = static_cast<std::int64_t>(context.inputs[0].dims.rank());
    start = 0;
    end = rank;
    RKNPU_CPU_TRY(attr(context, "start", start));
    RKNPU_CPU_TRY(attr(context, "end", end));
    const auto place = [rank](std::int64_t v) {
        v = std::clamp(v, -rank, rank);
        return v < 0 ? v + rank : v;
    };
    start = place(start);
    end = std::max(place(end), start);
    return {};
}

Status infer_shape(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::int64_t start = 0;
    std::int64_t end = 0;
    RKNPU_CPU_TRY(shape_bounds(context, start, end));
    outputs.push_back({DType::kI64, {end - start}, std::nullopt});
    return {};
}

Status compute_shape(const OpContext& context) {
    std::int64_t start = 0;
    std::int64_t end = 0;
    RKNPU_CPU_TRY(shape_bounds(context, start, end));
    const auto dims = context.inputs[0].dims.span();
    std::ranges::copy(
        dims.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(end - start)),
        context.outputs[0].as<std::int64_t>().begin());
    return {};
}

Status infer_size(const OpContext&, std::vector<TensorInfo>& outputs) {
    outputs.push_back({DType::kI64, {}, std::nullopt});
    return {};
}

Status compute_size(const OpContext& context) {
    context.outputs[0].as<std::int64_t>()[0] = context.inputs[0].elements();
    return {};
}

Status fill_value(const OpContext& context, const Tensor*& value) {
    value = nullptr;
    RKNPU_CPU_TRY(attr(context, "value", value));
    if (value != nullptr && value->info().elements() != 1)
        return fail(context, StatusCode::kInvalidAttribute, "value is not one number");
    return {};
}

Status infer_constant_of_shape(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::vector<std::int64_t> list;
    RKNPU_CPU_TRY(read_ints(context, 0, list));
    const std::optional<Dims> dims = Dims::from(std::span<const std::int64_t>(list));
    if (!dims)
        return fail(context, StatusCode::kInvalidValue, "shape out of range");
    RKNPU_CPU_TRY(check_size(context, *dims));
    const Tensor* value = nullptr;
    RKNPU_CPU_TRY(fill_value(context, value));
    outputs.push_back({value ? value->info().dtype : DType::kF32, *dims, std::nullopt});
    return {};
}

Status compute_constant_of_shape(const OpContext& context) {
    const Tensor* value = nullptr;
    RKNPU_CPU_TRY(fill_value(context, value));
    const auto out = context.outputs[0].data;
    if (value == nullptr) {
        std::ranges::fill(out, std::byte{0});
        return {};
    }
    const auto bytes = value->bytes();
    for (std::size_t at = 0; at < out.size(); at += bytes.size())
        std::ranges::copy(bytes, out.begin() + static_cast<std::ptrdiff_t>(at));
    return {};
}

/// Number of steps from start to limit, by the ONNX formula.
template <typename T>
Status range_count(const OpContext& context, std::int64_t& out) {
    std::array<T, 3> v;
    for (std::size_t i = 0; i < 3; ++i) {
        const TensorView& t = context.inputs[i];
        if (t.dtype != context.inputs[0].dtype || t.elements() != 1)
            return fail(context, StatusCode::kInvalidShape, "input ", i, " is not one number");
        if (t.data.empty())
            return fail(context, StatusCode::kNeedsData, "the output shape depends on its inputs");
        v[i] = t.as<T>()[0];
    }
    const double span = static_cast<double>(v[1]) - static_cast<double>(v[0]);
    const double count = std::ceil(span / static_cast<double>(v[2]));
    if (v[2] == T{0} || !(count <= static_cast<double>(kMaxElements)))
        return fail(context, StatusCode::kInvalidValue, "no finite number of steps from ", v[0],
                    " to ", v[1], " by ", v[2]);
    out = count > 0 ? static_cast<std::int64_t>(count) : 0;
    return {};
}

Status infer_range(const OpContext& context, std::vector<TensorInfo>& outputs) {
    Status status;
    std::int64_t count = 0;
    const bool known = dispatch_numbers(
        context.inputs[0].dtype,
        [&]<typename T>(std::type_identity<T>) { status = range_count<T>(context, count); });
    if (!known)
        return fail(context, StatusCode::kInvalidType, "does not take ",
                    dtype_name(context.inputs[0].dtype));
    RKNPU_CPU_TRY(status);
    outputs.push_back({context.inputs[0].dtype, {count}, std::nullopt});
    return {};
}

Status compute_range(const OpContext& context) {
    dispatch_numbers(context.inputs[0].dtype, [&]<typename T>(std::type_identity<T>) {
        const T start = context.inputs[0].as<T>()[0];
        const T step = context.inputs[2].as<T>()[0];
        const auto out = context.outputs[0].as<T>();
        for (std::size_t i = 0; i < out.size(); ++i) {
            if constexpr (std::is_floating_point_v<T>)
                out[i] = start + static_cast<T>(i) * step;
            else
                out[i] = static_cast<T>(static_cast<std::uint64_t>(start) +
                                        static_cast<std::uint64_t>(step) * i);
        }
    });
    return {};
}

Status infer_eye_like(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::int64_t code = static_cast<std::int64_t>(context.inputs[0].dtype);
    RKNPU_CPU_TRY(attr(context, "dtype", code));
    const std::optional<DType> dtype = dtype_from_onnx(code);
    if (!dtype || context.inputs[0].dims.rank() != 2)
        return fail(context, StatusCode::kInvalidShape, "wants a matrix and a number type");
    outputs.push_back({*dtype, context.inputs[0].dims, std::nullopt});
    return {};
}

Status compute_eye_like(const OpContext& context) {
    std::int64_t k = 0;
    RKNPU_CPU_TRY(attr(context, "k", k));
    const MutTensorView& out = context.outputs[0];
    k = std::clamp(k, -kMaxElements, kMaxElements);
    dispatch_all(out.dtype, [&]<typename T>(std::type_identity<T>) {
        const auto v = out.as<T>();
        for (std::int64_t i = 0; i < out.dims[0]; ++i) {
            for (std::int64_t j = 0; j < out.dims[1]; ++j)
                v[static_cast<std::size_t>(i * out.dims[1] + j)] =
                    cast_saturate<T>(j == i + k ? 1 : 0);
        }
    });
    return {};
}

Status one_hot_axis(const OpContext& context, std::size_t& axis) {
    std::int64_t value = -1;
    RKNPU_CPU_TRY(attr(context, "axis", value));
    if (context.inputs[0].dims.rank() == kMaxRank)
        return fail(context, StatusCode::kInvalidShape, "more than ", kMaxRank, " dimensions");
    return normalize_axis(context, value, context.inputs[0].dims.rank() + 1, axis);
}

Status infer_one_hot(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::vector<float> depth;
    RKNPU_CPU_TRY(read_floats(context, 1, depth));
    std::size_t axis = 0;
    RKNPU_CPU_TRY(one_hot_axis(context, axis));
    if (depth.size() != 1 || !(depth[0] >= 0 && depth[0] < 1e9F) ||
        context.inputs[2].elements() != 2)
        return fail(context, StatusCode::kInvalidValue,
                    "wants one depth of at least 0 and two values");
    const Dims& in = context.inputs[0].dims;
    Dims dims;
    for (std::size_t i = 0; i <= in.rank(); ++i)
        (void)dims.push_back(i == axis  ? static_cast<std::int64_t>(depth[0])
                             : i < axis ? in[i]
                                        : in[i - 1]);
    outputs.push_back({context.inputs[2].dtype, dims, context.inputs[2].quant});
    return {};
}

Status compute_one_hot(const OpContext& context) {
    std::size_t axis = 0;
    RKNPU_CPU_TRY(one_hot_axis(context, axis));
    std::vector<float> indices;
    RKNPU_CPU_TRY(read_floats(context, 0, indices));
    const MutTensorView& out = context.outputs[0];
    const std::int64_t depth = out.dims[axis];
    const std::int64_t inner = out.dims.product(axis + 1, out.dims.rank());
    dispatch_width(out.dtype, [&]<typename T>(std::type_identity<T>) {
        const auto values = context.inputs[2].as<T>();
        const auto v = out.as<T>();
        std::ranges::fill(v, values[0]);
        for (std::size_t i = 0; i < indices.size(); ++i) {
            std::int64_t index = cast_saturate<std::int64_t>(indices[i]);
            if (index < -depth || index >= depth)
                continue;  // ONNX: out of range means all "off"
            index += index < 0 ? depth : 0;
            const std::int64_t o = static_cast<std::int64_t>(i) / inner;
            const std::int64_t r = static_cast<std::int64_t>(i) % inner;
            v[static_cast<std::size_t>((o * depth + index) * inner + r)] = values[1];
        }
    });
    return {};
}

Status infer_trilu(const OpContext& context, std::vector<TensorInfo>& outputs) {
    if (context.inputs[0].dims.rank() < 2)
        return fail(context, StatusCode::kInvalidShape, "wants at least a matrix");
    return infer_same(context, outputs);
}

Status compute_trilu(const OpContext& context) {
    bool upper = true;
    RKNPU_CPU_TRY(attr(context, "upper", upper));
    std::vector<std::int64_t> k{0};
    if (context.has(1))
        RKNPU_CPU_TRY(read_ints(context, 1, k));
    if (k.size() != 1)
        return fail(context, StatusCode::kInvalidShape, "k is not one number");
    const std::int64_t diagonal = std::clamp(k[0], -kMaxElements, kMaxElements);
    const MutTensorView& out = context.outputs[0];
    const std::size_t rank = out.dims.rank();
    const std::int64_t rows = out.dims[rank - 2];
    const std::int64_t cols = out.dims[rank - 1];
    dispatch_width(out.dtype, [&]<typename T>(std::type_identity<T>) {
        const auto src = context.inputs[0].as<T>();
        const auto dst = out.as<T>();
        for (std::size_t i = 0; i < dst.size(); ++i) {
            const std::int64_t c = static_cast<std::int64_t>(i) % cols;
            const std::int64_t r = static_cast<std::int64_t>(i) / cols % rows;
            const bool keep = upper ? c - r >= diagonal : c - r <= diagonal;
            dst[i] = keep ? src[i] : T{0};
        }
    });
    return {};
}

Status nonzero_positions(const OpContext& context, std::vector<std::int64_t>& out) {
    const TensorView& in = context.inputs[0];
    if (in.data.empty() && in.elements() != 0)
        return fail(context, StatusCode::kNeedsData, "the output shape depends on the contents");
    dispatch_all(in.dtype, [&]<typename T>(std::type_identity<T>) {
        const auto v = in.as<T>();
        for (std::size_t i = 0; i < v.size(); ++i) {
            if (load(v[i]) != 0)
                out.push_back(static_cast<std::int64_t>(i));
        }
    });
    return {};
}

Status infer_nonzero(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::vector<std::int64_t> positions;
    RKNPU_CPU_TRY(nonzero_positions(context, positions));
    const std::int64_t rank = static_cast<std::int64_t>(context.inputs[0].dims.rank());
    outputs.push_back(
        {DType::kI64, {rank, static_cast<std::int64_t>(positions.size())}, std::nullopt});
    return {};
}

Status compute_nonzero(const OpContext& context) {
    std::vector<std::int64_t> positions;
    RKNPU_CPU_TRY(nonzero_positions(context, positions));
    const Dims& in = context.inputs[0].dims;
    const auto strides = strides_of(in);
    const auto out = context.outputs[0].as<std::int64_t>();
    for (std::size_t a = 0; a < in.rank(); ++a) {
        for (std::size_t i = 0; i < positions.size(); ++i)
            out[a * positions.size() + i] = positions[i] / strides[a] % in[a];
    }
    return {};
}

constexpr std::array kOps = {
    Operator{"Shape", 1, 1, 1, Numeric::kRaw, infer_shape, compute_shape},
    Operator{"Size", 1, 1, 1, Numeric::kRaw, infer_size, compute_size},
    Operator{"ConstantOfShape", 1, 1, 1, Numeric::kRaw, infer_constant_of_shape,
             compute_constant_of_shape},
    Operator{"Range", 3, 3, 1, Numeric::kFloat, infer_range, compute_range},
    Operator{"EyeLike", 1, 1, 1, Numeric::kRaw, infer_eye_like, compute_eye_like},
    Operator{"OneHot", 3, 3, 1, Numeric::kMove, infer_one_hot, compute_one_hot},
    Operator{"Trilu", 1, 2, 1, Numeric::kFloat, infer_trilu, compute_trilu},
    Operator{"NonZero", 1, 1, 1, Numeric::kFloat, infer_nonzero, compute_nonzero},
};

}  // namespace

std::span<const Operator> generate_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
