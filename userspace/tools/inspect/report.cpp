// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "npuregs/regcmd.hpp"

namespace rknpu::tools {
namespace {

std::string_view kind_name(TensorKind kind) {
    switch (kind) {
        case TensorKind::kNone:
            return "none";
        case TensorKind::kInput:
            return "input";
        case TensorKind::kOutput:
            return "output";
        case TensorKind::kInternal:
            return "internal";
        case TensorKind::kConstant:
            return "constant";
        case TensorKind::kCpuConstant:
            return "cpu constant";
        case TensorKind::kLutTarget:
            return "table target";
        case TensorKind::kTaskRegcmd:
            return "task commands";
        case TensorKind::kHelperConstant:
            return "helper constant";
        case TensorKind::kRegcmd:
            return "commands";
        case TensorKind::kTasks:
            return "tasks";
    }
    return "unknown";
}

std::string_view place_name(Place place) {
    switch (place) {
        case Place::kNowhere:
            return "none";
        case Place::kArena:
            return "arena";
        case Place::kConstants:
            return "weights";
        case Place::kHost:
            return "host";
    }
    return "unknown";
}

const GraphTensor& tensor_at(const JobGraph& graph, int32_t index) {
    return graph.tensors[static_cast<size_t>(index)];
}

Json tensor_json(const JobGraph& graph, size_t index) {
    const auto& tensor = graph.tensors[index];
    Json out = {{"index", index},
                {"name", tensor.name},
                {"kind", kind_name(tensor.kind)},
                {"type", to_string(tensor.type)},
                {"dims", tensor.dims},
                {"layout", to_string(tensor.order)}};
    if (!tensor.native_dims.empty())
        out["native_dims"] = tensor.native_dims;
    if (tensor.order == Order::kNhwc)
        out["row_pixels"] = tensor.row_stride;
    if (tensor.quantised) {
        out["scale"] = tensor.scale;
        out["zero_point"] = tensor.zero_point;
    }
    out["bytes"] = tensor.size;
    out["place"] = place_name(tensor.place);
    if (tensor.place == Place::kArena || tensor.place == Place::kConstants)
        out["offset"] = tensor.offset;
    return out;
}

Json ends_json(const JobGraph& graph, bool inputs) {
    Json list = Json::array();
    const auto& tensors = inputs ? graph.inputs : graph.outputs;
    for (size_t i = 0; i < tensors.size(); ++i) {
        Json entry = tensor_json(graph, static_cast<size_t>(tensors[i]));
        if (inputs && i < graph.normalisation.size()) {
            const auto& norm = graph.normalisation[i];
            // Channels that only fill up the layout are written too; they say nothing.
            const size_t channels = tensor_at(graph, tensors[i]).dims.size() == 4
                                        ? static_cast<size_t>(tensor_at(graph, tensors[i]).dims[1])
                                        : norm.mean.size();
            const auto cut = [&](auto values) {
                values.resize(std::min(values.size(), channels));
                return values;
            };
            entry["mean"] = cut(norm.mean);
            entry["std"] = cut(norm.scale);
            entry["channel_order"] = cut(norm.order);
        }
        list.push_back(std::move(entry));
    }
    return list;
}

Json attributes_json(const GraphNode& node) {
    Json out = Json::object();
    for (const auto& [name, value] : node.attributes)
        std::visit([&, key = name](const auto& values) { out[key] = values; }, value);
    return out;
}

Json layers_json(const JobGraph& graph) {
    Json list = Json::array();
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
        const auto& node = graph.nodes[i];
        Json entry = {{"id", i},
                      {"type", node.type},
                      {"name", node.name},
                      {"engine", node.on_npu ? "NPU" : "CPU"},
                      {"inputs", node.inputs},
                      {"outputs", node.outputs},
                      {"tasks", node.task_count}};
        if (node.table_tasks != 0)
            entry["table_tasks"] = node.table_tasks;
        if (node.traffic_bytes != 0)
            entry["traffic_bytes"] = node.traffic_bytes;
        if (!node.attributes.empty())
            entry["attributes"] = attributes_json(node);
        list.push_back(std::move(entry));
    }
    return list;
}

constexpr unsigned kCoresOfStream[kStreams] = {1, 2, 2, 3, 3, 3};
constexpr unsigned kCoreOfStream[kStreams] = {0, 0, 1, 0, 1, 2};

size_t stream_of(const JobGraph& graph, size_t task) {
    for (size_t s = kStreams; s-- > 0;) {
        if (graph.stream_count[s] != 0 && task >= graph.stream_first[s])
            return s;
    }
    return 0;
}

Json tasks_json(const JobGraph& graph) {
    Json list = Json::array();
    for (size_t i = 0; i < graph.tasks.size(); ++i) {
        const auto& task = graph.tasks[i];
        const size_t stream = stream_of(graph, i);
        const uint64_t tail =
            graph.regcmd[task.regcmd_addr / sizeof(uint64_t) + task.regcfg_amount];
        list.push_back({{"index", i},
                        {"cores", kCoresOfStream[stream]},
                        {"core", kCoreOfStream[stream]},
                        {"layer", task.op_idx},
                        {"enable", npuregs::describe_enable_mask(task.enable_mask)},
                        {"interrupt", task.int_mask},
                        {"commands", task.regcfg_amount},
                        {"offset", task.regcmd_addr},
                        {"next", static_cast<uint32_t>(tail >> 16)}});
    }
    return list;
}

/// Internal tensors by address, with the layers that first write and last read them.
Json memory_json(const JobGraph& graph) {
    struct Life {
        size_t tensor, first = SIZE_MAX, last = 0;
    };
    std::vector<Life> lives;
    for (size_t i = 0; i < graph.tensors.size(); ++i) {
        if (graph.tensors[i].place == Place::kArena)
            lives.push_back({i});
    }
    for (auto& life : lives) {
        for (size_t n = 0; n < graph.nodes.size(); ++n) {
            const auto& node = graph.nodes[n];
            for (const auto* list : {&node.inputs, &node.outputs}) {
                if (std::find(list->begin(), list->end(), static_cast<int32_t>(life.tensor)) ==
                    list->end())
                    continue;
                life.first = std::min(life.first, n);
                life.last = std::max(life.last, n);
            }
        }
    }
    std::stable_sort(lives.begin(), lives.end(), [&](const Life& a, const Life& b) {
        return graph.tensors[a.tensor].offset < graph.tensors[b.tensor].offset;
    });
    Json list = Json::array();
    for (const auto& life : lives) {
        const auto& tensor = graph.tensors[life.tensor];
        Json entry = {{"tensor", life.tensor},
                      {"name", tensor.name},
                      {"kind", kind_name(tensor.kind)},
                      {"start", tensor.offset},
                      {"end", tensor.offset + tensor.size}};
        if (life.first != SIZE_MAX) {
            entry["first_layer"] = life.first;
            entry["last_layer"] = life.last;
        }
        list.push_back(std::move(entry));
    }
    return list;
}

Json patches_json(const JobGraph& graph) {
    const auto words = [&](const std::vector<WordPatch>& patches) {
        Json list = Json::array();
        for (const auto& patch : patches)
            list.push_back({{"word", patch.word},
                            {"register", npuregs::register_name(
                                             static_cast<uint16_t>(graph.regcmd[patch.word]))},
                            {"value", patch.value}});
        return list;
    };
    Json list = Json::array();
    for (const auto& patch : graph.input_patches)
        list.push_back({{"tensor", patch.tensor},
                        {"geometry", words(patch.geometry)},
                        {"converter", words(patch.converter)}});
    return list;
}

Json disassembly_json(const JobGraph& graph) {
    Json list = Json::array();
    std::vector<bool> done(graph.regcmd.size(), false);
    for (size_t i = 0; i < graph.tasks.size(); ++i) {
        const auto& task = graph.tasks[i];
        const size_t first = task.regcmd_addr / sizeof(uint64_t);
        Json entry = {{"task", i}, {"layer", task.op_idx}, {"word", first}};
        if (!done[first])  // streams for several cores share commands with the first one
            entry["commands"] = disassemble(graph, first, size_t{task.regcfg_amount} + 4);
        done[first] = true;
        list.push_back(std::move(entry));
    }
    return list;
}

Json model_json(const JobGraph& graph) {
    size_t cpu = 0;
    for (const auto& node : graph.nodes)
        cpu += node.on_npu ? 0 : 1;
    Json streams = Json::array();
    for (size_t s = 0; s < kStreams; ++s) {
        if (graph.stream_count[s] != 0)
            streams.push_back({{"cores", kCoresOfStream[s]},
                               {"core", kCoreOfStream[s]},
                               {"first_task", graph.stream_first[s]},
                               {"tasks", graph.stream_count[s]}});
    }
    return {{"target", graph.target},
            {"compiler", graph.compiler},
            {"source", graph.source},
            {"shapes", graph.shape_mode},
            {"custom_string", graph.custom_string},
            {"batch", graph.batch},
            {"layers", graph.nodes.size()},
            {"cpu_layers", cpu},
            {"tensors", graph.tensors.size()},
            {"commands", graph.regcmd.size()},
            {"relocations", graph.relocations.size()},
            {"weight_bytes", graph.constants_size},
            {"arena_bytes", graph.arena_size},
            {"streams", std::move(streams)}};
}

}  // namespace

