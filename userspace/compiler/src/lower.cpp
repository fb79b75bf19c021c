// SPDX-License-Identifier: MIT
#include "rknpu_compiler/lower.hpp"

#include <algorithm>
#include <cstring>

#include "lowering.hpp"
#include "rknpu_compiler/arena.hpp"

namespace rknpu::compiler {

namespace {

/// Inputs the vendor's runtime takes as packed pixels instead of NC1HWC2. An application sees the
/// row pitch in pixels, so it must be a whole number of them.
bool is_packable(const TensorInfo& t) {
    const bool channels = t.channels == 1 || t.channels == 3 || t.channels == 4;
    return channels && image_row_bytes(t.width, t.channels, Precision::kInt8) % t.channels == 0;
}

/// True when only direct convolutions read the tensor, each as its main input.
bool only_convolved(const Graph& graph, uint32_t tensor) {
    bool used = false;
    for (const Layer& layer : graph.layers) {
        for (size_t i = 0; i < layer.inputs.size(); i++) {
            if (layer.inputs[i] == tensor && (i != 0 || layer.type != OpType::kConv)) {
                return false;
            }
            used |= layer.inputs[i] == tensor;
        }
    }
    return used;
}

std::vector<int32_t> ints(std::initializer_list<uint32_t> values) {
    return {values.begin(), values.end()};
}

/// One {groups, blocks, KH, KW, kernels, lanes} per combination of full and short groups.
std::vector<int32_t> direct_weight_dims(const WeightShape& shape) {
    constexpr uint32_t kGroup = 32;
    const uint32_t kernels = stored_kernels(shape.output_channels);
    const uint32_t lanes = weight_lanes(shape.input_channels, Precision::kInt8);
    std::vector<int32_t> dims;
    for (const auto& [groups, group] :
         {std::pair{kernels / kGroup, kGroup}, std::pair{1U, kernels % kGroup}}) {
        for (const auto& [blocks, block] :
             {std::pair{lanes / kGroup, kGroup}, std::pair{1U, lanes % kGroup}}) {
            if (groups * group * blocks * block != 0) {
                for (const uint32_t value :
                     {groups, blocks, shape.kernel_height, shape.kernel_width, group, block}) {
                    dims.push_back(static_cast<int32_t>(value));
                }
            }
        }
    }
    return dims;
}

template <typename T>
std::vector<std::byte> to_bytes(const std::vector<T>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

}  // namespace

Lowering::Lowering(const QuantizedGraph& quantized) : q_(quantized), graph_(quantized.graph) {
    job_.name = graph_.name;
    job_.tensors.emplace_back();
    job_.tensors[0].layout = TensorLayout::kUndefined;
    layers_.resize(graph_.layers.size());
    maps_.resize(graph_.tensors.size());
}

void Lowering::add_constants(size_t index) {
    const Layer& layer = graph_.layers[index];
    if (layer.type != OpType::kConv && layer.type != OpType::kDepthwiseConv) {
        return;
    }
    const QuantizedLayer& q = q_.layers[index];
    const bool depthwise = layer.type == OpType::kDepthwiseConv;
    const uint32_t in_channels = depthwise ? 1 : graph_.tensors[layer.inputs[0]].channels;
    const uint32_t out_channels = graph_.tensors[layer.output].channels;
    const WeightShape shape{out_channels, in_channels, layer.window.height, layer.window.width};
    LayerConstants& constants = layers_[index];

    JobTensor weights;
    weights.name = layer.name + ".weight";
    weights.kind = TensorKind::kConstant;
    weights.layout = TensorLayout::kWeights;
    weights.dims = ints({out_channels, in_channels, shape.kernel_height, shape.kernel_width});
    if (depthwise) {
        weights.data =
            to_bytes(pack_depthwise_weights<int8_t>(q.weights, shape, q.weight_zero_points));
        weights.native_dims = ints({1, shape.kernel_height, shape.kernel_width,
                                    weight_lanes(out_channels, Precision::kInt8)});
    } else {
        weights.data =
            to_bytes(pack_direct_weights<int8_t>(q.weights, shape, q.weight_zero_points));
        weights.native_dims = direct_weight_dims(shape);
    }
    weights.size = static_cast<uint32_t>(weights.data.size());
    constants.weights = static_cast<uint32_t>(job_.tensors.size());
    job_.tensors.push_back(std::move(weights));

    JobTensor operands;
    operands.name = layer.name + ".bias";
    operands.kind = TensorKind::kConstant;
    operands.layout = TensorLayout::kUndefined;
    operands.type = ElementType::kInt32;
    operands.dims = ints({out_channels});
    operands.data = pack_operand_records(
        q.channels, align_up(out_channels, channel_group(Precision::kInt8, depthwise)));
    operands.size = static_cast<uint32_t>(operands.data.size());
    operands.native_dims = ints({operands.size / 4});
    constants.operands = static_cast<uint32_t>(job_.tensors.size());
    job_.tensors.push_back(std::move(operands));
}

void Lowering::add_map(uint32_t index, TensorKind kind) {
    const TensorInfo& info = graph_.tensors[index];
    Map& map = maps_[index];
    map.image_channels =
        kind == TensorKind::kInput && is_packable(info) && only_convolved(graph_, index)
            ? info.channels
            : 0;
    const bool image = map.image_channels != 0;
    map.row_pitch = info.width;
    map.plane_pitch = image ? info.width * info.height : surface_pitch(info.width, info.height);
    map.row_bytes = image ? image_row_bytes(info.width, info.channels, Precision::kInt8)
                          : info.width * kAtomBytes;

    JobTensor tensor;
    tensor.name = info.name;
    tensor.kind = kind;
    tensor.dims = ints({1, info.channels, info.height, info.width});
    tensor.range = info.range;
    tensor.quant = q_.tensors[index];
    tensor.quantized = true;
    if (image) {
        tensor.native_dims = ints({1, 1, info.height, info.width, info.channels});
        tensor.size = map.row_bytes * info.height;  // exact: readers derive the pitch from it
    } else {
        constexpr uint32_t kLanes = atom_lanes(Precision::kInt8);
        // The DPU may write, and an added tensor is read, in whole channel groups.
        const uint32_t reserved = align_up(info.channels, map.channel_group);
        tensor.native_dims =
            ints({1, divide_up(info.channels, kLanes), info.height, info.width, kLanes});
        tensor.size = align_up(reserved / kLanes * map.plane_pitch * kAtomBytes, 64);
    }
    map.tensor = static_cast<uint32_t>(job_.tensors.size());
    job_.tensors.push_back(std::move(tensor));
}

void Lowering::add_maps() {
    for (Map& map : maps_) {
        map.channel_group = channel_group(Precision::kInt8, false);
    }
    for (const Layer& layer : graph_.layers) {
        maps_[layer.output].channel_group =
            channel_group(Precision::kInt8, layer.type == OpType::kDepthwiseConv);
    }
    std::vector<TensorKind> kinds(graph_.tensors.size(), TensorKind::kInternal);
    for (const uint32_t output : graph_.outputs) {
        kinds[output] = TensorKind::kOutput;
    }
    for (const InputInfo& input : graph_.inputs) {
        add_map(input.tensor, TensorKind::kInput);
        job_.inputs.push_back(static_cast<int32_t>(maps_[input.tensor].tensor));
        job_.normalisation.push_back(input);
    }
    for (const Layer& layer : graph_.layers) {
        add_map(layer.output, kinds[layer.output]);
    }
    for (const uint32_t output : graph_.outputs) {
        job_.outputs.push_back(static_cast<int32_t>(maps_[output].tensor));
    }
}

void Lowering::place_maps() {
    // Inputs and outputs belong to the application and never share memory.
    const auto steps = static_cast<uint32_t>(graph_.layers.size());
    std::vector<ArenaItem> items(graph_.tensors.size());
    for (const InputInfo& input : graph_.inputs) {
        items[input.tensor] = {0, 0, steps, 0};
    }
    for (uint32_t step = 0; step < steps; step++) {
        const Layer& layer = graph_.layers[step];
        items[layer.output] = {0, step, step, 0};
        for (const uint32_t input : layer.inputs) {
            items[input].last = std::max(items[input].last, step);
        }
    }
    for (const uint32_t output : graph_.outputs) {
        items[output] = {0, 0, steps, 0};
    }
    for (size_t i = 0; i < items.size(); i++) {
        items[i].size = job_.tensors[maps_[i].tensor].size;
    }
    job_.arena_bytes = place_in_arena(items);
    for (size_t i = 0; i < items.size(); i++) {
        job_.tensors[maps_[i].tensor].offset = items[i].offset;
    }
}

std::string Lowering::node_type(const Layer& layer) const {
    const std::string relu = !layer.relu ? "" : layer.clip ? "Clip" : "Relu";
    switch (layer.type) {
        case OpType::kMaxPool:
            return "MaxPool";
        case OpType::kAdd:
            return "Add" + relu;
        default:
            return (layer.inputs.size() == 2 ? "ConvAdd" : "Conv") + relu;
    }
}

void Lowering::add_nodes() {
    for (const int32_t input : job_.inputs) {
        const std::string& name = job_.tensors[static_cast<size_t>(input)].name;
        job_.nodes.push_back({"InputOperator", "InputOperator:" + name, false, {}, {input}, {}});
    }
    first_layer_node_ = static_cast<uint32_t>(job_.nodes.size());
    for (size_t i = 0; i < graph_.layers.size(); i++) {
        const Layer& layer = graph_.layers[i];
        JobNode node;
        node.type = node_type(layer);
        node.name = (layer.type == OpType::kMaxPool ? "MaxPool:"
                     : layer.type == OpType::kAdd   ? "Add:"
                                                    : "Conv:") +
                    layer.name;
        node.on_npu = true;
        node.inputs.push_back(static_cast<int32_t>(maps_[layer.inputs[0]].tensor));
        if (layers_[i].weights != 0) {
            node.inputs.push_back(static_cast<int32_t>(layers_[i].weights));
            node.inputs.push_back(static_cast<int32_t>(layers_[i].operands));
        }
        if (layer.inputs.size() == 2) {
            node.inputs.push_back(static_cast<int32_t>(maps_[layer.inputs[1]].tensor));
        }
        node.outputs.push_back(static_cast<int32_t>(maps_[layer.output].tensor));
        job_.nodes.push_back(std::move(node));
    }
    for (const int32_t output : job_.outputs) {
        const std::string& name = job_.tensors[static_cast<size_t>(output)].name;
        job_.nodes.push_back({"OutputOperator", "OutputOperator:" + name, false, {output}, {}, {}});
    }
}

Feature Lowering::feature(uint32_t tensor, Rows rows) const {
    const TensorInfo& info = graph_.tensors[tensor];
    const Map& map = maps_[tensor];
    const Address base{map.tensor, rows.first * map.row_bytes};
    return {base, info.width, rows.count, info.channels, map.row_pitch, map.plane_pitch};
}

Result<Job> Lowering::run() {
    for (size_t i = 0; i < graph_.layers.size(); i++) {
        add_constants(i);
    }
    add_maps();
    place_maps();
    add_nodes();
    job_.commands.begin_chain();
    for (size_t i = 0; i < graph_.layers.size(); i++) {
        const size_t before = job_.commands.tasks().size();
        const Rows all{0, graph_.tensors[graph_.layers[i].output].height};
        if (auto error = emit_layer(i, all)) {
            return Error{"layer \"" + graph_.layers[i].name + "\": " + *error};
        }
        job_.nodes[first_layer_node_ + i].task_counts[0] =
            static_cast<uint32_t>(job_.commands.tasks().size() - before);
    }
    const auto tasks = static_cast<uint32_t>(job_.commands.tasks().size());
    job_.first_task = {0, tasks, tasks};
    return std::move(job_);
}

Result<Job> lower(const QuantizedGraph& graph) {
    return Lowering(graph).run();
}

}  // namespace rknpu::compiler
