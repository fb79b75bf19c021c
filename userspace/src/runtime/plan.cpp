// SPDX-License-Identifier: MIT
#include "runtime/plan.hpp"

#include <algorithm>

namespace rknpu {
namespace {

/// First stream of the configuration with that many cores.
constexpr size_t stream_base(uint32_t cores) {
    return cores == 1 ? 0 : cores == 2 ? 1 : 3;
}

bool is_end(const GraphNode& node) {
    return node.type == "InputOperator" || node.type == "OutputOperator";
}

PlanStep npu_step(const JobGraph& graph, uint32_t index, uint32_t cores) {
    const auto& node = graph.nodes[index];
    const size_t base = stream_base(cores);
    PlanStep step;
    step.on_npu = true;
    step.first_node = step.last_node = index;
    step.cores = 1;
    step.ranges[0] = {node.first_task[base], node.task_count[base]};
    for (uint32_t core = 1; core < cores; ++core) {
        const uint32_t count = node.task_count[base + core];
        if (count != 0)
            step.cores = cores;
        step.ranges[core] = {node.first_task[base + core], count};
    }
    return step;
}

/// True if the commands of task `index` lead on to those of the next task in the table. Streams for
/// several cores share commands with the single-core stream and then lead elsewhere.
bool leads_on(const JobGraph& graph, uint32_t index) {
    const auto& task = graph.tasks[index];
    const uint64_t tail = graph.regcmd[task.regcmd_addr / sizeof(uint64_t) + task.regcfg_amount];
    return index + 1 < graph.tasks.size() &&
           static_cast<uint32_t>(tail >> 16) == graph.tasks[index + 1].regcmd_addr;
}

/// True if `next` goes on where `step` ends, on one core.
bool extends(const JobGraph& graph, const PlanStep& step, const PlanStep& next) {
    if (!step.on_npu || step.cores != 1 || next.cores != 1)
        return false;
    const uint32_t end = step.ranges[0].first + step.ranges[0].count;
    return end == next.ranges[0].first && leads_on(graph, end - 1);
}

/// Cuts a step for one core where the commands do not lead on.
std::vector<PlanStep> cut(const JobGraph& graph, const PlanStep& step) {
    if (step.cores != 1)
        return {step};
    std::vector<PlanStep> parts;
    const TaskRange whole = step.ranges[0];
    uint32_t start = whole.first;
    for (uint32_t i = whole.first; i < whole.first + whole.count; ++i) {
        if (i + 1 < whole.first + whole.count && leads_on(graph, i))
            continue;
        parts.push_back(step);
        parts.back().ranges[0] = {start, i + 1 - start};
        start = i + 1;
    }
    return parts;
}

}  // namespace

uint32_t planned_cores(const JobGraph& graph) {
    uint32_t cores = 1;
    if (graph.stream_count[1] != 0)
        cores = 2;
    if (graph.stream_count[3] != 0)
        cores = 3;
    return cores;
}

std::vector<PlanStep> make_plan(const JobGraph& graph, uint32_t cores, bool per_node) {
    const uint32_t used = std::min(cores, planned_cores(graph));
    std::vector<PlanStep> plan;
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
        const auto& node = graph.nodes[i];
        if (is_end(node))
            continue;
        if (!node.on_npu) {
            plan.push_back({false, i, i, 0, {}});
            continue;
        }
        const PlanStep step = npu_step(graph, i, used);
        const bool empty = std::all_of(step.ranges.begin(), step.ranges.end(),
                                       [](TaskRange range) { return range.count == 0; });
        if (empty)
            continue;
        for (const auto& part : cut(graph, step)) {
            if (!plan.empty() && !per_node && extends(graph, plan.back(), part)) {
                plan.back().last_node = i;
                plan.back().ranges[0].count += part.ranges[0].count;
            } else {
                plan.push_back(part);
            }
        }
    }
    return plan;
}

}  // namespace rknpu
