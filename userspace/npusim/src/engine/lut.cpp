// SPDX-License-Identifier: MIT
#include "lut.hpp"

#include <cmath>

namespace npusim {

namespace dpu_regs = npuregs::dpu;

void LutTables::select(uint32_t access_cfg) {
    writing_ = npuregs::get(dpu_regs::kLutAccessCfgLutAccessType, access_cfg) != 0;
    table_ = npuregs::get(dpu_regs::kLutAccessCfgLutTableId, access_cfg);
    address_ = npuregs::get(dpu_regs::kLutAccessCfgLutAddr, access_cfg);
}

void LutTables::write(uint32_t value) {
    if (writing_ && address_ < kEntries)
        tables_[table_][address_] = static_cast<int16_t>(value);
    if (address_ < kEntries)
        ++address_;
}

uint32_t LutTables::read() {
    const uint32_t value =
        address_ < kEntries ? static_cast<uint16_t>(tables_[table_][address_]) : 0;
    if (address_ < kEntries)
        ++address_;
    return value;
}

namespace {

/// One table with its range, as the choice below sees it.
struct Range {
    const std::array<int16_t, LutTables::kEntries>& table;
    int64_t start;
    int64_t end;
    uint32_t shift;
    int32_t under_scale, over_scale;
    uint32_t under_shift, over_shift;
};

Range le_range(const LutDesc& lut, const std::array<int16_t, LutTables::kEntries>& table) {
    return {table,
            lut.le_start,
            lut.le_end,
            lut.le_shift,
            lut.le_under_scale,
            lut.le_over_scale,
            lut.le_under_shift,
            lut.le_over_shift};
}

Range lo_range(const LutDesc& lut, const std::array<int16_t, LutTables::kEntries>& table) {
    return {table,
            lut.lo_start,
            lut.lo_end,
            lut.lo_shift,
            lut.lo_under_scale,
            lut.lo_over_scale,
            lut.lo_under_shift,
            lut.lo_over_shift};
}

/// NVDLA table choice: a hit in one table takes it; hits in both go by the hybrid priority, and
/// misses of both on the same side by the under-/overflow priority.
template <typename T>
bool choose_lo(const LutDesc& lut, const Range& le, const Range& lo, T x) {
    const bool le_under = x < static_cast<T>(le.start);
    const bool lo_under = x < static_cast<T>(lo.start);
    const bool le_over = x >= static_cast<T>(le.end);
    const bool lo_over = x >= static_cast<T>(lo.end);
    const bool le_hit = !le_under && !le_over;
    const bool lo_hit = !lo_under && !lo_over;
    if (le_hit != lo_hit)
        return lo_hit;
    if (le_under && lo_under)
        return lut.lo_on_underflow;
    if (le_over && lo_over)
        return lut.lo_on_overflow;
    return lut.lo_has_priority_hybrid;
}

int64_t evaluate_int(const Range& range, int64_t x) {
    if (x < range.start) {
        const int64_t slope = (x - range.start) * range.under_scale;
        return range.table.front() + shift_even(slope, range.under_shift);
    }
    const int64_t distance = x - range.start;
    const int64_t index = distance >> range.shift;
    if (x >= range.end || index >= int64_t{LutTables::kEntries} - 1) {
        const int64_t slope = (x - range.end) * range.over_scale;
        return range.table.back() + shift_even(slope, range.over_shift);
    }
    const int64_t low = range.table[static_cast<size_t>(index)];
    const int64_t high = range.table[static_cast<size_t>(index) + 1];
    const int64_t fraction = distance - (index << range.shift);
    return low + shift_even((high - low) * fraction, range.shift);
}

float slope_of(int32_t scale, uint32_t shift) {
    return std::ldexp(static_cast<float>(scale), -static_cast<int>(shift));
}

float evaluate_float(const Range& range, float x) {
    const auto start = static_cast<float>(range.start);
    const auto end = static_cast<float>(range.end);
    if (x < start)
        return range.table.front() + (x - start) * slope_of(range.under_scale, range.under_shift);
    const float position = std::ldexp(x - start, -static_cast<int>(range.shift));
    if (x >= end || position >= static_cast<float>(LutTables::kEntries - 1))
        return range.table.back() + (x - end) * slope_of(range.over_scale, range.over_shift);
    const auto index = static_cast<size_t>(position);
    const float low = range.table[index];
    const float high = range.table[index + 1];
    return low + (high - low) * (position - static_cast<float>(index));
}

}  // namespace

int64_t LutTables::evaluate(const LutDesc& lut, int64_t x) const {
    const Range le = le_range(lut, tables_[0]);
    const Range lo = lo_range(lut, tables_[1]);
    return evaluate_int(choose_lo(lut, le, lo, x) ? lo : le, x);
}

float LutTables::evaluate(const LutDesc& lut, float x) const {
    if (std::isnan(x))
        return x;
    const Range le = le_range(lut, tables_[0]);
    const Range lo = lo_range(lut, tables_[1]);
    return evaluate_float(choose_lo(lut, le, lo, x) ? lo : le, x);
}

}  // namespace npusim
