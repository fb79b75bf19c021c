// SPDX-License-Identifier: MIT
// Guest memory, page tables, command streams and a runner of known behaviour for the tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "npuregs/regcmd.hpp"
#include "npusim/npu.hpp"

namespace npusim_test {

/// RAM at one physical base, with page tables made by the test as the IOMMU driver would.
class Guest {
 public:
    static constexpr uint64_t kBase = 0x40000000;
    static constexpr size_t kSize = 8U << 20;

    Guest() : bytes_(kSize) { ram.add(kBase, bytes_); }

    void store(uint64_t pa, std::span<const std::byte> data) {
        std::memcpy(bytes_.data() + (pa - kBase), data.data(), data.size());
    }
    void store32(uint64_t pa, uint32_t value) { store(pa, std::as_bytes(std::span(&value, 1))); }
    uint32_t load32(uint64_t pa) const {
        uint32_t value;
        std::memcpy(&value, bytes_.data() + (pa - kBase), sizeof(value));
        return value;
    }
    void store_words(uint64_t pa, const std::vector<uint64_t>& words) {
        store(pa, std::as_bytes(std::span(words)));
    }

    /// A fresh zeroed page.
    uint64_t page() {
        next_page_ += 0x1000;
        return next_page_;
    }

    /// Maps one 4 KiB page; flags: 1 valid, 2 readable, 4 writable.
    void map(uint32_t iova, uint64_t pa, uint32_t flags = 7) {
        if (directory == 0)
            directory = page();
        const uint64_t dte_at = directory + (iova >> 22) * 4;
        if ((load32(dte_at) & 1) == 0)
            store32(dte_at, descriptor(page()) | 1);
        const uint64_t table = load32(dte_at) & 0xfffff000U;
        store32(table + ((iova >> 12) & 0x3ff) * 4, descriptor(pa) | flags);
    }
    static uint32_t descriptor(uint64_t pa) {
        return static_cast<uint32_t>((pa & 0xfffff000U) | ((pa >> 24) & 0xf00U) |
                                     ((pa >> 32) & 0xf0U));
    }

    npusim::RamMemory ram;
    uint64_t directory = 0;

 private:
    std::vector<std::byte> bytes_;
    uint64_t next_page_ = kBase + (4U << 20);
};

inline uint64_t word(uint16_t target, uint32_t offset, uint32_t value) {
    return npuregs::Command{target, static_cast<uint16_t>(offset), value}.encode();
}

inline uint64_t write_reg(uint32_t offset, uint32_t value) {
    return word(npuregs::target_of(npuregs::block_of(offset)), offset, value);
}

/// A stream with its tail; `next` 0 ends the chain.
inline std::vector<uint64_t> stream(std::vector<uint64_t> body, uint32_t enable, uint32_t next = 0,
                                    uint32_t next_amount = 0) {
    body.push_back(next != 0 ? word(npuregs::kTargetPc, 0x10, next) : 0);
    body.push_back(word(npuregs::kTargetPc, 0x14, next_amount));
    body.push_back(word(npuregs::kTargetSync, 0, 0));
    body.push_back(word(npuregs::kTargetEnable, 8, enable));
    if (body.size() % 2 != 0)
        body.push_back(0);
    return body;
}

inline uint32_t amount(const std::vector<uint64_t>& words) {
    return static_cast<uint32_t>(words.size() / 2 - 1);
}

/// Copies CNA.DATA_SIZE0 bytes from CNA.FEATURE_DATA_ADDR to DPU.DST_BASE_ADDR and adds
/// DPU.BS_ALU_CFG to each byte.
class CopyRunner final : public npusim::TaskRunner {
 public:
    struct Log {
        std::mutex mutex;
        std::vector<uint32_t> values;  // BS_ALU_CFG of each task
        std::vector<std::pair<uint32_t, uint32_t>> lut;
        unsigned resets = 0;
        std::function<void()> during;
        std::string refuse;
    };
    explicit CopyRunner(Log& log) : log_(log) {}

