// SPDX-License-Identifier: MIT
// RK3576 register map, as far as two vendor streams show it (int8: direct, depthwise and image
// convolutions, fused and flying addition, copies). Offsets and fields were found by comparing the
// streams with those of the same networks for RK3588. Mode registers are accepted only with the
// values seen there; everything else is refused.
#include <algorithm>
#include <cstdio>

#include "decode.hpp"

namespace npusim {
namespace {

constexpr npuregs::Field kHigh{31, 16};
constexpr npuregs::Field kLow{15, 0};

using npuregs::get;

class Decoder {
 public:
    Decoder(const TaskRegs& regs, TaskDesc& out, Refusals& no) : regs_(regs), out_(out), no_(no) {}

    void conv();
    void dpu();

 private:
    void require(bool ok, uint32_t offset, uint32_t value, const char* reason) {
        if (ok)
            return;
        char text[160];
        std::snprintf(text, sizeof text, "RK3576 register 0x%04x=0x%x: %s",
                      static_cast<unsigned>(offset), static_cast<unsigned>(value), reason);
        no_.refuse_text(text);
    }
    void conv_mode();
    void conv_input();
    void converter();
    void bs_stage();
    void stages();
    void elementwise();
    void write();
    void read();

    const TaskRegs& regs_;
    TaskDesc& out_;
    Refusals& no_;
};

void Decoder::conv_mode() {
    ConvDesc& conv = out_.conv;
    const uint32_t con1 = regs_.cna[0x100c];
    conv.depthwise = (con1 & 1U) != 0;
    const uint32_t argb = con1 >> 12 & 0xfU;
    const bool image = (con1 & 2U) != 0;
    require((con1 & ~0x2000f007U) == 0, 0x100c, con1, "unknown mode bits");
    const bool packed = argb >= 8 && argb <= 11;
    require(image == packed && (packed || argb == 0), 0x100c, con1,
            "image bit and channel code disagree");
    conv.image_channels = packed ? argb - 7 : 0;
    conv.packed_kernel_rows = (con1 & 4U) != 0;
    require(!conv.packed_kernel_rows || image, 0x100c, con1, "bit 2 is known for images only");
    const uint32_t core = regs_.core[0x3018];
    require(core == 0xa || core == 0x10000001 || core == 0x10000081, 0x3018, core,
            "unknown MAC array mode");
    conv.sum_enabled = true;
    const uint32_t size = regs_.cna[0x1024];
    conv.kernel_width = (size >> 24 & 0x1fU) + 1;
    conv.kernel_height = (size >> 16 & 0x1fU) + 1;
    conv.kernels = (size & 0x3fffU) + 1;
    const uint32_t con3 = regs_.cna[0x1014];
    require((con3 & ~0x3fU) == 0, 0x1014, con3, "dilation and deconvolution are not known");
    conv.stride_x = con3 & 7U;
    conv.stride_y = con3 >> 3 & 7U;
    conv.weight_bytes = regs_.cna[0x101c];
    conv.weights = regs_.cna[0x1110];
    conv.truncate = regs_.core[0x3024] & 0x1fU;
}

void Decoder::conv_input() {
    ConvDesc& conv = out_.conv;
    const uint32_t size = regs_.cna[0x102c];
    const uint32_t dma = regs_.cna[0x1078];
    conv.width = get(kHigh, size) + 1;
    conv.height = get(kLow, size) + 1;
    // Without the single-line bit the pitch register counts four rows, as on RK3588.
    const uint32_t line = regs_.cna[0x1090];
    const bool single_lines = (regs_.cna[0x100c] & 0x20000000U) != 0;
    require(single_lines || line % 4 == 0, 0x1090, line, "is not a multiple of four rows");
    conv.row_pitch = int64_t{single_lines ? line : line / 4} * kAtomBytes;
    conv.surface_pitch = int64_t{regs_.cna[0x1094]} * kAtomBytes;
    // A tile may keep its first rows in the CBUF from the tile before; memory still holds them.
    const uint32_t fetched = get(kLow, dma) + 1;
    require(fetched <= conv.height, 0x1078, dma, "fetches more rows than the tile has");
    const uint32_t kept = conv.height - std::min(fetched, conv.height);
    conv.feature = regs_.cna[0x1088] - static_cast<uint32_t>(kept * conv.row_pitch);
    const uint32_t channel_reg = regs_.cna[0x107c];
    conv.channels = get(kLow, channel_reg) + 1;
    if (conv.image_channels != 0) {
        require(conv.channels == conv.image_channels, 0x107c, channel_reg,
                "channels differ from the image mode");
        conv.channels = conv.weight_align = 4;
    } else {
        conv.channels = (conv.channels + 15) / 16 * 16;
    }
    const uint32_t pad = regs_.cna[0x1080];
    conv.pad_top = pad & 0xfU;
    conv.pad_left = pad >> 8 & 0xfU;
    conv.pad_bits = regs_.cna[0x1084];
    const uint32_t out = regs_.core[0x301c];
    conv.out_width = get(kLow, out) + 1;
    conv.out_height = get(kHigh, out) + 1;
    conv.out_channels = get(kLow, regs_.core[0x3020]) + 1;
    require(regs_.cna[0x1034] + 1 == uint64_t{conv.out_width} * conv.out_height, 0x1034,
            regs_.cna[0x1034], "output pixels differ from the output size");
}

void Decoder::converter() {
    const uint32_t con0 = regs_.cna[0x1048];
    ConverterDesc& cvt = out_.conv.convert;
    cvt.enabled = (con0 & 1U) == 0;
    if (!cvt.enabled)
        return;
    require(out_.conv.image_channels != 0, 0x1048, con0, "the converter is known for images");
    cvt.offset_first = (con0 & 2U) != 0;
    cvt.data_signed = (con0 & 8U) != 0;
    for (uint32_t lane = 0; lane < 4; ++lane) {
        cvt.shift[lane] = con0 >> (4 + 6 * lane) & 0x3fU;
        require(cvt.shift[lane] < 32, 0x1048, con0, "shift above 31");
        const uint32_t scales = regs_.cna[0x104c + lane / 2 * 4];
        cvt.scale[lane] =
            static_cast<int16_t>(lane % 2 != 0 ? get(kHigh, scales) : get(kLow, scales));
        cvt.offset[lane] = static_cast<int16_t>(regs_.cna[0x1054 + lane * 4]);
    }
}

void Decoder::conv() {
    conv_mode();
    conv_input();
    converter();
}

void Decoder::bs_stage() {
    DpuDesc& dpu = out_.dpu;
    const uint32_t cfg = regs_.dpu[0x4038];
    const uint32_t use = regs_.dpu_rdma[0x501c];
    dpu.bs_record.base = regs_.dpu_rdma[0x5020];
    dpu.bs_config.base = regs_.dpu_rdma[0x5024];
    switch (cfg) {
        case 0x53:  // bypass
            require(use == 0, 0x501c, use, "operands for a bypassed stage");
            return;
        case 0x120080:  // per channel: bias, zero point, multiplier; shifts in the config tensor
            require(use == 0x710, 0x501c, use, "unknown operand set");
            dpu.bs.alu_from_memory = dpu.bs.mul_from_memory = true;
            dpu.bs.mul = true;
            dpu.bs_record.alu = dpu.bs_record.ow = dpu.bs_record.mul = true;
            dpu.bs_config.shifts = true;
            break;
        case 0x100092:  // per channel: bias
            require(use == 0x110, 0x501c, use, "unknown operand set");
            dpu.bs.alu_from_memory = dpu.bs_record.alu = true;
            break;
        case 0x100012:  // one operand for all channels, in the config tensor
            require(use == 0x2 || use == 0x1a, 0x501c, use, "unknown operand set");
            dpu.bs.mul = use == 0x1a;
            dpu.bs_config.operands = true;
            break;
        default:
            require(false, 0x4038, cfg, "unknown BS mode");
            return;
    }
    dpu.bs.enabled = dpu.bs.alu = true;
    dpu.bs.op = AluOp::kAdd;
}

void Decoder::stages() {
    DpuDesc& dpu = out_.dpu;
    const uint32_t mode = regs_.dpu[0x400c];
    dpu.flying = (mode & 1U) != 0;
    dpu.depthwise = mode == 0x4000000c;
    require(mode == 5 || mode == 0x40000004 || dpu.depthwise, 0x400c, mode, "unknown DPU mode");
    dpu.to_memory = true;
    require(regs_.dpu[0x4010] == 0, 0x4010, regs_.dpu[0x4010], "only int8 is known");
    bs_stage();
    const uint32_t bn = regs_.dpu[0x4060];
    require(bn == 0x902 || bn == 0x903, 0x4060, bn, "unknown BN mode");
    dpu.bn.enabled = dpu.bn.relu = bn == 0x902;
    const uint32_t ow = regs_.dpu[0x4050];
    dpu.ow = (ow & 0x20000U) == 0 || dpu.depthwise;
    dpu.ow_from_memory = (ow & 0x80000000U) != 0;
    // Depthwise zero points: one value for all channels, the negated weight pad value.
    dpu.ow_operand = -static_cast<int8_t>(regs_.cna[0x1074]);
    dpu.surfaces_per_group = (ow & 0xfU) + 1;
    require((ow & ~0x80033333U) == 0, 0x4050, ow, "unknown bits");
    dpu.out_offset = static_cast<int32_t>(regs_.dpu[0x40ac]);
    dpu.out_scale = static_cast<int32_t>(get(kLow, regs_.dpu[0x40b0]));
    dpu.out_shift = regs_.dpu[0x40b4];
    require(dpu.out_shift < 63, 0x40b4, dpu.out_shift, "shift above 62");
}

void Decoder::elementwise() {
    DpuDesc& dpu = out_.dpu;
    const uint32_t cfg = regs_.dpu[0x407c];
    require(cfg == 0x10041c1 || cfg == 0x8002c0c0, 0x407c, cfg, "unknown EW mode");
    const uint32_t low = regs_.dpu[0x4088];
    require(low == 0 || low == 0x80000000, 0x4088, low, "unknown lower limit");
    EwDesc& ew = dpu.ew;
    ew.relu = ew.enabled = low == 0;
    if (cfg != 0x8002c0c0)
        return;
    const uint32_t scale = regs_.dpu[0x4084];
    ew.enabled = ew.op = ew.convert = ew.from_memory = true;
    ew.offset = static_cast<int16_t>(regs_.dpu[0x4080]);
    ew.scale = static_cast<int16_t>(get(kLow, scale));
    ew.shift = scale >> 16 & 0x3fU;
    const uint32_t erdma = regs_.dpu_rdma[0x5034];
    require(erdma == 0x50000044 || erdma == 0x40000044, 0x5034, erdma, "unknown operand mode");
    dpu.ew_source = EwSource::kPerPixel;
    dpu.operand.base = regs_.dpu_rdma[0x5038];
    dpu.operand.row_pitch = int64_t{dpu.width} * kAtomBytes;
    dpu.operand.surface_pitch = int64_t{regs_.dpu_rdma[0x5040]} * kAtomBytes;
}

void Decoder::write() {
    DpuDesc& dpu = out_.dpu;
    const uint32_t size = regs_.dpu[0x4034];
    dpu.dst = regs_.dpu[0x4018];
    require(dpu.dst % kAtomBytes == 0, 0x4018, dpu.dst, "destination must be 16-byte aligned");
    dpu.surface_stride = int64_t{regs_.dpu[0x401c]} * kAtomBytes;
    dpu.notch = regs_.dpu[0x4028];
    require(dpu.notch < 8192, 0x4028, dpu.notch, "row notch above 8191");
    dpu.write_width = get(kLow, size) + 1;
    dpu.write_height = get(kHigh, size) + 1;
    // From the end of one written cube to the next channel group.
    const int64_t cube = int64_t{dpu.write_height - 1} * (dpu.write_width + dpu.notch) +
                         dpu.write_width + static_cast<int32_t>(regs_.dpu[0x40b8]);
    dpu.group_stride = cube * kAtomBytes;
    const uint64_t pixels = uint64_t{dpu.width} * dpu.height;
    const uint64_t written = uint64_t{dpu.write_width} * dpu.write_height;
    const uint64_t channels = get(kHigh, regs_.dpu[0x4030]) + 1;
    require(pixels * dpu.real_channels == written * channels, 0x4030, regs_.dpu[0x4030],
            "write width * height * channels differ from the DPU cube");
    const uint64_t group = uint64_t{16} * dpu.surfaces_per_group;
    const uint64_t groups = (dpu.channels + group - 1) / group;
    dpu.write_channels = static_cast<uint32_t>(pixels * groups / written * group);
}

void Decoder::read() {
    DpuDesc& dpu = out_.dpu;
    const BlockRegs& r = regs_.dpu_rdma;
    dpu.width = get(kLow, r[0x500c]) + 1;
    dpu.height = get(kLow, r[0x5010]) + 1;
    // Border copies read whole atoms of tensors whose last surface is not full.
    dpu.real_channels = get(kLow, regs_.dpu[0x402c]) + 1;
    dpu.channels = get(kLow, r[0x5014]) + 1;
    const int64_t row = int64_t{dpu.width} + r[0x5078];
    require(r[0x5078] < 8192, 0x5078, r[0x5078], "row notch above 8191");
    const int64_t surface = (dpu.height - 1) * row + dpu.width + static_cast<int32_t>(r[0x504c]);
    dpu.main.base = r[0x5018];
    dpu.main.row_pitch = row * kAtomBytes;
    dpu.main.surface_pitch = surface * kAtomBytes;
}

void Decoder::dpu() {
    read();
    stages();
    elementwise();
    write();
}

}  // namespace

std::optional<ExecError> decode_rk3576(const TaskRegs& regs, uint32_t enable_mask, TaskDesc& out) {
    out = TaskDesc{};
    Refusals refusals;
    constexpr uint32_t kFlying = kEnableDpu | kEnableDpuRdma;
    constexpr uint32_t kConv = kFlying | kEnableCna | kEnableCore;
    if (enable_mask != kFlying && enable_mask != kConv) {
        refusals.refuse(npuregs::global::kOperationEnable, enable_mask,
                        "on RK3576 only 0x1d (convolution) and 0x18 (flying DPU) are known");
        return refusals.error();
    }
    Decoder decoder(regs, out, refusals);
    out.conv_enabled = enable_mask == kConv;
    out.dpu_enabled = true;
    if (out.conv_enabled)
        decoder.conv();
    decoder.dpu();
    if (!refusals.any())
        check_task(out, refusals);
    return refusals.error();
}

}  // namespace npusim
