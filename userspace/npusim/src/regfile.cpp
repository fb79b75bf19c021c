// SPDX-License-Identifier: MIT
#include "npusim/regfile.hpp"

#include <cstdio>

namespace npusim {

namespace {

constexpr uint32_t kStatus = 0x0;
constexpr uint32_t kPointer = 0x4;
constexpr uint32_t kFirstShadowed = 0x8;

constexpr uint32_t kWriterToggles = 1U << 1;
constexpr uint32_t kExecuterToggles = 1U << 2;
constexpr uint32_t kClearWriter = 1U << 4;
constexpr uint32_t kClearExecuter = 1U << 5;
constexpr uint32_t kStoredControl = 0xf000000eU;
constexpr unsigned kExecuterShift = 16;

struct BlockInfo {
    uint32_t base;
    uint32_t enable;
    const char* name;
};

constexpr std::array<BlockInfo, kBlocks> kInfo = {{{0x1000, kEnableCna, "CNA"},
                                                   {0x3000, kEnableCore, "CORE"},
                                                   {0x4000, kEnableDpu, "DPU"},
                                                   {0x5000, kEnableDpuRdma, "DPU_RDMA"},
                                                   {0x6000, kEnablePpu, "PPU"},
                                                   {0x7000, kEnablePpuRdma, "PPU_RDMA"}}};

}  // namespace

uint32_t ShadowBlock::read(uint32_t offset) const {
    if (offset == kPointer)
        return control_ | pointer_ | executer_ << kExecuterShift;
    if (offset == kStatus || offset >= kBlockWindow)
        return 0;
    return groups_[pointer_][offset];
}

void ShadowBlock::write(uint32_t offset, uint32_t value) {
    if (offset == kPointer) {
        control_ = value & kStoredControl;
        if ((value & kWriterToggles) == 0)
            pointer_ = value & 1U;
        if (value & kClearWriter)
            pointer_ = 0;
        if (value & kClearExecuter)
            executer_ = 0;
        return;
    }
    if (offset >= kFirstShadowed && offset < kBlockWindow)
        groups_[pointer_].set(offset, value);
}

void ShadowBlock::advance() {
    if (control_ & kWriterToggles)
        pointer_ ^= 1U;
    if (control_ & kExecuterToggles)
        executer_ ^= 1U;
}

void ShadowBlock::reset() {
    *this = ShadowBlock{};
}

std::optional<BlockId> RegFile::block_at(uint32_t offset) {
    for (size_t i = 0; i < kBlocks; ++i)
        if (offset >= kInfo[i].base && offset < kInfo[i].base + kBlockWindow)
            return static_cast<BlockId>(i);
    return std::nullopt;
}

uint32_t RegFile::enable_bit(BlockId id) {
    return kInfo[static_cast<size_t>(id)].enable;
}

TaskRegs RegFile::active() const {
    return {block(BlockId::kCna).active(), block(BlockId::kCore).active(),
            block(BlockId::kDpu).active(), block(BlockId::kDpuRdma).active(),
            block(BlockId::kPpu).active(), block(BlockId::kPpuRdma).active()};
}

std::string RegFile::check_start(uint32_t enable_mask) const {
    for (size_t i = 0; i < kBlocks; ++i) {
        if ((enable_mask & kInfo[i].enable) == 0)
            continue;
        if (blocks_[i].pointer() == blocks_[i].executer())
            continue;
        char text[160];
        std::snprintf(text, sizeof(text),
                      "%s.S_POINTER = 0x%x: register group %u was written but the block executes "
                      "group %u; use equal toggle bits (0xe) for both",
                      kInfo[i].name, blocks_[i].read(kPointer), blocks_[i].pointer(),
                      blocks_[i].executer());
        return text;
    }
    return {};
}

void RegFile::advance(uint32_t enable_mask) {
    for (size_t i = 0; i < kBlocks; ++i)
        if (enable_mask & kInfo[i].enable)
            blocks_[i].advance();
}

void RegFile::reset() {
    for (ShadowBlock& block : blocks_)
        block.reset();
}

}  // namespace npusim
