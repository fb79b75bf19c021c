// SPDX-License-Identifier: MIT
// Physical memory as the NPU's bus master sees it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <shared_mutex>
#include <span>
#include <vector>

namespace npusim {

enum class Access : uint8_t { kRead, kWrite };

/// Bus behind the IOMMU. Implementations are called from every core's worker thread at once.
class PhysicalMemory {
 public:
    virtual ~PhysicalMemory() = default;

    /// Host view of [pa, pa + len), len in bytes. Empty when any byte of the range is not backed
    /// by one contiguous host block: the caller then splits the range or reports a bus error.
    /// The view stays valid until the owner of that memory takes it away.
    [[nodiscard]] virtual std::span<std::byte> view(uint64_t pa, uint64_t len, Access access) = 0;
};

/// A set of host buffers, each at a physical address. Thread safe. The caller keeps a buffer alive
/// until remove() has returned and no job that uses it is running.
class RamMemory final : public PhysicalMemory {
 public:
    /// False, and nothing changes, when the range is empty, wraps or overlaps an existing one.
    /// A read-only range answers writes with a bus error.
    bool add(uint64_t pa, std::span<std::byte> host, bool writable = true);

    /// Takes away the buffer that starts at pa; false when there is none.
    bool remove(uint64_t pa);

    [[nodiscard]] std::span<std::byte> view(uint64_t pa, uint64_t len, Access access) override;

 private:
    struct Region {
        uint64_t pa;
        std::span<std::byte> host;
        bool writable;
    };

    mutable std::shared_mutex mutex_;  // protects regions_
    std::vector<Region> regions_;      // sorted by pa, no overlaps
};

}  // namespace npusim
