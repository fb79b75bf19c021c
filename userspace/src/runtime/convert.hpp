// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/status.hpp"
#include "core/types.hpp"
#include "npu/layout.hpp"

namespace rknpu {

/// One side of a conversion: what the elements mean and where they lie.
struct ElementView {
    DataType type = DataType::kFloat32;
    bool quantised = false;  ///< real = scale * (code - zero_point)
    float scale = 1.0f;
    int32_t zero_point = 0;
    ImageLayout layout;

    /// Bytes the memory holds, padding included.
    uint64_t bytes() const { return bytes_of(type, layout.storage()); }
    /// The code of 0.0, which padding lanes get.
    int32_t zero_code() const { return quantised ? zero_point : 0; }
};

/// Channel c becomes (x[order[c]] - mean[c]) / scale[c]; empty = unchanged.
struct ChannelMap {
    std::vector<float> mean;
    std::vector<float> scale;
    std::vector<uint32_t> order;

    bool empty() const { return mean.empty() && order.empty(); }
};

/// Converts every element: dequantise, map, quantise with rounding to nearest, ties to even, and
/// saturation. Equal types and quantisation without a map only move bytes. Both sides have the same
/// n, c, h, w; spans hold at least bytes() of their side and do not overlap.
void convert(const ElementView& from, std::span<const std::byte> source, const ElementView& to,
             std::span<std::byte> target, const ChannelMap& map);

/// The same, one element after the other: what the fast paths are tested against.
void convert_reference(const ElementView& from, std::span<const std::byte> source,
                       const ElementView& to, std::span<std::byte> target, const ChannelMap& map);

}  // namespace rknpu
