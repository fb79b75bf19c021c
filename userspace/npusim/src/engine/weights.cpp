// SPDX-License-Identifier: MIT
#include "weights.hpp"

#include <algorithm>
#include <array>

#include "elements.hpp"

namespace npusim {

uint32_t kernel_group(Precision precision) {
    switch (precision) {
        case Precision::kInt4:
            return 64;
        case Precision::kInt8:
            return 32;
        default:
            return 16;
    }
}

uint32_t depthwise_group(Precision precision) {
    // 64 bytes of lanes: 64 int8 channels (vendor files), 32 fp16 channels.
    return precision == Precision::kInt4 ? 64 : 512 / precision_bits(precision);
}

uint32_t weight_lanes(const ConvDesc& conv) {
    const uint32_t unit =
        conv.weight_align != 0 ? conv.weight_align : atom_channels(conv.precision);
    return (conv.channels + unit - 1) / unit * unit;
}

namespace {

constexpr size_t kLanes = 16;
constexpr size_t kHeaderBytes = 16;
constexpr size_t kLaneAlign = 64;

/// Little-endian bit stream; reading past the end sets `ended`.
class BitReader {
 public:
    explicit BitReader(std::span<const std::byte> data) : data_(data) {}

    unsigned bit() {
        if (position_ >= data_.size() * 8) {
            ended = true;
            return 0;
        }
        const auto byte = std::to_integer<unsigned>(data_[position_ / 8]);
        const unsigned value = byte >> position_ % 8 & 1U;
        ++position_;
        return value;
    }

    unsigned bits(unsigned count) {
        unsigned value = 0;
        for (unsigned i = 0; i < count; ++i)
            value |= bit() << i;
        return value;
    }

    bool ended = false;

