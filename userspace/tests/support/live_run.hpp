// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "model/graph.hpp"

namespace rknpu::test {

struct LiveResult {
    size_t tasks = 0;    ///< run to their end
    size_t refused = 0;  ///< of settings the NPU model does not know, or too long
    std::string escape;  ///< the first access outside the model's own buffers; empty: none
};

/// Runs every task of every stream of an accepted model on a memory in which the model's own
/// buffers lie, each with its exact size and nothing next to it. Tasks of more than `most_work`
/// multiplications are left out, models of more than 64 MiB altogether.
LiveResult run_live(const JobGraph& graph, uint64_t most_work = uint64_t{1} << 20);

}  // namespace rknpu::test
