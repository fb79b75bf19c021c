// SPDX-License-Identifier: MIT
// From the NPU's sums to C: zero points, scales, type and layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "matmul/pack.hpp"

namespace rknpu::matmul {

struct FinishInput {
    std::span<const std::byte> sums;  ///< as sum_bytes() describes
    /// Integer sums: the exact sum of (a - zero_a) * (b - zero_b) follows from these.
    std::span<const int32_t> row_sums;     ///< of A; empty: zero_b is 0
    std::span<const int32_t> column_sums;  ///< of B; empty: zero_a is 0
    int32_t zero_a = 0;
    std::span<const int32_t> zeros_b;  ///< one or [n]; empty: 0
    std::span<const double> factors;   ///< [n]: sum -> result; empty: 1
    int32_t zero_c = 0;
};

/// Writes C in its type and layout; `target` holds describe(kC).bytes. Integers are rounded to the
/// nearest, ties to even, and saturate. Segments of float32 sums are added in order.
void finish(const Spec& spec, const Shape& shape, const FinishInput& input,
            std::span<std::byte> target);

/// Sums of A and B in work form, computed here: for chips whose NPU cannot.
void multiply_on_cpu(Work work, const Shape& shape, uint32_t k_segment,
                     std::span<const std::byte> a, std::span<const std::byte> b,
                     std::span<std::byte> sums);

}  // namespace rknpu::matmul
