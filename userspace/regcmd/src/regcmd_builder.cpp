// SPDX-License-Identifier: MIT
// Command order and constant values follow streams of the vendor's compiler; the meaning of each
// register is in Documentation/hardware.rst.
#include "rknpu_regcmd/regcmd_builder.hpp"

#include <algorithm>
#include <utility>

#include "dpu_shape.hpp"

namespace rknpu::compiler {

using namespace npuregs;

namespace {

constexpr uint32_t kStreamAlign = 8;  // words; streams start at multiples of 64 bytes
constexpr uint32_t kTailWords = 4;
constexpr uint32_t kIntMaskDpu = 0x300;  // DPU group 0 and 1
constexpr uint32_t kIntMaskPpu = 0xc00;
constexpr uint32_t kEnableConv = 0x0d;  // CNA, CORE, DPU
constexpr uint32_t kEnableDpu = 0x08;
constexpr uint32_t kEnableDpuRdma = 0x10;
constexpr uint32_t kEnablePool = 0x60;
constexpr uint32_t kPingPong = 0xe;    // toggle the register group with every task
constexpr Field kCoresMinus1{17, 16};  // of PC.REGISTER_AMOUNTS, as the vendor's streams use it

bool reads_memory(const OutputStage& stage) {
    return stage.add.has_value() || stage.bias_scale.source == BiasScale::Source::kBias ||
           stage.bias_scale.source == BiasScale::Source::kRecords;
}

}  // namespace

void RegcmdBuilder::begin_chain(uint32_t cores) {
    cores_ = std::clamp(cores, 1U, 3U);
    tail_.reset();
}

void RegcmdBuilder::fail(std::string text) {
    if (error_.empty()) {
        error_ = std::move(text);
    }
}

void RegcmdBuilder::write(uint16_t target, uint32_t offset, uint32_t value) {
    words_.push_back(Command{target, static_cast<uint16_t>(offset), value}.encode());
}

uint32_t RegcmdBuilder::field(uint32_t offset, Field field, uint32_t value) {
    if (!fits(field, value)) {
        fail(register_name(offset) + " bits " + std::to_string(field.hi) + ":" +
             std::to_string(field.lo) + " cannot hold " +
             std::to_string(static_cast<int32_t>(value)) +
             "; make the tensor smaller or split the operation");
    }
    return put(field, value);
}

void RegcmdBuilder::write(uint16_t target, uint32_t offset,
                          std::initializer_list<FieldValue> fields) {
    uint32_t value = 0;
    for (const FieldValue& part : fields) {
        value |= field(offset, part.field, part.value);
    }
    write(target, offset, value);
}

void RegcmdBuilder::write_address(uint16_t target, uint32_t offset, Address address) {
    if (address.buffer != 0) {
        relocations_.push_back(
            {static_cast<uint32_t>(words_.size()), address.buffer, address.offset});
    }
    if (address.offset % kAtomBytes != 0) {
        fail(register_name(offset) + ": byte offset " + std::to_string(address.offset) +
             " is no multiple of 16; align the tensor");
    }
    write(target, offset, address.offset);
}

void RegcmdBuilder::write_pointers(bool rdma) {
    write(kTargetDpu, dpu::kSPointer, kPingPong);
    if (rdma) {
        write(kTargetDpuRdma, dpu_rdma::kSPointer, kPingPong);
    }
}

std::optional<std::string> RegcmdBuilder::append(const ConvTask& task, uint32_t op_index) {
    const size_t start = words_.size();
    const bool rdma = reads_memory(task.stage);
    check(task);

    // The vendor's streams set these before the pointers.
    write(kTargetCna, cna::kCbufCon0, cbuf_con0(task));
    write(kTargetCna, cna::kDcompRegnum, 0);
    write(kTargetCna, cna::kDcompCtrl, 0);
    write(kTargetCna, cna::kConvCon1, conv_con1(task));
    write_pointers(rdma);

    write_cna_sizes(task);
    write_cna_input(task);
    write_cna_weights(task);
    write_core(task);

    const DpuShape shape = DpuShape::of(task);
    write_dpu_output(shape);
    write_dpu_bias_scale(shape, task.stage);
    write_dpu_elementwise(task.input_precision, task.stage);
    write_dpu_convert(shape, task.stage);
    if (rdma) {
        write_dpu_rdma(shape, task.stage, OperandReads::of(task));
    }
    return finish(start, op_index, kEnableConv | (rdma ? kEnableDpuRdma : 0), kIntMaskDpu);
}

std::optional<std::string> RegcmdBuilder::append(const ElementwiseTask& task, uint32_t op_index) {
    const size_t start = words_.size();
    write_pointers(true);
    const DpuShape shape = DpuShape::of(task);
    write_dpu_output(shape);
    write_dpu_bias_scale(shape, task.stage);
    write_dpu_elementwise(task.precision, task.stage);
    write_dpu_convert(shape, task.stage);
    write_dpu_rdma(shape, task.stage, OperandReads::of(task));
    return finish(start, op_index, kEnableDpu | kEnableDpuRdma, kIntMaskDpu);
}

std::optional<std::string> RegcmdBuilder::append(const PoolTask& task, uint32_t op_index) {
    const size_t start = words_.size();
    if (task.window.dilation_y != 1 || task.window.dilation_x != 1) {
        fail("a pool cannot be dilated; use dilations of 1");
    }
    write(kTargetPpu, ppu::kSPointer, kPingPong);
    write(kTargetPpuRdma, ppu_rdma::kSPointer, kPingPong);
    write_ppu(task);
    write_ppu_rdma(task);
    return finish(start, op_index, kEnablePool, kIntMaskPpu);
}

std::optional<std::string> RegcmdBuilder::finish(size_t start, uint32_t op_index,
                                                 uint32_t enable_mask, uint32_t int_mask) {
    if (!error_.empty()) {
        words_.resize(start);
        std::erase_if(relocations_, [start](const Relocation& r) { return r.word >= start; });
        return std::exchange(error_, {});
    }
    const auto body = static_cast<uint32_t>(words_.size() - start);
    const auto offset = static_cast<uint32_t>(start * sizeof(uint64_t));
    if (tail_) {
        words_[*tail_] =
            Command{kTargetPc, static_cast<uint16_t>(pc::kBaseAddress), offset}.encode();
        const uint32_t amount = put(pc::kRegisterAmountsPcDataAmount, fetch_amount(body)) |
                                put(kCoresMinus1, cores_ - 1);
        words_[*tail_ + 1] =
            Command{kTargetPc, static_cast<uint16_t>(pc::kRegisterAmounts), amount}.encode();
        links_.push_back(*tail_);
    }
    tail_ = static_cast<uint32_t>(words_.size());
    words_.push_back(0);  // link to the next task, filled in when there is one
    write(kTargetPc, pc::kRegisterAmounts, 0);
    write(kTargetSync, 0, 0);
    write(kTargetEnable, pc::kOperationEnable, enable_mask);
    static_assert(kTailWords == 4);
    words_.resize(align_up(static_cast<uint32_t>(words_.size()), kStreamAlign), 0);
    tasks_.push_back({op_index, enable_mask, int_mask, body, offset});
    return std::nullopt;
}

void RegcmdBuilder::write_ppu(const PoolTask& task) {
    const Feature& in = task.input;
    const Feature& out = task.output;
    const Window& window = task.window;
    const uint32_t lanes = align_up(in.channels, atom_lanes(task.precision));
    const bool average = task.method == PoolTask::Method::kAverage;
    const bool padded =
        window.pad_top + window.pad_left + task.pad_bottom + task.pad_right != 0 && !average;
    const uint32_t plane_bytes = out.plane_pitch * kAtomBytes;

    write(kTargetPpu, ppu::kDataCubeInWidth, {{ppu::kDataCubeInWidthCubeInWidth, in.width - 1}});
    write(kTargetPpu, ppu::kDataCubeInHeight,
          {{ppu::kDataCubeInHeightCubeInHeight, in.height - 1}});
    write(kTargetPpu, ppu::kDataCubeInChannel, {{ppu::kDataCubeInChannelCubeInChannel, lanes - 1}});
    write(kTargetPpu, ppu::kDataCubeOutWidth,
          {{ppu::kDataCubeOutWidthCubeOutWidth, out.width - 1}});
    write(kTargetPpu, ppu::kDataCubeOutHeight,
          {{ppu::kDataCubeOutHeightCubeOutHeight, out.height - 1}});
    write(kTargetPpu, ppu::kDataCubeOutChannel,
          {{ppu::kDataCubeOutChannelCubeOutChannel, lanes - 1}});
    write(kTargetPpu, ppu::kOperationModeCfg,
          {{ppu::kOperationModeCfgNotchAddr, out.row_pitch - out.width},
           {ppu::kOperationModeCfgFlyingMode, 1},
           {ppu::kOperationModeCfgPoolingMethod, static_cast<uint32_t>(task.method)}});
    write(kTargetPpu, ppu::kPoolingKernelCfg,
          {{ppu::kPoolingKernelCfgKernelStrideHeight, window.stride_y - 1},
           {ppu::kPoolingKernelCfgKernelStrideWidth, window.stride_x - 1},
           {ppu::kPoolingKernelCfgKernelHeight, window.height - 1},
           {ppu::kPoolingKernelCfgKernelWidth, window.width - 1}});
    write(kTargetPpu, ppu::kRecipKernelWidth, average ? (1U << 16) / window.width : 0);
    write(kTargetPpu, ppu::kRecipKernelHeight, average ? (1U << 16) / window.height : 0);
    write(kTargetPpu, ppu::kPoolingPaddingCfg,
          {{ppu::kPoolingPaddingCfgPadBottom, task.pad_bottom},
           {ppu::kPoolingPaddingCfgPadRight, task.pad_right},
           {ppu::kPoolingPaddingCfgPadTop, window.pad_top},
           {ppu::kPoolingPaddingCfgPadLeft, window.pad_left}});
    // The pad value is 35 bits wide, sign extended.
    write(kTargetPpu, ppu::kPaddingValue1Cfg, padded ? static_cast<uint32_t>(task.pad_value) : 0);
    write(kTargetPpu, ppu::kPaddingValue2Cfg, padded && task.pad_value < 0 ? 7 : 0);
    write_address(kTargetPpu, ppu::kDstBaseAddr, out.base);
    write(kTargetPpu, ppu::kDstSurfStride, plane_bytes);
    write(kTargetPpu, ppu::kDataFormat,
          plane_bytes | put(ppu::kDataFormatProcPrecision, static_cast<uint32_t>(task.precision)));
    write(kTargetPpu, ppu::kMiscCtrl, {{ppu::kMiscCtrlBurstLen, 3}});
}

void RegcmdBuilder::write_ppu_rdma(const PoolTask& task) {
    const Feature& in = task.input;
    const uint32_t lanes = align_up(in.channels, atom_lanes(task.precision));
    // The vendor writes 1 for int8 and 2 for fp16 here.
    const uint32_t precision = task.precision == Precision::kInt8 ? 1 : 2;

    write(kTargetPpuRdma, ppu_rdma::kCubeInWidth,
          {{ppu_rdma::kCubeInWidthCubeInWidth, in.width - 1}});
    write(kTargetPpuRdma, ppu_rdma::kCubeInHeight,
          {{ppu_rdma::kCubeInHeightCubeInHeight, in.height - 1}});
    write(kTargetPpuRdma, ppu_rdma::kCubeInChannel,
          {{ppu_rdma::kCubeInChannelCubeInChannel, lanes - 1}});
    write_address(kTargetPpuRdma, ppu_rdma::kSrcBaseAddr, in.base);
    write(kTargetPpuRdma, ppu_rdma::kSrcLineStride, in.row_pitch * kAtomBytes);
    write(kTargetPpuRdma, ppu_rdma::kSrcSurfStride, in.plane_pitch * kAtomBytes);
    write(kTargetPpuRdma, ppu_rdma::kDataFormat, {{ppu_rdma::kDataFormatInPrecision, precision}});
}

}  // namespace rknpu::compiler
