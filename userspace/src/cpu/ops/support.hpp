// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "../operator.hpp"
#include "dispatch.hpp"

namespace rknpu::cpu::ops {

/// A Status whose text begins with the operator's type.
template <typename... Parts>
Status fail(const OpContext& context, StatusCode code, const Parts&... parts) {
    return {code, cat(context.type, ": ", parts...)};
}

/// Reads an attribute and names the operator if it is of the wrong kind.
template <typename T>
Status attr(const OpContext& context, std::string_view name, T& out) {
    Status status = context.attributes->read(name, out);
    if (status.ok())
        return status;
    return {status.code(), cat(context.type, ": ", status.text())};
}

/// Maps an axis of [-rank, rank) to [0, rank).
Status normalize_axis(const OpContext& context, std::int64_t axis, std::size_t rank,
                      std::size_t& out);

/// Normalises a list of axes; duplicates are an error. An empty list stays empty.
Status normalize_axes(const OpContext& context, std::span<const std::int64_t> axes,
                      std::size_t rank, std::vector<std::size_t>& out);

/// The elements of an integer input (int32 or int64) as int64; kNeedsData if not known yet.
Status read_ints(const OpContext& context, std::size_t input, std::vector<std::int64_t>& out);

/// The elements of a numeric input as float; kNeedsData if not known yet.
Status read_floats(const OpContext& context, std::size_t input, std::vector<float>& out);

/// A list that newer opsets pass as input `input` and older ones as attribute `name`. `present`
/// tells whether it was given at all.
Status ints_input_or_attr(const OpContext& context, std::size_t input, std::string_view name,
                          std::vector<std::int64_t>& out, bool& present);

/// numpy broadcasting of two shapes.
Status broadcast(const OpContext& context, const Dims& a, const Dims& b, Dims& out);

/// Fails unless the product of `dims` stays within kMaxElements.
Status check_size(const OpContext& context, const Dims& dims);

/// Appends an output of the same type as `like`.
inline void push_like(std::vector<TensorInfo>& outputs, const TensorInfo& like, const Dims& dims) {
    outputs.push_back({like.dtype, dims, like.quant});
}

/// infer() of operators whose only output looks like input 0.
Status infer_same(const OpContext& context, std::vector<TensorInfo>& outputs);

/// Element strides of a dense row-major shape.
std::array<std::int64_t, kMaxRank> strides_of(const Dims& dims);

/// Strides of `dims` seen as the broadcast shape `target`: 0 along repeated dimensions.
std::array<std::int64_t, kMaxRank> broadcast_strides(const Dims& dims, const Dims& target);

/// Walks all index tuples of `dims` except the last dimension in row-major order and calls
/// f(offset_a, offset_b, ...) with the element offset of each stride set at the row's start.
template <std::size_t N, typename F>
void for_each_row(const Dims& dims,
                  const std::array<std::array<std::int64_t, kMaxRank>, N>& strides, F&& f) {
    const std::size_t outer = dims.rank() == 0 ? 0 : dims.rank() - 1;
    for (std::int64_t d : dims.span()) {
        if (d == 0)
            return;
    }
    std::array<std::int64_t, kMaxRank> index{};
    std::array<std::int64_t, N> offset{};
    for (;;) {
        f(offset);
        std::size_t axis = outer;
        while (axis > 0) {
            --axis;
            for (std::size_t k = 0; k < N; ++k)
                offset[k] += strides[k][axis];
            if (++index[axis] < dims[axis])
                break;
            for (std::size_t k = 0; k < N; ++k)
                offset[k] -= strides[k][axis] * dims[axis];
            index[axis] = 0;
            if (axis == 0)
                return;
        }
        if (outer == 0)
            return;
    }
}

}  // namespace rknpu::cpu::ops
