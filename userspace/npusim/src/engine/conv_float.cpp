// SPDX-License-Identifier: MIT
// Convolution of fp16, bf16 and tf32 tensors with fp32 accumulation. Products of these formats are
// exact in fp32 and each output adds them in the reference order, so both paths agree bit for bit.
#include <algorithm>
#include <cstring>
#include <vector>

#include "conv.hpp"
#include "simd.hpp"

namespace npusim {
namespace {

using Vector = float __attribute__((vector_size(64)));

struct FloatArgs {
    const float* features;
    const int32_t* channel_offset;  ///< per product: element offset in the window
    const int32_t* pixel_offset;
    const float* weights;  ///< [products][16]
    size_t products;
    size_t pixels;
    float* out;  ///< [pixels][16]
};

template <size_t kPixels>
[[gnu::always_inline]] inline void float_tile(const FloatArgs& args, size_t first) {
    Vector acc[kPixels] = {};
    const float* pixel[kPixels];
    for (size_t p = 0; p < kPixels; ++p)
        pixel[p] = args.features + args.pixel_offset[first + p];
    for (size_t i = 0; i < args.products; ++i) {
        Vector w;
        std::memcpy(&w, args.weights + i * kBlock, sizeof w);
        for (size_t p = 0; p < kPixels; ++p)
            acc[p] += w * pixel[p][args.channel_offset[i]];
    }
    for (size_t p = 0; p < kPixels; ++p)
        std::memcpy(args.out + (first + p) * kBlock, &acc[p], sizeof(Vector));
}

NPUSIM_CLONES void float_run(const FloatArgs& args) {
    size_t p = 0;
    for (; p + 8 <= args.pixels; p += 8)
        float_tile<8>(args, p);
    for (; p < args.pixels; ++p)
        float_tile<1>(args, p);
}

struct FloatDepthwiseArgs {
    const float* features;
    const int32_t* pixel_offset;
    const int32_t* window_offset;
    const float* weights;  ///< [window][16]
    size_t window;
    size_t pixels;
    float* out;
};

NPUSIM_CLONES void depthwise_run(const FloatDepthwiseArgs& args) {
    for (size_t p = 0; p < args.pixels; ++p) {
        float acc[kBlock] = {};
        for (size_t k = 0; k < args.window; ++k) {
            const float* x = args.features + args.pixel_offset[p] + args.window_offset[k];
            const float* w = args.weights + k * kBlock;
            for (uint32_t l = 0; l < kBlock; ++l)
                acc[l] += x[l] * w[l];
        }
        std::copy(acc, acc + kBlock, args.out + p * kBlock);
    }
}

class FloatConv final : public ConvUnit {
 public:
    bool prepare(const ConvDesc& conv, Transfer& transfer) override {
        conv_ = conv;
        window_ = padded_window(conv);
        lanes_ = (weight_lanes(conv) + kBlock - 1) / kBlock * kBlock;
        if (!weights_.load(conv, transfer) || !load_features(transfer))
            return false;
        build_offsets();
        if (conv.depthwise)
            unpack_depthwise();
        else
            unpack_direct();
        return true;
    }

    [[nodiscard]] uint32_t group() const override { return kBlock; }

    void compute(const ConvRun&, int32_t*) override {}

    void compute(const ConvRun& run, float* out) override {
        for (uint32_t c = 0; c < run.channels; c += kBlock) {
            float* block = out + size_t{c} * run.pixels;
            const uint32_t channel = run.channel + c;
            const int32_t* pixels = pixel_offset_.data() + run.pixel;
            if (!conv_.depthwise) {
                float_run({features_.data(), product_offset_.data(), pixels,
                           unpacked_.data() + channel * products_, products_, run.pixels, block});
            } else if (channel < lanes_) {
                depthwise_run({features_.data() + channel, pixels, product_offset_.data(),
                               unpacked_.data() + channel * products_, products_, run.pixels,
                               block});
            } else {
                std::fill(block, block + size_t{run.pixels} * kBlock, 0.0F);
            }
        }
    }

 private:
    bool load_features(Transfer& transfer) {
        const auto all = scratch(features_, size_t{window_.width} * window_.height * lanes_);
        std::fill(all.begin(), all.end(), pad_float(conv_));
        return for_each_feature_row(conv_, transfer, [&](const FeatureRow& row) {
            const size_t y = size_t{row.y} + conv_.pad_top;
            if (y >= window_.height || conv_.pad_left >= window_.width)
                return;
            const uint32_t pixels = std::min(conv_.width, window_.width - conv_.pad_left);
            float* to = all.data() + (y * window_.width + conv_.pad_left) * lanes_;
            for (uint32_t x = 0; x < pixels; ++x, to += lanes_)
                copy_pixel(row, x, to);
        });
    }