Json model_report(const std::string& path, const Container& container, const JobGraph& graph,
                  const std::set<Part>& parts) {
    Json out = {{"file", path},
                {"container",
                 {{"layout", static_cast<uint8_t>(container.version)},
                  {"payload_bytes", container.payload.size()},
                  {"json_bytes", container.json.size()}}},
                {"model", model_json(graph)},
                {"inputs", ends_json(graph, true)},
                {"outputs", ends_json(graph, false)}};
    if (parts.contains(Part::kTensors)) {
        auto& list = out["tensors"] = Json::array();
        for (size_t i = 0; i < graph.tensors.size(); ++i)
            list.push_back(tensor_json(graph, i));
    }
    if (parts.contains(Part::kLayers))
        out["layers"] = layers_json(graph);
    if (parts.contains(Part::kTasks))
        out["tasks"] = tasks_json(graph);
    if (parts.contains(Part::kMemory))
        out["memory"] = memory_json(graph);
    if (parts.contains(Part::kPatches))
        out["patches"] = patches_json(graph);
    if (parts.contains(Part::kDisassembly))
        out["disassembly"] = disassembly_json(graph);
    if (parts.contains(Part::kLint)) {
        auto& list = out["lint"] = Json::array();
        for (size_t s = 0; s < kStreams; ++s) {
            for (auto& line : lint_stream(graph, s))
                list.push_back(std::move(line));
        }
    }
    return out;
}

}  // namespace rknpu::tools
