// SPDX-License-Identifier: MIT
#include "pnm.hpp"

#include <fmt/format.h>

namespace rknpu::tools {
namespace {

/// Sides beyond this are no pictures for a model, and their product fits 64 bits.
constexpr uint32_t kMaxSide = 1u << 24;

class Reader {
 public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    size_t left() const { return bytes_.size() - at_; }

    /// The next number behind blanks and comments; nothing if there is none, or it is above `most`.
    std::optional<uint32_t> number(uint32_t most) {
        skip_blanks();
        uint64_t value = 0;
        const size_t start = at_;
        while (left() > 0 && is_digit(peek())) {
            value = value * 10 + static_cast<uint64_t>(peek() - '0');
            if (value > most)
                return std::nullopt;
            ++at_;
        }
        if (at_ == start)
            return std::nullopt;
        return static_cast<uint32_t>(value);
    }

    /// The single blank between the header and binary samples.
    bool blank() {
        if (left() == 0 || !is_blank(peek()))
            return false;
        ++at_;
        return true;
    }

    /// The next `width` bytes as a number, most significant first. The caller knows that they
    /// exist.
    uint32_t binary(uint32_t width) {
        uint32_t value = 0;
        for (uint32_t i = 0; i < width; ++i)
            value = value << 8 | std::to_integer<uint32_t>(bytes_[at_++]);
        return value;
    }

 private:
    static bool is_digit(char c) { return c >= '0' && c <= '9'; }
    static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
    char peek() const { return static_cast<char>(bytes_[at_]); }

    void skip_blanks() {
        while (left() > 0 && (is_blank(peek()) || peek() == '#')) {
            if (peek() == '#') {
                while (left() > 0 && peek() != '\n' && peek() != '\r')
                    ++at_;
            } else {
                ++at_;
            }
        }
    }

    std::span<const std::byte> bytes_;
    size_t at_ = 2;  // behind the "P" and its digit
};

}  // namespace

bool is_pnm(std::span<const std::byte> bytes) {
    if (bytes.size() < 2 || bytes[0] != std::byte{'P'})
        return false;
    const auto kind = static_cast<char>(bytes[1]);
    return kind == '2' || kind == '3' || kind == '5' || kind == '6';
}

std::optional<Picture> read_pnm(std::span<const std::byte> bytes, std::string& error) {
    const auto fail = [&](std::string why) {
        error = std::move(why);
        return std::nullopt;
    };
    if (!is_pnm(bytes))
        return fail("is no PGM or PPM file");
    const auto kind = static_cast<char>(bytes[1]);
    const bool text = kind == '2' || kind == '3';
    Reader reader(bytes);
    const auto width = reader.number(kMaxSide);
    const auto height = reader.number(kMaxSide);
    const auto most = reader.number(65535);
    if (!width || !height || !most || *width == 0 || *height == 0 || *most == 0)
        return fail("has a header without a good width, height or maximum");
    if (!text && !reader.blank())
        return fail("has no blank behind its header");
    Picture out{*height, *width, kind == '2' || kind == '5' ? 1u : 3u, {}};
    const uint64_t samples = uint64_t{*height} * *width * out.channels;
    const uint32_t bytes_each = *most < 256 ? 1 : 2;
    // Text takes a digit and a blank for each sample, but the last may stand alone.
    const uint64_t needed = text ? samples * 2 - 1 : samples * bytes_each;
    if (reader.left() < needed)
        return fail(fmt::format("is too short: {}x{} pixels take at least {} bytes, {} are there",
                                *width, *height, needed, reader.left()));
    out.pixels.reserve(samples);
    for (uint64_t i = 0; i < samples; ++i) {
        const auto value = text ? reader.number(65535) : reader.binary(bytes_each);
        if (!value || *value > *most)
            return fail(fmt::format("sample {} is missing, or above the maximum of {}", i, *most));
        out.pixels.push_back(static_cast<std::byte>((*value * 255 + *most / 2) / *most));
    }
    return out;
}

}  // namespace rknpu::tools
