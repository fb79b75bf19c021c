// SPDX-License-Identifier: MIT
#include "runtime/cpu_step.hpp"

#include <algorithm>
#include <cstring>

#include "core/bytes.hpp"
#include "cpu/names.hpp"

namespace rknpu {
namespace {

cpu::DType cpu_type(DataType type) {
    switch (type) {
        case DataType::kFloat32:
            return cpu::DType::kF32;
        case DataType::kFloat16:
            return cpu::DType::kF16;
        case DataType::kBfloat16:
            return cpu::DType::kBf16;
        case DataType::kInt8:
            return cpu::DType::kI8;
        case DataType::kUint8:
        case DataType::kInt4:
            return cpu::DType::kU8;
        case DataType::kInt16:
            return cpu::DType::kI16;
        case DataType::kUint16:
            return cpu::DType::kU16;
        case DataType::kInt32:
            return cpu::DType::kI32;
        case DataType::kUint32:
            return cpu::DType::kU32;
        case DataType::kInt64:
            return cpu::DType::kI64;
        case DataType::kBool:
            return cpu::DType::kBool;
    }
    return cpu::DType::kNone;
}

/// Work space the original runtime wants; the model's data never depends on it.
bool is_work_space(const GraphTensor& tensor) {
    return tensor.place == Place::kNowhere || tensor.name.ends_with("_exSecondary");
}

/// The place of an optional input that the layer does not have.
bool is_absent(const GraphTensor& tensor) {
    const bool placeholder =
        tensor.kind == TensorKind::kNone && tensor.place == Place::kNowhere && tensor.name.empty();
    const bool empty = tensor.place == Place::kHost && tensor.data.empty() && tensor.dims.empty();
    return placeholder || empty;
}

/// Reserves room in the scratch of a step.
uint64_t take(uint64_t& scratch, uint64_t bytes) {
    constexpr uint64_t kAlignment = 64;
    const uint64_t start = align_up(scratch, kAlignment);
    scratch = start + bytes;
    return start;
}

/// These only rename dimensions; the file says what the result looks like.
bool only_reshapes(std::string_view type) {
    return type == "Reshape" || type == "Flatten" || type == "Squeeze" || type == "Unsqueeze" ||
           type == "Identity" || type == "exDataConvert";
}

void set_attribute(cpu::Attributes& to, const std::string& name, const Attribute& value) {
    if (const auto* integers = std::get_if<std::vector<int64_t>>(&value)) {
        if (integers->size() == 1)
            to.set(name, integers->front());
        else
            to.set(name, *integers);
    } else if (const auto* reals = std::get_if<std::vector<float>>(&value)) {
        if (reals->size() == 1)
            to.set(name, reals->front());
        else
            to.set(name, *reals);
    } else {
        to.set(name, std::get<std::string>(value));
    }
}

}  // namespace

bool is_operand(const GraphTensor& input) {
    return !is_absent(input) && !is_work_space(input);
}

Status CpuSteps::prepare(const JobGraph& graph) {
    graph_ = &graph;
    steps_.clear();
    waiting_.clear();
    scratch_.assign(graph.lanes, {});
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
        const auto& node = graph.nodes[i];
        if (node.on_npu || node.type == "InputOperator" || node.type == "OutputOperator")
            continue;
        auto& step = steps_[i];
        if (auto status = prepare_node(node, step); !status.ok())
            return status;
        auto& scratch = scratch_[node.picture % graph.lanes];
        scratch.resize(std::max<uint64_t>(scratch.size(), step.scratch_bytes));
        if (!knows(i))
            waiting_.push_back(i);
    }
    return {};
}

