// SPDX-License-Identifier: MIT
#include <array>
#include <utility>

#include "operator.hpp"
#include "ops/attention.hpp"
#include "ops/ops.hpp"

namespace rknpu::cpu {

namespace {

using Family = std::span<const Operator> (*)();

constexpr std::array kFamilies = {
    Family{ops::activation_ops},     Family{ops::argminmax_ops},
    Family{ops::attention_ops},      Family{ops::binary_ops},
    Family{ops::cast_ops},           Family{ops::compare_ops},
    Family{ops::concat_ops},         Family{ops::conv_ops},
    Family{ops::conv_transpose_ops}, Family{ops::cumsum_ops},
    Family{ops::depth_space_ops},    Family{ops::einsum_ops},
    Family{ops::expand_ops},         Family{ops::gather_ops},
    Family{ops::generate_ops},       Family{ops::grid_sample_ops},
    Family{ops::matmul_ops},         Family{ops::nms_ops},
    Family{ops::norm_ops},           Family{ops::pad_ops},
    Family{ops::pool_ops},           Family{ops::quantize_linear_ops},
    Family{ops::reduce_ops},         Family{ops::reshape_ops},
    Family{ops::resize_ops},         Family{ops::rnn_ops},
    Family{ops::scatter_ops},        Family{ops::slice_ops},
    Family{ops::softmax_ops},        Family{ops::split_ops},
    Family{ops::topk_ops},           Family{ops::transpose_ops},
    Family{ops::unary_ops},
};

/// Vendor names whose ONNX counterpart does not follow from cutting the prefix and the operator-set
/// suffix off ("exSoftmax13" -> "Softmax").
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kVendorNames = {{
    {"exNorm", "LayerNormalization"},
    {"exLayerNorm", "LayerNormalization"},
    {"exGroupNorm", "GroupNormalization"},
    {"exRMSNorm", "RMSNormalization"},
    {"exSiLU", "Swish"},
    {"exDataConvert", "DataConvert"},
}};

const Operator* find_exact(std::string_view type) {
    for (Family family : kFamilies) {
        for (const Operator& op : family()) {
            if (op.type == type)
                return &op;
        }
    }
    return nullptr;
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

}  // namespace

const Operator* find(std::string_view type) {
    if (const Operator* op = find_exact(type))
        return op;
    for (const auto& [vendor, onnx] : kVendorNames) {
        if (vendor == type)
            return find_exact(onnx);
    }
    if (!type.starts_with("ex"))
        return nullptr;
    type.remove_prefix(2);
    while (!type.empty() && is_digit(type.back()))
        type.remove_suffix(1);
    return find_exact(type);
}

Fused find_fused(std::string_view type) {
    constexpr std::string_view kFirst[] = {"Add", "Sub", "Mul", "Div", "Max", "Min", "MatMul"};
    constexpr std::string_view kThen[] = {"Relu", "Sigmoid",   "Tanh", "Swish",
                                          "Mish", "HardSwish", "Gelu"};
    for (std::string_view first : kFirst) {
        if (!type.starts_with(first))
            continue;
        std::string_view rest = type.substr(first.size());
        if (rest.starts_with("Ex"))
            rest.remove_prefix(2);
        for (std::string_view then : kThen) {
            if (rest == then)
                return {find_exact(first), find_exact(then)};
        }
    }
    return {};
}

std::vector<std::string_view> operator_types() {
    std::vector<std::string_view> types;
    for (Family family : kFamilies) {
        for (const Operator& op : family())
            types.push_back(op.type);
    }
    return types;
}

}  // namespace rknpu::cpu
