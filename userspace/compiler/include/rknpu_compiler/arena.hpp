// SPDX-License-Identifier: MIT
// One memory area for all feature maps; maps that never live at the same time share bytes.
#pragma once

#include <cstdint>
#include <span>

namespace rknpu::compiler {

struct ArenaItem {
    uint32_t size = 0;
    uint32_t first = 0;   ///< step that writes it
    uint32_t last = 0;    ///< last step that reads it
    uint32_t offset = 0;  ///< result, multiple of 64
};

/// Places all items, largest first, each at the lowest free offset. Returns the bytes needed.
uint32_t place_in_arena(std::span<ArenaItem> items);

}  // namespace rknpu::compiler
