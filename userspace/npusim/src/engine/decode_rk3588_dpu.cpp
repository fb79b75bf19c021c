// SPDX-License-Identifier: MIT
#include "decode_rk3588_parts.hpp"

namespace npusim::rk3588 {

using npuregs::Field;
using npuregs::get;
using npuregs::get_signed;
namespace dpu_regs = npuregs::dpu;
namespace rdma_regs = npuregs::dpu_rdma;

namespace {

Precision precision(uint32_t code) {
    return static_cast<Precision>(code & 7U);
}

Round rounding(uint32_t bit) {
    return bit != 0 ? Round::kHalfUp : Round::kEven;
}

// BS and BN share one bit layout (BS_CFG/BN_CFG, MUL_CFG); the BS field constants serve both.
void decode_stage(const BlockRegs& regs, uint32_t cfg_offset, Field negative_shift,
                  StageDesc& stage, Refusals& no) {
    const uint32_t cfg = regs[cfg_offset];
    const uint32_t mul_cfg = regs[cfg_offset + 8];
    stage.enabled = get(dpu_regs::kBsCfgBsBypass, cfg) == 0;
    stage.alu = stage.enabled && get(dpu_regs::kBsCfgBsAluBypass, cfg) == 0;
    stage.mul = stage.enabled && get(dpu_regs::kBsCfgBsMulBypass, cfg) == 0;
    stage.relu = stage.enabled && get(dpu_regs::kBsCfgBsReluBypass, cfg) == 0;
    stage.relux = stage.relu && get(dpu_regs::kBsCfgBsReluxEn, cfg) != 0;
    stage.prelu = stage.mul && get(dpu_regs::kBsCfgBsMulPrelu, cfg) != 0;
    const uint32_t algo = get(dpu_regs::kBsCfgBsAluAlgo, cfg);
    // 0 max, 1 min, 2 add, 4 minus exist in the BS/BN ALU; the rest only in EW.
    no.require(!stage.alu || algo == 0 || algo == 1 || algo == 2 || algo == 4, cfg_offset, cfg,
               "ALU_ALGO must be 0 (max), 1 (min), 2 (add) or 4 (minus)");
    stage.op = static_cast<AluOp>(algo <= 8 ? algo : 2);
    stage.alu_from_memory = get(dpu_regs::kBsCfgBsAluSrc, cfg) != 0;
    stage.alu_bits = regs[cfg_offset + 4];
    stage.mul_from_memory = get(dpu_regs::kBsMulCfgBsMulSrc, mul_cfg) != 0;
    stage.mul_bits = get(dpu_regs::kBsMulCfgBsMulOperand, mul_cfg);
    stage.shift_from_memory = stage.mul && get(dpu_regs::kBsMulCfgBsTruncateSrc, mul_cfg) != 0;
    no.require(!stage.shift_from_memory, cfg_offset + 8, mul_cfg,
               "shift operands from memory (TRUNCATE_SRC) have no documented layout");
    stage.shift = get(dpu_regs::kBsMulCfgBsMulShiftValue, mul_cfg);
    stage.shift_negative = get(negative_shift, regs[dpu_regs::kDataFormat]);
    no.require(!stage.mul || stage.shift < 48, cfg_offset + 8, mul_cfg, "MUL_SHIFT_VALUE above 47");
    no.require(!stage.mul || stage.shift_negative < 48, dpu_regs::kDataFormat,
               regs[dpu_regs::kDataFormat], "MUL_SHIFT_VALUE_NEG above 47");
    stage.relux_bits = regs[cfg_offset + 12];
}

void decode_ew(const BlockRegs& regs, EwDesc& ew, Refusals& no) {
    const uint32_t cfg = regs[dpu_regs::kEwCfg];
    ew.enabled = get(dpu_regs::kEwCfgEwBypass, cfg) == 0;
    ew.op = ew.enabled && get(dpu_regs::kEwCfgEwOpBypass, cfg) == 0;
    ew.mul = get(dpu_regs::kEwCfgEwOpType, cfg) != 0;
    ew.prelu = ew.op && ew.mul && get(dpu_regs::kEwCfgEwMulPrelu, cfg) != 0;
    ew.relu = ew.enabled && get(dpu_regs::kEwCfgEwReluBypass, cfg) == 0;
    ew.relux = ew.relu && get(dpu_regs::kEwCfgEwReluxEn, cfg) != 0;
    ew.lut = ew.enabled && get(dpu_regs::kEwCfgEwLutBypass, cfg) == 0;
    ew.convert = ew.op && get(dpu_regs::kEwCfgEwOpCvtBypass, cfg) == 0;
    ew.offset_first = get(dpu_regs::kEwCfgEwCvtType, cfg) != 0;
    ew.convert_round = rounding(get(dpu_regs::kEwCfgEwCvtRound, cfg));
    ew.from_memory = get(dpu_regs::kEwCfgEwOpSrc, cfg) != 0;
    ew.binary = get(dpu_regs::kEwCfgEwBinaryEn, cfg) != 0;
    ew.equal = get(dpu_regs::kEwCfgEwEqualEn, cfg) != 0;
    no.require(!ew.op || (!ew.binary && !ew.equal), dpu_regs::kEwCfg, cfg,
               "EW_BINARY_EN/EW_EQUAL_EN are not documented");
    const uint32_t algo = get(dpu_regs::kEwCfgEwAluAlgo, cfg);
    no.require(!ew.op || ew.mul || algo <= 8, dpu_regs::kEwCfg, cfg, "EW_ALU_ALGO above 8");
    ew.alu = static_cast<AluOp>(algo <= 8 ? algo : 0);
    const uint32_t size = get(dpu_regs::kEwCfgEdataSize, cfg);
    ew.operand_bits = 4U << size;  // 0: 4 bit, 1: 8, 2: 16, 3: 32
    ew.offset = static_cast<int32_t>(regs[dpu_regs::kEwCvtOffsetValue]);
    const uint32_t scale = regs[dpu_regs::kEwCvtScaleValue];
    ew.scale = get_signed(dpu_regs::kEwCvtScaleValueEwOpCvtScale, scale);
    ew.shift = get(dpu_regs::kEwCvtScaleValueEwOpCvtShift, scale);
    ew.truncate = get(dpu_regs::kEwCvtScaleValueEwTruncate, scale);
    ew.truncate_negative = get(dpu_regs::kDataFormatEwTruncateNeg, regs[dpu_regs::kDataFormat]);
    no.require(!ew.op || !ew.mul || ew.truncate < 48, dpu_regs::kEwCvtScaleValue, scale,
               "EW_TRUNCATE above 47");
    no.require(!ew.op || !ew.mul || ew.truncate_negative < 48, dpu_regs::kDataFormat,
               regs[dpu_regs::kDataFormat], "EW_TRUNCATE_NEG above 47");
    ew.relux_bits = regs[dpu_regs::kEwReluxCmpValue];
    ew.immediate = regs[dpu_regs::kEwOpValue0];
    for (uint32_t i = 1; i < 8 && ew.op && !ew.from_memory; ++i) {
        const uint32_t value = regs[dpu_regs::kEwOpValue0 + 4 * i];
        no.require(value == 0 || value == ew.immediate, dpu_regs::kEwOpValue0 + 4 * i, value,
                   "which elements take which of several immediate operands is not documented");
    }
}

void decode_lut(const BlockRegs& regs, LutDesc& lut, bool used, Refusals& no) {
    const uint32_t cfg = regs[dpu_regs::kLutCfg];
    lut.lo_has_priority_hybrid = get(dpu_regs::kLutCfgLutHybridPriority, cfg) != 0;
    lut.lo_on_overflow = get(dpu_regs::kLutCfgLutOflowPriority, cfg) != 0;
    lut.lo_on_underflow = get(dpu_regs::kLutCfgLutUflowPriority, cfg) != 0;
    no.require(!used || (get(dpu_regs::kLutCfgLutCalSel, cfg) == 0 &&
                         get(dpu_regs::kLutCfgLutExpandEn, cfg) == 0 &&
                         get(dpu_regs::kLutCfgLutRoadSel, cfg) == 0),
               dpu_regs::kLutCfg, cfg,
               "LUT_CAL_SEL, LUT_EXPAND_EN and LUT_ROAD_SEL are not documented");
    const uint32_t info = regs[dpu_regs::kLutInfo];
    lut.le_shift = get(dpu_regs::kLutInfoLutLeIndexSelect, info);
    lut.lo_shift = get(dpu_regs::kLutInfoLutLoIndexSelect, info);
    no.require(!used || (lut.le_shift < 32 && lut.lo_shift < 32), dpu_regs::kLutInfo, info,
               "LUT index select above 31");
    lut.le_start = static_cast<int32_t>(regs[dpu_regs::kLutLeStart]);
    lut.le_end = static_cast<int32_t>(regs[dpu_regs::kLutLeEnd]);
    lut.lo_start = static_cast<int32_t>(regs[dpu_regs::kLutLoStart]);
    lut.lo_end = static_cast<int32_t>(regs[dpu_regs::kLutLoEnd]);
    const uint32_t le_scale = regs[dpu_regs::kLutLeSlopeScale];
    const uint32_t lo_scale = regs[dpu_regs::kLutLoSlopeScale];
    const uint32_t le_shift = regs[dpu_regs::kLutLeSlopeShift];
    const uint32_t lo_shift = regs[dpu_regs::kLutLoSlopeShift];
    lut.le_over_scale = get_signed(dpu_regs::kLutLeSlopeScaleLutLeSlopeOflowScale, le_scale);
    lut.le_under_scale = get_signed(dpu_regs::kLutLeSlopeScaleLutLeSlopeUflowScale, le_scale);
    lut.lo_over_scale = get_signed(dpu_regs::kLutLoSlopeScaleLutLoSlopeOflowScale, lo_scale);
    lut.lo_under_scale = get_signed(dpu_regs::kLutLoSlopeScaleLutLoSlopeUflowScale, lo_scale);
    lut.le_over_shift = get(dpu_regs::kLutLeSlopeShiftLutLeSlopeOflowShift, le_shift);
    lut.le_under_shift = get(dpu_regs::kLutLeSlopeShiftLutLeSlopeUflowShift, le_shift);
    lut.lo_over_shift = get(dpu_regs::kLutLoSlopeShiftLutLoSlopeOflowShift, lo_shift);
    lut.lo_under_shift = get(dpu_regs::kLutLoSlopeShiftLutLoSlopeUflowShift, lo_shift);
}

void decode_output(const BlockRegs& regs, DpuDesc& dpu, Refusals& no) {
    const uint32_t shift = regs[dpu_regs::kOutCvtShift];
    const uint32_t scale = regs[dpu_regs::kOutCvtScale];
    dpu.out_offset = static_cast<int32_t>(regs[dpu_regs::kOutCvtOffset]);
    // 16-bit positive integer in every known stream; the top bit is not a sign.
    dpu.out_scale = static_cast<int32_t>(get(dpu_regs::kOutCvtScaleOutCvtScale, scale));
    dpu.to_fp16 = get(dpu_regs::kOutCvtScaleFp32tofp16En, scale) != 0;
    dpu.out_shift = get(dpu_regs::kOutCvtShiftOutCvtShift, shift);
    dpu.out_round = rounding(get(dpu_regs::kOutCvtShiftCvtRound, shift));
    dpu.out_offset_first = get(dpu_regs::kOutCvtShiftCvtType, shift) != 0;
    no.require(get(dpu_regs::kOutCvtShiftMinusExp, shift) == 0, dpu_regs::kOutCvtShift, shift,
               "MINUS_EXP is not documented");
    no.require(dpu.out_shift < 63, dpu_regs::kOutCvtShift, shift, "OUT_CVT_SHIFT above 62");
}

void decode_write(const BlockRegs& regs, DpuDesc& dpu, Refusals& no) {
    const uint32_t ow = regs[dpu_regs::kBsOwCfg];
    const uint32_t size_e = get(dpu_regs::kBsOwCfgSizeE0, ow);
    no.require(
        size_e == get(dpu_regs::kBsOwCfgSizeE1, ow) && size_e == get(dpu_regs::kBsOwCfgSizeE2, ow),
        dpu_regs::kBsOwCfg, ow, "SIZE_E_0..2 differ");
    no.require(get(dpu_regs::kBsOwCfgRgpCnter, ow) == 0, dpu_regs::kBsOwCfg, ow,
               "RGP_CNTER is not documented");
    dpu.surfaces_per_group = size_e + 1;
    dpu.ow = get(dpu_regs::kBsOwCfgOdBypass, ow) == 0;
    dpu.ow_from_memory = get(dpu_regs::kBsOwCfgOwSrc, ow) != 0;
    dpu.ow_operand = get_signed(dpu_regs::kBsOwOpOwOp, regs[dpu_regs::kBsOwOp]);
    dpu.transpose = get(dpu_regs::kBsOwCfgTpOrgEn, ow) != 0;
    no.require(!dpu.transpose || (precision_bits(dpu.out) == 16 && size_e == 7), dpu_regs::kBsOwCfg,
               ow, "TP_ORG_EN is known for 16-bit elements and SIZE_E 7 (blocks of 8 x 8)");

    const uint32_t wdma0 = regs[dpu_regs::kWdmaSize0];
    const uint32_t wdma1 = regs[dpu_regs::kWdmaSize1];
    dpu.write_channels = get(dpu_regs::kWdmaSize0ChannelWdma, wdma0) + 1;
    dpu.write_width = get(dpu_regs::kWdmaSize1WidthWdma, wdma1) + 1;
    dpu.write_height = get(dpu_regs::kWdmaSize1HeightWdma, wdma1) + 1;
    dpu.dst = regs[dpu_regs::kDstBaseAddr];
    no.require(!dpu.to_memory || dpu.dst % kAtomBytes == 0, dpu_regs::kDstBaseAddr, dpu.dst,
               "destination must be 16-byte aligned");
    dpu.surface_stride =
        regs[dpu_regs::kDstSurfStride] & dpu_regs::kDstSurfStrideDstSurfStride.mask();
    dpu.group_stride = regs[dpu_regs::kSurfaceAdd] & dpu_regs::kSurfaceAddSurfAdd.mask();
    const uint32_t notch = regs[dpu_regs::kDataCubeNotchAddr];
    dpu.notch = get(dpu_regs::kDataCubeNotchAddrNotchAddr0, notch);
    no.require(get(dpu_regs::kDataCubeNotchAddrNotchAddr1, notch) == dpu.notch,
               dpu_regs::kDataCubeNotchAddr, notch, "NOTCH_ADDR_0 and NOTCH_ADDR_1 differ");
}

void decode_feature_mode(const BlockRegs& regs, DpuDesc& dpu, Refusals& no) {
    const uint32_t mode = regs[dpu_regs::kFeatureModeCfg];
    dpu.flying = get(dpu_regs::kFeatureModeCfgFlyingMode, mode) != 0;
    const uint32_t output = get(dpu_regs::kFeatureModeCfgOutputMode, mode);
    dpu.to_ppu = (output & 1U) != 0;
    dpu.to_memory = (output & 2U) != 0;
    no.require(output != 0, dpu_regs::kFeatureModeCfg, mode, "OUTPUT_MODE 0 writes nowhere");
    const uint32_t conv_mode = get(dpu_regs::kFeatureModeCfgConvMode, mode);
    no.require(conv_mode == 0 || conv_mode == 3, dpu_regs::kFeatureModeCfg, mode,
               "CONV_MODE must be 0 or 3");
    dpu.depthwise = conv_mode == 3;
    no.require(get(dpu_regs::kFeatureModeCfgTpEn, mode) == 0, dpu_regs::kFeatureModeCfg, mode,
               "TP_EN (transpose on write) is not documented");
    no.require(get(dpu_regs::kFeatureModeCfgRgpType, mode) == 0, dpu_regs::kFeatureModeCfg, mode,
               "RGP_TYPE (regroup) is not documented");

    const uint32_t format = regs[dpu_regs::kDataFormat];
    dpu.in = precision(get(dpu_regs::kDataFormatInPrecision, format));
    dpu.out = precision(get(dpu_regs::kDataFormatOutPrecision, format));
    dpu.proc = precision(get(dpu_regs::kDataFormatProcPrecision, format));
    no.require(get(dpu_regs::kDataFormatMcSurfOut, format) == 0, dpu_regs::kDataFormat, format,
               "MC_SURF_OUT is not documented");
    no.require(dpu.out != Precision::kTf32, dpu_regs::kDataFormat, format,
               "OUT_PRECISION 7 (tf32) exists only in CNA and CORE");
    no.require(dpu.out != Precision::kInt4, dpu_regs::kDataFormat, format,
               "OUT_PRECISION 6 (int4) is not documented");
    no.require(is_float(dpu.proc) == is_float(dpu.in), dpu_regs::kDataFormat, format,
               "IN_PRECISION and PROC_PRECISION mix integer and float");
}

}  // namespace

void decode_dpu(const TaskRegs& regs, DpuDesc& dpu, Refusals& no) {
    const BlockRegs& r = regs.dpu;
    decode_feature_mode(r, dpu, no);
    dpu.width = get(dpu_regs::kDataCubeWidthWidth, r[dpu_regs::kDataCubeWidth]) + 1;
    const uint32_t height = r[dpu_regs::kDataCubeHeight];
    dpu.height = get(dpu_regs::kDataCubeHeightHeight, height) + 1;
    no.require(get(dpu_regs::kDataCubeHeightMinmaxCtl, height) == 0, dpu_regs::kDataCubeHeight,
               height, "MINMAX_CTL is not documented");
    const uint32_t channel = r[dpu_regs::kDataCubeChannel];
    dpu.channels = get(dpu_regs::kDataCubeChannelChannel, channel) + 1;
    dpu.real_channels = get(dpu_regs::kDataCubeChannelOrigChannel, channel) + 1;
    decode_stage(r, dpu_regs::kBsCfg, dpu_regs::kDataFormatBsMulShiftValueNeg, dpu.bs, no);
    decode_stage(r, dpu_regs::kBnCfg, dpu_regs::kDataFormatBnMulShiftValueNeg, dpu.bn, no);
    decode_ew(r, dpu.ew, no);
    decode_lut(r, dpu.lut, dpu.ew.lut, no);
    decode_output(r, dpu, no);
    decode_write(r, dpu, no);
}

namespace {

RecordDesc decode_record(uint32_t use, uint32_t base) {
    RecordDesc record;
    record.base = base;
    record.alu = (use & 1U) != 0;
    record.ow = (use & 2U) != 0;
    record.mul = (use & 4U) != 0;
    record.shift = (use & 8U) != 0;
    return record;
}

// SURF_NOTCH runs from the end of the processed part to the next surface, so that the pitch is
// ((h - 1) * row + w) atoms + notch; the notch is a signed 28-bit number of atoms.
void decode_cubes(const BlockRegs& r, DpuDesc& dpu, bool alternating) {
    const int64_t width = get(rdma_regs::kDataCubeWidthWidth, r[rdma_regs::kDataCubeWidth]) + 1;
    const uint32_t height_reg = r[rdma_regs::kDataCubeHeight];
    const int64_t height = get(rdma_regs::kDataCubeHeightHeight, height_reg) + 1;
    const int64_t line_notch = get(rdma_regs::kSrcDmaCfgLineNotchAddr, r[rdma_regs::kSrcDmaCfg]);
    const int64_t ew_line_notch = get(rdma_regs::kDataCubeHeightEwLineNotchAddr, height_reg);
    const int64_t notch = get_signed(rdma_regs::kSurfNotchSurfNotchAddr, r[rdma_regs::kSurfNotch]);
    const int64_t ew_notch =
        get_signed(rdma_regs::kEwSurfNotchEwSurfNotch, r[rdma_regs::kEwSurfNotch]);
    dpu.main.base = r[rdma_regs::kSrcBaseAddr];
    dpu.main.row_pitch = (width + line_notch) * kAtomBytes;
    dpu.main.surface_pitch = ((height - 1) * (width + line_notch) + width + notch) * kAtomBytes;
    dpu.operand.base = r[rdma_regs::kEwBaseAddr];
    dpu.operand.row_pitch = (width + ew_line_notch) * kAtomBytes;
    dpu.operand.surface_pitch =
        alternating
            ? ((height - 1) * (width + ew_line_notch) + width + ew_notch) * kAtomBytes
            : int64_t{r[rdma_regs::kEwSurfStride] & rdma_regs::kEwSurfStrideEwSurfStride.mask()};
}

void decode_ew_source(const BlockRegs& r, DpuDesc& dpu, Refusals& no) {
    const uint32_t erdma = r[rdma_regs::kErdmaCfg];
    const uint32_t feature = r[rdma_regs::kFeatureModeCfg];
    const uint32_t comb = get(rdma_regs::kFeatureModeCfgCombUse, feature);
    const bool disabled = get(rdma_regs::kErdmaCfgErdmaDisable, erdma) != 0;
    no.require(comb == 0 || comb == 3 || comb == 5, rdma_regs::kFeatureModeCfg, feature,
               "COMB_USE must be 0, 3 (both engines bring the main tensor) or 5 (the operand)");
    no.require(comb == 0 || !disabled, rdma_regs::kFeatureModeCfg, feature,
               "COMB_USE needs ERDMA enabled");
    if (disabled)
        return;
    const uint32_t mode = get(rdma_regs::kErdmaCfgErdmaDataMode, erdma);
    no.require(mode <= 1, rdma_regs::kErdmaCfg, erdma,
               "ERDMA_DATA_MODE must be 0 (per channel) or 1 (per pixel)");
    no.require(get(rdma_regs::kErdmaCfgErdmaSurfMode, erdma) == 0, rdma_regs::kErdmaCfg, erdma,
               "ERDMA_SURF_MODE is not documented");
    no.require(get(rdma_regs::kErdmaCfgErdmaNonalign, erdma) == 0, rdma_regs::kErdmaCfg, erdma,
               "ERDMA_NONALIGN is not documented");
    dpu.ew_source = mode == 0 ? EwSource::kPerChannel : EwSource::kPerPixel;
    if (comb == 5) {
        no.require(!dpu.flying && mode == 1, rdma_regs::kFeatureModeCfg, feature,
                   "COMB_USE 5 is known for a per-pixel operand behind a convolution");
        dpu.ew_source = EwSource::kAlternating;
    }
    if (comb == 3) {
        no.require(dpu.flying && mode == 1, rdma_regs::kFeatureModeCfg, feature,
                   "COMB_USE 3 is known for a per-pixel tensor in flying mode");
        dpu.ew_source = EwSource::kNone;
        dpu.main_alternating = true;
    }
}

// In flying mode the read size rules: vendor streams that copy the border of a tensor leave the
// full size in DPU.DATA_CUBE_* and put the part into DPU_RDMA and WDMA_SIZE.
void decode_read_size(const BlockRegs& r, DpuDesc& dpu, Refusals& no) {
    const uint32_t width_reg = r[rdma_regs::kDataCubeWidth];
    const uint32_t height_reg = r[rdma_regs::kDataCubeHeight];
    const uint32_t channel_reg = r[rdma_regs::kDataCubeChannel];
    const uint32_t width = get(rdma_regs::kDataCubeWidthWidth, width_reg) + 1;
    const uint32_t height = get(rdma_regs::kDataCubeHeightHeight, height_reg) + 1;
    const uint32_t channels = get(rdma_regs::kDataCubeChannelChannel, channel_reg) + 1;
    if (dpu.flying) {
        dpu.width = width;
        dpu.height = height;
    }
    no.require(width == dpu.width, rdma_regs::kDataCubeWidth, width_reg,
               "differs from DPU.DATA_CUBE_WIDTH");
    no.require(height == dpu.height, rdma_regs::kDataCubeHeight, height_reg,
               "differs from DPU.DATA_CUBE_HEIGHT");
    no.require(channels == dpu.channels, rdma_regs::kDataCubeChannel, channel_reg,
               "differs from DPU.DATA_CUBE_CHANNEL");
}

}  // namespace

void decode_rdma(const TaskRegs& regs, bool enabled, DpuDesc& dpu, Refusals& no) {
    const BlockRegs& r = regs.dpu_rdma;
    if (!enabled) {
        no.require(!dpu.flying, dpu_regs::kFeatureModeCfg, regs.dpu[dpu_regs::kFeatureModeCfg],
                   "FLYING_MODE needs DPU_RDMA enabled");
        return;
    }
    const uint32_t feature = r[rdma_regs::kFeatureModeCfg];
    const bool flying = get(rdma_regs::kFeatureModeCfgFlyingMode, feature) != 0;
    no.require(flying == dpu.flying, rdma_regs::kFeatureModeCfg, feature,
               "FLYING_MODE differs from DPU.FEATURE_MODE_CFG");
    no.require(!dpu.flying || get(rdma_regs::kFeatureModeCfgMrdmaDisable, feature) == 0,
               rdma_regs::kFeatureModeCfg, feature, "MRDMA_DISABLE leaves flying mode no input");
    dpu.main_precision = precision(get(rdma_regs::kFeatureModeCfgInPrecision, feature));
    const uint32_t src = r[rdma_regs::kSrcDmaCfg];
    no.require(get(rdma_regs::kSrcDmaCfgUnpoolingEn, src) == 0, rdma_regs::kSrcDmaCfg, src,
               "UNPOOLING_EN is not documented");

    decode_ew_source(r, dpu, no);
    decode_cubes(r, dpu, dpu.ew_source == EwSource::kAlternating || dpu.main_alternating);
    dpu.bs_record = decode_record(get(rdma_regs::kBrdmaCfgBrdmaDataUse, r[rdma_regs::kBrdmaCfg]),
                                  r[rdma_regs::kBsBaseAddr]);
    dpu.bn_record = decode_record(get(rdma_regs::kNrdmaCfgNrdmaDataUse, r[rdma_regs::kNrdmaCfg]),
                                  r[rdma_regs::kBnBaseAddr]);
    no.require(!dpu.bs_record.shift, rdma_regs::kBrdmaCfg, r[rdma_regs::kBrdmaCfg],
               "BRDMA_DATA_USE bit 3 (shift operand) has no documented layout");
    no.require(!dpu.bn_record.shift, rdma_regs::kNrdmaCfg, r[rdma_regs::kNrdmaCfg],
               "NRDMA_DATA_USE bit 3 (shift operand) has no documented layout");
    decode_read_size(r, dpu, no);
}

}  // namespace npusim::rk3588
