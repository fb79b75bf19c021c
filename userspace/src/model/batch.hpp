// SPDX-License-Identifier: MIT
#pragma once

#include "core/status.hpp"
#include "model/graph.hpp"

namespace rknpu {

/// A file of rknn_batch_size N says that its inputs and outputs hold N pictures; its commands, CPU
/// layers and internal tensors are those of one.
struct Batch {
    uint32_t pictures = 1;
    /// The native dims show it. Otherwise it is a batch only if validate() accepts the graph of one
    /// picture: its commands then stay inside the first one.
    bool certain = false;
};

Batch batch_of(const JobGraph& graph);

/// Makes inputs and outputs those of one picture; `all`: room is reserved for every picture.
void keep_one_picture(JobGraph& graph, uint32_t pictures, bool all);

/// Makes the graph of one picture, which validate() has accepted, that of `pictures`, one after
/// the other: commands, tasks and nodes are there as often, each set for a part of every input and
/// output. Errors: kInvalidModel if it becomes too large.
Status repeat_for_batch(JobGraph& graph, uint32_t pictures);

}  // namespace rknpu
