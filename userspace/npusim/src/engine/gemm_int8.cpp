// SPDX-License-Identifier: MIT
#include "gemm_int8.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace npusim {
namespace {

// Any CPU: one input channel at a time, widening multiply-add over 32 outputs.
template <size_t kPixels>
void portable_tile(const GemmArgs& args, size_t first) {
    const auto* features = static_cast<const int16_t*>(args.features);
    int32_t acc[kPixels][kGemmOutputs] = {};
    const int8_t* weights = args.weights;
    for (size_t step = 0; step < args.steps; ++step) {
        const int16_t* source = features + args.step_offset[step];
        for (size_t c = 0; c < kGemmStep; ++c, weights += kGemmOutputs) {
            for (size_t p = 0; p < kPixels; ++p) {
                const int16_t x = source[args.pixel_offset[first + p] + static_cast<ptrdiff_t>(c)];
                for (size_t k = 0; k < kGemmOutputs; ++k)
                    acc[p][k] += x * static_cast<int16_t>(weights[k]);
            }
        }
    }
    for (size_t p = 0; p < kPixels; ++p) {
        std::memcpy(args.out + (first + p) * 16, acc[p], 64);
        std::memcpy(args.out + (args.pixels + first + p) * 16, acc[p] + 16, 64);
    }
}

void portable_run(const GemmArgs& args) {
    size_t p = 0;
    for (; p + 4 <= args.pixels; p += 4)
        portable_tile<4>(args, p);
    for (; p < args.pixels; ++p)
        portable_tile<1>(args, p);
}

#if defined(__x86_64__)

// AVX2: pairs of channels through vpmaddwd, 3 pixels x 32 outputs in 12 accumulators.
template <size_t kPixels>
__attribute__((target("avx2"))) void avx2_tile(const GemmArgs& args, size_t first) {
    const auto* features = static_cast<const int16_t*>(args.features);
    __m256i acc[kPixels][4];
    for (auto& row : acc) {
        for (__m256i& lane : row)
            lane = _mm256_setzero_si256();
    }
    const int8_t* weights = args.weights;
    for (size_t step = 0; step < args.steps; ++step) {
        const int16_t* source = features + args.step_offset[step];
        for (size_t c = 0; c < kGemmStep; c += 2, weights += 2 * kGemmOutputs) {
            __m256i w[4];
            for (size_t i = 0; i < 4; ++i) {
                const auto* from = reinterpret_cast<const __m128i*>(weights + 16 * i);
                w[i] = _mm256_cvtepi8_epi16(_mm_loadu_si128(from));
            }
            for (size_t p = 0; p < kPixels; ++p) {
                int32_t pair;
                std::memcpy(&pair, source + args.pixel_offset[first + p] + c, sizeof pair);
                const __m256i x = _mm256_set1_epi32(pair);
                for (size_t i = 0; i < 4; ++i)
                    acc[p][i] = _mm256_add_epi32(acc[p][i], _mm256_madd_epi16(x, w[i]));
            }
        }
    }
    for (size_t p = 0; p < kPixels; ++p) {
        for (size_t i = 0; i < 4; ++i) {
            int32_t* to = args.out + (i / 2 * args.pixels + first + p) * 16 + i % 2 * 8;
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), acc[p][i]);
        }
    }
}

void avx2_run(const GemmArgs& args) {
    size_t p = 0;
    for (; p + 3 <= args.pixels; p += 3)
        avx2_tile<3>(args, p);
    for (; p < args.pixels; ++p)
        avx2_tile<1>(args, p);
}

#define NPUSIM_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

// AVX-512 VNNI: four channels per lane through vpdpbusd, 8 pixels x 32 outputs.
template <size_t kPixels>
NPUSIM_VNNI void vnni_tile(const GemmArgs& args, size_t first) {
    const auto* features = static_cast<const uint8_t*>(args.features);
    __m512i low[kPixels];
    __m512i high[kPixels];
    const uint8_t* pixel[kPixels];
    for (size_t p = 0; p < kPixels; ++p) {
        low[p] = _mm512_setzero_si512();
        high[p] = _mm512_setzero_si512();
        pixel[p] = features + args.pixel_offset[first + p];
    }
    const int8_t* weights = args.weights;
    for (size_t step = 0; step < args.steps; ++step) {
        const ptrdiff_t offset = args.step_offset[step];
        for (size_t c = 0; c < kGemmStep; c += 4, weights += 4 * kGemmOutputs) {
            const __m512i w0 = _mm512_loadu_si512(weights);
            const __m512i w1 = _mm512_loadu_si512(weights + 64);
            for (size_t p = 0; p < kPixels; ++p) {
                int32_t quad;
                std::memcpy(&quad, pixel[p] + offset + c, sizeof quad);
                const __m512i x = _mm512_set1_epi32(quad);
                low[p] = _mm512_dpbusd_epi32(low[p], x, w0);
                high[p] = _mm512_dpbusd_epi32(high[p], x, w1);
            }
        }
    }
    for (size_t p = 0; p < kPixels; ++p) {
        _mm512_storeu_si512(args.out + (first + p) * 16, low[p]);
        _mm512_storeu_si512(args.out + (args.pixels + first + p) * 16, high[p]);
    }
}

void vnni_run(const GemmArgs& args) {
    size_t p = 0;
    for (; p + 8 <= args.pixels; p += 8)
        vnni_tile<8>(args, p);
    switch (args.pixels - p) {
        case 7:
            return vnni_tile<7>(args, p);
        case 6:
            return vnni_tile<6>(args, p);
        case 5:
            return vnni_tile<5>(args, p);
        case 4:
            return vnni_tile<4>(args, p);
        case 3:
            return vnni_tile<3>(args, p);
        case 2:
            return vnni_tile<2>(args, p);
        case 1:
            return vnni_tile<1>(args, p);
        default:
            return;
    }
}

bool has_vnni() {
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
           __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
}

bool has_avx2() {
    return __builtin_cpu_supports("avx2") != 0;
}

#endif

struct KernelList {
    std::array<GemmKernel, 3> kernels{};
    size_t count = 0;

    KernelList() {
#if defined(__x86_64__)
        if (has_vnni())
            kernels[count++] = {"avx512-vnni", 4, true, vnni_run};
        if (has_avx2())
            kernels[count++] = {"avx2", 2, false, avx2_run};
#endif
        kernels[count++] = {"portable", 1, false, portable_run};
    }
};

const KernelList& kernel_list() {
    static const KernelList list;
    return list;
}

}  // namespace

const GemmKernel& gemm_kernel() {
    return kernel_list().kernels[0];
}

size_t gemm_kernel_count() {
    return kernel_list().count;
}

const GemmKernel& gemm_kernel_at(size_t index) {
    return kernel_list().kernels[index];
}

}  // namespace npusim
