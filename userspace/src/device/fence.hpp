// SPDX-License-Identifier: MIT
#pragma once

#include "core/status.hpp"

namespace rknpu {

/// True if `fd` is an open descriptor.
bool is_open(int fd);

/// Waits until `fd` is readable. Errors: kTimeout, kInvalidArgument for a closed descriptor.
Status wait_readable(int fd, int timeout_ms);

/// Waits for a kernel sync_file and says how the work behind it ended.
Status wait_sync_file(int fd, int timeout_ms);

}  // namespace rknpu
