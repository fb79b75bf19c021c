// SPDX-License-Identifier: MIT
#include "runtime/convert.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/half.hpp"

namespace rknpu {
namespace {

constexpr size_t kChunk = 256;
using Row = std::array<float, kChunk>;

template <typename T>
T load_at(const std::byte* start, size_t index) {
    T value;
    std::memcpy(&value, start + index * sizeof(T), sizeof(T));
    return value;
}

template <typename T>
void store_at(std::byte* start, size_t index, T value) {
    std::memcpy(start + index * sizeof(T), &value, sizeof(T));
}

/// Nearest integer, ties to even; NaN gives the lowest value.
template <typename T>
T saturate(float value) {
    constexpr float kLow = static_cast<float>(std::numeric_limits<T>::min());
    constexpr float kHigh = static_cast<float>(std::numeric_limits<T>::max());
    const float rounded = std::nearbyint(value);
    if (!(rounded > kLow))
        return std::numeric_limits<T>::min();
    if (rounded >= kHigh)
        return std::numeric_limits<T>::max();
    return static_cast<T>(rounded);
}

/// Loads `count` elements that lie `stride` apart as real values.
template <typename T>
void load_codes(const ElementView& view, const std::byte* start, size_t stride, size_t count,
                Row& row) {
    if (!view.quantised) {
        for (size_t i = 0; i < count; ++i)
            row[i] = static_cast<float>(load_at<T>(start, i * stride));
        return;
    }
    const auto zero = static_cast<float>(view.zero_point);
    for (size_t i = 0; i < count; ++i)
        row[i] = (static_cast<float>(load_at<T>(start, i * stride)) - zero) * view.scale;
}

void load_row(const ElementView& view, const std::byte* start, size_t stride, size_t count,
              Row& row) {
    switch (view.type) {
        case DataType::kFloat32:
            for (size_t i = 0; i < count; ++i)
                row[i] = load_at<float>(start, i * stride);
            return;
        case DataType::kFloat16:
            for (size_t i = 0; i < count; ++i)
                row[i] = half_to_float(load_at<uint16_t>(start, i * stride));
            return;
        case DataType::kBfloat16:
            for (size_t i = 0; i < count; ++i)
                row[i] = bfloat_to_float(load_at<uint16_t>(start, i * stride));
            return;
        case DataType::kInt8:
            return load_codes<int8_t>(view, start, stride, count, row);
        case DataType::kInt16:
            return load_codes<int16_t>(view, start, stride, count, row);
        case DataType::kUint16:
            return load_codes<uint16_t>(view, start, stride, count, row);
        case DataType::kInt32:
            return load_codes<int32_t>(view, start, stride, count, row);
        case DataType::kUint32:
            return load_codes<uint32_t>(view, start, stride, count, row);
        case DataType::kInt64:
            return load_codes<int64_t>(view, start, stride, count, row);
        case DataType::kUint8:
        case DataType::kBool:
        case DataType::kInt4:
            return load_codes<uint8_t>(view, start, stride, count, row);
    }
}

template <typename T>
void store_codes(const ElementView& view, std::byte* start, size_t stride, size_t count,
                 const Row& row) {
    if (!view.quantised) {
        for (size_t i = 0; i < count; ++i)
            store_at(start, i * stride, saturate<T>(row[i]));
        return;
    }
    const auto zero = static_cast<float>(view.zero_point);
    for (size_t i = 0; i < count; ++i) {
        // Rounded before the zero point is added: q = round(x / scale) + zp.
        const float code = std::nearbyint(row[i] / view.scale) + zero;
        store_at(start, i * stride, saturate<T>(code));
    }
}

void store_row(const ElementView& view, std::byte* start, size_t stride, size_t count,
               const Row& row) {
    switch (view.type) {
        case DataType::kFloat32:
            for (size_t i = 0; i < count; ++i)
                store_at(start, i * stride, row[i]);
            return;
        case DataType::kFloat16:
            for (size_t i = 0; i < count; ++i)
                store_at(start, i * stride, float_to_half(row[i]));
            return;
        case DataType::kBfloat16:
            for (size_t i = 0; i < count; ++i)
                store_at(start, i * stride, float_to_bfloat(row[i]));
            return;
        case DataType::kInt8:
            return store_codes<int8_t>(view, start, stride, count, row);
        case DataType::kInt16:
            return store_codes<int16_t>(view, start, stride, count, row);
        case DataType::kUint16:
            return store_codes<uint16_t>(view, start, stride, count, row);
        case DataType::kInt32:
            return store_codes<int32_t>(view, start, stride, count, row);
        case DataType::kUint32:
            return store_codes<uint32_t>(view, start, stride, count, row);
        case DataType::kInt64:
            return store_codes<int64_t>(view, start, stride, count, row);
        case DataType::kBool:
            for (size_t i = 0; i < count; ++i)
                store_at<uint8_t>(start, i * stride, row[i] != 0.0f ? 1 : 0);
            return;
        case DataType::kUint8:
        case DataType::kInt4:
            return store_codes<uint8_t>(view, start, stride, count, row);
    }
}

uint32_t source_channel(const ChannelMap& map, uint32_t channel, uint32_t channels) {
    const uint32_t source = channel < map.order.size() ? map.order[channel] : channel;
    return source < channels ? source : channel;
}

void map_row(const ChannelMap& map, uint32_t channel, size_t count, Row& row) {
    if (channel >= map.mean.size())
        return;
    const float mean = map.mean[channel];
    const float scale = channel < map.scale.size() ? map.scale[channel] : 1.0f;
    if (mean == 0.0f && scale == 1.0f)
        return;
    for (size_t i = 0; i < count; ++i)
        row[i] = (row[i] - mean) / scale;
}

size_t pixel_stride(const ImageLayout& layout) {
    switch (layout.order) {
        case Order::kNhwc:
            return layout.c;
        case Order::kNc1hwc2:
            return layout.c2;
        case Order::kPlain:
            break;
    }
    return 1;
}

bool same_meaning(const ElementView& a, const ElementView& b) {
    if (a.type != b.type || a.quantised != b.quantised)
        return false;
    return !a.quantised || (a.scale == b.scale && a.zero_point == b.zero_point);
}

/// The element that fills padding lanes, in the target's type.
std::array<std::byte, 8> padding(const ElementView& view) {
    std::array<std::byte, 8> out{};
    const int32_t code = view.zero_code();
    if (bits_of(view.type) == 8)
        store_at(out.data(), 0, static_cast<int8_t>(code));
    else if (view.quantised && bits_of(view.type) == 16)
        store_at(out.data(), 0, static_cast<int16_t>(code));
    return out;
}

void fill_padding(const ElementView& to, std::span<std::byte> target) {
    const auto& layout = to.layout;
    const bool padded = layout.order == Order::kNc1hwc2 &&
                        (layout.c1 * layout.c2 != layout.c || layout.plane != layout.h * layout.w);
    if (!padded)
        return;
    const auto fill = padding(to);
    const size_t width = bits_of(to.type) / 8;
    for (uint64_t i = 0; i < layout.storage(); ++i)
        std::memcpy(target.data() + i * width, fill.data(), width);
}

void convert_rows(const ElementView& from, std::span<const std::byte> source, const ElementView& to,
                  std::span<std::byte> target, const ChannelMap& map) {
    const auto& in = from.layout;
    const auto& out = to.layout;
    const size_t in_stride = pixel_stride(in);
    const size_t out_stride = pixel_stride(out);
    const size_t in_width = bits_of(from.type) / 8;
    const size_t out_width = bits_of(to.type) / 8;
    Row row{};
    for (uint32_t n = 0; n < in.n; ++n) {
        for (uint32_t c = 0; c < in.c; ++c) {
            const uint32_t from_channel = source_channel(map, c, in.c);
            for (uint32_t h = 0; h < in.h; ++h) {
                for (uint32_t w = 0; w < in.w; w += kChunk) {
                    const size_t count = std::min<size_t>(kChunk, in.w - w);
                    load_row(from, source.data() + in.index(n, from_channel, h, w) * in_width,
                             in_stride, count, row);
                    map_row(map, c, count, row);
                    store_row(to, target.data() + out.index(n, c, h, w) * out_width, out_stride,
                              count, row);
                }
            }
        }
    }
}

}  // namespace

Converter::Converter(const ElementView& from, const ElementView& to, ChannelMap map)
    : from_(from), to_(to), map_(std::move(map)), path_(choose()) {
    if (path_ == Path::kPacked)
        make_code_tables();
    else if (path_ == Path::kTable)
        make_wide_tables();
}

Converter::Path Converter::choose() const {
    const auto& in = from_.layout;
    const auto& out = to_.layout;
    const bool from_codes = bits_of(from_.type) == 8 && from_.type != DataType::kBool;
    const bool to_codes = to_.type == DataType::kInt8 || to_.type == DataType::kUint8;
    const bool pixels = in.order == Order::kNhwc && in.c <= 4 && map_.order.empty();
    const bool one_atom = out.order == Order::kNc1hwc2 && out.c1 == 1 && out.c2 == 16;
    if (from_codes && to_codes && pixels && one_atom)
        return Path::kPacked;
    if (map_.empty() && same_meaning(from_, to_))
        return Path::kReorder;
    if (!from_codes)
        return Path::kRows;
    if (pixels && to_codes && out.order != Order::kNc1hwc2)
        return Path::kPacked;
    if (to_.type == DataType::kFloat32 && map_.empty() && out.order == Order::kPlain) {
        if (in.order == Order::kPlain)
            return Path::kRow;
        if (in.order == Order::kNc1hwc2 && in.c2 == 16 && in.native_w == in.w)
            return Path::kAtoms;
    }
    return bits_of(to_.type) <= 32 ? Path::kTable : Path::kRows;
}

void Converter::make_code_tables() {
    const auto& layout = from_.layout;
    std::array<std::byte, 256> all;
    for (size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<std::byte>(i);
    std::vector<CodeTable> tables(layout.c);
    std::vector<Line> lines;
    for (uint32_t c = 0; c < layout.c; ++c) {
        Row row;
        load_row(from_, all.data(), 1, 256, row);
        map_row(map_, c, 256, row);
        store_row(to_, reinterpret_cast<std::byte*>(tables[c].data()), 1, 256, row);
        // The same in one step, up to rounding.
        const double step = (from_.quantised ? from_.scale : 1.0f);
        const double mean = c < map_.mean.size() ? map_.mean[c] : 0.0f;
        const double scale = c < map_.scale.size() && c < map_.mean.size() ? map_.scale[c] : 1.0f;
        const double unit = to_.quantised ? to_.scale : 1.0f;
        const double zero = from_.quantised ? from_.zero_point * step : 0.0;
        lines.push_back({step / scale / unit, (-zero - mean) / scale / unit + to_.zero_code()});
    }
    codes_ = CodeMap(std::move(tables), lines,
                     {from_.type == DataType::kInt8, to_.type == DataType::kInt8});
    scratch_.resize(size_t{layout.w} * layout.c);
}

void Converter::run_packed(std::span<const std::byte> source, std::span<std::byte> target) {
    const auto& in = from_.layout;
    const auto& out = to_.layout;
    const auto* read = reinterpret_cast<const uint8_t*>(source.data());
    auto* write = reinterpret_cast<uint8_t*>(target.data());
    const size_t count = size_t{in.w} * in.c;
    const auto fill = static_cast<uint8_t>(to_.zero_code());
    if (out.order == Order::kNhwc && in.row == in.w && out.row == in.w)
        return apply_codes(read, write, count * in.h * in.n, codes_, simd_);
    for (uint32_t n = 0; n < in.n; ++n)
        for (uint32_t h = 0; h < in.h; ++h) {
            const uint8_t* row = read + in.index(n, 0, h, 0);
            uint8_t* to = write + out.index(n, 0, h, 0);
            if (out.order == Order::kNhwc) {
                apply_codes(row, to, count, codes_, simd_);
                continue;
            }
            apply_codes(row, scratch_.data(), count, codes_, simd_);
            if (out.order == Order::kNc1hwc2) {
                spread_pixels(scratch_.data(), to, in.w, in.c, fill, simd_);
                continue;
            }
            for (uint32_t c = 0; c < in.c; ++c) {
                uint8_t* plane = write + out.index(n, c, h, 0);
                for (uint32_t w = 0; w < in.w; ++w)
                    plane[w] = scratch_[size_t{w} * in.c + c];
            }
        }
}

namespace {

Scaling scaling_of(const ElementView& view) {
    const bool is_signed = view.type == DataType::kInt8;
    // Codes without a scale are numbers; (x - 0) * 1 leaves them alone.
    if (!view.quantised)
        return {is_signed, 0.0f, 1.0f};
    return {is_signed, static_cast<float>(view.zero_point), view.scale};
}

}  // namespace

void Converter::run_atoms(std::span<const std::byte> source, std::span<std::byte> target) const {
    const auto& in = from_.layout;
    const auto* read = reinterpret_cast<const uint8_t*>(source.data());
    const size_t pixels = size_t{in.h} * in.w;
    const auto scaling = scaling_of(from_);
    for (uint32_t n = 0; n < in.n; ++n)
        for (uint32_t c = 0; c < in.c; c += in.c2)
            dequantise_atoms(read + in.index(n, c, 0, 0), pixels, std::min(in.c2, in.c - c),
                             target.data() + to_.layout.index(n, c, 0, 0) * sizeof(float), pixels,
                             scaling, simd_);
}

void Converter::make_wide_tables() {
    const size_t width = bits_of(to_.type) / 8;
    wide_.resize(size_t{from_.layout.c} * 256 * width);
    std::array<std::byte, 256> all;
    for (size_t i = 0; i < all.size(); ++i)
        all[i] = static_cast<std::byte>(i);
    for (uint32_t c = 0; c < from_.layout.c; ++c) {
        Row row;
        load_row(from_, all.data(), 1, 256, row);
        map_row(map_, c, 256, row);
        store_row(to_, wide_.data() + size_t{c} * 256 * width, 1, 256, row);
    }
}

template <typename T>
void Converter::run_table(std::span<const std::byte> source, std::span<std::byte> target) const {
    const auto& in = from_.layout;
    const auto& out = to_.layout;
    const size_t in_stride = pixel_stride(in);
    const size_t out_stride = pixel_stride(out);
    for (uint32_t n = 0; n < in.n; ++n) {
        for (uint32_t c = 0; c < in.c; ++c) {
            const std::byte* table = wide_.data() + size_t{c} * 256 * sizeof(T);
            const uint32_t from_channel = source_channel(map_, c, in.c);
            for (uint32_t h = 0; h < in.h; ++h) {
                const std::byte* read = source.data() + in.index(n, from_channel, h, 0);
                std::byte* write = target.data() + out.index(n, c, h, 0) * sizeof(T);
                for (uint32_t w = 0; w < in.w; ++w)
                    std::memcpy(write + w * out_stride * sizeof(T),
                                table + static_cast<uint8_t>(read[w * in_stride]) * sizeof(T),
                                sizeof(T));
            }
        }
    }
}

void Converter::run(std::span<const std::byte> source, std::span<std::byte> target) {
    if (path_ == Path::kReorder) {
        const auto fill = padding(to_);
        return reorder(from_.layout, source, to_.layout, target, bits_of(to_.type) / 8, fill);
    }
    // Whole atoms of one surface without rows to skip leave nothing to fill beforehand.
    const auto& out = to_.layout;
    const bool spread =
        path_ == Path::kPacked && out.plane == out.h * out.w && out.native_w == out.w;
    if (!spread)
        fill_padding(to_, target);
    switch (path_) {
        case Path::kPacked:
            return run_packed(source, target);
        case Path::kAtoms:
            return run_atoms(source, target);
        case Path::kRow:
            return dequantise_row(reinterpret_cast<const uint8_t*>(source.data()),
                                  from_.layout.elements(), target.data(), scaling_of(from_), simd_);
        case Path::kTable:
            switch (bits_of(to_.type) / 8) {
                case 1:
                    return run_table<uint8_t>(source, target);
                case 2:
                    return run_table<uint16_t>(source, target);
                default:
                    return run_table<uint32_t>(source, target);
            }
        default:
            return convert_rows(from_, source, to_, target, map_);
    }
}

void convert(const ElementView& from, std::span<const std::byte> source, const ElementView& to,
             std::span<std::byte> target, const ChannelMap& map) {
    Converter(from, to, map).run(source, target);
}

void convert_reference(const ElementView& from, std::span<const std::byte> source,
                       const ElementView& to, std::span<std::byte> target, const ChannelMap& map) {
    const size_t in_width = bits_of(from.type) / 8;
    const size_t out_width = bits_of(to.type) / 8;
    const bool copy = map.empty() && same_meaning(from, to);
    fill_padding(to, target);
    Row row{};
    for (uint32_t n = 0; n < from.layout.n; ++n)
        for (uint32_t c = 0; c < from.layout.c; ++c)
            for (uint32_t h = 0; h < from.layout.h; ++h)
                for (uint32_t w = 0; w < from.layout.w; ++w) {
                    const uint32_t channel = source_channel(map, c, from.layout.c);
                    const auto* read =
                        source.data() + from.layout.index(n, channel, h, w) * in_width;
                    auto* write = target.data() + to.layout.index(n, c, h, w) * out_width;
                    if (copy) {
                        std::memcpy(write, read, in_width);
                        continue;
                    }
                    load_row(from, read, 1, 1, row);
                    map_row(map, c, 1, row);
                    store_row(to, write, 1, 1, row);
                }
}

}  // namespace rknpu
