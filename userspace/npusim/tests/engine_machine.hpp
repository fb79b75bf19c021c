// SPDX-License-Identifier: MIT
// Test bench of the task engine: flat memory, both execution paths, registers by name.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "npuregs/regcmd.hpp"
#include "npusim/dma.hpp"
#include "npusim/engine.hpp"
#include "npusim/memory.hpp"

namespace engine_test {

/// Registers of one task; set() takes "BLOCK.NAME" offsets from npuregs.
struct Task {
    npusim::BlockRegs cna, core, dpu, dpu_rdma, ppu, ppu_rdma;

    void set(uint32_t offset, uint32_t value) { block(offset).set(offset, value); }
    [[nodiscard]] uint32_t get(uint32_t offset) { return block(offset)[offset]; }
    /// Changes one field, keeps the others.
    void set(uint32_t offset, npuregs::Field field, uint32_t value) {
        REQUIRE(npuregs::fits(field, value));
        set(offset, (get(offset) & ~field.mask()) | npuregs::put(field, value));
    }
    [[nodiscard]] npusim::TaskRegs regs() const {
        return {cna, core, dpu, dpu_rdma, ppu, ppu_rdma};
    }

 private:
    npusim::BlockRegs& block(uint32_t offset) {
        switch (npuregs::block_of(offset)) {
            case npuregs::Block::kCna:
                return cna;
            case npuregs::Block::kCore:
                return core;
            case npuregs::Block::kDpu:
                return dpu;
            case npuregs::Block::kDpuRdma:
                return dpu_rdma;
            case npuregs::Block::kPpu:
                return ppu;
            default:
                return ppu_rdma;
        }
    }
};

/// Memory at IOVA kBase; allocations are 64-byte aligned with random bytes between them.
class Machine {
 public:
    static constexpr uint32_t kBase = 0x10000;

    explicit Machine(size_t size, uint32_t seed = 1) : bytes_(size), random_(seed) {
        uint32_t noise = seed;  // any bytes that differ from zero and from each other will do
        for (std::byte& byte : bytes_) {
            noise = noise * 1664525U + 1013904223U;
            byte = static_cast<std::byte>(noise >> 24);
        }
        ram_.add(kBase, bytes_);
        dma_ = npusim::make_direct_dma(ram_);
        ++built_;
    }

    /// Machines made so far: one per random case.
    [[nodiscard]] static uint64_t built() { return built_; }

    uint32_t alloc(size_t size) {
        const size_t at = used_;
        used_ += (size + 64 + 63) / 64 * 64;
        REQUIRE(used_ <= bytes_.size());
        return kBase + static_cast<uint32_t>(at);
    }

    template <typename T>
    void put(uint64_t iova, T value) {
        std::memcpy(bytes_.data() + offset_of(iova, sizeof value), &value, sizeof value);
    }

    template <typename T>
    [[nodiscard]] T get(uint64_t iova) const {
        T value;
        std::memcpy(&value, bytes_.data() + offset_of(iova, sizeof value), sizeof value);
        return value;
    }

    /// Runs on the given path and leaves the result in memory.
    std::optional<npusim::ExecError> run(const Task& task, uint32_t mask, bool reference) {
        return (reference ? reference_ : fast_).run(task.regs(), mask, *dma_);
    }

    /// Runs the reference path, then the fast path on the same start memory; both must succeed
    /// and leave the same bytes everywhere. Afterwards memory holds the result.
    void run_both(const Task& task, uint32_t mask) {
        const std::vector<std::byte> before = bytes_;
        auto error = run(task, mask, true);
        INFO((error ? error->text : std::string("reference path ran")));
        REQUIRE(!error);
        std::vector<std::byte> result = bytes_;
        std::copy(before.begin(), before.end(), bytes_.begin());
        error = run(task, mask, false);
        INFO((error ? error->text : std::string("fast path ran")));
        REQUIRE(!error);
        const auto [a, b] = std::mismatch(result.begin(), result.end(), bytes_.begin());
        INFO("first difference at offset " << (a - result.begin()));
        REQUIRE(a == result.end());
        before_ = before;
    }

    /// Bytes that the last run_both() changed although `expected` does not name them.
    /// `expected` holds [iova, length) ranges.
    [[nodiscard]] size_t stray_writes(
        const std::vector<std::pair<uint64_t, size_t>>& expected) const {
        std::vector<bool> allowed(bytes_.size(), false);
        for (const auto& [iova, length] : expected)
            std::fill_n(allowed.begin() + static_cast<ptrdiff_t>(iova - kBase), length, true);
        size_t stray = 0;
        for (size_t i = 0; i < bytes_.size(); ++i)
            stray += !allowed[i] && bytes_[i] != before_[i] ? 1 : 0;
        return stray;
    }

    npusim::TaskEngine& fast() { return fast_; }
    npusim::TaskEngine& reference() { return reference_; }
    npusim::DmaPort& dma() { return *dma_; }

    [[nodiscard]] int pick(int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random_);
    }
    [[nodiscard]] bool chance(int percent) { return pick(1, 100) <= percent; }
    template <typename T>
    [[nodiscard]] T one_of(std::initializer_list<T> values) {
        return values.begin()[pick(0, static_cast<int>(values.size()) - 1)];
    }

 private:
    [[nodiscard]] size_t offset_of(uint64_t iova, size_t size) const {
        if (iova < kBase || iova - kBase + size > bytes_.size())
            FAIL("test touches memory outside the machine at " << iova);
        return iova - kBase;
    }

    static inline uint64_t built_ = 0;
    std::vector<std::byte> bytes_, before_;
    npusim::RamMemory ram_;
    std::unique_ptr<npusim::DmaPort> dma_;
    size_t used_ = 0;
    std::mt19937 random_;
    npusim::TaskEngine reference_{npusim::EngineOptions{true, 1, npusim::RegisterMap::kRk3588}};
    npusim::TaskEngine fast_{npusim::EngineOptions{false, 1, npusim::RegisterMap::kRk3588}};
};

inline constexpr uint32_t kMaskConv = npusim::kEnableCna | npusim::kEnableCore | npusim::kEnableDpu;
inline constexpr uint32_t kMaskConvRdma = kMaskConv | npusim::kEnableDpuRdma;
inline constexpr uint32_t kMaskFlying = npusim::kEnableDpu | npusim::kEnableDpuRdma;
inline constexpr uint32_t kMaskPool = npusim::kEnablePpu | npusim::kEnablePpuRdma;

/// Number of random cases of one group: RKNPU_GOLDEN_CASES overrides ("make golden").
inline int case_count(int usual) {
    const char* text = std::getenv("RKNPU_GOLDEN_CASES");
    return text != nullptr ? std::max(1, std::atoi(text)) : usual;
}

}  // namespace engine_test
