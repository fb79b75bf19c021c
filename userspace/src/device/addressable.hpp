// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace rknpu {

/// True if a mapping of this process can have so many bytes: 4 GiB and more is beyond 32 bits.
constexpr bool addressable(uint64_t size) {
    return static_cast<size_t>(size) == size;
}

}  // namespace rknpu
