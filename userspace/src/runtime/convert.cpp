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

/// 8-bit sources have 256 values only: one table per channel holds their results.
class Tables {
 public:
    Tables(const ElementView& from, const ElementView& to, const ChannelMap& map)
        : width_(bits_of(to.type) / 8), bytes_(size_t{from.layout.c} * 256 * width_) {
        ElementView source = from;
        for (uint32_t c = 0; c < from.layout.c; ++c) {
            Row row;
            std::array<std::byte, 256> codes;
            for (size_t i = 0; i < 256; ++i)
                codes[i] = static_cast<std::byte>(i);
            load_row(source, codes.data(), 1, 256, row);
            map_row(map, c, 256, row);
            store_row(to, bytes_.data() + size_t{c} * 256 * width_, 1, 256, row);
        }
    }

    template <typename T>
    const std::byte* channel(uint32_t c) const {
        return bytes_.data() + size_t{c} * 256 * sizeof(T);
    }

 private:
    size_t width_;
    std::vector<std::byte> bytes_;
};

template <typename T>
void convert_by_table(const ElementView& from, std::span<const std::byte> source,
                      const ElementView& to, std::span<std::byte> target, const ChannelMap& map) {
    const Tables tables(from, to, map);
    const auto& in = from.layout;
    const auto& out = to.layout;
    const size_t in_stride = pixel_stride(in);
    const size_t out_stride = pixel_stride(out);
    for (uint32_t n = 0; n < in.n; ++n) {
        for (uint32_t c = 0; c < in.c; ++c) {
            const std::byte* table = tables.channel<T>(c);
            const uint32_t from_channel = source_channel(map, c, in.c);
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

void convert(const ElementView& from, std::span<const std::byte> source, const ElementView& to,
             std::span<std::byte> target, const ChannelMap& map) {
    const size_t width = bits_of(to.type) / 8;
    if (map.empty() && same_meaning(from, to)) {
        const auto fill = padding(to);
        return reorder(from.layout, source, to.layout, target, width, fill);
    }
    fill_padding(to, target);
    if (bits_of(from.type) == 8 && from.type != DataType::kBool) {
        switch (width) {
            case 1:
                return convert_by_table<uint8_t>(from, source, to, target, map);
            case 2:
                return convert_by_table<uint16_t>(from, source, to, target, map);
            case 4:
                return convert_by_table<uint32_t>(from, source, to, target, map);
            default:
                break;
        }
    }
    convert_rows(from, source, to, target, map);
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
