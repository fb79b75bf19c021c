// SPDX-License-Identifier: MIT
#include "layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "convert.hpp"
#include "fp16.hpp"
#include "layout_kernels.hpp"

namespace rknpu::cpu {

namespace {

std::int64_t row_pixels(const ConversionSpec& s) {
    return s.native_layout.row_pixels != 0 ? s.native_layout.row_pixels : s.shape.w;
}

std::int64_t plane_pixels(const ConversionSpec& s) {
    return s.native_layout.plane_pixels != 0 ? s.native_layout.plane_pixels
                                             : row_pixels(s) * s.shape.h;
}

std::int64_t planes(const ConversionSpec& s) {
    return (s.shape.c + s.native_layout.c2 - 1) / s.native_layout.c2;
}

/// Element offset of the first channel of plane c1 at (n, y, 0).
std::int64_t native_row(const ConversionSpec& s, std::int64_t n, std::int64_t c1, std::int64_t y) {
    return ((n * planes(s) + c1) * plane_pixels(s) + y * row_pixels(s)) * s.native_layout.c2;
}

bool is_byte(DType type) {
    return type == DType::kI8 || type == DType::kU8;
}

bool is_app_type(DType type) {
    return is_byte(type) || type == DType::kF16 || type == DType::kF32;
}

Status bad_spec(StatusCode code, std::string text) {
    return {code, "layout conversion: " + std::move(text)};
}

/// Both sides hold the same codes or floats, so that elements only move.
bool moves_only(const ConversionSpec& s) {
    return s.app == s.native && s.mean.empty() && s.std.empty();
}

Status check_spec(const ConversionSpec& s) {
    if (!is_app_type(s.app) || !is_app_type(s.native))
        return bad_spec(StatusCode::kInvalidType, cat("no conversion between ", dtype_name(s.app),
                                                      " and ", dtype_name(s.native)));
    if (!native_bytes(s))
        return bad_spec(StatusCode::kTooLarge, "shape or strides are out of range");
    if (!moves_only(s) && is_byte(s.native) && (!s.quant || !quant_is_valid(*s.quant, s.native)))
        return bad_spec(StatusCode::kInvalidValue,
                        cat(dtype_name(s.native), " needs a scale and a zero point"));
    for (const std::vector<float>* list : {&s.mean, &s.std}) {
        if (list->size() > 1 && std::cmp_not_equal(list->size(), s.shape.c))
            return bad_spec(
                StatusCode::kInvalidValue,
                cat("mean or std has ", list->size(), " entries for ", s.shape.c, " channels"));
    }
    for (float v : s.std) {
        if (!(std::abs(v) > 0.0F))
            return bad_spec(StatusCode::kInvalidValue, "a std of 0");
    }
    return {};
}

Status check_buffers(const ConversionSpec& s, std::size_t app, std::size_t native) {
    const std::size_t want = static_cast<std::size_t>(s.shape.elements()) * dtype_size(s.app);
    if (app != want)
        return bad_spec(StatusCode::kInvalidShape,
                        cat("the application's buffer has ", app, " bytes instead of ", want));
    if (native < *native_bytes(s))
        return bad_spec(StatusCode::kInvalidShape,
                        cat("the native buffer has ", native, " bytes, needs ", *native_bytes(s)));
    return {};
}

template <typename T>
T load(const std::byte* p) {
    T v;
    std::memcpy(&v, p, sizeof(T));
    return v;
}

template <typename T>
void store(std::byte* p, T v) {
    std::memcpy(p, &v, sizeof(T));
}

float load_number(DType type, const std::byte* p) {
    switch (type) {
        case DType::kU8:
            return load<std::uint8_t>(p);
        case DType::kI8:
            return load<std::int8_t>(p);
        case DType::kF16:
            return fp16_to_fp32(load<std::uint16_t>(p));
        default:
            return load<float>(p);
    }
}

/// One value to its native or application form, quantised if `quant` is given for a byte type.
void store_number(DType type, const std::optional<Quant>& quant, float v, std::byte* p) {
    switch (type) {
        case DType::kU8:
            quantize<std::uint8_t>({&v, 1}, *quant, {reinterpret_cast<std::uint8_t*>(p), 1});
            return;
        case DType::kI8:
            quantize<std::int8_t>({&v, 1}, *quant, {reinterpret_cast<std::int8_t*>(p), 1});
            return;
        case DType::kF16:
            store(p, fp32_to_fp16(v));
            return;
        default:
            store(p, v);
    }
}

std::vector<float> per_channel(const std::vector<float>& list, std::int64_t channels, float none) {
    if (std::cmp_equal(list.size(), channels))
        return list;
    return std::vector<float>(static_cast<std::size_t>(channels),
                              list.empty() ? none : list.front());
}

/// Repeats a per-channel list to whole periods of at least 480 entries: long inner loops for
/// images of 1, 3 and 4 channels.
std::vector<float> repeated(const std::vector<float>& list) {
    std::vector<float> out = list;
    while (out.size() < 480)
        out.insert(out.end(), list.begin(), list.end());
    return out;
}

}  // namespace

std::optional<std::size_t> native_bytes(const ConversionSpec& s) {
    const NativeLayout& l = s.native_layout;
    const std::size_t size = dtype_size(s.native);
    const Dims logical{s.shape.n, s.shape.c, s.shape.h, s.shape.w};
    if (size == 0 || !logical.checked_elements() || l.c2 < 1 || l.c2 > 4096 || l.row_pixels < 0 ||
        l.plane_pixels < 0)
        return std::nullopt;
    if (row_pixels(s) > kMaxElements || plane_pixels(s) > kMaxElements ||
        row_pixels(s) < s.shape.w ||
        plane_pixels(s) / std::max<std::int64_t>(s.shape.h, 1) < std::min(row_pixels(s), s.shape.w))
        return std::nullopt;
    if (s.shape.h > 0 && plane_pixels(s) < row_pixels(s) * (s.shape.h - 1) + s.shape.w)
        return std::nullopt;
    const std::optional<std::int64_t> count =
        Dims{s.shape.n, planes(s), plane_pixels(s), l.c2}.checked_elements();
    if (!count)
        return std::nullopt;
    return static_cast<std::size_t>(*count) * size;
}

// --- NativeWriter

Status NativeWriter::create(const ConversionSpec& spec, NativeWriter& out) {
    RKNPU_CPU_TRY(check_spec(spec));
    NativeWriter made;
    made.spec_ = spec;
    made.mean_ = per_channel(spec.mean, spec.shape.c, 0.0F);
    made.std_ = per_channel(spec.std, spec.shape.c, 1.0F);
    if (moves_only(spec)) {
        made.kind_ = Kind::kCopy;
    } else if (spec.app == DType::kU8 && spec.native != DType::kF32) {
        made.make_table();
        if (is_byte(spec.native))
            made.choose_byte_kind();
        else
            made.kind_ = Kind::kTable16;
    } else {
        made.kind_ = Kind::kFloat;
        made.wide_mean_ = repeated(made.mean_);
        made.wide_std_ = repeated(made.std_);
    }
    out = std::move(made);
    return {};
}

float NativeWriter::normalized(float x, std::int64_t channel) const {
    const std::size_t c = static_cast<std::size_t>(channel);
    return (x - mean_[c]) / std_[c];
}

void NativeWriter::make_table() {
    table_.assign(static_cast<std::size_t>(spec_.shape.c) * 256, 0);
    for (std::int64_t c = 0; c < spec_.shape.c; ++c) {
        for (int x = 0; x < 256; ++x) {
            std::array<std::byte, 4> bytes{};
            store_number(spec_.native, spec_.quant, normalized(static_cast<float>(x), c),
                         bytes.data());
            table_[static_cast<std::size_t>(c * 256 + x)] = load<std::uint16_t>(bytes.data());
        }
    }
}

/// Looks for a cheaper form that gives exactly the table: code = x + constant without saturation
/// (mean 0 and std * scale = 1, the usual export), or a multiplication and an addition in float.
void NativeWriter::choose_byte_kind() {
    const std::uint8_t first = static_cast<std::uint8_t>(table_[0]);
    bool shifts = true;
    for (std::size_t i = 0; i < table_.size(); ++i)
        shifts = shifts && static_cast<std::uint8_t>(table_[i]) ==
                               static_cast<std::uint8_t>(first + (i & 255));
    if (shifts) {
        kind_ = Kind::kShift;
        shift_ = first;
        return;
    }
    const Quant& quant = *spec_.quant;
    std::vector<float> factor;
    std::vector<float> offset;
    for (std::size_t c = 0; c < mean_.size(); ++c) {
        const double divisor = static_cast<double>(std_[c]) * quant.scale;
        factor.push_back(static_cast<float>(1.0 / divisor));
        offset.push_back(static_cast<float>(-mean_[c] / divisor));
    }
    bool exact = true;
    for (std::size_t i = 0; exact && i < table_.size(); ++i) {
        const std::uint8_t got = kernels::affine_code(
            static_cast<std::uint8_t>(i & 255), factor[i / 256], offset[i / 256], quant.zero_point,
            spec_.native == DType::kI8 ? -128 : 0);
        exact = got == static_cast<std::uint8_t>(table_[i]);
    }
    kind_ = exact ? Kind::kAffine : Kind::kTable8;
    if (exact) {
        factor_ = repeated(factor);
        offset_ = repeated(offset);
    }
}

/// Converts `count` consecutive source elements; the first belongs to `channel`, and in NHWC the
/// channels follow each other.
void NativeWriter::convert_run(const std::byte* src, std::byte* dst, std::int64_t count,
                               std::int64_t channel) const {
    const bool nhwc = spec_.layout == ImageLayout::kNhwc;
    const std::int64_t channels = spec_.shape.c;
    switch (kind_) {
        case Kind::kCopy:
            std::memcpy(dst, src, static_cast<std::size_t>(count) * dtype_size(spec_.app));
            return;
        case Kind::kShift:
            kernels::shift_bytes(src, dst, count, shift_);
            return;
        case Kind::kAffine: {
            const int lowest = spec_.native == DType::kI8 ? -128 : 0;
            const std::int32_t zero = spec_.quant->zero_point;
            if (nhwc)
                kernels::affine_codes(src, dst, count, factor_, offset_, zero, lowest);
            else
                kernels::affine_codes(src, dst, count, factor_[static_cast<std::size_t>(channel)],
                                      offset_[static_cast<std::size_t>(channel)], zero, lowest);
            return;
        }
        case Kind::kTable8:
        case Kind::kTable16: {
            std::int64_t c = channel;
            for (std::int64_t i = 0; i < count; ++i) {
                const std::uint16_t v =
                    table_[static_cast<std::size_t>(c * 256) + static_cast<std::size_t>(src[i])];
                if (kind_ == Kind::kTable8)
                    dst[i] = static_cast<std::byte>(v);
                else
                    store(dst + 2 * i, v);
                if (nhwc)
                    c = c + 1 == channels ? 0 : c + 1;
            }
            return;
        }
        case Kind::kFloat:
            convert_floats(src, dst, count, channel, nhwc ? channels : 0);
            return;
    }
}

/// The general case through a small float buffer. period 0: one channel only.
void NativeWriter::convert_floats(const std::byte* src, std::byte* dst, std::int64_t count,
                                  std::int64_t phase, std::int64_t period) const {
    constexpr std::int64_t kBlock = 1024;
    std::array<float, kBlock> values;
    const std::size_t in = dtype_size(spec_.app);
    const std::size_t out = dtype_size(spec_.native);
    const std::int64_t wide = static_cast<std::int64_t>(wide_mean_.size());
    for (std::int64_t at = 0; at < count;) {
        // In NHWC the parameters repeat; a block ends where they start over.
        const std::int64_t from = period != 0 ? at % wide : 0;
        const std::int64_t n = std::min({count - at, kBlock, period != 0 ? wide - from : kBlock});
        kernels::load_floats(spec_.app, src + static_cast<std::size_t>(at) * in, values.data(), n);
        if (period != 0)
            kernels::normalize(values.data(), n, wide_mean_.data() + from, wide_std_.data() + from);
        else
            kernels::normalize(values.data(), n, mean_[static_cast<std::size_t>(phase)],
                               std_[static_cast<std::size_t>(phase)]);
        kernels::store_floats(spec_.native, spec_.quant, values.data(), n,
                              dst + static_cast<std::size_t>(at) * out);
        at += n;
    }
}

Status NativeWriter::run(std::span<const std::byte> app, std::span<std::byte> native) const {
    RKNPU_CPU_TRY(check_buffers(spec_, app.size(), native.size()));
    if (spec_.shape.elements() == 0)
        return {};
    if (spec_.reference)
        run_reference(app, native);
    else if (spec_.layout == ImageLayout::kNhwc)
        run_nhwc(app, native);
    else
        run_nchw(app, native);
    return {};
}

void NativeWriter::run_reference(std::span<const std::byte> app,
                                 std::span<std::byte> native) const {
    const ImageShape& s = spec_.shape;
    const std::int64_t c2 = spec_.native_layout.c2;
    const std::size_t in = dtype_size(spec_.app);
    const std::size_t out = dtype_size(spec_.native);
    for (std::int64_t n = 0; n < s.n; ++n) {
        for (std::int64_t c = 0; c < planes(spec_) * c2; ++c) {
            for (std::int64_t y = 0; y < s.h; ++y) {
                for (std::int64_t x = 0; x < s.w; ++x) {
                    std::byte* to =
                        native.data() + static_cast<std::size_t>(native_row(spec_, n, c / c2, y) +
                                                                 x * c2 + c % c2) *
                                            out;
                    if (c >= s.c) {
                        std::memset(to, 0, out);
                        continue;
                    }
                    const std::int64_t at = spec_.layout == ImageLayout::kNhwc
                                                ? ((n * s.h + y) * s.w + x) * s.c + c
                                                : ((n * s.c + c) * s.h + y) * s.w + x;
                    const std::byte* from = app.data() + static_cast<std::size_t>(at) * in;
                    if (moves_only(spec_))
                        std::memcpy(to, from, in);
                    else
                        store_number(spec_.native, spec_.quant,
                                     normalized(load_number(spec_.app, from), c), to);
                }
            }
        }
    }
}

void NativeWriter::run_nhwc(std::span<const std::byte> app, std::span<std::byte> native) const {
    const ImageShape& s = spec_.shape;
    const std::int64_t c2 = spec_.native_layout.c2;
    const std::size_t in = dtype_size(spec_.app);
    const std::size_t out = dtype_size(spec_.native);
    const std::int64_t row = s.w * s.c;
    if (c2 == s.c && row_pixels(spec_) == s.w && plane_pixels(spec_) == s.w * s.h) {
        convert_run(app.data(), native.data(), s.elements(), 0);  // packed without any gap
        return;
    }
    std::vector<std::byte> codes(static_cast<std::size_t>(row) * out);
    for (std::int64_t n = 0; n < s.n; ++n) {
        for (std::int64_t y = 0; y < s.h; ++y) {
            const std::byte* src = app.data() + static_cast<std::size_t>((n * s.h + y) * row) * in;
            std::byte* dst =
                native.data() + static_cast<std::size_t>(native_row(spec_, n, 0, y)) * out;
            if (c2 == s.c) {
                convert_run(src, dst, row, 0);
                continue;
            }
            convert_run(src, codes.data(), row, 0);
            for (std::int64_t c1 = 0; c1 < planes(spec_); ++c1) {
                dst = native.data() + static_cast<std::size_t>(native_row(spec_, n, c1, y)) * out;
                kernels::place_pixels(
                    codes.data() + static_cast<std::size_t>(c1 * c2) * out,
                    static_cast<std::size_t>(s.c) * out, dst, static_cast<std::size_t>(c2) * out,
                    static_cast<std::size_t>(std::min(c2, s.c - c1 * c2)) * out, s.w);
            }
        }
    }
}

void NativeWriter::run_nchw(std::span<const std::byte> app, std::span<std::byte> native) const {
    const ImageShape& s = spec_.shape;
    const std::int64_t c2 = spec_.native_layout.c2;
    const std::size_t in = dtype_size(spec_.app);
    const std::size_t out = dtype_size(spec_.native);
    // The rows of one group of channels side by side; rows of padding channels stay zero.
    std::vector<std::byte> rows(static_cast<std::size_t>(c2 * s.w) * out);
    for (std::int64_t n = 0; n < s.n; ++n) {
        for (std::int64_t c1 = 0; c1 < planes(spec_); ++c1) {
            const std::int64_t used = std::min(c2, s.c - c1 * c2);
            std::fill(rows.begin() + used * s.w * static_cast<std::int64_t>(out), rows.end(),
                      std::byte{0});
            for (std::int64_t y = 0; y < s.h; ++y) {
                for (std::int64_t c = 0; c < used; ++c) {
                    const std::int64_t channel = c1 * c2 + c;
                    const std::int64_t at = ((n * s.c + channel) * s.h + y) * s.w;
                    convert_run(app.data() + static_cast<std::size_t>(at) * in,
                                rows.data() + static_cast<std::size_t>(c * s.w) * out, s.w,
                                channel);
                }
                kernels::transpose(
                    rows.data(), static_cast<std::size_t>(s.w),
                    native.data() + static_cast<std::size_t>(native_row(spec_, n, c1, y)) * out,
                    static_cast<std::size_t>(c2), static_cast<std::size_t>(c2),
                    static_cast<std::size_t>(s.w), out);
            }
        }
    }
}

// --- NativeReader

Status NativeReader::create(const ConversionSpec& spec, NativeReader& out) {
    RKNPU_CPU_TRY(check_spec(spec));
    if (!spec.mean.empty() || !spec.std.empty())
        return bad_spec(StatusCode::kInvalidValue, "mean and std are for inputs only");
    if (is_byte(spec.app) && spec.app != spec.native)
        return bad_spec(StatusCode::kInvalidType, cat("cannot give ", dtype_name(spec.native),
                                                      " results as ", dtype_name(spec.app)));
    out.spec_ = spec;
    return {};
}

Status NativeReader::run(std::span<const std::byte> native, std::span<std::byte> app) const {
    RKNPU_CPU_TRY(check_buffers(spec_, app.size(), native.size()));
    if (spec_.shape.elements() == 0)
        return {};
    if (spec_.reference)
        run_reference(native, app);
    else if (spec_.layout == ImageLayout::kNchw)
        run_nchw(native, app);
    else
        run_nhwc(native, app);
    return {};
}

void NativeReader::run_reference(std::span<const std::byte> native,
                                 std::span<std::byte> app) const {
    const ImageShape& s = spec_.shape;
    const std::int64_t c2 = spec_.native_layout.c2;
    const std::size_t in = dtype_size(spec_.native);
    const std::size_t out = dtype_size(spec_.app);
    for (std::int64_t n = 0; n < s.n; ++n) {
        for (std::int64_t c = 0; c < s.c; ++c) {
            for (std::int64_t y = 0; y < s.h; ++y) {
                for (std::int64_t x = 0; x < s.w; ++x) {
                    const std::byte* from =
                        native.data() + static_cast<std::size_t>(native_row(spec_, n, c / c2, y) +
                                                                 x * c2 + c % c2) *
                                            in;
                    const std::int64_t at = spec_.layout == ImageLayout::kNhwc
                                                ? ((n * s.h + y) * s.w + x) * s.c + c
                                                : ((n * s.c + c) * s.h + y) * s.w + x;
                    std::byte* to = app.data() + static_cast<std::size_t>(at) * out;
                    if (moves_only(spec_)) {
                        std::memcpy(to, from, in);
                        continue;
                    }
                    float v = load_number(spec_.native, from);
                    if (is_byte(spec_.native))
                        v = (v - static_cast<float>(spec_.quant->zero_point)) * spec_.quant->scale;
                    store_number(spec_.app, std::nullopt, v, to);
                }
            }
        }
    }
}

void NativeReader::convert_run(const std::byte* src, std::byte* dst, std::int64_t count) const {
    if (moves_only(spec_)) {
        std::memcpy(dst, src, static_cast<std::size_t>(count) * dtype_size(spec_.app));
        return;
    }
    kernels::dequantize_run(spec_.native, spec_.quant, src, spec_.app, dst, count);
}

/// Pixels are transposed in their narrow form first, then converted in long runs.
void NativeReader::run_nchw(std::span<const std::byte> native, std::span<std::byte> app) const {
    const ImageShape& s = spec_.shape;
    const std::int64_t c2 = spec_.native_layout.c2;
    const std::size_t in = dtype_size(spec_.native);
    const std::size_t out = dtype_size(spec_.app);
    // Rows without gaps are handled as one long row, in blocks that fit the first-level cache.
    const bool dense = row_pixels(spec_) == s.w;
    const std::int64_t rows = dense ? 1 : s.h;
    const std::int64_t width = dense ? s.w * s.h : s.w;
    constexpr std::int64_t kBlock = 512;
    std::vector<std::byte> block(static_cast<std::size_t>(c2 * kBlock) * in);
    for (std::int64_t n = 0; n < s.n; ++n) {
        for (std::int64_t c1 = 0; c1 < planes(spec_); ++c1) {
            const std::int64_t used = std::min(c2, s.c - c1 * c2);
            for (std::int64_t y = 0; y < rows; ++y) {
                const std::byte* src =
                    native.data() + static_cast<std::size_t>(native_row(spec_, n, c1, y)) * in;
                for (std::int64_t x = 0; x < width; x += kBlock) {
                    const std::int64_t count = std::min(kBlock, width - x);
                    kernels::transpose(
                        src + static_cast<std::size_t>(x * c2) * in, static_cast<std::size_t>(c2),
                        block.data(), static_cast<std::size_t>(kBlock),
                        static_cast<std::size_t>(count), static_cast<std::size_t>(c2), in);
                    for (std::int64_t c = 0; c < used; ++c) {
                        const std::int64_t plane = (n * s.c + c1 * c2 + c) * s.h * s.w;
                        convert_run(
                            block.data() + static_cast<std::size_t>(c * kBlock) * in,
                            app.data() + static_cast<std::size_t>(plane + y * s.w + x) * out,
                            count);
                    }
                }
            }
        }
    }
}

void NativeReader::run_nhwc(std::span<const std::byte> native, std::span<std::byte> app) const {
    const ImageShape& s = spec_.shape;
    const std::int64_t c2 = spec_.native_layout.c2;
    const std::size_t in = dtype_size(spec_.native);
    const std::size_t out = dtype_size(spec_.app);
    std::vector<std::byte> row(static_cast<std::size_t>(s.w * s.c) * in);
    for (std::int64_t n = 0; n < s.n; ++n) {
        for (std::int64_t y = 0; y < s.h; ++y) {
            std::byte* dst = app.data() + static_cast<std::size_t>((n * s.h + y) * s.w * s.c) * out;
            const std::byte* src =
                native.data() + static_cast<std::size_t>(native_row(spec_, n, 0, y)) * in;
            if (c2 == s.c) {
                convert_run(src, dst, s.w * s.c);
                continue;
            }
            for (std::int64_t c1 = 0; c1 < planes(spec_); ++c1) {
                src = native.data() + static_cast<std::size_t>(native_row(spec_, n, c1, y)) * in;
                const std::size_t used = static_cast<std::size_t>(std::min(c2, s.c - c1 * c2)) * in;
                for (std::int64_t x = 0; x < s.w; ++x)
                    std::memcpy(row.data() + static_cast<std::size_t>(x * s.c + c1 * c2) * in,
                                src + static_cast<std::size_t>(x * c2) * in, used);
            }
            convert_run(row.data(), dst, s.w * s.c);
        }
    }
}

}  // namespace rknpu::cpu
