// SPDX-License-Identifier: MIT
// Small .rknn files with layers on the NPU, made by the compiler of this repository.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "support/edit_model.hpp"

namespace rknpu::test {

using Size = std::pair<uint32_t, uint32_t>;  // height, width

/// Two convolutions of a picture of three channels, with the same weights whatever its size is.
std::vector<std::byte> network(Size size, float gain = 1);

/// One file with that network for each of the sizes, after `more` has changed it.
std::vector<std::byte> dynamic_network(std::span<const Size> sizes,
                                       const std::function<void(schema::ModelT&)>& more = {});

}  // namespace rknpu::test
