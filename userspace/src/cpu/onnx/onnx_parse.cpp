// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "onnx_model.hpp"
#include "onnx_subset.pb.h"

namespace rknpu::cpu {

namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

/// AttributeProto.AttributeType of the ONNX format.
enum AttributeType { kFloat = 1, kInt, kString, kTensor, kGraph, kFloats, kInts, kStrings };

/// The typed repeated fields hold one element per entry; narrow types are widened to int32 there.
template <typename To, typename Field>
std::vector<std::byte> narrow(const Field& field) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(field.size()) * sizeof(To));
    std::size_t at = 0;
    for (const auto& entry : field) {
        const To value = static_cast<To>(entry);
        std::memcpy(bytes.data() + at, &value, sizeof(To));
        at += sizeof(To);
    }
    return bytes;
}

std::vector<std::byte> typed_data(const onnx_wire::Tensor& proto, DType dtype) {
    switch (dtype) {
        case DType::kF32:
            return narrow<float>(proto.float_data());
        case DType::kF64:
            return narrow<double>(proto.double_data());
        case DType::kI64:
            return narrow<std::int64_t>(proto.int64_data());
        case DType::kU64:
            return narrow<std::uint64_t>(proto.uint64_data());
        case DType::kU32:
            return narrow<std::uint32_t>(proto.uint64_data());
        case DType::kI32:
            return narrow<std::int32_t>(proto.int32_data());
        default:
            if (dtype_size(dtype) == 2)
                return narrow<std::uint16_t>(proto.int32_data());
            return narrow<std::uint8_t>(proto.int32_data());
    }
}

Status tensor_from(const onnx_wire::Tensor& proto, Tensor& out) {
    const std::optional<DType> dtype = dtype_from_onnx(proto.data_type());
    if (!dtype)
        return {StatusCode::kInvalidType,
                cat("tensor '", proto.name(), "' has element type ", proto.data_type(),
                    ", which is neither a number nor bool")};
    if (proto.data_location() != 0)
        return {StatusCode::kInvalidValue, cat("tensor '", proto.name(),
                                               "' keeps its data in another file; save the model "
                                               "with embedded data")};
    const std::optional<Dims> dims = Dims::from(std::span<const std::int64_t>(
        proto.dims().data(), static_cast<std::size_t>(proto.dims_size())));
    if (!dims)
        return {StatusCode::kInvalidShape, cat("tensor '", proto.name(), "' has a bad shape")};
    const TensorInfo info{*dtype, *dims, std::nullopt};
    if (proto.has_raw_data())
        return Tensor::create(info, std::as_bytes(std::span(proto.raw_data())), out);
    return Tensor::create(info, typed_data(proto, *dtype), out);
}

template <typename T, typename Field>
std::vector<T> list_from(const Field& field) {
    return {field.begin(), field.end()};
}

/// Older writers leave `type` out; the filled field tells then.
int attribute_type(const onnx_wire::Attribute& proto) {
    if (proto.has_type() && proto.type() != 0)
        return proto.type();
    if (proto.has_f())
        return kFloat;
    if (proto.has_i())
        return kInt;
    if (proto.has_s())
        return kString;
    if (proto.has_t())
        return kTensor;
    if (proto.has_g())
        return kGraph;
    if (proto.floats_size() != 0)
        return kFloats;
    return proto.strings_size() != 0 ? kStrings : kInts;
}

Status read_attribute(const onnx_wire::Attribute& proto, OnnxNode& node) {
    switch (attribute_type(proto)) {
        case kFloat:
            node.attributes.set(proto.name(), proto.f());
            return {};
        case kInt:
            node.attributes.set(proto.name(), static_cast<std::int64_t>(proto.i()));
            return {};
        case kString:
            node.attributes.set(proto.name(), proto.s());
            return {};
        case kFloats:
            node.attributes.set(proto.name(), list_from<float>(proto.floats()));
            return {};
        case kInts:
            node.attributes.set(proto.name(), list_from<std::int64_t>(proto.ints()));
            return {};
        case kStrings:
            node.attributes.set(proto.name(), list_from<std::string>(proto.strings()));
            return {};
        case kTensor: {
            Tensor tensor;
            if (Status status = tensor_from(proto.t(), tensor); !status.ok())
                node.unsupported = status.text();
            else
                node.attributes.set(proto.name(), std::move(tensor));
            return {};
        }
        default:
            node.unsupported = cat("attribute '", proto.name(), "' holds a graph");
            return {};
    }
}

