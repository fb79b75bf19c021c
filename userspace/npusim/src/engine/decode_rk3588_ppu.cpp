// SPDX-License-Identifier: MIT
#include "decode_rk3588_parts.hpp"

namespace npusim::rk3588 {

using npuregs::get;
namespace ppu_regs = npuregs::ppu;
namespace rdma_regs = npuregs::ppu_rdma;

namespace {

void decode_window(const BlockRegs& r, PpuDesc& ppu) {
    const uint32_t kernel = r[ppu_regs::kPoolingKernelCfg];
    ppu.kernel_width = get(ppu_regs::kPoolingKernelCfgKernelWidth, kernel) + 1;
    ppu.kernel_height = get(ppu_regs::kPoolingKernelCfgKernelHeight, kernel) + 1;
    ppu.stride_x = get(ppu_regs::kPoolingKernelCfgKernelStrideWidth, kernel) + 1;
    ppu.stride_y = get(ppu_regs::kPoolingKernelCfgKernelStrideHeight, kernel) + 1;
    const uint32_t pad = r[ppu_regs::kPoolingPaddingCfg];
    ppu.pad_left = get(ppu_regs::kPoolingPaddingCfgPadLeft, pad);
    ppu.pad_top = get(ppu_regs::kPoolingPaddingCfgPadTop, pad);
    ppu.pad_right = get(ppu_regs::kPoolingPaddingCfgPadRight, pad);
    ppu.pad_bottom = get(ppu_regs::kPoolingPaddingCfgPadBottom, pad);
    // 35 bits: PADDING_VALUE_2 holds 34:32.
    const uint64_t high = get(ppu_regs::kPaddingValue2CfgPadValue1, r[ppu_regs::kPaddingValue2Cfg]);
    const uint64_t bits = high << 32 | r[ppu_regs::kPaddingValue1Cfg];
    ppu.pad_value = static_cast<int64_t>(bits << 29) >> 29;
    ppu.recip_width =
        get(ppu_regs::kRecipKernelWidthRecipKernelWidth, r[ppu_regs::kRecipKernelWidth]);
    ppu.recip_height =
        get(ppu_regs::kRecipKernelHeightRecipKernelHeight, r[ppu_regs::kRecipKernelHeight]);
}

void decode_source(const BlockRegs& r, PpuDesc& ppu, Refusals& no) {
    const uint32_t width = r[rdma_regs::kCubeInWidth];
    const uint32_t height = r[rdma_regs::kCubeInHeight];
    const uint32_t channel = r[rdma_regs::kCubeInChannel];
    no.require(get(rdma_regs::kCubeInWidthCubeInWidth, width) + 1 == ppu.in_width,
               rdma_regs::kCubeInWidth, width, "differs from PPU.DATA_CUBE_IN_WIDTH");
    no.require(get(rdma_regs::kCubeInHeightCubeInHeight, height) + 1 == ppu.in_height,
               rdma_regs::kCubeInHeight, height, "differs from PPU.DATA_CUBE_IN_HEIGHT");
    no.require(get(rdma_regs::kCubeInChannelCubeInChannel, channel) + 1 == ppu.in_channels,
               rdma_regs::kCubeInChannel, channel, "differs from PPU.DATA_CUBE_IN_CHANNEL");
    ppu.src.base = r[rdma_regs::kSrcBaseAddr];
    ppu.src.row_pitch =
        r[rdma_regs::kSrcLineStride] & rdma_regs::kSrcLineStrideSrcLineStride.mask();
    ppu.src.surface_pitch =
        r[rdma_regs::kSrcSurfStride] & rdma_regs::kSrcSurfStrideSrcSurfStride.mask();
}

}  // namespace

void decode_ppu(const TaskRegs& regs, bool rdma_enabled, PpuDesc& ppu, Refusals& no) {
    const BlockRegs& r = regs.ppu;
    const uint32_t mode = r[ppu_regs::kOperationModeCfg];
    ppu.in_width = get(ppu_regs::kDataCubeInWidthCubeInWidth, r[ppu_regs::kDataCubeInWidth]) + 1;
    ppu.in_height =
        get(ppu_regs::kDataCubeInHeightCubeInHeight, r[ppu_regs::kDataCubeInHeight]) + 1;
    ppu.in_channels =
        get(ppu_regs::kDataCubeInChannelCubeInChannel, r[ppu_regs::kDataCubeInChannel]) + 1;
    ppu.out_width =
        get(ppu_regs::kDataCubeOutWidthCubeOutWidth, r[ppu_regs::kDataCubeOutWidth]) + 1;
    ppu.out_height =
        get(ppu_regs::kDataCubeOutHeightCubeOutHeight, r[ppu_regs::kDataCubeOutHeight]) + 1;
    const uint32_t out_channel = r[ppu_regs::kDataCubeOutChannel];
    ppu.out_channels = get(ppu_regs::kDataCubeOutChannelCubeOutChannel, out_channel) + 1;
    no.require(ppu.out_channels == ppu.in_channels, ppu_regs::kDataCubeOutChannel, out_channel,
               "differs from DATA_CUBE_IN_CHANNEL");
    no.require(get(ppu_regs::kOperationModeCfgIndexEn, mode) == 0, ppu_regs::kOperationModeCfg,
               mode, "INDEX_EN (position output) is not documented");
    const uint32_t method = get(ppu_regs::kOperationModeCfgPoolingMethod, mode);
    no.require(method <= 2, ppu_regs::kOperationModeCfg, mode,
               "POOLING_METHOD must be 0 (average), 1 (max) or 2 (min)");
    ppu.method = static_cast<PoolMethod>(method <= 2 ? method : 0);
    ppu.from_memory = get(ppu_regs::kOperationModeCfgFlyingMode, mode) != 0;
    ppu.notch = get(ppu_regs::kOperationModeCfgNotchAddr, mode);
    no.require(!ppu.from_memory || rdma_enabled, ppu_regs::kOperationModeCfg, mode,
               "FLYING_MODE 1 (from memory) needs PPU_RDMA enabled");

    const uint32_t format = r[ppu_regs::kDataFormat];
    ppu.precision = static_cast<Precision>(get(ppu_regs::kDataFormatProcPrecision, format));
    no.require(ppu.precision == Precision::kInt8 || ppu.precision == Precision::kInt16 ||
                   ppu.precision == Precision::kFp16,
               ppu_regs::kDataFormat, format, "PROC_PRECISION must be int8, int16 or fp16");
    decode_window(r, ppu);
    ppu.dst = r[ppu_regs::kDstBaseAddr];
    no.require(ppu.dst % kAtomBytes == 0, ppu_regs::kDstBaseAddr, ppu.dst,
               "destination must be 16-byte aligned");
    ppu.dst_surface = r[ppu_regs::kDstSurfStride] & ppu_regs::kDstSurfStrideDstSurfStride.mask();
    if (ppu.from_memory && rdma_enabled)
        decode_source(regs.ppu_rdma, ppu, no);
}

}  // namespace npusim::rk3588
