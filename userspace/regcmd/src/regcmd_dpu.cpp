// SPDX-License-Identifier: MIT
// DPU and DPU_RDMA registers.
#include "dpu_shape.hpp"

namespace rknpu::compiler {

using namespace npuregs;

namespace {

constexpr uint32_t kModeDepthwise = 3;
constexpr uint32_t kBurst = 15;
constexpr uint32_t kOutputToMemory = 2;
constexpr uint32_t kAlgorithmAdd = 2;
constexpr uint32_t kQ14 = 14;

constexpr uint32_t kStageOff = 0x53;  // stage, ALU, MUL and ReLU bypassed
constexpr uint32_t kElementwiseOff = 0x383;
constexpr uint32_t kCombineBoth = 5;  // main and second engine share one tensor
constexpr uint32_t kReadPerPixel = 1;
constexpr uint32_t kUseBias = 1;
constexpr uint32_t kUseRecords = 7;  // bias, weight zero point, scale
constexpr uint32_t kArbiterWeights = 0x01010101;

uint32_t code(Precision precision) {
    return static_cast<uint32_t>(precision);
}

/// 1 = 8 bit, 2 = 16 bit, 3 = 32 bit.
uint32_t size_code(Precision precision) {
    const uint32_t bytes = element_bytes(precision);
    return bytes == 1 ? 1 : bytes == 2 ? 2 : 3;
}

bool is_float(Precision precision) {
    return precision == Precision::kFp16;
}

}  // namespace

RegcmdBuilder::DpuShape RegcmdBuilder::DpuShape::of(const ConvTask& task) {
    const uint32_t group = channel_group(task.input_precision, task.depthwise);
    return {task.input_precision,
            task.output_precision,
            task.output,
            align_up(task.output.channels, group),
            group / atom_lanes(task.output_precision),
            task.depthwise,
            false};
}

RegcmdBuilder::DpuShape RegcmdBuilder::DpuShape::of(const ElementwiseTask& task) {
    const uint32_t aligned = align_up(task.output.channels, atom_lanes(task.precision));
    return {task.precision, task.precision, task.output, aligned, 1, false, true};
}

RegcmdBuilder::OperandReads RegcmdBuilder::OperandReads::of(const ConvTask& task) {
    OperandReads reads;
    if (task.stage.add) {
        // The two engines take turns: one reads the even surfaces, the other the odd ones.
        const Feature& from = task.stage.add->feature;
        const uint32_t plane = from.plane_pitch * kAtomBytes;
        reads.main = from.base;
        reads.second = from.base.plus(plane);
        reads.second_plane_pitch = plane;
        reads.main_row_notch = reads.second_row_notch = from.row_pitch - from.width;
        reads.main_plane_notch = reads.second_plane_notch =
            2 * plane - from.height * from.row_pitch * kAtomBytes;
        reads.combined = true;
    }
    return reads;
}

RegcmdBuilder::OperandReads RegcmdBuilder::OperandReads::of(const ElementwiseTask& task) {
    OperandReads reads;
    const Feature& main = task.main;
    reads.main = main.base;
    reads.main_row_notch = main.row_pitch - main.width;
    reads.main_plane_notch = (main.plane_pitch - main.height * main.row_pitch) * kAtomBytes;
    if (task.stage.add) {
        const Feature& second = task.stage.add->feature;
        reads.second = second.base;
        reads.second_plane_pitch = second.plane_pitch * kAtomBytes;
        reads.second_row_notch = second.row_pitch - second.width;
        reads.second_plane_notch =
            (second.plane_pitch - second.height * second.row_pitch) * kAtomBytes;
    }
    return reads;
}

void RegcmdBuilder::write_dpu_output(const DpuShape& shape) {
    const Feature& out = shape.destination;
    if (out.plane_pitch < out.width * out.height) {
        fail("output planes overlap; make the plane pitch at least width x height");
    }
    write(kTargetDpu, dpu::kFeatureModeCfg,
          {{dpu::kFeatureModeCfgBurstLen, kBurst},
           {dpu::kFeatureModeCfgConvMode, shape.depthwise ? kModeDepthwise : 0},
           {dpu::kFeatureModeCfgOutputMode, kOutputToMemory},
           {dpu::kFeatureModeCfgFlyingMode, shape.flying ? 1U : 0U}});
}

void RegcmdBuilder::write_dpu_bias_scale(const DpuShape& shape, const OutputStage& stage) {
    const Feature& out = shape.destination;
    const BiasScale& bs = stage.bias_scale;
    const bool records = bs.source == BiasScale::Source::kRecords;
    const bool immediate = bs.source == BiasScale::Source::kImmediate;
    const uint32_t shift = records ? kQ14 : immediate ? bs.shift : 0;
    const uint32_t in = is_float(shape.input) ? code(shape.input) : 0;
    const uint32_t notch = out.row_pitch - out.width;
    const uint32_t surfaces = shape.group_surfaces - 1;

    write(kTargetDpu, dpu::kDataFormat,
          {{dpu::kDataFormatOutPrecision, code(shape.output)},
           {dpu::kDataFormatInPrecision, in},
           {dpu::kDataFormatBsMulShiftValueNeg, shift},
           {dpu::kDataFormatProcPrecision, in}});
    write(kTargetDpu, dpu::kOffsetPend, 0U);
    write_address(kTargetDpu, dpu::kDstBaseAddr, out.base);
    write(kTargetDpu, dpu::kDstSurfStride, out.plane_pitch * kAtomBytes);
    write(kTargetDpu, dpu::kDataCubeWidth, {{dpu::kDataCubeWidthWidth, out.width - 1}});
    write(kTargetDpu, dpu::kDataCubeHeight, {{dpu::kDataCubeHeightHeight, out.height - 1}});
    write(kTargetDpu, dpu::kDataCubeNotchAddr,
          {{dpu::kDataCubeNotchAddrNotchAddr1, notch}, {dpu::kDataCubeNotchAddrNotchAddr0, notch}});
    write(kTargetDpu, dpu::kDataCubeChannel,
          {{dpu::kDataCubeChannelOrigChannel, out.channels - 1},
           {dpu::kDataCubeChannelChannel, shape.aligned_channels - 1}});

    const bool from_memory = records || bs.source == BiasScale::Source::kBias;
    write(kTargetDpu, dpu::kBsCfg,
          bs.source == BiasScale::Source::kNone
              ? kStageOff
              : put(dpu::kBsCfgBsAluAlgo, kAlgorithmAdd) |
                    put(dpu::kBsCfgBsAluSrc, from_memory ? 1 : 0) |
                    put(dpu::kBsCfgBsReluBypass, 1) |
                    put(dpu::kBsCfgBsMulBypass, bs.source == BiasScale::Source::kBias ? 1 : 0));
    write(kTargetDpu, dpu::kBsAluCfg, immediate ? static_cast<uint32_t>(bs.add) : 0U);
    write(kTargetDpu, dpu::kBsMulCfg,
          {{dpu::kBsMulCfgBsMulOperand, immediate ? static_cast<uint16_t>(bs.multiply) : 0U},
           {dpu::kBsMulCfgBsMulShiftValue, shift},
           {dpu::kBsMulCfgBsMulSrc, records ? 1U : 0U}});
    write(kTargetDpu, dpu::kBsReluxCmpValue, 0U);
    // Weight zero points act on sums the MAC array makes for int8 only.
    const bool sums = shape.input == Precision::kInt8 && !shape.flying;
    write(kTargetDpu, dpu::kBsOwCfg,
          {{dpu::kBsOwCfgSizeE2, surfaces},
           {dpu::kBsOwCfgSizeE1, surfaces},
           {dpu::kBsOwCfgSizeE0, surfaces},
           {dpu::kBsOwCfgOdBypass, sums ? 0U : 1U},
           {dpu::kBsOwCfgOwSrc, records ? 1U : 0U}});
    write(kTargetDpu, dpu::kBsOwOp, 0U);
    write(kTargetDpu, dpu::kWdmaSize0, {{dpu::kWdmaSize0ChannelWdma, shape.aligned_channels - 1}});
    write(kTargetDpu, dpu::kWdmaSize1,
          {{dpu::kWdmaSize1HeightWdma, out.height - 1}, {dpu::kWdmaSize1WidthWdma, out.width - 1}});
}

void RegcmdBuilder::write_dpu_elementwise(Precision precision, const OutputStage& stage) {
    const bool clip = stage.relu && stage.clip != 0;
    write(kTargetDpu, dpu::kBnCfg,
          !stage.relu ? kStageOff
                      : put(dpu::kBnCfgBnReluxEn, clip ? 1 : 0) | put(dpu::kBnCfgBnMulBypass, 1) |
                            put(dpu::kBnCfgBnAluBypass, 1));
    write(kTargetDpu, dpu::kBnAluCfg, 0U);
    write(kTargetDpu, dpu::kBnMulCfg, 0U);
    write(kTargetDpu, dpu::kBnReluxCmpValue, clip ? stage.clip : 0);

    const bool add = stage.add.has_value();
    write(kTargetDpu, dpu::kEwCfg,
          !add ? kElementwiseOff
               : put(dpu::kEwCfgEwCvtType, is_float(precision) ? 0 : 1) |
                     put(dpu::kEwCfgEwDataMode, kReadPerPixel) |
                     put(dpu::kEwCfgEdataSize, size_code(precision)) |
                     put(dpu::kEwCfgEwAluAlgo, kAlgorithmAdd) |
                     put(dpu::kEwCfgEwReluBypass, stage.relu_after_add ? 0 : 1) |
                     put(dpu::kEwCfgEwLutBypass, 1) | put(dpu::kEwCfgEwOpSrc, 1));
    write(kTargetDpu, dpu::kEwCvtOffsetValue, add ? static_cast<uint32_t>(stage.add->offset) : 0U);
    write(kTargetDpu, dpu::kEwCvtScaleValue,
          {{dpu::kEwCvtScaleValueEwOpCvtShift, add ? stage.add->shift : 0U},
           {dpu::kEwCvtScaleValueEwOpCvtScale, add ? stage.add->scale : 1U}});
    write(kTargetDpu, dpu::kEwReluxCmpValue, 0U);
}

void RegcmdBuilder::write_dpu_convert(const DpuShape& shape, const OutputStage& stage) {
    constexpr uint32_t kImmediates = 8;
    constexpr uint32_t kLutRegisters = 12;
    const Feature& out = shape.destination;
    write(kTargetDpu, dpu::kOutCvtOffset, static_cast<uint32_t>(stage.convert.offset));
    write(kTargetDpu, dpu::kOutCvtScale,
          {{dpu::kOutCvtScaleFp32tofp16En, shape.output == Precision::kFp16 ? 1U : 0U},
           {dpu::kOutCvtScaleOutCvtScale, stage.convert.scale}});
    write(kTargetDpu, dpu::kOutCvtShift, {{dpu::kOutCvtShiftOutCvtShift, stage.convert.shift}});
    for (uint32_t i = 0; i < kImmediates; i++) {
        write(kTargetDpu, dpu::kEwOpValue0 + 4 * i, 0U);
    }
    write(kTargetDpu, dpu::kSurfaceAdd, out.plane_pitch * kAtomBytes * shape.group_surfaces);
    write(kTargetDpu, dpu::kReserved40c4, 0U);
    for (uint32_t i = 0; i < kLutRegisters; i++) {
        write(kTargetDpu, dpu::kLutAccessCfg + 4 * i, 0U);
    }
}

void RegcmdBuilder::write_dpu_rdma(const DpuShape& shape, const OutputStage& stage,
                                   const OperandReads& reads) {
    const Feature& out = shape.destination;
    const BiasScale::Source source = stage.bias_scale.source;
    const bool add = stage.add.has_value();
    const uint32_t use = source == BiasScale::Source::kRecords ? kUseRecords
                         : source == BiasScale::Source::kBias  ? kUseBias
                                                               : 0;
    const uint32_t in = is_float(shape.input) ? code(shape.input) : 0;

    write(kTargetDpuRdma, dpu_rdma::kDataCubeWidth,
          {{dpu_rdma::kDataCubeWidthWidth, out.width - 1}});
    write(kTargetDpuRdma, dpu_rdma::kDataCubeHeight,
          {{dpu_rdma::kDataCubeHeightEwLineNotchAddr, reads.second_row_notch},
           {dpu_rdma::kDataCubeHeightHeight, out.height - 1}});
    write(kTargetDpuRdma, dpu_rdma::kDataCubeChannel,
          {{dpu_rdma::kDataCubeChannelChannel, shape.aligned_channels - 1}});
    write_address(kTargetDpuRdma, dpu_rdma::kSrcBaseAddr, reads.main);
    write(kTargetDpuRdma, dpu_rdma::kBrdmaCfg, {{dpu_rdma::kBrdmaCfgBrdmaDataUse, use}});
    write_address(kTargetDpuRdma, dpu_rdma::kBsBaseAddr,
                  use != 0 ? stage.bias_scale.operands : Address{});
    write(kTargetDpuRdma, dpu_rdma::kNrdmaCfg, 0U);
    write(kTargetDpuRdma, dpu_rdma::kBnBaseAddr, 0U);
    write(kTargetDpuRdma, dpu_rdma::kErdmaCfg,
          add ? put(dpu_rdma::kErdmaCfgErdmaDataMode, kReadPerPixel) |
                    put(dpu_rdma::kErdmaCfgErdmaDataSize, size_code(shape.input))
              : put(dpu_rdma::kErdmaCfgErdmaDisable, 1));
    write_address(kTargetDpuRdma, dpu_rdma::kEwBaseAddr, reads.second);
    write(kTargetDpuRdma, dpu_rdma::kEwSurfStride, reads.second_plane_pitch);
    write(kTargetDpuRdma, dpu_rdma::kFeatureModeCfg,
          {{dpu_rdma::kFeatureModeCfgInPrecision, in},
           {dpu_rdma::kFeatureModeCfgBurstLen, kBurst},
           {dpu_rdma::kFeatureModeCfgCombUse, reads.combined ? kCombineBoth : 0},
           {dpu_rdma::kFeatureModeCfgProcPrecision, in},
           {dpu_rdma::kFeatureModeCfgMrdmaDisable, shape.flying || reads.combined ? 0U : 1U},
           {dpu_rdma::kFeatureModeCfgConvMode, shape.depthwise ? kModeDepthwise : 0},
           {dpu_rdma::kFeatureModeCfgFlyingMode, shape.flying ? 1U : 0U}});
    write(kTargetDpuRdma, dpu_rdma::kSrcDmaCfg,
          {{dpu_rdma::kSrcDmaCfgLineNotchAddr, reads.main_row_notch}});
    write(kTargetDpuRdma, dpu_rdma::kSurfNotch, reads.main_plane_notch);
    write(kTargetDpuRdma, dpu_rdma::kPadCfg, 0U);
    write(kTargetDpuRdma, dpu_rdma::kWeight, kArbiterWeights);
    write(kTargetDpuRdma, dpu_rdma::kEwSurfNotch, reads.second_plane_notch);
}

}  // namespace rknpu::compiler
