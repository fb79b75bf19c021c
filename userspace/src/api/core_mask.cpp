// SPDX-License-Identifier: MIT
#include "api/core_mask.hpp"

#include <rknn_api.h>

namespace rknpu::api {

Result<uint32_t> check_core_mask(const DeviceInfo& device, uint32_t mask) {
    const uint32_t all = (1u << device.cores) - 1;
    const uint32_t wanted = mask == RKNN_NPU_CORE_ALL ? all : mask;
    if (device.cores == 1)
        return Status{Error::kPlatformMismatch, "Not support core mask: the chip has one core"};
    if ((wanted & ~all) != 0 || wanted == 5 || wanted == 6)
        return Status::failure(Error::kInvalidArgument,
                               "Not support core mask: {} on {} with {} cores", mask, device.soc,
                               device.cores);
    return wanted;
}

}  // namespace rknpu::api
