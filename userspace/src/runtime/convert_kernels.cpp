// SPDX-License-Identifier: MIT
#include "runtime/convert_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "runtime/convert_simd.hpp"

namespace rknpu {
namespace {

/// (code * factor + offset) >> shift.
struct FixedLine {
    int32_t factor = 0;
    int32_t offset = 0;
};

/// The offset that gives the table with this factor, if one does.
std::optional<FixedLine> with_factor(const CodeTable& table, int32_t factor, int shift,
                                     Signs signs) {
    const int lowest = signs.target_signed ? -128 : 0;
    int64_t low = std::numeric_limits<int32_t>::min();
    int64_t high = std::numeric_limits<int32_t>::max();
    for (int code = 0; code < 256; ++code) {
        const auto byte = static_cast<uint8_t>(code);
        const int64_t at = int64_t{signs.source_signed ? static_cast<int8_t>(byte) : code} * factor;
        const uint8_t result = table[byte];
        const int wanted = signs.target_signed ? static_cast<int8_t>(result) : result;
        // Saturation lets the line go on below the lowest and above the highest result.
        const int64_t unit = int64_t{1} << shift;
        if (wanted > lowest)
            low = std::max(low, wanted * unit - at);
        if (wanted < lowest + 255)
            high = std::min(high, (wanted + 1) * unit - 1 - at);
        // The sum has to fit 32 bits.
        low = std::max(low, std::numeric_limits<int32_t>::min() - at);
        high = std::min(high, std::numeric_limits<int32_t>::max() - at);
    }
    if (low > high)
        return std::nullopt;
    return FixedLine{factor, static_cast<int32_t>(low + (high - low) / 2)};
}

/// What `find` gives for the first of some factors around `factor` with this many bits of fraction.
template <typename Find>
auto around(double factor, int bits, Find&& find) -> decltype(find(0)) {
    constexpr int kTries = 8;
    const auto guess = static_cast<int32_t>(std::lround(std::ldexp(factor, bits)));
    for (int i = 0; i <= 2 * kTries; ++i) {
        if (auto found = find(guess + (i % 2 == 0 ? i / 2 : -(i + 1) / 2)))
            return found;
    }
    return std::nullopt;
}

/// ((code * 256 * factor >> 16) + offset) >> shift, of unsigned codes and results.
struct WordLine {
    int32_t factor = 0;
    int32_t offset = 0;
};

/// The offset that gives the table with this factor, if one does.
std::optional<WordLine> word_line(const CodeTable& table, int32_t factor, int shift, Signs signs) {
    int32_t low = -0xFFFF;
    int32_t high = 0xFFFF;
    if (factor < 1 || factor > 0xFFFF)
        return std::nullopt;
    for (int32_t code = 0; code < 256; ++code) {
        const int32_t product = code * factor >> 8;
        const int32_t wanted =
            table[static_cast<uint8_t>(code ^ (signs.source_signed ? 0x80 : 0))] ^
            (signs.target_signed ? 0x80 : 0);
        // Saturation lets the line go on below 0 and above 255.
        if (wanted > 0)
            low = std::max(low, (wanted << shift) - product);
        if (wanted < 255)
            high = std::min(high, ((wanted + 1) << shift) - 1 - product);
    }
    if (low > high)
        return std::nullopt;
    return WordLine{factor, low + (high - low) / 2};
}

/// Bits of fraction that leave factors 22 bits with their sign and sums 32; negative if there are
/// none.
int shift_for(std::span<const Line> lines) {
    double steepest = 1e-9;
    double farthest = 1.0;
    for (const auto& line : lines) {
        steepest = std::max(steepest, std::abs(line.factor));
        farthest = std::max(farthest, 256 * std::abs(line.factor) + std::abs(line.offset));
    }
    if (!(farthest < 1e6))
        return -1;
    return std::min({20 - std::ilogb(steepest), 29 - std::ilogb(farthest), 24});
}

using Bytes16 = uint8_t __attribute__((vector_size(16)));

[[gnu::always_inline]] inline Bytes16 zip_low(Bytes16 a, Bytes16 b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
[[gnu::always_inline]] inline Bytes16 zip_high(Bytes16 a, Bytes16 b) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                   31);
}

/// One riffle of the sixteen rows; four of them turn rows into columns.
[[gnu::always_inline]] inline void riffle(const Bytes16* from, Bytes16* to) {
    for (size_t i = 0; i < 8; ++i) {
        to[2 * i] = zip_low(from[i], from[i + 8]);
        to[2 * i + 1] = zip_high(from[i], from[i + 8]);
    }
}

constexpr size_t kTile = 16;
/// Pixels whose sixteen rows of codes stay in the nearest cache, and of which each lane writes
/// whole lines of the cache.
constexpr size_t kBlock = 32 * kTile;

/// Sixteen pixels of sixteen codes -> for each lane sixteen codes, kBlock apart.
inline void transpose_tile(const uint8_t* in, uint8_t* out) {
    Bytes16 a[16];
    Bytes16 b[16];
    std::memcpy(a, in, sizeof(a));
    riffle(a, b);
    riffle(b, a);
    riffle(a, b);
    riffle(b, a);
    for (size_t lane = 0; lane < 16; ++lane)
        std::memcpy(out + lane * kBlock, &a[lane], sizeof(a[lane]));
}

}  // namespace

