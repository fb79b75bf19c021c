// SPDX-License-Identifier: MIT
#include <array>
#include <catch2/catch.hpp>

#include "npusim/dma.hpp"
#include "npusim/memory.hpp"

using npusim::Access;
using npusim::RamMemory;

TEST_CASE("ranges do not overlap and views do not leave them") {
    RamMemory ram;
    std::array<std::byte, 0x100> a{};
    std::array<std::byte, 0x100> b{};
    CHECK(ram.add(0x1000, a));
    CHECK_FALSE(ram.add(0x10ff, b));
    CHECK_FALSE(ram.add(0xf01, b));
    CHECK_FALSE(ram.add(UINT64_MAX - 5, b));
    CHECK_FALSE(ram.add(0x5000, {}));
    CHECK(ram.add(0x1100, b, false));
    CHECK(ram.view(0x1000, 0x100, Access::kWrite).size() == 0x100);
    CHECK(ram.view(0x10f0, 0x20, Access::kRead).empty());  // two buffers
    CHECK(ram.view(0xfff, 2, Access::kRead).empty());
    CHECK(ram.view(0x1000, UINT64_MAX, Access::kRead).empty());
    CHECK(ram.view(0x1100, 4, Access::kRead).data() == b.data());
    CHECK(ram.view(0x1100, 4, Access::kWrite).empty());
    CHECK_FALSE(ram.remove(0x1001));
    CHECK(ram.remove(0x1000));
    CHECK(ram.view(0x1000, 1, Access::kRead).empty());
}

TEST_CASE("the direct port copies, views and reports") {
    RamMemory ram;
    std::array<std::byte, 64> bytes{};
    ram.add(0x2000, bytes);
    const auto dma = npusim::make_direct_dma(ram);
    const std::array<std::byte, 3> data = {std::byte{1}, std::byte{2}, std::byte{3}};
    CHECK(dma->write(0x2010, data));
    std::array<std::byte, 3> back{};
    CHECK(dma->read(0x2010, back));
    CHECK(back == data);
    CHECK(dma->try_view(0x2000, 65, Access::kRead).empty());
    CHECK(dma->fault().kind == npusim::DmaFault::Kind::kNone);
    CHECK_FALSE(dma->read(0x203f, back));
    CHECK(npusim::describe(dma->fault()) == "bus error at IOVA 0x0000203f, read");
}
