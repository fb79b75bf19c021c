// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "core/status.hpp"
#include "model/graph.hpp"

namespace rknpu {

/// Attributes of a node: a BSON document {name: {"dtype": "i|is|f|fs|s", "value": ...}}.
/// Entries of other shapes are skipped; a damaged document is kInvalidModel.
Result<Attributes> parse_attributes(std::span<const std::byte> document);

}  // namespace rknpu
