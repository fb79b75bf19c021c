// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "support.hpp"

namespace rknpu::cpu::ops {

/// A sliding window over up to three spatial dimensions (depth, height, width). Images with fewer
/// have leading dimensions of 1, so that one loop nest serves 1-D, 2-D and 3-D.
struct Window {
    std::size_t spatial = 0;  // dimensions that really exist: 1 to 3
    std::array<std::int64_t, 3> in{1, 1, 1};
    std::array<std::int64_t, 3> kernel{1, 1, 1};
    std::array<std::int64_t, 3> stride{1, 1, 1};
    std::array<std::int64_t, 3> dilation{1, 1, 1};
    std::array<std::int64_t, 3> pad_before{0, 0, 0};
    std::array<std::int64_t, 3> pad_after{0, 0, 0};
    std::array<std::int64_t, 3> out{1, 1, 1};

    /// Position in `in` of kernel element k for output o; may be outside.
    std::int64_t position(std::size_t d, std::int64_t o, std::int64_t k) const {
        return o * stride[d] - pad_before[d] + k * dilation[d];
    }
    std::int64_t in_plane() const { return in[0] * in[1] * in[2]; }
    std::int64_t out_plane() const { return out[0] * out[1] * out[2]; }
    std::int64_t kernel_size() const { return kernel[0] * kernel[1] * kernel[2]; }
};

/// Reads strides, dilations, pads, auto_pad (and ceil_mode) for an input of shape [N, C,
/// spatial...] and computes the output size. `kernel` has one entry per spatial dimension.
Status read_window(const OpContext& context, const Dims& in, std::span<const std::int64_t> kernel,
                   Window& out);

/// Reads strides, dilations and pads only: for ConvTranspose, which computes its size differently.
Status read_window_attributes(const OpContext& context, const Dims& in,
                              std::span<const std::int64_t> kernel, Window& out,
                              std::string& auto_pad);

/// The output shape [n, channels, spatial...].
Dims window_output(const Window& window, std::int64_t n, std::int64_t channels);

}  // namespace rknpu::cpu::ops
