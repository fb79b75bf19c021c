// SPDX-License-Identifier: MIT
// Owners of file descriptors and mappings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace rknpusim {

/// Owns one file descriptor.
class UniqueFd {
 public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~UniqueFd();

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
    void reset();

 private:
    int fd_ = -1;
};

/// Owns one shared mapping of a file.
class Mapping {
 public:
    Mapping() = default;
    Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~Mapping();

    /// Maps [offset, offset + size) of the file. Empty on error or when the file is shorter: an
    /// access behind the end of the file would kill the process.
    static std::optional<Mapping> map(int fd, uint64_t offset, uint64_t size, bool writable);

    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
    std::span<std::byte> bytes_;
};

/// Anonymous shared memory file of that many zero bytes; empty on error.
[[nodiscard]] UniqueFd make_memfd(const char* name, uint64_t size);

}  // namespace rknpusim
