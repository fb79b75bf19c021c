// SPDX-License-Identifier: MIT
// Numbers of every precision in test memory.
#pragma once

#include <bit>
#include <cmath>

#include "engine_machine.hpp"
#include "half.hpp"

namespace engine_test {

using npuregs::Precision;

inline int bits_of(Precision p) {
    switch (p) {
        case Precision::kInt4:
            return 4;
        case Precision::kInt8:
            return 8;
        case Precision::kInt32:
        case Precision::kFp32:
        case Precision::kTf32:
            return 32;
        default:
            return 16;
    }
}

inline bool floating(Precision p) {
    return p == Precision::kFp16 || p == Precision::kBf16 || p == Precision::kTf32 ||
           p == Precision::kFp32;
}

/// A value that the precision holds exactly; floats in [-1, 1].
inline double random_value(Machine& m, Precision p) {
    const float unit = static_cast<float>(m.pick(-4096, 4096)) / 4096.0F;
    switch (p) {
        case Precision::kInt4:
            return m.pick(-8, 7);
        case Precision::kInt8:
            return m.pick(-128, 127);
        case Precision::kInt16:
            return m.pick(-3000, 3000);
        case Precision::kInt32:
            return m.pick(-2000000, 2000000);
        case Precision::kFp16:
            return npusim::half_to_float(npusim::float_to_half(unit));
        case Precision::kBf16:
            return npusim::bf16_to_float(npusim::float_to_bf16(unit));
        default:
            return npusim::cut_to_tf32(unit);
    }
}

/// Element `index` of a packed array.
inline void put_number(Machine& m, uint64_t base, size_t index, Precision p, double value) {
    const auto number = static_cast<float>(value);
    switch (p) {
        case Precision::kInt4: {
            const uint64_t at = base + index / 2;
            const auto old = m.get<uint8_t>(at);
            const auto nibble = static_cast<uint8_t>(static_cast<int>(value) & 0xf);
            m.put<uint8_t>(at, static_cast<uint8_t>(index % 2 != 0 ? (old & 0x0f) | nibble << 4
                                                                   : (old & 0xf0) | nibble));
            break;
        }
        case Precision::kInt8:
            m.put<int8_t>(base + index, static_cast<int8_t>(value));
            break;
        case Precision::kInt16:
            m.put<int16_t>(base + 2 * index, static_cast<int16_t>(value));
            break;
        case Precision::kInt32:
            m.put<int32_t>(base + 4 * index, static_cast<int32_t>(value));
            break;
        case Precision::kFp16:
            m.put<uint16_t>(base + 2 * index, npusim::float_to_half(number));
            break;
        case Precision::kBf16:
            m.put<uint16_t>(base + 2 * index, npusim::float_to_bf16(number));
            break;
        case Precision::kTf32: {
            // The low thirteen fraction bits must be ignored: fill them.
            const auto raw = std::bit_cast<uint32_t>(number);
            m.put<uint32_t>(base + 4 * index, raw | 0x1fffU);
            break;
        }
        default:
            m.put<float>(base + 4 * index, number);
            break;
    }
}

inline double read_number(const Machine& m, uint64_t base, size_t index, Precision p) {
    switch (p) {
        case Precision::kInt8:
            return m.get<int8_t>(base + index);
        case Precision::kInt16:
            return m.get<int16_t>(base + 2 * index);
        case Precision::kInt32:
            return m.get<int32_t>(base + 4 * index);
        case Precision::kFp16:
            return npusim::half_to_float(m.get<uint16_t>(base + 2 * index));
        case Precision::kBf16:
            return npusim::bf16_to_float(m.get<uint16_t>(base + 2 * index));
        default:
            return m.get<float>(base + 4 * index);
    }
}

}  // namespace engine_test
