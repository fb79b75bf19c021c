// SPDX-License-Identifier: MIT
// Matrix products (1x1 convolutions) in every precision of the MAC array, full bypass behind it.
#include "engine_golden.hpp"
#include "engine_numbers.hpp"

using namespace engine_test;
namespace cna = npuregs::cna;
namespace core = npuregs::core;
namespace dpu = npuregs::dpu;

namespace {

struct Product {
    Precision in = Precision::kFp16;
    Precision out = Precision::kFp32;
    int m = 1, k = 1, n = 1;
    std::vector<double> a, b;  // [m][k], [n][k], exact in the input precision
    uint32_t features = 0, weights = 0, dst = 0;
};

void place(Machine& m, Product& p) {
    const int lanes = 128 / bits_of(p.in);
    const int group = p.in == Precision::kInt4 ? 64 : p.in == Precision::kInt8 ? 32 : 16;
    const size_t bytes = static_cast<size_t>(bits_of(p.in));
    p.features = m.alloc(static_cast<size_t>(p.m * p.k) * bytes / 8);
    p.weights = m.alloc(static_cast<size_t>(p.n * p.k) * bytes / 8);
    for (int row = 0; row < p.m; ++row) {
        for (int k = 0; k < p.k; ++k) {
            p.a.push_back(random_value(m, p.in));
            put_number(m, p.features,
                       static_cast<size_t>((k / lanes * p.m + row) * lanes + k % lanes), p.in,
                       p.a.back());
        }
    }
    for (int n = 0; n < p.n; ++n) {
        for (int k = 0; k < p.k; ++k) {
            p.b.push_back(random_value(m, p.in));
            const int kernels = std::min(group, p.n - n / group * group);
            const int depth = std::min(32, p.k - k / 32 * 32);
            const int index =
                n / group * group * p.k + k / 32 * 32 * kernels + n % group * depth + k % 32;
            put_number(m, p.weights, static_cast<size_t>(index), p.in, p.b.back());
        }
    }
    const int out_lanes = 128 / bits_of(p.out);
    const int surfaces = (p.n + out_lanes - 1) / out_lanes;
    p.dst = m.alloc(static_cast<size_t>(surfaces * p.m) * 16);
}

void program(const Product& p, Task& t) {
    const auto u = [](int value) { return static_cast<uint32_t>(value); };
    const auto code = static_cast<uint32_t>(p.in);
    t.set(cna::kConvCon1, code << 7 | code << 4 | 1U << 29);
    t.set(cna::kConvCon3, 9);
    t.set(cna::kDataSize0, 1U << 16 | u(p.m));
    t.set(cna::kFcDataSize0, 1U << 16 | u(p.m));
    t.set(cna::kDataSize1, u(p.k));
    t.set(cna::kDataSize2, 1);
    t.set(cna::kDataSize3, u(p.m));
    const auto per_kernel = u(p.k * bits_of(p.in) / 8);
    t.set(cna::kWeightSize0, per_kernel * u(p.n));
    t.set(cna::kWeightSize1, per_kernel);
    t.set(cna::kWeightSize2, 1U << 24 | 1U << 16 | u(p.n));
    t.set(cna::kCvtCon0, 0xb);
    t.set(cna::kFeatureDataAddr, p.features);
    t.set(cna::kDcompAddr0, p.weights);
    t.set(cna::kDmaCon1, 1);
    t.set(cna::kDmaCon2, u(p.m - 1));
    t.set(core::kMiscCfg, code << 8);
    t.set(core::kDataoutSize0, u(p.m - 1) << 16);
    t.set(core::kDataoutSize1, u(p.n - 1));
    const bool tf32 = p.in == Precision::kTf32;
    const auto proc = tf32 ? static_cast<uint32_t>(Precision::kFp32) : code;
    const int surfaces = std::min(8, p.n * bits_of(p.out) / 128);
    t.set(dpu::kFeatureModeCfg, 0x1e4);
    t.set(dpu::kDataFormat, static_cast<uint32_t>(p.out) << 29 | proc << 26 | proc);
    t.set(dpu::kDstBaseAddr, p.dst);
    t.set(dpu::kDstSurfStride, u(p.m * 16));
    t.set(dpu::kSurfaceAdd, u(p.m * 16 * surfaces));
    t.set(dpu::kDataCubeHeight, u(p.m - 1));
    t.set(dpu::kDataCubeChannel, u(p.n - 1) << 16 | u(p.n - 1));
    t.set(dpu::kBsCfg, 0x53);
    t.set(dpu::kBsOwCfg, u(surfaces - 1) * 0x124U | 2);
    t.set(dpu::kWdmaSize0, u(p.n - 1));
    t.set(dpu::kWdmaSize1, u(p.m - 1) << 16);
    t.set(dpu::kBnCfg, 0x53);
    t.set(dpu::kEwCfg, 0x383);
    t.set(dpu::kOutCvtScale, 1);
}

void run_products(Precision in, Precision out, double bound, int count) {
    for (int i = 0; i < count; ++i) {
        Machine m(1U << 19, 50000 + static_cast<uint32_t>(i));
        Product p;
        p.in = in;
        p.out = out;
        p.m = m.pick(1, 40);
        p.k = m.pick(1, 8) * 32;
        p.n = m.pick(1, 4) * (in == Precision::kInt4 ? 64 : 32);
        place(m, p);
        Task t;
        program(p, t);
        INFO("case " << i << " m " << p.m << " k " << p.k << " n " << p.n);
        m.run_both(t, kMaskConv);
        const int lanes = 128 / bits_of(out);
        double worst = 0;
        for (int row = 0; row < p.m; ++row) {
            for (int n = 0; n < p.n; ++n) {
                double exact = 0;
                double size = 0;
                for (int k = 0; k < p.k; ++k) {
                    const double product = p.a[static_cast<size_t>(row * p.k + k)] *
                                           p.b[static_cast<size_t>(n * p.k + k)];
                    exact += product;
                    size += std::fabs(product);
                }
                if (out == Precision::kInt16)
                    exact = std::clamp(exact, -32768.0, 32767.0);
                const auto index = static_cast<size_t>((n / lanes * p.m + row) * lanes + n % lanes);
                const double error = std::fabs(read_number(m, p.dst, index, out) - exact);
                worst = std::max(worst, floating(in) ? error / (size + 1e-6) : error);
            }
        }
        REQUIRE(worst <= bound);
    }
}

}  // namespace

