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
    /// picture and knows the reach of every task: its commands then stay inside the first one.
    bool certain = false;
};

Batch batch_of(const JobGraph& graph);

/// Makes inputs and outputs those of one picture; `all`: room is reserved for every picture.
void keep_one_picture(JobGraph& graph, uint32_t pictures, bool all);

/// Makes the graph of one picture, which validate() has accepted, that of `pictures`, one after
/// the other: commands, tasks and nodes are there as often, each set for a part of every input and
/// output. `room` is how many bytes that may take, and what is left of them afterwards. Errors:
/// kInvalidModel if it becomes too large; nothing has been repeated then.
Status repeat_for_batch(JobGraph& graph, uint32_t pictures, uint64_t& room);

/// `room` for all graphs of a file together.
constexpr uint64_t kBatchRoom = uint64_t{1} << 30;

}  // namespace rknpu
