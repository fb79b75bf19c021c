// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rknpu::cpu::ops {

/// c += a * b for row-major float matrices of m x k, k x n and m x n elements; the leading
/// dimensions are in elements. Each result is summed in float over ascending k, so that both forms
/// give the same bits.
struct GemmArgs {
    const float* a;
    std::int64_t lda;
    const float* b;
    std::int64_t ldb;
    float* c;
    std::int64_t ldc;
    std::int64_t m;
    std::int64_t n;
    std::int64_t k;
};

/// Three loops.
void gemm_reference(const GemmArgs& args);
/// Panels of b packed for the cache, 4 x 8 results held in registers.
void gemm_fast(const GemmArgs& args);

inline void gemm(const GemmArgs& args, bool reference) {
    if (reference)
        gemm_reference(args);
    else
        gemm_fast(args);
}

}  // namespace rknpu::cpu::ops
