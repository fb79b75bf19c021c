// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "../operator.hpp"
#include "onnx_model.hpp"

namespace rknpu::cpu {

namespace {

/// ONNX "Constant": the attribute is the tensor.
Status make_constant(const OnnxNode& node, Tensor& out) {
    const Tensor* value = nullptr;
    RKNPU_CPU_TRY(node.attributes.read("value", value));
    if (value != nullptr)
        return value->clone(out);
    std::vector<float> floats;
    std::vector<std::int64_t> ints;
    for (const char* name : {"value_float", "value_floats"}) {
        if (!node.attributes.has(name))
            continue;
        RKNPU_CPU_TRY(node.attributes.read(name, floats));
        const bool scalar = std::string_view(name) == "value_float";
        const Dims dims = scalar ? Dims{} : Dims{static_cast<std::int64_t>(floats.size())};
        return Tensor::create({DType::kF32, dims, {}}, std::as_bytes(std::span(floats)), out);
    }
    for (const char* name : {"value_int", "value_ints"}) {
        if (!node.attributes.has(name))
            continue;
        RKNPU_CPU_TRY(node.attributes.read(name, ints));
        const bool scalar = std::string_view(name) == "value_int";
        const Dims dims = scalar ? Dims{} : Dims{static_cast<std::int64_t>(ints.size())};
        return Tensor::create({DType::kI64, dims, {}}, std::as_bytes(std::span(ints)), out);
    }
    return {StatusCode::kInvalidAttribute, "Constant: no number or tensor attribute"};
}

Status gather_inputs(const OnnxModel& model, const OnnxTensors& values, const OnnxNode& node,
                     std::vector<TensorView>& out) {
    for (const std::string& name : node.inputs) {
        if (name.empty()) {
            out.emplace_back();
            continue;
        }
        auto it = values.find(name);
        if (it == values.end()) {
            it = model.initializers.find(name);
            if (it == model.initializers.end())
                return {StatusCode::kInvalidValue,
                        cat(node.type, ": tensor '", name, "' is neither an input nor computed")};
        }
        out.push_back(it->second.view());
    }
    return {};
}

Status run_node(const OnnxModel& model, const OnnxRunOptions& options, const OnnxNode& node,
                OnnxTensors& values) {
    if (node.type == "Constant") {
        Tensor constant;
        RKNPU_CPU_TRY(make_constant(node, constant));
        if (!node.outputs.empty())
            values.insert_or_assign(node.outputs[0], std::move(constant));
        return {};
    }
    const Operator* op = find(node.type);
    if (op == nullptr)
        return {StatusCode::kUnknownOperator, cat("no CPU operator '", node.type, "'")};
    std::vector<TensorView> inputs;
    RKNPU_CPU_TRY(gather_inputs(model, values, node, inputs));
    OpContext context;
    context.type = node.type;
    context.attributes = &node.attributes;
    context.opset = static_cast<int>(std::clamp<std::int64_t>(model.opset, 1, 1000));
    context.inputs = inputs;
    context.reference = options.reference;
    context.output_count = node.outputs.size();
    std::vector<TensorInfo> infos;
    RKNPU_CPU_TRY(infer(*op, context, infos));
    if (infos.size() < node.outputs.size())
        return {StatusCode::kInvalidShape, cat(node.type, ": gives ", infos.size(), " outputs, ",
                                               node.outputs.size(), " are named")};
    std::vector<Tensor> made(node.outputs.size());
    std::vector<MutTensorView> outputs(node.outputs.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
        if (node.outputs[i].empty())
            continue;
        RKNPU_CPU_TRY(Tensor::create(infos[i], made[i]));
        outputs[i] = made[i].mut_view();
    }
    context.outputs = outputs;
    RKNPU_CPU_TRY(run(*op, context));
    for (std::size_t i = 0; i < made.size(); ++i) {
        if (!node.outputs[i].empty())
            values.insert_or_assign(node.outputs[i], std::move(made[i]));
    }
    return {};
}

}  // namespace

std::string onnx_missing_operator(const OnnxModel& model) {
    for (const OnnxNode& node : model.nodes) {
        if (!node.unsupported.empty())
            return cat(node.type, ": ", node.unsupported);
        if (node.type != "Constant" && find(node.type) == nullptr)
            return cat("no operator ", node.type);
    }
    return {};
}

Status run_onnx(const OnnxModel& model, const OnnxRunOptions& options, OnnxTensors& values) {
    for (const OnnxNode& node : model.nodes) {
        if (!node.unsupported.empty())
            return {StatusCode::kInvalidAttribute, cat(node.type, ": ", node.unsupported)};
        Status status = run_node(model, options, node, values);
        if (!status.ok())
            return {status.code(),
                    cat("node '", node.name.empty() ? node.type : node.name, "': ", status.text())};
    }
    // An output may be an initializer or an input passed through.
    for (const OnnxValue& output : model.outputs) {
        if (values.contains(output.name))
            continue;
        const auto it = model.initializers.find(output.name);
        if (it == model.initializers.end())
            return {StatusCode::kInvalidValue, cat("output '", output.name, "' is never computed")};
        Tensor copy;
        RKNPU_CPU_TRY(it->second.clone(copy));
        values.insert_or_assign(output.name, std::move(copy));
    }
    return {};
}

}  // namespace rknpu::cpu
