// SPDX-License-Identifier: MIT
#pragma once

#include "core/status.hpp"
#include "model/graph.hpp"

namespace rknpu {

/// Checks that no task of a validated model can read or write outside the model's own buffers:
/// weights, internal tensors, each input, each output. Tasks with settings that the model of the
/// NPU does not know are not judged; it refuses to run them. Errors: kInvalidModel with the task.
Status check_reach(const JobGraph& graph);

}  // namespace rknpu
