// SPDX-License-Identifier: MIT
// A random convolution in any precision, with the per-channel stages behind it: logical data, its
// place in memory, the registers, and what the reference says the result is.
#pragma once

#include "engine_golden.hpp"
#include "engine_numbers.hpp"

namespace engine_test {

struct AnyConv {
    Precision in = Precision::kInt8;
    Precision out = Precision::kInt32;
    bool depthwise = false;
    int up_y = 1, up_x = 1;  // distance of input pixels; above 1: deconvolution
    bool deconv = false;
    int kernel_h = 1, kernel_w = 1, stride_y = 1, stride_x = 1;
    int dilation_y = 1, dilation_x = 1, top = 0, left = 0;
    double pad = 0;
    golden::Cube<double> input;   // whole atoms of channels
    std::vector<double> weights;  // [kernel][channel][ky][kx]; depthwise one kernel
    int kernels = 1, out_channels = 16, real_channels = 16, out_h = 1, out_w = 1;
    bool bias = false;         // BS: add a record
    bool bn_multiply = false;  // BN: multiply with a record
    int bn_shift = 0;
    bool relu = false;
    bool ew_channel = false;  // EW: one operand per channel
    Precision ew_type = Precision::kInt16;
    std::vector<double> bias_values, bn_values, ew_values;
    int out_scale = 1, out_shift = 0;
    // Memory.
    uint32_t features = 0, weight_base = 0, dst = 0;
    int64_t surface_pitch = 0;  // bytes, negative when surfaces lie backwards
    int out_surface = 0, group_gap = 0;

    [[nodiscard]] bool is_float() const { return floating(in); }
    [[nodiscard]] int lanes() const { return 128 / bits_of(in); }
    [[nodiscard]] int group() const {
        if (depthwise)
            return in == Precision::kInt4 ? 64 : 512 / bits_of(in);
        return in == Precision::kInt4 ? 64 : in == Precision::kInt8 ? 32 : 16;
    }
    [[nodiscard]] int out_lanes() const { return 128 / bits_of(out); }
    /// Output surfaces of one channel group; the field holds at most eight.
    [[nodiscard]] int group_surfaces() const { return std::min(8, group() * bits_of(out) / 128); }
    [[nodiscard]] uint64_t surface_address(int surface) const {
        const int groups = surface / group_surfaces();
        return dst + static_cast<uint64_t>(surface * out_surface + groups * group_gap) * 16;
    }
    [[nodiscard]] uint32_t mask() const { return bias || bn_multiply || ew_channel ? 0x1d : 0x0d; }
};

AnyConv make_any_conv(Machine& m, Precision in);
void place_any_conv(Machine& m, AnyConv& c, Task& t);

/// Result and, for floats, the bound of its error.
struct Expected {
    double value = 0;
    double bound = 0;
};
Expected expected_any(const AnyConv& c, int oc, int y, int x);

}  // namespace engine_test
