// SPDX-License-Identifier: MIT
#include "support/cpu_model.hpp"

#include <rknn_generated.h>

#include <algorithm>
#include <cstring>

namespace rknpu::test {
namespace {

namespace fb = flatbuffers;

constexpr uint8_t kInput = 1;
constexpr uint8_t kOutput = 2;
constexpr uint8_t kInternal = 3;
constexpr uint8_t kConstant = 5;
constexpr uint8_t kRegcmd = 9;
constexpr uint8_t kTasks = 10;
constexpr uint8_t kBlob = 13;
constexpr uint8_t kLayoutNative = 64;

uint32_t width(FileType type) {
    switch (type) {
        case FileType::kFloat:
        case FileType::kInt32:
            return 4;
        case FileType::kInt64:
            return 8;
        case FileType::kHalf:
            return 2;
        default:
            return 1;
    }
}

uint32_t bytes_of(const FileTensor& tensor) {
    if (tensor.bytes != 0)
        return tensor.bytes;
    uint32_t count = width(tensor.type);
    if (tensor.native.empty()) {
        for (const int32_t dim : tensor.dims)
            count *= static_cast<uint32_t>(dim);
        return count;
    }
    // Surfaces start at multiples of four pixels.
    const auto pixels = static_cast<uint32_t>(tensor.native[2] * tensor.native[3]);
    const uint32_t plane = pixels == 1 ? 1 : (pixels + 3) / 4 * 4;
    return count * static_cast<uint32_t>(tensor.native[0] * tensor.native[1] * tensor.native[4]) *
           plane;
}

class Bson {
 public:
    void begin() { starts_.push_back(reserve()); }
    void begin(const std::string& name, uint8_t kind) {
        element(kind, name);
        begin();
    }
    void end() {
        bytes_.push_back(0);
        const size_t start = starts_.back();
        starts_.pop_back();
        const auto length = static_cast<uint32_t>(bytes_.size() - start);
        std::memcpy(bytes_.data() + start, &length, sizeof(length));
    }
    void text(const std::string& name, const std::string& value) {
        element(0x02, name);
        raw(static_cast<uint32_t>(value.size() + 1));
        bytes_.insert(bytes_.end(), value.begin(), value.end());
        bytes_.push_back(0);
    }
    void integer(const std::string& name, int64_t value) {
        element(0x12, name);
        raw(value);
    }
    void real(const std::string& name, double value) {
        element(0x01, name);
        raw(value);
    }
    const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
    void element(uint8_t kind, const std::string& name) {
        bytes_.push_back(kind);
        bytes_.insert(bytes_.end(), name.begin(), name.end());
        bytes_.push_back(0);
    }
    template <typename T>
    void raw(T value) {
        const size_t at = bytes_.size();
        bytes_.resize(at + sizeof(value));
        std::memcpy(bytes_.data() + at, &value, sizeof(value));
    }
    size_t reserve() {
        const size_t at = bytes_.size();
        bytes_.resize(at + 4);
        return at;
    }

    std::vector<uint8_t> bytes_;
    std::vector<size_t> starts_;
};

std::vector<uint8_t> attributes_of(const FileNode& node) {
    if (node.attributes.empty())
        return {};
    Bson bson;
    bson.begin();
    for (const auto& [name, value] : node.attributes) {
        bson.begin(name, 0x03);
        if (const auto* integer = std::get_if<int64_t>(&value)) {
            bson.text("dtype", "i");
            bson.integer("value", *integer);
        } else if (const auto* real = std::get_if<double>(&value)) {
            bson.text("dtype", "f");
            bson.real("value", *real);
        } else {
            bson.text("dtype", "is");
            bson.begin("value", 0x04);
            size_t i = 0;
            for (const int64_t item : std::get<std::vector<int64_t>>(value))
                bson.integer(std::to_string(i++), item);
            bson.end();
        }
        bson.end();
    }
    bson.end();
    return bson.bytes();
}

bool contains(const std::vector<int32_t>& list, size_t value) {
    return std::find(list.begin(), list.end(), static_cast<int32_t>(value)) != list.end();
}

class Writer {
 public:
    explicit Writer(const FileModel& model) : model_(model) {}

    std::vector<std::byte> payload() {
        std::vector<fb::Offset<schema::Tensor>> tensors;
        for (size_t i = 0; i < model_.tensors.size(); ++i)
            tensors.push_back(tensor(i));
        tensors.push_back(blob("regcmd", kRegcmd));
        tensors.push_back(blob("task", kTasks));
        std::vector<fb::Offset<schema::Node>> nodes;
        for (const auto& node : model_.nodes)
            nodes.push_back(this->node(node));
        const auto tensor_list = fbb_.CreateVector(tensors);
        const auto node_list = fbb_.CreateVector(nodes);
        const auto inputs = fbb_.CreateVector(model_.inputs);
        const auto outputs = fbb_.CreateVector(model_.outputs);
        const auto normalisation = this->normalisation();
        schema::GraphBuilder graph(fbb_);
        graph.add_tensors(tensor_list);
        graph.add_nodes(node_list);
        graph.add_inputs(inputs);
        graph.add_outputs(outputs);
        if (!normalisation.IsNull())
            graph.add_normalisation(normalisation);
        const auto graphs =
            fbb_.CreateVector(std::vector<fb::Offset<schema::Graph>>{graph.Finish()});
        const auto target = fbb_.CreateString(model_.target);
        const auto empty = schema::CreateBuffer(fbb_);
        std::vector<fb::Offset<schema::Buffer>> list{empty, empty};
        for (const auto* data : constants_)
            list.push_back(schema::CreateBuffer(
                fbb_,
                fbb_.CreateVector(reinterpret_cast<const uint8_t*>(data->data()), data->size())));
        const auto buffers = fbb_.CreateVector(list);
        const auto memory = schema::CreateMemoryPlan(fbb_, 0, arena_);
        schema::ModelBuilder out(fbb_);
        out.add_format(6);
        out.add_graphs(graphs);
        out.add_target(target);
        out.add_memory(memory);
        out.add_buffers(buffers);
        schema::FinishModelBuffer(fbb_, out.Finish());
        const auto* start = reinterpret_cast<const std::byte*>(fbb_.GetBufferPointer());
        return {start, start + fbb_.GetSize()};
    }

