// SPDX-License-Identifier: MIT
#include "npusim/dma.hpp"

#include <cstdio>
#include <cstring>

namespace npusim {

std::string describe(const DmaFault& fault) {
    const char* kind = "no fault";
    switch (fault.kind) {
        case DmaFault::Kind::kNone:
            break;
        case DmaFault::Kind::kPageFault:
            kind = "page fault";
            break;
        case DmaFault::Kind::kBusError:
            kind = "bus error";
            break;
        case DmaFault::Kind::kWalkBusError:
            kind = "bus error in the page table";
            break;
        case DmaFault::Kind::kAborted:
            kind = "access aborted";
            break;
    }
    char text[96];
    std::snprintf(text, sizeof(text), "%s at IOVA 0x%08x, %s", kind, fault.iova,
                  fault.access == Access::kRead ? "read" : "write");
    return text;
}

namespace {

class DirectDma final : public DmaPort {
 public:
    explicit DirectDma(PhysicalMemory& memory) : memory_(memory) {}

    bool read(uint32_t iova, std::span<std::byte> dst) override {
        const auto host = reach(iova, dst.size(), Access::kRead);
        if (host.size() != dst.size())
            return false;
        if (!dst.empty())
            std::memcpy(dst.data(), host.data(), dst.size());
        return true;
    }

    bool write(uint32_t iova, std::span<const std::byte> src) override {
        const auto host = reach(iova, src.size(), Access::kWrite);
        if (host.size() != src.size())
            return false;
        if (!src.empty())
            std::memcpy(host.data(), src.data(), src.size());
        return true;
    }

    std::span<std::byte> try_view(uint32_t iova, uint32_t len, Access access) override {
        return memory_.view(iova, len, access);
    }

    const DmaFault& fault() const override { return fault_; }

 private:
    std::span<std::byte> reach(uint32_t iova, uint64_t len, Access access) {
        if (len == 0)
            return {};
        const auto host = memory_.view(iova, len, access);
        if (host.empty() && fault_.kind == DmaFault::Kind::kNone)
            fault_ = {DmaFault::Kind::kBusError, iova, access};
        return host;
    }

    PhysicalMemory& memory_;
    DmaFault fault_;
};

}  // namespace

std::unique_ptr<DmaPort> make_direct_dma(PhysicalMemory& memory) {
    return std::make_unique<DirectDma>(memory);
}

}  // namespace npusim
