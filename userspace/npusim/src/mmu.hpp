// SPDX-License-Identifier: MIT
// One rk_iommu register bank: registers on the CPU's side, translation on the NPU's side.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "npusim/dma.hpp"
#include "npusim/memory.hpp"

namespace npusim {

/// Limits and injected faults of the job at hand.
struct TranslateRules {
    unsigned walk_address_bits = 40;
    unsigned data_address_bits = 40;
};

/// Registers are written by any thread; translate() is for the core's worker thread alone, which
/// owns the TLB. A translation stays in the TLB until a zap, a reset or an eviction: page tables
/// changed in memory without a zap keep their old meaning, as on the chip.
class MmuBank {
 public:
    static constexpr uint32_t kWindow = 0x28;  // bytes of registers
    static constexpr uint32_t kPageSize = 0x1000;

    explicit MmuBank(PhysicalMemory& memory);

    [[nodiscard]] uint32_t read(uint32_t offset) const;
    /// True when the interrupt state may have changed.
    bool write(uint32_t offset, uint32_t value);

    [[nodiscard]] bool irq() const;
    [[nodiscard]] bool paging() const { return paging_.load(std::memory_order_acquire); }

    /// All registers lost, TLB empty. Call while no job runs.
    void reset();

    /// Ends the wait of a stalled worker (translate() then reports kAborted) until reset().
    void abort();

    /// Physical address of iova; rules as of this job. A failure leaves no trace in the registers:
    /// that is note_fault(), once the access really happens.
    [[nodiscard]] DmaFault::Kind translate(uint32_t iova, Access access,
                                           const TranslateRules& rules, uint64_t& pa);

    /// Records a page fault or a bus error of the walk in the registers.
    void note_fault(DmaFault::Kind kind, uint32_t iova, Access access);

 private:
    struct TlbEntry {
        uint32_t page = UINT32_MAX;  // IOVA >> 12; UINT32_MAX = empty
        uint32_t flags = 0;          // PTE permission bits
        uint64_t pa = 0;
    };
    static constexpr size_t kTlbEntries = 1024;

    void command(uint32_t value);
    void zap_all();
    void refresh_tlb();
    DmaFault::Kind wait_while_stalled();
    DmaFault::Kind walk(uint32_t iova, const TranslateRules& rules, TlbEntry& out);
    bool load_word(uint64_t pa, const TranslateRules& rules, uint32_t& value);

    PhysicalMemory& memory_;
    mutable std::mutex mutex_;  // protects all below up to zap_epoch_, except the atomics' loads
    std::condition_variable changed_;
    uint32_t dte_addr_ = 0;
    uint32_t fault_addr_ = 0;
    uint32_t int_raw_ = 0;
    uint32_t int_mask_ = 0;
    uint32_t auto_gating_ = 0;
    bool fault_active_ = false;
    bool fault_is_write_ = false;
    bool aborted_ = false;
    bool zap_everything_ = false;
    std::vector<uint32_t> zap_pages_;  // zapped lines the worker has not seen yet
    std::atomic<bool> paging_ = false;
    std::atomic<bool> stalled_ = false;
    std::atomic<uint32_t> zap_epoch_ = 0;  // raised by each zap

    // Worker thread only.
    uint32_t seen_epoch_ = 0;
    std::unique_ptr<TlbEntry[]> tlb_;
};

}  // namespace npusim
