// SPDX-License-Identifier: MIT
// Why something cannot run on the NPU, and what happens then.
#pragma once

#include <string>
#include <string_view>

#include "core/status.hpp"

namespace rknpu {

/// Reason codes of the line that names a limit.
enum class Reason {
    kOpUnsupported,    ///< no task stream for the operator
    kParamOutOfRange,  ///< a parameter is outside the table's range
    kTypeUnsupported,  ///< an element type
    kBatchTooLarge,    ///< N of a tensor
    kBufferTooSmall,   ///< the on-chip buffer cannot hold what one step needs
    kCombination,      ///< each part is possible, together they are not
    kNoDevice,         ///< the device is absent, or is another chip
};

/// OP_UNSUPPORTED and so on.
std::string_view to_string(Reason reason);

/// RKNPU_STRICT=1: what cannot run on the NPU is an error instead of running on the CPU.
bool strict_mode();

/// Says in a warning that `what` runs on the CPU and why; in strict mode this is the failure
/// kInvalidModel with the same words.
Status fall_back_to_cpu(std::string_view what, Reason reason, std::string_view limit);

}  // namespace rknpu
