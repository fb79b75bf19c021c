// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstring>

#include "ops.hpp"
#include "support.hpp"

namespace rknpu::cpu::ops {

namespace {

Status read_permutation(const OpContext& context, std::vector<std::size_t>& perm) {
    const std::size_t rank = context.inputs[0].dims.rank();
    std::vector<std::int64_t> list;
    RKNPU_CPU_TRY(attr(context, "perm", list));
    if (list.empty()) {
        for (std::size_t i = rank; i-- > 0;)
            list.push_back(static_cast<std::int64_t>(i));
    }
    RKNPU_CPU_TRY(normalize_axes(context, list, rank, perm));
    if (perm.size() != rank)
        return fail(context, StatusCode::kInvalidAttribute, "perm has ", perm.size(),
                    " entries for a tensor of rank ", rank);
    return {};
}

Status infer_transpose(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::vector<std::size_t> perm;
    RKNPU_CPU_TRY(read_permutation(context, perm));
    Dims dims;
    for (std::size_t axis : perm)
        (void)dims.push_back(context.inputs[0].dims[axis]);
    push_like(outputs, context.inputs[0], dims);
    return {};
}

/// dst[i][j] = src[j][i] for one plane, in tiles that keep both sides in the first-level cache.
template <typename T>
void transpose_plane(const T* src, std::int64_t src_stride, T* dst, std::int64_t dst_stride,
                     std::int64_t rows, std::int64_t cols) {
    constexpr std::int64_t kTile = 16;
    for (std::int64_t i0 = 0; i0 < rows; i0 += kTile) {
        const std::int64_t i1 = std::min(rows, i0 + kTile);
        for (std::int64_t j0 = 0; j0 < cols; j0 += kTile) {
            const std::int64_t j1 = std::min(cols, j0 + kTile);
            for (std::int64_t i = i0; i < i1; ++i) {
                for (std::int64_t j = j0; j < j1; ++j)
                    dst[i * dst_stride + j] = src[j * src_stride + i];
            }
        }
    }
}

/// `walk` runs over the output: operand 0 is the source (any strides), operand 1 the target
/// (dense).
template <typename T>
void transpose_fast(Walk<2> walk, const T* src, T* dst) {
    walk.coalesce();
    const std::size_t rank = walk.dims.rank();
    const std::int64_t n = walk.row_length();
    if (walk.row_stride(0) == 1) {  // rows stay rows
        walk.rows([&](const auto& at) {
            std::memcpy(dst + at[1], src + at[0], static_cast<std::size_t>(n) * sizeof(T));
        });
        return;
    }
    // The source's fastest dimension is an outer one of the output: tile over these two.
    std::size_t fastest = rank;
    for (std::size_t i = 0; i + 1 < rank; ++i) {
        if (walk.strides[0][i] == 1)
            fastest = i;
    }
    const std::int64_t row_stride = walk.row_stride(0);
    if (fastest == rank) {
        walk.rows([&](const auto& at) {
            for (std::int64_t i = 0; i < n; ++i)
                dst[at[1] + i] = src[at[0] + i * row_stride];
        });
        return;
    }
    const std::int64_t rows = walk.dims[fastest];
    const std::int64_t dst_stride = walk.strides[1][fastest];
    walk.dims[fastest] = 1;
    walk.rows([&](const auto& at) {
        transpose_plane(src + at[0], row_stride, dst + at[1], dst_stride, rows, n);
    });
}

Status compute_transpose(const OpContext& context) {
    std::vector<std::size_t> perm;
    RKNPU_CPU_TRY(read_permutation(context, perm));
    const TensorView& in = context.inputs[0];
    const MutTensorView& out = context.outputs[0];
    Walk<2> walk;
    walk.dims = out.dims;
    walk.strides[1] = strides_of(out.dims);
    const auto in_strides = strides_of(in.dims);
    for (std::size_t i = 0; i < perm.size(); ++i)
        walk.strides[0][i] = in_strides[perm[i]];
    dispatch_width(in.dtype, [&]<typename T>(std::type_identity<T>) {
        const T* src = in.as<T>().data();
        T* dst = out.as<T>().data();
        if (context.reference)
            walk.elements([&](const auto& at) { dst[at[1]] = src[at[0]]; });
        else
            transpose_fast(walk, src, dst);
    });
    return {};
}

constexpr std::array kOps = {
    Operator{"Transpose", 1, 1, 1, Numeric::kMove, infer_transpose, compute_transpose},
};

}  // namespace

std::span<const Operator> transpose_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
