// SPDX-License-Identifier: MIT
#include "runtime/convert_simd.hpp"

#ifdef RKNPU_SIMD_X86
#include <immintrin.h>

#define RKNPU_AVX2 [[gnu::target("avx2")]]
#define RKNPU_AVX512 [[gnu::target("avx512f,avx512bw,avx512vbmi")]]

namespace rknpu {
namespace avx2 {
namespace {

__m128i load16(const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
}

RKNPU_AVX2 inline __m256i load32(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

/// Four sums of each half: (word << 7) * high + word * low + offset, without the fraction.
RKNPU_AVX2 inline __m256i sums(__m256i pairs, const int16_t* factors, const int32_t* offsets,
                               __m128i shift) {
    const __m256i products = _mm256_madd_epi16(pairs, load32(factors));
    return _mm256_sra_epi32(_mm256_add_epi32(products, load32(offsets)), shift);
}

/// Sixteen codes -> sixteen words, before saturation to bytes. `group` is the code's place in the
/// period, in sixteens.
template <bool kSigned>
RKNPU_AVX2 inline __m256i line_of(const uint8_t* in, const CodeMap& map, size_t group) {
    const __m128i codes = load16(in);
    const __m256i words = kSigned ? _mm256_cvtepi8_epi16(codes) : _mm256_cvtepu8_epi16(codes);
    const __m256i shifted = _mm256_slli_epi16(words, 7);
    const __m128i shift = _mm_cvtsi32_si128(map.shift());
    const int16_t* factors = map.factors() + group * 32;
    const int32_t* offsets = map.offsets() + group * 16;
    const __m256i low = sums(_mm256_unpacklo_epi16(shifted, words), factors, offsets, shift);
    const __m256i high =
        sums(_mm256_unpackhi_epi16(shifted, words), factors + 16, offsets + 8, shift);
    return _mm256_packs_epi32(low, high);
}

template <bool kSourceSigned, bool kTargetSigned>
RKNPU_AVX2 size_t run_lines(const uint8_t* in, uint8_t* out, size_t count, const CodeMap& map) {
    constexpr size_t kBlock = 2 * CodeMap::kPeriod;
    size_t i = 0;
    for (; i + kBlock <= count; i += kBlock) {
#pragma GCC unroll 3
        for (size_t k = 0; k < 6; k += 2) {
            const __m256i a = line_of<kSourceSigned>(in + i + 16 * k, map, k % 3);
            const __m256i b = line_of<kSourceSigned>(in + i + 16 * k + 16, map, (k + 1) % 3);
            const __m256i bytes =
                kTargetSigned ? _mm256_packs_epi16(a, b) : _mm256_packus_epi16(a, b);
            // The packs work in halves: quarters 0 2 1 3 -> 0 1 2 3.
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i + 16 * k),
                                _mm256_permute4x64_epi64(bytes, 0xD8));
        }
    }
    return i;
}

/// What becomes of the words of one half of each lane.
struct Words {
    __m256i factors, less, more;
};

/// Of a list that goes on for a period: the words of eight elements in each lane.
RKNPU_AVX2 inline __m256i lanes_of(const uint16_t* list, size_t vector, size_t half) {
    const auto at = [=](size_t lane) {
        return list + (32 * vector + 16 * lane) % CodeMap::kPeriod + 8 * half;
    };
    return _mm256_set_m128i(load16(at(1)), load16(at(0)));
}

RKNPU_AVX2 inline __m256i word_line(__m256i codes, const Words& words, __m128i shift) {
    const __m256i products = _mm256_mulhi_epu16(codes, words.factors);
    const __m256i sums = _mm256_adds_epu16(_mm256_subs_epu16(products, words.less), words.more);
    return _mm256_srl_epi16(sums, shift);
}

}  // namespace

RKNPU_AVX2 size_t apply_words(const uint8_t* in, uint8_t* out, size_t count, const CodeMap& map) {
    constexpr size_t kVectors = 3;
    Words words[kVectors][2];
    for (size_t v = 0; v < kVectors; ++v)
        for (size_t half = 0; half < 2; ++half)
            words[v][half] = {lanes_of(map.word_factors(), v, half), lanes_of(map.less(), v, half),
                              lanes_of(map.more(), v, half)};
    const auto turn = [](bool is_signed) { return static_cast<char>(is_signed ? 0x80 : 0); };
    const __m256i turn_in = _mm256_set1_epi8(turn(map.signs().source_signed));
    const __m256i turn_out = _mm256_set1_epi8(turn(map.signs().target_signed));
    const __m256i zero = _mm256_setzero_si256();
    const __m128i shift = _mm_cvtsi32_si128(map.word_shift());
    size_t i = 0;
    for (; i + 32 * kVectors <= count; i += 32 * kVectors) {
#pragma GCC unroll 3
        for (size_t v = 0; v < kVectors; ++v) {
            const __m256i codes = _mm256_xor_si256(load32(in + i + 32 * v), turn_in);
            const __m256i low = word_line(_mm256_unpacklo_epi8(zero, codes), words[v][0], shift);
            const __m256i high = word_line(_mm256_unpackhi_epi8(zero, codes), words[v][1], shift);
            const __m256i bytes = _mm256_xor_si256(_mm256_packus_epi16(low, high), turn_out);
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i + 32 * v), bytes);
        }
    }
    return i;
}

