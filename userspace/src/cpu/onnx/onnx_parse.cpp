// SPDX-License-Identifier: MIT
// Field numbers are those of the published format (onnx/onnx, IR version 8); fields that are not
// needed to run a graph are skipped.
#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "onnx_model.hpp"
#include "wire.hpp"

namespace rknpu::cpu {

namespace {

using wire::Bytes;
using wire::Field;
using wire::Kind;
using wire::Reader;

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

const Status kDamaged{StatusCode::kInvalidValue, "not a serialised ONNX message"};

/// Calls handle(field) for each field of a message; false from it means the field is damaged.
template <typename Handle>
Status for_each(Bytes message, Handle&& handle) {
    Reader reader(message);
    Field field;
    while (reader.next(field)) {
        if (!handle(field))
            return kDamaged;
    }
    return reader.damaged() ? kDamaged : Status{};
}

bool is_bytes(const Field& field) {
    return field.kind == Kind::kBytes;
}

struct WireTensor {
    std::string name;
    std::vector<std::int64_t> dims;
    std::int32_t type = 0;
    std::vector<float> floats;
    std::vector<std::int32_t> ints;
    std::vector<std::int64_t> longs;
    std::vector<double> doubles;
    std::vector<std::uint64_t> unsigned_longs;
    std::optional<Bytes> raw;
    bool elsewhere = false;
};

Status read_wire_tensor(Bytes message, WireTensor& out) {
    return for_each(message, [&](const Field& field) {
        switch (field.number) {
            case 1:
                return wire::append(field, out.dims);
            case 2:
                out.type = static_cast<std::int32_t>(field.value);
                return field.kind == Kind::kVarint;
            case 4:
                return wire::append(field, out.floats);
            case 5:
                return wire::append(field, out.ints);
            case 7:
                return wire::append(field, out.longs);
            case 8:
                out.name = field.text();
                return is_bytes(field);
            case 9:
                out.raw = field.bytes;
                return is_bytes(field);
            case 10:
                return wire::append(field, out.doubles);
            case 11:
                return wire::append(field, out.unsigned_longs);
            case 14:
                out.elsewhere = field.value != 0;
                return field.kind == Kind::kVarint;
            default:
                return true;
        }
    });
}

/// The typed repeated fields hold one element per entry; narrow types are widened to int32 there.
template <typename To, typename From>
std::vector<std::byte> narrow(const std::vector<From>& from) {
    std::vector<std::byte> bytes(from.size() * sizeof(To));
    for (std::size_t i = 0; i < from.size(); ++i) {
        const To value = static_cast<To>(from[i]);
        std::memcpy(bytes.data() + i * sizeof(To), &value, sizeof(To));
    }
    return bytes;
}

std::vector<std::byte> typed_data(const WireTensor& tensor, DType dtype) {
    switch (dtype) {
        case DType::kF32:
            return narrow<float>(tensor.floats);
        case DType::kF64:
            return narrow<double>(tensor.doubles);
        case DType::kI64:
            return narrow<std::int64_t>(tensor.longs);
        case DType::kU64:
            return narrow<std::uint64_t>(tensor.unsigned_longs);
        case DType::kU32:
            return narrow<std::uint32_t>(tensor.unsigned_longs);
        case DType::kI32:
            return narrow<std::int32_t>(tensor.ints);
        default:
            if (dtype_size(dtype) == 2)
                return narrow<std::uint16_t>(tensor.ints);
            return narrow<std::uint8_t>(tensor.ints);
    }
}

Status read_tensor(Bytes message, std::string& name, Tensor& out) {
    WireTensor from;
    RKNPU_CPU_TRY(read_wire_tensor(message, from));
    name = from.name;
    const std::optional<DType> dtype = dtype_from_onnx(from.type);
    if (!dtype)
        return {StatusCode::kInvalidType, cat("tensor '", name, "' has element type ", from.type,
                                              ", which is neither a number nor bool")};
    if (from.elsewhere)
        return {StatusCode::kInvalidValue, cat("tensor '", name,
                                               "' keeps its data in another file; save the model "
                                               "with embedded data")};
    const std::optional<Dims> dims = Dims::from(std::span<const std::int64_t>(from.dims));
    if (!dims)
        return {StatusCode::kInvalidShape, cat("tensor '", name, "' has a bad shape")};
    const TensorInfo info{*dtype, *dims, std::nullopt};
    if (from.raw)
        return Tensor::create(info, *from.raw, out);
    return Tensor::create(info, typed_data(from, *dtype), out);
}

/// AttributeProto.AttributeType of the ONNX format.
enum AttributeType { kFloat = 1, kInt, kString, kTensor, kGraph, kFloats, kInts, kStrings };

struct WireAttribute {
    std::string name;
    int type = 0;
    float real = 0;
    std::int64_t integer = 0;
    std::string text;
    Bytes tensor;
    std::vector<float> reals;
    std::vector<std::int64_t> integers;
    std::vector<std::string> texts;
    std::set<std::uint32_t> given;  // numbers of the fields that are there