 private:
    fb::Offset<schema::Tensor> tensor(size_t index) {
        const auto& from = model_.tensors[index];
        const uint8_t kind = contains(model_.inputs, index)    ? kInput
                             : contains(model_.outputs, index) ? kOutput
                             : !from.data.empty()              ? kConstant
                                                               : kInternal;
        const auto native = fbb_.CreateVector(from.native);
        const auto dims = fbb_.CreateVector(from.dims);
        const auto name = fbb_.CreateString(from.name);
        const auto scale = fbb_.CreateVector(std::vector<float>{from.scale});
        const auto zero = fbb_.CreateVector(std::vector<int32_t>{from.zero_point});
        const uint32_t bytes = bytes_of(from);
        schema::TensorBuilder out(fbb_);
        out.add_dtype(static_cast<uint8_t>(from.type));
        out.add_layout(from.native.empty() ? 2 : kLayoutNative);
        out.add_kind(kind);
        out.add_native_dims(native);
        out.add_dims(dims);
        out.add_name(name);
        if (from.scale != 0.0f) {
            out.add_scale(scale);
            out.add_zero_point(zero);
        }
        out.add_size(bytes);
        if (!from.data.empty()) {
            out.add_buffer(static_cast<uint32_t>(constants_.size()) + 2);
            constants_.push_back(&from.data);
            return out.Finish();
        }
        out.add_offset(arena_);
        arena_ += (bytes + 63) / 64 * 64;
        return out.Finish();
    }

    fb::Offset<schema::Tensor> blob(const char* text, uint8_t kind) {
        const auto name = fbb_.CreateString(text);
        schema::TensorBuilder out(fbb_);
        out.add_dtype(kBlob);
        out.add_kind(kind);
        out.add_name(name);
        out.add_buffer(1);
        return out.Finish();
    }

    fb::Offset<schema::Node> node(const FileNode& from) {
        const auto type = fbb_.CreateString(from.type);
        const auto name = fbb_.CreateString(from.name);
        const auto inputs = fbb_.CreateVector(from.inputs);
        const auto outputs = fbb_.CreateVector(from.outputs);
        const auto attributes = fbb_.CreateVector(attributes_of(from));
        schema::NodeBuilder out(fbb_);
        out.add_type(type);
        out.add_name(name);
        out.add_inputs(inputs);
        out.add_outputs(outputs);
        out.add_attributes(attributes);
        return out.Finish();
    }

    fb::Offset<fb::Vector<fb::Offset<schema::Normalisation>>> normalisation() {
        if (model_.mean.empty())
            return {};
        const auto mean = fbb_.CreateVector(model_.mean);
        const auto scale = fbb_.CreateVector(model_.scale);
        std::vector<uint32_t> order(model_.mean.size());
        for (size_t i = 0; i < order.size(); ++i)
            order[i] = static_cast<uint32_t>(i);
        const auto channels = fbb_.CreateVector(order);
        return fbb_.CreateVector(std::vector<fb::Offset<schema::Normalisation>>{
            schema::CreateNormalisation(fbb_, mean, scale, channels)});
    }

    const FileModel& model_;
    fb::FlatBufferBuilder fbb_;
    uint32_t arena_ = 0;
    std::vector<const std::vector<std::byte>*> constants_;  // buffers 2 and up
};

}  // namespace

std::vector<std::byte> write_file(const FileModel& model) {
    const auto payload = Writer(model).payload();
    constexpr size_t kHeader = 64;
    const std::string trailer = "{}";
    const uint64_t layout = 6;
    const uint64_t size = payload.size();
    const uint64_t trailer_size = trailer.size();
    std::vector<std::byte> out(kHeader + payload.size() + sizeof(trailer_size) + trailer.size());
    std::byte* at = out.data();
    std::memcpy(at, "RKNN", 4);
    std::memcpy(at + 8, &layout, sizeof(layout));
    std::memcpy(at + 16, &size, sizeof(size));
    at += kHeader;
    std::memcpy(at, payload.data(), payload.size());
    at += payload.size();
    std::memcpy(at, &trailer_size, sizeof(trailer_size));
    std::memcpy(at + sizeof(trailer_size), trailer.data(), trailer.size());
    return out;
}

FileModel one_node(const std::string& type, const FileTensor& like) {
    FileModel out;
    out.tensors = {like, like};
    out.tensors[0].name = "in";
    out.tensors[1].name = "out";
    out.nodes = {{type, type + ":0", {0}, {1}}};
    out.inputs = {0};
    out.outputs = {1};
    return out;
}

}  // namespace rknpu::test
