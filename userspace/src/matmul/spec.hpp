// SPDX-License-Identifier: MIT
// What a matrix multiplication C = A x B is: types, layouts, sizes and the limits of each chip.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"
#include "core/types.hpp"

namespace rknpu::matmul {

enum class Operand : uint8_t { kA, kB, kC };

/// As in rknn_matmul_layout.
enum class Layout : int16_t { kNormal = 0, kNative = 1, kTransposed = 2 };

/// As in rknn_matmul_quant_type.
enum class Quant : int16_t {
    kLayerSym = 0,
    kLayerAsym = 1,
    kChannelSym = 2,
    kChannelAsym = 3,
    kGroupSym = 4,
    kGroupAsym = 5
};

constexpr bool per_channel(Quant quant) {
    return quant == Quant::kChannelSym || quant == Quant::kChannelAsym;
}
constexpr bool per_group(Quant quant) {
    return quant == Quant::kGroupSym || quant == Quant::kGroupAsym;
}
constexpr bool symmetric(Quant quant) {
    return static_cast<int16_t>(quant) % 2 == 0;
}

/// A is m x k, B is k x n, C is m x n.
struct Shape {
    uint32_t m = 0, k = 0, n = 0;
    bool operator==(const Shape&) const = default;
};

/// One type combination.
struct Kind {
    int32_t code;  ///< rknn_matmul_type
    DataType a, b, c;
    bool scales_of_b_per_group;  ///< PER_GROUP makes sense: C holds real values
    std::string_view name;
};

/// The combination with that number, or null.
const Kind* find_kind(int32_t code);

/// What a chip can do.
struct Limits {
    std::string_view soc;
    std::array<int32_t, 13> kinds;  ///< numbers of the type combinations, 0 = end
    uint32_t k_segment;             ///< longest sum of one task; longer ones are cut and added
    bool npu;                       ///< task streams are known; otherwise the CPU computes
};

/// Longest K that is accepted.
inline constexpr uint32_t kMaxK = 65536;
/// K is a multiple of this for every type.
inline constexpr uint32_t kBlockK = 32;

/// Limits of a chip, or null for one without matrix multiplications.
const Limits* find_limits(std::string_view soc);

/// Everything but the shape.
struct Spec {
    const Kind* kind = nullptr;
    Layout b_layout = Layout::kNormal;
    Layout ac_layout = Layout::kNormal;
    Quant b_quant = Quant::kLayerSym;
    Quant ac_quant = Quant::kLayerSym;
    uint32_t group_size = 0;  ///< rows of B that share a scale (per-group only)
    uint32_t k_segment = 8192;
};

/// Columns of B that stand together in the native layout; N is a multiple of it.
uint32_t column_group(const Kind& kind);

/// Lanes of the native layout of A and C.
constexpr uint32_t lanes(DataType type) {
    return 128 / bits_of(type);
}

/// Errors: kInvalidArgument with the limit that is broken.
Status check_spec(const Spec& spec);
Status check_shape(const Spec& spec, const Shape& shape);

struct TensorInfo {
    std::string_view name;
    DataType type = DataType::kInt8;
    std::vector<uint32_t> dims;
    uint64_t elements = 0;
    uint64_t bytes = 0;
};

/// Dims and size of an operand in its layout.
TensorInfo describe(const Spec& spec, const Shape& shape, Operand operand);

/// Number of segments that K is cut into, and the rows of one.
constexpr uint32_t segments(uint32_t k, uint32_t k_segment) {
    return (k + k_segment - 1) / k_segment;
}
constexpr uint32_t segment_rows(uint32_t k, uint32_t k_segment, uint32_t segment) {
    const uint32_t left = k - segment * k_segment;
    return left < k_segment ? left : k_segment;
}

}  // namespace rknpu::matmul
