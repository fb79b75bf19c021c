// SPDX-License-Identifier: MIT
#include "rknpu_regcmd/cbuf.hpp"

#include <algorithm>

namespace rknpu::compiler {

namespace {

/// Output rows whose input fits `banks`; 0 when none does.
uint32_t rows_in(uint32_t banks, const ConvNeeds& needs) {
    const uint32_t held = banks * kBankBytes / std::max(1U, needs.row_bytes);
    if (held >= needs.input_height) {
        return needs.output_height;
    }
    const uint32_t one = input_rows(needs.window, 1);
    if (held < one) {
        return 0;
    }
    return std::min(needs.output_height, (held - one) / needs.window.stride_y + 1);
}

}  // namespace

uint32_t buffer_row_bytes(uint32_t width, uint32_t channels, uint32_t image_channels,
                          Precision precision) {
    constexpr uint32_t kGreyLanes = 4;
    const uint32_t lanes = image_channels == 1   ? kGreyLanes
                           : image_channels != 0 ? atom_lanes(precision)
                                                 : weight_lanes(channels, precision);
    const uint32_t pixels = image_channels != 0 ? align_up(width, 4) : width;
    return align_up(pixels * lanes * element_bytes(precision), 64);
}

uint32_t input_rows(const Window& window, uint32_t rows) {
    return (rows - 1) * window.stride_y + (window.height - 1) * window.dilation_y + 1;
}

std::optional<ConvPlan> plan_conv(const ConvNeeds& needs) {
    const uint32_t all_rows = needs.row_bytes * needs.input_height;
    const uint32_t data_banks = std::max(1U, divide_up(all_rows, kBankBytes));
    const uint32_t weight_banks = std::max(1U, divide_up(needs.weight_bytes, kBankBytes));
    const uint32_t group_banks = std::max(1U, divide_up(needs.group_bytes, kBankBytes));

    ConvPlan plan;
    const auto split = [&plan](uint32_t data, bool fit) {
        plan.banks = {static_cast<uint8_t>(data), static_cast<uint8_t>(kBanks - data)};
        plan.weights_fit = fit;
        return plan;
    };
    if (data_banks < kBanks && data_banks + std::min(weight_banks, group_banks) <= kBanks) {
        plan.output_rows = needs.output_height;
        return split(data_banks, data_banks + weight_banks <= kBanks);
    }
    for (const uint32_t weights : {weight_banks, group_banks}) {
        if (weights >= kBanks) {
            continue;
        }
        plan.output_rows = rows_in(kBanks - weights, needs);
        if (plan.output_rows != 0) {
            return split(kBanks - weights, weights == weight_banks);
        }
    }
    return std::nullopt;
}

}  // namespace rknpu::compiler
