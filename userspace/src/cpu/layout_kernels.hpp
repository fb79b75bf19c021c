// SPDX-License-Identifier: MIT
// Inner loops of the layout conversions. They work on bytes in memory, so that no caller needs to
// reinterpret pointers; counts are in elements unless said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tensor.hpp"

namespace rknpu::cpu::kernels {

/// clamp(round_half_even(x * factor + offset) + zero, lowest, lowest + 255) as a byte.
std::uint8_t affine_code(std::uint8_t x, float factor, float offset, std::int32_t zero, int lowest);

/// The same for a run; one factor for all, or lists that start over (index i modulo their length).
void affine_codes(const std::byte* src, std::byte* dst, std::int64_t count, float factor,
                  float offset, std::int32_t zero, int lowest);
void affine_codes(const std::byte* src, std::byte* dst, std::int64_t count,
                  std::span<const float> factor, std::span<const float> offset, std::int32_t zero,
                  int lowest);

/// dst = src + shift, modulo 256.
void shift_bytes(const std::byte* src, std::byte* dst, std::int64_t count, std::uint8_t shift);

/// uint8, int8, float16 or float32 numbers as float.
void load_floats(DType type, const std::byte* src, float* dst, std::int64_t count);
/// (x - mean) / std in place.
void normalize(float* values, std::int64_t count, const float* mean, const float* std);
void normalize(float* values, std::int64_t count, float mean, float std);
/// Floats to codes (with `quant`), float16 or float32.
void store_floats(DType type, const std::optional<Quant>& quant, const float* src,
                  std::int64_t count, std::byte* dst);

/// Codes (with `quant`) or floats of type `from` as float16 or float32.
void dequantize_run(DType from, const std::optional<Quant>& quant, const std::byte* src, DType to,
                    std::byte* dst, std::int64_t count);

/// For `pixels` pixels: copies `used` bytes and zeroes the rest of `dst_pitch`. Pitches in bytes.
void place_pixels(const std::byte* src, std::size_t src_pitch, std::byte* dst,
                  std::size_t dst_pitch, std::size_t used, std::int64_t pixels);

/// dst[j][i] = src[i][j] for i < rows, j < cols; elements of 1, 2 or 4 bytes, pitches in elements.
void transpose(const std::byte* src, std::size_t src_pitch, std::byte* dst, std::size_t dst_pitch,
               std::size_t rows, std::size_t cols, std::size_t element);

}  // namespace rknpu::cpu::kernels
