// SPDX-License-Identifier: MIT
#include <bit>

#include "dpu.hpp"

namespace npusim {
namespace {

constexpr uint32_t kRecordChannels = 8;

int32_t alu_value(uint32_t bits, int32_t /*domain*/) {
    return static_cast<int32_t>(bits);
}

float alu_value(uint32_t bits, float /*domain*/) {
    return std::bit_cast<float>(bits);
}

int32_t mul_value(uint16_t bits, int32_t /*domain*/) {
    return static_cast<int16_t>(bits);
}

float mul_value(uint16_t bits, float /*domain*/) {
    return half_to_float(bits);
}

}  // namespace

bool ChannelOperands::load(const RecordDesc& record, uint32_t channels, Transfer& transfer) {
    const size_t padded = (channels + 2 * kBlock - 1) / (2 * kBlock) * (2 * kBlock);
    const auto alu = scratch(alu_, padded);
    const auto mul = scratch(mul_, padded);
    const auto ow = scratch(ow_, padded);
    std::fill(alu.begin(), alu.end(), 0);
    std::fill(mul.begin(), mul.end(), uint16_t{0});
    std::fill(ow.begin(), ow.end(), uint16_t{0});
    const size_t record_bytes =
        (record.alu ? 32U : 0U) + (record.ow ? 16U : 0U) + (record.mul ? 16U : 0U);
    if (record_bytes == 0)
        return true;
    const size_t records = (channels + kRecordChannels - 1) / kRecordChannels;
    const auto raw = scratch(raw_, records * record_bytes);
    if (!transfer.read(record.base, raw))
        return false;
    for (size_t r = 0; r < records; ++r) {
        const std::byte* from = raw.data() + r * record_bytes;
        const size_t first = r * kRecordChannels;
        if (record.alu) {
            std::memcpy(&alu[first], from, 32);
            from += 32;
        }
        if (record.ow) {
            std::memcpy(&ow[first], from, 16);
            from += 16;
        }
        if (record.mul)
            std::memcpy(&mul[first], from, 16);
    }
    return true;
}

template <typename T>
void fill_stage(const StageDesc& stage, const ChannelOperands& operands, uint32_t channel,
                StageLanes<T>& lanes) {
    for (size_t l = 0; l < kBlock; ++l) {
        const uint32_t alu = stage.alu_from_memory ? operands.alu(channel + l) : stage.alu_bits;
        const auto mul = static_cast<uint16_t>(stage.mul_from_memory ? operands.mul(channel + l)
                                                                     : stage.mul_bits);
        lanes.alu[l] = alu_value(alu, T{});
        lanes.mul[l] = mul_value(mul, T{});
    }
}

template void fill_stage(const StageDesc&, const ChannelOperands&, uint32_t, StageLanes<int32_t>&);
template void fill_stage(const StageDesc&, const ChannelOperands&, uint32_t, StageLanes<float>&);

}  // namespace npusim
