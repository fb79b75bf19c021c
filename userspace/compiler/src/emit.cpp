// SPDX-License-Identifier: MIT
// Layers -> tasks.
#include <algorithm>

#include "lowering.hpp"

namespace rknpu::compiler {

namespace {

/// Part of the input that some output rows need.
struct InputPart {
    uint32_t first = 0;
    uint32_t count = 0;
    uint32_t pad_top = 0;
    uint32_t pad_bottom = 0;
};

InputPart input_part(const Window& window, uint32_t first, uint32_t count, uint32_t height) {
    const int64_t begin = int64_t{first} * window.stride_y - window.pad_top;
    const int64_t end = begin + input_rows(window, count);
    const int64_t from = std::clamp<int64_t>(begin, 0, height);
    const int64_t to = std::clamp<int64_t>(end, 0, height);
    return {static_cast<uint32_t>(from), static_cast<uint32_t>(std::max<int64_t>(to - from, 0)),
            static_cast<uint32_t>(from - begin), static_cast<uint32_t>(end - to)};
}

constexpr const char* kNoRows =
    "some output rows see padding only; use pads smaller than the kernel";

}  // namespace

std::optional<std::string> Lowering::emit_layer(size_t index, Rows rows) {
    switch (graph_.layers[index].type) {
        case OpType::kMaxPool:
            return emit_pool(index, rows);
        case OpType::kAdd:
            return emit_add(index, rows);
        default:
            return emit_conv(index, rows);
    }
}

OutputStage Lowering::conv_stage(size_t index, Rows rows) const {
    const Layer& layer = graph_.layers[index];
    const QuantizedLayer& q = q_.layers[index];
    OutputStage stage;
    stage.bias_scale = {BiasScale::Source::kRecords, {layers_[index].operands, 0}, 0, 1, 0};
    stage.convert = q.convert;
    if (q.operand) {
        const Requant& convert = q.operand->convert;
        stage.add = Operand{feature(layer.inputs[1], rows), q.operand->offset, convert.scale,
                            convert.shift};
        stage.relu_after_add = layer.relu;
    } else {
        stage.relu = layer.relu;
        stage.clip = q.clip;
    }
    return stage;
}

std::optional<std::string> Lowering::emit_conv(size_t index, Rows rows) {
    const Layer& layer = graph_.layers[index];
    const TensorInfo& in = graph_.tensors[layer.inputs[0]];
    const Map& map = maps_[layer.inputs[0]];
    const bool depthwise = layer.type == OpType::kDepthwiseConv;
    const uint32_t kernels = stored_kernels(graph_.tensors[layer.output].channels);

    ConvNeeds needs;
    needs.row_bytes = buffer_row_bytes(in.width, in.channels, map.image_channels, Precision::kInt8);
    needs.window = layer.window;
    needs.weight_bytes = job_.tensors[layers_[index].weights].size;
    needs.group_bytes =
        depthwise ? needs.weight_bytes : needs.weight_bytes / kernels * std::min(32U, kernels);
    needs.input_height = input_part(layer.window, rows.first, rows.count, in.height).count;
    needs.output_height = rows.count;
    const auto plan = plan_conv(needs);
    if (!plan) {
        return "not even one output row fits the 384 KiB convolution buffer; use a smaller kernel "
               "or fewer channels";
    }

    for (uint32_t done = 0; done < rows.count; done += plan->output_rows) {
        const Rows tile{rows.first + done, std::min(plan->output_rows, rows.count - done)};
        const InputPart part = input_part(layer.window, tile.first, tile.count, in.height);
        if (part.count == 0) {
            return kNoRows;
        }
        ConvTask task;
        task.depthwise = depthwise;
        task.image_channels = map.image_channels;
        task.input = feature(layer.inputs[0], {part.first, part.count});
        task.output = feature(layer.output, tile);
        task.window = layer.window;
        task.window.pad_top = part.pad_top;
        task.pad_value = q_.tensors[layer.inputs[0]].zero_point;
        task.weights = {layers_[index].weights, 0};
        task.weight_bytes = needs.weight_bytes;
        task.banks = plan->banks;
        task.weights_loaded = plan->weights_fit && done != 0;
        task.stage = conv_stage(index, tile);
        if (auto error =
                job_.commands.append(task, first_layer_node_ + static_cast<uint32_t>(index))) {
            return error;
        }
    }
    return std::nullopt;
}

std::optional<std::string> Lowering::emit_pool(size_t index, Rows rows) {
    const Layer& layer = graph_.layers[index];
    const TensorInfo& in = graph_.tensors[layer.inputs[0]];
    const InputPart part = input_part(layer.window, rows.first, rows.count, in.height);
    if (part.count == 0) {
        return kNoRows;
    }
    PoolTask task;
    task.input = feature(layer.inputs[0], {part.first, part.count});
    task.output = feature(layer.output, rows);
    task.window = layer.window;
    task.window.pad_top = part.pad_top;
    task.pad_bottom = part.pad_bottom;
    const uint32_t reach = (task.output.width - 1) * layer.window.stride_x + layer.window.width;
    const uint32_t covered = in.width + layer.window.pad_left;
    task.pad_right = reach > covered ? reach - covered : 0;
    task.pad_value = -128;  // never larger than a real value
    return job_.commands.append(task, first_layer_node_ + static_cast<uint32_t>(index));
}

std::optional<std::string> Lowering::emit_add(size_t index, Rows rows) {
    const Layer& layer = graph_.layers[index];
    const QuantizedLayer& q = q_.layers[index];
    const uint32_t main = layer.inputs[q.swap_inputs ? 1 : 0];
    const uint32_t second = layer.inputs[q.swap_inputs ? 0 : 1];
    ElementwiseTask task;
    task.main = feature(main, rows);
    task.output = feature(layer.output, rows);
    task.stage.bias_scale = {BiasScale::Source::kImmediate, {}, q.main_offset, q.main_scale, 0};
    task.stage.add = Operand{feature(second, rows), q.operand->offset, q.operand->convert.scale,
                             q.operand->convert.shift};
    task.stage.relu_after_add = layer.relu;
    task.stage.convert = q.convert;
    return job_.commands.append(task, first_layer_node_ + static_cast<uint32_t>(index));
}

}  // namespace rknpu::compiler
