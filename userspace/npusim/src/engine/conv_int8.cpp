// SPDX-License-Identifier: MIT
// Direct convolution of int8 and int4 tensors as a matrix product without an im2col buffer: the
// padded input window is kept as [surface][y][x][16] and every kernel position is an offset in it.
#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "conv.hpp"
#include "gemm_int8.hpp"
#include "simd.hpp"

namespace npusim {
namespace {

/// The last steps on the accumulators of sixteen channels.
struct FinishArgs {
    int32_t* block;  ///< [pixels][16]
    size_t pixels;
    const int32_t* correction;  ///< per channel, subtracted modulo 2^32 as the kernels add
    const int32_t* ow;          ///< per channel, for finish_sums()
    const int32_t* sums;        ///< per pixel: zero-point sum, or null
    uint32_t shift;
    Round round;
};

int32_t subtract(int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}

NPUSIM_CLONES void finish_plain(const FinishArgs& args) {
    for (size_t p = 0; p < args.pixels; ++p) {
        int32_t* v = args.block + p * kBlock;
        for (uint32_t l = 0; l < kBlock; ++l)
            v[l] = subtract(v[l], args.correction[l]);
    }
}

NPUSIM_CLONES void finish_sums(const FinishArgs& args) {
    const bool even = args.round == Round::kEven;
    const int64_t half = args.shift == 0 ? 0 : (int64_t{1} << (args.shift - 1)) - (even ? 1 : 0);
    const int64_t odd = args.shift != 0 && even ? 1 : 0;
    const auto shift = static_cast<int32_t>(args.shift);
    for (size_t p = 0; p < args.pixels; ++p) {
        int32_t* v = args.block + p * kBlock;
        const int32_t sum = args.sums != nullptr ? args.sums[p] : 0;
        for (uint32_t l = 0; l < kBlock; ++l) {
            const int64_t value = int64_t{sum} * args.ow[l] + subtract(v[l], args.correction[l]);
            const int64_t shifted = (value + half + ((value >> shift) & odd)) >> shift;
            v[l] = static_cast<int32_t>(
                std::min<int64_t>(std::max<int64_t>(shifted, std::numeric_limits<int32_t>::min()),
                                  std::numeric_limits<int32_t>::max()));
        }
    }
}

class Int8Conv final : public ConvUnit {
 public:
    bool prepare(const ConvDesc& conv, Transfer& transfer) override {
        conv_ = conv;
        kernel_ = &gemm_kernel();
        window_ = padded_window(conv);
        surfaces_ = (weight_lanes(conv) + kBlock - 1) / kBlock;
        if (!weights_.load(conv, transfer))
            return false;
        const bool loaded = kernel_->biased_feature ? load_features(bytes_, transfer)
                                                    : load_features(shorts_, transfer);
        if (!loaded)
            return false;
        build_offsets();
        pack_weights();
        if (conv.sum_enabled)
            build_sums();
        return true;
    }

    [[nodiscard]] uint32_t group() const override { return kGemmOutputs; }

    void compute(const ConvRun& run, int32_t* out) override {
        const size_t group_bytes = steps_ * kGemmStep * kGemmOutputs;
        for (uint32_t c = 0; c < run.channels; c += kGemmOutputs) {
            const size_t group = (run.channel + c) / kGemmOutputs;
            int32_t* block = out + size_t{c} * run.pixels;
            GemmArgs args{};
            args.features = kernel_->biased_feature ? static_cast<const void*>(bytes_.data())
                                                    : static_cast<const void*>(shorts_.data());
            args.step_offset = step_offset_.data();
            args.pixel_offset = pixel_offset_.data() + run.pixel;
            args.steps = steps_;
            args.pixels = run.pixels;
            args.weights = packed_.data() + group * group_bytes;
            args.out = block;
            kernel_->run(args);
            finish(run, c, block);
        }
    }

    void compute(const ConvRun&, float*) override {}

 private:
    template <typename T>
    bool load_features(std::vector<T>& buffer, Transfer& transfer) {
        constexpr bool kBiased = sizeof(T) == 1;
        constexpr int32_t kBias = kBiased ? 128 : 0;
        const size_t plane = size_t{window_.width} * window_.height * kBlock;
        const auto all = scratch(buffer, plane * surfaces_);
        std::fill(all.begin(), all.end(), static_cast<T>(pad_int(conv_) + kBias));
        return for_each_feature_row(conv_, transfer, [&](const FeatureRow& row) {
            const int64_t y = int64_t{row.y} + conv_.pad_top;
            if (y >= window_.height)
                return;
            copy_row(row, static_cast<uint32_t>(y), plane, all.data(), kBias);
        });
    }

