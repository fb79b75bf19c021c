// SPDX-License-Identifier: MIT
// The two look-up tables of the DPU: LE ("linear/exponent") and LO ("linear only") as in NVDLA,
// here both with 513 entries and a linear index.
#pragma once

#include <array>
#include <cstdint>

#include "desc.hpp"

namespace npusim {

class LutTables {
 public:
    static constexpr uint32_t kEntries = 513;

    /// LUT_ACCESS_CFG: chooses table, direction and start address.
    void select(uint32_t access_cfg);
    /// LUT_ACCESS_DATA write: stores one entry; the address advances.
    void write(uint32_t value);
    /// LUT_ACCESS_DATA read.
    [[nodiscard]] uint32_t read();
    void reset() { *this = LutTables{}; }

    /// Table value for an int32 input, interpolated, 64-bit because slopes may leave 32 bits.
    [[nodiscard]] int64_t evaluate(const LutDesc& lut, int64_t x) const;

    /// The same for the float path: index and slope arithmetic in fp32.
    [[nodiscard]] float evaluate(const LutDesc& lut, float x) const;

 private:
    using Table = std::array<int16_t, kEntries>;

    std::array<Table, 2> tables_{};  // LE, LO
    uint32_t table_ = 0;
    uint32_t address_ = 0;
    bool writing_ = false;
};

}  // namespace npusim
