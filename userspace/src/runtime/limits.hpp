// SPDX-License-Identifier: MIT
// What each layer type may be on the NPU of a chip: one table for the runtime and the
// documentation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/limits.hpp"
#include "core/types.hpp"
#include "model/graph.hpp"

namespace rknpu {

struct LimitRange {
    uint32_t low = 0;
    uint32_t high = 0;  ///< 0: not a parameter of this operator
};

/// Row of the table. Sizes are those one task can have; larger tensors are cut into tasks.
struct OperatorLimits {
    std::string_view type;
    LimitRange kernel, stride, pad, dilation;
    LimitRange channels;
    LimitRange size;  ///< width and height
};

/// Limits of a chip that concern every operator.
struct ChipLimits {
    std::string_view soc;
    uint32_t cores;
    uint32_t buffer_banks;  ///< of the convolution buffer
    uint32_t bank_bytes;
    uint32_t batch;  ///< largest N of a layer
    std::span<const OperatorLimits> operators;
};

/// The table of a chip, or null.
const ChipLimits* chip_limits(std::string_view soc);

/// Why a node is on the CPU although an NPU is there.
struct Verdict {
    Reason reason;
    std::string limit;  ///< the limit in words, with the value that broke it
};
Verdict judge(const ChipLimits* chip, const JobGraph& graph, const GraphNode& node);

/// One warning for every node that the model leaves to the CPU. Errors: kInvalidModel in strict
/// mode, with all of them.
Status report_cpu_nodes(const JobGraph& graph, std::string_view soc);

}  // namespace rknpu
