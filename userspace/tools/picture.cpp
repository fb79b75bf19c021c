// SPDX-License-Identifier: MIT
#include "picture.hpp"

#include <fmt/format.h>

#include <memory>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_STATIC
#include <stb/stb_image.h>
#include <stb/stb_image_resize.h>

namespace rknpu::tools {

std::optional<Picture> read_picture(const std::string& path, uint32_t channels,
                                    std::string& error) {
    int width = 0;
    int height = 0;
    int stored = 0;
    const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
        stbi_load(path.c_str(), &width, &height, &stored, static_cast<int>(channels)),
        &stbi_image_free);
    if (!pixels) {
        error = fmt::format("{}: {}", path, stbi_failure_reason());
        return std::nullopt;
    }
    Picture out{static_cast<uint32_t>(height), static_cast<uint32_t>(width), channels, {}};
    const auto* start = reinterpret_cast<const std::byte*>(pixels.get());
    out.pixels.assign(start, start + size_t{out.height} * out.width * channels);
    return out;
}

Picture resize(const Picture& picture, uint32_t height, uint32_t width) {
    Picture out{height, width, picture.channels, {}};
    out.pixels.resize(size_t{height} * width * picture.channels);
    // Straight linear sampling when shrinking little, area average when shrinking much: stb does
    // both.
    stbir_resize_uint8(reinterpret_cast<const unsigned char*>(picture.pixels.data()),
                       static_cast<int>(picture.width), static_cast<int>(picture.height), 0,
                       reinterpret_cast<unsigned char*>(out.pixels.data()), static_cast<int>(width),
                       static_cast<int>(height), 0, static_cast<int>(picture.channels));
    return out;
}

}  // namespace rknpu::tools
