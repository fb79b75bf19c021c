// SPDX-License-Identifier: MIT
#include <string>

#include "decode.hpp"

namespace npusim {
namespace {

namespace cna = npuregs::cna;
namespace core = npuregs::core;
namespace dpu_regs = npuregs::dpu;
namespace rdma_regs = npuregs::dpu_rdma;
namespace ppu_regs = npuregs::ppu;

// Far above what the 384 KiB CBUF can hold; keeps scratch and run time of hostile streams bounded.
constexpr uint64_t kMaxInputElements = uint64_t{1} << 26;
constexpr uint64_t kMaxOutputElements = uint64_t{1} << 27;
constexpr uint64_t kMaxWeights = uint64_t{1} << 26;
constexpr uint64_t kMaxMacs = uint64_t{1} << 36;
constexpr uint64_t kMaxPoolReads = uint64_t{1} << 32;

uint64_t conv_macs(const ConvDesc& conv) {
    const uint64_t window = uint64_t{conv.kernel_width} * conv.kernel_height;
    const uint64_t outputs = uint64_t{conv.out_width} * conv.out_height;
    const uint64_t channels = conv.depthwise ? 1 : conv.channels;
    return outputs * conv.out_channels * window * channels;
}

void check_conv(const ConvDesc& conv, const DpuDesc& dpu, Refusals& no) {
    const uint64_t input = uint64_t{conv.width} * conv.height * conv.channels;
    no.require(input <= kMaxInputElements, cna::kDataSize0, conv.width << 16 | conv.height,
               "input is larger than 64 Mi elements: no CBUF holds it");
    no.require(conv_macs(conv) <= kMaxMacs, cna::kWeightSize2, conv.kernels,
               "more than 2^36 multiplications in one task");
    const uint64_t window = uint64_t{conv.kernel_width} * conv.kernel_height;
    no.require((conv.channels + kAtomBytes) * window * conv.kernels <= kMaxWeights,
               cna::kWeightSize2, conv.kernels, "more than 64 Mi weights in one task");
    no.require(conv.image_channels == 0 || conv.channels <= 16, cna::kDataSize1, conv.channels,
               "a packed image has at most 16 lanes");
    no.require(conv.out_width == dpu.width && conv.out_height == dpu.height,
               dpu_regs::kDataCubeWidth, dpu.width - 1,
               "DPU cube differs from CORE.DATAOUT_SIZE_0");
    no.require(conv.out_channels == dpu.channels, dpu_regs::kDataCubeChannel, dpu.channels - 1,
               "DPU channels differ from CORE.DATAOUT_SIZE_1");
    no.require(!dpu.flying, dpu_regs::kFeatureModeCfg, 1,
               "FLYING_MODE with CNA/CORE enabled: two sources for the DPU");
    no.require(dpu.depthwise == conv.depthwise, dpu_regs::kFeatureModeCfg,
               dpu.depthwise ? 3U << 3 : 0, "CONV_MODE contradicts CNA.CONV_CON1");
    no.require(is_float(conv.precision) == is_float(dpu.proc), dpu_regs::kDataFormat,
               static_cast<uint32_t>(dpu.proc),
               "PROC_PRECISION mixes integer and float with CNA.CONV_CON1");
}

void check_stage_records(const StageDesc& stage, const RecordDesc& record, uint32_t cfg,
                         Refusals& no) {
    no.require(!(stage.alu && stage.alu_from_memory) || record.alu, cfg, 1U << 8,
               "ALU operand from memory, but the read engine fetches none (DATA_USE bit 0)");
    no.require(!(stage.mul && stage.mul_from_memory) || record.mul, cfg + 8, 1,
               "MUL operand from memory, but the read engine fetches none (DATA_USE bit 2)");
}

// Which conversions the output stage performs; integer results leave through scale and shift,
// float results as they are.
void check_output(const DpuDesc& dpu, Refusals& no) {
    const bool identity =
        dpu.out_offset == 0 && dpu.out_shift == 0 && (dpu.out_scale == 1 || dpu.out_scale == 0);
    if (is_float(dpu.proc)) {
        no.require(is_float(dpu.out), dpu_regs::kDataFormat, static_cast<uint32_t>(dpu.out) << 29,
                   "float processing with integer output is not documented");
        no.require(identity, dpu_regs::kOutCvtScale, static_cast<uint32_t>(dpu.out_scale),
                   "output scale, shift and offset of the float path must be 1, 0 and 0");
    } else if (is_float(dpu.out)) {
        no.require(dpu.out == Precision::kFp32 && identity, dpu_regs::kDataFormat,
                   static_cast<uint32_t>(dpu.out) << 29,
                   "integer processing reaches only fp32, with scale 1, shift 0 and offset 0");
    }
}

void check_operand(const DpuDesc& dpu, Refusals& no) {
    no.require(!dpu.ew.op || dpu.ew.mul || is_float(dpu.proc) || dpu.ew.alu != AluOp::kDiv,
               dpu_regs::kEwCfg, 3U << 16, "EW_ALU_ALGO 3 (div) is known for floats only");
    if (!dpu.ew.op || !dpu.ew.from_memory)
        return;
    no.require(dpu.ew_source != EwSource::kNone, dpu_regs::kEwCfg, 1U << 6,
               "EW operand from memory, but ERDMA is disabled");
    const bool ok = is_float(dpu.proc) ? dpu.ew.operand_bits >= 16 : dpu.ew.operand_bits >= 8;
    no.require(ok, dpu_regs::kEwCfg, dpu.ew.operand_bits,
               "EDATA_SIZE does not fit the processing precision");
}

void check_write(const DpuDesc& dpu, Refusals& no) {
    const uint64_t atom = atom_channels(dpu.out);
    uint64_t pixels = uint64_t{dpu.width} * dpu.height;
    uint64_t group = atom * dpu.surfaces_per_group;
    if (dpu.transpose) {
        // Every surface of the cube is a group; `atom` pixels become one atom of each channel.
        no.require(pixels % atom == 0, dpu_regs::kDataCubeWidth, dpu.width - 1,
                   "TP_ORG_EN needs a multiple of 8 pixels");
        pixels /= atom;
        group = atom;
    }
    const uint64_t groups = (dpu.channels + group - 1) / group;
    const uint64_t write_groups = (dpu.write_channels + group - 1) / group;
    no.require(pixels * groups == uint64_t{dpu.write_width} * dpu.write_height * write_groups,
               dpu_regs::kWdmaSize0, dpu.write_channels - 1,
               "WDMA width * height * channel groups differ from the DPU cube");
}

void check_dpu(const TaskDesc& task, Refusals& no) {
    const DpuDesc& dpu = task.dpu;
    const uint64_t output = uint64_t{dpu.width} * dpu.height * dpu.channels;
    no.require(output <= kMaxOutputElements, dpu_regs::kDataCubeChannel, dpu.channels - 1,
               "output cube is larger than 128 Mi elements");
    no.require(task.conv_enabled || dpu.flying, dpu_regs::kFeatureModeCfg, 0,
               "the DPU has no source: neither CNA/CORE enabled nor FLYING_MODE");
    no.require(dpu.real_channels <= dpu.channels, dpu_regs::kDataCubeChannel,
               (dpu.real_channels - 1) << 16 | (dpu.channels - 1),
               "ORIG_CHANNEL is larger than CHANNEL");
    no.require(!dpu.to_ppu || task.ppu_enabled, dpu_regs::kFeatureModeCfg, 1U << 1,
               "OUTPUT_MODE sends data to the PPU, which is not enabled");
    check_stage_records(dpu.bs, dpu.bs_record, dpu_regs::kBsCfg, no);
    check_stage_records(dpu.bn, dpu.bn_record, dpu_regs::kBnCfg, no);
    const bool ow_used = task.conv_enabled && dpu.ow && task.conv.sum_enabled;
    no.require(!(ow_used && dpu.ow_from_memory) || dpu.bs_record.ow, dpu_regs::kBsOwCfg, 1,
               "OW operand from memory, but BRDMA fetches none (DATA_USE bit 1)");
    check_operand(dpu, no);
    check_output(dpu, no);
    if (dpu.to_memory)
        check_write(dpu, no);
}

void check_ppu(const TaskDesc& task, Refusals& no) {
    const PpuDesc& ppu = task.ppu;
    const uint64_t input = uint64_t{ppu.in_width} * ppu.in_height * ppu.in_channels;
    no.require(input <= kMaxOutputElements, ppu_regs::kDataCubeInChannel, ppu.in_channels - 1,
               "pooling input is larger than 128 Mi elements");
    const uint64_t output = uint64_t{ppu.out_width} * ppu.out_height * ppu.in_channels;
    no.require(output <= kMaxOutputElements, ppu_regs::kDataCubeOutWidth, ppu.out_width - 1,
               "pooling output is larger than 128 Mi elements");
    no.require(output * ppu.kernel_width * ppu.kernel_height <= kMaxPoolReads,
               ppu_regs::kPoolingKernelCfg, ppu.kernel_width - 1,
               "more than 2^32 window reads in one task");
    const bool fed = task.dpu_enabled && task.dpu.to_ppu;
    no.require(ppu.from_memory != fed, ppu_regs::kOperationModeCfg, ppu.from_memory ? 1U << 4 : 0,
               "FLYING_MODE and DPU.FEATURE_MODE_CFG.OUTPUT_MODE disagree about the source");
    if (!fed)
        return;
    no.require(task.dpu.width == ppu.in_width && task.dpu.height == ppu.in_height &&
                   task.dpu.channels >= ppu.in_channels,
               ppu_regs::kDataCubeInWidth, ppu.in_width - 1, "differs from the DPU cube");
    no.require(task.dpu.out == ppu.precision, ppu_regs::kDataFormat,
               static_cast<uint32_t>(ppu.precision),
               "PROC_PRECISION differs from DPU.DATA_FORMAT.OUT_PRECISION");
}

}  // namespace

std::optional<ExecError> decode_task(RegisterMap map, const TaskRegs& regs, uint32_t enable_mask,
                                     TaskDesc& out) {
    if (map == RegisterMap::kRk3588)
        return decode_rk3588(regs, enable_mask, out);
    return decode_rk3576(regs, enable_mask, out);
}

void check_task(const TaskDesc& task, Refusals& refusals) {
    if (task.conv_enabled)
        check_conv(task.conv, task.dpu, refusals);
    if (task.dpu_enabled)
        check_dpu(task, refusals);
    if (task.ppu_enabled)
        check_ppu(task, refusals);
}

}  // namespace npusim
