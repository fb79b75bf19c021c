// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/status.hpp"
#include "core/types.hpp"
#include "npu/layout.hpp"
#include "runtime/convert_kernels.hpp"

namespace rknpu {

/// One side of a conversion: what the elements mean and where they lie.
struct ElementView {
    DataType type = DataType::kFloat32;
    bool quantised = false;  ///< real = scale * (code - zero_point)
    float scale = 1.0f;
    int32_t zero_point = 0;
    ImageLayout layout;

    /// Bytes the memory holds, padding included.
    uint64_t bytes() const { return bytes_of(type, layout.storage()); }
    /// The code of 0.0, which padding lanes get.
    int32_t zero_code() const { return quantised ? zero_point : 0; }
};

/// Channel c becomes (x[order[c]] - mean[c]) / scale[c]; empty = unchanged.
struct ChannelMap {
    std::vector<float> mean;
    std::vector<float> scale;
    std::vector<uint32_t> order;

    bool empty() const { return mean.empty() && order.empty(); }
};

/// A conversion between two views. Its tables are made once; run() allocates nothing.
class Converter {
 public:
    Converter() = default;
    Converter(const ElementView& from, const ElementView& to, ChannelMap map);

    const ElementView& from() const { return from_; }
    const ElementView& to() const { return to_; }

    /// As convert() below.
    void run(std::span<const std::byte> source, std::span<std::byte> target);

    /// Other instructions than the best ones of this machine; the results are the same.
    void use(Simd simd) { simd_ = simd; }

 private:
    enum class Path : uint8_t {
        kReorder,  ///< bytes move, nothing else
        kPacked,   ///< packed pixels of up to four channels, 8 bit to 8 bit
        kAtoms,    ///< 8-bit NC1HWC2 to float32 planes
        kRow,      ///< 8-bit planes to float32 planes
        kTable,    ///< 8-bit codes, one table per channel
        kRows,     ///< arithmetic on rows of one channel
    };

    Path choose() const;
    void make_code_tables();
    void make_wide_tables();
    void run_packed(std::span<const std::byte> source, std::span<std::byte> target);
    void run_atoms(std::span<const std::byte> source, std::span<std::byte> target) const;
    template <typename T>
    void run_table(std::span<const std::byte> source, std::span<std::byte> target) const;

    ElementView from_, to_;
    ChannelMap map_;
    Path path_ = Path::kReorder;
    Simd simd_ = simd_of_this_machine().back();
    CodeMap codes_;                 // kPacked
    std::vector<uint8_t> scratch_;  // kPacked: one row of pixels
    std::vector<std::byte> wide_;   // kTable: per channel 256 elements of the target
};

/// Converts every element: dequantise, map, quantise with rounding to nearest, ties to even, and
/// saturation. Equal types and quantisation without a map only move bytes. Both sides have the same
/// n, c, h, w; spans hold at least bytes() of their side and do not overlap.
void convert(const ElementView& from, std::span<const std::byte> source, const ElementView& to,
             std::span<std::byte> target, const ChannelMap& map);

/// The same, one element after the other: what the fast paths are tested against.
void convert_reference(const ElementView& from, std::span<const std::byte> source,
                       const ElementView& to, std::span<std::byte> target, const ChannelMap& map);

}  // namespace rknpu
