// SPDX-License-Identifier: MIT
#include "npusim/memory.hpp"

#include <algorithm>
#include <mutex>

namespace npusim {

bool RamMemory::add(uint64_t pa, std::span<std::byte> host, bool writable) {
    const uint64_t last = pa + (host.size() - 1);
    if (host.empty() || last < pa)
        return false;
    std::unique_lock lock(mutex_);
    const auto next =
        std::upper_bound(regions_.begin(), regions_.end(), pa,
                         [](uint64_t address, const Region& r) { return address < r.pa; });
    if (next != regions_.end() && next->pa <= last)
        return false;
    if (next != regions_.begin()) {
        const Region& before = *std::prev(next);
        if (pa - before.pa < before.host.size())
            return false;
    }
    regions_.insert(next, Region{pa, host, writable});
    return true;
}

bool RamMemory::remove(uint64_t pa) {
    std::unique_lock lock(mutex_);
    const auto it = std::find_if(regions_.begin(), regions_.end(),
                                 [pa](const Region& region) { return region.pa == pa; });
    if (it == regions_.end())
        return false;
    regions_.erase(it);
    return true;
}

std::span<std::byte> RamMemory::view(uint64_t pa, uint64_t len, Access access) {
    std::shared_lock lock(mutex_);
    auto it = std::upper_bound(regions_.begin(), regions_.end(), pa,
                               [](uint64_t address, const Region& r) { return address < r.pa; });
    if (it == regions_.begin())
        return {};
    --it;
    const uint64_t offset = pa - it->pa;
    if (offset >= it->host.size() || len > it->host.size() - offset)
        return {};
    if (access == Access::kWrite && !it->writable)
        return {};
    return it->host.subspan(offset, len);
}

}  // namespace npusim
