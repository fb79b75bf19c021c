// SPDX-License-Identifier: MIT
// Ranges follow from the widths of the register fields (RK3588 TRM part 1, chapter 36) and from the
// operators that public .rknn files hold task streams for.
#include "runtime/limits.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/log.hpp"

namespace rknpu {
namespace {

// Kernels: 5-bit fields. Strides: 3 bits. Pads: 4 bits. Dilation: 5 bits. Input sizes: 11 bits.
constexpr LimitRange kKernel{1, 31}, kStride{1, 7}, kPad{0, 15}, kDilation{1, 32};
constexpr LimitRange kChannels{1, 8192}, kInput{1, 2047}, kOutput{1, 8191};
// Pools: 4-bit kernels and strides, 3-bit pads.
constexpr LimitRange kPoolKernel{1, 16}, kPoolStride{1, 16}, kPoolPad{0, 7};

constexpr OperatorLimits kRk3588[] = {
    {"Conv", kKernel, kStride, kPad, kDilation, kChannels, kInput},
    {"ConvTranspose", kKernel, kStride, kPad, {1, 1}, kChannels, kInput},
    {"MaxPool", kPoolKernel, kPoolStride, kPoolPad, {1, 1}, kChannels, kOutput},
    {"AveragePool", kPoolKernel, kPoolStride, kPoolPad, {1, 1}, kChannels, kOutput},
    {"GlobalAveragePool", {}, {}, {}, {}, kChannels, kOutput},
    {"Add", {}, {}, {}, {}, kChannels, kOutput},
    {"Sub", {}, {}, {}, {}, kChannels, kOutput},
    {"Mul", {}, {}, {}, {}, kChannels, kOutput},
    {"Concat", {}, {}, {}, {}, kChannels, kOutput},
    {"Relu", {}, {}, {}, {}, kChannels, kOutput},
    {"Clip", {}, {}, {}, {}, kChannels, kOutput},
    {"LeakyRelu", {}, {}, {}, {}, kChannels, kOutput},
    {"PRelu", {}, {}, {}, {}, kChannels, kOutput},
    {"Sigmoid", {}, {}, {}, {}, kChannels, kOutput},
    {"Swish", {}, {}, {}, {}, kChannels, kOutput},
    {"HardSwish", {}, {}, {}, {}, kChannels, kOutput},
    {"HardSigmoid", {}, {}, {}, {}, kChannels, kOutput},
    {"Tanh", {}, {}, {}, {}, kChannels, kOutput},
    {"Resize", {}, {}, {}, {}, kChannels, kOutput},
    {"Transpose", {}, {}, {}, {}, kChannels, kOutput},
    {"MatMul", {}, {}, {}, {}, kChannels, kOutput},
};

// Seen in public files for the chip.
constexpr OperatorLimits kRk3576[] = {
    {"Conv", kKernel, kStride, kPad, {1, 1}, kChannels, kInput},
    {"Add", {}, {}, {}, {}, kChannels, kOutput},
    {"Relu", {}, {}, {}, {}, kChannels, kOutput},
};

constexpr ChipLimits kChips[] = {
    {"rk3588", 3, 12, 32 * 1024, 1, kRk3588},
    {"rk3576", 2, 12, 32 * 1024, 1, kRk3576},
};

bool is_npu_type(DataType type) {
    return type == DataType::kInt8 || type == DataType::kInt16 || type == DataType::kFloat16 ||
           type == DataType::kBfloat16 || type == DataType::kInt4;
}

bool is_end(const GraphNode& node) {
    return node.type == "InputOperator" || node.type == "OutputOperator";
}

std::string out_of(std::string_view name, int64_t value, LimitRange range) {
    return fmt::format("{} is {}, allowed are {} to {}", name, value, range.low, range.high);
}

/// The first value of an attribute outside its range, in words; empty if all are inside.
std::string broken(const GraphNode& node, const char* attribute, LimitRange range) {
    const auto found = node.attributes.find(std::string_view(attribute));
    if (range.high == 0 || found == node.attributes.end())
        return {};
    const auto* values = std::get_if<std::vector<int64_t>>(&found->second);
    for (size_t i = 0; values != nullptr && i < values->size(); ++i) {
        const int64_t value = (*values)[i];
        if (value < range.low || value > range.high)
            return out_of(attribute, value, range);
    }
    return {};
}

std::string broken_parameter(const OperatorLimits& limits, const GraphNode& node) {
    for (const auto& [name, range] : {std::pair{"kernel_shape", limits.kernel},
                                      {"strides", limits.stride},
                                      {"pads", limits.pad},
                                      {"dilations", limits.dilation}}) {
        if (auto text = broken(node, name, range); !text.empty())
            return text;
    }
    return {};
}

std::string broken_size(const OperatorLimits& limits, const GraphTensor& tensor) {
    if (tensor.dims.size() != 4)
        return {};
    const auto outside = [](int32_t value, LimitRange range) {
        return range.high != 0 && static_cast<uint32_t>(value) > range.high;
    };
    if (outside(tensor.dims[1], limits.channels))
        return out_of("channels", tensor.dims[1], limits.channels);
    for (const size_t i : {size_t{2}, size_t{3}}) {
        if (outside(tensor.dims[i], limits.size))
            return out_of(i == 2 ? "height" : "width", tensor.dims[i], limits.size);
    }
    return {};
}

}  // namespace

const ChipLimits* chip_limits(std::string_view soc) {
    const auto* found = std::find_if(std::begin(kChips), std::end(kChips),
                                     [soc](const ChipLimits& chip) { return chip.soc == soc; });
    return found == std::end(kChips) ? nullptr : found;
}

Verdict judge(const ChipLimits* chip, const JobGraph& graph, const GraphNode& node) {
    if (chip == nullptr)
        return {Reason::kNoDevice, "no limits are known for this chip"};
    const auto* limits =
        std::find_if(chip->operators.data(), chip->operators.data() + chip->operators.size(),
                     [&](const auto& row) { return row.type == node.type; });
    if (limits == chip->operators.data() + chip->operators.size())
        return {Reason::kOpUnsupported,
                fmt::format("{} has no task streams for {}", chip->soc, node.type)};
    if (auto text = broken_parameter(*limits, node); !text.empty())
        return {Reason::kParamOutOfRange, std::move(text)};
    for (const auto* list : {&node.inputs, &node.outputs}) {
        for (const int32_t index : *list) {
            const auto& tensor = graph.tensors[static_cast<size_t>(index)];
            if (tensor.place != Place::kArena)
                continue;
            if (!is_npu_type(tensor.type))
                return {Reason::kTypeUnsupported,
                        fmt::format("'{}' is {}; int4, int8, int16, float16 and bfloat16 are "
                                    "possible",
                                    tensor.name, to_string(tensor.type))};
            if (tensor.dims.size() == 4 && static_cast<uint32_t>(tensor.dims[0]) > chip->batch)
                return {Reason::kBatchTooLarge,
                        out_of("N of '" + tensor.name + "'", tensor.dims[0], {1, chip->batch})};
            if (auto text = broken_size(*limits, tensor); !text.empty())
                return {Reason::kParamOutOfRange, std::move(text)};
        }
    }
    return {Reason::kCombination, "the model's compiler has put it there with its neighbours"};
}

Status report_cpu_nodes(const JobGraph& graph, std::string_view soc) {
    const auto* chip = chip_limits(soc);
    std::string refused;
    for (const auto& node : graph.nodes) {
        if (node.on_npu || is_end(node))
            continue;
        const auto verdict = judge(chip, graph, node);
        const auto status = fall_back_to_cpu(fmt::format("layer '{}' ({})", node.name, node.type),
                                             verdict.reason, verdict.limit);
        if (!status.ok())
            refused += (refused.empty() ? "" : "; ") + status.text();
    }
    return refused.empty() ? Status() : Status(Error::kInvalidModel, std::move(refused));
}

}  // namespace rknpu
