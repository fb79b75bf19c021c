// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "gemm.hpp"

namespace rknpu::cpu::ops {

namespace {

/// Four floats in one register; a compiler extension that GCC and Clang have for every target.
typedef float Vec4 __attribute__((vector_size(16)));

constexpr std::int64_t kRows = 4;
constexpr std::int64_t kCols = 8;

Vec4 load4(const float* p) {
    Vec4 v;
    std::memcpy(&v, p, sizeof(v));
    return v;
}

void store4(float* p, Vec4 v) {
    std::memcpy(p, &v, sizeof(v));
}

/// A kRows x kCols block; `b` is packed, kCols floats per step of k.
void kernel_full(const float* a, std::int64_t lda, const float* b, float* c, std::int64_t ldc,
                 std::int64_t k) {
    std::array<Vec4, kRows> lo;
    std::array<Vec4, kRows> hi;
    for (std::int64_t r = 0; r < kRows; ++r) {
        lo[r] = load4(c + r * ldc);
        hi[r] = load4(c + r * ldc + 4);
    }
    for (std::int64_t p = 0; p < k; ++p) {
        const Vec4 b_lo = load4(b + p * kCols);
        const Vec4 b_hi = load4(b + p * kCols + 4);
        for (std::int64_t r = 0; r < kRows; ++r) {
            const float v = a[r * lda + p];
            lo[r] += v * b_lo;
            hi[r] += v * b_hi;
        }
    }
    for (std::int64_t r = 0; r < kRows; ++r) {
        store4(c + r * ldc, lo[r]);
        store4(c + r * ldc + 4, hi[r]);
    }
}

/// The ragged edge: fewer rows or columns.
void kernel_edge(const float* a, std::int64_t lda, const float* b, float* c, std::int64_t ldc,
                 std::int64_t rows, std::int64_t cols, std::int64_t k) {
    for (std::int64_t r = 0; r < rows; ++r) {
        std::array<float, kCols> acc{};
        std::copy_n(c + r * ldc, cols, acc.begin());
        for (std::int64_t p = 0; p < k; ++p) {
            const float v = a[r * lda + p];
            for (std::int64_t j = 0; j < kCols; ++j)
                acc[j] += v * b[p * kCols + j];
        }
        std::copy_n(acc.begin(), cols, c + r * ldc);
    }
}

}  // namespace

void gemm_reference(const GemmArgs& g) {
    for (std::int64_t i = 0; i < g.m; ++i) {
        for (std::int64_t j = 0; j < g.n; ++j) {
            float sum = g.c[i * g.ldc + j];
            for (std::int64_t p = 0; p < g.k; ++p)
                sum += g.a[i * g.lda + p] * g.b[p * g.ldb + j];
            g.c[i * g.ldc + j] = sum;
        }
    }
}

void gemm_fast(const GemmArgs& g) {
    // k is cut so that one packed panel (8 KiB) stays in the first-level cache.
    constexpr std::int64_t kDepth = 256;
    std::array<float, kDepth * kCols> panel;
    for (std::int64_t p0 = 0; p0 < g.k; p0 += kDepth) {
        const std::int64_t depth = std::min(kDepth, g.k - p0);
        for (std::int64_t j0 = 0; j0 < g.n; j0 += kCols) {
            const std::int64_t cols = std::min(kCols, g.n - j0);
            for (std::int64_t p = 0; p < depth; ++p) {
                float* row = panel.data() + p * kCols;
                std::fill_n(row, kCols, 0.0F);
                std::copy_n(g.b + (p0 + p) * g.ldb + j0, cols, row);
            }
            for (std::int64_t i0 = 0; i0 < g.m; i0 += kRows) {
                const std::int64_t rows = std::min(kRows, g.m - i0);
                const float* a = g.a + i0 * g.lda + p0;
                float* c = g.c + i0 * g.ldc + j0;
                if (rows == kRows && cols == kCols)
                    kernel_full(a, g.lda, panel.data(), c, g.ldc, depth);
                else
                    kernel_edge(a, g.lda, panel.data(), c, g.ldc, rows, cols, depth);
            }
        }
    }
}

}  // namespace rknpu::cpu::ops
