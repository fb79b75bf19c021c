// SPDX-License-Identifier: MIT
// Which memory a task may touch, from its registers alone.
#include <algorithm>

#include "conv.hpp"
#include "decode.hpp"
#include "elements.hpp"
#include "weights.hpp"

namespace npusim {
namespace {

/// Bounds of base + i * a + j * b + ... over all indices, with `bytes` at the end of each.
class Span {
 public:
    explicit Span(int64_t base) : first_(base), last_(base) {}

    /// An index runs from 0 to count - 1 in steps of `step` bytes.
    Span& along(uint64_t count, int64_t step) {
        const int64_t far = static_cast<int64_t>(std::max<uint64_t>(count, 1) - 1) * step;
        first_ += std::min<int64_t>(far, 0);
        last_ += std::max<int64_t>(far, 0);
        return *this;
    }
    [[nodiscard]] TaskReach bytes(uint64_t count, Access access) const {
        return {first_, last_ + static_cast<int64_t>(count), access};
    }

 private:
    int64_t first_, last_;
};

uint32_t up(uint32_t value, uint32_t unit) {
    return (value + unit - 1) / unit;
}

class Collector {
 public:
    explicit Collector(std::vector<TaskReach>& out) : out_(out) {}

    void conv(const ConvDesc& conv);
    void dpu(const DpuDesc& dpu);
    void ppu(const PpuDesc& ppu);

 private:
    void weights(const ConvDesc& conv);
    void records(const RecordDesc& record, uint32_t channels);
    void cube(const CubeDesc& cube, const DpuDesc& dpu, uint64_t surfaces);
    void main_data(const DpuDesc& dpu);
    void operand(const DpuDesc& dpu);
    void written(const DpuDesc& dpu);

    void add(const TaskReach& reach) { out_.push_back(reach); }

