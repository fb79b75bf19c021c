// SPDX-License-Identifier: MIT
#include <vector>

#include "conv.hpp"

namespace npusim {
namespace {

// Accumulators of the chip are 32 bits wide (34 inside, saturated to 32 at the end).
class ReferenceConv final : public ConvUnit {
 public:
    bool prepare(const ConvDesc& conv, Transfer& transfer) override {
        conv_ = conv;
        lanes_ = weight_lanes(conv);
        if (!weights_.load(conv, transfer))
            return false;
        if (is_float(conv.precision)) {
            unpack_weights(float_weights_, load_float);
            return load_features(float_features_, load_float, transfer);
        }
        unpack_weights(int_weights_, load_int);
        return load_features(int_features_, load_int, transfer);
    }

    [[nodiscard]] uint32_t group() const override { return 2 * kBlock; }

    void compute(const ConvRun& run, int32_t* out) override {
        for_each_output(run, [&](uint32_t channel, uint32_t pixel, size_t index) {
            int64_t sum = 0;
            const int64_t acc = accumulate_int(channel, pixel, sum);
            int64_t value = saturate32(acc);
            if (run.ow != nullptr && conv_.sum_enabled)
                value += sum * run.ow[channel - run.channel];
            out[index] = saturate32(shift_round(value, conv_.truncate, conv_.truncate_round));
        });
    }

    void compute(const ConvRun& run, float* out) override {
        for_each_output(run, [&](uint32_t channel, uint32_t pixel, size_t index) {
            out[index] = accumulate_float(channel, pixel);
        });
    }

 private:
    template <typename T, typename Load>
    void unpack_weights(std::vector<T>& weights, Load load_element) {
        const size_t window = size_t{conv_.kernel_width} * conv_.kernel_height;
        // Output channels without a kernel (alignment) compute with zero weights.
        kernels_ = conv_.depthwise ? 1 : std::max(conv_.kernels, conv_.out_channels);
        const auto all = scratch(weights, window * lanes_ * kernels_);
        std::fill(all.begin(), all.end(), T{});
        const std::byte* raw = weights_.raw().data();
        const auto copy = [&](uint32_t kernel, uint32_t ky, uint32_t kx, uint32_t c0, size_t index,
                              uint32_t count) {
            const size_t place =
                ((size_t{kernel} * conv_.kernel_height + ky) * conv_.kernel_width + kx) * lanes_;
            for (uint32_t i = 0; i < count; ++i)
                all[place + c0 + i] = load_element(raw, index + i, conv_.precision);
        };
        if (conv_.depthwise) {
            for_each_depthwise_run(
                conv_, [&](uint32_t ky, uint32_t kx, uint32_t c0, size_t index, uint32_t count) {
                    copy(0, ky, kx, c0, index, count);
                });
        } else {
            for_each_weight_run(conv_, copy);
        }
    }

    template <typename T, typename Load>
    bool load_features(std::vector<T>& features, Load load_element, Transfer& transfer) {
        const auto all = scratch(features, size_t{conv_.height} * conv_.width * lanes_);
        std::fill(all.begin(), all.end(), T{});
        return for_each_feature_row(conv_, transfer, [&](const FeatureRow& row) {
            for (uint32_t x = 0; x < conv_.width; ++x) {
                T* pixel = &all[(size_t{row.y} * conv_.width + x) * lanes_];
                for (uint32_t i = 0; i < row.pixel_elements; ++i) {
                    const size_t index = size_t{x} * row.pixel_elements + i;
                    pixel[row.surface * row.pixel_elements + i] =
                        conv_.convert.enabled
                            ? static_cast<T>(
                                  convert_input(conv_.convert, i, load<uint8_t>(row.data + index)))
                            : load_element(row.data, index, conv_.precision);
                }
            }
        });
    }

