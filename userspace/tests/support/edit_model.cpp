// SPDX-License-Identifier: MIT
#include "support/edit_model.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rknpu::test {
namespace {

constexpr size_t kHeaderBytes = 64;
constexpr size_t kAlignment = 64;
constexpr uint8_t kOutput = 2, kInternal = 3;  // kinds of a tensor

std::span<const std::byte> payload_of(std::span<const std::byte> file) {
    uint64_t length = 0;
    if (file.size() >= kHeaderBytes)
        std::memcpy(&length, file.data() + 16, sizeof(length));
    if (length == 0 || length > file.size() - kHeaderBytes) {
        std::fputs("edit_model: not a .rknn file\n", stderr);
        std::abort();
    }
    return file.subspan(kHeaderBytes, length);
}

}  // namespace

std::vector<std::byte> edit_model(std::span<const std::byte> file,
                                  const std::function<void(schema::ModelT&)>& edit) {
    const auto payload = payload_of(file);
    const std::vector<std::byte> aligned(payload.begin(), payload.end());
    schema::ModelT model;
    schema::GetModel(aligned.data())->UnPackTo(&model);
    edit(model);
    flatbuffers::FlatBufferBuilder builder;
    schema::FinishModelBuffer(builder, schema::Model::Pack(builder, &model));

    const uint64_t length = (builder.GetSize() + kAlignment - 1) / kAlignment * kAlignment;
    std::vector<std::byte> out(kHeaderBytes + length + sizeof(uint64_t));
    std::memcpy(out.data(), file.data(), kHeaderBytes);
    std::memcpy(out.data() + 16, &length, sizeof(length));
    std::memcpy(out.data() + kHeaderBytes, builder.GetBufferPointer(), builder.GetSize());
    return out;
}

void append_cpu_node(schema::ModelT& model, const std::string& type) {
    auto& graph = *model.graphs.front();
    const int32_t input = graph.outputs.front();
    auto& before = *graph.tensors[static_cast<size_t>(input)];
    auto after = std::make_unique<schema::TensorT>(before);
    before.kind = kInternal;
    after->kind = kOutput;
    after->name = before.name + "_after";
    after->offset = static_cast<uint32_t>((model.memory->arena_bytes + 63) / 64 * 64);
    model.memory = std::make_unique<schema::MemoryPlanT>(*model.memory);
    model.memory->arena_bytes = after->offset + after->size;
    const auto output = static_cast<int32_t>(graph.tensors.size());
    graph.tensors.push_back(std::move(after));
    graph.outputs.front() = output;

    auto node = std::make_unique<schema::NodeT>();
    node->type = type;
    node->name = type + ":appended";
    node->inputs = {input};
    node->outputs = {output};
    // In front of the node that stands for the end of the graph.
    auto end = graph.nodes.end();
    if (!graph.nodes.empty() && graph.nodes.back()->type == "OutputOperator") {
        graph.nodes.back()->inputs = {output};
        --end;
    }
    graph.nodes.insert(end, std::move(node));
}

namespace {

std::vector<uint8_t>& blob_of(schema::ModelT& model, uint8_t kind) {
    for (const auto& tensor : model.graphs.front()->tensors) {
        if (tensor->kind == kind)
            return model.buffers[tensor->buffer]->data;
    }
    std::fputs("edit_model: no commands\n", stderr);
    std::abort();
}

/// Fills the tables from the commands [first, first + count) of one task.
void add_task_patches(const std::vector<uint8_t>& blob, uint32_t first, uint32_t count,
                      schema::GeometryPatchT& geometry, schema::ConvertPatchT& convert) {
    using Slot = std::unique_ptr<schema::Patch>;
    const std::pair<uint16_t, Slot*> slots[] = {
        {0x1020, &geometry.data_size0},     {0x100c, &geometry.conv_con1},
        {0x107c, &geometry.line_stride},    {0x1080, &geometry.surface_stride},
        {0x1070, &geometry.feature_offset}, {0x1044, &geometry.cbuf_entries},
        {0x104c, &convert.cvt_con0},        {0x1050, &convert.cvt_con1},
        {0x1054, &convert.cvt_con2},        {0x1058, &convert.cvt_con3},
        {0x105c, &convert.cvt_con4},        {0x1180, &convert.cvt_con5},
        {0x301c, &convert.clip_truncate},   {0x1038, &convert.weight_size2}};
    for (uint32_t word = first; word < first + count; ++word) {
        uint64_t command = 0;
        std::memcpy(&command, blob.data() + size_t{word} * 8, 8);
        for (const auto& [offset, slot] : slots) {
            if (static_cast<uint16_t>(command) == offset)
                *slot = std::make_unique<schema::Patch>(static_cast<uint32_t>(command >> 16), word);
        }
    }
}

}  // namespace

void add_input_patches(schema::ModelT& model) {
    constexpr size_t kTaskBytes = 40;
    auto& graph = *model.graphs.front();
    const auto& commands = blob_of(model, 9);
    const auto& tasks = blob_of(model, 10);
    for (const int32_t input : graph.inputs) {
        const auto& name = graph.tensors[static_cast<size_t>(input)]->name;
        auto geometry = std::make_unique<schema::GeometryPatchesT>();
        auto convert = std::make_unique<schema::ConvertPatchesT>();
        geometry->input = convert->input = name;
        for (const auto& list : graph.relocations) {
            if (list->tensor != name)
                continue;
            for (const auto& entry : list->entries) {
                for (size_t at = 0; at + kTaskBytes <= tasks.size(); at += kTaskBytes) {
                    uint32_t amount = 0;
                    uint64_t offset = 0;
                    std::memcpy(&amount, tasks.data() + at + 24, 4);
                    std::memcpy(&offset, tasks.data() + at + 32, 8);
                    if (entry.word() < offset / 8 || entry.word() >= offset / 8 + amount)
                        continue;
                    geometry->streams.push_back(std::make_unique<schema::GeometryPatchT>());
                    convert->streams.push_back(std::make_unique<schema::ConvertPatchT>());
                    add_task_patches(commands, static_cast<uint32_t>(offset / 8), amount,
                                     *geometry->streams.back(), *convert->streams.back());
                    break;
                }
            }
        }
        graph.geometry_patches.push_back(std::move(geometry));
        graph.convert_patches.push_back(std::move(convert));
    }
}

void add_shape(schema::ModelT& model, std::span<const std::byte> other) {
    const auto payload = payload_of(other);
    const std::vector<std::byte> aligned(payload.begin(), payload.end());
    schema::ModelT from;
    schema::GetModel(aligned.data())->UnPackTo(&from);
    std::vector<uint32_t> places(from.buffers.size(), 0);
    for (size_t i = 1; i < from.buffers.size(); ++i) {
        size_t place = 1;
        while (place < model.buffers.size() && model.buffers[place]->data != from.buffers[i]->data)
            ++place;
        if (place == model.buffers.size())
            model.buffers.push_back(std::move(from.buffers[i]));
        places[i] = static_cast<uint32_t>(place);
    }
    auto graph = std::move(from.graphs.front());
    for (auto& tensor : graph->tensors)
        tensor->buffer = places[tensor->buffer];
    model.graphs.push_back(std::move(graph));
    model.memory->arena_bytes = std::max(model.memory->arena_bytes, from.memory->arena_bytes);
    model.shape_mode = "dynamic_shape";
}

}  // namespace rknpu::test
