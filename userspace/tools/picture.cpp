// SPDX-License-Identifier: MIT
#include "picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <memory>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_NO_PNM
#include <stb/stb_image.h>

#include "npy.hpp"
#include "pnm.hpp"

namespace rknpu::tools {
namespace {

/// Grey or RGB pixels as another number of channels.
Picture convert(const Picture& picture, uint32_t channels) {
    Picture out{picture.height, picture.width, channels, {}};
    const size_t count = size_t{picture.height} * picture.width;
    out.pixels.reserve(count * channels);
    for (size_t i = 0; i < count; ++i) {
        const auto* pixel = &picture.pixels[i * picture.channels];
        if (channels == 1 && picture.channels == 3) {
            // The weights of ITU-R BT.601 in 1/256, as stb_image has them for the other formats.
            const auto part = [&](size_t c) { return std::to_integer<uint32_t>(pixel[c]); };
            out.pixels.push_back(
                static_cast<std::byte>((part(0) * 77 + part(1) * 150 + part(2) * 29) >> 8));
            continue;
        }
        for (uint32_t c = 0; c < channels; ++c)
            out.pixels.push_back(c == 3 ? std::byte{255} : pixel[picture.channels == 3 ? c : 0]);
    }
    return out;
}

}  // namespace

std::optional<Picture> read_picture(const std::string& path, uint32_t channels,
                                    std::string& error) {
    const auto file = read_bytes(path);
    if (!file) {
        error = cannot(path, "read");
        return std::nullopt;
    }
    // stb_image does not notice when these are too short, and takes one maximum for another.
    if (is_pnm(*file)) {
        auto picture = read_pnm(*file, error);
        if (!picture) {
            error = fmt::format("{}: {}", path, error);
            return std::nullopt;
        }
        return picture->channels == channels ? std::move(picture) : convert(*picture, channels);
    }
    if (file->size() > INT_MAX) {
        error = fmt::format("{}: is too large", path);
        return std::nullopt;
    }
    int width = 0;
    int height = 0;
    int stored = 0;
    const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
        stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(file->data()),
                              static_cast<int>(file->size()), &width, &height, &stored,
                              static_cast<int>(channels)),
        &stbi_image_free);
    if (!pixels) {
        error = fmt::format("{}: {}", path, stbi_failure_reason());
        return std::nullopt;
    }
    if (width <= 0 || height <= 0) {
        error = fmt::format("{}: has no pixels ({}x{})", path, width, height);
        return std::nullopt;
    }
    Picture out{static_cast<uint32_t>(height), static_cast<uint32_t>(width), channels, {}};
    const auto* start = reinterpret_cast<const std::byte*>(pixels.get());
    out.pixels.assign(start, start + size_t{out.height} * out.width * channels);
    return out;
}

namespace {

/// Where an output pixel samples one axis of the input: centres of pixels are at half coordinates.
struct Tap {
    uint32_t low = 0, high = 0;
    float weight = 0;  ///< of `high`
};

std::vector<Tap> taps(uint32_t from, uint32_t to) {
    std::vector<Tap> out(to);
    for (uint32_t i = 0; i < to; ++i) {
        const float at =
            (static_cast<float>(i) + 0.5f) * static_cast<float>(from) / static_cast<float>(to) -
            0.5f;
        const float inside = std::clamp(at, 0.0f, static_cast<float>(from - 1));
        out[i].low = static_cast<uint32_t>(inside);
        out[i].high = std::min(out[i].low + 1, from - 1);
        out[i].weight = inside - static_cast<float>(out[i].low);
    }
    return out;
}

}  // namespace

Picture resize(const Picture& picture, uint32_t height, uint32_t width) {
    Picture out{height, width, picture.channels, {}};
    out.pixels.reserve(size_t{height} * width * picture.channels);
    const auto rows = taps(picture.height, height);
    const auto columns = taps(picture.width, width);
    const auto at = [&](uint32_t y, uint32_t x, uint32_t c) {
        const size_t index = (size_t{y} * picture.width + x) * picture.channels + c;
        return static_cast<float>(std::to_integer<int>(picture.pixels[index]));
    };
    for (const auto& row : rows)
        for (const auto& column : columns)
            for (uint32_t c = 0; c < picture.channels; ++c) {
                const float top = std::lerp(at(row.low, column.low, c), at(row.low, column.high, c),
                                            column.weight);
                const float bottom = std::lerp(at(row.high, column.low, c),
                                               at(row.high, column.high, c), column.weight);
                const float value = std::lerp(top, bottom, row.weight);
                out.pixels.push_back(static_cast<std::byte>(std::lround(value)));
            }
    return out;
}

}  // namespace rknpu::tools
