// SPDX-License-Identifier: MIT
#include "runtime/program.hpp"

#include <algorithm>
#include <cstring>

#include "core/bytes.hpp"

namespace rknpu {

std::shared_ptr<const Program> make_program(std::shared_ptr<Device> device, JobGraph graph) {
    auto program = std::make_shared<Program>();
    program->device = std::move(device);
    program->relocations = graph.relocations;
    std::stable_sort(
        program->relocations.begin(), program->relocations.end(),
        [](const WordRelocation& a, const WordRelocation& b) { return a.tensor < b.tensor; });
    program->relocation_start.assign(graph.tensors.size() + 1, 0);
    for (const auto& item : program->relocations)
        ++program->relocation_start[static_cast<size_t>(item.tensor) + 1];
    for (size_t i = 0; i < graph.tensors.size(); ++i)
        program->relocation_start[i + 1] += program->relocation_start[i];
    program->graph = std::move(graph);
    return program;
}

Status fill_constants(const Program& program, uint64_t first, std::span<std::byte> target) {
    const auto fill = [&](uint64_t place, std::span<const std::byte> data) {
        const uint64_t offset = place - first;
        if (place < first || !range_inside(offset, data.size(), target.size()))
            return Status::failure(Error::kInvalidArgument,
                                   "the weight memory has {} bytes, {} are needed", target.size(),
                                   program.graph.constants_size);
        std::memcpy(target.data() + offset, data.data(), data.size());
        return Status();
    };
    for (const auto& tensor : program.graph.tensors) {
        if (tensor.place != Place::kConstants || tensor.data.empty())
            continue;
        if (auto status = fill(tensor.offset, tensor.data); !status.ok())
            return status;
    }
    for (const auto& [offset, data] : program.graph.more_constants) {
        if (auto status = fill(offset, data); !status.ok())
            return status;
    }
    return {};
}

ImageLayout layout_of(const GraphTensor& tensor) {
    const auto dim = [](int32_t value) { return static_cast<uint32_t>(value); };
    if (tensor.dims.size() != 4)
        return ImageLayout::plain(1, 1, 1, static_cast<uint32_t>(tensor.elements()));
    const uint32_t n = dim(tensor.dims[0]);
    const uint32_t c = dim(tensor.dims[1]);
    const uint32_t h = dim(tensor.dims[2]);
    const uint32_t w = dim(tensor.dims[3]);
    if (tensor.order == Order::kNhwc)
        return ImageLayout::nhwc(n, c, h, w, tensor.row_stride);
    if (tensor.order == Order::kNc1hwc2) {
        auto layout =
            ImageLayout::native(n, c, h, w, dim(tensor.native_dims[1]), dim(tensor.native_dims[4]));
        layout.native_w = dim(tensor.native_dims[3]);
        layout.plane = static_cast<uint32_t>(
            surface_pitch(uint64_t{dim(tensor.native_dims[2])} * layout.native_w));
        return layout;
    }
    return ImageLayout::plain(n, c, h, w);
}

ElementView view_of(const GraphTensor& tensor) {
    const bool integer = tensor.type == DataType::kInt8 || tensor.type == DataType::kUint8 ||
                         tensor.type == DataType::kInt16;
    return {tensor.type, tensor.quantised && integer, tensor.scale, tensor.zero_point,
            layout_of(tensor)};
}

ChannelMap channel_map(const JobGraph& graph, size_t input) {
    const auto& tensor = graph.tensors[static_cast<size_t>(graph.inputs[input])];
    // Only images are normalised; other shapes come as the model wants them.
    if (input >= graph.normalisation.size() || tensor.dims.size() != 4)
        return {};
    const auto& from = graph.normalisation[input];
    ChannelMap map{from.mean, from.scale, from.order};
    const auto channels = static_cast<size_t>(tensor.dims[1]);
    map.mean.resize(std::min(map.mean.size(), channels));
    map.scale.resize(std::min(map.scale.size(), channels));
    map.order.resize(std::min(map.order.size(), channels));
    const bool identity =
        std::all_of(map.mean.begin(), map.mean.end(), [](float v) { return v == 0.0f; }) &&
        std::all_of(map.scale.begin(), map.scale.end(), [](float v) { return v == 1.0f; });
    bool in_order = true;
    for (size_t i = 0; i < map.order.size(); ++i)
        in_order = in_order && map.order[i] == i;
    if (identity)
        map.mean.clear(), map.scale.clear();
    if (in_order)
        map.order.clear();
    for (float& scale : map.scale)
        scale = scale == 0.0f ? 1.0f : scale;
    return map;
}

}  // namespace rknpu
