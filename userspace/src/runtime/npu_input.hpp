// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "model/graph.hpp"
#include "runtime/convert.hpp"

namespace rknpu {

/// The commands that make the NPU compute the codes of an input out of unsigned bytes, as the host
/// does with `map`: every byte of every channel becomes the same code whichever does it. Empty if
/// it cannot: the file has no tables for the input, something else than a convolution reads it, it
/// is no packed int8 image, or its codes are not `factor * byte + offset` with whole numbers. How
/// the hardware rounds is not known for certain, so what needs rounding stays with the host.
std::vector<WordPatch> npu_conversion(const JobGraph& graph, int32_t input, const ChannelMap& map);

}  // namespace rknpu
