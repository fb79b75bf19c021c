// SPDX-License-Identifier: MIT
// Registers as the mainline rockchip-iommu driver uses them; descriptors of its second version.
#include "mmu.hpp"

#include <algorithm>
#include <cstring>

namespace npusim {

namespace {

enum Register : uint32_t {
    kDteAddr = 0x00,
    kStatus = 0x04,
    kCommand = 0x08,
    kPageFaultAddr = 0x0c,
    kZapOneLine = 0x10,
    kIntRawStat = 0x14,
    kIntClear = 0x18,
    kIntMask = 0x1c,
    kIntStatus = 0x20,
    kAutoGating = 0x24,
};

enum Command : uint32_t {
    kEnablePaging = 0,
    kDisablePaging = 1,
    kEnableStall = 2,
    kDisableStall = 3,
    kZapCache = 4,
    kPageFaultDone = 5,
    kForceReset = 6,
};

enum Status : uint32_t {
    kStatusPaging = 1U << 0,
    kStatusFaultActive = 1U << 1,
    kStatusStallActive = 1U << 2,
    kStatusIdle = 1U << 3,
    kStatusReplayEmpty = 1U << 4,
    kStatusFaultIsWrite = 1U << 5,
    kStatusStallNotActive = 1U << 31,
};

constexpr uint32_t kIrqPageFault = 1U << 0;
constexpr uint32_t kIrqBusError = 1U << 1;
constexpr uint32_t kDescValid = 1U << 0;
constexpr uint32_t kDescReadable = 1U << 1;
constexpr uint32_t kDescWritable = 1U << 2;
constexpr uint32_t kAutoGatingReset = 3;
constexpr size_t kMaxPendingZaps = 256;

/// Descriptor bits 31:12 are address bits 31:12, 11:8 are 35:32, 7:4 are 39:36.
uint64_t descriptor_address(uint32_t desc) {
    return (desc & 0xfffff000ULL) | (static_cast<uint64_t>(desc & 0xf00U) << 24) |
           (static_cast<uint64_t>(desc & 0xf0U) << 32);
}

bool fits(uint64_t pa, unsigned bits) {
    return (pa >> bits) == 0;
}

}  // namespace

MmuBank::MmuBank(PhysicalMemory& memory)
    : memory_(memory),
      auto_gating_(kAutoGatingReset),
      tlb_(std::make_unique<TlbEntry[]>(kTlbEntries)) {
    zap_pages_.reserve(kMaxPendingZaps);
}

uint32_t MmuBank::read(uint32_t offset) const {
    std::lock_guard lock(mutex_);
    switch (offset) {
        case kDteAddr:
            return dte_addr_;
        case kStatus:
            return (paging_ ? kStatusPaging : 0U) | (fault_active_ ? kStatusFaultActive : 0U) |
                   (stalled_ ? kStatusStallActive : kStatusStallNotActive) | kStatusIdle |
                   kStatusReplayEmpty | (fault_is_write_ ? kStatusFaultIsWrite : 0U);
        case kPageFaultAddr:
            return fault_addr_;
        case kIntRawStat:
            return int_raw_;
        case kIntMask:
            return int_mask_;
        case kIntStatus:
            return int_raw_ & int_mask_;
        case kAutoGating:
            return auto_gating_;
        default:
            return 0;
    }
}

bool MmuBank::write(uint32_t offset, uint32_t value) {
    std::lock_guard lock(mutex_);
    switch (offset) {
        case kDteAddr:
            dte_addr_ = value;
            return false;
        case kCommand:
            command(value);
            return value == kForceReset;
        case kZapOneLine:
            if (zap_pages_.size() < kMaxPendingZaps)
                zap_pages_.push_back(value / kPageSize);
            else
                zap_everything_ = true;
            zap_epoch_.fetch_add(1, std::memory_order_release);
            return false;
        case kIntRawStat:
            int_raw_ |= value & (kIrqPageFault | kIrqBusError);
            return true;
        case kIntClear:
            int_raw_ &= ~value;
            return true;
        case kIntMask:
            int_mask_ = value;
            return true;
        case kAutoGating:
            auto_gating_ = value;
            return false;
        default:
            return false;
    }
}

void MmuBank::command(uint32_t value) {
    switch (value) {
        case kEnablePaging:
            paging_ = true;
            break;
        case kDisablePaging:
            paging_ = false;
            break;
        case kEnableStall:
            // The hardware stalls only translated traffic.
            stalled_ = paging_.load();
            break;
        case kDisableStall:
            stalled_ = false;
            break;
        case kZapCache:
            zap_all();
            break;
        case kPageFaultDone:
            fault_active_ = false;
            fault_is_write_ = false;
            break;
        case kForceReset:
            dte_addr_ = 0;
            fault_addr_ = 0;
            int_raw_ = 0;
            int_mask_ = 0;
            auto_gating_ = kAutoGatingReset;
            fault_active_ = false;
            fault_is_write_ = false;
            paging_ = false;
            stalled_ = false;
            zap_all();
            break;
        default:
            break;
    }
    changed_.notify_all();
}

void MmuBank::zap_all() {
    zap_everything_ = true;
    zap_pages_.clear();
    zap_epoch_.fetch_add(1, std::memory_order_release);
}

bool MmuBank::irq() const {
    std::lock_guard lock(mutex_);
    return (int_raw_ & int_mask_) != 0;
}

void MmuBank::reset() {
    std::lock_guard lock(mutex_);
    aborted_ = false;
    command(kForceReset);
}

void MmuBank::abort() {
    std::lock_guard lock(mutex_);
    aborted_ = true;
    changed_.notify_all();
}

void MmuBank::refresh_tlb() {
    std::lock_guard lock(mutex_);
    seen_epoch_ = zap_epoch_.load(std::memory_order_acquire);
    if (zap_everything_) {
        std::fill_n(tlb_.get(), kTlbEntries, TlbEntry{});
    } else {
        for (const uint32_t page : zap_pages_) {
            TlbEntry& entry = tlb_[page % kTlbEntries];
            if (entry.page == page)
                entry = TlbEntry{};
        }
    }
    zap_everything_ = false;
    zap_pages_.clear();
}

DmaFault::Kind MmuBank::wait_while_stalled() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !stalled_ || aborted_; });
    return stalled_ ? DmaFault::Kind::kAborted : DmaFault::Kind::kNone;
}