    /// Older writers leave `type` out; the filled field tells then.
    int kind() const {
        constexpr std::pair<std::uint32_t, int> kFields[] = {
            {2, kFloat}, {3, kInt},    {4, kString}, {5, kTensor},
            {6, kGraph}, {7, kFloats}, {9, kStrings}};
        if (type != 0)
            return type;
        for (const auto& [number, kind] : kFields) {
            if (given.contains(number))
                return kind;
        }
        return kInts;
    }
};

Status read_wire_attribute(Bytes message, WireAttribute& out) {
    return for_each(message, [&](const Field& field) {
        out.given.insert(field.number);
        switch (field.number) {
            case 1:
                out.name = field.text();
                return is_bytes(field);
            case 2: {
                const auto bits = static_cast<std::uint32_t>(field.value);
                std::memcpy(&out.real, &bits, sizeof(bits));
                return field.kind == Kind::kFixed32;
            }
            case 3:
                out.integer = static_cast<std::int64_t>(field.value);
                return field.kind == Kind::kVarint;
            case 4:
                out.text = field.text();
                return is_bytes(field);
            case 5:
                out.tensor = field.bytes;
                return is_bytes(field);
            case 7:
                return wire::append(field, out.reals);
            case 8:
                return wire::append(field, out.integers);
            case 9:
                out.texts.push_back(field.text());
                return is_bytes(field);
            case 20:
                out.type = static_cast<int>(field.value);
                return field.kind == Kind::kVarint;
            default:
                return true;
        }
    });
}

Status read_attribute(Bytes message, OnnxNode& node) {
    WireAttribute from;
    RKNPU_CPU_TRY(read_wire_attribute(message, from));
    switch (from.kind()) {
        case kFloat:
            node.attributes.set(from.name, from.real);
            return {};
        case kInt:
            node.attributes.set(from.name, from.integer);
            return {};
        case kString:
            node.attributes.set(from.name, from.text);
            return {};
        case kFloats:
            node.attributes.set(from.name, std::move(from.reals));
            return {};
        case kInts:
            node.attributes.set(from.name, std::move(from.integers));
            return {};
        case kStrings:
            node.attributes.set(from.name, std::move(from.texts));
            return {};
        case kTensor: {
            Tensor tensor;
            std::string name;
            if (Status status = read_tensor(from.tensor, name, tensor); !status.ok())
                node.unsupported = status.text();
            else
                node.attributes.set(from.name, std::move(tensor));
            return {};
        }
        default:
            node.unsupported = cat("attribute '", from.name, "' holds a graph");
            return {};
    }
}

/// Dimension: 1 value, 2 name.
Status read_dim(Bytes message, OnnxValue& value) {
    std::int64_t dim = -1;
    RKNPU_CPU_TRY(for_each(message, [&](const Field& field) {
        if (field.number == 1)
            dim = static_cast<std::int64_t>(field.value);
        return field.number != 1 || field.kind == Kind::kVarint;
    }));
    value.dims.push_back(dim);
    return {};
}

/// Calls read(bytes) for each field `number` of a message.
template <typename Read>
Status each_part(Bytes message, std::uint32_t number, Read&& read) {
    Status status;
    Status outer = for_each(message, [&](const Field& field) {
        if (field.number == number && is_bytes(field) && status.ok())
            status = read(field.bytes);
        return true;
    });
    return outer.ok() ? status : outer;
}

/// ValueInfo: 1 name, 2 type {1 tensor {1 element type, 2 shape {1 dim}}}.
Status read_value(Bytes message, OnnxValue& value) {
    RKNPU_CPU_TRY(each_part(message, 1, [&](Bytes name) {
        value.name = {reinterpret_cast<const char*>(name.data()), name.size()};
        return Status{};
    }));
    const auto tensor = [&](Bytes type) {
        RKNPU_CPU_TRY(for_each(type, [&](const Field& field) {
            if (field.number == 1 && field.kind == Kind::kVarint)
                value.dtype =
                    dtype_from_onnx(static_cast<std::int32_t>(field.value)).value_or(DType::kNone);
            return true;
        }));
        return each_part(type, 2, [&](Bytes shape) {
            return each_part(shape, 1, [&](Bytes dim) { return read_dim(dim, value); });
        });
    };
    return each_part(message, 2, [&](Bytes type) { return each_part(type, 1, tensor); });
}

Status read_node(Bytes message, OnnxModel& model) {
    OnnxNode node;
    std::string domain;
    Status inner;
    RKNPU_CPU_TRY(for_each(message, [&](const Field& field) {
        switch (field.number) {
            case 1:
                node.inputs.push_back(field.text());
                break;
            case 2:
                node.outputs.push_back(field.text());
                break;
            case 3:
                node.name = field.text();
                break;
            case 4:
                node.type = field.text();
                break;
            case 5:
                if (inner.ok())
                    inner = read_attribute(field.bytes, node);
                break;
            case 7:
                domain = field.text();
                break;
            default:
                return true;
        }
        return is_bytes(field);
    }));
    RKNPU_CPU_TRY(inner);
    if (!domain.empty() && domain != "ai.onnx")
        node.unsupported = cat("operator domain '", domain, "' is not ai.onnx");
    model.nodes.push_back(std::move(node));
    return {};
}

/// OperatorSetId: 1 domain, 2 version.
Status read_opset(Bytes message, OnnxModel& model) {
    std::string domain;
    std::int64_t version = 0;
    RKNPU_CPU_TRY(for_each(message, [&](const Field& field) {
        if (field.number == 1)
            domain = field.text();
        if (field.number == 2)
            version = static_cast<std::int64_t>(field.value);
        return true;
    }));
    if (domain.empty() || domain == "ai.onnx")
        model.opset = version;
    return {};
}

// ModelProto: 7 graph, 8 operator sets. GraphProto: 1 node, 5 initializer, 11 input, 12 output.
constexpr std::uint32_t kModelGraph = 7, kModelOpset = 8;
constexpr std::uint32_t kGraphNode = 1, kGraphInitializer = 5, kGraphInput = 11, kGraphOutput = 12;

Status read_graph(Bytes graph, OnnxModel& model) {
    RKNPU_CPU_TRY(each_part(graph, kGraphInitializer, [&](Bytes message) {
        Tensor tensor;
        std::string name;
        RKNPU_CPU_TRY(read_tensor(message, name, tensor));
        model.initializers.insert_or_assign(name, std::move(tensor));
        return Status{};
    }));
    RKNPU_CPU_TRY(each_part(graph, kGraphInput, [&](Bytes message) {
        OnnxValue value;
        RKNPU_CPU_TRY(read_value(message, value));
        if (!model.initializers.contains(value.name))
            model.inputs.push_back(std::move(value));
        return Status{};
    }));
    RKNPU_CPU_TRY(each_part(graph, kGraphOutput, [&](Bytes message) {
        return read_value(message, model.outputs.emplace_back());
    }));
    return each_part(graph, kGraphNode, [&](Bytes message) { return read_node(message, model); });
}

void put_varint(std::vector<std::byte>& out, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        out.push_back(static_cast<std::byte>(value | 0x80));
    out.push_back(static_cast<std::byte>(value));
}

void put_bytes(std::vector<std::byte>& out, std::uint32_t number, Bytes bytes) {
    put_varint(out, std::uint64_t{number} << 3 | static_cast<std::uint64_t>(Kind::kBytes));
    put_varint(out, bytes.size());
    out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

Status parse_onnx_tensor(std::span<const std::byte> bytes, std::string& name, Tensor& out) {
    return read_tensor(bytes, name, out);
}

Status parse_onnx_model(std::span<const std::byte> bytes, OnnxModel& out) {
    OnnxModel model;
    bool found = false;
    RKNPU_CPU_TRY(
        each_part(bytes, kModelOpset, [&](Bytes message) { return read_opset(message, model); }));
    RKNPU_CPU_TRY(each_part(bytes, kModelGraph, [&](Bytes graph) {
        found = true;
        return read_graph(graph, model);
    }));
    if (!found)
        return {StatusCode::kInvalidValue, "not a serialised ONNX model"};
    out = std::move(model);
    return {};
}

Status expose_all_tensors(std::span<const std::byte> bytes, std::vector<std::byte>& out) {
    OnnxModel model;
    RKNPU_CPU_TRY(parse_onnx_model(bytes, model));
    std::set<std::string> known;
    for (const OnnxValue& output : model.outputs)
        known.insert(output.name);
    // A second graph field is merged into the first one: its outputs follow those that are there.
    std::vector<std::byte> more;
    for (const OnnxNode& node : model.nodes) {
        for (const std::string& name : node.outputs) {
            if (name.empty() || !known.insert(name).second)
                continue;
            std::vector<std::byte> value;
            put_bytes(value, 1, std::as_bytes(std::span(name)));
            put_bytes(more, kGraphOutput, value);
        }
    }
    out.assign(bytes.begin(), bytes.end());
    put_bytes(out, kModelGraph, more);
    return {};
}

}  // namespace rknpu::cpu