std::span<const Simd> simd_of_this_machine() {
#if defined(RKNPU_SIMD_X86)
    static constexpr Simd kAll[] = {Simd::kNone, Simd::kAvx2, Simd::kAvx512};
    static const size_t count = [] {
        if (__builtin_cpu_supports("avx2") == 0)
            return 1;
        const bool wide = __builtin_cpu_supports("avx512f") != 0 &&
                          __builtin_cpu_supports("avx512bw") != 0 &&
                          __builtin_cpu_supports("avx512vbmi") != 0;
        return wide ? 3 : 2;
    }();
    return std::span(kAll).first(count);
#elif defined(RKNPU_SIMD_NEON)
    static constexpr Simd kAll[] = {Simd::kNone, Simd::kNeon};
    return kAll;
#else
    static constexpr Simd kAll[] = {Simd::kNone};
    return kAll;
#endif
}

CodeMap::CodeMap(std::vector<CodeTable> tables, std::span<const Line> lines, Signs signs)
    : tables_(std::move(tables)), signs_(signs) {
    alike_ = std::all_of(tables_.begin(), tables_.end(),
                         [this](const CodeTable& table) { return table == tables_[0]; });
    if (lines.size() != tables_.size())
        return;
    shift_ = shift_for(lines);
    if (shift_ < 0)
        return;
    find_words(lines);
    find_lines(lines);
}

void CodeMap::find_words(std::span<const Line> lines) {
    double steepest = 0;
    for (const auto& line : lines)
        steepest = std::max(steepest, line.factor);
    // Products of 16 bits, and at least a bit of fraction.
    word_shift_ = 8;
    while (word_shift_ > 0 && steepest * (256 << word_shift_) > 0xFFFF)
        --word_shift_;
    if (word_shift_ == 0)
        return;
    std::vector<WordLine> found;
    for (size_t c = 0; c < tables_.size(); ++c) {
        const auto line = around(lines[c].factor, 8 + word_shift_, [&](int32_t factor) {
            return word_line(tables_[c], factor, word_shift_, signs_);
        });
        if (!line)
            return;
        found.push_back(*line);
    }
    words_ = true;
    for (size_t i = 0; i < kPeriod; ++i) {
        const auto& line = found[i % found.size()];
        word_factors_[i] = static_cast<uint16_t>(line.factor);
        less_[i] = static_cast<uint16_t>(std::max(-line.offset, 0));
        more_[i] = static_cast<uint16_t>(std::max(line.offset, 0));
    }
}

void CodeMap::find_lines(std::span<const Line> lines) {
    std::vector<FixedLine> found;
    for (size_t c = 0; c < tables_.size(); ++c) {
        const auto line = around(lines[c].factor, shift_, [&](int32_t factor) {
            return with_factor(tables_[c], factor, shift_, signs_);
        });
        if (!line)
            return;
        found.push_back(*line);
    }
    fixed_ = true;
    for (size_t i = 0; i < kPeriod; ++i) {
        // Place i of a group holds the element of this number: 0-3, 8-11, 4-7, 12-15.
        const size_t place = i % 16;
        const size_t element = place / 4 == 1 ? place + 4 : place / 4 == 2 ? place - 4 : place;
        const auto& line = found[(i - place + element) % found.size()];
        factors_[2 * i] = static_cast<int16_t>(line.factor >> 7);
        factors_[2 * i + 1] = static_cast<int16_t>(line.factor & 127);
        offsets_[i] = line.offset;
    }
}

