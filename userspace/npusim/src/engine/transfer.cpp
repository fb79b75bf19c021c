// SPDX-License-Identifier: MIT
#include "transfer.hpp"

#include <bit>
#include <cstdio>

namespace npusim {

static_assert(std::endian::native == std::endian::little,
              "tensors in device memory are little-endian and copied as they are");

bool Transfer::in_range(int64_t iova, size_t size, Access access) {
    constexpr int64_t kEnd = int64_t{1} << 32;
    if (!ok())
        return false;
    if (iova >= 0 && iova < kEnd && static_cast<int64_t>(size) <= kEnd - iova)
        return true;
    char text[112];
    std::snprintf(text, sizeof text, "%s of %zu bytes at %#llx leaves the 32-bit address space",
                  access == Access::kRead ? "read" : "write", size,
                  static_cast<unsigned long long>(iova));
    error_ = ExecError{ExecError::Kind::kDma, text};
    return false;
}

void Transfer::fail() {
    error_ = ExecError{ExecError::Kind::kDma, describe(dma_->fault())};
}

std::span<const std::byte> Transfer::fetch(int64_t iova, size_t size) {
    if (!in_range(iova, size, Access::kRead))
        return {};
    const auto address = static_cast<uint32_t>(iova);
    const auto view = dma_->try_view(address, static_cast<uint32_t>(size), Access::kRead);
    if (!view.empty() || size == 0)
        return view;
    const auto copy = scratch(bounce_, size);
    if (dma_->read(address, copy))
        return copy;
    fail();
    return {};
}

bool Transfer::read(int64_t iova, std::span<std::byte> dst) {
    if (!in_range(iova, dst.size(), Access::kRead))
        return false;
    if (!dma_->read(static_cast<uint32_t>(iova), dst))
        fail();
    return ok();
}

bool Transfer::write(int64_t iova, std::span<const std::byte> src) {
    if (!in_range(iova, src.size(), Access::kWrite))
        return false;
    if (!dma_->write(static_cast<uint32_t>(iova), src))
        fail();
    return ok();
}

bool Transfer::read_cube(const CubeDesc& cube, size_t row_bytes, uint32_t rows, uint32_t surfaces,
                         std::span<std::byte> dst) {
    const bool dense_rows = cube.row_pitch == static_cast<int64_t>(row_bytes) || rows == 1;
    const size_t surface_bytes = row_bytes * rows;
    const bool dense =
        dense_rows && (surfaces == 1 || cube.surface_pitch == static_cast<int64_t>(surface_bytes));
    if (dense)
        return read(cube.base, dst.first(surface_bytes * surfaces));
    for (uint32_t s = 0; s < surfaces && ok(); ++s) {
        const int64_t surface = cube.base + s * cube.surface_pitch;
        const auto part = dst.subspan(s * surface_bytes, surface_bytes);
        if (dense_rows) {
            read(surface, part);
            continue;
        }
        for (uint32_t y = 0; y < rows && ok(); ++y)
            read(surface + y * cube.row_pitch, part.subspan(y * row_bytes, row_bytes));
    }
    return ok();
}

}  // namespace npusim
