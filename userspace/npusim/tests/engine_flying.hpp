// SPDX-License-Identifier: MIT
// Tasks of the DPU alone ("flying mode"): memory to memory, no convolution before it.
#pragma once

#include "engine_numbers.hpp"

namespace engine_test {

/// A task that changes nothing on its way; the caller sets sizes and addresses.
inline Task flying_task(Precision type, Precision out_type) {
    namespace dpu = npuregs::dpu;
    namespace rdma = npuregs::dpu_rdma;
    const auto code = static_cast<uint32_t>(type);
    Task t;
    t.set(dpu::kFeatureModeCfg, 0x1e5);
    t.set(dpu::kDataFormat, static_cast<uint32_t>(out_type) << 29 | code << 26 | code);
    t.set(dpu::kBsCfg, 0x53);
    t.set(dpu::kBnCfg, 0x53);
    t.set(dpu::kEwCfg, 0x383);
    t.set(dpu::kBsOwCfg, 2);
    t.set(dpu::kOutCvtScale, 1);
    t.set(rdma::kErdmaCfg, 1);
    t.set(rdma::kFeatureModeCfg, code << 15 | 0x7801);
    return t;
}

/// Pixels and channels that the task reads.
inline void set_read_size(Task& t, int w, int h, int channels) {
    namespace dpu = npuregs::dpu;
    namespace rdma = npuregs::dpu_rdma;
    const auto u = [](int value) { return static_cast<uint32_t>(value - 1); };
    t.set(rdma::kDataCubeWidth, u(w));
    t.set(rdma::kDataCubeHeight, u(h));
    t.set(rdma::kDataCubeChannel, u(channels));
    t.set(dpu::kDataCubeWidth, u(w));
    t.set(dpu::kDataCubeHeight, u(h));
    t.set(dpu::kDataCubeChannel, u(channels) << 16 | u(channels));
}

/// Pixels and channels that it writes.
inline void set_write_size(Task& t, int w, int h, int channels) {
    namespace dpu = npuregs::dpu;
    t.set(dpu::kWdmaSize0, static_cast<uint32_t>(channels - 1));
    t.set(dpu::kWdmaSize1, static_cast<uint32_t>((h - 1) << 16 | (w - 1)));
}

/// Distance of the surfaces that it writes, in bytes.
inline void set_out_pitch(Task& t, int bytes) {
    namespace dpu = npuregs::dpu;
    t.set(dpu::kDstSurfStride, static_cast<uint32_t>(bytes));
    t.set(dpu::kSurfaceAdd, static_cast<uint32_t>(bytes));
}

/// Looks one row of 16-bit pixels with eight channels up; the caller sets the tables' ranges.
inline Task lookup_row(Precision type, Precision out_type, int pixels, uint32_t from, uint32_t to) {
    Task t = flying_task(type, out_type);
    t.set(npuregs::dpu::kEwCfg, 0x302);
    set_read_size(t, pixels, 1, 8);
    set_write_size(t, pixels, 1, 8);
    set_out_pitch(t, pixels * 16);
    t.set(npuregs::dpu::kDstBaseAddr, to);
    t.set(npuregs::dpu_rdma::kSrcBaseAddr, from);
    return t;
}

}  // namespace engine_test
