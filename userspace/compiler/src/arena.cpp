// SPDX-License-Identifier: MIT
#include "rknpu_compiler/arena.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "rknpu_regcmd/layout.hpp"

namespace rknpu::compiler {

namespace {

constexpr uint32_t kAlign = 64;

bool alive_together(const ArenaItem& a, const ArenaItem& b) {
    return a.first <= b.last && b.first <= a.last;
}

}  // namespace

uint32_t place_in_arena(std::span<ArenaItem> items) {
    std::vector<size_t> order(items.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [items](size_t a, size_t b) { return items[a].size > items[b].size; });

    uint32_t total = 0;
    std::vector<size_t> placed;  // ascending offset
    for (const size_t index : order) {
        ArenaItem& item = items[index];
        uint32_t offset = 0;
        for (const size_t other : placed) {
            const ArenaItem& block = items[other];
            if (!alive_together(item, block)) {
                continue;
            }
            if (offset + item.size <= block.offset) {
                break;
            }
            offset = std::max(offset, align_up(block.offset + block.size, kAlign));
        }
        item.offset = offset;
        total = std::max(total, align_up(offset + item.size, kAlign));
        const auto at = std::find_if(placed.begin(), placed.end(),
                                     [&](size_t other) { return items[other].offset > offset; });
        placed.insert(at, index);
    }
    return total;
}

}  // namespace rknpu::compiler
