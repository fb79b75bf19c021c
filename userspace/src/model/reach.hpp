// SPDX-License-Identifier: MIT
#pragma once

#include "core/status.hpp"
#include "model/graph.hpp"

namespace rknpu {

/// Checks that no task of a validated model can read or write outside the model's own buffers:
/// weights, internal tensors, each input, each output. Tasks with settings that the model of the
/// NPU does not know are not judged, it refuses to run them; `all` tells whether there were none.
/// Errors: kInvalidModel with the task.
Status check_reach(const JobGraph& graph, bool& all);

}  // namespace rknpu
