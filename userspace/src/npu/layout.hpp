// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/types.hpp"

namespace rknpu {

/// How the elements of an image tensor lie in memory. Element (n, c, h, w) is at
///   kPlain    ((n * C + c) * H + h) * W + w
///   kNhwc     ((n * H + h) * row + w) * C + c
///   kNc1hwc2  ((n * C1 + c / C2) * plane + h * W' + w) * C2 + c % C2
/// in units of elements.
struct ImageLayout {
    Order order = Order::kPlain;
    uint32_t n = 1, c = 1, h = 1, w = 1;
    uint32_t row = 1;         ///< kNhwc: pixels from row to row, >= w
    uint32_t c1 = 1, c2 = 1;  ///< kNc1hwc2
    uint32_t native_w = 1;
    uint32_t plane = 1;  ///< kNc1hwc2: pixels from one surface to the next

    static ImageLayout plain(uint32_t n, uint32_t c, uint32_t h, uint32_t w) {
        return {Order::kPlain, n, c, h, w, w, 1, 1, w, h * w};
    }
    static ImageLayout nhwc(uint32_t n, uint32_t c, uint32_t h, uint32_t w, uint32_t row) {
        return {Order::kNhwc, n, c, h, w, row, 1, 1, w, h * w};
    }
    /// Surfaces without a gap between them.
    static ImageLayout native(uint32_t n, uint32_t c, uint32_t h, uint32_t w, uint32_t c1,
                              uint32_t c2) {
        return {Order::kNc1hwc2, n, c, h, w, w, c1, c2, w, h * w};
    }

    uint64_t elements() const { return uint64_t{n} * c * h * w; }
    /// Elements that the memory holds, padding included.
    uint64_t storage() const;
    uint64_t index(uint32_t in, uint32_t ic, uint32_t ih, uint32_t iw) const;
    bool operator==(const ImageLayout&) const = default;
};

/// Moves `element_bytes`-wide elements from one layout to another of the same n, c, h, w. What a
/// kNc1hwc2 target has beyond them (lanes, columns, rows) gets `fill` (one element). The spans hold
/// storage() elements at least; they do not overlap.
void reorder(const ImageLayout& from, std::span<const std::byte> source, const ImageLayout& to,
             std::span<std::byte> target, size_t element_bytes, std::span<const std::byte> fill);

/// As reorder(), element by element: what the fast paths are tested against.
void reorder_reference(const ImageLayout& from, std::span<const std::byte> source,
                       const ImageLayout& to, std::span<std::byte> target, size_t element_bytes,
                       std::span<const std::byte> fill);

}  // namespace rknpu
