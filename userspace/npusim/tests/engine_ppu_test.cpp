// SPDX-License-Identifier: MIT
// Pooling against the golden rules: from memory and fed by the DPU.
#include "engine_golden.hpp"
#include "engine_numbers.hpp"

using namespace engine_test;
namespace dpu = npuregs::dpu;
namespace ppu = npuregs::ppu;
namespace rdma = npuregs::dpu_rdma;
namespace ppu_rdma = npuregs::ppu_rdma;

namespace {

struct Pool {
    golden::Cube<int> input;
    int method = 1;  // 0 average, 1 max, 2 min
    int bytes = 1;
    int kernel_h = 1, kernel_w = 1, stride_y = 1, stride_x = 1;
    int top = 0, left = 0, bottom = 0, right = 0;
    int pad = 0;
    int out_h = 1, out_w = 1, notch = 0, gap = 0;
    int recip_w = 0, recip_h = 0;
    uint32_t src = 0, dst = 0;

    [[nodiscard]] int lanes() const { return 16 / bytes; }
    [[nodiscard]] int out_surface() const { return (out_w + notch) * out_h + gap; }
};

Pool random_pool(Machine& m) {
    Pool p;
    p.method = m.pick(0, 2);
    p.bytes = m.one_of({1, 1, 2});
    p.input = golden::Cube<int>(p.lanes() * m.pick(1, 4), m.pick(1, 14), m.pick(1, 14));
    for (int& v : p.input.data)
        v = p.bytes == 1 ? m.pick(-128, 127) : m.pick(-32768, 32767);
    p.kernel_h = m.pick(1, std::min(8, p.input.height));
    p.kernel_w = m.pick(1, std::min(8, p.input.width));
    p.stride_y = m.pick(1, 3);
    p.stride_x = m.pick(1, 3);
    if (m.chance(50)) {
        p.top = m.pick(0, std::min(7, p.kernel_h - 1));
        p.left = m.pick(0, std::min(7, p.kernel_w - 1));
        p.bottom = m.pick(0, std::min(7, p.kernel_h - 1));
        p.right = m.pick(0, std::min(7, p.kernel_w - 1));
    }
    p.pad = m.pick(-128, 127);
    p.out_h = (p.input.height + p.top + p.bottom - p.kernel_h) / p.stride_y + 1;
    p.out_w = (p.input.width + p.left + p.right - p.kernel_w) / p.stride_x + 1;
    p.notch = m.chance(30) ? m.pick(1, 4) : 0;
    p.gap = m.chance(30) ? m.pick(1, 6) : 0;
    p.recip_w = 65536 / p.kernel_w;
    p.recip_h = 65536 / p.kernel_h;
    return p;
}

int64_t expected(const Pool& p, int c, int oy, int ox) {
    int64_t result = p.method == 0 ? 0 : p.method == 1 ? INT64_MIN : INT64_MAX;
    for (int ky = 0; ky < p.kernel_h; ++ky) {
        for (int kx = 0; kx < p.kernel_w; ++kx) {
            const int64_t v =
                p.input.at(c, oy * p.stride_y + ky - p.top, ox * p.stride_x + kx - p.left, p.pad);
            if (p.method == 0)
                result += v;
            else
                result = p.method == 1 ? std::max(result, v) : std::min(result, v);
        }
    }
    if (p.method == 0)
        result = golden::divide_even(result * p.recip_w * p.recip_h, 32);
    const int64_t top = p.bytes == 1 ? 127 : 32767;
    return golden::limit(result, -top - 1, top);
}

uint64_t place(uint32_t base, const Pool& p, int row, int surface, int c, int y, int x) {
    return base + static_cast<uint64_t>((c / p.lanes() * surface + y * row + x) * 16 +
                                        c % p.lanes() * p.bytes);
}

void put_input(Machine& m, Pool& p) {
    const int surface = p.input.width * p.input.height;
    p.src = m.alloc(static_cast<size_t>(surface) * p.input.channels * p.bytes);
    for (int c = 0; c < p.input.channels; ++c) {
        for (int y = 0; y < p.input.height; ++y) {
            for (int x = 0; x < p.input.width; ++x) {
                const uint64_t at = place(p.src, p, p.input.width, surface, c, y, x);
                if (p.bytes == 1)
                    m.put<int8_t>(at, static_cast<int8_t>(p.input.at(c, y, x)));
                else
                    m.put<int16_t>(at, static_cast<int16_t>(p.input.at(c, y, x)));
            }
        }
    }
}

void program_ppu(Machine& m, Pool& p, bool from_memory, Task& t) {
    const auto u = [](int value) { return static_cast<uint32_t>(value); };
    p.dst = m.alloc(static_cast<size_t>(p.out_surface()) * p.input.channels * p.bytes);
    t.set(ppu::kDataCubeInWidth, u(p.input.width - 1));
    t.set(ppu::kDataCubeInHeight, u(p.input.height - 1));
    t.set(ppu::kDataCubeInChannel, u(p.input.channels - 1));
    t.set(ppu::kDataCubeOutWidth, u(p.out_w - 1));
    t.set(ppu::kDataCubeOutHeight, u(p.out_h - 1));
    t.set(ppu::kDataCubeOutChannel, u(p.input.channels - 1));
    t.set(ppu::kOperationModeCfg, u(p.method) | (from_memory ? 0x10U : 0U) | u(p.notch) << 16);
    t.set(ppu::kPoolingKernelCfg, u(p.stride_y - 1) << 20 | u(p.stride_x - 1) << 16 |
                                      u(p.kernel_h - 1) << 8 | u(p.kernel_w - 1));
    t.set(ppu::kRecipKernelWidth, u(p.recip_w));
    t.set(ppu::kRecipKernelHeight, u(p.recip_h));
    t.set(ppu::kPoolingPaddingCfg, u(p.bottom) << 12 | u(p.right) << 8 | u(p.top) << 4 | u(p.left));
    t.set(ppu::kPaddingValue1Cfg, u(p.pad));
    t.set(ppu::kPaddingValue2Cfg, p.pad < 0 ? 7 : 0);
    t.set(ppu::kDstBaseAddr, p.dst);
    t.set(ppu::kDstSurfStride, u(p.out_surface() * 16));
    t.set(ppu::kDataFormat, p.bytes == 1 ? 0 : 1);
    const int surface = p.input.width * p.input.height;
    t.set(ppu_rdma::kCubeInWidth, u(p.input.width - 1));
    t.set(ppu_rdma::kCubeInHeight, u(p.input.height - 1));
    t.set(ppu_rdma::kCubeInChannel, u(p.input.channels - 1));
    t.set(ppu_rdma::kSrcBaseAddr, p.src);
    t.set(ppu_rdma::kSrcLineStride, u(p.input.width * 16));
    t.set(ppu_rdma::kSrcSurfStride, u(surface * 16));
}

/// A copying DPU task in front of the PPU.
void program_feeder(const Pool& p, Task& t) {
    const auto u = [](int value) { return static_cast<uint32_t>(value); };
    const uint32_t code = p.bytes == 1 ? 0 : 1;
    t.set(dpu::kFeatureModeCfg, 0x1e3);  // flying, to the PPU only
    t.set(dpu::kDataFormat, code << 29 | code << 26 | code);
    t.set(dpu::kDataCubeWidth, u(p.input.width - 1));
    t.set(dpu::kDataCubeHeight, u(p.input.height - 1));
    t.set(dpu::kDataCubeChannel, u(p.input.channels - 1) << 16 | u(p.input.channels - 1));
    t.set(dpu::kBsCfg, 0x53);
    t.set(dpu::kBnCfg, 0x53);
    t.set(dpu::kEwCfg, 0x383);
    t.set(dpu::kBsOwCfg, 2);
    t.set(dpu::kOutCvtScale, 1);
    t.set(rdma::kDataCubeWidth, u(p.input.width - 1));
    t.set(rdma::kDataCubeHeight, u(p.input.height - 1));
    t.set(rdma::kDataCubeChannel, u(p.input.channels - 1));
    t.set(rdma::kSrcBaseAddr, p.src);
    t.set(rdma::kErdmaCfg, 1);
    t.set(rdma::kFeatureModeCfg, code << 15 | code << 5 | 1);
}

void run_cases(bool from_memory, int count, uint32_t seed) {
    for (int i = 0; i < count; ++i) {
        Machine m(1U << 17, seed + static_cast<uint32_t>(i));
        Pool p = random_pool(m);
        put_input(m, p);
        Task t;
        program_ppu(m, p, from_memory, t);
        if (!from_memory)
            program_feeder(p, t);
        INFO("case " << i);
        m.run_both(t, from_memory ? kMaskPool : kMaskFlying | npusim::kEnablePpu);
        size_t wrong = 0;
        std::vector<std::pair<uint64_t, size_t>> rows;
        const int row = p.out_w + p.notch;
        for (int c = 0; c < p.input.channels; ++c) {
            for (int y = 0; y < p.out_h; ++y) {
                rows.emplace_back(place(p.dst, p, row, p.out_surface(), c, y, 0) & ~uint64_t{15},
                                  static_cast<size_t>(p.out_w) * 16);
                for (int x = 0; x < p.out_w; ++x) {
                    const uint64_t at = place(p.dst, p, row, p.out_surface(), c, y, x);
                    const int got = p.bytes == 1 ? m.get<int8_t>(at) : m.get<int16_t>(at);
                    wrong += got != expected(p, c, y, x) ? 1 : 0;
                }
            }
        }
        REQUIRE(wrong == 0);
        REQUIRE(m.stray_writes(rows) == 0);
    }
}

}  // namespace

