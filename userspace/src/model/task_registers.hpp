// SPDX-License-Identifier: MIT
// Registers as the tasks of a stream leave them, for checks that look at what a task really works
// with: later tasks of an operator set only what differs from the one before the last.
#pragma once

#include <npusim/regfile.hpp>

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <utility>

#include "core/status.hpp"
#include "model/graph.hpp"

namespace rknpu {

class TaskRegisters {
 public:
    void start_operator() {
        registers_.reset();
        for (auto& block : set_)
            for (auto& group : block)
                group.reset();
        for (const auto block : {npusim::BlockId::kCna, npusim::BlockId::kCore})
            registers_.block(block).write(kPointer, kDriversPointer);
    }

    void command(uint64_t word) {
        const auto offset = static_cast<uint16_t>(word);
        const auto id = npusim::RegFile::block_at(offset);
        if (word >> 48 == 0 || !id)
            return;
        auto& block = registers_.block(*id);
        set_[static_cast<size_t>(*id)][block.pointer()].set((offset >> 2) % kWords);
        block.write(offset & 0xfffu, static_cast<uint32_t>(word >> 16));
    }

    /// The first register in `needed` of an enabled block that the operator has not set, 0 if none.
    uint16_t missing(std::span<const uint16_t> needed, uint32_t enable) const {
        for (const uint16_t offset : needed) {
            const auto id = *npusim::RegFile::block_at(offset);
            const bool used = (enable & npusim::RegFile::enable_bit(id)) != 0;
            // S_POINTER belongs to both groups.
            const auto& groups = set_[static_cast<size_t>(id)];
            const size_t bit = (offset >> 2) % kWords;
            const bool set = (offset & 0xfff) == kPointer
                                 ? groups[0].test(bit) || groups[1].test(bit)
                                 : groups[registers_.block(id).executer()].test(bit);
            if (used && !set)
                return offset;
        }
        return 0;
    }

    void advance(uint32_t enable) { registers_.advance(enable); }
    npusim::TaskRegs active() const { return registers_.active(); }

 private:
    static constexpr uint16_t kPointer = 0x4;         // S_POINTER of each block
    static constexpr uint32_t kDriversPointer = 0xe;  // what the driver writes there before a job
    static constexpr size_t kWords = npusim::BlockRegs::kWords;

    npusim::RegFile registers_;
    std::array<std::array<std::bitset<kWords>, 2>, npusim::kBlocks> set_;
};

/// Calls visit(task, registers, enable bits) for each task of a stream of a graph whose tasks lie
/// inside its commands, with `words` in the place of those. Ends with the first error.
template <typename Visit>
Status walk_stream(const JobGraph& graph, std::span<const uint64_t> words, size_t stream,
                   Visit&& visit) {
    constexpr size_t kTailWords = 4;
    constexpr uint32_t kAllBlocks = 0x7f;  // the enable bits of blocks; RK3576 sets others as well
    const size_t first = graph.stream_first[stream];
    uint32_t node = UINT32_MAX;
    TaskRegisters registers;
    for (size_t i = first; i < first + graph.stream_count[stream]; ++i) {
        const auto& task = graph.tasks[i];
        if (task.op_idx != node)
            registers.start_operator();
        node = task.op_idx;
        const size_t start = task.regcmd_addr / sizeof(uint64_t);
        const size_t end = start + task.regcfg_amount + kTailWords;
        for (size_t w = start; w < end - kTailWords; ++w)
            registers.command(words[w]);
        const auto enable = static_cast<uint32_t>(words[end - 1] >> 16) & kAllBlocks;
        if (auto status = visit(i, std::as_const(registers), enable); !status.ok())
            return status;
        registers.advance(enable);
        // The fetch unit is two commands: one behind an odd number arrives as well.
        if ((end - start) % 2 != 0 && end < words.size())
            registers.command(words[end]);
    }
    return {};
}

}  // namespace rknpu
