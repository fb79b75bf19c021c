// SPDX-License-Identifier: MIT
// The MAC array: CNA and CORE. Two implementations of one interface, a reference and fast ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "desc.hpp"
#include "elements.hpp"
#include "transfer.hpp"
#include "weights.hpp"

namespace npusim {

/// Lanes of one accumulator block.
inline constexpr uint32_t kBlock = 16;

/// Accumulators of `channels` consecutive output channels (a multiple of 16) for a run of output
/// pixels, pixel = y * out_width + x. Layout [channels / 16][pixels][16].
struct ConvRun {
    uint32_t channel = 0;
    uint32_t channels = 0;
    uint32_t pixel = 0;
    uint32_t pixels = 0;
    const int32_t* ow = nullptr;  ///< OW operand per channel of the run, or none
};

class ConvUnit {
 public:
    virtual ~ConvUnit() = default;

    /// Reads features and weights. False after a failed transfer or damaged weights.
    virtual bool prepare(const ConvDesc& conv, Transfer& transfer) = 0;

    /// Channels compute() handles at its best; runs start at multiples of it.
    [[nodiscard]] virtual uint32_t group() const = 0;

    /// Integer result after zero-point sum, truncation and saturation to 32 bits.
    virtual void compute(const ConvRun& run, int32_t* out) = 0;

    /// Float result (fp32 accumulation in the order ic-group, ky, kx, ic).
    virtual void compute(const ConvRun& run, float* out) = 0;

    [[nodiscard]] const char* damage() const { return weights_.damage(); }

 protected:
    WeightStore weights_;
};

/// Plain loops over all precisions: the oracle.
std::unique_ptr<ConvUnit> make_reference_conv();

/// Blocked kernels; each takes the tasks its `fits` accepts.
std::unique_ptr<ConvUnit> make_int8_conv();
bool int8_conv_fits(const ConvDesc& conv);
std::unique_ptr<ConvUnit> make_depthwise_conv();
bool depthwise_conv_fits(const ConvDesc& conv);
std::unique_ptr<ConvUnit> make_float_conv();
bool float_conv_fits(const ConvDesc& conv);

/// Geometry of the padded input window that all outputs together touch.
struct PaddedWindow {
    uint32_t width = 0;
    uint32_t height = 0;
};
[[nodiscard]] PaddedWindow padded_window(const ConvDesc& conv);

/// Value of PAD_VALUE in this precision.
[[nodiscard]] int32_t pad_int(const ConvDesc& conv);
[[nodiscard]] float pad_float(const ConvDesc& conv);

/// One row of input pixels, atom by atom or as packed pixels.
struct FeatureRow {
    uint32_t surface = 0;
    uint32_t y = 0;
    const std::byte* data = nullptr;
    uint32_t pixel_elements = 0;  ///< elements per pixel in `data`
};

/// Converted elements of an image pixel; see ConverterDesc. `lane` is the channel.
[[nodiscard]] int32_t convert_input(const ConverterDesc& convert, uint32_t lane, uint8_t raw);

/// Calls visit(FeatureRow) for all rows of all surfaces. False after a failed transfer.
template <typename Visit>
bool for_each_feature_row(const ConvDesc& conv, Transfer& transfer, Visit visit) {
    const uint32_t atom = atom_channels(conv.precision);
    const bool image = conv.image_channels != 0;
    const uint32_t elements = image ? conv.image_channels : atom;
    const uint32_t surfaces = image ? 1 : (conv.channels + atom - 1) / atom;
    const size_t row_bytes = bytes_of(size_t{conv.width} * elements, conv.precision);
    const bool dense = conv.row_pitch == static_cast<int64_t>(row_bytes);
    for (uint32_t s = 0; s < surfaces; ++s) {
        const int64_t surface = conv.feature + s * conv.surface_pitch;
        std::span<const std::byte> rows;
        if (dense) {
            rows = transfer.fetch(surface, row_bytes * conv.height);
            if (rows.empty())
                return false;
        }
        for (uint32_t y = 0; y < conv.height; ++y) {
            const auto row = dense ? rows.subspan(y * row_bytes, row_bytes)
                                   : transfer.fetch(surface + y * conv.row_pitch, row_bytes);
            if (row.empty())
                return false;
            visit(FeatureRow{s, y, row.data(), elements});
        }
    }
    return true;
}

}  // namespace npusim
