// SPDX-License-Identifier: MIT
// Look-up tables with random ranges, steps, priorities and slopes, integer and fp16.
#include "engine_flying.hpp"
#include "engine_golden.hpp"

using namespace engine_test;
namespace dpu = npuregs::dpu;

namespace {

constexpr int kEntries = 513;
constexpr int kPixels = 24;

struct Table {
    std::vector<int> entries;
    int start = 0, shift = 0;
    int under_scale = 0, under_shift = 0, over_scale = 0, over_shift = 0;

    [[nodiscard]] int end() const { return start + ((kEntries - 1) << shift); }
    template <typename T>
    [[nodiscard]] bool holds(T x) const {
        return x >= static_cast<T>(start) && x < static_cast<T>(end());
    }
};

struct Lookup {
    Table le, lo;
    bool lo_hybrid = false, lo_over = false, lo_under = false;

    /// NVDLA's choice: the table that holds x; both: by hybrid priority; none: by the priority of
    /// the side, or by hybrid priority when x lies between the tables.
    template <typename T>
    [[nodiscard]] const Table& choose(T x) const {
        if (le.holds(x) && lo.holds(x))
            return lo_hybrid ? lo : le;
        if (le.holds(x))
            return le;
        if (lo.holds(x))
            return lo;
        if (x < static_cast<T>(le.start) && x < static_cast<T>(lo.start))
            return lo_under ? lo : le;
        if (x >= static_cast<T>(le.end()) && x >= static_cast<T>(lo.end()))
            return lo_over ? lo : le;
        return lo_hybrid ? lo : le;
    }

    [[nodiscard]] int64_t integer(int64_t x) const {
        const Table& t = choose(x);
        if (x < t.start)
            return t.entries.front() + golden::divide_even((x - t.start) * t.under_scale,
                                                           static_cast<unsigned>(t.under_shift));
        if (x >= t.end())
            return t.entries.back() + golden::divide_even((x - t.end()) * t.over_scale,
                                                          static_cast<unsigned>(t.over_shift));
        const int64_t step = int64_t{1} << t.shift;
        const auto i = static_cast<size_t>((x - t.start) / step);
        const int64_t rise = int64_t{t.entries[i + 1]} - t.entries[i];
        return t.entries[i] +
               golden::divide_even(rise * ((x - t.start) % step), static_cast<unsigned>(t.shift));
    }

    [[nodiscard]] double real(double x) const {
        const Table& t = choose(x);
        if (x < t.start)
            return t.entries.front() + (x - t.start) * std::ldexp(t.under_scale, -t.under_shift);
        if (x >= t.end())
            return t.entries.back() + (x - t.end()) * std::ldexp(t.over_scale, -t.over_shift);
        const double at = (x - t.start) / std::ldexp(1.0, t.shift);
        const auto i = static_cast<size_t>(at);
        return t.entries[i] + (t.entries[i + 1] - t.entries[i]) * (at - static_cast<double>(i));
    }
};

Table random_table(Machine& m) {
    Table t;
    for (int i = 0; i < kEntries; ++i)
        t.entries.push_back(m.pick(-32768, 32767));
    t.shift = m.pick(0, 6);
    t.start = m.pick(-20000, 5000);
    t.under_scale = m.chance(50) ? 0 : m.pick(-32768, 32767);
    t.over_scale = m.chance(50) ? 0 : m.pick(-32768, 32767);
    t.under_shift = m.pick(0, 31);
    t.over_shift = m.pick(0, 31);
    return t;
}

void upload(Machine& m, const Lookup& lookup) {
    for (npusim::TaskEngine* engine : {&m.fast(), &m.reference()}) {
        for (uint32_t id = 0; id < 2; ++id) {
            engine->write_lut(dpu::kLutAccessCfg, 1U << 17 | id << 16);
            for (const int v : (id == 0 ? lookup.le : lookup.lo).entries)
                engine->write_lut(dpu::kLutAccessData, static_cast<uint32_t>(v) & 0xffffU);
        }
    }
}

Task lookup_task(const Lookup& lookup, Precision type, uint32_t from, uint32_t to) {
    const auto out_type = type == Precision::kFp16 ? Precision::kFp32 : Precision::kInt32;
    Task t = lookup_row(type, out_type, kPixels, from, to);
    t.set(dpu::kLutCfg, (lookup.lo_hybrid ? 0x40U : 0U) | (lookup.lo_over ? 0x20U : 0U) |
                            (lookup.lo_under ? 0x10U : 0U) | 0x8U);
    t.set(dpu::kLutInfo, static_cast<uint32_t>(lookup.lo.shift << 16 | lookup.le.shift << 8));
    const auto range = [&](uint32_t start, uint32_t scale, uint32_t shift, const Table& table) {
        t.set(start, static_cast<uint32_t>(table.start));
        t.set(start + 4, static_cast<uint32_t>(table.end()));
        t.set(scale, (static_cast<uint32_t>(table.over_scale) & 0xffffU) << 16 |
                         (static_cast<uint32_t>(table.under_scale) & 0xffffU));
        t.set(shift, static_cast<uint32_t>(table.over_shift << 5 | table.under_shift));
    };
    range(dpu::kLutLeStart, dpu::kLutLeSlopeScale, dpu::kLutLeSlopeShift, lookup.le);
    range(dpu::kLutLoStart, dpu::kLutLoSlopeScale, dpu::kLutLoSlopeShift, lookup.lo);
    return t;
}

Lookup random_lookup(Machine& m) {
    return {random_table(m), random_table(m), m.chance(50), m.chance(50), m.chance(50)};
}

}  // namespace