OnnxValue value_from(const onnx_wire::ValueInfo& proto) {
    OnnxValue value;
    value.name = proto.name();
    if (!proto.type().has_tensor_type())
        return value;
    const onnx_wire::TensorType& type = proto.type().tensor_type();
    value.dtype = dtype_from_onnx(type.elem_type()).value_or(DType::kNone);
    for (const onnx_wire::Dimension& dim : type.shape().dim())
        value.dims.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    return value;
}

Status read_node(const onnx_wire::Node& proto, OnnxModel& model) {
    OnnxNode node;
    node.type = proto.op_type();
    node.name = proto.name();
    node.inputs = list_from<std::string>(proto.input());
    node.outputs = list_from<std::string>(proto.output());
    if (!proto.domain().empty() && proto.domain() != "ai.onnx")
        node.unsupported = cat("operator domain '", proto.domain(), "' is not ai.onnx");
    for (const onnx_wire::Attribute& attribute : proto.attribute())
        RKNPU_CPU_TRY(read_attribute(attribute, node));
    model.nodes.push_back(std::move(node));
    return {};
}

template <typename Message>
bool parse(std::span<const std::byte> bytes, Message& message) {
    return bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()) &&
           message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace

Status parse_onnx_tensor(std::span<const std::byte> bytes, std::string& name, Tensor& out) {
    onnx_wire::Tensor proto;
    if (!parse(bytes, proto))
        return {StatusCode::kInvalidValue, "not a serialised ONNX tensor"};
    RKNPU_CPU_TRY(tensor_from(proto, out));
    name = proto.name();
    return {};
}

Status parse_onnx_model(std::span<const std::byte> bytes, OnnxModel& out) {
    onnx_wire::Model proto;
    if (!parse(bytes, proto) || !proto.has_graph())
        return {StatusCode::kInvalidValue, "not a serialised ONNX model"};
    OnnxModel model;
    for (const onnx_wire::OperatorSetId& set : proto.opset_import()) {
        if (set.domain().empty() || set.domain() == "ai.onnx")
            model.opset = set.version();
    }
    for (const onnx_wire::Tensor& initializer : proto.graph().initializer()) {
        Tensor tensor;
        RKNPU_CPU_TRY(tensor_from(initializer, tensor));
        model.initializers.insert_or_assign(initializer.name(), std::move(tensor));
    }
    for (const onnx_wire::ValueInfo& input : proto.graph().input()) {
        if (!model.initializers.contains(input.name()))
            model.inputs.push_back(value_from(input));
    }
    for (const onnx_wire::ValueInfo& output : proto.graph().output())
        model.outputs.push_back(value_from(output));
    for (const onnx_wire::Node& node : proto.graph().node())
        RKNPU_CPU_TRY(read_node(node, model));
    out = std::move(model);
    return {};
}

Status expose_all_tensors(std::span<const std::byte> bytes, std::vector<std::byte>& out) {
    onnx_wire::Model proto;
    if (!parse(bytes, proto) || !proto.has_graph())
        return {StatusCode::kInvalidValue, "not a serialised ONNX model"};
    auto& graph = *proto.mutable_graph();
    std::set<std::string> known;
    for (const onnx_wire::ValueInfo& output : graph.output())
        known.insert(output.name());
    for (const onnx_wire::Node& node : graph.node()) {
        for (const std::string& name : node.output()) {
            if (!name.empty() && known.insert(name).second)
                graph.add_output()->set_name(name);
        }
    }
    const std::string text = proto.SerializeAsString();
    const auto* start = reinterpret_cast<const std::byte*>(text.data());
    out.assign(start, start + text.size());
    return {};
}

}  // namespace rknpu::cpu
