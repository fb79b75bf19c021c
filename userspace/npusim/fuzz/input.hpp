// SPDX-License-Identifier: MIT
// The fuzzer's bytes, taken piece by piece, and what the targets and the seeds agree upon.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace npusim_fuzz {

/// First byte of an input. Bit 0: RK3576, bit 1: reference path, bit 2: a whole job through the
/// registers of the PC unit instead of single streams.
enum Mode : uint8_t { kRk3576 = 1, kReference = 2, kJob = 4 };

/// Device memory of the target. Streams of a job lie kStreamBytes apart from kStreams on.
inline constexpr uint32_t kMemorySize = 256 * 1024;
inline constexpr uint32_t kStreams = 192 * 1024;
inline constexpr uint32_t kStreamBytes = 2048;
inline constexpr uint32_t kMaxTasks = 16;

/// Hands out the input byte by byte; zeros behind its end.
class Input {
 public:
    explicit Input(std::span<const uint8_t> bytes) : bytes_(bytes) {}
    [[nodiscard]] bool empty() const { return bytes_.empty(); }
    template <typename T>
    T take() {
        T value{};
        const size_t n = std::min(sizeof(T), bytes_.size());
        std::memcpy(&value, bytes_.data(), n);
        bytes_ = bytes_.subspan(n);
        return value;
    }

 private:
    std::span<const uint8_t> bytes_;
};

}  // namespace npusim_fuzz