    template <typename T>
    void copy_row(const FeatureRow& row, uint32_t y, size_t plane, T* all, int32_t bias) {
        if (conv_.pad_left >= window_.width)
            return;
        const uint32_t pixels = std::min(conv_.width, window_.width - conv_.pad_left);
        const size_t place = (size_t{y} * window_.width + conv_.pad_left) * kBlock;
        if (conv_.image_channels != 0) {
            copy_image_row(row, pixels, all + place, bias);
            return;
        }
        if (conv_.precision == Precision::kInt4) {
            copy_int4_row(row, pixels, plane, all + place, bias);
            return;
        }
        T* to = all + row.surface * plane + place;
        if (conv_.convert.enabled) {
            for (size_t i = 0; i < size_t{pixels} * kBlock; ++i)
                to[i] = static_cast<T>(
                    convert_input(conv_.convert, i % kBlock, load<uint8_t>(row.data + i)) + bias);
            return;
        }
        for (size_t i = 0; i < size_t{pixels} * kBlock; ++i)
            to[i] = static_cast<T>(load<int8_t>(row.data + i) + bias);
    }

    template <typename T>
    void copy_image_row(const FeatureRow& row, uint32_t pixels, T* to, int32_t bias) {
        const uint32_t lanes = row.pixel_elements;
        for (uint32_t x = 0; x < pixels; ++x, to += kBlock) {
            std::fill(to, to + kBlock, static_cast<T>(bias));
            for (uint32_t i = 0; i < lanes; ++i) {
                const size_t index = size_t{x} * lanes + i;
                const int32_t value =
                    conv_.convert.enabled
                        ? convert_input(conv_.convert, i, load<uint8_t>(row.data + index))
                        : load_int(row.data, index, conv_.precision);
                to[i] = static_cast<T>(value + bias);
            }
        }
    }

    // An int4 atom holds 32 channels: two of our 16-lane surfaces.
    template <typename T>
    void copy_int4_row(const FeatureRow& row, uint32_t pixels, size_t plane, T* place,
                       int32_t bias) {
        for (uint32_t half = 0; half < 2; ++half) {
            T* to = place + (row.surface * 2 + half) * plane;
            for (uint32_t x = 0; x < pixels; ++x) {
                for (uint32_t i = 0; i < kBlock; ++i) {
                    const size_t index = size_t{x} * 32 + half * kBlock + i;
                    to[x * kBlock + i] =
                        static_cast<T>(load_int(row.data, index, Precision::kInt4) + bias);
                }
            }
        }
    }

    void build_offsets() {
        const size_t plane = size_t{window_.width} * window_.height * kBlock;
        steps_ = size_t{surfaces_} * conv_.kernel_height * conv_.kernel_width;
        const auto steps = scratch(step_offset_, steps_);
        size_t i = 0;
        for (uint32_t s = 0; s < surfaces_; ++s) {
            for (uint32_t ky = 0; ky < conv_.kernel_height; ++ky) {
                for (uint32_t kx = 0; kx < conv_.kernel_width; ++kx) {
                    const size_t pixel = size_t{ky} * conv_.dilation_y * window_.width +
                                         size_t{kx} * conv_.dilation_x;
                    steps[i++] = static_cast<int32_t>(s * plane + pixel * kBlock);
                }
            }
        }
        const auto pixels = scratch(pixel_offset_, size_t{conv_.out_width} * conv_.out_height);
        i = 0;
        for (uint32_t y = 0; y < conv_.out_height; ++y) {
            for (uint32_t x = 0; x < conv_.out_width; ++x) {
                const size_t pixel =
                    size_t{y} * conv_.stride_y * window_.width + size_t{x} * conv_.stride_x;
                pixels[i++] = static_cast<int32_t>(pixel * kBlock);
            }
        }
    }

    void pack_weights() {
        switch (kernel_->unit) {
            case 4:
                return pack_weights_by<4>();
            case 2:
                return pack_weights_by<2>();
            default:
                return pack_weights_by<1>();
        }
    }