    std::optional<npusim::ExecError> run(const npusim::TaskRegs& regs, uint32_t,
                                         npusim::DmaPort& dma) override {
        std::function<void()> during;
        {
            std::lock_guard lock(log_.mutex);
            if (!log_.refuse.empty())
                return npusim::ExecError{npusim::ExecError::Kind::kRefused, log_.refuse};
            log_.values.push_back(regs.dpu[0x4044]);
            during = log_.during;
        }
        if (during)
            during();
        std::vector<std::byte> data(regs.cna[0x1020]);
        if (!dma.read(regs.cna[0x1070], data))
            return npusim::ExecError{npusim::ExecError::Kind::kDma, "read"};
        for (std::byte& b : data)
            b = static_cast<std::byte>(static_cast<uint32_t>(b) + regs.dpu[0x4044]);
        if (!dma.write(regs.dpu[0x4020], data))
            return npusim::ExecError{npusim::ExecError::Kind::kDma, "write"};
        return std::nullopt;
    }
    void write_lut(uint32_t offset, uint32_t value) override {
        std::lock_guard lock(log_.mutex);
        log_.lut.emplace_back(offset, value);
    }
    uint32_t read_lut() override { return 0x77; }
    void reset() override {
        std::lock_guard lock(log_.mutex);
        ++log_.resets;
    }
    const npusim::TaskWork& last_work() const override { return work_; }

 private:
    Log& log_;
    npusim::TaskWork work_;
};

/// An NPU over a Guest, programmed as the driver does it.
class Bench {
 public:
    explicit Bench(npusim::NpuOptions options = {},
                   npusim::SocConfig soc = npusim::SocConfig::rk3588()) {
        options.make_runner = [this](unsigned) { return std::make_unique<CopyRunner>(runner); };
        npu = std::make_unique<npusim::Npu>(soc, guest.ram, std::move(options));
        npu->set_job_handler([this](const npusim::JobResult& result) {
            std::lock_guard lock(mutex);
            results.push_back(result);
        });
    }

    /// Streams of a chain at `at`, 4 KiB apart, each adding values[i] on its way.
    void make_chain(uint32_t at, const std::vector<uint32_t>& values, uint32_t src = kSrc,
                    uint32_t dst = kDst) {
        for (size_t i = 0; i < values.size(); ++i) {
            const uint32_t here = at + static_cast<uint32_t>(i) * 0x1000;
            const bool last = i + 1 == values.size();
            const auto words = stream(body(values[i], src, dst), 0x0d, last ? 0 : here + 0x1000,
                                      last ? 0 : kAmount);
            guest.store_words(here, words);
        }
    }
    static std::vector<uint64_t> body(uint32_t value, uint32_t src = kSrc, uint32_t dst = kDst) {
        return {write_reg(0x1004, 0xe),   write_reg(0x3004, 0xe), write_reg(0x4004, 0xe),
                write_reg(0x1020, 64),    write_reg(0x1070, src), write_reg(0x4020, dst),
                write_reg(0x4044, value), write_reg(0x4010, 0)};
    }

    /// Writes the start registers as the vendor driver does.
    void start(unsigned core, uint32_t stream_at, uint32_t tasks = 1,
               uint32_t words_amount = kAmount, uint32_t mask = 0x300) {
        npu->write(core, 0x10, 1);
        npu->write(core, 0x1004, 0xe + 0x10000000 * core);
        npu->write(core, 0x3004, 0xe + 0x10000000 * core);
        npu->write(core, 0x10, stream_at);
        npu->write(core, 0x14, words_amount);
        npu->write(core, 0x20, mask);
        npu->write(core, 0x24, mask);
        npu->write(core, 0x30, 0x7000 | tasks);
        npu->write(core, 0x34, 0);
        npu->write(core, 0x08, 1);
        npu->write(core, 0x08, 0);
    }
    void finish() {
        if (!npu->wait_idle(5000))
            throw std::runtime_error("a job did not end");
    }
    void run(unsigned core, uint32_t stream_at, uint32_t tasks = 1) {
        start(core, stream_at, tasks);
        finish();
    }
    npusim::JobResult last() {
        std::lock_guard lock(mutex);
        return results.empty() ? npusim::JobResult{} : results.back();
    }
    void enable_paging(unsigned core) {
        for (const uint32_t bank : {0x9000U, 0xa000U}) {
            if (core != 0 && bank == 0x9000)
                continue;
            npu->write(core, bank, Guest::descriptor(guest.directory));
            npu->write(core, bank + 0x1c, 3);
            npu->write(core, bank + 0x08, 4);
            npu->write(core, bank + 0x08, 0);
        }
    }
    void zap(unsigned core) {
        npu->write(core, 0xa008, 4);
        if (core == 0)
            npu->write(core, 0x9008, 4);
    }

    static constexpr uint32_t kAmount = 5;  // 12 words: body of 8 and the tail
    static constexpr uint32_t kSrc = Guest::kBase + 0x100000;
    static constexpr uint32_t kDst = Guest::kBase + 0x110000;
    static constexpr uint32_t kCode = Guest::kBase;

    Guest guest;
    CopyRunner::Log runner;
    std::mutex mutex;
    std::vector<npusim::JobResult> results;
    std::unique_ptr<npusim::Npu> npu;  // last: its workers use the members above
};

}  // namespace npusim_test