TEST_CASE("pooling from memory equals the golden rules") {
    run_cases(true, case_count(300), 20000);
}

TEST_CASE("pooling behind the DPU equals the golden rules") {
    run_cases(false, case_count(150), 30000);
}

namespace {

/// Values of the fp16 input: whole multiples of 1/64, exact in every sum.
double half_value(const Pool& p, int c, int y, int x) {
    return p.input.at(c, y, x, p.pad) / 64.0;
}

double expected_half(const Pool& p, int c, int oy, int ox) {
    double result = 0;
    for (int k = 0; k < p.kernel_h * p.kernel_w; ++k) {
        const double v = half_value(p, c, oy * p.stride_y + k / p.kernel_w - p.top,
                                    ox * p.stride_x + k % p.kernel_w - p.left);
        if (p.method == 0)
            result += v;
        else if (k == 0)
            result = v;
        else
            result = p.method == 1 ? std::max(result, v) : std::min(result, v);
    }
    if (p.method != 0)
        return result;
    return result * npusim::half_to_float(static_cast<uint16_t>(p.recip_w)) *
           npusim::half_to_float(static_cast<uint16_t>(p.recip_h));
}

}  // namespace

TEST_CASE("fp16 pooling equals the golden rules but for the last rounding") {
    for (int i = 0; i < case_count(150); ++i) {
        Machine m(1U << 17, 35000 + static_cast<uint32_t>(i));
        Pool p = random_pool(m);
        p.bytes = 2;
        p.input.channels = std::min(p.input.channels, 24) / 8 * 8;
        for (int& v : p.input.data)
            v = m.pick(-128, 127);
        p.recip_w = npusim::float_to_half(1.0F / static_cast<float>(p.kernel_w));
        p.recip_h = npusim::float_to_half(1.0F / static_cast<float>(p.kernel_h));
        const int surface = p.input.width * p.input.height;
        p.src = m.alloc(static_cast<size_t>(surface * p.input.channels * 2));
        for (int c = 0; c < p.input.channels; ++c)
            for (int k = 0; k < surface; ++k)
                put_number(m, place(p.src, p, p.input.width, surface, c, 0, 0) - 2U * (c % 8),
                           static_cast<size_t>(k * 8 + c % 8), Precision::kFp16,
                           half_value(p, c, k / p.input.width, k % p.input.width));
        Task t;
        program_ppu(m, p, true, t);
        t.set(ppu::kDataFormat, 2);
        t.set(ppu::kPaddingValue1Cfg, npusim::float_to_half(static_cast<float>(p.pad) / 64.0F));
        INFO("case " << i);
        m.run_both(t, kMaskPool);
        size_t wrong = 0;
        for (int c = 0; c < p.input.channels; ++c)
            for (int y = 0; y < p.out_h; ++y)
                for (int x = 0; x < p.out_w; ++x) {
                    const double want = expected_half(p, c, y, x);
                    const double got = npusim::half_to_float(m.get<uint16_t>(
                        place(p.dst, p, p.out_w + p.notch, p.out_surface(), c, y, x)));
                    const double bound = p.method == 0 ? std::fabs(want) * 0x1.1p-11 + 0x1p-25 : 0;
                    wrong += std::fabs(got - want) <= bound ? 0 : 1;
                }
        REQUIRE(wrong == 0);
    }
}