    template <typename Output>
    void for_each_output(const ConvRun& run, Output output) {
        for (uint32_t c = 0; c < run.channels; ++c) {
            for (uint32_t p = 0; p < run.pixels; ++p) {
                const size_t index = (size_t{c / kBlock} * run.pixels + p) * kBlock + c % kBlock;
                output(run.channel + c, run.pixel + p, index);
            }
        }
    }

    /// Input coordinate of a window position; -1 in the padding or between upsampled pixels.
    [[nodiscard]] static int64_t source(uint32_t out, uint32_t stride, uint32_t k,
                                        uint32_t dilation, uint32_t pad, uint32_t upsample,
                                        uint32_t size) {
        const int64_t position = int64_t{out} * stride + int64_t{k} * dilation - pad;
        if (position < 0 || position % upsample != 0 || position / upsample >= size)
            return -1;
        return position / upsample;
    }

    /// Calls product(feature_index or -1, weight_index) over the receptive field, in the order
    /// ic-group, ky, kx, ic.
    template <typename Product>
    void for_each_product(uint32_t channel, uint32_t pixel, Product product) const {
        const uint32_t oy = pixel / conv_.out_width;
        const uint32_t ox = pixel % conv_.out_width;
        const uint32_t kernel = conv_.depthwise ? 0 : channel;
        const uint32_t step = conv_.depthwise ? lanes_ : kWeightBlockChannels;
        for (uint32_t c0 = 0; c0 < lanes_; c0 += step) {
            const uint32_t c_end = conv_.depthwise ? channel + 1 : std::min(c0 + step, lanes_);
            for (uint32_t ky = 0; ky < conv_.kernel_height; ++ky) {
                const int64_t y = source(oy, conv_.stride_y, ky, conv_.dilation_y, conv_.pad_top,
                                         conv_.upsample_y, conv_.height);
                for (uint32_t kx = 0; kx < conv_.kernel_width; ++kx) {
                    const int64_t x = source(ox, conv_.stride_x, kx, conv_.dilation_x,
                                             conv_.pad_left, conv_.upsample_x, conv_.width);
                    const size_t weight =
                        ((size_t{kernel} * conv_.kernel_height + ky) * conv_.kernel_width + kx) *
                        lanes_;
                    for (uint32_t c = conv_.depthwise ? channel : c0; c < c_end; ++c) {
                        const int64_t feature =
                            y < 0 || x < 0 ? -1 : (y * conv_.width + x) * lanes_ + c;
                        product(feature, weight + c);
                    }
                }
            }
        }
    }

    /// The last group of channels may go on behind those that there are.
    [[nodiscard]] bool has_kernel(uint32_t channel) const {
        return channel < (conv_.depthwise ? lanes_ : kernels_);
    }

    int64_t accumulate_int(uint32_t channel, uint32_t pixel, int64_t& sum) const {
        int64_t acc = 0;
        if (!has_kernel(channel))
            return acc;
        const int32_t pad = pad_int(conv_);
        for_each_product(channel, pixel, [&](int64_t feature, size_t weight) {
            const int64_t x = feature < 0 ? pad : int_features_[static_cast<size_t>(feature)];
            acc += x * int_weights_[weight];
            sum += x;
        });
        return acc;
    }

    float accumulate_float(uint32_t channel, uint32_t pixel) const {
        float acc = 0;
        if (!has_kernel(channel))
            return acc;
        const float pad = pad_float(conv_);
        for_each_product(channel, pixel, [&](int64_t feature, size_t weight) {
            const float x = feature < 0 ? pad : float_features_[static_cast<size_t>(feature)];
            acc += x * float_weights_[weight];
        });
        return acc;
    }

    ConvDesc conv_;
    uint32_t lanes_ = 0;
    uint32_t kernels_ = 0;
    std::vector<int32_t> int_features_, int_weights_;
    std::vector<float> float_features_, float_weights_;
};

}  // namespace

std::unique_ptr<ConvUnit> make_reference_conv() {
    return std::make_unique<ReferenceConv>();
}

}  // namespace npusim