    template <unsigned kUnit>
    void pack_weights_by() {
        const uint32_t groups =
            (std::max(conv_.kernels, conv_.out_channels) + kGemmOutputs - 1) / kGemmOutputs;
        const size_t group_bytes = steps_ * kGemmStep * kGemmOutputs;
        const auto packed = scratch(packed_, groups * group_bytes);
        std::memset(packed.data(), 0, packed.size());
        const auto sums = scratch(weight_sum_, size_t{groups} * kGemmOutputs);
        std::fill(sums.begin(), sums.end(), 0);
        const size_t window = size_t{conv_.kernel_height} * conv_.kernel_width;
        const std::byte* raw = weights_.raw().data();
        for_each_weight_run(conv_, [&](uint32_t k, uint32_t ky, uint32_t kx, uint32_t c0,
                                       size_t index, uint32_t count) {
            int8_t values[kWeightBlockChannels];
            if (conv_.precision == Precision::kInt4) {
                for (uint32_t i = 0; i < count; ++i)
                    values[i] = static_cast<int8_t>(load_int(raw, index + i, Precision::kInt4));
            } else {
                std::memcpy(values, raw + index, count);
            }
            int32_t sum = 0;
            for (uint32_t i = 0; i < count; ++i)
                sum += values[i];
            sums[k] += sum;
            int8_t* to =
                packed.data() + k / kGemmOutputs * group_bytes + size_t{k % kGemmOutputs} * kUnit;
            const size_t position = size_t{ky} * conv_.kernel_width + kx;
            for (uint32_t i = 0; i < count; i += kUnit) {
                const uint32_t c = c0 + i;
                // Channel row of the step.
                const size_t row = (c / kGemmStep * window + position) * kGemmStep + c % kGemmStep;
                std::memcpy(to + row * kGemmOutputs, values + i, kUnit);
            }
        });
    }

    /// Zero-point sum of every output pixel: channel sums first, then the window.
    void build_sums() {
        const size_t positions = size_t{window_.width} * window_.height;
        const auto channel_sum = scratch(channel_sum_, positions);
        std::fill(channel_sum.begin(), channel_sum.end(), 0);
        for (uint32_t s = 0; s < surfaces_; ++s) {
            for (size_t i = 0; i < positions; ++i) {
                const size_t base = (s * positions + i) * kBlock;
                const uint32_t lanes = std::min(kBlock, weight_lanes(conv_) - s * kBlock);
                int32_t sum = kernel_->biased_feature ? -128 * static_cast<int32_t>(lanes) : 0;
                for (uint32_t l = 0; l < lanes; ++l)
                    sum += kernel_->biased_feature ? int32_t{bytes_[base + l]}
                                                   : int32_t{shorts_[base + l]};
                channel_sum[i] += sum;
            }
        }
        const size_t outputs = size_t{conv_.out_width} * conv_.out_height;
        const auto sums = scratch(sums_, outputs);
        const size_t window = size_t{conv_.kernel_height} * conv_.kernel_width;
        for (size_t p = 0; p < outputs; ++p) {
            int32_t sum = 0;  // below 2^17 products of 2^7
            for (size_t k = 0; k < window; ++k)
                sum +=
                    channel_sum[static_cast<size_t>(pixel_offset_[p] + step_offset_[k]) / kBlock];
            sums[p] = sum;
        }
    }

    void finish(const ConvRun& run, uint32_t channel, int32_t* block) const {
        static constexpr int32_t kNoOw[kBlock] = {};
        const bool use_ow = run.ow != nullptr && conv_.sum_enabled;
        for (uint32_t half = 0; half < 2; ++half, block += size_t{run.pixels} * kBlock) {
            const int32_t* weight_sum = &weight_sum_[run.channel + channel + half * kBlock];
            int32_t correction[kBlock];
            for (uint32_t l = 0; l < kBlock; ++l)
                correction[l] = kernel_->biased_feature ? weight_sum[l] * 128 : 0;
            const FinishArgs args{block,
                                  run.pixels,
                                  correction,
                                  use_ow ? run.ow + channel + half * kBlock : kNoOw,
                                  use_ow ? sums_.data() + run.pixel : nullptr,
                                  conv_.truncate,
                                  conv_.truncate_round};
            if (use_ow || conv_.truncate != 0)
                finish_sums(args);
            else
                finish_plain(args);
        }
    }

    ConvDesc conv_;
    const GemmKernel* kernel_ = nullptr;
    PaddedWindow window_;
    uint32_t surfaces_ = 0;
    size_t steps_ = 0;
    std::vector<uint8_t> bytes_;
    std::vector<int16_t> shorts_;
    std::vector<int32_t> step_offset_, pixel_offset_, channel_sum_, weight_sum_, sums_;
    std::vector<int8_t> packed_;
};

}  // namespace

bool int8_conv_fits(const ConvDesc& conv) {
    if (conv.precision != Precision::kInt8 && conv.precision != Precision::kInt4)
        return false;
    if (conv.depthwise || conv.deconv)
        return false;
    // The kernels add modulo 2^32: exact while |sum| <= K * 128 * 128 stays below 2^31.
    const uint64_t products = uint64_t{weight_lanes(conv)} * conv.kernel_width * conv.kernel_height;
    const PaddedWindow window = padded_window(conv);
    const uint64_t elements =
        uint64_t{window.width} * window.height * (weight_lanes(conv) + kBlock);
    return products < (1U << 17) && elements < (uint64_t{1} << 27);
}

std::unique_ptr<ConvUnit> make_int8_conv() {
    return std::make_unique<Int8Conv>();
}

}  // namespace npusim
