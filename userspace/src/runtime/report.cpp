// SPDX-License-Identifier: MIT
#include "runtime/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

namespace rknpu {
namespace {

constexpr std::string_view kRule =
    "--------------------------------------------------------------------------------------------"
    "\n";
// Around the rows of the memory table, with a cross below each of the header's bars.
constexpr std::string_view kCrossRule =
    "--------------------------------------------------------------------------------------------"
    "-----------------------+-------------------------------------+-----------\n";

struct Row {
    std::string type, data_type, target, inputs, outputs, tasks, name;
    int64_t cpu_us = 0;
    int64_t npu_us = 0;
    std::array<uint32_t, 3> work{};
    uint64_t kilobytes = 0;
};

std::string upper(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return out;
}

std::string shape(const std::vector<int32_t>& dims) {
    return fmt::format("({})", fmt::join(dims, ","));
}

std::string shapes(const JobGraph& graph, const std::vector<int32_t>& tensors) {
    std::string out;
    for (const int32_t index : tensors) {
        const auto& tensor = graph.tensors[static_cast<size_t>(index)];
        if (tensor.name.ends_with("_exSecondary"))
            continue;
        out += (out.empty() ? "" : ",") + shape(tensor.dims);
    }
    return out.empty() ? "\\" : out;
}

/// As the manual's tables spell it.
std::string spelt(DataType type) {
    return type == DataType::kFloat32 ? "FLOAT" : upper(to_string(type));
}

/// A layer's type is that of what it reads; only the first one reads nothing.
std::string type_of(const JobGraph& graph, const GraphNode& node) {
    const auto& list = node.inputs.empty() ? node.outputs : node.inputs;
    if (list.empty())
        return "\\";
    return spelt(graph.tensors[static_cast<size_t>(list.front())].type);
}

/// The first layer that reads the tensor.
std::string_view user_of(const JobGraph& graph, int32_t tensor) {
    for (const auto& node : graph.nodes) {
        if (std::find(node.inputs.begin(), node.inputs.end(), tensor) != node.inputs.end())
            return node.type;
    }
    return "\\";
}

std::vector<Row> collect(const Session& session) {
    const auto& graph = session.program().graph;
    std::vector<Row> rows(graph.nodes.size());
    for (size_t i = 0; i < rows.size(); ++i) {
        const auto& node = graph.nodes[i];
        auto& row = rows[i];
        row.type = node.type;
        row.data_type = type_of(graph, node);
        row.target = node.on_npu ? "NPU" : "CPU";
        row.inputs = shapes(graph, node.inputs);
        row.outputs = shapes(graph, node.outputs);
        row.name =
            node.name.find(':') == std::string::npos ? node.type + ":" + node.name : node.name;
        row.kilobytes = node.traffic_bytes / 1024;
        row.tasks = "0/0";
    }
    const auto& plan = session.plan();
    for (size_t i = 0; i < plan.size(); ++i) {
        auto& row = rows[plan[i].first_node];
        const auto us =
            std::chrono::duration_cast<std::chrono::microseconds>(session.step_times()[i].wall)
                .count();
        (plan[i].on_npu ? row.npu_us : row.cpu_us) = us;
        for (size_t core = 0; core < row.work.size(); ++core)
            row.work[core] = plan[i].ranges[core].count;
        row.tasks = fmt::format("{}/0", row.work[0] + row.work[1] + row.work[2]);
    }
    return rows;
}

std::string workload(const std::array<uint32_t, 3>& work) {
    const uint32_t total = work[0] + work[1] + work[2];
    if (total == 0)
        return "0.0%/0.0%/0.0%--Up:0.0%";
    const double busiest = std::max({work[0], work[1], work[2]});
    const auto share = [&](uint32_t count) { return 100.0 * count / total; };
    return fmt::format("{:.1f}%/{:.1f}%/{:.1f}%--Up:{:.1f}%", share(work[0]), share(work[1]),
                       share(work[2]), 100.0 * (1.0 - busiest / total));
}

std::string ranking(const std::vector<Row>& rows, int64_t total) {
    struct Sum {
        int calls = 0;
        int64_t cpu = 0, npu = 0;
    };
    std::map<std::string, Sum> sums;
    for (const auto& row : rows) {
        auto& sum = sums[row.type];
        ++sum.calls;
        sum.cpu += row.cpu_us;
        sum.npu += row.npu_us;
    }
    std::vector<std::pair<std::string, Sum>> order(sums.begin(), sums.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
        return a.second.cpu + a.second.npu > b.second.cpu + b.second.npu;
    });
    std::string out =
        fmt::format("{:<24}{:<12}{:<14}{:<14}{:<14}{:<14}{}\n", "OpType", "CallNumber",
                    "CPUTime(us)", "GPUTime(us)", "NPUTime(us)", "TotalTime(us)", "TimeRatio(%)");
    out += kRule;
    for (const auto& [type, sum] : order) {
        const int64_t time = sum.cpu + sum.npu;
        out += fmt::format("{:<24}{:<12}{:<14}{:<14}{:<14}{:<14}{:.2f}%\n", type, sum.calls,
                           sum.cpu, 0, sum.npu, time,
                           total == 0 ? 0.0 : 100.0 * static_cast<double>(time) / total);
    }
    return out;
}

}  // namespace

