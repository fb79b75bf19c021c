// SPDX-License-Identifier: MIT
#include "decode.hpp"
#include "decode_rk3588_parts.hpp"
#include "npuregs/regcmd.hpp"

namespace npusim {

void Refusals::refuse(uint32_t offset, uint32_t value, const std::string& reason) {
    if (error_)
        return;
    error_ = ExecError{ExecError::Kind::kRefused,
                       npuregs::describe_write(offset, value) + ": " + reason};
}

void Refusals::refuse_text(std::string text) {
    if (!error_)
        error_ = ExecError{ExecError::Kind::kRefused, std::move(text)};
}

namespace rk3588 {

using npuregs::get;
using npuregs::get_signed;
namespace cna = npuregs::cna;
namespace core = npuregs::core;

namespace {

// Three bits hold every documented code.
Precision precision(uint32_t code) {
    return static_cast<Precision>(code & 7U);
}

void decode_conv_mode(const TaskRegs& regs, ConvDesc& conv, Refusals& no) {
    const uint32_t con1 = regs.cna[cna::kConvCon1];
    const uint32_t mode = get(cna::kConvCon1ConvMode, con1);
    no.require(mode == 0 || mode == 3, cna::kConvCon1, con1,
               "CONV_MODE must be 0 (direct) or 3 (depthwise)");
    conv.depthwise = mode == 3;
    conv.precision = precision(get(cna::kConvCon1InPrecision, con1));
    no.require(conv.precision == precision(get(cna::kConvCon1ProcPrecision, con1)), cna::kConvCon1,
               con1, "IN_PRECISION and PROC_PRECISION of the CNA differ");
    no.require(conv.precision != Precision::kInt32 && conv.precision != Precision::kFp32,
               cna::kConvCon1, con1, "the MAC array has no int32/fp32 mode");
    conv.deconv = get(cna::kConvCon1Deconv, con1) != 0;

    const uint32_t argb = get(cna::kConvCon1ArgbIn, con1);
    const bool packed = argb >= 8 && argb <= 11;
    no.require(argb == 0 || packed, cna::kConvCon1, con1,
               "ARGB_IN must be 0 or 8..11 (1..4 channels)");
    conv.image_channels = packed ? argb - 7 : 0;
    const bool nonalign = get(cna::kConvCon1NonalignDma, con1) != 0;
    no.require(nonalign == (argb != 0), cna::kConvCon1, con1,
               "NONALIGN_DMA and ARGB_IN are known only together (packed image input)");

    const uint32_t misc = regs.core[core::kMiscCfg];
    no.require((get(core::kMiscCfgDwEn, misc) != 0) == conv.depthwise, core::kMiscCfg, misc,
               "DW_EN contradicts CNA.CONV_CON1.CONV_MODE");
    no.require(precision(get(core::kMiscCfgProcPrecision, misc)) == conv.precision, core::kMiscCfg,
               misc, "PROC_PRECISION contradicts CNA.CONV_CON1");
    // QD_EN is left on by some fp16 producers; the sum exists for integers only.
    conv.sum_enabled = get(core::kMiscCfgQdEn, misc) != 0 && !is_float(conv.precision);
}

void decode_conv_sizes(const TaskRegs& regs, ConvDesc& conv, Refusals& no) {
    const uint32_t size0 = regs.cna[cna::kDataSize0];
    conv.width = get(cna::kDataSize0DatainWidth, size0);
    conv.height = get(cna::kDataSize0DatainHeight, size0);
    no.require(conv.width != 0 && conv.height != 0, cna::kDataSize0, size0, "empty input");
    const uint32_t size1 = regs.cna[cna::kDataSize1];
    conv.channels = get(cna::kDataSize1DatainChannel, size1);
    no.require(conv.channels != 0, cna::kDataSize1, size1, "no input channels");

    const uint32_t out0 = regs.core[core::kDataoutSize0];
    conv.out_width = get(core::kDataoutSize0DataoutWidth, out0) + 1;
    conv.out_height = get(core::kDataoutSize0DataoutHeight, out0) + 1;
    conv.out_channels = get(core::kDataoutSize1DataoutChannel, regs.core[core::kDataoutSize1]) + 1;

    const uint32_t data2 = regs.cna[cna::kDataSize2];
    no.require(get(cna::kDataSize2DataoutWidth, data2) == conv.out_width, cna::kDataSize2, data2,
               "output width differs from CORE.DATAOUT_SIZE_0");
    const uint32_t data3 = regs.cna[cna::kDataSize3];
    no.require(get(cna::kDataSize3SurfMode, data3) == 0, cna::kDataSize3, data3,
               "SURF_MODE is not documented");
    no.require(
        get(cna::kDataSize3DataoutAtomics, data3) == uint64_t{conv.out_width} * conv.out_height,
        cna::kDataSize3, data3, "DATAOUT_ATOMICS is not output width * height");
}

void decode_kernel(const TaskRegs& regs, ConvDesc& conv, Refusals& no) {
    const uint32_t size2 = regs.cna[cna::kWeightSize2];
    conv.kernel_width = get(cna::kWeightSize2WeightWidth, size2);
    conv.kernel_height = get(cna::kWeightSize2WeightHeight, size2);
    conv.kernels = get(cna::kWeightSize2WeightKernels, size2);
    no.require(conv.kernel_width != 0 && conv.kernel_height != 0 && conv.kernels != 0,
               cna::kWeightSize2, size2, "empty kernel");
    no.require(!conv.depthwise || conv.kernels == 1, cna::kWeightSize2, size2,
               "depthwise needs WEIGHT_KERNELS 1");
    no.require(conv.depthwise || conv.kernels <= conv.out_channels, cna::kWeightSize2, size2,
               "more kernels than CORE.DATAOUT_SIZE_1 output channels");
    conv.weight_bytes = regs.cna[cna::kWeightSize0];

    const uint32_t con3 = regs.cna[cna::kConvCon3];
    // Stride 0 repeats the same row or column: vendor streams expand tensors that way.
    conv.stride_x = get(cna::kConvCon3ConvXStride, con3);
    conv.stride_y = get(cna::kConvCon3ConvYStride, con3);
    conv.dilation_x = get(cna::kConvCon3AtrousXDilation, con3) + 1;
    conv.dilation_y = get(cna::kConvCon3AtrousYDilation, con3) + 1;
    if (conv.deconv) {
        conv.upsample_x = get(cna::kConvCon3DeconvXStride, con3);
        conv.upsample_y = get(cna::kConvCon3DeconvYStride, con3);
        no.require(conv.upsample_x != 0 && conv.upsample_y != 0, cna::kConvCon3, con3,
                   "deconvolution stride 0");
    }
    const uint32_t pad = regs.cna[cna::kPadCon0];
    conv.pad_left = get(cna::kPadCon0PadLeft, pad);
    conv.pad_top = get(cna::kPadCon0PadTop, pad);
    conv.pad_bits = regs.cna[cna::kPadCon1];
    no.require(get(cna::kFcCon0FcSkipEn, regs.cna[cna::kFcCon0]) == 0, cna::kFcCon0,
               regs.cna[cna::kFcCon0], "FC zero skipping is not documented");
}

// Address rules: hardware reference section 3; the unit is one atom (image mode: one pixel).
void decode_feature(const TaskRegs& regs, ConvDesc& conv, Refusals& no) {
    const bool single_lines = get(cna::kConvCon1GroupLineOff, regs.cna[cna::kConvCon1]) != 0;
    const int64_t line = get(cna::kDmaCon1LineStride, regs.cna[cna::kDmaCon1]);
    const int64_t surf = get_signed(cna::kDmaCon2SurfStride, regs.cna[cna::kDmaCon2]);
    const uint32_t dma_size = regs.cna[cna::kFcDataSize0];
    const int64_t dma_width = get(cna::kFcDataSize0DmaWidth, dma_size);
    conv.feature = regs.cna[cna::kFeatureDataAddr];
    no.require(dma_width == conv.width, cna::kFcDataSize0, dma_size,
               "DMA_WIDTH differs from DATA_SIZE0.DATAIN_WIDTH");
    no.require(get(cna::kFcDataSize0DmaHeight, dma_size) == conv.height, cna::kFcDataSize0,
               dma_size, "DMA_HEIGHT differs from DATA_SIZE0.DATAIN_HEIGHT");
    if (conv.image_channels != 0) {
        // Lines of a packed image start at multiples of 16 bytes: a 151 pixel wide fp16 image has
        // LINE_STRIDE 151, but tensor size and tile addresses of the vendor file count 304 bytes.
        const int64_t bytes = line * conv.image_channels * precision_bits(conv.precision) / 8;
        conv.row_pitch = (bytes + kAtomBytes - 1) / kAtomBytes * kAtomBytes;
        conv.surface_pitch = 0;
    } else if (single_lines) {
        conv.row_pitch = line * kAtomBytes;
        conv.surface_pitch = (surf + dma_width) * kAtomBytes;
    } else {
        no.require(line % 4 == 0, cna::kDmaCon1, regs.cna[cna::kDmaCon1],
                   "LINE_STRIDE must be four row pitches when GROUP_LINE_OFF is 0");
        conv.row_pitch = line / 4 * kAtomBytes;
        conv.surface_pitch = (surf + line) * kAtomBytes;
    }
}

void decode_converter(const TaskRegs& regs, ConvDesc& conv, Refusals& no) {
    const uint32_t con0 = regs.cna[cna::kCvtCon0];
    ConverterDesc& cvt = conv.convert;
    cvt.enabled = get(cna::kCvtCon0CvtBypass, con0) == 0;
    if (!cvt.enabled)
        return;
    no.require(!is_float(conv.precision) || conv.image_channels != 0, cna::kCvtCon0, con0,
               "the input converter is known for int8 data and for packed images");
    cvt.offset_first = get(cna::kCvtCon0CvtType, con0) != 0;
    cvt.data_signed = get(cna::kCvtCon0DataSign, con0) != 0;
    cvt.round = get(cna::kCvtCon0RoundType, con0) != 0 ? Round::kHalfUp : Round::kEven;
    cvt.lane_mask = regs.cna[cna::kCvtCon5];
    cvt.shift = {get(cna::kCvtCon0CvtTruncate0, con0), get(cna::kCvtCon0CvtTruncate1, con0),
                 get(cna::kCvtCon0CvtTruncate2, con0), get(cna::kCvtCon0CvtTruncate3, con0)};
    for (size_t lane = 0; lane < 4; ++lane) {
        const uint32_t value = regs.cna[cna::kCvtCon1 + 4 * static_cast<uint32_t>(lane)];
        cvt.scale[lane] = get_signed(cna::kCvtCon1CvtScale0, value);
        cvt.offset[lane] = get_signed(cna::kCvtCon1CvtOffset0, value);
        no.require(cvt.shift[lane] < 32, cna::kCvtCon0, con0, "CVT_TRUNCATE above 31");
    }
}

void decode_weights(const TaskRegs& regs, ConvDesc& conv, Refusals& no) {
    conv.weights = regs.cna[cna::kDcompAddr0];
    uint32_t any = 0;
    for (uint32_t lane = 0; lane < 16; ++lane) {
        conv.decompress.blocks[lane] = regs.cna[cna::kDcompAmount0 + 4 * lane];
        any |= conv.decompress.blocks[lane];
    }
    const uint32_t ctrl = regs.cna[cna::kDcompCtrl];
    const uint32_t control = get(cna::kDcompCtrlDecompControl, ctrl);
    no.require(control <= 1, cna::kDcompCtrl, ctrl, "DECOMP_CONTROL above 1 is not documented");
    conv.decompress.enabled =
        (any != 0 || control != 0) && get(cna::kDcompCtrlWtDecBypass, ctrl) == 0;
    if (!conv.decompress.enabled)
        return;
    no.require(conv.precision == Precision::kInt8, cna::kDcompCtrl, ctrl,
               "compressed weights are known for int8 only");
    for (uint32_t lane = 0; lane < 16; ++lane)
        conv.decompress.blocks[lane] += 1;  // the register holds blocks - 1
}

}  // namespace

void decode_conv(const TaskRegs& regs, ConvDesc& conv, Refusals& no) {
    decode_conv_mode(regs, conv, no);
    decode_conv_sizes(regs, conv, no);
    decode_kernel(regs, conv, no);
    decode_feature(regs, conv, no);
    decode_converter(regs, conv, no);
    decode_weights(regs, conv, no);
    const uint32_t clip = regs.core[core::kClipTruncate];
    conv.truncate = get(core::kClipTruncateClipTruncate, clip);
    conv.truncate_round =
        get(core::kClipTruncateRoundType, clip) != 0 ? Round::kHalfUp : Round::kEven;
}

}  // namespace rk3588

namespace {

void check_mask(uint32_t mask, Refusals& no) {
    constexpr uint32_t kOpEnable = npuregs::global::kOperationEnable;
    const bool cna = (mask & kEnableCna) != 0;
    const bool dpu = (mask & kEnableDpu) != 0;
    no.require(cna == ((mask & kEnableCore) != 0), kOpEnable, mask,
               "CNA and CORE work only together");
    no.require(!cna || dpu, kOpEnable, mask, "CNA and CORE need the DPU behind them");
    no.require((mask & kEnableDpuRdma) == 0 || dpu, kOpEnable, mask, "DPU_RDMA without DPU");
    no.require((mask & kEnablePpuRdma) == 0 || (mask & kEnablePpu) != 0, kOpEnable, mask,
               "PPU_RDMA without PPU");
    no.require((mask & (kEnableDpu | kEnablePpu)) != 0, kOpEnable, mask,
               "no block that writes memory is enabled");
}

}  // namespace

std::optional<ExecError> decode_rk3588(const TaskRegs& regs, uint32_t enable_mask, TaskDesc& out) {
    out = TaskDesc{};
    Refusals refusals;
    check_mask(enable_mask, refusals);
    if (refusals.any())
        return refusals.error();
    out.conv_enabled = (enable_mask & kEnableCna) != 0;
    out.dpu_enabled = (enable_mask & kEnableDpu) != 0;
    out.ppu_enabled = (enable_mask & kEnablePpu) != 0;
    if (out.conv_enabled)
        rk3588::decode_conv(regs, out.conv, refusals);
    if (out.dpu_enabled) {
        rk3588::decode_dpu(regs, out.dpu, refusals);
        rk3588::decode_rdma(regs, (enable_mask & kEnableDpuRdma) != 0, out.dpu, refusals);
    }
    if (out.ppu_enabled)
        rk3588::decode_ppu(regs, (enable_mask & kEnablePpuRdma) != 0, out.ppu, refusals);
    if (!refusals.any())
        check_task(out, refusals);
    return refusals.error();
}

}  // namespace npusim