size_t apply_lines(const uint8_t* in, uint8_t* out, size_t count, const CodeMap& map) {
    const auto signs = map.signs();
    if (signs.source_signed)
        return signs.target_signed ? run_lines<true, true>(in, out, count, map)
                                   : run_lines<true, false>(in, out, count, map);
    return signs.target_signed ? run_lines<false, true>(in, out, count, map)
                               : run_lines<false, false>(in, out, count, map);
}

/// Sixteen shuffles of sixteen entries each. Codes move down by 16 from step to step; only where
/// one is between 0 and 15 the shuffle gives something else than 0.
RKNPU_AVX2 size_t apply_table(const uint8_t* in, uint8_t* out, size_t count,
                              const CodeTable& table) {
    __m256i steps[16];
    for (size_t t = 0; t < 16; ++t)
        steps[t] = _mm256_broadcastsi128_si256(load16(table.data() + 16 * t));
    const __m256i sixteen = _mm256_set1_epi8(16);
    const __m256i bias = _mm256_set1_epi8(0x70);
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        __m256i code = load32(in + i);
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

RKNPU_AVX2 size_t spread_pixels(const uint8_t* in, uint8_t* out, size_t pixels, size_t channels,
                                uint8_t fill) {
    // Four pixels of up to four bytes are in one load; an index with its top bit gives 0.
    alignas(32) uint8_t indices[64];
    alignas(32) uint8_t filler[32];
    for (size_t i = 0; i < sizeof(indices); ++i) {
        const bool used = i % 16 < channels;
        indices[i] = static_cast<uint8_t>(used ? i / 16 * channels + i % 16 : 0x80);
        filler[i % 32] = used ? 0 : fill;
    }
    const __m256i first = load32(indices);
    const __m256i second = load32(indices + 32);
    const __m256i rest = load32(filler);
    size_t p = 0;
    for (; p + 4 <= pixels && (pixels - p) * channels >= 16; p += 4) {
        const __m256i four = _mm256_broadcastsi128_si256(load16(in + p * channels));
        auto* to = reinterpret_cast<__m256i*>(out + p * 16);
        _mm256_storeu_si256(to, _mm256_or_si256(_mm256_shuffle_epi8(four, first), rest));
        _mm256_storeu_si256(to + 1, _mm256_or_si256(_mm256_shuffle_epi8(four, second), rest));
    }
    return p;
}

RKNPU_AVX2 size_t dequantise_row(const uint8_t* in, size_t count, std::byte* out,
                                 const Scaling& scaling) {
    const __m256 zero = _mm256_set1_ps(scaling.zero);
    const __m256 scale = _mm256_set1_ps(scaling.scale);
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const __m128i codes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in + i));
        const __m256i wide =
            scaling.source_signed ? _mm256_cvtepi8_epi32(codes) : _mm256_cvtepu8_epi32(codes);
        const __m256 real = _mm256_mul_ps(_mm256_sub_ps(_mm256_cvtepi32_ps(wide), zero), scale);
        _mm256_storeu_ps(reinterpret_cast<float*>(out + 4 * i), real);
    }
    return i;
}

}  // namespace avx2

