// SPDX-License-Identifier: MIT
// What a task asks for, independent of the register layout. A decoder fills these structs and has
// checked them: sizes are non-zero and bounded, modes are ones the arithmetic knows.
#pragma once

#include <array>
#include <cstdint>

#include "fixed.hpp"
#include "npuregs/regs.hpp"

namespace npusim {

using npuregs::Precision;

inline constexpr uint32_t kAtomBytes = 16;  // one pixel of one surface, any precision

[[nodiscard]] constexpr bool is_float(Precision p) {
    return p == Precision::kFp16 || p == Precision::kBf16 || p == Precision::kFp32 ||
           p == Precision::kTf32;
}

[[nodiscard]] constexpr unsigned precision_bits(Precision p) {
    switch (p) {
        case Precision::kInt4:
            return 4;
        case Precision::kInt8:
            return 8;
        case Precision::kInt16:
        case Precision::kFp16:
        case Precision::kBf16:
            return 16;
        default:
            return 32;
    }
}

/// Channels of one pixel atom.
[[nodiscard]] constexpr unsigned atom_channels(Precision p) {
    return kAtomBytes * 8 / precision_bits(p);
}

/// Input converter of the CNA, one lane each for the (up to four) channels of an image.
struct ConverterDesc {
    bool enabled = false;
    bool offset_first = true;  ///< CVT_TYPE 1: (x + offset) * scale, 0: x * scale + offset
    bool data_signed = true;
    Round round = Round::kEven;
    uint32_t lane_mask = 0;  ///< CVT_CON5; 0 converts all lanes
    std::array<int32_t, 4> scale{};
    std::array<int32_t, 4> offset{};
    std::array<uint32_t, 4> shift{};
};

struct DecompressDesc {
    bool enabled = false;
    std::array<uint32_t, 16> blocks{};  ///< 16-byte blocks per lane, header included
};

struct ConvDesc {
    Precision precision = Precision::kInt8;
    bool depthwise = false;
    bool deconv = false;
    uint32_t image_channels = 0;                   ///< 1..4: packed pixels; 0: 16-byte atoms
    uint32_t width = 0, height = 0, channels = 0;  ///< input; channels include padding lanes
    uint32_t out_width = 0, out_height = 0, out_channels = 0;  ///< out_channels aligned
    uint32_t kernels = 0;                                      ///< kernels in memory
    uint32_t weight_align = 0;        ///< stored channels are rounded up to this; 0: to whole atoms
    bool packed_kernel_rows = false;  ///< RK3576 images: 16 bytes per kernel row, 4 per position
    uint32_t kernel_width = 1, kernel_height = 1;
    uint32_t stride_x = 1, stride_y = 1;
    uint32_t dilation_x = 1, dilation_y = 1;
    uint32_t upsample_x = 1, upsample_y = 1;  ///< deconvolution: input pixel distance
    uint32_t pad_left = 0, pad_top = 0;
    uint32_t pad_bits = 0;      ///< PAD_VALUE as written
    uint32_t feature = 0;       ///< IOVA
    int64_t row_pitch = 0;      ///< bytes
    int64_t surface_pitch = 0;  ///< bytes
    uint32_t weights = 0;
    uint32_t weight_bytes = 0;
    bool sum_enabled = false;  ///< QD_EN: zero-point sum for the OW operand
    uint32_t truncate = 0;
    Round truncate_round = Round::kEven;
    ConverterDesc convert;
    DecompressDesc decompress;
};

enum class AluOp : uint8_t { kMax, kMin, kAdd, kDiv, kMinus, kAbs, kNeg, kFloor, kCeil };

/// BS or BN.
struct StageDesc {
    bool enabled = false;
    bool alu = false;
    bool mul = false;
    bool relu = false;
    bool relux = false;
    bool prelu = false;
    AluOp op = AluOp::kAdd;
    bool alu_from_memory = false;
    bool mul_from_memory = false;
    bool shift_from_memory = false;
    uint32_t alu_bits = 0;  ///< int32 or fp32
    uint32_t mul_bits = 0;  ///< int16 or fp16
    uint32_t shift = 0;     ///< for values >= 0, and for all without prelu
    uint32_t shift_negative = 0;
    uint32_t relux_bits = 0;  ///< int32 or fp32
};

struct EwDesc {
    bool enabled = false;
    bool op = false;   ///< ALU/MUL in use
    bool mul = false;  ///< op type
    bool prelu = false;
    bool relu = false;
    bool relux = false;
    bool lut = false;
    bool convert = false;
    bool offset_first = true;
    bool from_memory = false;
    bool binary = false;  ///< EW_BINARY_EN
    bool equal = false;   ///< EW_EQUAL_EN
    Round convert_round = Round::kEven;
    AluOp alu = AluOp::kAdd;
    uint32_t operand_bits = 8;  ///< EDATA_SIZE
    int32_t offset = 0;
    int32_t scale = 1;
    uint32_t shift = 0;
    uint32_t truncate = 0;
    uint32_t truncate_negative = 0;
    uint32_t relux_bits = 0;
    uint32_t immediate = 0;  ///< EW_OP_VALUE_0, int32 or fp32
};

struct LutDesc {
    bool lo_has_priority_hybrid = false;
    bool lo_on_overflow = false;
    bool lo_on_underflow = false;
    uint32_t le_shift = 0, lo_shift = 0;  ///< log2 step
    int32_t le_start = 0, le_end = 0, lo_start = 0, lo_end = 0;
    int32_t le_under_scale = 0, le_over_scale = 0, lo_under_scale = 0, lo_over_scale = 0;
    uint32_t le_under_shift = 0, le_over_shift = 0, lo_under_shift = 0, lo_over_shift = 0;
};

/// Where per-channel operands come from: records of eight channels, parts in this order.
struct RecordDesc {
    uint32_t base = 0;
    bool alu = false;    ///< int32 or fp32 [8]
    bool ow = false;     ///< int16 [8]
    bool mul = false;    ///< int16 or fp16 [8]
    bool shift = false;  ///< "TRT"
};

/// RK3576 keeps stage settings of BS in a tensor ("BScfg") instead of registers.
struct BsConfigDesc {
    uint32_t base = 0;      ///< IOVA
    bool shifts = false;    ///< byte 0: shift for values >= 0, byte 1: for negative ones
    bool operands = false;  ///< word 0: ALU operand, word 8: multiplier
};

/// A cube a read engine walks: atoms of 16 bytes, surface after surface.
struct CubeDesc {
    uint32_t base = 0;
    int64_t row_pitch = 0;      ///< bytes
    int64_t surface_pitch = 0;  ///< bytes
};

enum class EwSource : uint8_t {
    kNone,
    kPerChannel,
    kPerPixel,
    kAlternating,  ///< COMB_USE 5: MRDMA brings even surfaces of the operand, ERDMA odd ones
};

struct DpuDesc {
    bool flying = false;     ///< main data from memory
    bool to_memory = false;  ///< OUTPUT_MODE bit 1
    bool to_ppu = false;     ///< OUTPUT_MODE bit 0
    bool depthwise = false;
    Precision in = Precision::kInt8;
    Precision proc = Precision::kInt8;
    Precision out = Precision::kInt8;
    uint32_t width = 0, height = 0;
    uint32_t channels = 0;  ///< aligned
    uint32_t real_channels = 0;
    uint32_t surfaces_per_group = 1;  ///< SIZE_E + 1
    // Write DMA: the stream of pixels is cut again into cubes of this size.
    uint32_t write_width = 0, write_height = 0, write_channels = 0;
    uint32_t dst = 0;
    int64_t surface_stride = 0;  ///< bytes
    int64_t group_stride = 0;    ///< SURFACE_ADD, bytes
    uint32_t notch = 0;          ///< atoms after each written row
    bool ow = false;             ///< CORE's sum is used
    bool ow_from_memory = false;
    int32_t ow_operand = 0;
    StageDesc bs, bn;
    EwDesc ew;
    LutDesc lut;
    int32_t out_offset = 0;
    int32_t out_scale = 1;
    uint32_t out_shift = 0;
    bool out_offset_first = false;
    bool to_fp16 = false;  ///< FP32TOFP16_EN
    Round out_round = Round::kEven;
    // Read side (DPU_RDMA).
    RecordDesc bs_record, bn_record;
    BsConfigDesc bs_config;
    CubeDesc main;     ///< MRDMA
    CubeDesc operand;  ///< ERDMA
    EwSource ew_source = EwSource::kNone;
    Precision main_precision = Precision::kInt8;
    bool main_alternating = false;  ///< COMB_USE 3: even surfaces by MRDMA, odd ones by ERDMA
    bool transpose = false;         ///< TP_ORG_EN: blocks of n pixels x n channels are turned
};

enum class PoolMethod : uint8_t { kAverage, kMax, kMin };

struct PpuDesc {
    bool from_memory = true;
    PoolMethod method = PoolMethod::kMax;
    Precision precision = Precision::kInt8;
    uint32_t in_width = 0, in_height = 0, in_channels = 0;
    uint32_t out_width = 0, out_height = 0, out_channels = 0;
    uint32_t kernel_width = 1, kernel_height = 1;
    uint32_t stride_x = 1, stride_y = 1;
    uint32_t pad_left = 0, pad_top = 0, pad_right = 0, pad_bottom = 0;
    int64_t pad_value = 0;  ///< sign-extended from 35 bits
    uint32_t recip_width = 0, recip_height = 0;
    uint32_t notch = 0;
    uint32_t dst = 0;
    int64_t dst_surface = 0;
    CubeDesc src;
};

/// One task after decoding.
struct TaskDesc {
    bool conv_enabled = false;
    bool dpu_enabled = false;
    bool ppu_enabled = false;
    ConvDesc conv;
    DpuDesc dpu;
    PpuDesc ppu;
};

}  // namespace npusim
