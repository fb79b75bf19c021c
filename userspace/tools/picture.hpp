// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rknpu::tools {

/// 8-bit pixels, row major, channels interleaved.
struct Picture {
    uint32_t height = 0, width = 0, channels = 0;
    std::vector<std::byte> pixels;
};

/// Reads PNG, JPEG, BMP, PGM or PPM as `channels` channels (1 grey, 3 RGB, 4 RGBA). Colours become
/// grey by their weights, grey becomes equal colours. Where no alpha is wanted that of the file is
/// dropped: transparent pixels show the colour that the file has for them.
std::optional<Picture> read_picture(const std::string& path, uint32_t channels, std::string& error);

/// Linear interpolation between the nearest pixels, as the model zoos' programs resize.
Picture resize(const Picture& picture, uint32_t height, uint32_t width);

}  // namespace rknpu::tools