namespace avx512 {
namespace {

/// Table of 256 entries in four registers.
struct Table {
    __m512i parts[4];
};

RKNPU_AVX512 inline Table load_table(const CodeTable& table) {
    Table out;
    for (size_t i = 0; i < 4; ++i)
        out.parts[i] = _mm512_loadu_si512(table.data() + 64 * i);
    return out;
}

/// Results in the lanes of `lanes`, 0 elsewhere. `high` has the lanes with codes from 128 on.
RKNPU_AVX512 inline __m512i look_up(__m512i codes, __mmask64 high, __mmask64 lanes,
                                    const Table& table) {
    // The permutation looks at the low seven bits of a code only.
    const __m512i below =
        _mm512_maskz_permutex2var_epi8(lanes & ~high, table.parts[0], codes, table.parts[1]);
    const __m512i above =
        _mm512_maskz_permutex2var_epi8(lanes & high, table.parts[2], codes, table.parts[3]);
    return _mm512_or_si512(below, above);
}

template <size_t kChannels>
RKNPU_AVX512 void run_tables(const uint8_t* in, uint8_t* out, size_t count, const CodeMap& map) {
    Table tables[kChannels];
    __mmask64 every[kChannels] = {};  // lanes r, r + channels, ...
    for (size_t c = 0; c < kChannels; ++c) {
        tables[c] = load_table(map.table(c));
        for (size_t i = c; i < 64; i += kChannels)
            every[c] |= __mmask64{1} << i;
    }
    size_t first = 0;  // channel of the first lane
    for (size_t i = 0; i < count; i += 64) {
        const size_t left = count - i;
        const __mmask64 valid = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
        const __m512i codes = _mm512_maskz_loadu_epi8(valid, in + i);
        const __mmask64 high = _mm512_movepi8_mask(codes);
        __m512i sum = _mm512_setzero_si512();
        for (size_t c = 0; c < kChannels; ++c) {
            const size_t lane = (c + kChannels - first) % kChannels;
            sum = _mm512_or_si512(sum, look_up(codes, high, every[lane], tables[c]));
        }
        _mm512_mask_storeu_epi8(out + i, valid, sum);
        first = (first + 64) % kChannels;
    }
}

struct Words {
    __m512i factors, less, more;
};

/// As avx2::lanes_of().
RKNPU_AVX512 inline __m512i lanes_of(const uint16_t* list, size_t vector, size_t half) {
    const auto at = [=](size_t lane) {
        const auto* from = list + (64 * vector + 16 * lane) % CodeMap::kPeriod + 8 * half;
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    };
    __m512i out = _mm512_castsi128_si512(at(0));
    out = _mm512_inserti32x4(out, at(1), 1);
    out = _mm512_inserti32x4(out, at(2), 2);
    return _mm512_inserti32x4(out, at(3), 3);
}

RKNPU_AVX512 inline __m512i word_line(__m512i codes, const Words& words, __m128i shift) {
    const __m512i products = _mm512_mulhi_epu16(codes, words.factors);
    const __m512i sums = _mm512_adds_epu16(_mm512_subs_epu16(products, words.less), words.more);
    return _mm512_srl_epi16(sums, shift);
}

}  // namespace

RKNPU_AVX512 size_t apply_words(const uint8_t* in, uint8_t* out, size_t count, const CodeMap& map) {
    constexpr size_t kVectors = 3;
    Words words[kVectors][2];
    for (size_t v = 0; v < kVectors; ++v)
        for (size_t half = 0; half < 2; ++half)
            words[v][half] = {lanes_of(map.word_factors(), v, half), lanes_of(map.less(), v, half),
                              lanes_of(map.more(), v, half)};
    const auto turn = [](bool is_signed) { return static_cast<char>(is_signed ? 0x80 : 0); };
    const __m512i turn_in = _mm512_set1_epi8(turn(map.signs().source_signed));
    const __m512i turn_out = _mm512_set1_epi8(turn(map.signs().target_signed));
    const __m512i zero = _mm512_setzero_si512();
    const __m128i shift = _mm_cvtsi32_si128(map.word_shift());
    size_t i = 0;
    for (; i + 64 * kVectors <= count; i += 64 * kVectors) {
#pragma GCC unroll 3
        for (size_t v = 0; v < kVectors; ++v) {
            const __m512i codes = _mm512_xor_si512(_mm512_loadu_si512(in + i + 64 * v), turn_in);
            const __m512i low = word_line(_mm512_unpacklo_epi8(zero, codes), words[v][0], shift);
            const __m512i high = word_line(_mm512_unpackhi_epi8(zero, codes), words[v][1], shift);
            const __m512i bytes = _mm512_xor_si512(_mm512_packus_epi16(low, high), turn_out);
            _mm512_storeu_si512(out + i + 64 * v, bytes);
        }
    }
    return i;
}

void apply_tables(const uint8_t* in, uint8_t* out, size_t count, const CodeMap& map) {
    switch (map.alike() ? 1 : map.channels()) {
        case 1:
            return run_tables<1>(in, out, count, map);
        case 2:
            return run_tables<2>(in, out, count, map);
        case 3:
            return run_tables<3>(in, out, count, map);
        default:
            return run_tables<4>(in, out, count, map);
    }
}

}  // namespace avx512
}  // namespace rknpu
#endif
