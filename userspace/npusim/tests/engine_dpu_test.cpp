// SPDX-License-Identifier: MIT
// Element-wise tasks of the DPU (flying mode) against the golden rules, integers only.
#include "engine_flying.hpp"
#include "engine_golden.hpp"
#include "engine_machine.hpp"

using namespace engine_test;
namespace dpu = npuregs::dpu;
namespace rdma = npuregs::dpu_rdma;

namespace {

/// Settings of BS or BN with immediate operands.
struct Stage {
    bool on = false, alu = false, mul = false, relu = false, relux = false, prelu = false;
    int algo = 2;
    int64_t alu_operand = 0;
    int mul_operand = 1, shift = 0, shift_negative = 0;
    int64_t limit = 0;
};

struct Flying {
    golden::Cube<int> main, other;
    int width = 1, height = 1, channels = 16;
    int main_bytes = 1, other_bytes = 1, out_bytes = 1;
    Stage bs, bn;
    bool ew = false, ew_mul = false, ew_convert = false, offset_first = true, ew_relu = false;
    bool ew_prelu = false, ew_immediate = false, convert_half_up = false;
    int ew_algo = 2, ew_offset = 0, ew_scale = 1, ew_shift = 0, ew_truncate = 0;
    int ew_truncate_negative = 0;
    int immediate = 0;
    int out_scale = 1, out_shift = 0, out_offset = 0;
    bool out_half_up = false, out_offset_first = false;
    int notch = 0, line_notch = 0, gap = 0;
    uint32_t out_base = 0;
    int out_surface = 0;
};

Stage random_stage(Machine& m) {
    Stage s;
    s.on = m.chance(60);
    s.alu = m.chance(70);
    s.algo = m.one_of({2, 2, 4, 0, 1});
    s.alu_operand = m.pick(-3000, 3000);
    s.mul = m.chance(50);
    s.mul_operand = m.pick(-32768, 32767);
    s.shift = m.pick(0, 20);
    s.shift_negative = m.chance(60) ? s.shift : m.pick(0, 20);
    s.prelu = s.mul && m.chance(30);
    s.relu = m.chance(30);
    s.relux = s.relu && m.chance(50);
    s.limit = m.pick(0, 100000);
    return s;
}

int64_t half_up(int64_t value, int shift) {
    return shift == 0 ? value : (value + (int64_t{1} << (shift - 1))) >> shift;
}

int64_t scaled(int64_t value, int shift, bool up) {
    return up ? half_up(value, shift) : golden::divide_even(value, static_cast<unsigned>(shift));
}

int64_t combine(int algo, int64_t a, int64_t b) {
    switch (algo) {
        case 0:
            return a > b ? a : b;
        case 1:
            return a < b ? a : b;
        case 2:
            return a + b;
        case 4:
            return a - b;
        case 5:
            return a < 0 ? -a : a;
        case 6:
            return -a;
        default:
            return a;
    }
}

int64_t product(int64_t v, int64_t operand, bool prelu, int shift, int shift_negative) {
    const bool negative = v < 0;
    return golden::divide_even(prelu && !negative ? v : v * operand,
                               static_cast<unsigned>(negative ? shift_negative : shift));
}

int64_t apply(const Stage& s, int64_t v) {
    if (!s.on)
        return v;
    if (s.alu)
        v = combine(s.algo, v, s.alu_operand);
    if (s.mul)
        v = product(v, s.mul_operand, s.prelu, s.shift, s.shift_negative);
    v = golden::limit32(v);
    if (s.relu)
        v = v < 0 ? 0 : v;
    return s.relux && v > s.limit ? s.limit : v;
}

int64_t expected(const Flying& f, int c, int y, int x) {
    int64_t v = apply(f.bn, apply(f.bs, f.main.at(c, y, x)));
    if (f.ew) {
        int64_t e = f.ew_immediate ? f.immediate : f.other.at(c, y, x);
        if (f.ew_convert) {
            e = f.offset_first
                    ? scaled((e + f.ew_offset) * f.ew_scale, f.ew_shift, f.convert_half_up)
                    : scaled(e * f.ew_scale, f.ew_shift, f.convert_half_up) + f.ew_offset;
            e = golden::limit32(e);
        }
        v = f.ew_mul ? product(v, e, f.ew_prelu, f.ew_truncate, f.ew_truncate_negative)
                     : combine(f.ew_algo, v, e);
        v = golden::limit32(v);
        if (f.ew_relu && v < 0)
            v = 0;
    }
    v = f.out_offset_first ? scaled((v + f.out_offset) * f.out_scale, f.out_shift, f.out_half_up)
                           : scaled(v * f.out_scale, f.out_shift, f.out_half_up) + f.out_offset;
    const int64_t top = (int64_t{1} << (8 * f.out_bytes - 1)) - 1;
    return golden::limit(v, -top - 1, top);
}

int random_element(Machine& m, int bytes) {
    return bytes == 1   ? m.pick(-128, 127)
           : bytes == 2 ? m.pick(-32768, 32767)
                        : m.pick(-2000000, 2000000);
}

uint32_t precision_code(int bytes) {
    return bytes == 1 ? 0 : bytes == 2 ? 1 : 4;
}

void put_element(Machine& m, uint64_t at, int bytes, int value) {
    if (bytes == 1)
        m.put<int8_t>(at, static_cast<int8_t>(value));
    else if (bytes == 2)
        m.put<int16_t>(at, static_cast<int16_t>(value));
    else
        m.put<int32_t>(at, value);
}

int get_element(const Machine& m, uint64_t at, int bytes) {
    return bytes == 1 ? m.get<int8_t>(at) : bytes == 2 ? m.get<int16_t>(at) : m.get<int32_t>(at);
}

/// Byte address in a tensor of 16-byte atoms with `row` and `surface` pitches in atoms.
uint64_t native(uint32_t base, int bytes, int row, int surface, int c, int y, int x) {
    const int lanes = 16 / bytes;
    return base + static_cast<uint64_t>((c / lanes * surface + y * row + x) * 16) +
           static_cast<uint64_t>(c % lanes * bytes);
}

uint32_t place_cube(Machine& m, const golden::Cube<int>& cube, int bytes, int row, int surface) {
    const int lanes = 16 / bytes;
    const uint32_t base =
        m.alloc(static_cast<size_t>(surface) * ((cube.channels + lanes - 1) / lanes) * 16);
    for (int c = 0; c < cube.channels; ++c) {
        for (int y = 0; y < cube.height; ++y) {
            for (int x = 0; x < cube.width; ++x)
                put_element(m, native(base, bytes, row, surface, c, y, x), bytes, cube.at(c, y, x));
        }
    }
    return base;
}

void set_stage(Task& t, uint32_t cfg, npuregs::Field negative, const Stage& s) {
    t.set(cfg, static_cast<uint32_t>((s.on ? 0 : 1) | (s.alu ? 0 : 2) | (s.mul ? 0 : 16) |
                                     (s.prelu ? 32 : 0) | (s.relu ? 0 : 64) | (s.relux ? 128 : 0) |
                                     s.algo << 16));
    t.set(cfg + 4, static_cast<uint32_t>(s.alu_operand));
    t.set(cfg + 8, static_cast<uint32_t>(s.mul_operand) << 16 | static_cast<uint32_t>(s.shift)
                                                                    << 8);
    t.set(cfg + 12, static_cast<uint32_t>(s.limit));
    t.set(dpu::kDataFormat, negative, static_cast<uint32_t>(s.shift_negative));
}

Flying random_flying(Machine& m) {
    Flying f;
    f.width = m.pick(1, 20);
    f.height = m.pick(1, 9);
    f.main_bytes = m.one_of({1, 1, 2, 4});
    f.other_bytes = m.one_of({1, 1, 2, 4});
    f.out_bytes = m.one_of({1, 1, 2, 4});
    f.channels = 16 * m.pick(1, 4);
    f.main = golden::Cube<int>(f.channels, f.height, f.width);
    f.other = f.main;
    for (int& v : f.main.data)
        v = random_element(m, f.main_bytes);
    for (int& v : f.other.data)
        v = random_element(m, f.other_bytes);
    f.bs = random_stage(m);
    f.bn = random_stage(m);
    f.ew = m.chance(70);
    f.ew_mul = m.chance(25);
    f.ew_prelu = f.ew_mul && m.chance(30);
    f.ew_algo = m.one_of({2, 2, 0, 1, 4, 5, 6, 7, 8});
    f.ew_convert = m.chance(60);
    f.offset_first = m.chance(60);
    f.convert_half_up = m.chance(20);
    f.ew_offset = m.pick(-200, 200);
    f.ew_scale = m.pick(-32768, 32767);
    f.ew_shift = m.pick(0, 16);
    f.ew_truncate = m.pick(0, 20);
    f.ew_truncate_negative = m.chance(60) ? f.ew_truncate : m.pick(0, 20);
    f.ew_relu = m.chance(30);
    f.ew_immediate = m.chance(20);
    f.immediate = m.pick(-5000, 5000);
    f.out_scale = m.pick(1, 65535);
    f.out_shift = m.pick(0, 32);
    f.out_offset = m.pick(-128, 127);
    f.out_half_up = m.chance(20);
    f.out_offset_first = m.chance(20);
    f.notch = m.chance(40) ? m.pick(1, 5) : 0;
    f.line_notch = m.chance(40) ? m.pick(1, 5) : 0;
    f.gap = m.chance(40) ? m.pick(1, 7) : 0;
    return f;
}

void program(Machine& m, Flying& f, Task& t) {
    const int row = f.width + f.line_notch;
    const int surface = (f.height - 1) * row + f.width + f.gap;
    const uint32_t main = place_cube(m, f.main, f.main_bytes, row, surface);
    const uint32_t other = place_cube(m, f.other, f.other_bytes, row, surface);
    const int out_row = f.width + f.notch;
    f.out_surface = out_row * f.height + f.gap;
    f.out_base = m.alloc(static_cast<size_t>(f.out_surface) * f.channels * f.out_bytes);
    set_read_size(t, f.width, f.height, f.channels);
    set_write_size(t, f.width, f.height, f.channels);
    set_out_pitch(t, f.out_surface * 16);
    t.set(dpu::kFeatureModeCfg, 0x1e5);
    t.set(dpu::kDataFormat, precision_code(f.out_bytes) << 29 | precision_code(f.main_bytes) << 26 |
                                static_cast<uint32_t>(f.ew_truncate_negative) << 16);
    t.set(dpu::kDstBaseAddr, f.out_base);
    t.set(dpu::kDataCubeNotchAddr, static_cast<uint32_t>(f.notch) * 0x10001U);
    t.set(dpu::kBsOwCfg, 2);
    set_stage(t, dpu::kBsCfg, dpu::kDataFormatBsMulShiftValueNeg, f.bs);
    set_stage(t, dpu::kBnCfg, dpu::kDataFormatBnMulShiftValueNeg, f.bn);
    const uint32_t operand_size = f.other_bytes == 1 ? 1 : f.other_bytes == 2 ? 2 : 3;
    t.set(dpu::kEwCfg, (f.ew ? 0U : 0x3U) | (f.ew_mul ? 4U : 0U) | (f.ew_prelu ? 0x20U : 0U) |
                           (f.ew_immediate ? 0U : 0x40U) | 0x80U | (f.ew_convert ? 0U : 0x100U) |
                           (f.ew_relu ? 0U : 0x200U) | static_cast<uint32_t>(f.ew_algo) << 16 |
                           operand_size << 22 | 1U << 28 | (f.convert_half_up ? 1U << 30 : 0U) |
                           (f.offset_first ? 1U << 31 : 0U));
    t.set(dpu::kEwCvtOffsetValue, static_cast<uint32_t>(f.ew_offset));
    t.set(dpu::kEwCvtScaleValue, static_cast<uint32_t>(f.ew_truncate) << 22 |
                                     static_cast<uint32_t>(f.ew_shift) << 16 |
                                     (static_cast<uint32_t>(f.ew_scale) & 0xffffU));
    t.set(dpu::kEwOpValue0, static_cast<uint32_t>(f.immediate));
    t.set(dpu::kOutCvtOffset, static_cast<uint32_t>(f.out_offset));
    t.set(dpu::kOutCvtScale, static_cast<uint32_t>(f.out_scale));
    t.set(dpu::kOutCvtShift, static_cast<uint32_t>(f.out_shift) | (f.out_half_up ? 1U << 30 : 0U) |
                                 (f.out_offset_first ? 1U << 31 : 0U));
    t.set(rdma::kDataCubeHeight,
          static_cast<uint32_t>(f.line_notch) << 16 | static_cast<uint32_t>(f.height - 1));
    t.set(rdma::kSrcBaseAddr, main);
    t.set(rdma::kErdmaCfg, f.ew && !f.ew_immediate ? 1U << 30 | operand_size << 2 : 1U);
    t.set(rdma::kEwBaseAddr, other);
    t.set(rdma::kEwSurfStride, static_cast<uint32_t>(surface * 16));
    t.set(rdma::kFeatureModeCfg, precision_code(f.main_bytes) << 15 | 0x7801);
    t.set(rdma::kSrcDmaCfg, static_cast<uint32_t>(f.line_notch) << 19);
    t.set(rdma::kSurfNotch, static_cast<uint32_t>(f.gap * 16));
}

}  // namespace

TEST_CASE("element-wise tasks equal the golden rules") {
    const int count = case_count(900);
    for (int i = 0; i < count; ++i) {
        Machine m(1U << 18, 9000 + static_cast<uint32_t>(i));
        Flying f = random_flying(m);
        Task t;
        program(m, f, t);
        INFO("case " << i);
        m.run_both(t, kMaskFlying);
        size_t wrong = 0;
        std::vector<std::pair<uint64_t, size_t>> rows;
        for (int c = 0; c < f.channels; ++c) {
            for (int y = 0; y < f.height; ++y) {
                const int row = f.width + f.notch;
                rows.emplace_back(
                    native(f.out_base, f.out_bytes, row, f.out_surface, c, y, 0) & ~uint64_t{15},
                    static_cast<size_t>(f.width) * 16);
                for (int x = 0; x < f.width; ++x) {
                    const uint64_t at =
                        native(f.out_base, f.out_bytes, row, f.out_surface, c, y, x);
                    wrong += get_element(m, at, f.out_bytes) != expected(f, c, y, x) ? 1 : 0;
                }
            }
        }
        REQUIRE(wrong == 0);
        REQUIRE(m.stray_writes(rows) == 0);
    }
}
