// SPDX-License-Identifier: MIT
// Pooling.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "desc.hpp"
#include "transfer.hpp"

namespace npusim {

class PpuUnit {
 public:
    /// Pools a cube from memory. False after a failed transfer.
    [[nodiscard]] bool run(const PpuDesc& ppu, Transfer& transfer);

    /// Pools a dense cube [surface][y][x][16 bytes] that the DPU delivered.
    [[nodiscard]] bool run(const PpuDesc& ppu, std::span<const std::byte> input,
                           Transfer& transfer);

 private:
    [[nodiscard]] bool pool_surface(const PpuDesc& ppu, const std::byte* input, uint32_t surface,
                                    Transfer& transfer);

    std::vector<std::byte> input_, output_;
};

}  // namespace npusim