Status CpuSteps::prepare_node(const GraphNode& node, Step& step) {
    step.op = cpu::find(node.type);
    for (const auto& [name, value] : node.attributes)
        set_attribute(step.attributes, name, value);
    for (const int32_t tensor : node.inputs) {
        const auto& info = graph_->tensors[static_cast<size_t>(tensor)];
        if (!is_operand(info) && !is_absent(info))
            continue;
        auto& operand = step.inputs.emplace_back();
        auto& view = step.input_views.emplace_back();
        if (is_absent(info))
            continue;
        if (auto status = prepare_operand(tensor, step, operand, view); !status.ok())
            return status;
        if (info.place == Place::kArena)
            continue;
        if (info.data.size() < view.bytes())
            return Status::failure(Error::kInvalidModel,
                                   "Damaged .rknn file: constant '{}' has {} bytes, {} are needed.",
                                   info.name, info.data.size(), view.bytes());
        view.data = info.data.first(view.bytes());
    }
    for (const int32_t tensor : node.outputs) {
        const auto& info = graph_->tensors[static_cast<size_t>(tensor)];
        if (info.place != Place::kArena)
            return Status::failure(Error::kInvalidModel,
                                   "Damaged .rknn file: output '{}' of '{}' has no memory.",
                                   info.name, node.name);
        auto& operand = step.outputs.emplace_back();
        auto& view = step.output_views.emplace_back();
        if (auto status = prepare_operand(tensor, step, operand, view); !status.ok())
            return status;
    }
    const auto fused = step.op == nullptr ? cpu::find_fused(node.type) : cpu::Fused{};
    if (fused.op == nullptr || step.output_views.size() != 1)
        return {};
    step.between = {cpu::DType::kF32, step.output_views.front().dims, {}};
    step.between_scratch = take(step.scratch_bytes, step.between.bytes());
    step.op = fused.op;
    step.activation = fused.activation;
    return {};
}

Status CpuSteps::prepare_operand(int32_t tensor, Step& step, Operand& operand,
                                 cpu::TensorInfo& info) {
    const auto& from = graph_->tensors[static_cast<size_t>(tensor)];
    operand.tensor = tensor;
    const auto dims = cpu::Dims::from(std::span(from.dims));
    if (!dims || !dims->checked_elements())
        return Status::failure(Error::kInvalidModel, "tensor '{}' is too large for the CPU",
                               from.name);
    info.dtype = cpu_type(from.type);
    info.dims = *dims;
    operand.native = view_of(from);
    if (operand.native.quantised)
        info.quant = cpu::Quant{from.scale, from.zero_point};
    operand.plain = operand.native;
    const auto& layout = operand.native.layout;
    operand.plain.layout = ImageLayout::plain(layout.n, layout.c, layout.h, layout.w);
    operand.dense = layout.order == Order::kPlain;
    if (!operand.dense && from.place == Place::kArena)
        operand.scratch = take(step.scratch_bytes, operand.plain.bytes());
    return {};
}

bool CpuSteps::has_built_in(uint32_t node) const {
    return steps_.at(node).op != nullptr || only_reshapes(graph_->nodes[node].type);
}

bool CpuSteps::knows(uint32_t node) const {
    return has_built_in(node) || steps_.at(node).kernel != nullptr;
}

uint64_t CpuSteps::scratch_bytes() const {
    uint64_t sum = 0;
    for (const auto& lane : scratch_)
        sum += lane.size();
    return sum;
}

std::span<std::byte> CpuSteps::scratch_of(uint32_t node) {
    return scratch_[graph_->nodes[node].picture % graph_->lanes];
}

Status CpuSteps::check_operators() const {
    constexpr size_t kNamed = 8;  // more would hide the cure at the end of the line
    std::string layers;
    size_t count = 0;
    for (const uint32_t index : waiting_) {
        const auto& node = graph_->nodes[index];
        if (!cpu::is_reserved_type(node.type))
            continue;
        if (count++ < kNamed)
            layers += fmt::format("{}'{}' in layer '{}'", layers.empty() ? "" : ", ", node.type,
                                  node.name);
    }
    if (count == 0)
        return {};
    return Status::failure(
        Error::kInvalidModel,
        "Meet unsupport CPU operator {}{}: this library does not have it. Convert "
        "the model without it, or supply it with a plugin (RKNPU_OP_PLUGINS).",
        layers, count > kNamed ? fmt::format(" and {} more", count - kNamed) : "");
}

Status CpuSteps::check_registered() const {
    if (waiting_.empty())
        return {};
    const auto& node = graph_->nodes[waiting_.front()];
    return Status::failure(Error::kFail,
                           "Meet unsupport CPU operator '{}' in layer '{}': register it with "
                           "rknn_register_custom_ops or convert the model without it",
                           node.type, node.name);
}

std::vector<uint32_t> CpuSteps::nodes_of(std::string_view type) const {
    std::vector<uint32_t> out;
    for (const auto& [index, step] : steps_) {
        if (graph_->nodes[index].type == type)
            out.push_back(index);
    }
    std::sort(out.begin(), out.end());
    return out;
}

