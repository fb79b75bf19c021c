// SPDX-License-Identifier: MIT
#include "runtime/convert_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__x86_64__)
#include <immintrin.h>
#endif

// Built for several instruction sets and picked at load time where the tool chain can do that.
// Sanitizers cannot start before the resolvers run, so they get the single build.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RKNPU_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define RKNPU_CLONES
#endif

namespace rknpu {
namespace {

/// Adding and subtracting it rounds a float below 2^22 to the nearest integer, ties to even.
constexpr float kRounder = 12582912.0f;  // 1.5 * 2^23

template <bool kSourceSigned, bool kTargetSigned>
[[gnu::always_inline]] inline uint8_t apply(uint8_t code, float factor, float offset) {
    constexpr int32_t kLow = kTargetSigned ? -128 : 0;
    constexpr int32_t kHigh = kTargetSigned ? 127 : 255;
    const auto x =
        static_cast<float>(kSourceSigned ? static_cast<int32_t>(static_cast<int8_t>(code))
                                         : static_cast<int32_t>(code));
    const float line = x * factor + offset;
    const float clamped =
        std::min(std::max(line, static_cast<float>(kLow)), static_cast<float>(kHigh));
    const float shifted = clamped + kRounder;
    return static_cast<uint8_t>(std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRounder));
}

template <bool kSourceSigned, bool kTargetSigned>
[[gnu::always_inline]] inline void run_lines(const uint8_t* in, uint8_t* out, size_t count,
                                             const float* factors, const float* offsets) {
    size_t i = 0;
    for (; i + kPeriod <= count; i += kPeriod)
        for (size_t k = 0; k < kPeriod; ++k)
            out[i + k] = apply<kSourceSigned, kTargetSigned>(in[i + k], factors[k], offsets[k]);
    for (size_t k = 0; i < count; ++i, ++k)
        out[i] = apply<kSourceSigned, kTargetSigned>(in[i], factors[k], offsets[k]);
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

template <bool kSigned>
[[gnu::always_inline]] inline void floats_of(const uint8_t* codes, size_t count, float* out,
                                             float zero, float scale) {
    for (size_t i = 0; i < count; ++i) {
        const int32_t code = kSigned ? static_cast<int32_t>(static_cast<int8_t>(codes[i]))
                                     : static_cast<int32_t>(codes[i]);
        out[i] = (static_cast<float>(code) - zero) * scale;
    }
}

template <bool kSigned>
[[gnu::always_inline]] inline void run_atoms(const uint8_t* in, size_t pixels, size_t lanes,
                                             float* out, size_t row, float zero, float scale) {
    constexpr size_t kTile = 16;
    size_t p = 0;
    for (; p + kTile <= pixels; p += kTile) {
        Bytes16 a[16];
        Bytes16 b[16];
        std::memcpy(a, in + p * 16, sizeof(a));
        riffle(a, b);
        riffle(b, a);
        riffle(a, b);
        riffle(b, a);
        for (size_t lane = 0; lane < lanes; ++lane) {
            uint8_t codes[kTile];
            std::memcpy(codes, &a[lane], sizeof(codes));
            floats_of<kSigned>(codes, kTile, out + lane * row + p, zero, scale);
        }
    }
    for (; p < pixels; ++p)
        for (size_t lane = 0; lane < lanes; ++lane)
            floats_of<kSigned>(in + p * 16 + lane, 1, out + lane * row + p, zero, scale);
}

#if defined(__x86_64__)
/// Sixteen shuffles of sixteen entries each. Codes move down by 16 from step to step; only where
/// one is between 0 and 15 the shuffle gives something else than 0.
[[gnu::target("avx2")]] size_t apply_table_avx2(const uint8_t* in, uint8_t* out, size_t count,
                                                const CodeTable& table) {
    __m256i steps[16];
    for (size_t t = 0; t < 16; ++t) {
        const auto* start = table.data() + 16 * t;
        steps[t] =
            _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(start)));
    }
    const __m256i sixteen = _mm256_set1_epi8(16);
    const __m256i bias = _mm256_set1_epi8(0x70);
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        __m256i code = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i));
        __m256i sum = _mm256_setzero_si256();
        for (const __m256i& step : steps) {
            // 0..15 become 0x70..0x7f, everything else 0x80 and more.
            const __m256i index = _mm256_adds_epu8(code, bias);
            sum = _mm256_or_si256(sum, _mm256_shuffle_epi8(step, index));
            code = _mm256_sub_epi8(code, sixteen);
        }
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), sum);
    }
    return i;
}
#endif

