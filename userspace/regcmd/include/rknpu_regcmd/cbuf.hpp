// SPDX-License-Identifier: MIT
// Convolution buffer: 12 banks of 32 KiB, shared by input rows and weights of one task.
#pragma once

#include <cstdint>
#include <optional>

#include "rknpu_regcmd/task.hpp"

namespace rknpu::compiler {

inline constexpr uint32_t kBanks = 12;
inline constexpr uint32_t kBankBytes = 32 * 1024;

/// How a convolution is cut so that each task's input rows fit the buffer.
struct ConvPlan {
    BankSplit banks;
    uint32_t output_rows = 0;  ///< rows per task; the last task may have fewer
    bool weights_fit = false;  ///< all weights stay in the buffer from task to task
};

/// Needs of one convolution.
struct ConvNeeds {
    uint32_t row_bytes = 0;  ///< one input row as it lies in the buffer
    uint32_t input_height = 0;
    uint32_t output_height = 0;
    uint32_t weight_bytes = 0;  ///< all kernels
    uint32_t group_bytes = 0;   ///< kernels the MAC array works on at a time
    Window window;
};

/// Bytes of one input row in the buffer. Packed images are spread to whole atoms, one-channel ones
/// to four lanes (as the vendor's bank counts show).
[[nodiscard]] uint32_t buffer_row_bytes(uint32_t width, uint32_t channels, uint32_t image_channels,
                                        Precision precision);

/// Input rows that `rows` output rows need, padding not included.
[[nodiscard]] uint32_t input_rows(const Window& window, uint32_t rows);

/// Prefers one task, then whole weights beside as many rows as fit; weights too big for that are
/// streamed group by group. Empty when not even one output row fits.
[[nodiscard]] std::optional<ConvPlan> plan_conv(const ConvNeeds& needs);

}  // namespace rknpu::compiler
