// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "picture.hpp"

namespace rknpu::tools {

/// Whether a file that begins with `bytes` is a PGM or PPM (P2, P3, P5 or P6).
bool is_pnm(std::span<const std::byte> bytes);

/// Reads a whole PGM or PPM file as it is: one channel, or three. Samples of another maximum than
/// 255 are scaled to it. A file with too little data, or a sample above the maximum, is an error,
/// which `error` names. The format is that of netpbm's manual pages pgm(5) and ppm(5).
std::optional<Picture> read_pnm(std::span<const std::byte> bytes, std::string& error);

}  // namespace rknpu::tools
