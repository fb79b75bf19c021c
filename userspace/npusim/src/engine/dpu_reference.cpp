// SPDX-License-Identifier: MIT
// One element at a time, written for reading: hardware reference section 5.
#include <algorithm>
#include <cstdlib>

#include "dpu.hpp"

namespace npusim {
namespace {

int64_t alu(AluOp op, int64_t value, int64_t operand) {
    switch (op) {
        case AluOp::kMax:
            return std::max(value, operand);
        case AluOp::kMin:
            return std::min(value, operand);
        case AluOp::kAdd:
            return value + operand;
        case AluOp::kMinus:
            return value - operand;
        case AluOp::kAbs:
            return std::abs(value);
        case AluOp::kNeg:
            return -value;
        default:  // integers: floor and ceil change nothing, div is refused by the checks
            return value;
    }
}

int64_t multiply(int64_t value, int64_t operand, bool prelu, uint32_t shift,
                 uint32_t shift_negative) {
    const bool negative = value < 0;
    const int64_t product = prelu && !negative ? value : value * operand;
    return shift_even(product, negative ? shift_negative : shift);
}

int64_t relu(int64_t value, bool relux, uint32_t limit_bits) {
    value = std::max<int64_t>(value, 0);
    return relux ? std::min<int64_t>(value, static_cast<int32_t>(limit_bits)) : value;
}

int64_t stage(const StageDesc& desc, int64_t value, int32_t alu_operand, int32_t mul_operand) {
    if (!desc.enabled)
        return value;
    if (desc.alu)
        value = alu(desc.op, value, alu_operand);
    if (desc.mul)
        value = multiply(value, mul_operand, desc.prelu, desc.shift, desc.shift_negative);
    value = saturate32(value);
    return desc.relu ? relu(value, desc.relux, desc.relux_bits) : value;
}

int64_t convert_operand(const EwDesc& ew, int64_t operand) {
    if (!ew.convert)
        return operand;
    if (ew.offset_first)
        operand = shift_round((operand + ew.offset) * ew.scale, ew.shift, ew.convert_round);
    else
        operand = shift_round(operand * ew.scale, ew.shift, ew.convert_round) + ew.offset;
    return saturate32(operand);
}

int64_t elementwise(const DpuBlock<int32_t>& block, int64_t value, size_t index) {
    const EwDesc& ew = block.desc->ew;
    if (!ew.enabled)
        return value;
    if (ew.op) {
        const int64_t raw = block.operand != nullptr ? block.operand[index] : 0;
        const int64_t operand = convert_operand(ew, raw);
        value = ew.mul ? multiply(value, operand, ew.prelu, ew.truncate, ew.truncate_negative)
                       : alu(ew.alu, value, operand);
        value = saturate32(value);
    }
    if (ew.lut)
        value = saturate32(block.lut->evaluate(block.desc->lut, value));
    return ew.relu ? relu(value, ew.relux, ew.relux_bits) : value;
}

int64_t convert_output(const DpuDesc& desc, int64_t value) {
    const int64_t scale = desc.out_scale;
    if (desc.out_offset_first)
        value = shift_round((value + desc.out_offset) * scale, desc.out_shift, desc.out_round);
    else
        value = shift_round(value * scale, desc.out_shift, desc.out_round) + desc.out_offset;
    return saturate(value, precision_bits(desc.out));
}

}  // namespace

void dpu_reference(const DpuBlock<int32_t>& block) {
    for (size_t i = 0; i < block.pixels * kBlock; ++i) {
        const size_t lane = i % kBlock;
        int64_t value = block.values[i];
        value = stage(block.desc->bs, value, block.bs.alu[lane], block.bs.mul[lane]);
        value = stage(block.desc->bn, value, block.bn.alu[lane], block.bn.mul[lane]);
        value = elementwise(block, value, i);
        block.values[i] = static_cast<int32_t>(convert_output(*block.desc, value));
    }
}

}  // namespace npusim
