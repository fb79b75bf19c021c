// SPDX-License-Identifier: MIT
#include "digits.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

#include "rknpu_compiler/network_json.hpp"

#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_PNG
#define STB_IMAGE_STATIC
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

namespace rknpu::compiler::testing {

namespace {

constexpr int kSide = 28;

}  // namespace

std::vector<std::byte> read_digits_file(const std::string& name) {
    std::ifstream stream(std::string(RKNPU_DIGITS_DIR) + "/" + name, std::ios::binary);
    REQUIRE(stream);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    std::vector<std::byte> bytes(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
    return bytes;
}

QuantizedGraph quantized_digits() {
    const std::vector<std::byte> description = read_digits_file("digits.json");
    std::string text(description.size(), '\0');
    std::memcpy(text.data(), description.data(), text.size());
    auto graph = parse_network(text, read_digits_file(weights_file_of(text)));
    if (!graph) {
        FAIL(graph.error().text);
    }
    auto quantized = quantize(std::move(*graph));
    if (!quantized) {
        FAIL(quantized.error().text);
    }
    return std::move(*quantized);
}

std::vector<Digit> load_digits() {
    const std::vector<std::byte> png = read_digits_file("test_sheet.png");
    std::vector<uint8_t> file(png.size());
    std::memcpy(file.data(), png.data(), file.size());
    int width = 0;
    int height = 0;
    int channels = 0;
    const std::unique_ptr<uint8_t, decltype(&stbi_image_free)> sheet(
        stbi_load_from_memory(file.data(), static_cast<int>(file.size()), &width, &height,
                              &channels, 1),
        stbi_image_free);
    REQUIRE(sheet);
    REQUIRE(width % kSide == 0);
    REQUIRE(height % kSide == 0);

    std::vector<Digit> digits;
    const int columns = width / kSide;
    for (const std::byte c : read_digits_file("test_labels.txt")) {
        const auto value = std::to_integer<unsigned>(c) - '0';
        if (value > 9) {
            continue;  // line ends
        }
        Digit digit;
        digit.label = value;
        const int left = static_cast<int>(digits.size()) % columns * kSide;
        const int top = static_cast<int>(digits.size()) / columns * kSide;
        REQUIRE(top + kSide <= height);
        for (int i = 0; i < kSide * kSide; i++) {
            const int grey = sheet.get()[(top + i / kSide) * width + left + i % kSide];
            digit.pixels.push_back(static_cast<int8_t>(grey - 128));
        }
        digits.push_back(std::move(digit));
    }
    return digits;
}

}  // namespace rknpu::compiler::testing
