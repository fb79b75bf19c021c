// SPDX-License-Identifier: MIT
// Elements of an atom as numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "desc.hpp"
#include "half.hpp"
#include "transfer.hpp"

namespace npusim {

/// Integer element `index` of a packed array. int4: the low nibble comes first.
[[nodiscard]] inline int32_t load_int(const std::byte* data, size_t index, Precision precision) {
    switch (precision) {
        case Precision::kInt4: {
            const auto byte = load<int8_t>(data + index / 2);
            return index % 2 != 0 ? byte >> 4 : static_cast<int8_t>(byte << 4) >> 4;
        }
        case Precision::kInt8:
            return load<int8_t>(data + index);
        case Precision::kInt16:
            return load<int16_t>(data + 2 * index);
        default:
            return load<int32_t>(data + 4 * index);
    }
}

/// Float element `index`; fp32 data read for tf32 is cut to ten fraction bits.
[[nodiscard]] inline float load_float(const std::byte* data, size_t index, Precision precision) {
    switch (precision) {
        case Precision::kFp16:
            return half_to_float(load<uint16_t>(data + 2 * index));
        case Precision::kBf16:
            return bf16_to_float(load<uint16_t>(data + 2 * index));
        case Precision::kTf32:
            return cut_to_tf32(load<float>(data + 4 * index));
        default:
            return load<float>(data + 4 * index);
    }
}

[[nodiscard]] inline size_t bytes_of(size_t elements, Precision precision) {
    return (elements * precision_bits(precision) + 7) / 8;
}

}  // namespace npusim
