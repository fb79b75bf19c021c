// SPDX-License-Identifier: MIT
// Rearranging A and B for the NPU. The NPU multiplies int8 by int8 or float16 by float16; other
// types become one of the two here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "matmul/spec.hpp"

namespace rknpu::matmul {

/// Element type the NPU works with.
enum class Work : uint8_t { kInt8, kFloat16 };

constexpr uint32_t bytes_of(Work work) {
    return work == Work::kInt8 ? 1 : 2;
}
constexpr uint32_t lanes(Work work) {
    return 16 / bytes_of(work);
}
/// Columns of B the MAC array takes at a time.
constexpr uint32_t column_group(Work work) {
    return work == Work::kInt8 ? 32 : 16;
}

/// float16 when A is float16, or when every group of rows of B has a scale of its own: the sum then
/// needs real values. Otherwise int8; int4 fits into it.
Work work_of(const Spec& spec);

/// True if the operand, as the caller has it, is already what the NPU reads.
bool is_work_form(const Spec& spec, Operand operand);

/// Scales and zero points of B while it is converted to real values.
struct Dequant {
    std::span<const float> scales;   ///< [n][k / group_size]; empty: 1
    std::span<const int32_t> zeros;  ///< one, [n], or as scales
    uint32_t group_size = 0;         ///< rows; 0: all
};

/// A -> [K / lanes][M][lanes] of the work type. int8 A in a float16 job becomes a - zero.
void pack_a(const Spec& spec, const Shape& shape, std::span<const std::byte> source, int32_t zero,
            std::span<std::byte> target);

/// B -> per segment of K [N / group][K / 32][group][32] of the work type. Integer B in a float16
/// job becomes (b - zero) * scale.
void pack_b(const Spec& spec, const Shape& shape, std::span<const std::byte> source,
            const Dequant& dequant, std::span<std::byte> target);

/// Sums over K of each row of an integer A, of each column of an integer B.
void sum_rows_of_a(const Spec& spec, const Shape& shape, std::span<const std::byte> source,
                   std::span<int32_t> sums);
void sum_columns_of_b(const Spec& spec, const Shape& shape, std::span<const std::byte> source,
                      std::span<int32_t> sums);

/// K x N, row major -> the native layout of the same type, cut into segments.
/// Both spans hold describe(kB).bytes.
void normal_to_native_b(const Spec& spec, const Shape& shape, std::span<const std::byte> source,
                        std::span<std::byte> target);

}  // namespace rknpu::matmul
