// SPDX-License-Identifier: MIT
// Findings about a task that the model computes but that looks wrong or would not run on a chip.
#include <cstdio>
#include <string>
#include <vector>

#include "conv.hpp"
#include "decode.hpp"
#include "elements.hpp"
#include "npuregs/regcmd.hpp"
#include "weights.hpp"

namespace npusim {
namespace {

using npuregs::get;
namespace cna = npuregs::cna;
namespace dpu_regs = npuregs::dpu;
namespace rdma_regs = npuregs::dpu_rdma;
namespace ppu_regs = npuregs::ppu;

// CBUF: 12 banks of 256 entries, an entry is 128 bytes (TRM).
constexpr uint32_t kBanks = 12;
constexpr uint32_t kBankEntries = 256;
constexpr uint32_t kEntryBytes = 128;

class Lint {
 public:
    void note(uint32_t offset, uint32_t value, const std::string& finding) {
        findings_.push_back(npuregs::describe_write(offset, value) + ": " + finding);
    }
    void check(bool ok, uint32_t offset, uint32_t value, const std::string& finding) {
        if (!ok)
            note(offset, value, finding);
    }
    std::vector<std::string> take() { return std::move(findings_); }

 private:
    std::vector<std::string> findings_;
};

std::string number(const char* format, unsigned a, unsigned b) {
    char text[160];
    std::snprintf(text, sizeof text, format, a, b);
    return text;
}

void lint_banks(const TaskRegs& regs, const ConvDesc& conv, Lint& lint) {
    const uint32_t con0 = regs.cna[cna::kCbufCon0];
    const uint32_t data_banks = get(cna::kCbufCon0DataBank, con0);
    const uint32_t weight_banks = get(cna::kCbufCon0WeightBank, con0);
    lint.check(data_banks != 0 && weight_banks != 0, cna::kCbufCon0, con0,
               "data and weights need at least one CBUF bank each");
    lint.check(data_banks + weight_banks <= kBanks, cna::kCbufCon0, con0,
               number("%u banks are assigned, the CBUF has %u", data_banks + weight_banks, kBanks));
    const uint64_t atoms =
        (conv.channels + atom_channels(conv.precision) - 1) / atom_channels(conv.precision);
    const uint64_t row_bytes =
        conv.image_channels != 0
            ? bytes_of(size_t{conv.width} * conv.image_channels, conv.precision)
            : atoms * conv.width * kAtomBytes;
    const uint64_t entries = (row_bytes + kEntryBytes - 1) / kEntryBytes * conv.height;
    lint.check(entries <= uint64_t{data_banks} * kBankEntries, cna::kCbufCon0, con0,
               number("the input needs %u CBUF entries, its banks hold %u: cut it into row tiles",
                      static_cast<unsigned>(entries), data_banks * kBankEntries));
    lint.check(regs.cna[cna::kCbufCon1] != 0, cna::kCbufCon1, regs.cna[cna::kCbufCon1],
               "entries per row are not set");
}

void lint_weights(const TaskRegs& regs, const ConvDesc& conv, Lint& lint) {
    const size_t per_kernel = bytes_of(
        size_t{weight_lanes(conv)} * conv.kernel_width * conv.kernel_height, conv.precision);
    const uint32_t size1 = regs.cna[cna::kWeightSize1];
    lint.check(size1 == per_kernel, cna::kWeightSize1, size1,
               "bytes per kernel should be " + std::to_string(per_kernel) +
                   " (channels in whole atoms x window)");
    const uint32_t size0 = regs.cna[cna::kWeightSize0];
    lint.check(size0 == per_kernel * conv.kernels, cna::kWeightSize0, size0,
               "total weight bytes should be " + std::to_string(per_kernel * conv.kernels) +
                   " (kernels x bytes per kernel)");
}

void lint_conv(const TaskRegs& regs, const ConvDesc& conv, Lint& lint) {
    lint_banks(regs, conv, lint);
    lint_weights(regs, conv, lint);
    const uint32_t group =
        conv.depthwise ? depthwise_group(conv.precision) : kernel_group(conv.precision);
    lint.check(conv.out_channels % group == 0, npuregs::core::kDataoutSize1, conv.out_channels - 1,
               "output channels are not a multiple of " + std::to_string(group));
    lint.check(conv.feature % kAtomBytes == 0, cna::kFeatureDataAddr, conv.feature,
               "address is not 16-byte aligned");
    lint.check(conv.weights % kAtomBytes == 0, cna::kDcompAddr0, conv.weights,
               "address is not 16-byte aligned");
    const PaddedWindow window = padded_window(conv);
    const uint32_t below = window.height - conv.pad_top;
    const uint32_t right = window.width - conv.pad_left;
    lint.check(below <= conv.height * conv.upsample_y + conv.kernel_height &&
                   right <= conv.width * conv.upsample_x + conv.kernel_width,
               cna::kDataSize0, conv.width << 16 | conv.height,
               "the output needs rows or columns far beyond the input: all padding");
    const uint32_t height_limit = 1U << 11;
    lint.check(conv.out_width < height_limit && conv.out_height < height_limit,
               npuregs::core::kDataoutSize0, (conv.out_height - 1) << 16 | (conv.out_width - 1),
               "sizes above 2047 do not fit the CNA fields");
}

void lint_stage(const StageDesc& stage, uint32_t cfg, Lint& lint) {
    lint.check(!stage.mul || stage.prelu || stage.shift == stage.shift_negative, cfg + 8,
               stage.mul_bits << 16 | stage.shift << 8,
               number("positive values are shifted by %u, negative ones by %u "
                      "(DATA_FORMAT.*_MUL_SHIFT_VALUE_NEG)",
                      stage.shift, stage.shift_negative));
}

void lint_dpu(const TaskRegs& regs, const TaskDesc& task, Lint& lint) {
    const DpuDesc& dpu = task.dpu;
    if (!is_float(dpu.proc)) {
        lint_stage(dpu.bs, dpu_regs::kBsCfg, lint);
        lint_stage(dpu.bn, dpu_regs::kBnCfg, lint);
        lint.check(dpu.out_scale != 0, dpu_regs::kOutCvtScale, 0,
                   "scale 0: every output is OFFSET");
    }
    if (dpu.to_memory) {
        const int64_t group = dpu.surface_stride * dpu.surfaces_per_group;
        const bool recut = dpu.write_width != dpu.width || dpu.write_height != dpu.height;
        lint.check(recut || dpu.group_stride == group || dpu.channels <= 2 * kBlock,
                   dpu_regs::kSurfaceAdd, regs.dpu[dpu_regs::kSurfaceAdd],
                   "is not DST_SURF_STRIDE x surfaces per group (SIZE_E + 1)");
        const int64_t surface = int64_t{dpu.write_height} * (dpu.write_width + dpu.notch) * 16;
        lint.check(recut || dpu.transpose || dpu.surface_stride >= surface - dpu.notch * 16LL ||
                       dpu.channels <= atom_channels(dpu.out),
                   dpu_regs::kDstSurfStride, regs.dpu[dpu_regs::kDstSurfStride],
                   "is smaller than one surface: surfaces overwrite each other");
    }
    const uint32_t bs_base = dpu.bs_record.base;
    const bool bs_used = dpu.bs_record.alu || dpu.bs_record.mul || dpu.bs_record.ow;
    lint.check(!bs_used || bs_base % kAtomBytes == 0, rdma_regs::kBsBaseAddr, bs_base,
               "operand records are not 16-byte aligned");
    lint.check(!(dpu.ew.op && dpu.ew.mul && !is_float(dpu.proc)) || dpu.ew.operand_bits == 16,
               dpu_regs::kEwCfg, regs.dpu[dpu_regs::kEwCfg],
               "multiplication is known for 16-bit operands (EDATA_SIZE 2)");
}

void lint_ppu(const PpuDesc& ppu, Lint& lint) {
    const uint32_t kernel = (ppu.kernel_height - 1) << 8 | (ppu.kernel_width - 1);
    lint.check(
        ppu.method != PoolMethod::kAverage || (ppu.recip_width != 0 && ppu.recip_height != 0),
        ppu_regs::kRecipKernelWidth, ppu.recip_width,
        "average pooling with a zero reciprocal: every output is 0");
    const uint64_t needed_x = uint64_t{ppu.out_width - 1} * ppu.stride_x + ppu.kernel_width;
    const uint64_t needed_y = uint64_t{ppu.out_height - 1} * ppu.stride_y + ppu.kernel_height;
    lint.check(needed_x <= uint64_t{ppu.in_width} + ppu.pad_left + ppu.pad_right &&
                   needed_y <= uint64_t{ppu.in_height} + ppu.pad_top + ppu.pad_bottom,
               ppu_regs::kPoolingKernelCfg, kernel,
               "the last window reaches beyond input and padding");
}

}  // namespace

std::vector<std::string> lint_task(const TaskRegs& regs, uint32_t enable_mask, RegisterMap map) {
    TaskDesc task;
    if (auto refused = decode_task(map, regs, enable_mask, task))
        return {refused->text};
    if (map != RegisterMap::kRk3588)
        return {};
    Lint lint;
    if (task.conv_enabled)
        lint_conv(regs, task.conv, lint);
    if (task.dpu_enabled)
        lint_dpu(regs, task, lint);
    if (task.ppu_enabled)
        lint_ppu(task.ppu, lint);
    return lint.take();
}

}  // namespace npusim
