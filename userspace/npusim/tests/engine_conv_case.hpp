// SPDX-License-Identifier: MIT
// A random int8 convolution: logical data, its layout in memory and the registers that run it.
#pragma once

#include "engine_golden.hpp"
#include "engine_machine.hpp"

namespace engine_test {

/// Byte address of one int8 element of a feature tensor in 16-byte atoms.
struct NativeLayout {
    uint32_t base = 0;
    int row_pitch = 0;      // atoms
    int surface_pitch = 0;  // atoms

    [[nodiscard]] uint64_t at(int c, int y, int x) const {
        const int64_t atom = int64_t{c / 16} * surface_pitch + int64_t{y} * row_pitch + x;
        return base + static_cast<uint64_t>(atom * 16 + c % 16);
    }
};

struct ConvCase {
    golden::ConvShape shape;
    golden::Cube<int> input;
    std::vector<int> weights;  // [oc][c][ky][kx]; depthwise [1][c][ky][kx]
    int kernels = 0;           // direct: kernels in memory
    int out_channels = 0;      // aligned
    int real_channels = 0;     // ORIG_CHANNEL: whole surfaces beyond are not written; 0: any
    int out_h = 0, out_w = 0;
    int image = 0;  // 1..4: packed pixels
    NativeLayout in, out;
    // Records of the channels.
    std::vector<int> bias, ow, mul;
    int out_scale = 1, out_shift = 0, out_zero = 0;
    bool relu = false;
    int relux = 0;  // 0: none
    bool records = false;

    [[nodiscard]] int atoms() const { return (input.channels + 15) / 16; }
    /// Channels that reach memory: those of every surface with a real channel.
    [[nodiscard]] int written_channels() const { return (real_channels + 15) / 16 * 16; }
};

/// Random input, weights and channel operands for a case whose geometry is set.
void fill_conv_data(Machine& machine, ConvCase& c);
ConvCase make_conv_case(Machine& machine, bool depthwise);
void place_conv(Machine& machine, ConvCase& c, Task& task);

/// Expected int8 result of one output element by the golden rules.
int64_t expected_int8(const ConvCase& c, int oc, int y, int x, int64_t operand);

}  // namespace engine_test
