// SPDX-License-Identifier: MIT
#include "npu/layout.hpp"

#include <algorithm>
#include <cstring>

namespace rknpu {
namespace {

template <typename T>
T at(std::span<const std::byte> bytes, uint64_t index) {
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
}

template <typename T>
void put(std::span<std::byte> bytes, uint64_t index, T value) {
    std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}

/// NC1HWC2 -> NCHW: for each plane of lanes, one pass per channel reads with stride C2.
template <typename T>
void native_to_plain(const ImageLayout& from, std::span<const std::byte> source,
                     std::span<std::byte> target) {
    const size_t plane = size_t{from.h} * from.w;
    for (uint32_t n = 0; n < from.n; ++n) {
        for (uint32_t c = 0; c < from.c; ++c) {
            for (uint32_t h = 0; h < from.h; ++h) {
                const uint64_t in = from.index(n, c, h, 0);
                const uint64_t out = (uint64_t{n} * from.c + c) * plane + uint64_t{h} * from.w;
                for (uint32_t w = 0; w < from.w; ++w)
                    put(target, out + w, at<T>(source, in + uint64_t{w} * from.c2));
            }
        }
    }
}

template <typename T>
void to_native(const ImageLayout& from, std::span<const std::byte> source, const ImageLayout& to,
               std::span<std::byte> target, T fill) {
    const auto pad = [&](uint64_t first, uint64_t end) {
        for (uint64_t i = first; i < end; ++i)
            put(target, i, fill);
    };
    for (uint32_t n = 0; n < to.n; ++n) {
        for (uint32_t c1 = 0; c1 < to.c1; ++c1) {
            const uint32_t first = c1 * to.c2;
            const uint32_t lanes = first >= to.c ? 0 : std::min(to.c2, to.c - first);
            const uint64_t surface = (uint64_t{n} * to.c1 + c1) * to.plane * to.c2;
            uint64_t out = surface;
            for (uint32_t h = 0; h < to.h; ++h) {
                for (uint32_t w = 0; w < to.w; ++w, out += to.c2) {
                    for (uint32_t lane = 0; lane < lanes; ++lane)
                        put(target, out + lane, at<T>(source, from.index(n, first + lane, h, w)));
                    pad(out + lanes, out + to.c2);
                }
                const uint64_t next = surface + uint64_t{h + 1} * to.native_w * to.c2;
                pad(out, next);
                out = next;
            }
            pad(out, surface + uint64_t{to.plane} * to.c2);
        }
    }
}

template <typename T>
void reorder_typed(const ImageLayout& from, std::span<const std::byte> source,
                   const ImageLayout& to, std::span<std::byte> target,
                   std::span<const std::byte> fill) {
    if (to.order == Order::kNc1hwc2)
        return to_native<T>(from, source, to, target, at<T>(fill, 0));
    if (from.order == Order::kNc1hwc2 && to.order == Order::kPlain)
        return native_to_plain<T>(from, source, target);
    reorder_reference(from, source, to, target, sizeof(T), fill);
}

}  // namespace

uint64_t ImageLayout::storage() const {
    switch (order) {
        case Order::kNhwc:
            return uint64_t{n} * h * row * c;
        case Order::kNc1hwc2:
            return uint64_t{n} * c1 * plane * c2;
        case Order::kPlain:
            break;
    }
    return elements();
}

uint64_t ImageLayout::index(uint32_t in, uint32_t ic, uint32_t ih, uint32_t iw) const {
    switch (order) {
        case Order::kNhwc:
            return ((uint64_t{in} * h + ih) * row + iw) * c + ic;
        case Order::kNc1hwc2:
            return ((uint64_t{in} * c1 + ic / c2) * plane + uint64_t{ih} * native_w + iw) * c2 +
                   ic % c2;
        case Order::kPlain:
            break;
    }
    return ((uint64_t{in} * c + ic) * h + ih) * w + iw;
}

void reorder(const ImageLayout& from, std::span<const std::byte> source, const ImageLayout& to,
             std::span<std::byte> target, size_t element_bytes, std::span<const std::byte> fill) {
    const bool same = from.order == to.order && from.order != Order::kNc1hwc2 &&
                      (from.order == Order::kPlain || from.row == to.row);
    if (same) {
        std::memcpy(target.data(), source.data(), from.storage() * element_bytes);
        return;
    }
    switch (element_bytes) {
        case 1:
            return reorder_typed<uint8_t>(from, source, to, target, fill);
        case 2:
            return reorder_typed<uint16_t>(from, source, to, target, fill);
        case 4:
            return reorder_typed<uint32_t>(from, source, to, target, fill);
        case 8:
            return reorder_typed<uint64_t>(from, source, to, target, fill);
        default:
            return reorder_reference(from, source, to, target, element_bytes, fill);
    }
}

void reorder_reference(const ImageLayout& from, std::span<const std::byte> source,
                       const ImageLayout& to, std::span<std::byte> target, size_t element_bytes,
                       std::span<const std::byte> fill) {
    if (to.order == Order::kNc1hwc2) {
        for (uint64_t i = 0; i < to.storage(); ++i)
            std::memcpy(target.data() + i * element_bytes, fill.data(), element_bytes);
    }
    for (uint32_t n = 0; n < from.n; ++n)
        for (uint32_t c = 0; c < from.c; ++c)
            for (uint32_t h = 0; h < from.h; ++h)
                for (uint32_t w = 0; w < from.w; ++w)
                    std::memcpy(target.data() + to.index(n, c, h, w) * element_bytes,
                                source.data() + from.index(n, c, h, w) * element_bytes,
                                element_bytes);
}

}  // namespace rknpu
