// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace rknpu::test {

/// The driver's node, opened beside the library: what is made here the library knows by its
/// descriptor only.
class OtherFile {
 public:
    OtherFile();
    ~OtherFile();
    OtherFile(const OtherFile&) = delete;
    OtherFile& operator=(const OtherFile&) = delete;

    /// A dma-buf of new memory, which the caller owns; -1 on failure.
    int make(uint64_t size, bool cacheable) const;

 private:
    int fd_ = -1;
};

}  // namespace rknpu::test
