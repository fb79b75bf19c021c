// SPDX-License-Identifier: MIT
#pragma once

#include <rknn_generated.h>

#include "core/status.hpp"
#include "model/graph.hpp"

namespace rknpu {

/// Builds the command blob, task table and relocations of a layout-2 file, which keeps one register
/// buffer per task, in the form that layout 6 stores ready made.
Status read_legacy_commands(const schema::Graph& source, JobGraph& graph);

}  // namespace rknpu
