// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "rknpu_compiler/graph.hpp"

namespace rknpu::compiler {

/// Builds a graph from a network description (format: Documentation/compiler.rst) and its weights
/// file, little-endian float32. Shapes are inferred. Errors name the layer and the field.
[[nodiscard]] Result<Graph> parse_network(std::string_view text,
                                          std::span<const std::byte> weights);

/// The description's "weights_file"; empty when there is none.
[[nodiscard]] std::string weights_file_of(std::string_view text);

}  // namespace rknpu::compiler