void CpuSteps::replace(uint32_t node, std::shared_ptr<CpuKernel> kernel) {
    steps_.at(node).kernel = std::move(kernel);
    std::erase(waiting_, node);
}

bool CpuSteps::has_kernels() const {
    return std::any_of(steps_.begin(), steps_.end(),
                       [](const auto& step) { return step.second.kernel != nullptr; });
}

/// Same elements, other dimensions: only the layout and the quantisation may differ.
Status CpuSteps::copy(Step& step) {
    const auto& in = step.input_views.front();
    const auto& out = step.output_views.front();
    const auto line = [](const ElementView& view) {
        ElementView flat = view;
        flat.layout = ImageLayout::plain(1, 1, 1, static_cast<uint32_t>(view.layout.elements()));
        return flat;
    };
    const auto from = line(step.inputs.front().plain);
    const auto to = line(step.outputs.front().plain);
    if (from.layout.w != to.layout.w)
        return Status::failure(Error::kInvalidModel, "{} elements become {}", from.layout.w,
                               to.layout.w);
    convert(from, in.data, to, out.data, {});
    return {};
}

Status CpuSteps::compute(uint32_t node, Step& step) {
    cpu::OpContext context;
    context.type = graph_->nodes[node].type;
    context.attributes = &step.attributes;
    context.inputs = step.input_views;
    context.outputs = step.output_views;
    context.output_count = step.outputs.size();
    cpu::MutTensorView between;
    if (step.activation != nullptr) {
        static_cast<cpu::TensorInfo&>(between) = step.between;
        between.data = scratch_of(node).subspan(step.between_scratch, step.between.bytes());
        context.outputs = {&between, 1};
    }
    auto result = cpu::run(*step.op, context);
    if (result.ok() && step.activation != nullptr) {
        cpu::TensorView sum;
        static_cast<cpu::TensorInfo&>(sum) = step.between;
        sum.data = between.data;
        context.inputs = {&sum, 1};
        context.outputs = step.output_views;
        result = cpu::run(*step.activation, context);
    }
    return result.ok() ? Status() : Status(Error::kFail, result.text());
}

Status CpuSteps::run(uint32_t node, const Bytes& bytes) {
    auto& step = steps_.at(node);
    const auto& info = graph_->nodes[node];
    const auto scratch = [all = scratch_of(node)](const Operand& operand) {
        return all.subspan(operand.scratch, operand.plain.bytes());
    };
    for (size_t i = 0; i < step.inputs.size(); ++i) {
        auto& operand = step.inputs[i];
        auto& view = step.input_views[i];
        if (operand.tensor < 0)
            continue;
        if (graph_->tensors[static_cast<size_t>(operand.tensor)].place != Place::kArena)
            continue;
        const auto memory = bytes(operand.tensor);
        if (operand.dense) {
            view.data = memory.first(view.bytes());
        } else {
            convert(operand.native, memory, operand.plain, scratch(operand), {});
            view.data = scratch(operand);
        }
    }
    for (size_t i = 0; i < step.outputs.size(); ++i) {
        auto& operand = step.outputs[i];
        auto& view = step.output_views[i];
        view.data = operand.dense ? bytes(operand.tensor).first(view.bytes()) : scratch(operand);
    }
    Status status;
    if (step.kernel != nullptr) {
        status = step.kernel->run(node, step.input_views, step.output_views);
    } else if (only_reshapes(info.type) && !step.inputs.empty() &&
               step.input_views.front().present() && step.outputs.size() == 1) {
        status = copy(step);
    } else if (step.op == nullptr) {
        // check_registered() leaves this one: reshaping of no tensor, or into several.
        status = Status::failure(Error::kInvalidModel, "{} has {} inputs and {} outputs", info.type,
                                 step.inputs.size(), step.outputs.size());
    } else {
        status = compute(node, step);
    }
    if (!status.ok())
        return {status.error(), fmt::format("node '{}': {}", info.name, status.text())};
    for (auto& operand : step.outputs) {
        if (!operand.dense)
            convert(operand.plain, scratch(operand), operand.native, bytes(operand.tensor), {});
    }
    return {};
}

}  // namespace rknpu
