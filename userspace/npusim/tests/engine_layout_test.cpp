// SPDX-License-Identifier: MIT
// Data movements the vendor compiler builds from DPU tasks: fused residual operands, strided
// writes, turned blocks, border copies.
#include "engine_conv_case.hpp"
#include "engine_flying.hpp"

using namespace engine_test;
namespace core = npuregs::core;
namespace dpu = npuregs::dpu;
namespace rdma = npuregs::dpu_rdma;

TEST_CASE("fused addition reads even surfaces by MRDMA and odd ones by ERDMA") {
    for (int i = 0; i < case_count(200); ++i) {
        Machine m(1U << 18, 40000 + static_cast<uint32_t>(i));
        ConvCase c = make_conv_case(m, false);
        Task t;
        place_conv(m, c, t);
        golden::Cube<int> other(c.out_channels, c.out_h, c.out_w);
        for (int& v : other.data)
            v = m.pick(-128, 127);
        NativeLayout layout;
        layout.row_pitch = c.out_w;
        layout.surface_pitch = c.out_w * c.out_h + m.pick(0, 4);
        layout.base = m.alloc(static_cast<size_t>(layout.surface_pitch) * c.out_channels);
        for (int ch = 0; ch < other.channels; ++ch) {
            for (int y = 0; y < other.height; ++y) {
                for (int x = 0; x < other.width; ++x)
                    m.put<int8_t>(layout.at(ch, y, x), static_cast<int8_t>(other.at(ch, y, x)));
            }
        }
        const int zero = m.pick(-128, 127);
        const int scale = m.pick(1, 32767);
        const int shift = m.pick(0, 8);
        const auto surface = static_cast<uint32_t>(layout.surface_pitch * 16);
        const auto gap = static_cast<uint32_t>((2 * layout.surface_pitch - c.out_w * c.out_h) * 16);
        t.set(dpu::kEwCfg, 0x904202c0);
        t.set(dpu::kEwCvtOffsetValue, static_cast<uint32_t>(-zero));
        t.set(dpu::kEwCvtScaleValue, static_cast<uint32_t>(shift << 16 | scale));
        t.set(rdma::kErdmaCfg, 0x40000004);
        t.set(rdma::kFeatureModeCfg, 0x7d00);
        t.set(rdma::kSrcBaseAddr, layout.base);
        t.set(rdma::kEwBaseAddr, layout.base + surface);
        t.set(rdma::kEwSurfStride, surface);
        t.set(rdma::kSurfNotch, gap);
        t.set(rdma::kEwSurfNotch, gap);
        INFO("case " << i);
        m.run_both(t, kMaskConvRdma);
        size_t wrong = 0;
        for (int oc = 0; oc < c.written_channels(); ++oc) {
            for (int y = 0; y < c.out_h; ++y) {
                for (int x = 0; x < c.out_w; ++x) {
                    const int64_t e = golden::divide_even(
                        int64_t{other.at(oc, y, x) - zero} * scale, static_cast<unsigned>(shift));
                    wrong += m.get<int8_t>(c.out.at(oc, y, x)) != expected_int8(c, oc, y, x, e);
                }
            }
        }
        REQUIRE(wrong == 0);
    }
}

TEST_CASE("a phase of a resize writes every n-th pixel of every n-th row") {
    // Geometry of a vendor stream: the write DMA sees rows of one pixel, SURFACE_ADD steps rows.
    Machine m(1U << 18);
    ConvCase c;
    c.shape.depthwise = true;
    c.shape.kernel_h = c.shape.kernel_w = 2;
    c.input = golden::Cube<int>(16, 7, 9);
    c.kernels = 1;
    c.out_channels = c.real_channels = 64;
    c.out_h = 6;
    c.out_w = 8;
    fill_conv_data(m, c);
    Task t;
    place_conv(m, c, t);
    constexpr int kFactor = 2;
    const int wide = c.out_w * kFactor;
    NativeLayout big;
    big.row_pitch = wide;
    big.surface_pitch = wide * c.out_h * kFactor;
    big.base = m.alloc(static_cast<size_t>(big.surface_pitch) * 64);
    t.set(dpu::kDstBaseAddr, big.base + 16);  // phase x = 1, y = 0
    t.set(dpu::kDstSurfStride, static_cast<uint32_t>(big.surface_pitch * 16));
    t.set(dpu::kSurfaceAdd, static_cast<uint32_t>(wide * kFactor * 16));
    t.set(dpu::kDataCubeNotchAddr, (kFactor - 1) * 0x10001U);
    set_write_size(t, 1, c.out_w, c.out_h * 64);
    m.run_both(t, c.records ? kMaskConvRdma : kMaskConv);
    size_t wrong = 0;
    std::vector<std::pair<uint64_t, size_t>> atoms;
    for (int oc = 0; oc < 64; ++oc) {
        for (int y = 0; y < c.out_h; ++y) {
            for (int x = 0; x < c.out_w; ++x) {
                const uint64_t at = big.at(oc, y * kFactor, x * kFactor + 1);
                wrong += m.get<int8_t>(at) != expected_int8(c, oc, y, x, 0) ? 1 : 0;
                if (oc % 16 == 0)
                    atoms.emplace_back(at, 16);
            }
        }
    }
    CHECK(wrong == 0);
    CHECK(m.stray_writes(atoms) == 0);
}

