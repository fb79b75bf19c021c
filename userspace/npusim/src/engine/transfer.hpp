// SPDX-License-Identifier: MIT
// Byte transfers between tensors in device memory and the scratch of the arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "desc.hpp"
#include "npusim/dma.hpp"
#include "npusim/engine.hpp"

namespace npusim {

/// Reads and writes of one task. The first failure sticks: later calls do nothing, so that loops
/// need to test ok() only once per surface.
class Transfer {
 public:
    /// Binds the port for one task and forgets an earlier failure.
    void begin(DmaPort& dma) {
        dma_ = &dma;
        error_.reset();
    }

    /// `size` bytes at `iova`: a host view when there is one, else a copy that stays valid until
    /// the next fetch. Empty after a failure. `iova` may be any result of address arithmetic.
    [[nodiscard]] std::span<const std::byte> fetch(int64_t iova, size_t size);

    /// Copies into `dst`; leaves it alone after a failure.
    bool read(int64_t iova, std::span<std::byte> dst);
    bool write(int64_t iova, std::span<const std::byte> src);

    /// Reads rows x surfaces of `row_bytes` each into a dense buffer, joining neighbouring rows.
    bool read_cube(const CubeDesc& cube, size_t row_bytes, uint32_t rows, uint32_t surfaces,
                   std::span<std::byte> dst);

    [[nodiscard]] bool ok() const { return !error_; }
    [[nodiscard]] const std::optional<ExecError>& error() const { return error_; }

 private:
    [[nodiscard]] bool in_range(int64_t iova, size_t size, Access access);
    void fail();

    DmaPort* dma_ = nullptr;
    std::vector<std::byte> bounce_;
    std::optional<ExecError> error_;
};

/// Unaligned little-endian load. The model runs on little-endian hosts only (checked at build).
template <typename T>
[[nodiscard]] inline T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <typename T>
inline void store(std::byte* to, T value) {
    std::memcpy(to, &value, sizeof value);
}

/// Grows a scratch vector; never shrinks, so that steady state allocates nothing.
template <typename T>
[[nodiscard]] inline std::span<T> scratch(std::vector<T>& buffer, size_t size) {
    if (buffer.size() < size)
        buffer.resize(size);
    return std::span<T>(buffer).first(size);
}

}  // namespace npusim
