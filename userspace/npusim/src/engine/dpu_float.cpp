// SPDX-License-Identifier: MIT
// Float pipeline: fp32 inside. The chip's rounding of single steps is not published; the stated
// bound of the tests covers it.
#include <algorithm>
#include <cmath>

#include "dpu.hpp"

namespace npusim {
namespace {

float alu(AluOp op, float value, float operand) {
    switch (op) {
        case AluOp::kMax:
            return std::max(value, operand);
        case AluOp::kMin:
            return std::min(value, operand);
        case AluOp::kAdd:
            return value + operand;
        case AluOp::kDiv:
            return value / operand;
        case AluOp::kMinus:
            return value - operand;
        case AluOp::kAbs:
            return std::fabs(value);
        case AluOp::kNeg:
            return -value;
        case AluOp::kFloor:
            return std::floor(value);
        case AluOp::kCeil:
            return std::ceil(value);
    }
    return value;
}

float relu(float value, bool relux, uint32_t limit_bits) {
    value = std::max(value, 0.0F);
    return relux ? std::min(value, std::bit_cast<float>(limit_bits)) : value;
}

void stage(const StageDesc& desc, const StageLanes<float>& lanes, float* values, size_t pixels) {
    if (!desc.enabled)
        return;
    for (size_t i = 0; i < pixels * kBlock; ++i) {
        const size_t lane = i % kBlock;
        float value = values[i];
        if (desc.alu)
            value = alu(desc.op, value, lanes.alu[lane]);
        if (desc.mul && (!desc.prelu || value < 0))
            value *= lanes.mul[lane];
        values[i] = desc.relu ? relu(value, desc.relux, desc.relux_bits) : value;
    }
}

void elementwise(const DpuBlock<float>& block) {
    const EwDesc& ew = block.desc->ew;
    if (!ew.enabled)
        return;
    for (size_t i = 0; i < block.pixels * kBlock; ++i) {
        float value = block.values[i];
        if (ew.op) {
            const float operand = block.operand != nullptr ? block.operand[i] : 0.0F;
            if (!ew.mul)
                value = alu(ew.alu, value, operand);
            else if (!ew.prelu || value < 0)
                value *= operand;
        }
        if (ew.lut)
            value = block.lut->evaluate(block.desc->lut, value);
        block.values[i] = ew.relu ? relu(value, ew.relux, ew.relux_bits) : value;
    }
}

}  // namespace

void dpu_float(const DpuBlock<float>& block) {
    const DpuDesc& desc = *block.desc;
    stage(desc.bs, block.bs, block.values, block.pixels);
    stage(desc.bn, block.bn, block.values, block.pixels);
    elementwise(block);
}

}  // namespace npusim
