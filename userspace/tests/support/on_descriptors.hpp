// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace rknpu::test {

/// A descriptor of new memory, or -1.
using MakeMemory = std::function<int(uint64_t size)>;

/// Runs a model with one input and one output on /dev/dri, with weights, internal tensors, input
/// and output in memory of which the library is given nothing but a descriptor. Input and output
/// are float32 in the order of the model. Nothing on failure.
std::optional<std::vector<float>> run_on_descriptors(const std::vector<std::byte>& file,
                                                     const std::vector<float>& input,
                                                     const MakeMemory& make);

}  // namespace rknpu::test
