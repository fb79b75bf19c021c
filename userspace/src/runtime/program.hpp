// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <vector>

#include "core/status.hpp"
#include "device/device.hpp"
#include "model/graph.hpp"
#include "runtime/convert.hpp"

namespace rknpu {

/// A loaded model: the graph and what contexts on it share. Constant after creation.
struct Program {
    std::shared_ptr<Device> device;
    JobGraph graph;
    /// Relocations grouped by tensor: those of tensor t are
    /// relocations[relocation_start[t] .. relocation_start[t + 1]).
    std::vector<WordRelocation> relocations;
    std::vector<uint32_t> relocation_start;

    bool npu_reads_or_writes(int32_t tensor) const {
        const int32_t part = graph.tensors[static_cast<size_t>(tensor)].first_part;
        const auto index = static_cast<size_t>(part < 0 ? tensor : part);
        return relocation_start[index] != relocation_start[index + 1];
    }
};

std::shared_ptr<const Program> make_program(std::shared_ptr<Device> device, JobGraph graph);

/// Copies the constants from offset `first` on to where relocations expect them: `target` is the
/// memory from that offset on.
Status fill_constants(const Program& program, uint64_t first, std::span<std::byte> target);

/// Layout of a tensor's elements; tensors that are no images count as one row.
ImageLayout layout_of(const GraphTensor& tensor);

/// Layout, type and quantisation of a tensor in device memory.
ElementView view_of(const GraphTensor& tensor);

/// Mean, scale and channel order of an input as the file has them; empty if nothing changes.
ChannelMap channel_map(const JobGraph& graph, size_t input);

}  // namespace rknpu