DmaFault::Kind MmuBank::translate(uint32_t iova, Access access, const TranslateRules& rules,
                                  uint64_t& pa) {
    if (stalled_.load(std::memory_order_acquire)) {
        const DmaFault::Kind waited = wait_while_stalled();
        if (waited != DmaFault::Kind::kNone)
            return waited;
    }
    if (!paging()) {
        pa = iova;
        return DmaFault::Kind::kNone;
    }
    if (zap_epoch_.load(std::memory_order_acquire) != seen_epoch_)
        refresh_tlb();
    const uint32_t page = iova / kPageSize;
    TlbEntry& entry = tlb_[page % kTlbEntries];
    if (entry.page != page) {
        TlbEntry walked;
        const DmaFault::Kind kind = walk(iova, rules, walked);
        if (kind != DmaFault::Kind::kNone)
            return kind;
        entry = walked;
    }
    const uint32_t needed = access == Access::kRead ? kDescReadable : kDescWritable;
    if ((entry.flags & needed) == 0)
        return DmaFault::Kind::kPageFault;
    if (!fits(entry.pa, rules.data_address_bits))
        return DmaFault::Kind::kBusError;
    pa = entry.pa + iova % kPageSize;
    return DmaFault::Kind::kNone;
}

DmaFault::Kind MmuBank::walk(uint32_t iova, const TranslateRules& rules, TlbEntry& out) {
    uint32_t directory;
    {
        std::lock_guard lock(mutex_);
        directory = dte_addr_;
    }
    uint32_t dte = 0;
    uint32_t pte = 0;
    if (!load_word(descriptor_address(directory) + (iova >> 22) * 4ULL, rules, dte))
        return DmaFault::Kind::kWalkBusError;
    if ((dte & kDescValid) == 0)
        return DmaFault::Kind::kPageFault;
    if (!load_word(descriptor_address(dte) + ((iova >> 12) & 0x3ffU) * 4ULL, rules, pte))
        return DmaFault::Kind::kWalkBusError;
    if ((pte & kDescValid) == 0)
        return DmaFault::Kind::kPageFault;
    out = {iova / kPageSize, pte & (kDescReadable | kDescWritable), descriptor_address(pte)};
    return DmaFault::Kind::kNone;
}

bool MmuBank::load_word(uint64_t pa, const TranslateRules& rules, uint32_t& value) {
    if (!fits(pa, rules.walk_address_bits))
        return false;
    const auto host = memory_.view(pa, sizeof(value), Access::kRead);
    if (host.size() != sizeof(value))
        return false;
    std::memcpy(&value, host.data(), sizeof(value));
    return true;
}

void MmuBank::note_fault(DmaFault::Kind kind, uint32_t iova, Access access) {
    std::lock_guard lock(mutex_);
    if (kind == DmaFault::Kind::kWalkBusError)
        int_raw_ |= kIrqBusError;
    if (kind != DmaFault::Kind::kPageFault)
        return;
    int_raw_ |= kIrqPageFault;
    fault_active_ = true;
    fault_is_write_ = access == Access::kWrite;
    fault_addr_ = iova;
}

}  // namespace npusim
