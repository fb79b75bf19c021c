// SPDX-License-Identifier: MIT
// The NPU core's way to memory: IOVA -> IOMMU bank (TLB, page walk) -> physical memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "npusim/memory.hpp"

namespace npusim {

struct DmaFault {
    enum class Kind : uint8_t {
        kNone,
        kPageFault,     ///< no valid translation, or the page forbids this access
        kBusError,      ///< translated, but nothing answers at the physical address
        kWalkBusError,  ///< the page table itself cannot be read
        kAborted,       ///< reset or shutdown while the access waited
    };
    Kind kind = Kind::kNone;
    uint32_t iova = 0;  ///< first byte that could not be reached
    Access access = Access::kRead;
};

/// One line that names kind, address and direction.
[[nodiscard]] std::string describe(const DmaFault& fault);

/// One per core; used only by the thread that runs the core's job.
class DmaPort {
 public:
    virtual ~DmaPort() = default;

    /// Copies dst.size() bytes from iova. False: fault() says why; bytes before it may be copied.
    [[nodiscard]] virtual bool read(uint32_t iova, std::span<std::byte> dst) = 0;

    /// Copies src to iova. False: fault() says why; bytes before it may be written.
    [[nodiscard]] virtual bool write(uint32_t iova, std::span<const std::byte> src) = 0;

    /// Host view of [iova, iova + len) when it is contiguous in host memory, else empty. An empty
    /// view is not a fault: fall back to read()/write(), which report it. A view counts as an
    /// access to the whole range (it is recorded as one) and stays valid until the task ends.
    [[nodiscard]] virtual std::span<std::byte> try_view(uint32_t iova, uint32_t len,
                                                        Access access) = 0;

    /// The first fault of this task; kind kNone when there was none.
    [[nodiscard]] virtual const DmaFault& fault() const = 0;
};

/// A port without IOMMU: the IOVA is the physical address.
[[nodiscard]] std::unique_ptr<DmaPort> make_direct_dma(PhysicalMemory& memory);

}  // namespace npusim
