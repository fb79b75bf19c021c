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

/// True if `next` goes on where `step` ends, on one core.
bool extends(const PlanStep& step, const PlanStep& next) {
    return step.on_npu && step.cores == 1 && next.cores == 1 &&
           step.ranges[0].first + step.ranges[0].count == next.ranges[0].first;
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
        if (!plan.empty() && !per_node && extends(plan.back(), step)) {
            plan.back().last_node = i;
            plan.back().ranges[0].count += step.ranges[0].count;
        } else {
            plan.push_back(step);
        }
    }
    return plan;
}

}  // namespace rknpu
