// SPDX-License-Identifier: MIT
#include "rknpu_regcmd/layout.hpp"

#include <algorithm>
#include <cstring>

namespace rknpu::compiler {

namespace {

constexpr uint32_t kChannelBlock = 32;   // input channels per weight block, any precision
constexpr uint32_t kRecordChannels = 8;  // output channels per operand record
constexpr uint32_t kRecordBytes = 64;

template <typename T>
constexpr Precision precision_of() {
    return sizeof(T) == 1 ? Precision::kInt8 : Precision::kFp16;
}

template <typename T>
T padding_of(std::span<const T> padding, uint32_t channel) {
    return channel < padding.size() ? padding[channel] : T{0};
}

void store(std::vector<std::byte>& out, size_t at, const void* value, size_t size) {
    std::memcpy(out.data() + at, value, size);
}

}  // namespace

uint32_t direct_weight_bytes(const WeightShape& shape, Precision precision) {
    return stored_kernels(shape.output_channels) * weight_lanes(shape.input_channels, precision) *
           shape.kernel_height * shape.kernel_width * element_bytes(precision);
}

uint32_t depthwise_weight_bytes(const WeightShape& shape, Precision precision) {
    return weight_lanes(shape.output_channels, precision) * shape.kernel_height *
           shape.kernel_width * element_bytes(precision);
}

template <typename T>
std::vector<T> pack_direct_weights(std::span<const T> weights, const WeightShape& shape,
                                   std::span<const T> padding) {
    constexpr Precision kPrecision = precision_of<T>();
    const uint32_t group = channel_group(kPrecision, false);
    const uint32_t kernels = stored_kernels(shape.output_channels);
    const uint32_t lanes = weight_lanes(shape.input_channels, kPrecision);
    const uint32_t taps = shape.kernel_height * shape.kernel_width;

    std::vector<T> packed;
    packed.reserve(direct_weight_bytes(shape, kPrecision) / sizeof(T));
    for (uint32_t oc0 = 0; oc0 < kernels; oc0 += group) {
        const uint32_t oc_end = std::min(oc0 + group, kernels);
        for (uint32_t ic0 = 0; ic0 < lanes; ic0 += kChannelBlock) {
            const uint32_t ic_end = std::min(ic0 + kChannelBlock, lanes);
            for (uint32_t tap = 0; tap < taps; tap++) {
                for (uint32_t oc = oc0; oc < oc_end; oc++) {
                    for (uint32_t ic = ic0; ic < ic_end; ic++) {
                        const bool real = oc < shape.output_channels && ic < shape.input_channels;
                        const size_t from = (size_t{oc} * shape.input_channels + ic) * taps + tap;
                        packed.push_back(real ? weights[from] : padding_of(padding, oc));
                    }
                }
            }
        }
    }
    return packed;
}

template <typename T>
std::vector<T> pack_depthwise_weights(std::span<const T> weights, const WeightShape& shape,
                                      std::span<const T> padding) {
    constexpr Precision kPrecision = precision_of<T>();
    const uint32_t group = channel_group(kPrecision, true);
    const uint32_t lanes = weight_lanes(shape.output_channels, kPrecision);
    const uint32_t taps = shape.kernel_height * shape.kernel_width;

    std::vector<T> packed;
    packed.reserve(size_t{lanes} * taps);
    for (uint32_t c0 = 0; c0 < lanes; c0 += group) {
        const uint32_t c_end = std::min(c0 + group, lanes);
        for (uint32_t tap = 0; tap < taps; tap++) {
            for (uint32_t c = c0; c < c_end; c++) {
                packed.push_back(c < shape.output_channels ? weights[size_t{c} * taps + tap]
                                                           : padding_of(padding, c));
            }
        }
    }
    return packed;
}

template std::vector<int8_t> pack_direct_weights(std::span<const int8_t>, const WeightShape&,
                                                 std::span<const int8_t>);
template std::vector<uint16_t> pack_direct_weights(std::span<const uint16_t>, const WeightShape&,
                                                   std::span<const uint16_t>);
template std::vector<int8_t> pack_depthwise_weights(std::span<const int8_t>, const WeightShape&,
                                                    std::span<const int8_t>);
template std::vector<uint16_t> pack_depthwise_weights(std::span<const uint16_t>, const WeightShape&,
                                                      std::span<const uint16_t>);

std::vector<std::byte> pack_operand_records(std::span<const ChannelOperands> channels,
                                            uint32_t aligned_channels) {
    const uint32_t count = std::max(aligned_channels, static_cast<uint32_t>(channels.size()));
    std::vector<std::byte> out(size_t{divide_up(count, kRecordChannels)} * kRecordBytes);
    for (size_t c = 0; c < channels.size(); c++) {
        const size_t record = c / kRecordChannels * kRecordBytes;
        const size_t lane = c % kRecordChannels;
        store(out, record + 4 * lane, &channels[c].bias, 4);
        store(out, record + 32 + 2 * lane, &channels[c].weight_zero, 2);
        store(out, record + 48 + 2 * lane, &channels[c].scale, 2);
    }
    return out;
}

std::vector<std::byte> pack_bias_words(std::span<const uint32_t> bias, uint32_t aligned_channels) {
    const uint32_t count = std::max(aligned_channels, static_cast<uint32_t>(bias.size()));
    std::vector<std::byte> out(align_up(count * 4, kRecordBytes));
    std::memcpy(out.data(), bias.data(), bias.size_bytes());
    return out;
}

}  // namespace rknpu::compiler
