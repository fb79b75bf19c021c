// SPDX-License-Identifier: MIT
#include "core/limits.hpp"

#include <cstdlib>

#include "core/log.hpp"

namespace rknpu {

std::string_view to_string(Reason reason) {
    switch (reason) {
        case Reason::kOpUnsupported:
            return "OP_UNSUPPORTED";
        case Reason::kParamOutOfRange:
            return "PARAM_OUT_OF_RANGE";
        case Reason::kTypeUnsupported:
            return "TYPE_UNSUPPORTED";
        case Reason::kBatchTooLarge:
            return "BATCH_TOO_LARGE";
        case Reason::kBufferTooSmall:
            return "BUFFER_TOO_SMALL";
        case Reason::kCombination:
            return "COMBINATION";
        case Reason::kNoDevice:
            break;
    }
    return "NO_DEVICE";
}

bool strict_mode() {
    const char* text = std::getenv("RKNPU_STRICT");
    return text != nullptr && *text != '\0' && std::string_view(text) != "0";
}

Status fall_back_to_cpu(std::string_view what, Reason reason, std::string_view limit) {
    if (strict_mode())
        return Status::failure(
            Error::kInvalidModel,
            "{} cannot run on the NPU: {}: {}; RKNPU_STRICT allows no fallback to the CPU", what,
            to_string(reason), limit);
    log(LogLevel::kWarning, "{} runs on the CPU: {}: {}", what, to_string(reason), limit);
    return {};
}

}  // namespace rknpu
