// SPDX-License-Identifier: MIT
// Depthwise convolution of int8 tensors, sixteen channels at a time.
#include <algorithm>
#include <vector>

#include "conv.hpp"
#include "simd.hpp"

namespace npusim {
namespace {

struct DepthwiseArgs {
    const int16_t* features;  ///< one surface of the padded window, [y][x][16]
    const int32_t* pixel_offset;
    const int32_t* window_offset;
    const int16_t* weights;  ///< [window][16]
    size_t window;
    size_t pixels;
    int32_t* acc;  ///< [pixels][16]
    int32_t* sum;  ///< [pixels][16]
};

NPUSIM_CLONES void accumulate(const DepthwiseArgs& args) {
    for (size_t p = 0; p < args.pixels; ++p) {
        int32_t acc[kBlock] = {};
        int32_t sum[kBlock] = {};
        for (size_t k = 0; k < args.window; ++k) {
            const int16_t* x = args.features + args.pixel_offset[p] + args.window_offset[k];
            const int16_t* w = args.weights + k * kBlock;
            for (uint32_t l = 0; l < kBlock; ++l) {
                acc[l] += x[l] * w[l];
                sum[l] += x[l];
            }
        }
        std::copy(acc, acc + kBlock, args.acc + p * kBlock);
        std::copy(sum, sum + kBlock, args.sum + p * kBlock);
    }
}

class DepthwiseConv final : public ConvUnit {
 public:
    bool prepare(const ConvDesc& conv, Transfer& transfer) override {
        conv_ = conv;
        window_ = padded_window(conv);
        surfaces_ = weight_lanes(conv) / kBlock;
        if (!weights_.load(conv, transfer) || !load_features(transfer))
            return false;
        build_offsets();
        unpack_weights();
        return true;
    }

    [[nodiscard]] uint32_t group() const override { return kBlock; }

    void compute(const ConvRun& run, int32_t* out) override {
        for (uint32_t c = 0; c < run.channels; c += kBlock) {
            int32_t* block = out + size_t{c} * run.pixels;
            const uint32_t surface = (run.channel + c) / kBlock;
            if (surface >= surfaces_) {
                std::fill(block, block + size_t{run.pixels} * kBlock, 0);
                continue;
            }
            const int32_t* ow = run.ow != nullptr && conv_.sum_enabled ? run.ow + c : nullptr;
            for (uint32_t first = 0; first < run.pixels; first += kTile) {
                const uint32_t pixels = std::min(kTile, run.pixels - first);
                compute_tile(surface, run.pixel + first, pixels, ow,
                             block + size_t{first} * kBlock);
            }
        }
    }

    void compute(const ConvRun&, float*) override {}

 private:
    static constexpr uint32_t kTile = 64;  ///< pixels whose sums fit on the stack

    void compute_tile(uint32_t surface, uint32_t pixel, uint32_t pixels, const int32_t* ow,
                      int32_t* block) const {
        int32_t sums[kTile * kBlock];
        const size_t window = window_offset_count_;
        accumulate({features_.data() + surface * plane(), pixel_offset_.data() + pixel,
                    window_offset_.data(), unpacked_.data() + surface * window * kBlock, window,
                    pixels, block, sums});
        if (ow != nullptr || conv_.truncate != 0)
            finish(ow, sums, pixels, block);
    }

    [[nodiscard]] size_t plane() const { return size_t{window_.width} * window_.height * kBlock; }

    bool load_features(Transfer& transfer) {
        const auto all = scratch(features_, plane() * surfaces_);
        std::fill(all.begin(), all.end(), static_cast<int16_t>(pad_int(conv_)));
        return for_each_feature_row(conv_, transfer, [&](const FeatureRow& row) {
            const size_t y = size_t{row.y} + conv_.pad_top;
            if (y >= window_.height || conv_.pad_left >= window_.width)
                return;
            const size_t pixels = std::min(conv_.width, window_.width - conv_.pad_left);
            int16_t* to =
                all.data() + row.surface * plane() + (y * window_.width + conv_.pad_left) * kBlock;
            for (size_t i = 0; i < pixels * kBlock; ++i)
                to[i] = load<int8_t>(row.data + i);
        });
    }

    void build_offsets() {
        window_offset_count_ = size_t{conv_.kernel_height} * conv_.kernel_width;
        const auto window = scratch(window_offset_, window_offset_count_);
        for (size_t k = 0; k < window.size(); ++k) {
            const size_t y = k / conv_.kernel_width * conv_.dilation_y;
            const size_t x = k % conv_.kernel_width * conv_.dilation_x;
            window[k] = static_cast<int32_t>((y * window_.width + x) * kBlock);
        }
        const auto pixels = scratch(pixel_offset_, size_t{conv_.out_width} * conv_.out_height);
        for (size_t p = 0; p < pixels.size(); ++p) {
            const size_t y = p / conv_.out_width * conv_.stride_y;
            const size_t x = p % conv_.out_width * conv_.stride_x;
            pixels[p] = static_cast<int32_t>((y * window_.width + x) * kBlock);
        }
    }

    void unpack_weights() {
        const auto all = scratch(unpacked_, window_offset_count_ * surfaces_ * kBlock);
        const std::byte* raw = weights_.raw().data();
        for_each_depthwise_run(
            conv_, [&](uint32_t ky, uint32_t kx, uint32_t c0, size_t index, uint32_t count) {
                const size_t k = size_t{ky} * conv_.kernel_width + kx;
                for (uint32_t i = 0; i < count; ++i) {
                    const uint32_t c = c0 + i;
                    all[(c / kBlock * window_offset_count_ + k) * kBlock + c % kBlock] =
                        load<int8_t>(raw + index + i);
                }
            });
    }

    void finish(const int32_t* ow, const int32_t* sums, size_t pixels, int32_t* block) const {
        for (size_t p = 0; p < pixels; ++p) {
            for (uint32_t l = 0; l < kBlock; ++l) {
                int64_t value = block[p * kBlock + l];
                if (ow != nullptr)
                    value += int64_t{sums[p * kBlock + l]} * ow[l];
                block[p * kBlock + l] =
                    saturate32(shift_round(value, conv_.truncate, conv_.truncate_round));
            }
        }
    }

    ConvDesc conv_;
    PaddedWindow window_;
    uint32_t surfaces_ = 0;
    size_t window_offset_count_ = 0;
    std::vector<int16_t> features_, unpacked_;
    std::vector<int32_t> pixel_offset_, window_offset_;
};

}  // namespace

bool depthwise_conv_fits(const ConvDesc& conv) {
    const PaddedWindow window = padded_window(conv);
    const uint64_t elements = uint64_t{window.width} * window.height * weight_lanes(conv);
    return conv.precision == Precision::kInt8 && conv.depthwise && !conv.deconv &&
           !conv.convert.enabled && conv.image_channels == 0 && elements < (uint64_t{1} << 27);
}

std::unique_ptr<ConvUnit> make_depthwise_conv() {
    return std::make_unique<DepthwiseConv>();
}

}  // namespace npusim