TEST_CASE("integer look-ups equal the golden rules") {
    for (int i = 0; i < case_count(150); ++i) {
        Machine m(1U << 14, 800000 + static_cast<uint32_t>(i));
        const Lookup lookup = random_lookup(m);
        upload(m, lookup);
        const uint32_t from = m.alloc(kPixels * 16);
        const uint32_t to = m.alloc(kPixels * 32);
        std::vector<int> inputs;
        for (uint32_t k = 0; k < kPixels * 8; ++k) {
            inputs.push_back(m.pick(-32768, 32767));
            m.put<int16_t>(from + 2 * k, static_cast<int16_t>(inputs.back()));
        }
        m.run_both(lookup_task(lookup, Precision::kInt16, from, to), kMaskFlying);
        size_t wrong = 0;
        for (uint32_t k = 0; k < inputs.size(); ++k) {
            const uint32_t place = to + (k % 8 / 4 * kPixels + k / 8) * 16 + k % 4 * 4;
            wrong += m.get<int32_t>(place) != golden::limit32(lookup.integer(inputs[k])) ? 1 : 0;
        }
        INFO("case " << i);
        REQUIRE(wrong == 0);
    }
}

TEST_CASE("fp16 look-ups stay within fp32 rounding") {
    for (int i = 0; i < case_count(100); ++i) {
        Machine m(1U << 14, 810000 + static_cast<uint32_t>(i));
        const Lookup lookup = random_lookup(m);
        upload(m, lookup);
        const uint32_t from = m.alloc(kPixels * 16);
        const uint32_t to = m.alloc(kPixels * 32);
        std::vector<double> inputs;
        for (uint32_t k = 0; k < kPixels * 8; ++k) {
            const auto half =
                npusim::float_to_half(static_cast<float>(m.pick(-30000, 30000)) / 1.5F);
            inputs.push_back(npusim::half_to_float(half));
            m.put<uint16_t>(from + 2 * k, half);
        }
        m.run_both(lookup_task(lookup, Precision::kFp16, from, to), kMaskFlying);
        size_t wrong = 0;
        for (uint32_t k = 0; k < inputs.size(); ++k) {
            const double want = lookup.real(inputs[k]);
            const double got = m.get<float>(to + (k % 8 / 4 * kPixels + k / 8) * 16 + k % 4 * 4);
            // The position has 16 bits behind the point. Numbers below 2 may have more: rounding
            // costs half a bit times the steepest rise, from one end of int16 to the other.
            const double position = std::fabs(inputs[k]) < 2 ? 65535 * 0x1p-17 : 0;
            const double bound = position + 0x1p-8 + std::fabs(want) * 0x1p-22;
            const bool near = std::fabs(got - want) <= bound;
            if (!near)
                UNSCOPED_INFO("input " << inputs[k] << ": got " << got << ", want " << want);
            wrong += near ? 0 : 1;
        }
        INFO("case " << i);
        REQUIRE(wrong == 0);
    }
}
