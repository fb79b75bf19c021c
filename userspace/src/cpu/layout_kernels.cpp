// SPDX-License-Identifier: MIT
#include "layout_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "convert.hpp"
#include "fp16.hpp"

namespace rknpu::cpu::kernels {

namespace {

/// Sixteen bytes in one register; a compiler extension that GCC and Clang have for every target.
typedef std::uint8_t Bytes16 __attribute__((vector_size(16)));
typedef std::uint16_t Words8 __attribute__((vector_size(16)));

template <typename V>
V load_vector(const std::byte* p) {
    V v;
    std::memcpy(&v, p, sizeof(v));
    return v;
}

template <typename V>
void store_vector(std::byte* p, V v) {
    std::memcpy(p, &v, sizeof(v));
}

Bytes16 interleave_low(Bytes16 a, Bytes16 b) {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
Bytes16 interleave_high(Bytes16 a, Bytes16 b) {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                   31);
}
Words8 interleave_low(Words8 a, Words8 b) {
    return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
Words8 interleave_high(Words8 a, Words8 b) {
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

/// A square block as wide as a register. Interleaving row i with row i + n/2 turns the index
/// (row, column) left by one bit; after log2(n) rounds rows and columns have changed places.
template <typename V, std::size_t kSize>
void transpose_block(const std::byte* src, std::size_t src_pitch, std::byte* dst,
                     std::size_t dst_pitch) {
    std::array<V, kSize> a;
    std::array<V, kSize> b;
    for (std::size_t i = 0; i < kSize; ++i)
        a[i] = load_vector<V>(src + i * src_pitch);
    for (std::size_t round = 1; round < kSize; round *= 2) {
        for (std::size_t i = 0; i < kSize / 2; ++i) {
            b[2 * i] = interleave_low(a[i], a[i + kSize / 2]);
            b[2 * i + 1] = interleave_high(a[i], a[i + kSize / 2]);
        }
        a = b;
    }
    for (std::size_t i = 0; i < kSize; ++i)
        store_vector(dst + i * dst_pitch, a[i]);
}

template <typename T>
void transpose_plain(const std::byte* src, std::size_t src_pitch, std::byte* dst,
                     std::size_t dst_pitch, std::size_t rows, std::size_t cols) {
    for (std::size_t j = 0; j < cols; ++j) {
        for (std::size_t i = 0; i < rows; ++i)
            std::memcpy(dst + (j * dst_pitch + i) * sizeof(T),
                        src + (i * src_pitch + j) * sizeof(T), sizeof(T));
    }
}

/// Whole blocks by registers, the ragged right and bottom edges element by element.
template <typename T, typename V>
void transpose_blocks(const std::byte* src, std::size_t src_pitch, std::byte* dst,
                      std::size_t dst_pitch, std::size_t rows, std::size_t cols) {
    constexpr std::size_t kSize = sizeof(V) / sizeof(T);
    const std::size_t whole_rows = rows - rows % kSize;
    const std::size_t whole_cols = cols - cols % kSize;
    for (std::size_t i = 0; i < whole_rows; i += kSize) {
        for (std::size_t j = 0; j < whole_cols; j += kSize)
            transpose_block<V, kSize>(src + (i * src_pitch + j) * sizeof(T), src_pitch * sizeof(T),
                                      dst + (j * dst_pitch + i) * sizeof(T), dst_pitch * sizeof(T));
    }
    transpose_plain<T>(src + whole_cols * sizeof(T), src_pitch,
                       dst + whole_cols * dst_pitch * sizeof(T), dst_pitch, whole_rows,
                       cols - whole_cols);
    transpose_plain<T>(src + whole_rows * src_pitch * sizeof(T), src_pitch,
                       dst + whole_rows * sizeof(T), dst_pitch, rows - whole_rows, cols);
}

}  // namespace

std::uint8_t affine_code(std::uint8_t x, float factor, float offset, std::int32_t zero,
                         int lowest) {
    const float lo = static_cast<float>(lowest - zero);
    const float hi = static_cast<float>(lowest + 255 - zero);
    float v = static_cast<float>(x) * factor + offset;
    v = v > lo ? v : lo;
    v = v < hi ? v : hi;
    return static_cast<std::uint8_t>(static_cast<std::int32_t>(round_even_small(v)) + zero);
}

void affine_codes(const std::byte* src, std::byte* dst, std::int64_t count, float factor,
                  float offset, std::int32_t zero, int lowest) {
    for (std::int64_t i = 0; i < count; ++i)
        dst[i] = static_cast<std::byte>(
            affine_code(static_cast<std::uint8_t>(src[i]), factor, offset, zero, lowest));
}

void affine_codes(const std::byte* src, std::byte* dst, std::int64_t count,
                  std::span<const float> factor, std::span<const float> offset, std::int32_t zero,
                  int lowest) {
    const std::int64_t period = static_cast<std::int64_t>(factor.size());
    const float* f = factor.data();
    const float* o = offset.data();
    for (std::int64_t at = 0; at < count; at += period) {
        const std::int64_t n = std::min(period, count - at);
        for (std::int64_t i = 0; i < n; ++i)
            dst[at + i] = static_cast<std::byte>(
                affine_code(static_cast<std::uint8_t>(src[at + i]), f[i], o[i], zero, lowest));
    }
}

void shift_bytes(const std::byte* src, std::byte* dst, std::int64_t count, std::uint8_t shift) {
    for (std::int64_t i = 0; i < count; ++i)
        dst[i] = static_cast<std::byte>(static_cast<std::uint8_t>(src[i]) + shift);
}

void load_floats(DType type, const std::byte* src, float* dst, std::int64_t count) {
    switch (type) {
        case DType::kU8:
            for (std::int64_t i = 0; i < count; ++i)
                dst[i] = static_cast<float>(static_cast<std::uint8_t>(src[i]));
            return;
        case DType::kI8:
            for (std::int64_t i = 0; i < count; ++i)
                dst[i] =
                    static_cast<float>(static_cast<std::int8_t>(static_cast<std::uint8_t>(src[i])));
            return;
        case DType::kF16:
            for (std::int64_t i = 0; i < count; ++i) {
                std::uint16_t half;
                std::memcpy(&half, src + 2 * i, sizeof(half));
                dst[i] = fp16_to_fp32(half);
            }
            return;
        default:
            std::memcpy(dst, src, static_cast<std::size_t>(count) * sizeof(float));
    }
}

void normalize(float* values, std::int64_t count, const float* mean, const float* std) {
    for (std::int64_t i = 0; i < count; ++i)
        values[i] = (values[i] - mean[i]) / std[i];
}

void normalize(float* values, std::int64_t count, float mean, float std) {
    for (std::int64_t i = 0; i < count; ++i)
        values[i] = (values[i] - mean) / std;
}

void store_floats(DType type, const std::optional<Quant>& quant, const float* src,
                  std::int64_t count, std::byte* dst) {
    const std::size_t n = static_cast<std::size_t>(count);
    switch (type) {
        case DType::kI8:
            quantize<std::int8_t>({src, n}, *quant, {reinterpret_cast<std::int8_t*>(dst), n});
            return;
        case DType::kU8:
            quantize<std::uint8_t>({src, n}, *quant, {reinterpret_cast<std::uint8_t*>(dst), n});
            return;
        case DType::kF16:
            for (std::int64_t i = 0; i < count; ++i) {
                const std::uint16_t half = fp32_to_fp16(src[i]);
                std::memcpy(dst + 2 * i, &half, sizeof(half));
            }
            return;
        default:
            std::memcpy(dst, src, n * sizeof(float));
    }
}

void dequantize_run(DType from, const std::optional<Quant>& quant, const std::byte* src, DType to,
                    std::byte* dst, std::int64_t count) {
    constexpr std::int64_t kBlock = 512;
    std::array<float, kBlock> values;
    const std::size_t in = dtype_size(from);
    const std::size_t out = dtype_size(to);
    const bool codes = from == DType::kI8 || from == DType::kU8;
    const float zero = codes ? static_cast<float>(quant->zero_point) : 0.0F;
    const float scale = codes ? quant->scale : 1.0F;
    for (std::int64_t at = 0; at < count; at += kBlock) {
        const std::int64_t n = std::min(kBlock, count - at);
        load_floats(from, src + static_cast<std::size_t>(at) * in, values.data(), n);
        if (codes) {
            for (std::int64_t i = 0; i < n; ++i)
                values[static_cast<std::size_t>(i)] =
                    (values[static_cast<std::size_t>(i)] - zero) * scale;
        }
        store_floats(to, std::nullopt, values.data(), n, dst + static_cast<std::size_t>(at) * out);
    }
}

void place_pixels(const std::byte* src, std::size_t src_pitch, std::byte* dst,
                  std::size_t dst_pitch, std::size_t used, std::int64_t pixels) {
    if (used == 16 && dst_pitch == 16) {  // the usual full group, as one register
        for (std::int64_t x = 0; x < pixels; ++x)
            std::memcpy(dst + static_cast<std::size_t>(x) * 16,
                        src + static_cast<std::size_t>(x) * src_pitch, 16);
        return;
    }
    for (std::int64_t x = 0; x < pixels; ++x) {
        std::byte* to = dst + static_cast<std::size_t>(x) * dst_pitch;
        std::memcpy(to, src + static_cast<std::size_t>(x) * src_pitch, used);
        std::memset(to + used, 0, dst_pitch - used);
    }
}

void transpose(const std::byte* src, std::size_t src_pitch, std::byte* dst, std::size_t dst_pitch,
               std::size_t rows, std::size_t cols, std::size_t element) {
    if (element == 1)
        transpose_blocks<std::uint8_t, Bytes16>(src, src_pitch, dst, dst_pitch, rows, cols);
    else if (element == 2)
        transpose_blocks<std::uint16_t, Words8>(src, src_pitch, dst, dst_pitch, rows, cols);
    else
        transpose_plain<std::uint32_t>(src, src_pitch, dst, dst_pitch, rows, cols);
}

}  // namespace rknpu::cpu::kernels
