// SPDX-License-Identifier: MIT
// DMA port of one core: IOMMU banks, recording of ranges, injected faults.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "mmu.hpp"
#include "npusim/fault_plan.hpp"
#include "npusim/npu.hpp"

namespace npusim {

/// Sorted, merged ranges a job may touch.
class LiveBuffers {
 public:
    explicit LiveBuffers(const std::vector<DmaRange>& ranges);
    [[nodiscard]] bool contains(uint32_t iova, uint64_t size) const;

 private:
    struct Span {
        uint64_t first;
        uint64_t end;
    };
    std::vector<Span> spans_;
};

/// Used by the core's worker thread; only abort() and clear_abort() come from other threads.
class CoreDma final : public DmaPort {
 public:
    /// `banks` has 0 to 2 entries. With two, the first translates reads and the second writes.
    CoreDma(PhysicalMemory& memory, std::vector<MmuBank*> banks, const SocConfig& soc);

    bool read(uint32_t iova, std::span<std::byte> dst) override;
    bool write(uint32_t iova, std::span<const std::byte> src) override;
    std::span<std::byte> try_view(uint32_t iova, uint32_t len, Access access) override;
    [[nodiscard]] const DmaFault& fault() const override { return fault_; }

    /// Prepares for a job.
    void begin_job(const JobFaults& faults, bool record, std::shared_ptr<const LiveBuffers> live);
    /// Accesses from here on are recorded apart from earlier ones.
    void begin_task() { first_of_task_ = ranges_.size(); }
    /// Reads register commands; recorded as such.
    [[nodiscard]] bool fetch(uint32_t iova, std::span<std::byte> dst);

    /// While set, accesses are neither recorded nor counted, and leave no fault.
    void set_observed(bool on);

    void abort() { aborted_ = true; }
    void clear_abort() { aborted_ = false; }

    [[nodiscard]] uint64_t bytes_read() const { return bytes_read_; }
    [[nodiscard]] uint64_t bytes_written() const { return bytes_written_; }
    [[nodiscard]] std::vector<DmaRange>& ranges() { return ranges_; }
    /// Data accesses outside the live buffers in this job; the first one is kept.
    [[nodiscard]] uint64_t stray_accesses() const { return stray_accesses_; }
    [[nodiscard]] const DmaRange& first_stray() const { return first_stray_; }

 private:
    bool fail(DmaFault::Kind kind, uint32_t iova, Access access);
    bool check_start(uint32_t iova, uint64_t len, Access access);
    [[nodiscard]] MmuBank* bank_for(Access access) const;
    DmaFault::Kind translate(uint32_t iova, Access access, uint64_t& pa);
    /// Bytes from iova on (at most len) that are physically contiguous; 0: kind says why.
    uint64_t contiguous(uint32_t iova, uint64_t len, Access access, uint64_t& pa,
                        DmaFault::Kind& kind);
    /// Longest physically contiguous piece at iova, at most len bytes, and its host view.
    std::span<std::byte> piece(uint32_t iova, uint64_t len, Access access, DmaFault::Kind& kind);
    void account(uint32_t iova, uint64_t len, Access access);

    PhysicalMemory& memory_;
    std::vector<MmuBank*> banks_;
    TranslateRules chip_rules_;
    TranslateRules rules_;
    std::optional<uint32_t> fault_page_;
    std::optional<uint32_t> bus_page_;
    DmaFault fault_;
    bool record_ = false;
    bool fetching_ = false;
    bool observed_ = false;
    uint64_t bytes_read_ = 0;
    uint64_t bytes_written_ = 0;
    std::vector<DmaRange> ranges_;
    size_t first_of_task_ = 0;
    std::shared_ptr<const LiveBuffers> live_;
    uint64_t stray_accesses_ = 0;
    DmaRange first_stray_;
    std::atomic<bool> aborted_ = false;
};

}  // namespace npusim
