// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "golden.hpp"

namespace rknpu::tools {

struct OnnxruntimeInput {
    std::string name;
    std::vector<int64_t> dims;
    std::span<const float> values;
};

/// True if python3 can import onnxruntime.
bool has_onnxruntime();

/// Runs a graph in Python's onnxruntime and fetches all of its tensors. On failure `error` says
/// why.
std::optional<Golden> run_onnxruntime(std::span<const std::byte> model,
                                      const std::vector<OnnxruntimeInput>& inputs,
                                      std::string& error);

}  // namespace rknpu::tools