/// Elements done with vector lookups.
size_t apply_table_vector([[maybe_unused]] const uint8_t* in, [[maybe_unused]] uint8_t* out,
                          [[maybe_unused]] size_t count, [[maybe_unused]] const CodeTable& table) {
#if defined(__aarch64__)
    uint8x16x4_t parts[4];
    for (size_t t = 0; t < 4; ++t)
        parts[t] = vld1q_u8_x4(table.data() + 64 * t);
    const uint8x16_t step = vdupq_n_u8(64);
    size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        uint8x16_t code = vld1q_u8(in + i);
        uint8x16_t sum = vqtbl4q_u8(parts[0], code);
        for (size_t t = 1; t < 4; ++t) {
            code = vsubq_u8(code, step);
            sum = vorrq_u8(sum, vqtbl4q_u8(parts[t], code));
        }
        vst1q_u8(out + i, sum);
    }
    return i;
#elif defined(__x86_64__)
    static const bool avx2 = __builtin_cpu_supports("avx2") != 0;
    return avx2 ? apply_table_avx2(in, out, count, table) : 0;
#else
    return 0;
#endif
}

bool gives(const CodeTable& table, Line line, Signs signs) {
    CodeTable in;
    CodeTable out;
    std::array<float, kPeriod> factors;
    std::array<float, kPeriod> offsets;
    for (size_t i = 0; i < in.size(); ++i)
        in[i] = static_cast<uint8_t>(i);
    factors.fill(line.factor);
    offsets.fill(line.offset);
    apply_lines(in.data(), out.data(), in.size(), factors.data(), offsets.data(), signs);
    return out == table;
}

}  // namespace

std::optional<Line> fit_line(const CodeTable& table, Line guess, Signs signs) {
    constexpr int kTries = 4;
    // Beyond this the rounding by addition would not hold.
    if (!(std::abs(guess.factor) < 4096.0f) || !(std::abs(guess.offset) < 1e6f))
        return std::nullopt;
    float below = guess.offset;
    float above = guess.offset;
    for (int i = 0; i < kTries; ++i) {
        for (const float offset : {below, above}) {
            if (gives(table, {guess.factor, offset}, signs))
                return Line{guess.factor, offset};
        }
        below = std::nextafter(below - 1e-6f, -std::numeric_limits<float>::infinity());
        above = std::nextafter(above + 1e-6f, std::numeric_limits<float>::infinity());
    }
    return std::nullopt;
}

RKNPU_CLONES void apply_lines(const uint8_t* in, uint8_t* out, size_t count, const float* factors,
                              const float* offsets, Signs signs) {
    if (signs.source_signed && signs.target_signed)
        run_lines<true, true>(in, out, count, factors, offsets);
    else if (signs.source_signed)
        run_lines<true, false>(in, out, count, factors, offsets);
    else if (signs.target_signed)
        run_lines<false, true>(in, out, count, factors, offsets);
    else
        run_lines<false, false>(in, out, count, factors, offsets);
}

void apply_table(const uint8_t* in, uint8_t* out, size_t count, const CodeTable& table) {
    for (size_t i = apply_table_vector(in, out, count, table); i < count; ++i)
        out[i] = table[in[i]];
}

void apply_tables(const uint8_t* in, uint8_t* out, size_t count, const CodeTable* tables,
                  size_t channels) {
    for (size_t i = 0; i + channels <= count; i += channels)
        for (size_t c = 0; c < channels; ++c)
            out[i + c] = tables[c][in[i + c]];
}

void spread_pixels(const uint8_t* in, uint8_t* out, size_t pixels, size_t channels, uint8_t fill) {
    uint64_t high = fill;
    for (int shift = 8; shift < 64; shift *= 2)
        high |= high << shift;
    const uint64_t keep = (uint64_t{1} << (8 * channels)) - 1;
    const uint64_t low = high & ~keep;
    size_t p = 0;
    // Four bytes are read at once: the last pixel of three channels would reach behind the row.
    for (; channels >= 3 && p + 1 < pixels; ++p) {
        uint32_t pixel;
        std::memcpy(&pixel, in + p * channels, sizeof(pixel));
        const uint64_t atom[2] = {(pixel & keep) | low, high};
        std::memcpy(out + p * 16, atom, sizeof(atom));
    }
    for (; p < pixels; ++p) {
        std::memset(out + p * 16, fill, 16);
        std::memcpy(out + p * 16, in + p * channels, channels);
    }
}

RKNPU_CLONES void dequantise_atoms(const uint8_t* in, size_t pixels, size_t lanes, float* out,
                                   size_t row, const Scaling& scaling) {
    if (scaling.source_signed)
        run_atoms<true>(in, pixels, lanes, out, row, scaling.zero, scaling.scale);
    else
        run_atoms<false>(in, pixels, lanes, out, row, scaling.zero, scaling.scale);
}

RKNPU_CLONES void dequantise_row(const uint8_t* in, size_t count, float* out,
                                 const Scaling& scaling) {
    if (scaling.source_signed)
        floats_of<true>(in, count, out, scaling.zero, scaling.scale);
    else
        floats_of<false>(in, count, out, scaling.zero, scaling.scale);
}

}  // namespace rknpu
