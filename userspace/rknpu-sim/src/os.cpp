// SPDX-License-Identifier: MIT
#include "os.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <limits>

namespace rknpusim {

UniqueFd::~UniqueFd() {
    reset();
}

void UniqueFd::reset() {
    if (fd_ >= 0)
        ::close(fd_);
    fd_ = -1;
}

Mapping::~Mapping() {
    if (!bytes_.empty())
        ::munmap(bytes_.data(), bytes_.size());
}

std::optional<Mapping> Mapping::map(int fd, uint64_t offset, uint64_t size, bool writable) {
    struct stat info {};
    if (size == 0 || size > std::numeric_limits<size_t>::max() || ::fstat(fd, &info) != 0)
        return std::nullopt;
    const auto file_size = static_cast<uint64_t>(info.st_size);
    if (info.st_size < 0 || offset > file_size || size > file_size - offset)
        return std::nullopt;
    void* at = ::mmap(nullptr, static_cast<size_t>(size), PROT_READ | (writable ? PROT_WRITE : 0),
                      MAP_SHARED, fd, static_cast<off_t>(offset));
    if (at == MAP_FAILED)
        return std::nullopt;
    Mapping mapping;
    mapping.bytes_ = {static_cast<std::byte*>(at), static_cast<size_t>(size)};
    return mapping;
}

UniqueFd make_memfd(const char* name, uint64_t size) {
    UniqueFd fd(::memfd_create(name, MFD_CLOEXEC));
    if (fd && ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0)
        fd.reset();
    return fd;
}

}  // namespace rknpusim