    std::vector<TaskReach>& out_;
};

void Collector::conv(const ConvDesc& conv) {
    const uint32_t atom = atom_channels(conv.precision);
    const bool image = conv.image_channels != 0;
    const uint64_t elements = uint64_t{conv.width} * (image ? conv.image_channels : atom);
    add(Span(conv.feature)
            .along(image ? 1 : up(conv.channels, atom), conv.surface_pitch)
            .along(conv.height, conv.row_pitch)
            .bytes(bytes_of(elements, conv.precision), Access::kRead));
    weights(conv);
}

void Collector::weights(const ConvDesc& conv) {
    uint64_t size = 0;
    if (conv.decompress.enabled) {
        constexpr uint64_t kLaneAlign = 64;
        for (const uint32_t blocks : conv.decompress.blocks)
            size += (uint64_t{blocks} * kAtomBytes + kLaneAlign - 1) / kLaneAlign * kLaneAlign;
    } else {
        const uint64_t row =
            conv.packed_kernel_rows ? kAtomBytes : uint64_t{weight_lanes(conv)} * conv.kernel_width;
        size = bytes_of(row * conv.kernel_height * conv.kernels, conv.precision);
    }
    add(Span(conv.weights).bytes(size, Access::kRead));
}

void Collector::records(const RecordDesc& record, uint32_t channels) {
    constexpr uint32_t kRecordChannels = 8;
    const uint64_t bytes =
        (record.alu ? 32U : 0U) + (record.ow ? 16U : 0U) + (record.mul ? 16U : 0U);
    if (bytes != 0)
        add(Span(record.base).bytes(up(channels, kRecordChannels) * bytes, Access::kRead));
}

void Collector::cube(const CubeDesc& cube, const DpuDesc& dpu, uint64_t surfaces) {
    if (surfaces != 0)
        add(Span(cube.base)
                .along(surfaces, cube.surface_pitch)
                .along(dpu.height, cube.row_pitch)
                .bytes(uint64_t{dpu.width} * kAtomBytes, Access::kRead));
}

void Collector::main_data(const DpuDesc& dpu) {
    const uint32_t surfaces = up(dpu.channels, atom_channels(dpu.main_precision));
    if (!dpu.main_alternating)
        return cube(dpu.main, dpu, surfaces);
    cube(dpu.main, dpu, up(surfaces, 2));
    cube(dpu.operand, dpu, surfaces / 2);
}

void Collector::operand(const DpuDesc& dpu) {
    const uint32_t bits =
        is_float(dpu.proc) && dpu.ew.operand_bits != 32 ? 16 : dpu.ew.operand_bits;
    if (dpu.ew_source == EwSource::kPerChannel) {
        add(Span(dpu.operand.base).bytes(uint64_t{dpu.channels} * bits / 8, Access::kRead));
        return;
    }
    const uint32_t surfaces = up(dpu.channels, std::max(1U, kAtomBytes * 8 / std::max(bits, 1U)));
    if (dpu.ew_source != EwSource::kAlternating)
        return cube(dpu.operand, dpu, surfaces);
    cube(dpu.main, dpu, up(surfaces, 2));
    cube(dpu.operand, dpu, surfaces / 2);
}

/// Surfaces come in groups; the write DMA cuts the stream of all groups' pixels into its own cubes.
void Collector::written(const DpuDesc& dpu) {
    const uint32_t atom = atom_channels(dpu.out);
    // A surface of padding channels only is not written, except by the transposing write.
    const uint32_t surfaces = up(dpu.transpose ? dpu.channels : dpu.real_channels, atom);
    const uint64_t cube = uint64_t{dpu.write_width} * dpu.write_height;
    const uint64_t pixels = uint64_t{dpu.width} * dpu.height;
    const int64_t pitch = (int64_t{dpu.write_width} + dpu.notch) * kAtomBytes;
    // Which group of the stream, and how many of its surfaces there are.
    const auto part = [&](uint64_t first, uint64_t count, uint64_t in_group) {
        Span span(dpu.dst + static_cast<int64_t>(first) * dpu.group_stride);
        add(span.along(count, dpu.group_stride)
                .along(in_group, dpu.surface_stride)
                .along(dpu.write_height, pitch)
                .bytes(uint64_t{dpu.write_width} * kAtomBytes, Access::kWrite));
    };
    if (dpu.transpose) {
        const uint64_t total = pixels / atom * surfaces;
        return part(0, (total + cube - 1) / cube, atom);
    }
    const uint64_t groups = up(surfaces, dpu.surfaces_per_group);
    const uint64_t in_group = std::min<uint64_t>(surfaces, dpu.surfaces_per_group);
    const uint64_t rest = surfaces % dpu.surfaces_per_group;
    if (cube != pixels || rest == 0)
        return part(0, (pixels * groups + cube - 1) / cube, in_group);
    if (groups > 1)
        part(0, groups - 1, in_group);
    part(groups - 1, 1, rest);
}

void Collector::dpu(const DpuDesc& dpu) {
    records(dpu.bs_record, dpu.channels);
    records(dpu.bn_record, dpu.channels);
    constexpr uint64_t kBsConfigBytes = 36;
    if (dpu.bs_config.shifts || dpu.bs_config.operands)
        add(Span(dpu.bs_config.base).bytes(kBsConfigBytes, Access::kRead));
    if (dpu.flying)
        main_data(dpu);
    if (dpu.ew.op && dpu.ew.from_memory)
        operand(dpu);
    if (dpu.to_memory)
        written(dpu);
}

void Collector::ppu(const PpuDesc& ppu) {
    const uint32_t surfaces = up(ppu.in_channels, atom_channels(ppu.precision));
    if (ppu.from_memory)
        add(Span(ppu.src.base)
                .along(surfaces, ppu.src.surface_pitch)
                .along(ppu.in_height, ppu.src.row_pitch)
                .bytes(uint64_t{ppu.in_width} * kAtomBytes, Access::kRead));
    add(Span(ppu.dst)
            .along(surfaces, ppu.dst_surface)
            .along(ppu.out_height, (int64_t{ppu.out_width} + ppu.notch) * kAtomBytes)
            .bytes(uint64_t{ppu.out_width} * kAtomBytes, Access::kWrite));
}

}  // namespace

std::optional<ExecError> task_reach(const TaskRegs& regs, uint32_t enable_mask, RegisterMap map,
                                    std::vector<TaskReach>& out) {
    out.clear();
    TaskDesc task;
    if (auto refused = decode_task(map, regs, enable_mask, task))
        return refused;
    Collector collector(out);
    if (task.conv_enabled)
        collector.conv(task.conv);
    if (task.dpu_enabled)
        collector.dpu(task.dpu);
    if (task.ppu_enabled)
        collector.ppu(task.ppu);
    return std::nullopt;
}

}  // namespace npusim