TEST_CASE("integer products are exact") {
    run_products(Precision::kInt8, Precision::kInt32, 0, 60);
    run_products(Precision::kInt16, Precision::kInt32, 0, 40);
    run_products(Precision::kInt4, Precision::kInt16, 0, 40);
    run_products(Precision::kInt4, Precision::kInt32, 0, 40);
}

TEST_CASE("int8 products leave as exact fp32") {
    run_products(Precision::kInt8, Precision::kFp32, 0, 30);
}

// Bound: relative to the sum of magnitudes; fp32 accumulation of at most 256 terms stays below
// 256 * 2^-24, the output format adds half a unit of its last place.
TEST_CASE("float products stay within the stated bound") {
    run_products(Precision::kFp16, Precision::kFp32, 1.6e-5, 40);
    run_products(Precision::kFp16, Precision::kFp16, 5.2e-4, 40);
    run_products(Precision::kBf16, Precision::kFp32, 1.6e-5, 40);
    run_products(Precision::kBf16, Precision::kBf16, 4.1e-3, 40);
    run_products(Precision::kTf32, Precision::kFp32, 1.6e-5, 40);
}

TEST_CASE("fp16 conversion covers every bit pattern") {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto half = static_cast<uint16_t>(bits);
        const float value = npusim::half_to_float(half);
        const int exponent = static_cast<int>(half >> 10 & 0x1f);
        if (exponent == 0x1f) {
            CHECK((std::isinf(value) || std::isnan(value)));
            continue;
        }
        const double magnitude = exponent == 0 ? std::ldexp(half & 0x3ff, -24)
                                               : std::ldexp((half & 0x3ff) + 1024, exponent - 25);
        if (value != ((half & 0x8000) != 0 ? -magnitude : magnitude) ||
            npusim::float_to_half(value) != half)
            FAIL("fp16 pattern " << bits);
    }
    // Ties go to the even neighbour, overflow to infinity.
    CHECK(npusim::float_to_half(1.0F + 0x1p-11F) == 0x3c00);
    CHECK(npusim::float_to_half(1.0F + 0x3p-11F) == 0x3c02);
    CHECK(npusim::float_to_half(65519.0F) == 0x7bff);
    CHECK(npusim::float_to_half(65520.0F) == 0x7c00);
    CHECK(npusim::float_to_half(0x1p-25F) == 0);
    CHECK(npusim::float_to_half(0x3p-26F) == 1);
}
