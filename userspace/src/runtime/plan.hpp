// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "device/device.hpp"
#include "model/graph.hpp"

namespace rknpu {

/// Part of a run: a job for the NPU, or one node on the CPU.
struct PlanStep {
    bool on_npu = false;
    uint32_t first_node = 0;
    uint32_t last_node = 0;  ///< inclusive; equal to first_node on the CPU
    uint32_t cores = 0;      ///< cores that share the work
    std::array<TaskRange, 3> ranges{};
};

/// Steps of one inference in the order of the nodes.
///
/// With one core consecutive NPU nodes form one job, unless `per_node` asks for a job each (to
/// measure layers). With more cores an operator that is split becomes a job of its own, because the
/// next one may read what the other cores wrote; operators that are not split run on the first
/// core.
std::vector<PlanStep> make_plan(const JobGraph& graph, uint32_t cores, bool per_node);

/// Largest number of cores the file has task streams for.
uint32_t planned_cores(const JobGraph& graph);

}  // namespace rknpu
