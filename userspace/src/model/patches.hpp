// SPDX-License-Identifier: MIT
#pragma once

#include <rknn_generated.h>

#include "model/graph.hpp"

namespace rknpu {

/// Takes over the input patch tables of an RK3588 file whose commands are already read. The tables
/// are optional: one that names a command outside the blob, or a command that sets another register
/// than the table says, is left out, and the host converts that input.
void read_input_patches(const schema::Graph& source, JobGraph& graph);

/// Drops the tables of inputs that are not convolved only, or whose converter commands do not
/// steer the converter of every task that reads the input and of no other task. For a graph whose
/// tasks lie inside its commands.
void keep_whole_input_patches(JobGraph& graph);

}  // namespace rknpu
