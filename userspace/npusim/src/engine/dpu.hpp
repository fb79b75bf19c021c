// SPDX-License-Identifier: MIT
// Per-element work of the DPU on blocks of [pixels][16 channels].
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "conv.hpp"
#include "desc.hpp"
#include "lut.hpp"
#include "transfer.hpp"

namespace npusim {

/// Operands of one stage for the sixteen channels of a block.
template <typename T>
struct StageLanes {
    std::array<T, kBlock> alu;
    std::array<T, kBlock> mul;
};

/// Everything the arithmetic of one block needs. `operand` is null without an EW operand.
template <typename T>
struct DpuBlock {
    const DpuDesc* desc;
    const LutTables* lut;
    StageLanes<T> bs;
    StageLanes<T> bn;
    const T* operand;  ///< [pixels][16], before the operand converter
    size_t pixels;
    T* values;  ///< in: main data; out: result before packing, already saturated
};

/// Integer pipeline, element by element with 64-bit arithmetic: the oracle.
void dpu_reference(const DpuBlock<int32_t>& block);

/// The same results, stage by stage over the block.
void dpu_fast(const DpuBlock<int32_t>& block);

/// Float pipeline (fp32 inside, one implementation for both paths).
void dpu_float(const DpuBlock<float>& block);

/// Per-channel operands of a task, fetched once: raw 32- or 16-bit patterns per channel.
class ChannelOperands {
 public:
    /// Reads the records of `channels` channels (rounded up to whole blocks).
    bool load(const RecordDesc& record, uint32_t channels, Transfer& transfer);

    [[nodiscard]] uint32_t alu(size_t channel) const { return alu_[channel]; }
    [[nodiscard]] uint16_t mul(size_t channel) const { return mul_[channel]; }
    [[nodiscard]] int16_t ow(size_t channel) const { return static_cast<int16_t>(ow_[channel]); }

 private:
    std::vector<std::byte> raw_;
    std::vector<uint32_t> alu_;
    std::vector<uint16_t> mul_, ow_;
};

/// Fills the lanes of a stage for the block that starts at `channel`.
template <typename T>
void fill_stage(const StageDesc& stage, const ChannelOperands& operands, uint32_t channel,
                StageLanes<T>& lanes);

}  // namespace npusim
