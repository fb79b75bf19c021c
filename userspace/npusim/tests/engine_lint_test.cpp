// SPDX-License-Identifier: MIT
#include "engine_conv_case.hpp"

using namespace engine_test;
namespace cna = npuregs::cna;
namespace dpu = npuregs::dpu;

namespace {

bool finds(const std::vector<std::string>& findings, const std::string& part) {
    return std::any_of(findings.begin(), findings.end(), [&](const std::string& line) {
        return line.find(part) != std::string::npos;
    });
}

}  // namespace

TEST_CASE("lint names what a job's author should look at") {
    Machine m(1U << 18);
    ConvCase c;
    c.input = golden::Cube<int>(32, 20, 20);
    c.shape.kernel_h = c.shape.kernel_w = 3;
    c.kernels = 32;
    c.out_channels = 32;
    c.out_h = c.out_w = 18;
    fill_conv_data(m, c);
    c.records = true;
    Task good;
    place_conv(m, c, good);
    good.set(cna::kCbufCon0, 10U << 4 | 2);
    good.set(cna::kCbufCon1, 5);
    CHECK(npusim::lint_task(good.regs(), kMaskConvRdma).empty());

    Task t = good;
    t.set(cna::kCbufCon0, 11U << 4);
    CHECK(finds(npusim::lint_task(t.regs(), kMaskConvRdma), "at least one CBUF bank"));
    t.set(cna::kCbufCon0, 12U << 4 | 2);
    CHECK(finds(npusim::lint_task(t.regs(), kMaskConvRdma),
                "CNA.CBUF_CON0=0xc2 {WEIGHT_BANK=12 DATA_BANK=2}: 14 banks are assigned"));
    t = good;
    t.set(cna::kDataSize0, 600U << 16 | 20);
    t.set(cna::kFcDataSize0, 600U << 16 | 20);
    CHECK(finds(npusim::lint_task(t.regs(), kMaskConvRdma), "cut it into row tiles"));
    t = good;
    t.set(cna::kWeightSize1, 1);
    CHECK(finds(npusim::lint_task(t.regs(), kMaskConvRdma), "bytes per kernel should be 288"));
    t = good;
    t.set(dpu::kDataFormat, 0);
    CHECK(finds(npusim::lint_task(t.regs(), kMaskConvRdma), "BS_MUL_CFG"));
    t = good;
    t.set(dpu::kDstSurfStride, 64);
    CHECK(finds(npusim::lint_task(t.regs(), kMaskConvRdma), "surfaces overwrite each other"));
    t = good;
    t.set(cna::kConvCon1, 5);
    const auto refused = npusim::lint_task(t.regs(), kMaskConvRdma);
    REQUIRE(refused.size() == 1);
    CHECK(refused[0].find("CONV_MODE must be") != std::string::npos);
}
