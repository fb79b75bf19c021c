// SPDX-License-Identifier: MIT
#include "engine_conv_case.hpp"

namespace engine_test {

namespace cna = npuregs::cna;
namespace core = npuregs::core;
namespace dpu = npuregs::dpu;
namespace rdma = npuregs::dpu_rdma;

namespace {

int round_up(int value, int unit) {
    return (value + unit - 1) / unit * unit;
}

/// Byte of weight (oc, c, ky, kx) in the direct layout [OC/32][IC/32][KH][KW][oc][ic], ragged.
size_t direct_place(const ConvCase& c, int oc, int ic, int ky, int kx) {
    const int lanes = c.atoms() * 16;
    const int kernel_area = c.shape.kernel_h * c.shape.kernel_w;
    const int group = oc / 32;
    const int group_kernels = std::min(32, c.kernels - group * 32);
    const int block = ic / 32;
    const int block_lanes = std::min(32, lanes - block * 32);
    return static_cast<size_t>(group) * 32 * lanes * kernel_area +
           static_cast<size_t>(block) * 32 * group_kernels * kernel_area +
           (static_cast<size_t>(ky * c.shape.kernel_w + kx) * group_kernels + oc % 32) *
               block_lanes +
           ic % 32;
}

/// The same for depthwise: [C/64][KH][KW][c].
size_t depthwise_place(const ConvCase& c, int ic, int ky, int kx) {
    const int lanes = c.atoms() * 16;
    const int group = ic / 64;
    const int group_lanes = std::min(64, lanes - group * 64);
    return static_cast<size_t>(group) * 64 * c.shape.kernel_h * c.shape.kernel_w +
           static_cast<size_t>(ky * c.shape.kernel_w + kx) * group_lanes + ic % 64;
}

void pick_geometry(Machine& m, ConvCase& c, bool depthwise) {
    golden::ConvShape& s = c.shape;
    s.depthwise = depthwise;
    s.kernel_h = m.pick(1, 4);
    s.kernel_w = m.pick(1, 4);
    s.stride_y = m.one_of({1, 1, 2, 3, 0});
    s.stride_x = m.one_of({1, 1, 2, 3});
    s.dilation_y = m.chance(15) ? 2 : 1;
    s.dilation_x = m.chance(15) ? 3 : 1;
    s.pad_top = m.chance(50) ? m.pick(0, 2) : 0;
    s.pad_left = m.chance(50) ? m.pick(0, 2) : 0;
    s.pad_value = m.pick(-128, 127);
    s.truncate = m.chance(25) ? m.pick(1, 6) : 0;
    c.image = !depthwise && m.chance(25) ? m.pick(1, 4) : 0;
    const int channels = c.image != 0 ? 16 : round_up(m.pick(1, 80), 16);
    const int h = m.pick(1, 12);
    const int w = m.pick(1, 14);
    c.input = golden::Cube<int>(channels, h, w);
    const int reach_y = (s.kernel_h - 1) * s.dilation_y + 1 - s.pad_top;
    const int reach_x = (s.kernel_w - 1) * s.dilation_x + 1 - s.pad_left;
    const int step_y = std::max(1, s.stride_y);
    c.out_h = std::max(1, (h - reach_y) / step_y + 1) + m.pick(0, 1);
    c.out_w = std::max(1, (w - reach_x) / s.stride_x + 1) + m.pick(0, 1);
    c.kernels = depthwise ? 1 : m.pick(1, 70);
    c.out_channels = round_up(depthwise ? channels : c.kernels, depthwise ? 64 : 32);
}

void place_input(Machine& m, ConvCase& c) {
    const int h = c.input.height;
    const int w = c.input.width;
    if (c.image != 0) {
        // Rows of a packed image start at multiples of 16 bytes.
        c.in.row_pitch = w + m.pick(0, 3);
        const int pitch = round_up(c.in.row_pitch * c.image, 16);
        c.in.base = m.alloc(static_cast<size_t>(pitch) * h);
        for (int y = 0; y < h; ++y) {
            for (int x = 0; x < w; ++x) {
                for (int i = 0; i < c.image; ++i)
                    m.put<int8_t>(c.in.base + y * pitch + x * c.image + i,
                                  static_cast<int8_t>(c.input.at(i, y, x)));
            }
        }
        return;
    }
    c.in.row_pitch = w + (m.chance(40) ? m.pick(0, 5) : 0);
    c.in.surface_pitch = c.in.row_pitch * h + (m.chance(40) ? m.pick(0, 9) : 0);
    c.in.base = m.alloc(static_cast<size_t>(c.in.surface_pitch) * c.atoms() * 16);
    for (int ch = 0; ch < c.input.channels; ++ch) {
        for (int y = 0; y < h; ++y) {
            for (int x = 0; x < w; ++x)
                m.put<int8_t>(c.in.at(ch, y, x), static_cast<int8_t>(c.input.at(ch, y, x)));
        }
    }
}

uint32_t place_weights(Machine& m, const ConvCase& c) {
    const uint32_t base = m.alloc(c.weights.size());
    size_t i = 0;
    for (int k = 0; k < c.kernels; ++k) {
        for (int ic = 0; ic < c.input.channels; ++ic) {
            for (int ky = 0; ky < c.shape.kernel_h; ++ky) {
                for (int kx = 0; kx < c.shape.kernel_w; ++kx) {
                    const size_t place = c.shape.depthwise ? depthwise_place(c, ic, ky, kx)
                                                           : direct_place(c, k, ic, ky, kx);
                    m.put<int8_t>(base + place, static_cast<int8_t>(c.weights[i++]));
                }
            }
        }
    }
    return base;
}

uint32_t place_records(Machine& m, const ConvCase& c) {
    const uint32_t base = m.alloc(static_cast<size_t>(c.out_channels) * 8);
    for (int ch = 0; ch < c.out_channels; ++ch) {
        const uint32_t record = base + ch / 8 * 64;
        m.put<int32_t>(record + ch % 8 * 4, c.bias[ch]);
        m.put<int16_t>(record + 32 + ch % 8 * 2, static_cast<int16_t>(c.ow[ch]));
        m.put<int16_t>(record + 48 + ch % 8 * 2, static_cast<int16_t>(c.mul[ch]));
    }
    return base;
}

void program_cna(Machine& m, const ConvCase& c, uint32_t weights, Task& t) {
    const golden::ConvShape& s = c.shape;
    const bool lines = c.image != 0 || m.chance(50);
    t.set(cna::kConvCon1, cna::kConvCon1ConvMode, s.depthwise ? 3 : 0);
    t.set(cna::kConvCon1, cna::kConvCon1GroupLineOff, lines ? 1 : 0);
    if (c.image != 0) {
        t.set(cna::kConvCon1, cna::kConvCon1ArgbIn, static_cast<uint32_t>(7 + c.image));
        t.set(cna::kConvCon1, cna::kConvCon1NonalignDma, 1);
    }
    t.set(cna::kConvCon3, static_cast<uint32_t>(s.stride_y << 3 | s.stride_x));
    t.set(cna::kConvCon3, cna::kConvCon3AtrousXDilation, static_cast<uint32_t>(s.dilation_x - 1));
    t.set(cna::kConvCon3, cna::kConvCon3AtrousYDilation, static_cast<uint32_t>(s.dilation_y - 1));
    const auto h = static_cast<uint32_t>(c.input.height);
    const auto w = static_cast<uint32_t>(c.input.width);
    t.set(cna::kDataSize0, w << 16 | h);
    t.set(cna::kFcDataSize0, w << 16 | h);
    t.set(cna::kDataSize1, static_cast<uint32_t>(c.input.channels));
    t.set(cna::kDataSize2, static_cast<uint32_t>(c.out_w));
    t.set(cna::kDataSize3, static_cast<uint32_t>(c.out_w * c.out_h));
    const auto per_kernel = static_cast<uint32_t>(c.atoms() * 16 * s.kernel_h * s.kernel_w);
    t.set(cna::kWeightSize0, per_kernel * static_cast<uint32_t>(c.kernels));
    t.set(cna::kWeightSize1, per_kernel);
    t.set(cna::kWeightSize2,
          static_cast<uint32_t>(s.kernel_w << 24 | s.kernel_h << 16 | c.kernels));
    t.set(cna::kCvtCon0, 0xb);
    t.set(cna::kPadCon0, static_cast<uint32_t>(s.pad_left << 4 | s.pad_top));
    t.set(cna::kPadCon1, static_cast<uint32_t>(s.pad_value));
    t.set(cna::kFeatureDataAddr, c.in.base);
    t.set(cna::kDcompAddr0, weights);
    const int row = c.in.row_pitch;
    const int surface = c.image != 0 ? row * c.input.height : c.in.surface_pitch;
    const int line = lines ? row : 4 * row;
    const int gap = lines ? surface - c.input.width : surface - line;
    t.set(cna::kDmaCon1, static_cast<uint32_t>(line));
    t.set(cna::kDmaCon2, static_cast<uint32_t>(gap) & cna::kDmaCon2SurfStride.mask());
}

void program_core(const ConvCase& c, Task& t) {
    t.set(core::kMiscCfg, c.shape.depthwise ? 3 : 1);
    t.set(core::kDataoutSize0, static_cast<uint32_t>((c.out_h - 1) << 16 | (c.out_w - 1)));
    t.set(core::kDataoutSize1, static_cast<uint32_t>(c.out_channels - 1));
    t.set(core::kClipTruncate, static_cast<uint32_t>(c.shape.truncate));
}

void program_dpu(Machine& m, const ConvCase& c, Task& t) {
    const auto channels = static_cast<uint32_t>(c.out_channels);
    const uint32_t surfaces = c.shape.depthwise ? 4 : 2;
    t.set(dpu::kFeatureModeCfg, c.shape.depthwise ? 0x1fc : 0x1e4);
    t.set(dpu::kDataFormat, 14U << 4);
    t.set(dpu::kDstBaseAddr, c.out.base);
    t.set(dpu::kDstSurfStride, static_cast<uint32_t>(c.out.surface_pitch * 16));
    t.set(dpu::kSurfaceAdd, static_cast<uint32_t>(c.out.surface_pitch * 16) * surfaces);
    t.set(dpu::kDataCubeWidth, static_cast<uint32_t>(c.out_w - 1));
    t.set(dpu::kDataCubeHeight, static_cast<uint32_t>(c.out_h - 1));
    t.set(dpu::kDataCubeNotchAddr, static_cast<uint32_t>(c.out.row_pitch - c.out_w) * 0x10001U);
    t.set(dpu::kDataCubeChannel, static_cast<uint32_t>(c.real_channels - 1) << 16 | (channels - 1));
    t.set(dpu::kBsCfg, c.records ? 0x20140 : 0x53);
    t.set(dpu::kBsMulCfg, 0xe01);
    t.set(dpu::kBsOwCfg, ((surfaces - 1) * 0x124U) | (c.records ? 1 : 0));
    t.set(dpu::kWdmaSize0, channels - 1);
    t.set(dpu::kWdmaSize1, static_cast<uint32_t>((c.out_h - 1) << 16 | (c.out_w - 1)));
    t.set(dpu::kBnCfg, c.relu ? (c.relux != 0 ? 0x92 : 0x12) : 0x53);
    t.set(dpu::kBnReluxCmpValue, static_cast<uint32_t>(c.relux));
    t.set(dpu::kEwCfg, 0x383);
    t.set(dpu::kOutCvtOffset, static_cast<uint32_t>(c.out_zero));
    t.set(dpu::kOutCvtScale, static_cast<uint32_t>(c.out_scale));
    t.set(dpu::kOutCvtShift, static_cast<uint32_t>(c.out_shift));
    t.set(rdma::kDataCubeWidth, static_cast<uint32_t>(c.out_w - 1));
    t.set(rdma::kDataCubeHeight, static_cast<uint32_t>(c.out_h - 1));
    t.set(rdma::kDataCubeChannel, channels - 1);
    t.set(rdma::kErdmaCfg, 1);
    t.set(rdma::kFeatureModeCfg, c.shape.depthwise ? 0x7816 : 0x7810);
    if (c.records) {
        t.set(rdma::kBrdmaCfg, 0xe);
        t.set(rdma::kBsBaseAddr, place_records(m, c));
    }
}

}  // namespace

void fill_conv_data(Machine& m, ConvCase& c) {
    for (int ch = 0; ch < c.input.channels; ++ch) {
        const bool real = c.image == 0 || ch < c.image;
        for (int y = 0; y < c.input.height; ++y) {
            for (int x = 0; x < c.input.width; ++x)
                c.input.at(ch, y, x) = real ? m.pick(-128, 127) : 0;
        }
    }
    c.weights.resize(static_cast<size_t>(c.kernels) * c.input.channels * c.shape.kernel_h *
                     c.shape.kernel_w);
    for (int& w : c.weights)
        w = m.pick(-128, 127);
    c.records = m.chance(70);
    for (int i = 0; i < c.out_channels; ++i) {
        c.bias.push_back(m.pick(-200000, 200000));
        c.ow.push_back(c.records ? m.pick(-128, 128) : 0);
        c.mul.push_back(m.pick(1, 16384));
    }
    c.out_scale = m.pick(1, 32767);
    c.out_shift = m.pick(14, 26);
    c.out_zero = m.pick(-128, 127);
    c.relu = m.chance(40);
    c.relux = c.relu && m.chance(50) ? m.pick(1, 300000) : 0;
}

ConvCase make_conv_case(Machine& machine, bool depthwise) {
    ConvCase c;
    pick_geometry(machine, c, depthwise);
    fill_conv_data(machine, c);
    return c;
}

void place_conv(Machine& m, ConvCase& c, Task& t) {
    if (c.real_channels == 0)
        c.real_channels = m.chance(50) ? m.pick(1, c.out_channels) : c.out_channels;
    place_input(m, c);
    const uint32_t weights = place_weights(m, c);
    c.out.row_pitch = c.out_w + (m.chance(30) ? m.pick(1, 4) : 0);
    c.out.surface_pitch = c.out.row_pitch * c.out_h + (m.chance(30) ? m.pick(1, 7) : 0);
    c.out.base = m.alloc(static_cast<size_t>(c.out.surface_pitch) * (c.out_channels / 16) * 16);
    program_cna(m, c, weights, t);
    program_core(c, t);
    program_dpu(m, c, t);
}

int64_t expected_int8(const ConvCase& c, int oc, int y, int x, int64_t operand) {
    using golden::divide_even;
    using golden::limit32;
    const bool real = c.shape.depthwise ? oc < c.input.channels : oc < c.kernels;
    int64_t v = 0;
    if (real || !c.shape.depthwise) {
        // Channels without a kernel compute with zero weights but still see the zero-point sum.
        ConvCase const* source = &c;
        std::vector<int> zeros;
        if (real) {
            v = golden::convolve(c.shape, c.input, c.weights, oc, y, x, c.ow[oc], 0);
        } else {
            zeros.assign(static_cast<size_t>(oc + 1) * c.input.channels * c.shape.kernel_h *
                             c.shape.kernel_w,
                         0);
            v = golden::convolve(source->shape, c.input, zeros, oc, y, x, c.ow[oc], 0);
        }
    }
    if (c.records)
        v = limit32(divide_even((v + c.bias[oc]) * c.mul[oc], 14));
    if (c.relu) {
        v = std::max<int64_t>(v, 0);
        if (c.relux != 0)
            v = std::min<int64_t>(v, c.relux);
    }
    v = limit32(v + operand);
    return golden::limit8(divide_even(v * c.out_scale, static_cast<unsigned>(c.out_shift)) +
                          c.out_zero);
}

}  // namespace engine_test
