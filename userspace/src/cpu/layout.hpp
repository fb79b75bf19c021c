// SPDX-License-Identifier: MIT
// Between the tensors of an application (NHWC or NCHW) and the NPU's native layout.
//
// Native is N, C1, H, W, C2 with channel = c1 * C2 + c2, rows `row_pixels` long and planes
// `plane_pixels` apart (both at least the logical size). A packed image of 1, 3 or 4 channels is
// the same with C1 = 1 and C2 = channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "status.hpp"
#include "tensor.hpp"

namespace rknpu::cpu {

enum class ImageLayout : std::uint8_t { kNhwc, kNchw };

struct ImageShape {
    std::int64_t n = 1;
    std::int64_t c = 1;
    std::int64_t h = 1;
    std::int64_t w = 1;

    std::int64_t elements() const { return n * c * h * w; }
};

struct NativeLayout {
    std::int64_t c2 = 16;
    std::int64_t row_pixels = 0;    // 0: the width
    std::int64_t plane_pixels = 0;  // 0: row_pixels * height
};

struct ConversionSpec {
    ImageShape shape;
    ImageLayout layout = ImageLayout::kNhwc;  // of the application's side
    DType app = DType::kU8;                   // kU8, kI8, kF16 or kF32
    DType native = DType::kI8;                // kI8, kU8, kF16 or kF32
    NativeLayout native_layout;
    std::optional<Quant> quant;  // of the native side, needed for kI8 and kU8 unless both sides are
                                 // of the same type, which then copies the codes as they are
    std::vector<float> mean;     // per channel, or one, or none; to the NPU only
    std::vector<float> std;      // divisors, likewise
    bool reference = false;      // plain loops; the results have the same bits
};

/// Bytes of the native side, padding included; nothing if the spec is out of bounds.
std::optional<std::size_t> native_bytes(const ConversionSpec& spec);

/// Application to NPU: value = (x - mean) / std, then code = clamp(round_half_even(value / scale) +
/// zero_point) or the float type. Channels that only pad C2 become 0; other padding is untouched.
class NativeWriter {
 public:
    /// Checks the spec and prepares its tables.
    static Status create(const ConversionSpec& spec, NativeWriter& out);
    /// Sizes are checked: `app` exactly, `native` at least native_bytes().
    Status run(std::span<const std::byte> app, std::span<std::byte> native) const;

 private:
    enum class Kind { kCopy, kShift, kAffine, kTable8, kTable16, kFloat };

    void make_table();
    void choose_byte_kind();
    void convert_run(const std::byte* src, std::byte* dst, std::int64_t count,
                     std::int64_t channel) const;
    void convert_floats(const std::byte* src, std::byte* dst, std::int64_t count,
                        std::int64_t phase, std::int64_t period) const;
    float normalized(float x, std::int64_t channel) const;
    void run_reference(std::span<const std::byte> app, std::span<std::byte> native) const;
    void run_nhwc(std::span<const std::byte> app, std::span<std::byte> native) const;
    void run_nchw(std::span<const std::byte> app, std::span<std::byte> native) const;

    ConversionSpec spec_;
    Kind kind_ = Kind::kCopy;
    std::vector<float> mean_;  // per channel
    std::vector<float> std_;
    std::vector<std::uint16_t> table_;  // [channel][256]: codes or binary16 of each uint8 value
    std::uint8_t shift_ = 0;            // kShift: code = (x ^ 0x80) + shift
    std::vector<float> factor_;         // kAffine, repeated to at least 480 entries
    std::vector<float> offset_;
    std::vector<float> wide_mean_;  // kFloat, repeated likewise
    std::vector<float> wide_std_;
};

/// NPU to application: value = scale * (code - zero_point), or the float type.
class NativeReader {
 public:
    static Status create(const ConversionSpec& spec, NativeReader& out);
    Status run(std::span<const std::byte> native, std::span<std::byte> app) const;

 private:
    void convert_run(const std::byte* src, std::byte* dst, std::int64_t count) const;
    void run_reference(std::span<const std::byte> native, std::span<std::byte> app) const;
    void run_nchw(std::span<const std::byte> native, std::span<std::byte> app) const;
    void run_nhwc(std::span<const std::byte> native, std::span<std::byte> app) const;

    ConversionSpec spec_;
};

}  // namespace rknpu::cpu