void apply_codes(const uint8_t* in, uint8_t* out, size_t count, const CodeMap& map,
                 [[maybe_unused]] Simd simd) {
    size_t i = 0;
#if defined(RKNPU_SIMD_X86)
    if (simd == Simd::kAvx512) {
        if (map.words())
            i = avx512::apply_words(in, out, count, map);
        // Both start with channel 0: what words leave starts at a multiple of the period.
        return avx512::apply_tables(in + i, out + i, count - i, map);
    }
    if (simd == Simd::kAvx2 && map.words())
        i = avx2::apply_words(in, out, count, map);
    else if (simd == Simd::kAvx2 && map.fixed())
        i = avx2::apply_lines(in, out, count, map);
    else if (simd == Simd::kAvx2 && map.alike())
        i = avx2::apply_table(in, out, count, map.table(0));
#elif defined(RKNPU_SIMD_NEON)
    if (simd == Simd::kNeon)
        i = neon::apply_codes(in, out, count, map);
#endif
    const size_t channels = map.channels();
    for (size_t c = i % channels; i < count; ++i) {
        out[i] = map.table(c)[in[i]];
        c = c + 1 == channels ? 0 : c + 1;
    }
}

void spread_pixels(const uint8_t* in, uint8_t* out, size_t pixels, size_t channels, uint8_t fill,
                   [[maybe_unused]] Simd simd) {
    size_t p = 0;
#if defined(RKNPU_SIMD_X86)
    if (simd != Simd::kNone)
        p = avx2::spread_pixels(in, out, pixels, channels, fill);
#elif defined(RKNPU_SIMD_NEON)
    if (simd != Simd::kNone)
        p = neon::spread_pixels(in, out, pixels, channels, fill);
#endif
    for (; p < pixels; ++p) {
        std::memset(out + p * 16, fill, 16);
        std::memcpy(out + p * 16, in + p * channels, channels);
    }
}

void dequantise_row(const uint8_t* in, size_t count, std::byte* out, const Scaling& scaling,
                    [[maybe_unused]] Simd simd) {
    size_t i = 0;
#if defined(RKNPU_SIMD_X86)
    if (simd != Simd::kNone)
        i = avx2::dequantise_row(in, count, out, scaling);
#endif
    const auto finish = [&](auto code) {
        for (; i < count; ++i) {
            const float real =
                (static_cast<float>(static_cast<decltype(code)>(in[i])) - scaling.zero) *
                scaling.scale;
            std::memcpy(out + i * sizeof(real), &real, sizeof(real));
        }
    };
    if (scaling.source_signed)
        finish(int8_t{});
    else
        finish(uint8_t{});
}

void dequantise_atoms(const uint8_t* in, size_t pixels, size_t lanes, std::byte* out, size_t row,
                      const Scaling& scaling, Simd simd) {
    constexpr size_t kLine = 64;  // of the cache
    uint8_t codes[16 * kBlock];
    // The first block ends where a line does, so that the others write whole lines.
    size_t most = kBlock - reinterpret_cast<uintptr_t>(out) % kLine / sizeof(float);
    for (size_t start = 0; start < pixels; most = kBlock) {
        const size_t count = std::min(most, pixels - start);
        size_t p = 0;
        for (; p + kTile <= count; p += kTile)
            transpose_tile(in + (start + p) * 16, codes + p);
        if (p < count) {
            uint8_t tile[kTile * 16] = {};
            std::memcpy(tile, in + (start + p) * 16, (count - p) * 16);
            transpose_tile(tile, codes + p);
        }
        for (size_t lane = 0; lane < lanes; ++lane)
            dequantise_row(codes + lane * kBlock, count, out + (lane * row + start) * sizeof(float),
                           scaling, simd);
        start += count;
    }
}

}  // namespace rknpu
