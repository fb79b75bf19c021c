// SPDX-License-Identifier: MIT
// Weights as they lie in memory: direct [OC/G][IC/32][KH][KW][oc][ic] with ragged last groups,
// depthwise [C/G][KH][KW][c]; raw or compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "desc.hpp"
#include "transfer.hpp"

namespace npusim {

/// Input channels one weight block holds.
inline constexpr uint32_t kWeightBlockChannels = 32;

/// Kernels per group of a direct convolution.
[[nodiscard]] uint32_t kernel_group(Precision precision);

/// Channels per group of a depthwise convolution.
[[nodiscard]] uint32_t depthwise_group(Precision precision);

/// Channels per kernel position as stored: the input channels in whole atoms.
[[nodiscard]] uint32_t weight_lanes(const ConvDesc& conv);

class WeightStore {
 public:
    /// Fetches (and decompresses) all weights of the task. False after a failed transfer or when
    /// the compressed stream is damaged; then `damage` names the cause, if it was not a transfer.
    bool load(const ConvDesc& conv, Transfer& transfer);

    /// All weights in memory order. Valid until the next load().
    [[nodiscard]] std::span<const std::byte> raw() const { return raw_; }
    [[nodiscard]] const char* damage() const { return damage_; }

 private:
    bool decompress(const ConvDesc& conv, Transfer& transfer, size_t size);

    std::vector<std::byte> buffer_;
    std::vector<std::byte> compressed_;
    std::span<const std::byte> raw_;
    const char* damage_ = nullptr;
};

/// RK3576 image kernels: [OC/32][KH][oc][16 bytes], position kx at byte 4 * kx.
template <typename Visit>
void for_each_packed_row_run(const ConvDesc& conv, Visit visit) {
    constexpr uint32_t kPositionBytes = 4;
    const uint32_t group = kernel_group(conv.precision);
    for (uint32_t k0 = 0; k0 < conv.kernels; k0 += group) {
        const uint32_t kernels = std::min(group, conv.kernels - k0);
        for (uint32_t ky = 0; ky < conv.kernel_height; ++ky) {
            for (uint32_t k = 0; k < kernels; ++k) {
                const size_t row =
                    (size_t{k0} * conv.kernel_height + size_t{ky} * kernels + k) * kAtomBytes;
                for (uint32_t kx = 0; kx < conv.kernel_width; ++kx)
                    visit(k0 + k, ky, kx, 0, row + size_t{kx} * kPositionBytes, kPositionBytes);
            }
        }
    }
}

/// Calls visit(kernel, ky, kx, first_channel, element_index, count) for every stored run of
/// channels of a direct convolution; element_index is the run's place in WeightStore::raw().
template <typename Visit>
void for_each_weight_run(const ConvDesc& conv, Visit visit) {
    if (conv.packed_kernel_rows) {
        for_each_packed_row_run(conv, visit);
        return;
    }
    const uint32_t group = kernel_group(conv.precision);
    const uint32_t lanes = weight_lanes(conv);
    size_t index = 0;
    for (uint32_t k0 = 0; k0 < conv.kernels; k0 += group) {
        const uint32_t kernels = std::min(group, conv.kernels - k0);
        for (uint32_t c0 = 0; c0 < lanes; c0 += kWeightBlockChannels) {
            const uint32_t count = std::min(kWeightBlockChannels, lanes - c0);
            for (uint32_t ky = 0; ky < conv.kernel_height; ++ky) {
                for (uint32_t kx = 0; kx < conv.kernel_width; ++kx) {
                    for (uint32_t k = k0; k < k0 + kernels; ++k) {
                        visit(k, ky, kx, c0, index, count);
                        index += count;
                    }
                }
            }
        }
    }
}

/// The same for a depthwise convolution: visit(ky, kx, first_channel, element_index, count).
template <typename Visit>
void for_each_depthwise_run(const ConvDesc& conv, Visit visit) {
    const uint32_t group = depthwise_group(conv.precision);
    const uint32_t lanes = weight_lanes(conv);
    size_t index = 0;
    for (uint32_t c0 = 0; c0 < lanes; c0 += group) {
        const uint32_t count = std::min(group, lanes - c0);
        for (uint32_t ky = 0; ky < conv.kernel_height; ++ky) {
            for (uint32_t kx = 0; kx < conv.kernel_width; ++kx) {
                visit(ky, kx, c0, index, count);
                index += count;
            }
        }
    }
}

}  // namespace npusim
