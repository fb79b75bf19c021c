// SPDX-License-Identifier: MIT
#include "pipeline.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

#include "elements.hpp"
#include "simd.hpp"

namespace npusim {

/// Pixels [first, first + pixels) of the sixteen channels from `channel`.
struct Pipeline::Chunk {
    uint32_t channel;
    uint32_t first;
    uint32_t pixels;
};

namespace {

// Pixels handled at once: accumulators of 32 channels stay in the first-level caches.
constexpr uint32_t kChunkPixels = 256;

// Multiplications below which waking threads costs more than they save.
constexpr uint64_t kSharedMacs = 4'000'000;

uint32_t blocks_up(uint32_t channels, uint32_t group) {
    return (channels + group - 1) / group * group;
}

}  // namespace

Pipeline::Pipeline(bool reference_path, unsigned threads)
    : reference_path_(reference_path),
      pool_(threads > 1 ? std::make_unique<WorkerPool>(threads) : nullptr),
      reference_(make_reference_conv()),
      int8_(make_int8_conv()),
      depthwise_(make_depthwise_conv()),
      float_(make_float_conv()) {}

ConvUnit* Pipeline::choose_conv(const ConvDesc& conv) {
    if (reference_path_)
        return reference_.get();
    if (int8_conv_fits(conv))
        return int8_.get();
    if (depthwise_conv_fits(conv))
        return depthwise_.get();
    return float_conv_fits(conv) ? float_.get() : reference_.get();
}

std::optional<ExecError> Pipeline::run(TaskDesc& task, DmaPort& dma) {
    transfer_.begin(dma);
    ConvUnit* conv = nullptr;
    if (task.conv_enabled) {
        conv = choose_conv(task.conv);
        if (!conv->prepare(task.conv, transfer_)) {
            if (conv->damage() != nullptr)
                return ExecError{ExecError::Kind::kRefused, conv->damage()};
            return transfer_.error();
        }
    }
    if (task.dpu_enabled && !run_dpu(task, conv))
        return transfer_.error();
    if (task.ppu_enabled) {
        const bool done = task.ppu.from_memory ? ppu_.run(task.ppu, transfer_)
                                               : ppu_.run(task.ppu, ppu_input_, transfer_);
        if (!done)
            return transfer_.error();
    }
    return std::nullopt;
}

bool Pipeline::load_bs_config(DpuDesc& dpu) {
    const BsConfigDesc& config = dpu.bs_config;
    if (!config.shifts && !config.operands)
        return true;
    std::array<std::byte, 36> bytes{};
    if (!transfer_.read(config.base, bytes))
        return false;
    constexpr uint32_t kMaxShift = 47;
    if (config.shifts) {
        dpu.bs.shift = std::min<uint32_t>(load<uint8_t>(bytes.data()), kMaxShift);
        dpu.bs.shift_negative = std::min<uint32_t>(load<uint8_t>(bytes.data() + 1), kMaxShift);
    }
    if (config.operands) {
        dpu.bs.alu_bits = load<uint32_t>(bytes.data());
        dpu.bs.mul_bits = load<uint16_t>(bytes.data() + 32);
    }
    return true;
}

bool Pipeline::run_dpu(TaskDesc& task, ConvUnit* conv) {
    DpuDesc& dpu = task.dpu;
    if (!load_bs_config(dpu))
        return false;
    if (!bs_.load(dpu.bs_record, dpu.channels, transfer_) ||
        !bn_.load(dpu.bn_record, dpu.channels, transfer_))
        return false;
    if (dpu.to_ppu) {
        const uint32_t atom = atom_channels(dpu.out);
        const size_t surfaces = blocks_up(dpu.channels, atom) / atom;
        (void)scratch(ppu_input_, surfaces * dpu.width * dpu.height * kAtomBytes);
    }
    return is_float(dpu.proc) ? run_domain(task, conv, float_values_, float_operand_)
                              : run_domain(task, conv, int_values_, int_operand_);
}

bool Pipeline::worth_sharing(const TaskDesc& task) const {
    if (pool_ == nullptr || !task.conv_enabled || (task.dpu.ew.op && task.dpu.ew.from_memory))
        return false;
    const ConvDesc& conv = task.conv;
    const uint64_t depth = conv.depthwise ? 1 : weight_lanes(conv);
    return uint64_t{conv.out_width} * conv.out_height * conv.out_channels * conv.kernel_width *
               conv.kernel_height * depth >=
           kSharedMacs;
}

void Pipeline::fill_ow(const DpuDesc& dpu, uint32_t channel, std::span<int32_t> ow) const {
    const uint32_t loaded = dpu.ow_from_memory ? blocks_up(dpu.channels, 2 * kBlock) : 0;
    for (uint32_t i = 0; i < ow.size(); ++i)
        ow[i] = channel + i < loaded ? bs_.ow(channel + i) : dpu.ow_operand;
}

template <typename T>
bool Pipeline::run_domain(const TaskDesc& task, ConvUnit* conv, std::vector<T>& values,
                          std::vector<T>& operand) {
    if (conv != nullptr && worth_sharing(task))
        return run_shared(task, *conv, values, operand);
    const DpuDesc& dpu = task.dpu;
    const uint32_t group = conv != nullptr ? conv->group() : kBlock;
    const uint32_t pixels = dpu.width * dpu.height;
    const auto value = scratch(values, size_t{group} * kChunkPixels);
    const auto other = scratch(operand, size_t{kBlock} * kChunkPixels);
    const auto ow = scratch(ow_, group);
    for (uint32_t channel = 0; channel < dpu.channels; channel += group) {
        fill_ow(dpu, channel, ow);
        for (uint32_t first = 0; first < pixels; first += kChunkPixels) {
            const uint32_t count = std::min(kChunkPixels, pixels - first);
            if (conv != nullptr)
                conv->compute(ConvRun{channel, group, first, count, dpu.ow ? ow.data() : nullptr},
                              value.data());
            for (uint32_t c = 0; c < group && channel + c < dpu.channels; c += kBlock) {
                if (!run_chunk(task, Chunk{channel + c, first, count},
                               value.data() + size_t{c} * count, other.data()))
                    return false;
            }
        }
    }
    return true;
}

template <typename T>
bool Pipeline::run_chunk(const TaskDesc& task, const Chunk& chunk, T* values, T* operand) {
    const DpuDesc& dpu = task.dpu;
    if (dpu.flying && !read_main(dpu, chunk, values))
        return false;
    if (dpu.ew.op && !read_operand(dpu, chunk, operand))
        return false;
    calculate(dpu, chunk, values, dpu.ew.op ? operand : nullptr);
    return emit(task, chunk, values);
}

template <typename T>
void Pipeline::calculate(const DpuDesc& dpu, const Chunk& chunk, T* values,
                         const T* operand) const {
    DpuBlock<T> block{};
    block.desc = &dpu;
    block.lut = &lut_;
    block.pixels = chunk.pixels;
    block.values = values;
    block.operand = operand;
    fill_stage(dpu.bs, bs_, chunk.channel, block.bs);
    fill_stage(dpu.bn, bn_, chunk.channel, block.bn);
    if constexpr (std::is_same_v<T, float>)
        dpu_float(block);
    else if (reference_path_)
        dpu_reference(block);
    else
        dpu_fast(block);
}

template <typename T>
bool Pipeline::read_atoms(const DpuDesc& dpu, const Chunk& chunk, const CubeDesc& cube,
                          int64_t surface, Precision precision, uint32_t lane, T* to) {
    const uint32_t atom = atom_channels(precision);
    // An atom wider than a block (int4) is read in parts.
    const uint32_t skip = (chunk.channel + lane) % atom;
    const uint32_t lanes = std::min(atom - skip, kBlock - lane);
    const int64_t base = cube.base + surface * cube.surface_pitch;
    const bool dense = cube.row_pitch == int64_t{dpu.width} * kAtomBytes;
    uint32_t done = 0;
    while (done < chunk.pixels) {
        const uint32_t pixel = chunk.first + done;
        const uint32_t x = pixel % dpu.width;
        const uint32_t rest = chunk.pixels - done;
        const uint32_t run = dense ? rest : std::min(rest, dpu.width - x);
        const int64_t address = base + pixel / dpu.width * cube.row_pitch + int64_t{x} * kAtomBytes;
        const auto data = transfer_.fetch(address, size_t{run} * kAtomBytes);
        if (data.empty())
            return false;
        for (uint32_t p = 0; p < run; ++p) {
            T* out = to + size_t{done + p} * kBlock + lane;
            const size_t from = size_t{p} * atom + skip;
            for (uint32_t l = 0; l < lanes; ++l) {
                if constexpr (std::is_same_v<T, float>)
                    out[l] = load_float(data.data(), from + l, precision);
                else
                    out[l] = load_int(data.data(), from + l, precision);
            }
        }
        done += run;
    }
    return true;
}

template <typename T>
bool Pipeline::read_main(const DpuDesc& dpu, const Chunk& chunk, T* values) {
    const uint32_t atom = atom_channels(dpu.main_precision);
    std::fill(values, values + size_t{chunk.pixels} * kBlock, T{});
    const uint32_t end = std::min(chunk.channel + kBlock, dpu.channels);
    for (uint32_t c = chunk.channel; c < end; c += atom) {
        const int64_t surface = c / atom;
        const bool odd = dpu.main_alternating && surface % 2 != 0;
        if (!read_atoms(dpu, chunk, odd ? dpu.operand : dpu.main,
                        dpu.main_alternating ? surface / 2 : surface, dpu.main_precision,
                        c - chunk.channel, values))
            return false;
    }
    return true;
}

namespace {

Precision operand_precision(const DpuDesc& dpu) {
    if (is_float(dpu.proc)) {
        if (dpu.ew.operand_bits == 32)
            return Precision::kFp32;
        return dpu.proc == Precision::kBf16 ? Precision::kBf16 : Precision::kFp16;
    }
    switch (dpu.ew.operand_bits) {
        case 8:
            return Precision::kInt8;
        case 16:
            return Precision::kInt16;
        default:
            return Precision::kInt32;
    }
}

template <typename T>
T immediate(uint32_t bits) {
    if constexpr (std::is_same_v<T, float>)
        return std::bit_cast<float>(bits);
    else
        return static_cast<T>(bits);
}

}  // namespace

template <typename T>
bool Pipeline::read_operand(const DpuDesc& dpu, const Chunk& chunk, T* operand) {
    if (!dpu.ew.from_memory) {
        std::fill(operand, operand + size_t{chunk.pixels} * kBlock, immediate<T>(dpu.ew.immediate));
        return true;
    }
    const Precision precision = operand_precision(dpu);
    const uint32_t atom = atom_channels(precision);
    const uint32_t end = std::min(chunk.channel + kBlock, dpu.channels);
    std::fill(operand, operand + size_t{chunk.pixels} * kBlock, T{});
    if (dpu.ew_source == EwSource::kPerChannel) {
        // One element per channel, packed; the same for all pixels.
        const size_t bytes = bytes_of(end - chunk.channel, precision);
        const auto data =
            transfer_.fetch(dpu.operand.base + bytes_of(chunk.channel, precision), bytes);
        if (data.empty())
            return false;
        for (uint32_t p = 0; p < chunk.pixels; ++p) {
            for (uint32_t l = 0; l < end - chunk.channel; ++l) {
                T& out = operand[size_t{p} * kBlock + l];
                if constexpr (std::is_same_v<T, float>)
                    out = load_float(data.data(), l, precision);
                else
                    out = load_int(data.data(), l, precision);
            }
        }
        return true;
    }
    for (uint32_t c = chunk.channel; c < end; c += atom) {
        const int64_t surface = c / atom;
        const bool shared = dpu.ew_source == EwSource::kAlternating;
        const bool by_main = shared && surface % 2 == 0;
        if (!read_atoms(dpu, chunk, by_main ? dpu.main : dpu.operand,
                        shared ? surface / 2 : surface, precision, c - chunk.channel, operand))
            return false;
    }
    return true;
}

namespace {

/// The common case of pack(): sixteen int8 lanes per pixel.
NPUSIM_CLONES void pack_int8(const int32_t* values, uint32_t pixels, std::byte* to) {
    auto* bytes = reinterpret_cast<int8_t*>(to);
    for (size_t i = 0; i < size_t{pixels} * kBlock; ++i)
        bytes[i] = static_cast<int8_t>(values[i]);
}

/// Packs one output surface of a block: lanes [lane, lane + atom) of every pixel.
template <typename T>
void pack(const T* values, uint32_t pixels, uint32_t lane, Precision precision, std::byte* to) {
    const uint32_t atom = atom_channels(precision);
    if constexpr (std::is_same_v<T, int32_t>) {
        if (precision == Precision::kInt8) {
            pack_int8(values, pixels, to);
            return;
        }
    }
    for (uint32_t p = 0; p < pixels; ++p, to += kAtomBytes) {
        const T* from = values + size_t{p} * kBlock + lane;
        switch (precision) {
            case Precision::kInt8:
                for (uint32_t l = 0; l < atom; ++l)
                    store(to + l, static_cast<int8_t>(from[l]));
                break;
            case Precision::kInt16:
                for (uint32_t l = 0; l < atom; ++l)
                    store(to + 2 * l, static_cast<int16_t>(from[l]));
                break;
            case Precision::kInt32:
                for (uint32_t l = 0; l < atom; ++l)
                    store(to + 4 * l, static_cast<int32_t>(from[l]));
                break;
            case Precision::kFp16:
                for (uint32_t l = 0; l < atom; ++l)
                    store(to + 2 * l, float_to_half(static_cast<float>(from[l])));
                break;
            case Precision::kBf16:
                for (uint32_t l = 0; l < atom; ++l)
                    store(to + 2 * l, float_to_bf16(static_cast<float>(from[l])));
                break;
            default:
                for (uint32_t l = 0; l < atom; ++l)
                    store(to + 4 * l, static_cast<float>(from[l]));
                break;
        }
    }
}

}  // namespace

template <typename T>
bool Pipeline::emit(const TaskDesc& task, const Chunk& chunk, const T* values) {
    const DpuDesc& dpu = task.dpu;
    const uint32_t atom = atom_channels(dpu.out);
    const auto atoms = scratch(atoms_, size_t{chunk.pixels} * kAtomBytes);
    for (uint32_t lane = 0; lane < kBlock && chunk.channel + lane < dpu.channels; lane += atom) {
        pack(values, chunk.pixels, lane, dpu.out, atoms.data());
        if (!deliver(dpu, (chunk.channel + lane) / atom, chunk, atoms))
            return false;
    }
    return true;
}

bool Pipeline::deliver(const DpuDesc& dpu, uint32_t surface, const Chunk& chunk,
                       std::span<const std::byte> atoms) {
    if (dpu.to_ppu) {
        const size_t place = (size_t{surface} * dpu.width * dpu.height + chunk.first);
        std::memcpy(ppu_input_.data() + place * kAtomBytes, atoms.data(), atoms.size());
    }
    if (!dpu.to_memory)
        return true;
    if (dpu.transpose)
        return write_transposed(dpu, surface, chunk, atoms);
    // ORIG_CHANNEL ends the write: a surface of padding channels only is not written.
    return surface * atom_channels(dpu.out) >= dpu.real_channels ||
           write_surface(dpu, surface, chunk, atoms);
}

template <typename T>
bool Pipeline::run_shared(const TaskDesc& task, ConvUnit& conv, std::vector<T>& values,
                          std::vector<T>& operand) {
    const DpuDesc& dpu = task.dpu;
    const uint32_t group = conv.group();
    const uint32_t atom = atom_channels(dpu.out);
    const uint32_t pixels = dpu.width * dpu.height;
    const size_t chunks = (pixels + kChunkPixels - 1) / kChunkPixels;
    const size_t groups = (dpu.channels + group - 1) / group;
    const size_t own = size_t{group} * kChunkPixels;
    const auto value = scratch(values, own * pool_->workers());
    const auto other = scratch(operand, size_t{kBlock} * kChunkPixels);
    if (dpu.ew.op && !read_operand(dpu, Chunk{0, 0, kChunkPixels}, other.data()))
        return false;
    const auto ow = scratch(ow_, groups * group);
    fill_ow(dpu, 0, ow);
    const auto atoms = scratch(shared_atoms_, groups * group / atom * pixels * kAtomBytes);
    const auto chunk_of = [&](size_t index) {
        const auto first = static_cast<uint32_t>(index % chunks) * kChunkPixels;
        return Chunk{static_cast<uint32_t>(index / chunks) * group, first,
                     std::min(kChunkPixels, pixels - first)};
    };
    // Calls visit(chunk of one block, its offset in the group, surface, packed atoms).
    const auto for_each_part = [&](const Chunk& whole, auto visit) {
        for (uint32_t c = 0; c < group && whole.channel + c < dpu.channels; c += kBlock) {
            for (uint32_t lane = c; lane < c + kBlock && whole.channel + lane < dpu.channels;
                 lane += atom) {
                const uint32_t surface = (whole.channel + lane) / atom;
                const size_t place = (size_t{surface} * pixels + whole.first) * kAtomBytes;
                if (!visit(Chunk{whole.channel + c, whole.first, whole.pixels}, lane, surface,
                           atoms.subspan(place, size_t{whole.pixels} * kAtomBytes)))
                    return false;
            }
        }
        return true;
    };
    auto job = [&](size_t index, unsigned worker) {
        const Chunk whole = chunk_of(index);
        T* result = value.data() + worker * own;
        conv.compute(ConvRun{whole.channel, group, whole.first, whole.pixels,
                             dpu.ow ? ow.data() + whole.channel : nullptr},
                     result);
        (void)for_each_part(
            whole, [&](const Chunk& chunk, uint32_t lane, uint32_t, std::span<std::byte> to) {
                T* block = result + size_t{lane / kBlock * kBlock} * whole.pixels;
                if (lane % kBlock == 0)
                    calculate(dpu, chunk, block, dpu.ew.op ? other.data() : nullptr);
                pack(block, whole.pixels, lane % kBlock, dpu.out, to.data());
                return true;
            });
    };
    pool_->run(groups * chunks, job);
    // Memory sees the writes in the order of one thread.
    for (size_t index = 0; index < groups * chunks; ++index) {
        const bool ok = for_each_part(
            chunk_of(index),
            [&](const Chunk& chunk, uint32_t, uint32_t surface, std::span<const std::byte> from) {
                return deliver(dpu, surface, chunk, from);
            });
        if (!ok)
            return false;
    }
    return true;
}

bool Pipeline::write_surface(const DpuDesc& dpu, uint32_t surface, const Chunk& chunk,
                             std::span<const std::byte> atoms) {
    // The write DMA counts the stream of pixels group by group and cuts it into its own cubes.
    const uint64_t group = surface / dpu.surfaces_per_group;
    const int64_t base = dpu.dst + surface % dpu.surfaces_per_group * dpu.surface_stride;
    const uint64_t index = group * dpu.width * dpu.height + chunk.first;
    return write_run(dpu, base, index, atoms);
}

bool Pipeline::write_transposed(const DpuDesc& dpu, uint32_t surface, const Chunk& chunk,
                                std::span<const std::byte> atoms) {
    // Blocks of eight pixels with eight 16-bit channels each become eight atoms, one per channel,
    // that hold the eight pixels.
    constexpr uint32_t kEdge = 8;
    const uint32_t blocks = chunk.pixels / kEdge;
    const auto turned = scratch(turned_, size_t{blocks} * kAtomBytes);
    const uint64_t index = (uint64_t{surface} * dpu.width * dpu.height + chunk.first) / kEdge;
    for (uint32_t lane = 0; lane < kEdge; ++lane) {
        for (uint32_t b = 0; b < blocks; ++b) {
            for (uint32_t p = 0; p < kEdge; ++p)
                std::memcpy(turned.data() + b * kAtomBytes + 2 * p,
                            atoms.data() + (size_t{b} * kEdge + p) * kAtomBytes + 2 * lane, 2);
        }
        if (!write_run(dpu, dpu.dst + lane * dpu.surface_stride, index, turned))
            return false;
    }
    return true;
}

bool Pipeline::write_run(const DpuDesc& dpu, int64_t base, uint64_t index,
                         std::span<const std::byte> atoms) {
    const uint64_t cube = uint64_t{dpu.write_width} * dpu.write_height;
    const int64_t pitch = int64_t{dpu.write_width} + dpu.notch;
    while (!atoms.empty()) {
        const uint64_t group = index / cube;
        const uint64_t in_cube = index % cube;
        const uint64_t x = in_cube % dpu.write_width;
        const uint64_t room = dpu.notch == 0 ? cube - in_cube : dpu.write_width - x;
        const size_t run = std::min<uint64_t>(room, atoms.size() / kAtomBytes);
        const int64_t pixel =
            static_cast<int64_t>(in_cube / dpu.write_width) * pitch + static_cast<int64_t>(x);
        const int64_t address =
            base + static_cast<int64_t>(group) * dpu.group_stride + pixel * kAtomBytes;
        if (!transfer_.write(address, atoms.first(run * kAtomBytes)))
            return false;
        atoms = atoms.subspan(run * kAtomBytes);
        index += run;
    }
    return true;
}

}  // namespace npusim
