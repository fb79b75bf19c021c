// SPDX-License-Identifier: MIT
#include "support/other_file.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <xf86drm.h>

#include <cstring>
#include <string>

#include "../../../uapi/rknpu_drm.h"

namespace rknpu::test {
namespace {

bool is_rknpu(int fd) {
    drmVersionPtr version = drmGetVersion(fd);
    if (version == nullptr)
        return false;
    const bool match = std::strcmp(version->name, "rknpu") == 0;
    drmFreeVersion(version);
    return match;
}

}  // namespace

OtherFile::OtherFile() {
    constexpr int kFirst = 128;
    constexpr int kNodes = 16;
    for (int i = 0; i < kNodes && fd_ < 0; ++i) {
        const auto path = "/dev/dri/renderD" + std::to_string(kFirst + i);
        fd_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
        if (fd_ >= 0 && !is_rknpu(fd_)) {
            close(fd_);
            fd_ = -1;
        }
    }
}

OtherFile::~OtherFile() {
    if (fd_ >= 0)
        close(fd_);
}

int OtherFile::make(uint64_t size, bool cacheable) const {
    rknpu_mem_create create{};
    create.size = size;
    create.flags = cacheable ? RKNPU_MEM_CACHEABLE : 0;
    int out = -1;
    if (drmIoctl(fd_, DRM_IOCTL_RKNPU_MEM_CREATE, &create) != 0 ||
        drmPrimeHandleToFD(fd_, create.handle, DRM_CLOEXEC | DRM_RDWR, &out) != 0)
        return -1;
    return out;  // the handle goes with the file
}

}  // namespace rknpu::test