    void copy_pixel(const FeatureRow& row, uint32_t x, float* to) {
        if (conv_.image_channels != 0)
            std::fill(to, to + lanes_, 0.0F);
        for (uint32_t i = 0; i < row.pixel_elements; ++i) {
            const size_t index = size_t{x} * row.pixel_elements + i;
            to[row.surface * row.pixel_elements + i] =
                conv_.convert.enabled ? static_cast<float>(convert_input(
                                            conv_.convert, i, load<uint8_t>(row.data + index)))
                                      : load_float(row.data, index, conv_.precision);
        }
    }

    void build_offsets() {
        const auto pixels = scratch(pixel_offset_, size_t{conv_.out_width} * conv_.out_height);
        for (size_t p = 0; p < pixels.size(); ++p) {
            const size_t y = p / conv_.out_width * conv_.stride_y;
            const size_t x = p % conv_.out_width * conv_.stride_x;
            pixels[p] = static_cast<int32_t>((y * window_.width + x) * lanes_);
        }
        const size_t window = size_t{conv_.kernel_width} * conv_.kernel_height;
        products_ = conv_.depthwise ? window : window * weight_lanes(conv_);
        const auto offsets = scratch(product_offset_, products_);
        size_t i = 0;
        const uint32_t channels = conv_.depthwise ? 1 : weight_lanes(conv_);
        for (uint32_t c0 = 0; c0 < channels; c0 += kWeightBlockChannels) {
            const uint32_t c_end = std::min(c0 + kWeightBlockChannels, channels);
            for (size_t k = 0; k < window; ++k) {
                const size_t y = k / conv_.kernel_width * conv_.dilation_y;
                const size_t x = k % conv_.kernel_width * conv_.dilation_x;
                for (uint32_t c = c0; c < c_end; ++c)
                    offsets[i++] = static_cast<int32_t>((y * window_.width + x) * lanes_ + c);
            }
        }
    }

    void unpack_direct() {
        const uint32_t kernels =
            (std::max(conv_.kernels, conv_.out_channels) + 2 * kBlock - 1) / kBlock * kBlock;
        const auto all = scratch(unpacked_, kernels * products_);
        std::fill(all.begin(), all.end(), 0.0F);
        const std::byte* raw = weights_.raw().data();
        const size_t window = size_t{conv_.kernel_width} * conv_.kernel_height;
        for_each_weight_run(conv_, [&](uint32_t k, uint32_t ky, uint32_t kx, uint32_t c0,
                                       size_t index, uint32_t count) {
            const size_t position = size_t{ky} * conv_.kernel_width + kx;
            const size_t product = c0 * window + position * count;
            float* to = all.data() + k / kBlock * kBlock * products_ + k % kBlock;
            for (uint32_t i = 0; i < count; ++i)
                to[(product + i) * kBlock] = load_float(raw, index + i, conv_.precision);
        });
    }

    void unpack_depthwise() {
        const auto all = scratch(unpacked_, products_ * lanes_);
        std::fill(all.begin(), all.end(), 0.0F);
        const std::byte* raw = weights_.raw().data();
        for_each_depthwise_run(
            conv_, [&](uint32_t ky, uint32_t kx, uint32_t c0, size_t index, uint32_t count) {
                const size_t k = size_t{ky} * conv_.kernel_width + kx;
                for (uint32_t i = 0; i < count; ++i) {
                    const uint32_t c = c0 + i;
                    all[c / kBlock * kBlock * products_ + k * kBlock + c % kBlock] =
                        load_float(raw, index + i, conv_.precision);
                }
            });
    }

    ConvDesc conv_;
    PaddedWindow window_;
    uint32_t lanes_ = 0;  ///< channels of the window, whole blocks
    size_t products_ = 0;
    std::vector<float> features_, unpacked_;
    std::vector<int32_t> pixel_offset_, product_offset_;
};

}  // namespace

bool float_conv_fits(const ConvDesc& conv) {
    const PaddedWindow window = padded_window(conv);
    const uint64_t elements =
        uint64_t{window.width} * window.height * (weight_lanes(conv) + kBlock);
    return is_float(conv.precision) && !conv.deconv && elements < (uint64_t{1} << 27);
}

std::unique_ptr<ConvUnit> make_float_conv() {
    return std::make_unique<FloatConv>();
}

}  // namespace npusim
