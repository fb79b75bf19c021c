// SPDX-License-Identifier: MIT
#include "npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace rknpu::tools {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// The value behind 'key': in the header's dictionary, up to the next character of `ends`.
std::optional<std::string> field(const std::string& header, const std::string& key, char begin,
                                 char end) {
    const auto at = header.find("'" + key + "'");
    if (at == std::string::npos)
        return std::nullopt;
    const auto first = header.find(begin, header.find(':', at));
    if (first == std::string::npos)
        return std::nullopt;
    const auto last = header.find(end, first + 1);
    if (last == std::string::npos)
        return std::nullopt;
    return header.substr(first + 1, last - first - 1);
}

bool parse_shape(const std::string& text, std::vector<uint32_t>& shape) {
    const char* at = text.c_str();
    while (*at != '\0') {
        if (*at < '0' || *at > '9') {
            ++at;
            continue;
        }
        char* next = nullptr;
        const unsigned long value = std::strtoul(at, &next, 10);
        if (value > UINT32_MAX || shape.size() == 16)
            return false;
        shape.push_back(static_cast<uint32_t>(value));
        at = next;
    }
    return true;
}

}  // namespace

uint64_t NpyArray::elements() const {
    uint64_t count = 1;
    for (const uint32_t dim : shape)
        count *= dim;
    return count;
}

std::string cannot(const std::string& path, const char* verb) {
    return fmt::format("{}: cannot be {}: {}", path, verb, std::strerror(errno));
}

std::optional<std::vector<std::byte>> read_bytes(const std::string& path) {
    const File file(std::fopen(path.c_str(), "rb"), &std::fclose);
    if (!file)
        return std::nullopt;
    std::vector<std::byte> out;
    std::byte buffer[65536];
    size_t got = 0;
    while ((got = std::fread(buffer, 1, sizeof(buffer), file.get())) > 0)
        out.insert(out.end(), buffer, buffer + got);
    if (std::ferror(file.get()) != 0)
        return std::nullopt;
    return out;
}

bool write_bytes(const std::string& path, std::span<const std::byte> data) {
    File file(std::fopen(path.c_str(), "wb"), &std::fclose);
    if (!file || std::fwrite(data.data(), 1, data.size(), file.get()) != data.size())
        return false;
    // A full disk shows when the buffer is written at last.
    return std::fclose(file.release()) == 0;
}

std::optional<NpyArray> read_npy(const std::string& path, std::string& error) {
    const auto fail = [&](const char* why) {
        error = fmt::format("{}: {}", path, why);
        return std::nullopt;
    };
    const auto file = read_bytes(path);
    if (!file) {
        error = cannot(path, "read");
        return std::nullopt;
    }
    const auto& bytes = *file;
    if (bytes.size() < 12 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0)
        return fail("is no .npy file");
    const bool wide = bytes[6] != std::byte{1};
    uint32_t length = 0;
    std::memcpy(&length, bytes.data() + 8, wide ? 4 : 2);
    const size_t start = wide ? 12 : 10;
    if (length > bytes.size() - start)
        return fail("has a damaged header");
    const std::string header(reinterpret_cast<const char*>(bytes.data()) + start, length);
    NpyArray out;
    const auto descr = field(header, "descr", '\'', '\'');
    const auto shape = field(header, "shape", '(', ')');
    if (!descr || !shape || !parse_shape(*shape, out.shape))
        return fail("has a header without type or shape");
    if (header.find("'fortran_order': True") != std::string::npos)
        return fail("is in Fortran order; save it in C order");
    out.descr = *descr;
    out.data.assign(bytes.begin() + static_cast<ptrdiff_t>(start + length), bytes.end());
    const size_t width =
        out.descr.size() < 3 ? 0 : std::strtoul(out.descr.c_str() + 2, nullptr, 10);
    if (width == 0 || width > 16 || out.descr[0] == '>')
        return fail("has a type that is not supported, or too little data");
    // The shape may multiply to anything: count in what is there.
    uint64_t left = out.data.size() / width;
    for (const uint32_t dim : out.shape)
        left = dim == 0 ? left : left / dim;
    const bool empty = std::find(out.shape.begin(), out.shape.end(), 0u) != out.shape.end();
    if (!empty && left == 0)
        return fail("has a type that is not supported, or too little data");
    if (out.elements() * width != out.data.size())
        return fail("has more data than its shape takes");
    return out;
}

bool write_npy(const std::string& path, const std::string& descr, std::span<const uint32_t> shape,
               std::span<const std::byte> data) {
    std::string dims;
    for (const uint32_t dim : shape)
        dims += fmt::format("{}, ", dim);
    std::string header =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, dims);
    // The data starts on a multiple of 64 bytes.
    header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');
    header += '\n';
    std::vector<std::byte> out(10 + header.size());
    std::memcpy(out.data(), "\x93NUMPY\x01\x00", 8);
    const auto length = static_cast<uint16_t>(header.size());
    std::memcpy(out.data() + 8, &length, 2);
    std::memcpy(out.data() + 10, header.data(), header.size());
    out.insert(out.end(), data.begin(), data.end());
    return write_bytes(path, out);
}

}  // namespace rknpu::tools
