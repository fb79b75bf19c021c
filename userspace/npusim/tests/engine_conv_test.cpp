// SPDX-License-Identifier: MIT
#include "engine_conv_case.hpp"

using namespace engine_test;
namespace rdma = npuregs::dpu_rdma;
namespace dpu = npuregs::dpu;

namespace {

size_t wrong_elements(const Machine& m, const ConvCase& c) {
    size_t wrong = 0;
    for (int oc = 0; oc < c.written_channels(); ++oc) {
        for (int y = 0; y < c.out_h; ++y) {
            for (int x = 0; x < c.out_w; ++x)
                wrong += m.get<int8_t>(c.out.at(oc, y, x)) != expected_int8(c, oc, y, x, 0) ? 1 : 0;
        }
    }
    return wrong;
}

std::vector<std::pair<uint64_t, size_t>> written_rows(const ConvCase& c) {
    std::vector<std::pair<uint64_t, size_t>> rows;
    for (int oc = 0; oc < c.written_channels(); oc += 16) {
        for (int y = 0; y < c.out_h; ++y)
            rows.emplace_back(c.out.at(oc, y, 0), static_cast<size_t>(c.out_w) * 16);
    }
    return rows;
}

void run_cases(bool depthwise, int count, uint32_t seed) {
    for (int i = 0; i < count; ++i) {
        Machine m(1U << 18, seed + static_cast<uint32_t>(i));
        ConvCase c = make_conv_case(m, depthwise);
        Task task;
        place_conv(m, c, task);
        INFO("case " << i << " seed " << seed + static_cast<uint32_t>(i));
        m.run_both(task, c.records ? kMaskConvRdma : kMaskConv);
        REQUIRE(wrong_elements(m, c) == 0);
        REQUIRE(m.stray_writes(written_rows(c)) == 0);
    }
}

}  // namespace

TEST_CASE("int8 direct convolution equals the golden rules") {
    run_cases(false, case_count(700), 1000);
}

TEST_CASE("int8 depthwise convolution equals the golden rules") {
    run_cases(true, case_count(400), 500000);
}
