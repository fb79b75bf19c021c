// SPDX-License-Identifier: MIT
// The RK3576 decoder in front of the same arithmetic: the golden rules with RK3576 registers.
#include "engine_conv_case.hpp"

using namespace engine_test;
namespace cna = npuregs::cna;
namespace dpu = npuregs::dpu;
namespace rdma = npuregs::dpu_rdma;

namespace {

void program_cna(const ConvCase& c, uint32_t weights, bool single_lines, Task& t) {
    const auto u = [](int value) { return static_cast<uint32_t>(value); };
    const golden::ConvShape& s = c.shape;
    const uint32_t size = u(c.input.width - 1) << 16 | u(c.input.height - 1);
    t.set(0x100c, (single_lines ? 1U << 29 : 0U) | (s.depthwise ? 1U : 0U));
    t.set(0x1014, u(s.stride_y << 3 | s.stride_x));
    t.set(0x1024, u(s.kernel_w - 1) << 24 | u(s.kernel_h - 1) << 16 | u(c.kernels - 1));
    t.set(0x102c, size);
    t.set(0x1034, u(c.out_w * c.out_h - 1));
    t.set(0x1048, 0xb);
    t.set(0x1074, s.depthwise ? 0x8080 : 0);
    t.set(0x1078, size);
    t.set(0x107c, u(c.input.channels - 1));
    t.set(0x1080, u(s.pad_left) << 8 | u(s.pad_top));
    t.set(0x1084, u(s.pad_value));
    t.set(0x1088, c.in.base);
    t.set(0x1090, u(c.in.row_pitch * (single_lines ? 1 : 4)));
    t.set(0x1094, u(c.in.surface_pitch));
    t.set(0x1110, weights);
    t.set(0x3018, s.depthwise ? 0xa : 0x10000001);
    t.set(0x301c, u(c.out_h - 1) << 16 | u(c.out_w - 1));
    t.set(0x3020, u(c.out_channels - 1));
    t.set(0x3024, u(s.truncate));
}

void program_dpu(const ConvCase& c, uint32_t records, uint32_t config, Task& t) {
    const auto u = [](int value) { return static_cast<uint32_t>(value); };
    const bool dw = c.shape.depthwise;
    const int surfaces = dw ? 4 : 2;
    t.set(0x400c, dw ? 0x4000000c : 0x40000004);
    t.set(0x4018, c.out.base);
    t.set(0x401c, u(c.out.surface_pitch));
    t.set(0x4028, u(c.out.row_pitch - c.out_w));
    t.set(0x402c, u(c.out_channels - 1));
    t.set(0x4030, u(c.out_channels - 1) << 16);
    t.set(0x4034, u(c.out_h - 1) << 16 | u(c.out_w - 1));
    t.set(0x4038, dw ? 0x100092 : 0x120080);
    t.set(0x4050, dw ? 0x23333 : 0x80011111);
    t.set(0x4060, c.relu ? 0x902 : 0x903);
    t.set(0x407c, 0x10041c1);
    t.set(0x4088, 0x80000000);
    t.set(0x40ac, u(c.out_zero));
    t.set(0x40b0, u(c.out_scale));
    t.set(0x40b4, u(c.out_shift));
    const int cube = (c.out_h - 1) * c.out.row_pitch + c.out_w;
    t.set(0x40b8, u(surfaces * c.out.surface_pitch - cube));
    t.set(0x500c, u(c.out_w - 1));
    t.set(0x5010, u(c.out_h - 1));
    t.set(0x5014, u(c.out_channels - 1));
    t.set(0x501c, dw ? 0x110 : 0x710);
    t.set(0x5020, records);
    t.set(0x5024, config);
    t.set(0x5034, 0x41);
}

}  // namespace

TEST_CASE("RK3576 convolutions equal the golden rules") {
    const bool depthwise = GENERATE(false, true);
    for (int i = 0; i < 60; ++i) {
        Machine m(1U << 18, 70000 + static_cast<uint32_t>(i));
        ConvCase c = make_conv_case(m, depthwise);
        if (c.image != 0 || c.shape.dilation_x != 1 || c.shape.dilation_y != 1)
            continue;
        c.records = true;
        c.relux = 0;
        c.out_channels = depthwise ? c.input.channels : c.out_channels;
        Task rk3588;
        place_conv(m, c, rk3588);
        if (depthwise) {
            // Bias only; the zero point of all weights is -128.
            const uint32_t bias = m.alloc(static_cast<size_t>(c.out_channels) * 4);
            for (int ch = 0; ch < c.out_channels; ++ch)
                m.put<int32_t>(bias + static_cast<uint32_t>(4 * ch), c.bias[ch]);
            rk3588.set(rdma::kBsBaseAddr, bias);
            c.ow.assign(c.ow.size(), 128);
        }
        const uint32_t config = m.alloc(64);
        m.put<uint16_t>(config, 14 | 14 << 8);
        Task t;
        program_cna(c, rk3588.get(cna::kDcompAddr0), m.chance(50), t);
        program_dpu(c, rk3588.get(rdma::kBsBaseAddr), config, t);
        npusim::TaskEngine engine(
            npusim::EngineOptions{m.chance(50), 1, npusim::RegisterMap::kRk3576});
        INFO("case " << i);
        const auto error = engine.run(t.regs(), kMaskConvRdma, m.dma());
        INFO((error ? error->text : std::string("ran")));
        REQUIRE_FALSE(error);
        size_t wrong = 0;
        for (int oc = 0; oc < c.out_channels; ++oc) {
            for (int y = 0; y < c.out_h; ++y) {
                for (int x = 0; x < c.out_w; ++x) {
                    if (depthwise)
                        c.mul[oc] = 1 << 14;  // times one: the golden rule has a multiplier
                    wrong += m.get<int8_t>(c.out.at(oc, y, x)) != expected_int8(c, oc, y, x, 0);
                }
            }
        }
        REQUIRE(wrong == 0);
    }
}

TEST_CASE("unknown RK3576 settings are refused with offset and value") {
    Machine m(1U << 16);
    npusim::TaskEngine engine(npusim::EngineOptions{false, 1, npusim::RegisterMap::kRk3576});
    Task t;
    t.set(0x100c, 0x10);
    const auto error = engine.run(t.regs(), kMaskConvRdma, m.dma());
    REQUIRE(error);
    CHECK(error->kind == npusim::ExecError::Kind::kRefused);
    CHECK(error->text == "RK3576 register 0x100c=0x10: unknown mode bits");
    CHECK(engine.run(t.regs(), kMaskPool, m.dma()));
}
