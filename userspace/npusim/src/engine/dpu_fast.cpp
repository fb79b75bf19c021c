// SPDX-License-Identifier: MIT
// The integer pipeline as short loops over whole blocks that the compiler vectorises. Every loop
// restates one step of dpu_reference.cpp; the tests hold both against each other.
#include <algorithm>
#include <limits>

#include "dpu.hpp"
#include "simd.hpp"

namespace npusim {
namespace {

constexpr int64_t kMin32 = std::numeric_limits<int32_t>::min();
constexpr int64_t kMax32 = std::numeric_limits<int32_t>::max();

int32_t clamp32(int64_t value) {
    return static_cast<int32_t>(std::min(std::max(value, kMin32), kMax32));
}

/// Scale parameters of "multiply, shift, round": one set per sign of the input.
struct Scale {
    int64_t half[2];  ///< rounding term without the odd bit, [0] for values >= 0
    int64_t odd[2];   ///< 1 when the odd bit takes part (round to even, shift above 0)
    int32_t shift[2];
};

Scale make_scale(uint32_t positive, uint32_t negative, Round round) {
    Scale scale{};
    const uint32_t shifts[2] = {positive, negative};
    for (size_t i = 0; i < 2; ++i) {
        const bool even = round == Round::kEven;
        scale.shift[i] = static_cast<int32_t>(shifts[i]);
        if (shifts[i] != 0)
            scale.half[i] = (int64_t{1} << (shifts[i] - 1)) - (even ? 1 : 0);
        scale.odd[i] = shifts[i] != 0 && even ? 1 : 0;
    }
    return scale;
}

inline int64_t shift_by(int64_t value, const Scale& scale, size_t set) {
    const int32_t shift = scale.shift[set];
    return (value + scale.half[set] + ((value >> shift) & scale.odd[set])) >> shift;
}

struct StageArgs {
    int32_t* values;
    size_t pixels;
    const int32_t* alu;  ///< 16 lanes
    const int32_t* mul;  ///< 16 lanes
    Scale scale;
};

// The usual convolution tail: add the bias, multiply, one shift for both signs. The bias is
// multiplied first, so that what is left per element is a 32 x 32 bit product.
NPUSIM_CLONES void add_multiply(const StageArgs& args) {
    const int64_t half = args.scale.half[0];
    const int64_t odd = args.scale.odd[0];
    const int32_t shift = args.scale.shift[0];
    int32_t mul[kBlock];
    int64_t bias[kBlock];
    for (uint32_t l = 0; l < kBlock; ++l) {
        mul[l] = args.mul[l];
        bias[l] = int64_t{args.alu[l]} * args.mul[l];
    }
    for (size_t p = 0; p < args.pixels; ++p) {
        int32_t* v = args.values + p * kBlock;
        for (uint32_t l = 0; l < kBlock; ++l) {
            const int64_t product = int64_t{v[l]} * mul[l] + bias[l];
            v[l] = clamp32((product + half + ((product >> shift) & odd)) >> shift);
        }
    }
}

NPUSIM_CLONES void add(const StageArgs& args) {
    for (size_t p = 0; p < args.pixels; ++p) {
        int32_t* v = args.values + p * kBlock;
        for (uint32_t l = 0; l < kBlock; ++l)
            v[l] = clamp32(int64_t{v[l]} + args.alu[l]);
    }
}

NPUSIM_CLONES void relu(int32_t* values, size_t count, int32_t limit) {
    for (size_t i = 0; i < count; ++i)
        values[i] = std::min(std::max(values[i], 0), limit);
}

int64_t alu_step(AluOp op, int64_t value, int64_t operand) {
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
            return value < 0 ? -value : value;
        case AluOp::kNeg:
            return -value;
        default:
            return value;
    }
}

/// Uncommon settings of BS and BN.
void general_stage(const StageDesc& desc, const StageArgs& args) {
    for (size_t i = 0; i < args.pixels * kBlock; ++i) {
        const size_t lane = i % kBlock;
        int64_t value = args.values[i];
        if (desc.alu)
            value = alu_step(desc.op, value, args.alu[lane]);
        if (desc.mul) {
            const size_t set = value < 0 ? 1 : 0;
            if (!desc.prelu || set == 1)
                value *= args.mul[lane];
            value = shift_by(value, args.scale, set);
        }
        args.values[i] = clamp32(value);
    }
}

void stage(const StageDesc& desc, const StageLanes<int32_t>& lanes, int32_t* values,
           size_t pixels) {
    if (!desc.enabled)
        return;
    const StageArgs args{values, pixels, lanes.alu.data(), lanes.mul.data(),
                         make_scale(desc.shift, desc.shift_negative, Round::kEven)};
    const bool adds = desc.alu && desc.op == AluOp::kAdd;
    if (adds && desc.mul && !desc.prelu && desc.shift == desc.shift_negative)
        add_multiply(args);
    else if (adds && !desc.mul)
        add(args);
    else if (desc.alu || desc.mul)
        general_stage(desc, args);
    if (desc.relu) {
        const int32_t limit = desc.relux ? static_cast<int32_t>(desc.relux_bits)
                                         : std::numeric_limits<int32_t>::max();
        relu(values, pixels * kBlock, limit);
    }
}

struct OperandArgs {
    int32_t* values;
    const int32_t* operand;
    size_t count;
    int32_t scale;
    int64_t before, after;  ///< offsets before and after the multiplication
    int64_t half, odd;
    int32_t shift;
};

// The usual residual connection: converted operand added to the main data.
NPUSIM_CLONES void add_converted(const OperandArgs& args) {
    const int64_t before = args.before * args.scale;
    for (size_t i = 0; i < args.count; ++i) {
        const int64_t product = int64_t{args.operand[i]} * args.scale + before;
        const int64_t shifted =
            (product + args.half + ((product >> args.shift) & args.odd)) >> args.shift;
        args.values[i] = clamp32(int64_t{args.values[i]} + clamp32(shifted + args.after));
    }
}

OperandArgs operand_args(const EwDesc& ew, const DpuBlock<int32_t>& block) {
    OperandArgs args{block.values, block.operand, block.pixels * kBlock, 1, 0, 0, 0, 0, 0};
    if (!ew.convert)
        return args;
    const Scale scale = make_scale(ew.shift, ew.shift, ew.convert_round);
    args.scale = ew.scale;
    args.before = ew.offset_first ? ew.offset : 0;
    args.after = ew.offset_first ? 0 : ew.offset;
    args.half = scale.half[0];
    args.odd = scale.odd[0];
    args.shift = scale.shift[0];
    return args;
}

void general_elementwise(const EwDesc& ew, const DpuBlock<int32_t>& block) {
    const OperandArgs args = operand_args(ew, block);
    const Scale truncate = make_scale(ew.truncate, ew.truncate_negative, Round::kEven);
    for (size_t i = 0; i < args.count; ++i) {
        const int64_t raw = block.operand != nullptr ? block.operand[i] : 0;
        const int64_t product = (raw + args.before) * args.scale;
        const int64_t shifted =
            (product + args.half + ((product >> args.shift) & args.odd)) >> args.shift;
        const int64_t operand = clamp32(shifted + args.after);
        int64_t value = block.values[i];
        if (ew.mul) {
            const size_t set = value < 0 ? 1 : 0;
            if (!ew.prelu || set == 1)
                value *= operand;
            value = shift_by(value, truncate, set);
        } else {
            value = alu_step(ew.alu, value, operand);
        }
        block.values[i] = clamp32(value);
    }
}

void elementwise(const DpuBlock<int32_t>& block) {
    const EwDesc& ew = block.desc->ew;
    if (!ew.enabled)
        return;
    const size_t count = block.pixels * kBlock;
    if (ew.op) {
        if (!ew.mul && ew.alu == AluOp::kAdd && block.operand != nullptr)
            add_converted(operand_args(ew, block));
        else
            general_elementwise(ew, block);
    }
    if (ew.lut) {
        for (size_t i = 0; i < count; ++i)
            block.values[i] =
                clamp32(block.lut->evaluate(block.desc->lut, int64_t{block.values[i]}));
    }
    if (ew.relu) {
        const int32_t limit =
            ew.relux ? static_cast<int32_t>(ew.relux_bits) : std::numeric_limits<int32_t>::max();
        relu(block.values, count, limit);
    }
}

struct OutputArgs {
    int32_t* values;
    size_t count;
    int32_t scale;
    int64_t before, after;
    int64_t half, odd;
    int32_t shift;
    int64_t low, high;
};

NPUSIM_CLONES void convert(const OutputArgs& args) {
    const int64_t before = args.before * args.scale;
    for (size_t i = 0; i < args.count; ++i) {
        const int64_t product = int64_t{args.values[i]} * args.scale + before;
        const int64_t shifted =
            (product + args.half + ((product >> args.shift) & args.odd)) >> args.shift;
        args.values[i] =
            static_cast<int32_t>(std::min(std::max(shifted + args.after, args.low), args.high));
    }
}

}  // namespace

void dpu_fast(const DpuBlock<int32_t>& block) {
    const DpuDesc& desc = *block.desc;
    stage(desc.bs, block.bs, block.values, block.pixels);
    stage(desc.bn, block.bn, block.values, block.pixels);
    elementwise(block);
    const Scale scale = make_scale(desc.out_shift, desc.out_shift, desc.out_round);
    const int64_t high = (int64_t{1} << (precision_bits(desc.out) - 1)) - 1;
    convert({block.values, block.pixels * kBlock, desc.out_scale,
             desc.out_offset_first ? desc.out_offset : 0,
             desc.out_offset_first ? 0 : desc.out_offset, scale.half[0], scale.odd[0],
             scale.shift[0], -high - 1, high});
}

}  // namespace npusim
