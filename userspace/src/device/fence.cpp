// SPDX-License-Identifier: MIT
#include "device/fence.hpp"

#include <fcntl.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

namespace rknpu {

bool is_open(int fd) {
    return fcntl(fd, F_GETFD) >= 0;
}

Status wait_readable(int fd, int timeout_ms) {
    if (!is_open(fd))
        return Status::failure(Error::kInvalidArgument, "fence {} is no open descriptor", fd);
    pollfd entry{fd, POLLIN, 0};
    int ready = 0;
    do {
        ready = poll(&entry, 1, timeout_ms);
    } while (ready < 0 && errno == EINTR);
    if (ready == 0)
        return Status::failure(Error::kTimeout, "the run did not end within {} ms", timeout_ms);
    if (ready < 0)
        return Status::failure(Error::kFail, "cannot wait for fence {}: {}", fd,
                               std::strerror(errno));
    return {};
}

Status wait_sync_file(int fd, int timeout_ms) {
    if (auto status = wait_readable(fd, timeout_ms); !status.ok())
        return status;
    sync_file_info info{};
    if (ioctl(fd, SYNC_IOC_FILE_INFO, &info) != 0)
        return Status::failure(Error::kInvalidArgument, "descriptor {} is no fence: {}", fd,
                               std::strerror(errno));
    if (info.status >= 0)
        return {};
    return Status::failure(info.status == -ETIMEDOUT ? Error::kTimeout : Error::kFail,
                           "failed to submit!, the job ended with: {}",
                           std::strerror(-info.status));
}

}  // namespace rknpu
