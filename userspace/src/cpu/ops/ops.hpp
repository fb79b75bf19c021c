// SPDX-License-Identifier: MIT
// One function per file of this folder, listing the operators it implements.
#pragma once

#include <span>

#include "../operator.hpp"

namespace rknpu::cpu::ops {

std::span<const Operator> activation_ops();
std::span<const Operator> argminmax_ops();
std::span<const Operator> binary_ops();
std::span<const Operator> cast_ops();
std::span<const Operator> compare_ops();
std::span<const Operator> concat_ops();
std::span<const Operator> conv_ops();
std::span<const Operator> conv_transpose_ops();
std::span<const Operator> cumsum_ops();
std::span<const Operator> depth_space_ops();
std::span<const Operator> einsum_ops();
std::span<const Operator> expand_ops();
std::span<const Operator> gather_ops();
std::span<const Operator> generate_ops();
std::span<const Operator> grid_sample_ops();
std::span<const Operator> matmul_ops();
std::span<const Operator> nms_ops();
std::span<const Operator> norm_ops();
std::span<const Operator> pad_ops();
std::span<const Operator> pool_ops();
std::span<const Operator> quantize_linear_ops();
std::span<const Operator> reduce_ops();
std::span<const Operator> reshape_ops();
std::span<const Operator> resize_ops();
std::span<const Operator> rnn_ops();
std::span<const Operator> scatter_ops();
std::span<const Operator> slice_ops();
std::span<const Operator> softmax_ops();
std::span<const Operator> split_ops();
std::span<const Operator> topk_ops();
std::span<const Operator> transpose_ops();
std::span<const Operator> unary_ops();

}  // namespace rknpu::cpu::ops
