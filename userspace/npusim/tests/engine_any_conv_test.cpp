// SPDX-License-Identifier: MIT
// Convolutions in every precision of the MAC array against the golden rules: direct, depthwise,
// deconvolution, backward surfaces, per-channel operands of BS, BN and EW.
#include "engine_any_conv.hpp"

using namespace engine_test;

namespace {

void run_cases(Precision in, int count, uint32_t seed) {
    for (int i = 0; i < count; ++i) {
        Machine m(1U << 19, seed + static_cast<uint32_t>(i));
        AnyConv c = make_any_conv(m, in);
        Task t;
        place_any_conv(m, c, t);
        INFO("case " << i << (c.depthwise ? " depthwise" : " direct")
                     << (c.deconv ? " deconv" : ""));
        m.run_both(t, c.mask());
        const int lanes = c.out_lanes();
        const int surfaces = (c.real_channels + lanes - 1) / lanes;
        const auto plane = static_cast<size_t>(c.out_h * c.out_w);
        size_t wrong = 0;
        std::vector<std::pair<uint64_t, size_t>> written;
        for (int s = 0; s < surfaces; ++s)
            written.emplace_back(c.surface_address(s), plane * 16);
        for (int oc = 0; oc < surfaces * lanes; ++oc)
            for (size_t p = 0; p < plane; ++p) {
                const int x = static_cast<int>(p) % c.out_w;
                const Expected want = expected_any(c, oc, static_cast<int>(p) / c.out_w, x);
                const size_t index =
                    p * static_cast<size_t>(lanes) + static_cast<size_t>(oc % lanes);
                const double got = read_number(m, c.surface_address(oc / lanes), index, c.out);
                wrong += std::fabs(got - want.value) <= want.bound ? 0 : 1;
            }
        REQUIRE(wrong == 0);
        REQUIRE(m.stray_writes(written) == 0);
    }
}

}  // namespace

TEST_CASE("int8 and int16 convolutions with all stages equal the golden rules") {
    run_cases(Precision::kInt8, case_count(150), 100000);
    run_cases(Precision::kInt16, case_count(100), 200000);
}

TEST_CASE("int4 convolutions equal the golden rules") {
    run_cases(Precision::kInt4, case_count(100), 300000);
}

TEST_CASE("float convolutions stay within the stated bound") {
    run_cases(Precision::kFp16, case_count(200), 400000);
    run_cases(Precision::kBf16, case_count(100), 500000);
    run_cases(Precision::kTf32, case_count(60), 600000);
}
