// SPDX-License-Identifier: MIT
// Shadowed registers of the execution blocks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "npusim/engine.hpp"

namespace npusim {

inline constexpr uint32_t kBlockWindow = 0x200;  ///< bytes of registers modelled per block

/// One block with its two register groups. S_POINTER (+0x4) fields: bit 0 group being written,
/// 1 writer toggles, 2 executer toggles, 3 toggle by pointer, 4/5 clear writer/executer.
/// With "writer toggles" set, bit 0 of a write is ignored: every known producer writes 0xe in
/// each task and relies on task n inheriting from task n - 2.
class ShadowBlock {
 public:
    [[nodiscard]] uint32_t read(uint32_t offset) const;  ///< offset inside the block
    void write(uint32_t offset, uint32_t value);

    [[nodiscard]] unsigned pointer() const { return pointer_; }
    [[nodiscard]] unsigned executer() const { return executer_; }
    [[nodiscard]] const BlockRegs& active() const { return groups_[executer_]; }

    /// A task has used this block.
    void advance();
    void reset();

 private:
    std::array<BlockRegs, 2> groups_;
    uint32_t control_ = 0;  // S_POINTER bits 1..3 and 28..31 as written
    unsigned pointer_ = 0;
    unsigned executer_ = 0;
};

/// The blocks in the order of their windows.
enum class BlockId : uint8_t { kCna, kCore, kDpu, kDpuRdma, kPpu, kPpuRdma };
inline constexpr size_t kBlocks = 6;

class RegFile {
 public:
    /// Block whose window holds this core offset.
    [[nodiscard]] static std::optional<BlockId> block_at(uint32_t offset);
    /// Bit of a block in the op-enable word.
    [[nodiscard]] static uint32_t enable_bit(BlockId id);

    [[nodiscard]] ShadowBlock& block(BlockId id) { return blocks_[static_cast<size_t>(id)]; }
    [[nodiscard]] const ShadowBlock& block(BlockId id) const {
        return blocks_[static_cast<size_t>(id)];
    }

    /// The groups the next task executes from.
    [[nodiscard]] TaskRegs active() const;

    /// Why the enabled blocks cannot start, or an empty text.
    [[nodiscard]] std::string check_start(uint32_t enable_mask) const;

    /// A task with these blocks has finished.
    void advance(uint32_t enable_mask);
    void reset();

 private:
    std::array<ShadowBlock, kBlocks> blocks_;
};

}  // namespace npusim
