// SPDX-License-Identifier: MIT
// Element-wise tasks of the DPU in float: stages with immediate operands, every EW algorithm, both
// engines sharing one tensor (COMB_USE 3), all float formats in and out.
#include "engine_flying.hpp"
#include "engine_golden.hpp"
#include "engine_numbers.hpp"

using namespace engine_test;
namespace dpu = npuregs::dpu;
namespace rdma = npuregs::dpu_rdma;

namespace {

struct FloatStage {
    bool alu = false, mul = false, relu = false, relux = false, prelu = false;
    int algo = 2;
    float alu_operand = 0;
    double mul_operand = 1;
    float limit = 0;
};

struct FloatFlying {
    Precision main_type = Precision::kFp16, other_type = Precision::kFp16;
    Precision out_type = Precision::kFp16;
    int width = 1, height = 1, channels = 16;
    golden::Cube<double> main, other;
    FloatStage bs, bn;
    bool ew = false, ew_mul = false, ew_prelu = false, ew_relu = false, shared = false;
    int ew_algo = 2;
    uint32_t dst = 0;
    int out_surface = 0;
};

constexpr double kStep = 1.0 / (1 << 24);

FloatStage random_stage(Machine& m) {
    FloatStage s;
    s.alu = m.chance(60);
    s.algo = m.one_of({0, 1, 2, 2, 4});
    s.alu_operand = static_cast<float>(random_value(m, Precision::kFp32));
    s.mul = m.chance(50);
    s.mul_operand = random_value(m, Precision::kFp16);
    s.prelu = s.mul && m.chance(40);
    s.relu = m.chance(30);
    s.relux = s.relu && m.chance(50);
    s.limit = 0.5F;
    return s;
}

/// A value and how far fp32 arithmetic may be away from it.
struct Real {
    double value = 0;
    double bound = 0;

