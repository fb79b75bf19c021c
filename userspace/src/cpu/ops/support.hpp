// SPDX-License-Identifier: MIT
#pragma once

#include <array>
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

/// The elements of a numeric input as float, codes as what they mean; kNeedsData if not known yet.
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

/// A loop nest over N operands: dimensions, outermost first, and an element stride per operand.
template <std::size_t N>
struct Walk {
    Dims dims;
    std::array<std::array<std::int64_t, kMaxRank>, N> strides{};

    /// Drops dimensions of 1 and merges neighbours that every operand passes in one straight run,
    /// so that the innermost loop becomes as long as it can be. The order of visits stays.
    void coalesce() {
        Dims merged;
        std::array<std::array<std::int64_t, kMaxRank>, N> out{};
        for (std::size_t i = 0; i < dims.rank(); ++i) {
            if (dims[i] == 1)
                continue;
            const std::size_t last = merged.rank();
            bool join = last > 0;
            for (std::size_t k = 0; join && k < N; ++k)
                join = out[k][last - 1] == strides[k][i] * dims[i];
            if (join)
                merged[last - 1] *= dims[i];
            else
                (void)merged.push_back(dims[i]);
            for (std::size_t k = 0; k < N; ++k)
                out[k][merged.rank() - 1] = strides[k][i];
        }
        if (merged.rank() == 0)
            (void)merged.push_back(1);
        dims = merged;
        strides = out;
    }

    std::int64_t row_length() const { return dims.rank() == 0 ? 1 : dims[dims.rank() - 1]; }
    std::int64_t row_stride(std::size_t k) const {
        return dims.rank() == 0 ? 0 : strides[k][dims.rank() - 1];
    }

    /// Calls f(offsets) for the start of each row (a row runs along the last dimension), where
    /// offsets[k] is the element offset in operand k. Nothing is called for an empty shape.
    template <typename F>
    void rows(F&& f) const {
        for (std::int64_t d : dims.span()) {
            if (d == 0)
                return;
        }
        const std::size_t outer = dims.rank() == 0 ? 0 : dims.rank() - 1;
        std::array<std::int64_t, kMaxRank> index{};
        std::array<std::int64_t, N> offset{};
        for (;;) {
            f(offset);
            std::size_t axis = outer;
            for (; axis > 0; --axis) {
                const std::size_t a = axis - 1;
                for (std::size_t k = 0; k < N; ++k)
                    offset[k] += strides[k][a];
                if (++index[a] < dims[a])
                    break;
                for (std::size_t k = 0; k < N; ++k)
                    offset[k] -= strides[k][a] * dims[a];
                index[a] = 0;
            }
            if (axis == 0)
                return;
        }
    }

    /// As rows(), element by element: the plain form for reference paths.
    template <typename F>
    void elements(F&& f) const {
        const std::int64_t n = row_length();
        rows([&](std::array<std::int64_t, N> offset) {
            for (std::int64_t i = 0; i < n; ++i) {
                f(offset);
                for (std::size_t k = 0; k < N; ++k)
                    offset[k] += row_stride(k);
            }
        });
    }
};

}  // namespace rknpu::cpu::ops
