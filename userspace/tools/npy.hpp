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

    uint64_t elements() const;  ///< product of the shape
};

/// Reads a file of format version 1 to 3, C order, that holds as much data as its shape takes and
/// no more. On failure `error` says why.
std::optional<NpyArray> read_npy(const std::string& path, std::string& error);

/// Writes format version 1. False on failure, as write_bytes().
bool write_npy(const std::string& path, const std::string& descr, std::span<const uint32_t> shape,
               std::span<const std::byte> data);

/// "PATH: cannot be read: No such file or directory", the last part from errno.
std::string cannot(const std::string& path, const char* verb);

/// A whole file; nothing if it cannot be read, with the reason in errno.
std::optional<std::vector<std::byte>> read_bytes(const std::string& path);
/// False if not all of it reached the file, with the reason in errno.
bool write_bytes(const std::string& path, std::span<const std::byte> data);

}  // namespace rknpu::tools