namespace {

/// Both directions of a turned tensor of `channels` (whole atoms of eight) times w x h pixels.
void turn_and_back(Machine& m, int channels, int w, int h) {
    const int pixels = w * h;
    const auto bytes = static_cast<size_t>(pixels * channels * 2);
    const uint32_t atoms = m.alloc(bytes);
    const uint32_t planes = m.alloc(bytes);
    const uint32_t back = m.alloc(bytes);
    const auto atom_place = [&](uint32_t base, int c, int p) {
        return base + static_cast<uint32_t>((c / 8 * pixels + p) * 16 + c % 8 * 2);
    };
    std::vector<int> values;
    for (int i = 0; i < channels * pixels; ++i) {
        values.push_back(m.pick(-32768, 32767));
        m.put<int16_t>(atom_place(atoms, i / pixels, i % pixels),
                       static_cast<int16_t>(values.back()));
    }
    // Forward: every channel becomes a plane of `pixels` elements.
    Task t = flying_task(Precision::kInt16, Precision::kInt16);
    set_read_size(t, w, h, channels);
    set_write_size(t, pixels / 8, 1, channels);
    t.set(dpu::kBsOwCfg, 0x80007fe);
    t.set(dpu::kDstBaseAddr, planes);
    t.set(dpu::kDstSurfStride, static_cast<uint32_t>(pixels * 2));
    t.set(dpu::kSurfaceAdd, static_cast<uint32_t>(pixels * 2 * 8));
    t.set(rdma::kSrcBaseAddr, atoms);
    m.run_both(t, kMaskFlying);
    size_t wrong = 0;
    for (int i = 0; i < channels * pixels; ++i)
        wrong +=
            m.get<int16_t>(planes + static_cast<uint32_t>(i * 2)) != values[static_cast<size_t>(i)];
    REQUIRE(wrong == 0);
    // Back: a plane is a row of the source, its atoms are surfaces one atom apart.
    t = flying_task(Precision::kInt16, Precision::kInt16);
    set_read_size(t, 1, channels, pixels);
    set_write_size(t, 1, channels / 8, pixels);
    t.set(dpu::kBsOwCfg, 0x80007fe);
    t.set(dpu::kDstBaseAddr, back);
    t.set(dpu::kDstSurfStride, 16);
    t.set(dpu::kSurfaceAdd, 8 * 16);
    t.set(dpu::kDataCubeNotchAddr, static_cast<uint32_t>(pixels - 1) * 0x10001U);
    t.set(rdma::kSrcBaseAddr, planes);
    t.set(rdma::kSrcDmaCfg, static_cast<uint32_t>(pixels / 8 - 1) << 19);
    const int rows = (channels - 1) * (pixels / 8) + 1;
    t.set(rdma::kSurfNotch, static_cast<uint32_t>((1 - rows) * 16));
    m.run_both(t, kMaskFlying);
    for (int i = 0; i < channels * pixels; ++i)
        wrong += m.get<int16_t>(atom_place(back, i / pixels, i % pixels)) !=
                 values[static_cast<size_t>(i)];
    REQUIRE(wrong == 0);
}

}  // namespace

TEST_CASE("turned blocks make planes from atoms and atoms from planes") {
    for (int i = 0; i < case_count(50); ++i) {
        Machine m(1U << 18, 950000 + static_cast<uint32_t>(i));
        INFO("case " << i);
        turn_and_back(m, 8 * m.pick(1, 4), m.pick(1, 20), 8 * m.pick(1, 3));
    }
}

TEST_CASE("in flying mode the read size rules, not the DPU cube") {
    Machine m(1U << 16);
    const uint32_t from = m.alloc(26 * 16);
    const uint32_t to = m.alloc(26 * 16);
    for (uint32_t i = 0; i < 26 * 8; ++i)
        m.put<int16_t>(from + 2 * i, static_cast<int16_t>(i));
    Task t = flying_task(Precision::kInt16, Precision::kInt16);
    set_read_size(t, 26, 1, 8);
    t.set(dpu::kDataCubeHeight, 25);  // the whole tensor, as vendor streams leave it
    set_write_size(t, 26, 1, 8);
    t.set(dpu::kDstBaseAddr, to);
    t.set(rdma::kSrcBaseAddr, from);
    m.run_both(t, kMaskFlying);
    size_t wrong = 0;
    for (uint32_t i = 0; i < 26 * 8; ++i)
        wrong += m.get<int16_t>(to + 2 * i) != static_cast<int16_t>(i);
    CHECK(wrong == 0);
    CHECK(m.stray_writes({{to, 26 * 16}}) == 0);
}