std::string layer_table(const Session& session) {
    const auto rows = collect(session);
    std::string out(kRule);
    out += "                               Network Layer Information Table\n";
    out += kRule;
    out += fmt::format(
        "{:<5}{:<18}{:<10}{:<8}{:<36}{:<20}{:<11}{:<11}{:<11}{:<10}{:<16}{:<36}{:<12}{:<10}{}\n",
        "ID", "OpType", "DataType", "Target", "InputShape", "OutputShape", "DDRCycles", "NPUCycles",
        "MaxCycles", "Time(us)", "MacUsage(%)", "WorkLoad(0/1/2)--ImproveTherical", "TaskNumber",
        "RW(KB)", "FullName");
    out += kRule;
    int64_t total = 0;
    uint64_t traffic = 0;
    int cpu_layers = 0;
    int64_t cpu_time = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
        const auto& row = rows[i];
        const int64_t time = row.cpu_us + row.npu_us;
        total += time;
        traffic += row.kilobytes;
        cpu_layers += row.target == "CPU" ? 1 : 0;
        cpu_time += row.cpu_us;
        out += fmt::format(
            "{:<5}{:<18}{:<10}{:<8}{:<36}{:<20}{:<11}{:<11}{:<11}{:<10}{:<16}{:<36}{:<12}{:<10}{}"
            "\n",
            i + 1, row.type, row.data_type, row.target, row.inputs, row.outputs, "\\", "\\", "\\",
            time, "\\", workload(row.work), row.tasks, row.kilobytes, row.name);
    }
    out += kRule;
    out += fmt::format("Total Operator Elapsed Per Frame Time(us): {}\n", total);
    out += fmt::format("Total Memory Read/Write Per Frame Size(KB): {}\n", traffic);
    out += fmt::format("CPU layers: {} of {}, {:.1f}% of the time\n", cpu_layers, rows.size(),
                       total == 0 ? 0.0 : 100.0 * static_cast<double>(cpu_time) / total);
    out += kRule;
    out += "                               Operator Time Consuming Ranking Table\n";
    out += kRule;
    out += ranking(rows, total);
    out += kRule;
    return out;
}

std::string memory_table(const Session& session) {
    const auto& graph = session.program().graph;
    const auto& arena = session.internal().memory;
    const uint64_t sram = arena == nullptr ? 0 : arena->sram_size();
    const uint64_t base = arena == nullptr ? 0 : arena->device_address();
    std::string out(kRule);
    out += fmt::format("Total allocated Internal SRAM Size: {}, Addr: [{:#x}, {:#x})\n", sram, base,
                       base + sram);
    out += kRule;
    out += kCrossRule;
    out += fmt::format("{:<5}{:<18}{:<40}{:<10}{:<20}{:<22}| {:<12}{:<12}{:<12}| {}\n", "ID",
                       "User", "Tensor", "DataType", "OrigShape", "NativeShape", "[Start", "End)",
                       "Size", "SramHit");
    out += kCrossRule;
    uint64_t sizes = 0;
    uint64_t hits = 0;
    uint64_t ends = 0;
    int id = 0;
    for (const auto& node : graph.nodes) {
        for (const int32_t index : node.outputs) {
            const auto& tensor = graph.tensors[static_cast<size_t>(index)];
            const auto& location = session.location(index);
            const uint64_t start = location.memory == nullptr
                                       ? tensor.offset
                                       : location.memory->device_address() + location.offset;
            const bool internal = tensor.kind == TensorKind::kInternal;
            const uint64_t end = start + tensor.size;
            const uint64_t hit =
                !internal || start >= base + sram ? 0 : std::min(end, base + sram) - start;
            sizes += tensor.size;
            ends += internal ? 0 : tensor.size;
            hits += hit;
            out += fmt::format(
                "{:<5}{:<18}{:<40}{:<10}{:<20}{:<22}| {:#010x}  {:#010x}  {:#010x}  | "
                "{}\n",
                ++id, user_of(graph, index), tensor.name, spelt(tensor.type), shape(tensor.dims),
                shape(tensor.native_dims), start, end, tensor.size,
                internal ? fmt::format("{:#010x}", hit) : "\\");
        }
    }
    out += kCrossRule;
    out += kRule;
    out += fmt::format("Total Weight Memory Size: {}\n", graph.constants_size);
    out += fmt::format("Total Internal Memory Size: {}\n", graph.arena_size);
    out += fmt::format("Predict Internal Memory RW Amount: {}\n", 2 * sizes - ends);
    out += fmt::format("Predict Weight Memory RW Amount: {}\n", graph.constants_size);
    out += fmt::format("Predict SRAM Hit RW Amount: {}\n", 2 * hits);
    out += kRule;
    return out;
}

void log_text(LogLevel level, std::string_view text) {
    while (!text.empty()) {
        const size_t end = text.find('\n');
        log_line(level, text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
}

void log_memory_plan(const Session& session) {
    log_text(LogLevel::kDebug, memory_table(session));
}

}  // namespace rknpu
