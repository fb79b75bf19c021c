// SPDX-License-Identifier: MIT
// Writes along indices: ScatterElements (formerly Scatter) and ScatterND.
#include <algorithm>
#include <array>
#include <cstring>

#include "ops.hpp"
#include "support.hpp"

namespace rknpu::cpu::ops {

namespace {

enum class Reduction { kNone, kAdd, kMul, kMin, kMax };

Status read_reduction(const OpContext& context, Reduction& out) {
    std::string name = "none";
    RKNPU_CPU_TRY(attr(context, "reduction", name));
    constexpr std::array<std::string_view, 5> kNames = {"none", "add", "mul", "min", "max"};
    const auto it = std::ranges::find(kNames, name);
    if (it == kNames.end())
        return fail(context, StatusCode::kInvalidAttribute, "unknown reduction '", name, "'");
    out = static_cast<Reduction>(it - kNames.begin());
    return {};
}

template <typename T>
T combine(Reduction reduction, T old, T update) {
    switch (reduction) {
        case Reduction::kAdd:
            if constexpr (std::is_integral_v<T>)
                return static_cast<T>(static_cast<std::uint64_t>(old) +
                                      static_cast<std::uint64_t>(update));
            else
                return old + update;
        case Reduction::kMul:
            if constexpr (std::is_integral_v<T>)
                return static_cast<T>(static_cast<std::uint64_t>(old) *
                                      static_cast<std::uint64_t>(update));
            else
                return old * update;
        case Reduction::kMin:
            return std::min(old, update);
        case Reduction::kMax:
            return std::max(old, update);
        case Reduction::kNone:
            break;
    }
    return update;
}

Status infer_scatter(const OpContext& context, std::vector<TensorInfo>& outputs) {
    Reduction reduction{};
    RKNPU_CPU_TRY(read_reduction(context, reduction));
    if (context.inputs[2].dtype != context.inputs[0].dtype)
        return fail(context, StatusCode::kInvalidType, "updates are ",
                    dtype_name(context.inputs[2].dtype), ", data ",
                    dtype_name(context.inputs[0].dtype));
    return infer_same(context, outputs);
}

void copy_data(const OpContext& context) {
    const auto src = context.inputs[0].data;
    if (!src.empty())
        std::memcpy(context.outputs[0].data.data(), src.data(), src.size());
}

Status compute_scatter_elements(const OpContext& context) {
    Reduction reduction{};
    RKNPU_CPU_TRY(read_reduction(context, reduction));
    std::int64_t axis_value = 0;
    RKNPU_CPU_TRY(attr(context, "axis", axis_value));
    const TensorView& data = context.inputs[0];
    const TensorView& updates = context.inputs[2];
    std::size_t axis = 0;
    RKNPU_CPU_TRY(normalize_axis(context, axis_value, data.dims.rank(), axis));
    std::vector<std::int64_t> indices;
    RKNPU_CPU_TRY(read_ints(context, 1, indices));
    bool fits = context.inputs[1].dims == updates.dims && updates.dims.rank() == data.dims.rank();
    for (std::size_t i = 0; fits && i < data.dims.rank(); ++i)
        fits = i == axis || updates.dims[i] <= data.dims[i];
    if (!fits)
        return fail(context, StatusCode::kInvalidShape, "indices ", context.inputs[1].dims.text(),
                    " and updates ", updates.dims.text(), " do not fit data ", data.dims.text());
    const std::int64_t dim = data.dims[axis];
    for (std::int64_t& index : indices) {
        if (index < -dim || index >= dim)
            return fail(context, StatusCode::kInvalidValue, "index ", index,
                        " is outside dimension ", dim);
        index += index < 0 ? dim : 0;
    }
    copy_data(context);
    Walk<2> walk;
    walk.dims = updates.dims;
    walk.strides = {strides_of(data.dims), strides_of(updates.dims)};
    const std::int64_t step = walk.strides[0][axis];
    walk.strides[0][axis] = 0;
    const auto scatter = [&]<typename T>(std::type_identity<T>) {
        T* dst = context.outputs[0].as<T>().data();
        const T* src = updates.as<T>().data();
        walk.elements([&](const auto& at) {
            T& target = dst[at[0] + indices[static_cast<std::size_t>(at[1])] * step];
            target = combine(reduction, target, src[at[1]]);
        });
    };
    const bool known = reduction == Reduction::kNone ? dispatch_width(data.dtype, scatter)
                                                     : dispatch_numbers(data.dtype, scatter);
    if (!known)
        return fail(context, StatusCode::kInvalidType, "cannot reduce ", dtype_name(data.dtype));
    return {};
}

Status compute_scatter_nd(const OpContext& context) {
    Reduction reduction{};
    RKNPU_CPU_TRY(read_reduction(context, reduction));
    const TensorView& data = context.inputs[0];
    const Dims& index_dims = context.inputs[1].dims;
    const TensorView& updates = context.inputs[2];
    const std::int64_t depth = index_dims.rank() == 0 ? 0 : index_dims[index_dims.rank() - 1];
    if (depth < 1 || std::cmp_greater(depth, data.dims.rank()))
        return fail(context, StatusCode::kInvalidShape, "index tuples ", index_dims.text(),
                    " do not fit data ", data.dims.text());
    const std::int64_t tuples = index_dims.product(0, index_dims.rank() - 1);
    const std::int64_t slice = data.dims.product(static_cast<std::size_t>(depth), data.dims.rank());
    if (updates.elements() != tuples * slice)
        return fail(context, StatusCode::kInvalidShape, "updates ", updates.dims.text(),
                    " do not fit indices ", index_dims.text(), " and data ", data.dims.text());
    std::vector<std::int64_t> indices;
    RKNPU_CPU_TRY(read_ints(context, 1, indices));
    copy_data(context);
    const auto strides = strides_of(data.dims);
    for (std::int64_t t = 0; t < tuples; ++t) {
        std::int64_t offset = 0;
        for (std::int64_t k = 0; k < depth; ++k) {
            const std::int64_t dim = data.dims[static_cast<std::size_t>(k)];
            std::int64_t index = indices[static_cast<std::size_t>(t * depth + k)];
            if (index < -dim || index >= dim)
                return fail(context, StatusCode::kInvalidValue, "index ", index,
                            " is outside dimension ", dim);
            index += index < 0 ? dim : 0;
            offset += index * strides[static_cast<std::size_t>(k)];
        }
        const auto scatter = [&]<typename T>(std::type_identity<T>) {
            T* dst = context.outputs[0].as<T>().data() + offset;
            const T* src = updates.as<T>().data() + t * slice;
            for (std::int64_t i = 0; i < slice; ++i)
                dst[i] = combine(reduction, dst[i], src[i]);
        };
        const bool known = reduction == Reduction::kNone ? dispatch_width(data.dtype, scatter)
                                                         : dispatch_numbers(data.dtype, scatter);
        if (!known)
            return fail(context, StatusCode::kInvalidType, "cannot reduce ",
                        dtype_name(data.dtype));
    }
    return {};
}

// Real numbers, not codes: updates may be added or multiplied.
constexpr std::array kOps = {
    Operator{"ScatterElements", 3, 3, 1, Numeric::kFloat, infer_scatter, compute_scatter_elements},
    Operator{"Scatter", 3, 3, 1, Numeric::kFloat, infer_scatter, compute_scatter_elements},
    Operator{"ScatterND", 3, 3, 1, Numeric::kFloat, infer_scatter, compute_scatter_nd},
};

}  // namespace

std::span<const Operator> scatter_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