 private:
    std::span<const std::byte> data_;
    size_t position_ = 0;
};

struct Prefix {
    unsigned value;  // LSB first
    unsigned length;
};

// Order of the eight code-book entries.
constexpr std::array<Prefix, 8> kPrefixes = {
    Prefix{0, 2}, Prefix{1, 2},  Prefix{7, 3},  Prefix{3, 3},
    Prefix{6, 3}, Prefix{10, 4}, Prefix{18, 5}, Prefix{2, 5},
};

/// Index of the code-book entry the next prefix selects, or -1 for a pattern without entry.
int read_prefix(BitReader& bits) {
    unsigned value = 0;
    for (unsigned length = 1; length <= 5; ++length) {
        value |= bits.bit() << (length - 1);
        for (size_t i = 0; i < kPrefixes.size(); ++i) {
            if (kPrefixes[i].length == length && kPrefixes[i].value == value)
                return static_cast<int>(i);
        }
    }
    return -1;
}

struct LaneHeader {
    unsigned mode;
    int modal;
    std::array<uint8_t, 8> classes;
    std::array<uint16_t, 4> runs;
};

LaneHeader read_header(const std::byte* data) {
    LaneHeader header{};
    header.mode = load<uint8_t>(data);
    header.modal = load<int16_t>(data + 1);
    for (unsigned i = 0; i < 8; ++i)
        header.classes[i] = load<uint8_t>(data + 4 + i / 2) >> (i % 2 * 4) & 0xfU;
    for (unsigned i = 0; i < 4; ++i)
        header.runs[i] = load<uint16_t>(data + 8 + 2 * i);
    return header;
}

/// Mode 0x00: a sign, then the bits below the leading one of a magnitude of `width` bits; negative
/// means -magnitude - 1, so that width 0 stands for 0 and -1. Sums wrap to eight bits.
int decode_plain(const LaneHeader& header, unsigned width, BitReader& bits) {
    const bool negative = bits.bit() != 0;
    const unsigned low = width == 0 ? 0 : bits.bits(width - 1);
    const int magnitude = static_cast<int>(width == 0 ? 0 : 1U << (width - 1) | low);
    return header.modal + (negative ? -magnitude - 1 : magnitude);
}

/// Mode 0x11, widths 1..7: sign and magnitude. Width 7 has all seven bits in the stream instead of
/// an implied leading one, and its negative zero stands for -128.
int decode_signed(const LaneHeader& header, unsigned width, BitReader& bits) {
    const bool negative = bits.bit() != 0;
    const unsigned low = bits.bits(width == 7 ? 7 : width - 1);
    const int magnitude = static_cast<int>(width == 7 ? low : 1U << (width - 1) | low);
    if (!negative)
        return header.modal + magnitude;
    return header.modal - (width == 7 && magnitude == 0 ? 128 : magnitude);
}

unsigned read_run(const LaneHeader& header, BitReader& bits) {
    unsigned selector = 0;
    while (selector < 3 && bits.bit() != 0)
        ++selector;
    return header.runs[selector];
}

/// Fills the bytes of one lane: every 16th group of four bytes, starting at 4 * lane.
const char* decode_lane(std::span<const std::byte> stream, size_t lane, std::span<std::byte> out) {
    const LaneHeader header = read_header(stream.data());
    if (header.mode != 0x00 && header.mode != 0x11)
        return "compressed weights: unknown lane mode";
    BitReader bits(stream.subspan(kHeaderBytes));
    const size_t groups = out.size() / 4;
    size_t group = lane;
    size_t in_group = 0;
    const auto put = [&](int value) {
        out[group * 4 + in_group] = static_cast<std::byte>(static_cast<unsigned>(value) & 0xffU);
        if (++in_group == 4) {
            in_group = 0;
            group += kLanes;
        }
    };
    while (group < groups) {
        const int entry = read_prefix(bits);
        if (entry < 0)
            return "compressed weights: prefix without a code-book entry";
        const unsigned width = header.classes[static_cast<size_t>(entry)];
        if (width > 7)
            return "compressed weights: code-book class above 7";
        if (bits.ended)
            return "compressed weights: lane ends before its last weight";
        if (header.mode == 0x11 && width == 0) {
            unsigned run = read_run(header, bits);
            if (run == 0)
                return "compressed weights: run of length 0";
            for (; run != 0 && group < groups; --run)
                put(header.modal);
        } else {
            put(header.mode == 0 ? decode_plain(header, width, bits)
                                 : decode_signed(header, width, bits));
        }
    }
    return nullptr;
}

}  // namespace

bool WeightStore::load(const ConvDesc& conv, Transfer& transfer) {
    damage_ = nullptr;
    const size_t row =
        conv.packed_kernel_rows ? kAtomBytes : size_t{weight_lanes(conv)} * conv.kernel_width;
    const size_t per_kernel = row * conv.kernel_height;
    const size_t size = bytes_of(per_kernel * conv.kernels, conv.precision);
    if (conv.decompress.enabled)
        return decompress(conv, transfer, size);
    const auto target = scratch(buffer_, size);
    raw_ = target;
    return transfer.read(conv.weights, target);
}

bool WeightStore::decompress(const ConvDesc& conv, Transfer& transfer, size_t size) {
    const auto target = scratch(buffer_, (size + 3) / 4 * 4);
    raw_ = target.first(size);
    int64_t address = conv.weights;
    for (size_t lane = 0; lane < kLanes; ++lane) {
        const size_t bytes = size_t{conv.decompress.blocks[lane]} * 16;
        if (bytes < kHeaderBytes) {  // an amount of 0xffffffff wraps to no block at all
            damage_ = "compressed weights: lane without a header";
            return false;
        }
        if (bytes > 4 * size + 4 * kLaneAlign) {
            damage_ = "compressed weights: lane is longer than its weights can be";
            return false;
        }
        const auto stream = scratch(compressed_, bytes);
        if (!transfer.read(address, stream))
            return false;
        damage_ = decode_lane(stream, lane, target);
        if (damage_ != nullptr)
            return false;
        address += static_cast<int64_t>((bytes + kLaneAlign - 1) / kLaneAlign * kLaneAlign);
    }
    return true;
}

}  // namespace npusim
