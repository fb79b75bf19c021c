// SPDX-License-Identifier: MIT
#include "api/edge.hpp"

namespace rknpu::api {

int to_code(Error error) {
    switch (error) {
        case Error::kNone:
            return RKNN_SUCC;
        case Error::kTimeout:
            return RKNN_ERR_TIMEOUT;
        case Error::kDeviceUnavailable:
            return RKNN_ERR_DEVICE_UNAVAILABLE;
        case Error::kNoMemory:
            return RKNN_ERR_MALLOC_FAIL;
        case Error::kInvalidArgument:
            return RKNN_ERR_PARAM_INVALID;
        case Error::kInvalidModel:
            return RKNN_ERR_MODEL_INVALID;
        case Error::kInvalidContext:
            return RKNN_ERR_CTX_INVALID;
        case Error::kInvalidInput:
            return RKNN_ERR_INPUT_INVALID;
        case Error::kInvalidOutput:
            return RKNN_ERR_OUTPUT_INVALID;
        case Error::kDeviceMismatch:
            return RKNN_ERR_DEVICE_UNMATCH;
        case Error::kPlatformMismatch:
            return RKNN_ERR_TARGET_PLATFORM_UNMATCH;
        case Error::kFail:
        case Error::kNoPermission:
        case Error::kUseBuiltIn:
            break;
    }
    return RKNN_ERR_FAIL;
}

}  // namespace rknpu::api
