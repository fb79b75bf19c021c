// SPDX-License-Identifier: MIT
// Layouts and alignments: the comments of the public matmul header, version 2.3.2. Types per chip:
// public statements of which combinations RK3588 and RK3576 take.
#include "matmul/spec.hpp"

#include <algorithm>

namespace rknpu::matmul {
namespace {

using enum DataType;

constexpr Kind kKinds[] = {
    {1, kFloat16, kFloat16, kFloat32, false, "FLOAT16_MM_FLOAT16_TO_FLOAT32"},
    {2, kInt8, kInt8, kInt32, false, "INT8_MM_INT8_TO_INT32"},
    {3, kInt8, kInt8, kInt8, false, "INT8_MM_INT8_TO_INT8"},
    {4, kFloat16, kFloat16, kFloat16, false, "FLOAT16_MM_FLOAT16_TO_FLOAT16"},
    {5, kFloat16, kInt8, kFloat32, true, "FLOAT16_MM_INT8_TO_FLOAT32"},
    {6, kFloat16, kInt8, kFloat16, true, "FLOAT16_MM_INT8_TO_FLOAT16"},
    {7, kFloat16, kInt4, kFloat32, true, "FLOAT16_MM_INT4_TO_FLOAT32"},
    {8, kFloat16, kInt4, kFloat16, true, "FLOAT16_MM_INT4_TO_FLOAT16"},
    {9, kInt8, kInt8, kFloat32, true, "INT8_MM_INT8_TO_FLOAT32"},
    {10, kInt4, kInt4, kInt16, false, "INT4_MM_INT4_TO_INT16"},
    {11, kInt8, kInt4, kInt32, false, "INT8_MM_INT4_TO_INT32"},
    {12, kFloat16, kInt4, kBfloat16, true, "FLOAT16_MM_INT4_TO_BFLOAT16"},
    {15, kInt8, kInt4, kFloat16, true, "INT8_MM_INT4_TO_FLOAT16"},
};

// RK3576's register map is known for int8 results only, hence the CPU.
constexpr Limits kLimits[] = {
    {"rk3588", {1, 2, 3, 4, 9, 10}, 8192, true},
    {"rk3576", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15}, 4096, false},
};

Status invalid(std::string text) {
    return {Error::kInvalidArgument, std::move(text)};
}

constexpr uint32_t divide_up(uint32_t value, uint32_t by) {
    return (value + by - 1) / by;
}

}  // namespace

const Kind* find_kind(int32_t code) {
    const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                     [code](const Kind& kind) { return kind.code == code; });
    return found == std::end(kKinds) ? nullptr : found;
}

const Limits* find_limits(std::string_view soc) {
    const auto* found = std::find_if(std::begin(kLimits), std::end(kLimits),
                                     [soc](const Limits& limits) { return limits.soc == soc; });
    return found == std::end(kLimits) ? nullptr : found;
}

uint32_t column_group(const Kind& kind) {
    switch (kind.a) {
        case kFloat16:
            return 16;
        case kInt4:
            return 64;
        default:
            return 32;
    }
}

Status check_spec(const Spec& spec) {
    const auto in = [](int16_t value, int16_t last) { return value >= 0 && value <= last; };
    if (!in(static_cast<int16_t>(spec.b_layout), 2))
        return invalid(
            fmt::format("B_layout is {}, allowed are 0 (normal), 1 (native) and 2 "
                        "(transposed)",
                        static_cast<int>(spec.b_layout)));
    if (!in(static_cast<int16_t>(spec.ac_layout), 1))
        return invalid(fmt::format("AC_layout is {}, allowed are 0 (normal) and 1 (native)",
                                   static_cast<int>(spec.ac_layout)));
    if (!in(static_cast<int16_t>(spec.b_quant), 5))
        return invalid(
            fmt::format("B_quant_type is {}, allowed are 0 to 5", static_cast<int>(spec.b_quant)));
    if (!in(static_cast<int16_t>(spec.ac_quant), 1))
        return invalid(fmt::format("AC_quant_type is {}: A and C have one scale per layer (0 or 1)",
                                   static_cast<int>(spec.ac_quant)));
    const auto& kind = *spec.kind;
    const bool plain = kind.b == kFloat16 || kind.a == kInt4;
    if (plain && (per_channel(spec.b_quant) || per_group(spec.b_quant)))
        return invalid(fmt::format("{} has no scales: B_quant_type must be per layer", kind.name));
    if (per_group(spec.b_quant) && !kind.scales_of_b_per_group)
        return invalid(
            fmt::format("{}: scales per group need a result of real numbers, use per "
                        "layer or per channel",
                        kind.name));
    if (per_group(spec.b_quant) && (spec.group_size == 0 || spec.group_size % kBlockK != 0))
        return invalid(
            fmt::format("group_size is {}, it must be a multiple of {}", spec.group_size, kBlockK));
    return {};
}

Status check_shape(const Spec& spec, const Shape& shape) {
    constexpr uint32_t kMost = 1u << 30;
    const uint32_t group = column_group(*spec.kind);
    if (shape.m == 0 || shape.m > kMost)
        return invalid(
            fmt::format("M is {}, allowed are 1 to {}", static_cast<int>(shape.m), kMost));
    if (shape.k == 0 || shape.k > kMaxK || shape.k % kBlockK != 0)
        return invalid(fmt::format("K is {}, it must be a multiple of {} up to {} for {}",
                                   static_cast<int>(shape.k), kBlockK, kMaxK, spec.kind->name));
    if (shape.n == 0 || shape.n > kMost || shape.n % group != 0)
        return invalid(fmt::format("N is {}, it must be a multiple of {} for {}",
                                   static_cast<int>(shape.n), group, spec.kind->name));
    if (per_group(spec.b_quant) && shape.k % spec.group_size != 0)
        return invalid(
            fmt::format("group_size {} does not divide K, which is {}", spec.group_size, shape.k));
    // Everything lies below 4 GiB: bytes of the largest buffer, one int32 per element.
    const uint64_t largest =
        std::max({uint64_t{shape.m} * shape.k * 2, uint64_t{shape.k} * shape.n * 2,
                  uint64_t{shape.m} * shape.n * 4 * segments(shape.k, spec.k_segment)});
    if (largest > UINT32_MAX / 2)
        return invalid(fmt::format("{} x {} x {} is more than the NPU can address", shape.m,
                                   shape.k, shape.n));
    return {};
}

TensorInfo describe(const Spec& spec, const Shape& shape, Operand operand) {
    const auto& kind = *spec.kind;
    TensorInfo info;
    const bool native = spec.ac_layout == Layout::kNative;
    if (operand == Operand::kB) {
        const uint32_t group = column_group(kind);
        info = {"B", kind.b, {shape.k, shape.n}, 0, 0};
        if (spec.b_layout == Layout::kTransposed)
            info.dims = {shape.n, shape.k};
        if (spec.b_layout == Layout::kNative)
            info.dims = {divide_up(shape.n, group), divide_up(shape.k, kBlockK), group, kBlockK};
    } else {
        const bool a = operand == Operand::kA;
        const uint32_t columns = a ? shape.k : shape.n;
        info = {a ? "A" : "C", a ? kind.a : kind.c, {shape.m, columns}, 0, 0};
        const uint32_t width = lanes(info.type);
        if (native)
            info.dims = {divide_up(columns, width), shape.m, width};
    }
    info.elements = 1;
    for (const uint32_t dim : info.dims)
        info.elements *= dim;
    info.bytes = bytes_of(info.type, info.elements);
    return info;
}

}  // namespace rknpu::matmul
