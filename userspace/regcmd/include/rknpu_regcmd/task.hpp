// SPDX-License-Identifier: MIT
// What one NPU task shall do, in terms of tensors; RegcmdBuilder turns it into register commands.
#pragma once

#include <cstdint>
#include <optional>

#include "rknpu_regcmd/layout.hpp"

namespace rknpu::compiler {

/// A device address known only when the job is loaded: start of a buffer plus bytes. The meaning of
/// `buffer` is the caller's; 0 means none, `offset` is then the literal register value.
struct Address {
    uint32_t buffer = 0;
    uint32_t offset = 0;

    [[nodiscard]] Address plus(uint32_t bytes) const { return {buffer, offset + bytes}; }
};

/// The part of an NC1HWC2 feature map one task reads or writes. Pitches are those of the whole map.
struct Feature {
    Address base;              ///< first atom of the part
    uint32_t width = 0;        ///< pixels, of the part
    uint32_t height = 0;       ///< rows, of the part
    uint32_t channels = 0;     ///< real channels, of the part
    uint32_t row_pitch = 0;    ///< atoms (for packed images: pixels) from row to row
    uint32_t plane_pitch = 0;  ///< atoms (for packed images: pixels) from surface to surface
};

/// Sliding window of a convolution or pool. Padding at the far edges follows from the output size.
struct Window {
    uint32_t height = 1;
    uint32_t width = 1;
    uint32_t stride_y = 1;
    uint32_t stride_x = 1;
    uint32_t pad_top = 0;
    uint32_t pad_left = 0;
    uint32_t dilation_y = 1;  ///< distance of neighbouring taps, 1 = dense
    uint32_t dilation_x = 1;
};

/// x -> round(x * scale / 2^shift) + offset, each rounding half to even.
struct Requant {
    uint16_t scale = 1;
    uint8_t shift = 0;
    int32_t offset = 0;
};

/// Second tensor of an elementwise operation: e = round((x + offset) * scale / 2^shift).
struct Operand {
    Feature feature;
    int32_t offset = 0;
    uint16_t scale = 1;
    uint8_t shift = 0;
};

/// First DPU stage: adds a bias and multiplies.
struct BiasScale {
    enum class Source : uint8_t {
        kNone,       ///< stage bypassed
        kImmediate,  ///< `add`, then `multiply` >> `shift`
        kBias,       ///< 32-bit bias per channel from `operands`
        kRecords,    ///< bias, weight zero point and Q14 scale per channel from `operands`
    };
    Source source = Source::kNone;
    Address operands;
    int32_t add = 0;
    int16_t multiply = 1;
    uint8_t shift = 0;
};

/// What happens to an accumulator on its way to memory, in this order.
struct OutputStage {
    BiasScale bias_scale;
    bool relu = false;
    uint32_t clip = 0;  ///< upper limit after ReLU, 0 = none
    std::optional<Operand> add;
    bool relu_after_add = false;
    Requant convert;
};

/// Share of the 12 convolution buffer banks (32 KiB each).
struct BankSplit {
    uint8_t data = 1;
    uint8_t weights = 11;
};

/// Convolution, direct or depthwise. Output channels beyond the real ones are not written.
struct ConvTask {
    Precision input_precision = Precision::kInt8;
    Precision output_precision = Precision::kInt8;
    bool depthwise = false;
    uint32_t image_channels = 0;  ///< 1..4: the input is a packed image with that many channels
    Feature input;
    Feature output;
    Window window;
    int32_t pad_value = 0;
    Address weights;
    uint32_t weight_bytes = 0;  ///< of this task
    BankSplit banks;
    bool weights_loaded = false;  ///< the previous task has left these weights in the buffer
    uint8_t truncate = 0;         ///< right shift of the accumulator before the bias
    OutputStage stage;
};

/// output = f(main [+ second tensor]), from memory to memory.
struct ElementwiseTask {
    Precision precision = Precision::kInt8;
    Feature main;
    Feature output;
    OutputStage stage;
};

/// Maximum, minimum or average over a window.
struct PoolTask {
    enum class Method : uint8_t { kAverage = 0, kMax = 1, kMin = 2 };
    Precision precision = Precision::kInt8;
    Method method = Method::kMax;
    Feature input;
    Feature output;
    Window window;  ///< dilation is not available
    uint32_t pad_bottom = 0;
    uint32_t pad_right = 0;
    int32_t pad_value = 0;
};

}  // namespace rknpu::compiler
