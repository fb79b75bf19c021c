// SPDX-License-Identifier: MIT
// Inner kernels of the int8 convolution: 32 output channels times a run of pixels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace npusim {

/// Channels one step of a kernel consumes, and channels it produces.
inline constexpr uint32_t kGemmStep = 16;
inline constexpr uint32_t kGemmOutputs = 32;

struct GemmArgs {
    const void* features;         ///< uint8 (biased by 128) or int16, see GemmKernel
    const int32_t* step_offset;   ///< element offset of each step's 16 channels
    const int32_t* pixel_offset;  ///< element offset of each output pixel
    size_t steps;
    size_t pixels;
    const int8_t* weights;  ///< packed by `unit`: [step][16 / unit][32][unit]
    int32_t* out;           ///< [2][pixels][16]
};

struct GemmKernel {
    const char* name;
    unsigned unit;        ///< neighbouring input channels kept together: 4, 2 or 1
    bool biased_feature;  ///< features are uint8 = int8 + 128; the caller subtracts 128 * sum(w)
    void (*run)(const GemmArgs&);
};

/// The best kernel this CPU runs. All give the same sums modulo 2^32.
[[nodiscard]] const GemmKernel& gemm_kernel();

/// All kernels this CPU runs, for tests.
[[nodiscard]] size_t gemm_kernel_count();
[[nodiscard]] const GemmKernel& gemm_kernel_at(size_t index);

}  // namespace npusim
