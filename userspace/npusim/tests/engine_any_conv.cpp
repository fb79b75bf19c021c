// SPDX-License-Identifier: MIT
#include "engine_any_conv.hpp"

namespace engine_test {

namespace cna = npuregs::cna;
namespace core = npuregs::core;
namespace dpu = npuregs::dpu;
namespace rdma = npuregs::dpu_rdma;

namespace {

int round_up(int value, int unit) {
    return (value + unit - 1) / unit * unit;
}

uint32_t u(int64_t value) {
    return static_cast<uint32_t>(value);
}

Precision pick_output(Machine& m, Precision in) {
    switch (in) {
        case Precision::kFp16:
            return m.one_of({Precision::kFp16, Precision::kFp32});
        case Precision::kBf16:
            return m.one_of({Precision::kBf16, Precision::kFp32});
        case Precision::kTf32:
            return Precision::kFp32;
        case Precision::kInt4:
            return m.one_of({Precision::kInt16, Precision::kInt32});
        default:
            return m.one_of({Precision::kInt8, Precision::kInt16, Precision::kInt32});
    }
}

void pick_window(Machine& m, AnyConv& c) {
    c.kernel_h = m.pick(1, 3);
    c.kernel_w = m.pick(1, 3);
    c.stride_y = m.one_of({1, 1, 2, 3});
    c.stride_x = m.one_of({1, 1, 2});
    c.dilation_y = m.chance(20) ? 2 : 1;
    c.dilation_x = m.chance(20) ? 2 : 1;
    c.top = m.pick(0, 2);
    c.left = m.pick(0, 2);
    c.deconv = m.chance(20);
    if (c.deconv) {
        c.up_y = m.pick(1, 3);
        c.up_x = m.pick(1, 3);
    }
    c.pad = m.chance(50) ? 0 : random_value(m, c.in);
}

void pick_stages(Machine& m, AnyConv& c) {
    c.bias = m.chance(60);
    c.bn_multiply = m.chance(40);
    c.bn_shift = c.is_float() ? 0 : m.pick(0, 14);
    c.relu = m.chance(30);
    c.ew_channel = m.chance(30);
    if (c.is_float())
        c.ew_type = m.chance(50)               ? Precision::kFp32
                    : c.in == Precision::kBf16 ? Precision::kBf16
                                               : Precision::kFp16;
    else
        c.ew_type = m.one_of({Precision::kInt8, Precision::kInt16, Precision::kInt32});
    const Precision bias_type = c.is_float() ? Precision::kFp32 : Precision::kInt32;
    const Precision bn_type = c.is_float() ? Precision::kFp16 : Precision::kInt16;
    for (int i = 0; i < c.out_channels; ++i) {
        c.bias_values.push_back(random_value(m, bias_type));
        c.bn_values.push_back(random_value(m, bn_type));
        c.ew_values.push_back(random_value(m, c.ew_type));
    }
    if (!c.is_float()) {
        c.out_scale = m.chance(50) ? 1 : m.pick(1, 65535);
        c.out_shift = c.out_scale == 1 ? 0 : m.pick(8, 30);
    }
}

/// Element of weight (k, channel, ky, kx) in memory: groups of kernels, blocks of 32 channels.
size_t weight_place(const AnyConv& c, int k, int channel, int ky, int kx) {
    const int area = c.kernel_h * c.kernel_w;
    const int position = ky * c.kernel_w + kx;
    const int channels = c.input.channels;
    if (c.depthwise) {
        const int first = channel / c.group() * c.group();
        const int count = std::min(c.group(), channels - first);
        return static_cast<size_t>(first * area + position * count + channel - first);
    }
    const int first_kernel = k / c.group() * c.group();
    const int kernels = std::min(c.group(), c.kernels - first_kernel);
    const int first = channel / 32 * 32;
    const int count = std::min(32, channels - first);
    return static_cast<size_t>(first_kernel * channels * area + first * kernels * area +
                               (position * kernels + k - first_kernel) * count + channel - first);
}

void place_data(Machine& m, AnyConv& c) {
    const int surfaces = c.input.channels / c.lanes();
    const int plane = c.input.width * c.input.height;
    const int pitch = plane + m.pick(0, 3);
    const uint32_t memory = m.alloc(static_cast<size_t>(surfaces * pitch) * 16);
    const bool backwards = m.chance(20);
    c.surface_pitch = (backwards ? -pitch : pitch) * 16;
    c.features = memory + (backwards ? u(int64_t{surfaces - 1} * pitch * 16) : 0);
    for (int ch = 0; ch < c.input.channels; ++ch)
        for (int y = 0; y < c.input.height; ++y)
            for (int x = 0; x < c.input.width; ++x)
                put_number(
                    m, static_cast<uint64_t>(c.features + ch / c.lanes() * c.surface_pitch),
                    static_cast<size_t>((y * c.input.width + x) * c.lanes() + ch % c.lanes()), c.in,
                    c.input.at(ch, y, x));
    c.weight_base = m.alloc(c.weights.size() * static_cast<size_t>(bits_of(c.in)) / 8 + 1);
    size_t i = 0;
    for (int k = 0; k < c.kernels; ++k)
        for (int ch = 0; ch < c.input.channels; ++ch)
            for (int ky = 0; ky < c.kernel_h; ++ky)
                for (int kx = 0; kx < c.kernel_w; ++kx)
                    put_number(m, c.weight_base, weight_place(c, k, ch, ky, kx), c.in,
                               c.weights[i++]);
}

void program_conv(const AnyConv& c, Task& t) {
    const uint32_t code = static_cast<uint32_t>(c.in);
    t.set(cna::kConvCon1,
          code << 7 | code << 4 | 1U << 29 | (c.depthwise ? 3U : 0U) | (c.deconv ? 1U << 16 : 0U));
    t.set(cna::kConvCon3, u(c.stride_y << 3 | c.stride_x));
    t.set(cna::kConvCon3, cna::kConvCon3AtrousXDilation, u(c.dilation_x - 1));
    t.set(cna::kConvCon3, cna::kConvCon3AtrousYDilation, u(c.dilation_y - 1));
    if (c.deconv) {
        t.set(cna::kConvCon3, cna::kConvCon3DeconvXStride, u(c.up_x));
        t.set(cna::kConvCon3, cna::kConvCon3DeconvYStride, u(c.up_y));
    }
    t.set(cna::kDataSize0, u(c.input.width << 16 | c.input.height));
    t.set(cna::kFcDataSize0, u(c.input.width << 16 | c.input.height));
    t.set(cna::kDataSize1, u(c.input.channels));
    t.set(cna::kDataSize2, u(c.out_w));
    t.set(cna::kDataSize3, u(c.out_w * c.out_h));
    t.set(cna::kWeightSize0, u(static_cast<int64_t>(c.weights.size()) * bits_of(c.in) / 8));
    t.set(cna::kWeightSize1,
          u(int64_t{c.input.channels} * c.kernel_h * c.kernel_w * bits_of(c.in) / 8));
    t.set(cna::kWeightSize2, u(c.kernel_w << 24 | c.kernel_h << 16 | c.kernels));
    t.set(cna::kCvtCon0, 0xb);
    t.set(cna::kPadCon0, u(c.left << 4 | c.top));
    uint32_t pad = u(static_cast<int64_t>(c.pad));
    if (c.in == Precision::kFp16)
        pad = npusim::float_to_half(static_cast<float>(c.pad));
    else if (c.in == Precision::kBf16)
        pad = npusim::float_to_bf16(static_cast<float>(c.pad));
    else if (c.in == Precision::kTf32)
        pad = std::bit_cast<uint32_t>(static_cast<float>(c.pad));
    t.set(cna::kPadCon1, pad);
    t.set(cna::kFeatureDataAddr, c.features);
    t.set(cna::kDcompAddr0, c.weight_base);
    t.set(cna::kDmaCon1, u(c.input.width));
    t.set(cna::kDmaCon2, u(c.surface_pitch / 16 - c.input.width) & cna::kDmaCon2SurfStride.mask());
    t.set(core::kMiscCfg, code << 8 | (c.depthwise ? 2U : 0U));
    t.set(core::kDataoutSize0, u((c.out_h - 1) << 16 | (c.out_w - 1)));
    t.set(core::kDataoutSize1, u(c.out_channels - 1));
}

void program_stages(Machine& m, const AnyConv& c, Task& t) {
    t.set(dpu::kBsCfg, c.bias ? 0x20150 : 0x53);
    t.set(dpu::kBnCfg, c.bn_multiply ? (c.relu ? 0x02U : 0x42U) : c.relu ? 0x12U : 0x53U);
    t.set(dpu::kBnMulCfg, c.bn_multiply ? u(c.bn_shift) << 8 | 1U : 0);
    t.set(dpu::kDataFormat, dpu::kDataFormatBnMulShiftValueNeg, u(c.bn_shift));
    t.set(rdma::kErdmaCfg, 1);
    t.set(dpu::kEwCfg, 0x383);
    const size_t count = c.bias_values.size();
    if (c.bias) {
        const uint32_t at = m.alloc(4 * count);
        for (size_t i = 0; i < count; ++i)
            put_number(m, at, i, c.is_float() ? Precision::kFp32 : Precision::kInt32,
                       c.bias_values[i]);
        t.set(rdma::kBrdmaCfg, 0x2);
        t.set(rdma::kBsBaseAddr, at);
    }
    if (c.bn_multiply) {
        const uint32_t at = m.alloc(2 * count);
        for (size_t i = 0; i < count; ++i)
            put_number(m, at, i, c.is_float() ? Precision::kFp16 : Precision::kInt16,
                       c.bn_values[i]);
        t.set(rdma::kNrdmaCfg, 0x8);
        t.set(rdma::kBnBaseAddr, at);
    }
    if (c.ew_channel) {
        const uint32_t at = m.alloc(4 * count);
        for (size_t i = 0; i < count; ++i)
            put_number(m, at, i, c.ew_type, c.ew_values[i]);
        const uint32_t size = bits_of(c.ew_type) == 8 ? 1 : bits_of(c.ew_type) == 16 ? 2 : 3;
        t.set(dpu::kEwCfg, 0x202c0 | 1U << 8 | size << 22);  // add, from memory, per channel
        t.set(rdma::kErdmaCfg, size << 2);
        t.set(rdma::kEwBaseAddr, at);
    }
}

void program_output(const AnyConv& c, Task& t) {
    const uint32_t proc = c.in == Precision::kTf32 ? static_cast<uint32_t>(Precision::kFp32)
                                                   : static_cast<uint32_t>(c.in);
    t.set(dpu::kFeatureModeCfg, c.depthwise ? 0x1fc : 0x1e4);
    t.set(dpu::kDataFormat, (t.get(dpu::kDataFormat) & ~0xfc000007U) |
                                static_cast<uint32_t>(c.out) << 29 | proc << 26 | proc);
    t.set(dpu::kDstBaseAddr, c.dst);
    t.set(dpu::kDstSurfStride, u(c.out_surface * 16));
    t.set(dpu::kSurfaceAdd, u((c.out_surface * c.group_surfaces() + c.group_gap) * 16));
    t.set(dpu::kDataCubeWidth, u(c.out_w - 1));
    t.set(dpu::kDataCubeHeight, u(c.out_h - 1));
    t.set(dpu::kDataCubeChannel, u(c.real_channels - 1) << 16 | u(c.out_channels - 1));
    t.set(dpu::kBsOwCfg, u(c.group_surfaces() - 1) * 0x124U | 2);
    t.set(dpu::kWdmaSize0, u(c.out_channels - 1));
    t.set(dpu::kWdmaSize1, u((c.out_h - 1) << 16 | (c.out_w - 1)));
    t.set(dpu::kOutCvtScale, u(c.out_scale));
    t.set(dpu::kOutCvtShift, u(c.out_shift));
    t.set(rdma::kDataCubeWidth, u(c.out_w - 1));
    t.set(rdma::kDataCubeHeight, u(c.out_h - 1));
    t.set(rdma::kDataCubeChannel, u(c.out_channels - 1));
    t.set(rdma::kFeatureModeCfg, c.depthwise ? 0x7816 : 0x7810);
}

/// The input as the window sees it: pixels `up` apart with the pad value between them.
double stretched(const AnyConv& c, int channel, int y, int x) {
    const int h = (c.input.height - 1) * c.up_y + 1;
    const int w = (c.input.width - 1) * c.up_x + 1;
    if (y < 0 || x < 0 || y >= h || x >= w || y % c.up_y != 0 || x % c.up_x != 0)
        return c.pad;
    return c.input.at(channel, y / c.up_y, x / c.up_x);
}

/// Exact sum of products; `size` receives the sum of their magnitudes.
double accumulate(const AnyConv& c, int oc, int oy, int ox, double& size) {
    double sum = 0;
    if (c.depthwise ? oc >= c.input.channels : oc >= c.kernels)
        return 0;
    const int first = c.depthwise ? oc : 0;
    const int last = c.depthwise ? oc + 1 : c.input.channels;
    for (int ch = first; ch < last; ++ch)
        for (int ky = 0; ky < c.kernel_h; ++ky)
            for (int kx = 0; kx < c.kernel_w; ++kx) {
                const int kernel = c.depthwise ? 0 : oc;
                const auto place = static_cast<size_t>(
                    ((kernel * c.input.channels + ch) * c.kernel_h + ky) * c.kernel_w + kx);
                const double product =
                    c.weights[place] * stretched(c, ch, oy * c.stride_y + ky * c.dilation_y - c.top,
                                                 ox * c.stride_x + kx * c.dilation_x - c.left);
                sum += product;
                size += std::fabs(product);
            }
    return sum;
}

Expected expected_integer(const AnyConv& c, int oc, double acc) {
    const auto i = static_cast<size_t>(oc);
    int64_t v = golden::limit32(static_cast<int64_t>(acc));
    if (c.bias)
        v = golden::limit32(v + static_cast<int64_t>(c.bias_values[i]));
    if (c.bn_multiply)
        v = golden::limit32(golden::divide_even(v * static_cast<int64_t>(c.bn_values[i]),
                                                static_cast<unsigned>(c.bn_shift)));
    if (c.relu && v < 0)
        v = 0;
    if (c.ew_channel)
        v = golden::limit32(v + static_cast<int64_t>(c.ew_values[i]));
    v = golden::divide_even(v * c.out_scale, static_cast<unsigned>(c.out_shift));
    const int64_t top = (int64_t{1} << (bits_of(c.out) - 1)) - 1;
    return {static_cast<double>(golden::limit(v, -top - 1, top)), 0};
}

// fp32 has 24 bits: each addition of n products errs by at most 2^-24 of the sum of magnitudes,
// each later stage by 2^-24 of its result; the output format adds half a unit of its last place.
Expected expected_float(const AnyConv& c, int oc, double acc, double size) {
    const auto i = static_cast<size_t>(oc);
    constexpr double kStep = 1.0 / (1 << 24);
    const double products = static_cast<double>(c.input.channels * c.kernel_h * c.kernel_w);
    Expected e{acc, size * products * kStep};
    const auto round = [&](double value, double scale) {
        e.value = value;
        e.bound = e.bound * scale + std::fabs(value) * kStep;
    };
    if (c.bias)
        round(e.value + c.bias_values[i], 1);
    if (c.bn_multiply)
        round(e.value * c.bn_values[i], std::fabs(c.bn_values[i]));
    if (c.relu)
        e.value = std::max(e.value, 0.0);
    if (c.ew_channel)
        round(e.value + c.ew_values[i], 1);
    const int fraction = c.out == Precision::kFp32 ? 24 : c.out == Precision::kFp16 ? 11 : 8;
    e.bound += std::ldexp(std::fabs(e.value) + e.bound, -fraction) + std::ldexp(1.0, -25);
    return e;
}

}  // namespace

AnyConv make_any_conv(Machine& m, Precision in) {
    AnyConv c;
    c.in = in;
    c.out = pick_output(m, in);
    c.depthwise = m.chance(30);
    pick_window(m, c);
    const int atoms = m.pick(1, std::max(2, 96 / c.lanes()));
    c.input = golden::Cube<double>(c.lanes() * std::min(atoms, 6), m.pick(1, 5), m.pick(1, 7));
    for (double& v : c.input.data)
        v = random_value(m, in);
    c.kernels = c.depthwise ? 1 : m.pick(1, 48);
    c.weights.resize(static_cast<size_t>(c.kernels * c.input.channels * c.kernel_h * c.kernel_w));
    for (double& w : c.weights)
        w = random_value(m, in);
    c.out_channels = round_up(c.depthwise ? c.input.channels : c.kernels, c.group());
    c.real_channels = m.chance(50) ? m.pick(1, c.out_channels) : c.out_channels;
    const int reach_y = (c.kernel_h - 1) * c.dilation_y + 1 - 2 * c.top;
    const int reach_x = (c.kernel_w - 1) * c.dilation_x + 1 - 2 * c.left;
    const int wide_h = (c.input.height - 1) * c.up_y + 1;
    const int wide_w = (c.input.width - 1) * c.up_x + 1;
    c.out_h = std::max(1, (wide_h - reach_y) / c.stride_y + 1);
    c.out_w = std::max(1, (wide_w - reach_x) / c.stride_x + 1);
    pick_stages(m, c);
    return c;
}

void place_any_conv(Machine& m, AnyConv& c, Task& t) {
    place_data(m, c);
    c.out_surface = c.out_h * c.out_w + m.pick(0, 2);
    c.group_gap = m.chance(30) ? m.pick(1, 5) : 0;
    const int surfaces = round_up(c.out_channels, c.out_lanes()) / c.out_lanes();
    c.dst = m.alloc(static_cast<size_t>(surfaces * (c.out_surface + c.group_gap)) * 16);
    program_conv(c, t);
    program_stages(m, c, t);
    program_output(c, t);
}

Expected expected_any(const AnyConv& c, int oc, int y, int x) {
    double size = 0;
    const double acc = accumulate(c, oc, y, x, size);
    return c.is_float() ? expected_float(c, oc, acc, size) : expected_integer(c, oc, acc);
}

}  // namespace engine_test
