// SPDX-License-Identifier: MIT
// CNA and CORE registers of a convolution.
#include <algorithm>

#include "rknpu_regcmd/regcmd_builder.hpp"

namespace rknpu::compiler {

using namespace npuregs;

namespace {

constexpr uint32_t kModeDirect = 0;
constexpr uint32_t kModeDepthwise = 3;
constexpr uint32_t kBurst = 15;

constexpr uint32_t kConvertOff = 0xb;  // signed, add first, bypassed
constexpr uint32_t kConvertScaleOne = 1U << 16;
constexpr uint32_t kEntryBytes = 64;  // unit of CBUF_CON1
constexpr uint32_t kDecompressorLanes = 16;

uint32_t precision_code(Precision precision) {
    return static_cast<uint32_t>(precision);
}

/// Channels as the CNA counts them: whole atoms.
uint32_t input_lanes(const ConvTask& task) {
    return task.image_channels != 0 ? atom_lanes(task.input_precision)
                                    : weight_lanes(task.input.channels, task.input_precision);
}

/// 64-byte units of one row; for images the pixels of the whole task (both as the vendor's files).
uint32_t data_entries(const ConvTask& task) {
    if (task.image_channels != 0) {
        return align_up(task.input.width, 4) * task.input.height;
    }
    const uint32_t row_bytes =
        task.input.width * input_lanes(task) * element_bytes(task.input_precision);
    return divide_up(row_bytes, kEntryBytes);
}

/// Rows buffered before the sequencer starts. Affects timing only.
uint32_t feature_grains(const ConvTask& task) {
    if (task.image_channels != 0) {
        return task.input.height;
    }
    const uint32_t rows = divide_up(1024, std::max(1U, data_entries(task)));
    return std::min(task.input.height, rows) + task.window.height;
}

/// The pad value register repeats the byte for depthwise tasks.
uint32_t pad_register(const ConvTask& task) {
    if (!task.depthwise || task.input_precision != Precision::kInt8) {
        return static_cast<uint32_t>(task.pad_value);
    }
    const uint32_t byte = static_cast<uint32_t>(task.pad_value) & 0xff;
    const uint32_t sign = task.pad_value < 0 ? 0xffff0000U : 0;
    return sign | byte << 8 | byte;
}

uint32_t kernel_bytes(const ConvTask& task) {
    return task.window.height * task.window.width * input_lanes(task) *
           element_bytes(task.input_precision);
}

}  // namespace

uint32_t RegcmdBuilder::conv_con1(const ConvTask& task) const {
    const uint32_t precision = precision_code(task.input_precision);
    uint32_t value = put(cna::kConvCon1ProcPrecision, precision) |
                     put(cna::kConvCon1InPrecision, precision) |
                     put(cna::kConvCon1ConvMode, task.depthwise ? kModeDepthwise : kModeDirect);
    if (task.image_channels != 0) {
        value |= put(cna::kConvCon1NonalignDma, 1) | put(cna::kConvCon1GroupLineOff, 1) |
                 put(cna::kConvCon1ArgbIn, 7 + task.image_channels);
    }
    return value;
}

uint32_t RegcmdBuilder::cbuf_con0(const ConvTask& task) {
    return put(cna::kCbufCon0WeightReuse, task.weights_loaded ? 1 : 0) |
           field(cna::kCbufCon0, cna::kCbufCon0WeightBank, task.banks.weights) |
           field(cna::kCbufCon0, cna::kCbufCon0DataBank, task.banks.data);
}

void RegcmdBuilder::check(const ConvTask& task) {
    if (task.image_channels > 4 || (task.image_channels != 0 && task.depthwise)) {
        fail("packed images need 1 to 4 channels and a direct convolution; use NC1HWC2 instead");
    }
    if (task.banks.data + task.banks.weights > 12) {
        fail("the convolution buffer has 12 banks; split the convolution by rows");
    }
    if (task.window.stride_y == 0 || task.window.stride_x == 0 || task.window.dilation_y == 0 ||
        task.window.dilation_x == 0) {
        fail("strides and dilations start at 1");
    }
}

void RegcmdBuilder::write_cna_sizes(const ConvTask& task) {
    const Feature& in = task.input;
    const Feature& out = task.output;
    const uint32_t lanes = input_lanes(task);
    const uint32_t channels = task.image_channels != 0 ? task.image_channels : in.channels;
    // The vendor's compiler stores the last channel modulo 64 (int8) or 32 (16 bit).
    const uint32_t modulo = task.input_precision == Precision::kInt8 ? 64 : 32;
    const uint32_t kernels = task.depthwise ? 1 : stored_kernels(out.channels);

    write(kTargetCna, cna::kConvCon1, conv_con1(task));
    write(kTargetCna, cna::kConvCon2, {{cna::kConvCon2FeatureGrains, feature_grains(task)}});
    write(kTargetCna, cna::kConvCon3,
          {{cna::kConvCon3AtrousYDilation, task.window.dilation_y - 1},
           {cna::kConvCon3AtrousXDilation, task.window.dilation_x - 1},
           {cna::kConvCon3ConvYStride, task.window.stride_y},
           {cna::kConvCon3ConvXStride, task.window.stride_x}});
    write(kTargetCna, cna::kDataSize0,
          {{cna::kDataSize0DatainWidth, in.width}, {cna::kDataSize0DatainHeight, in.height}});
    write(kTargetCna, cna::kDataSize1,
          {{cna::kDataSize1DatainChannelReal, (channels - 1) % modulo},
           {cna::kDataSize1DatainChannel, lanes}});
    write(kTargetCna, cna::kDataSize2, {{cna::kDataSize2DataoutWidth, out.width}});
    write(kTargetCna, cna::kDataSize3, {{cna::kDataSize3DataoutAtomics, out.width * out.height}});
    write(kTargetCna, cna::kWeightSize0, kernel_bytes(task) * kernels);
    write(kTargetCna, cna::kWeightSize1,
          {{cna::kWeightSize1WeightBytesPerKernel, kernel_bytes(task)}});
    write(kTargetCna, cna::kWeightSize2,
          {{cna::kWeightSize2WeightWidth, task.window.width},
           {cna::kWeightSize2WeightHeight, task.window.height},
           {cna::kWeightSize2WeightKernels, kernels}});
    write(kTargetCna, cna::kCbufCon0, cbuf_con0(task));
    // Large images exceed the documented 14 bits; vendor streams hold the whole number as well.
    write(kTargetCna, cna::kCbufCon1, data_entries(task));
}

void RegcmdBuilder::write_cna_input(const ConvTask& task) {
    const Feature& in = task.input;
    const bool image = task.image_channels != 0;
    // Without group_line_off the hardware fetches four rows at a time.
    const uint32_t line_stride = image ? in.row_pitch : 4 * in.row_pitch;
    const uint32_t plane_stride = in.plane_pitch - line_stride;  // may be negative

    write(kTargetCna, cna::kCvtCon0, kConvertOff);
    write(kTargetCna, cna::kCvtCon1, kConvertScaleOne);
    write(kTargetCna, cna::kCvtCon2, kConvertScaleOne);
    write(kTargetCna, cna::kCvtCon3, kConvertScaleOne);
    write(kTargetCna, cna::kCvtCon4, kConvertScaleOne);
    write(kTargetCna, cna::kFcCon0, 0);
    write(kTargetCna, cna::kFcCon1, 0);
    write(
        kTargetCna, cna::kPadCon0,
        {{cna::kPadCon0PadLeft, task.window.pad_left}, {cna::kPadCon0PadTop, task.window.pad_top}});
    write_address(kTargetCna, cna::kFeatureDataAddr, in.base);
    write(kTargetCna, cna::kFcCon2, 0);
    write(kTargetCna, cna::kDmaCon0,
          {{cna::kDmaCon0WeightBurstLen, kBurst}, {cna::kDmaCon0DataBurstLen, kBurst}});
    write(kTargetCna, cna::kDmaCon1, {{cna::kDmaCon1LineStride, line_stride}});
    write(kTargetCna, cna::kDmaCon2, put(cna::kDmaCon2SurfStride, plane_stride));
    write(kTargetCna, cna::kFcDataSize0,
          {{cna::kFcDataSize0DmaWidth, in.width}, {cna::kFcDataSize0DmaHeight, in.height}});
    write(kTargetCna, cna::kFcDataSize1, {{cna::kFcDataSize1DmaChannel, input_lanes(task)}});
}

void RegcmdBuilder::write_cna_weights(const ConvTask& task) {
    write(kTargetCna, cna::kDcompCtrl, 0);
    write(kTargetCna, cna::kDcompRegnum, 0);
    write_address(kTargetCna, cna::kDcompAddr0, task.weights);
    for (uint32_t lane = 0; lane < kDecompressorLanes; lane++) {
        write(kTargetCna, cna::kDcompAmount0 + 4 * lane, 0);
    }
    write(kTargetCna, cna::kCvtCon5, 0);
    write(kTargetCna, cna::kPadCon1, pad_register(task));
}

void RegcmdBuilder::write_core(const ConvTask& task) {
    const uint32_t aligned =
        align_up(task.output.channels, channel_group(task.input_precision, task.depthwise));
    write(kTargetCore, core::kMiscCfg,
          {{core::kMiscCfgProcPrecision, precision_code(task.input_precision)},
           {core::kMiscCfgDwEn, task.depthwise ? 1U : 0U},
           {core::kMiscCfgQdEn, task.input_precision == Precision::kInt8 ? 1U : 0U}});
    write(kTargetCore, core::kDataoutSize0,
          {{core::kDataoutSize0DataoutHeight, task.output.height - 1},
           {core::kDataoutSize0DataoutWidth, task.output.width - 1}});
    write(kTargetCore, core::kDataoutSize1, {{core::kDataoutSize1DataoutChannel, aligned - 1}});
    write(kTargetCore, core::kClipTruncate, {{core::kClipTruncateClipTruncate, task.truncate}});
    write(kTargetCore, core::kReserved3030, 0U);
}

}  // namespace rknpu::compiler