    void set(double next, double factor, double extra = 0) {
        bound = bound * factor + extra + std::fabs(next) * kStep;
        value = next;
    }
};

void combine(Real& v, int algo, double operand) {
    switch (algo) {
        case 0:
            v.value = std::max(v.value, operand);
            break;
        case 1:
            v.value = std::min(v.value, operand);
            break;
        case 2:
            v.set(v.value + operand, 1);
            break;
        case 3:
            v.set(v.value / operand, std::fabs(1 / operand));
            break;
        case 4:
            v.set(v.value - operand, 1);
            break;
        case 5:
            v.value = std::fabs(v.value);
            break;
        case 6:
            v.value = -v.value;
            break;
        case 7:
            v.value = std::floor(v.value);
            break;
        default:
            v.value = std::ceil(v.value);
            break;
    }
}

void apply(const FloatStage& s, Real& v) {
    if (s.alu)
        combine(v, s.algo, s.alu_operand);
    if (s.mul && (!s.prelu || v.value < 0))
        v.set(v.value * s.mul_operand, std::fabs(s.mul_operand));
    if (s.relu)
        v.value = std::max(v.value, 0.0);
    if (s.relux)
        v.value = std::min(v.value, double{s.limit});
}

/// Nothing where rounding could flip floor, ceil or the choice of PReLU.
bool decided(const FloatFlying& f, const Real& before) {
    const double near = std::fabs(before.value - std::nearbyint(before.value));
    return !f.ew || f.ew_mul || f.ew_algo < 7 || near > before.bound;
}

std::optional<Real> expected(const FloatFlying& f, int c, int y, int x) {
    Real v{f.main.at(c, y, x), 0};
    apply(f.bs, v);
    apply(f.bn, v);
    if (f.ew) {
        if (!decided(f, v))
            return std::nullopt;
        const double operand = f.other.at(c, y, x);
        if (!f.ew_mul)
            combine(v, f.ew_algo, operand);
        else if (!f.ew_prelu || v.value < 0)
            v.set(v.value * operand, std::fabs(operand));
        if (f.ew_relu)
            v.value = std::max(v.value, 0.0);
    }
    const int fraction = f.out_type == Precision::kFp32   ? 24
                         : f.out_type == Precision::kFp16 ? 11
                                                          : 8;
    v.bound += std::ldexp(std::fabs(v.value) + v.bound, -fraction) + std::ldexp(1.0, -25);
    return v;
}

FloatFlying random_flying(Machine& m) {
    FloatFlying f;
    f.main_type = m.one_of({Precision::kFp16, Precision::kFp32, Precision::kBf16});
    const bool half = f.main_type != Precision::kBf16;
    f.other_type = m.chance(50) ? Precision::kFp32 : half ? Precision::kFp16 : Precision::kBf16;
    f.out_type = m.one_of({Precision::kFp16, Precision::kFp32, Precision::kBf16});
    f.width = m.pick(1, 15);
    f.height = m.pick(1, 7);
    f.channels = 16 * m.pick(1, 3);
    f.main = golden::Cube<double>(f.channels, f.height, f.width);
    f.other = f.main;
    for (double& v : f.main.data)
        v = 4 * random_value(m, f.main_type);
    for (double& v : f.other.data) {
        v = random_value(m, f.other_type);
        v = std::fabs(v) < 0.01 ? 0.25 : v;  // divisors
    }
    f.bs = random_stage(m);
    f.bn = random_stage(m);
    f.shared = m.chance(20);
    f.ew = !f.shared && m.chance(80);
    f.ew_mul = m.chance(30);
    f.ew_prelu = f.ew_mul && m.chance(40);
    f.ew_algo = m.pick(0, 8);
    f.ew_relu = m.chance(30);
    return f;
}

void set_stage(Task& t, uint32_t cfg, const FloatStage& s) {
    t.set(cfg, static_cast<uint32_t>((s.alu ? 0 : 2) | (s.mul ? 0 : 16) | (s.prelu ? 32 : 0) |
                                     (s.relu ? 0 : 64) | (s.relux ? 128 : 0) | s.algo << 16));
    t.set(cfg + 4, std::bit_cast<uint32_t>(s.alu_operand));
    t.set(cfg + 8, uint32_t{npusim::float_to_half(static_cast<float>(s.mul_operand))} << 16);
    t.set(cfg + 12, std::bit_cast<uint32_t>(s.limit));
}

uint32_t place(Machine& m, const golden::Cube<double>& cube, Precision type, int surface) {
    const int lanes = 128 / bits_of(type);
    const uint32_t base = m.alloc(static_cast<size_t>(surface * (cube.channels / lanes)) * 16);
    for (int c = 0; c < cube.channels; ++c)
        for (int y = 0; y < cube.height; ++y)
            for (int x = 0; x < cube.width; ++x)
                put_number(m, base + static_cast<uint64_t>(c / lanes * surface * 16),
                           static_cast<size_t>((y * cube.width + x) * lanes + c % lanes), type,
                           cube.at(c, y, x));
    return base;
}

void program(Machine& m, FloatFlying& f, Task& t) {
    const int surface = f.width * f.height + m.pick(0, 3);
    const uint32_t main = place(m, f.main, f.main_type, surface);
    const uint32_t other = place(m, f.other, f.other_type, surface);
    f.out_surface = f.width * f.height + m.pick(0, 3);
    f.dst = m.alloc(static_cast<size_t>(f.out_surface * f.channels) * 4);
    set_read_size(t, f.width, f.height, f.channels);
    set_write_size(t, f.width, f.height, f.channels);
    set_out_pitch(t, f.out_surface * 16);
    const auto proc = static_cast<uint32_t>(f.main_type);
    const auto pitch = static_cast<uint32_t>(surface * 16);
    t.set(dpu::kFeatureModeCfg, 0x1e5);
    t.set(dpu::kDataFormat, static_cast<uint32_t>(f.out_type) << 29 | proc << 26 | proc);
    t.set(dpu::kDstBaseAddr, f.dst);
    t.set(dpu::kBsOwCfg, 2);
    set_stage(t, dpu::kBsCfg, f.bs);
    set_stage(t, dpu::kBnCfg, f.bn);
    const uint32_t operand_size = bits_of(f.other_type) == 16 ? 2 : 3;
    t.set(dpu::kEwCfg, (f.ew ? 0U : 0x3U) | (f.ew_mul ? 4U : 0U) | (f.ew_prelu ? 0x20U : 0U) |
                           0x1c0U | (f.ew_relu ? 0U : 0x200U) |
                           static_cast<uint32_t>(f.ew_algo) << 16 | operand_size << 22 | 1U << 28);
    t.set(dpu::kOutCvtScale, f.out_type == Precision::kFp16 ? 0x10001 : 1);
    t.set(rdma::kSrcBaseAddr, main);
    t.set(rdma::kErdmaCfg, f.ew || f.shared ? 1U << 30 | operand_size << 2 : 1U);
    t.set(rdma::kEwBaseAddr, f.shared ? main + pitch : other);
    t.set(rdma::kEwSurfStride, pitch);
    t.set(rdma::kFeatureModeCfg, proc << 15 | 0x7801 | (f.shared ? 3U << 8 : 0U));
    const auto gap = static_cast<uint32_t>((surface - f.width * f.height) * 16);
    t.set(rdma::kSurfNotch, f.shared ? gap + pitch : gap);
    t.set(rdma::kEwSurfNotch, f.shared ? gap + pitch : gap);
}

}  // namespace

TEST_CASE("float element-wise tasks stay within the stated bound") {
    const int count = case_count(300);
    for (int i = 0; i < count; ++i) {
        Machine m(1U << 18, 700000 + static_cast<uint32_t>(i));
        FloatFlying f = random_flying(m);
        Task t;
        program(m, f, t);
        INFO("case " << i);
        m.run_both(t, kMaskFlying);
        const int lanes = 128 / bits_of(f.out_type);
        const auto plane = static_cast<size_t>(f.width * f.height);
        size_t wrong = 0;
        std::vector<std::pair<uint64_t, size_t>> written;
        for (int c = 0; c < f.channels; ++c) {
            const uint64_t surface = f.dst + static_cast<uint64_t>(c / lanes * f.out_surface * 16);
            written.emplace_back(surface, plane * 16);
            for (size_t p = 0; p < plane; ++p) {
                const auto want =
                    expected(f, c, static_cast<int>(p) / f.width, static_cast<int>(p) % f.width);
                const double got = read_number(
                    m, surface, p * static_cast<size_t>(lanes) + static_cast<size_t>(c % lanes),
                    f.out_type);
                wrong += want && !(std::fabs(got - want->value) <= want->bound) ? 1 : 0;
            }
        }
        REQUIRE(wrong == 0);
        REQUIRE(m.stray_writes(written) == 0);
    }
}
