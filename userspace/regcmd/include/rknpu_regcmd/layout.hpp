// SPDX-License-Identifier: MIT
// Memory layouts of the NPU: feature maps, weights, per-channel operand records.
// Sources: Documentation/hardware.rst, "Memory layouts" and "DPU_RDMA".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "npuregs/regs.hpp"

namespace rknpu::compiler {

using npuregs::Precision;

[[nodiscard]] constexpr uint32_t divide_up(uint32_t value, uint32_t by) {
    return value / by + (value % by != 0 ? 1U : 0U);
}
[[nodiscard]] constexpr uint32_t align_up(uint32_t value, uint32_t to) {
    return divide_up(value, to) * to;
}

/// Bytes of the unit every address and stride of a feature map counts in: one pixel of one surface.
inline constexpr uint32_t kAtomBytes = 16;

/// Bytes of one element; int4 is not handled here.
[[nodiscard]] constexpr uint32_t element_bytes(Precision precision) {
    switch (precision) {
        case Precision::kInt8:
            return 1;
        case Precision::kInt16:
        case Precision::kFp16:
        case Precision::kBf16:
            return 2;
        default:
            return 4;
    }
}

/// Channels in one atom (C2 of NC1HWC2): 16 for int8, 8 for 16-bit, 4 for 32-bit elements.
[[nodiscard]] constexpr uint32_t atom_lanes(Precision precision) {
    return kAtomBytes / element_bytes(precision);
}

/// Output channels the MAC array computes at a time; task sizes are rounded up to it.
[[nodiscard]] constexpr uint32_t channel_group(Precision input, bool depthwise) {
    const uint32_t direct = input == Precision::kInt8 ? 32 : 16;
    return depthwise ? 2 * direct : direct;
}

/// Input channel lanes a direct convolution's weights hold: whole atoms.
[[nodiscard]] constexpr uint32_t weight_lanes(uint32_t channels, Precision precision) {
    return align_up(channels, atom_lanes(precision));
}

/// Atoms from one surface of an NC1HWC2 map to the next. Planes start at multiples of 64 bytes,
/// except single pixels, which stand side by side (both as the vendor's compiler lays them out).
[[nodiscard]] constexpr uint32_t surface_pitch(uint32_t width, uint32_t height) {
    return width * height == 1 ? 1 : align_up(width * height, 4);
}

/// Bytes from one row of a packed image to the next: whole atoms, although the line stride register
/// counts the pixels of the row only.
[[nodiscard]] constexpr uint32_t image_row_bytes(uint32_t width, uint32_t channels,
                                                 Precision precision) {
    return align_up(width * channels * element_bytes(precision), kAtomBytes);
}

/// Shape of a convolution's weights; `input_channels` is 1 per channel for depthwise ones.
struct WeightShape {
    uint32_t output_channels;
    uint32_t input_channels;
    uint32_t kernel_height;
    uint32_t kernel_width;
};

/// Kernels a direct convolution stores: the vendor's compiler rounds odd counts up to even.
[[nodiscard]] constexpr uint32_t stored_kernels(uint32_t output_channels) {
    return align_up(output_channels, 2);
}

/// Size in bytes of packed direct weights.
[[nodiscard]] uint32_t direct_weight_bytes(const WeightShape& shape, Precision precision);

/// Size in bytes of packed depthwise weights.
[[nodiscard]] uint32_t depthwise_weight_bytes(const WeightShape& shape, Precision precision);

/// OIHW -> [OC / group][IC / 32][KH][KW][oc in group][ic lanes]: groups of 32 (int8) or 16 (16-bit)
/// kernels and blocks of 32 input channels; the last group and block are short, not padded.
/// `padding[oc]` fills unused lanes of kernel oc (its weight zero point, so that the lanes cancel);
/// empty = 0. T is int8_t or uint16_t (raw 16-bit floats). `weights` holds OC*IC*KH*KW elements.
template <typename T>
[[nodiscard]] std::vector<T> pack_direct_weights(std::span<const T> weights,
                                                 const WeightShape& shape,
                                                 std::span<const T> padding = {});

/// C1HW -> [C / group][KH][KW][channel in group]; group 64 (int8) or 32 (16-bit), the last group a
/// whole number of atoms. Arguments as for pack_direct_weights.
template <typename T>
[[nodiscard]] std::vector<T> pack_depthwise_weights(std::span<const T> weights,
                                                    const WeightShape& shape,
                                                    std::span<const T> padding = {});

/// Operands of the DPU's first stage for one output channel.
struct ChannelOperands {
    int32_t bias = 0;         ///< added to the accumulator
    int16_t weight_zero = 0;  ///< multiplies the sum of the inputs under the kernel: -zero point
    int16_t scale = 1 << 14;  ///< multiplies the biased accumulator, Q14
};

/// Records of 8 channels: int32 bias[8], int16 weight_zero[8], int16 scale[8]; zeros up to
/// `aligned_channels`, then up to a multiple of 64 bytes.
[[nodiscard]] std::vector<std::byte> pack_operand_records(std::span<const ChannelOperands> channels,
                                                          uint32_t aligned_channels);

/// Plain array of 32-bit biases (int32, or the bits of fp32) padded the same way.
[[nodiscard]] std::vector<std::byte> pack_bias_words(std::span<const uint32_t> bias,
                                                     uint32_t aligned_channels);

}  // namespace rknpu::compiler
