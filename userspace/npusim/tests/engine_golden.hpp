// SPDX-License-Identifier: MIT
// An independent statement of the integer rules: written from the hardware reference for logical
// tensors (channel, row, column), with none of the engine's code. Slow on purpose.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace golden {

/// Division by 2^shift with ties to even, in exact integer arithmetic on the quotient.
inline int64_t divide_even(int64_t value, unsigned shift) {
    const int64_t unit = int64_t{1} << shift;
    int64_t quotient = value / unit;
    int64_t rest = value % unit;
    if (rest < 0) {
        rest += unit;
        --quotient;
    }
    if (2 * rest > unit || (2 * rest == unit && quotient % 2 != 0))
        ++quotient;
    return quotient;
}

inline int64_t limit(int64_t value, int64_t low, int64_t high) {
    if (value < low)
        return low;
    return value > high ? high : value;
}

inline int64_t limit32(int64_t value) {
    return limit(value, -2147483648LL, 2147483647LL);
}

inline int64_t limit8(int64_t value) {
    return limit(value, -128, 127);
}

/// Logical tensor [channel][row][column].
template <typename T>
struct Cube {
    int channels = 0, height = 0, width = 0;
    std::vector<T> data;

    Cube() = default;
    Cube(int c, int h, int w)
        : channels(c), height(h), width(w), data(static_cast<size_t>(c) * h * w) {}
    T& at(int c, int y, int x) { return data[(static_cast<size_t>(c) * height + y) * width + x]; }
    const T& at(int c, int y, int x) const {
        return data[(static_cast<size_t>(c) * height + y) * width + x];
    }
    /// Value or `outside` beyond the borders.
    T at(int c, int y, int x, T outside) const {
        return y < 0 || x < 0 || y >= height || x >= width ? outside : at(c, y, x);
    }
};

struct ConvShape {
    int kernel_h = 1, kernel_w = 1;
    int stride_y = 1, stride_x = 1;
    int dilation_y = 1, dilation_x = 1;
    int pad_top = 0, pad_left = 0;
    int pad_value = 0;
    bool depthwise = false;
    int truncate = 0;
};

/// Accumulator of one output before the DPU; `ow` is the zero-point operand.
inline int64_t convolve(const ConvShape& s, const Cube<int>& x, const std::vector<int>& weights,
                        int oc, int oy, int ox, int64_t ow, int pad_lanes_of_sum) {
    int64_t acc = 0;
    int64_t sum = 0;
    for (int ky = 0; ky < s.kernel_h; ++ky) {
        for (int kx = 0; kx < s.kernel_w; ++kx) {
            const int y = oy * s.stride_y + ky * s.dilation_y - s.pad_top;
            const int col = ox * s.stride_x + kx * s.dilation_x - s.pad_left;
            const bool outside = y < 0 || col < 0 || y >= x.height || col >= x.width;
            const int first = s.depthwise ? oc : 0;
            const int last = s.depthwise ? oc + 1 : x.channels;
            for (int c = first; c < last; ++c) {
                const int64_t value = x.at(c, y, col, s.pad_value);
                const int kernel = s.depthwise ? 0 : oc;
                const size_t place =
                    ((static_cast<size_t>(kernel) * x.channels + c) * s.kernel_h + ky) *
                        s.kernel_w +
                    kx;
                acc += value * weights[place];
                sum += value;
            }
            // Lanes beyond the tensor's channels also see the pad value.
            if (outside && !s.depthwise)
                sum += int64_t{s.pad_value} * pad_lanes_of_sum;
        }
    }
    return limit32(divide_even(limit32(acc) + ow * sum, static_cast<unsigned>(s.truncate)));
}

}  // namespace golden
