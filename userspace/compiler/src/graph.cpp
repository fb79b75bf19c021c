// SPDX-License-Identifier: MIT
#include "rknpu_compiler/graph.hpp"

namespace rknpu::compiler {

namespace {

constexpr uint32_t kMaxDimension = 8191;  // 13-bit size registers of DPU and PPU

Error wrong(const Layer& layer, const std::string& text) {
    return {"layer \"" + layer.name + "\": " + text};
}

/// Output size along one axis; 0 when the window does not fit once.
uint32_t slide(uint32_t size, uint32_t pads, uint32_t kernel, uint32_t dilation, uint32_t stride) {
    const uint64_t reach = uint64_t{kernel - 1} * dilation + 1;
    const uint64_t padded = uint64_t{size} + pads;
    return padded < reach ? 0 : static_cast<uint32_t>((padded - reach) / stride + 1);
}

bool valid_size(const TensorInfo& t) {
    return t.channels != 0 && t.height != 0 && t.width != 0 && t.channels <= kMaxDimension &&
           t.height <= kMaxDimension && t.width <= kMaxDimension;
}

std::optional<Error> check_weights(const Layer& layer, uint32_t input_channels,
                                   uint32_t& output_channels) {
    const Window& w = layer.window;
    const uint64_t per_kernel =
        uint64_t{w.height} * w.width * (layer.type == OpType::kDepthwiseConv ? 1 : input_channels);
    if (layer.weights.empty() || layer.weights.size() % per_kernel != 0) {
        return wrong(layer, "has " + std::to_string(layer.weights.size()) +
                                " weights, which is no multiple of " + std::to_string(per_kernel) +
                                " per kernel; check kernel size and input channels");
    }
    const size_t kernels = layer.weights.size() / per_kernel;
    if (kernels > kMaxDimension ||
        (layer.type == OpType::kDepthwiseConv && kernels != input_channels)) {
        return wrong(layer, std::to_string(kernels) + " kernels do not suit " +
                                std::to_string(input_channels) + " input channels");
    }
    if (!layer.bias.empty() && layer.bias.size() != kernels) {
        return wrong(layer, "needs one bias per kernel (" + std::to_string(kernels) + "), not " +
                                std::to_string(layer.bias.size()));
    }
    output_channels = static_cast<uint32_t>(kernels);
    return std::nullopt;
}

std::optional<Error> infer_window(const Layer& layer, const TensorInfo& in, TensorInfo& out) {
    const Window& w = layer.window;
    if (w.height == 0 || w.width == 0 || w.stride_y == 0 || w.stride_x == 0 || w.dilation_y == 0 ||
        w.dilation_x == 0) {
        return wrong(layer, "kernel, strides and dilations must be at least 1");
    }
    out.height = slide(in.height, w.pad_top + layer.pad_bottom, w.height, w.dilation_y, w.stride_y);
    out.width = slide(in.width, w.pad_left + layer.pad_right, w.width, w.dilation_x, w.stride_x);
    out.channels = in.channels;
    if (out.height == 0 || out.width == 0) {
        return wrong(layer, "its kernel is larger than the padded input");
    }
    if (layer.type == OpType::kConv || layer.type == OpType::kDepthwiseConv) {
        return check_weights(layer, in.channels, out.channels);
    }
    return std::nullopt;
}

std::optional<Error> infer_layer(const Layer& layer, std::vector<TensorInfo>& tensors) {
    const bool conv = layer.type == OpType::kConv || layer.type == OpType::kDepthwiseConv;
    const size_t most = layer.type == OpType::kAdd || conv ? 2 : 1;
    const size_t least = layer.type == OpType::kAdd ? 2 : 1;
    if (layer.inputs.size() < least || layer.inputs.size() > most) {
        return wrong(layer, "has " + std::to_string(layer.inputs.size()) + " inputs");
    }
    TensorInfo& out = tensors[layer.output];
    const TensorInfo& in = tensors[layer.inputs[0]];
    if (layer.type == OpType::kAdd) {
        out.channels = in.channels;
        out.height = in.height;
        out.width = in.width;
    } else if (auto error = infer_window(layer, in, out)) {
        return error;
    }
    if (layer.inputs.size() == 2) {
        const TensorInfo& second = tensors[layer.inputs[1]];
        if (second.channels != out.channels || second.height != out.height ||
            second.width != out.width) {
            return wrong(layer, "the second tensor \"" + second.name +
                                    "\" has another shape; broadcasting is not available");
        }
    }
    if (!valid_size(out)) {
        return wrong(layer, "its output is too large; each dimension may be at most " +
                                std::to_string(kMaxDimension));
    }
    return std::nullopt;
}

}  // namespace

std::optional<Error> infer_shapes_so_far(Graph& graph) {
    std::vector<bool> known(graph.tensors.size(), false);
    for (const InputInfo& input : graph.inputs) {
        if (input.tensor >= graph.tensors.size() || !valid_size(graph.tensors[input.tensor])) {
            return Error{"an input tensor is missing or has an impossible shape"};
        }
        known[input.tensor] = true;
    }
    for (const Layer& layer : graph.layers) {
        for (const uint32_t input : layer.inputs) {
            if (input >= known.size() || !known[input]) {
                return wrong(layer, "reads a tensor no earlier layer makes; reorder the layers");
            }
        }
        if (layer.output >= known.size() || known[layer.output]) {
            return wrong(layer, "its output tensor is written twice; give it a name of its own");
        }
        if (auto error = infer_layer(layer, graph.tensors)) {
            return error;
        }
        known[layer.output] = true;
    }
    return std::nullopt;
}

std::optional<Error> infer_shapes(Graph& graph) {
    if (graph.inputs.empty() || graph.outputs.empty()) {
        return Error{"the network needs at least one input and one output"};
    }
    if (auto error = infer_shapes_so_far(graph)) {
        return error;
    }
    for (const uint32_t output : graph.outputs) {
        if (output >= graph.tensors.size() || graph.tensors[output].width == 0) {
            return Error{"an output names a tensor that no layer makes"};
        }
    }
    return std::nullopt;
}

}  // namespace rknpu::compiler
