// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rknpu::tools {

/// A tensor of a NumPy .npy file.
struct NpyArray {
    std::string descr;  ///< "<f4", "|u1", ...
    std::vector<uint32_t> shape;
    std::vector<std::byte> data;

    uint64_t elements() const;
};

/// Reads a file of format version 1 to 3, C order. On failure `error` says why.
std::optional<NpyArray> read_npy(const std::string& path, std::string& error);

/// Writes format version 1. False on failure.
bool write_npy(const std::string& path, const std::string& descr, std::span<const uint32_t> shape,
               std::span<const std::byte> data);

/// A whole file; nothing if it cannot be read.
std::optional<std::vector<std::byte>> read_bytes(const std::string& path);
bool write_bytes(const std::string& path, std::span<const std::byte> data);

}  // namespace rknpu::tools
