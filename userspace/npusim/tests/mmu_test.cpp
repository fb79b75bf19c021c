// SPDX-License-Identifier: MIT
// IOMMU banks: registers, translation, stale entries, faults, stall.
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "support.hpp"

using namespace npusim_test;
using npusim::DmaFault;
using npusim::JobEnd;

namespace {

constexpr uint32_t kCodeVa = 0xff800000;  // where the kernel's allocator starts
constexpr uint32_t kSrcVa = 0xff810000;
constexpr uint32_t kDstVa = 0xff820000;

/// A job at high IOVAs; its source page has value 1, its spare source page value 9.
struct Mapped : Bench {
    explicit Mapped(npusim::NpuOptions options = {},
                    npusim::SocConfig soc = npusim::SocConfig::rk3588())
        : Bench(std::move(options), soc) {
        code = guest.page();
        src = guest.page();
        spare = guest.page();
        dst = guest.page();
        guest.store_words(code, stream(body(100, kSrcVa, kDstVa), 0x0d));
        const std::vector<std::byte> ones(64, std::byte{1});
        const std::vector<std::byte> nines(64, std::byte{9});
        guest.store(src, ones);
        guest.store(spare, nines);
        guest.map(kCodeVa, code);
        guest.map(kSrcVa, src, 3);
        guest.map(kDstVa, dst, 7);
    }
    uint32_t result() const { return guest.load32(dst) & 0xff; }
    void next(unsigned core) {
        npu->write(core, 0x24, 0x1ffff);
        run(core, kCodeVa);
    }
    uint64_t code, src, spare, dst;
};

}  // namespace

TEST_CASE("a job is translated on every core") {
    for (unsigned core = 0; core < 3; ++core) {
        Mapped bench;
        bench.enable_paging(core);
        bench.run(core, kCodeVa);
        INFO(bench.last().text);
        CHECK(bench.last().end == JobEnd::kDone);
        CHECK(bench.result() == 101);
    }
}

TEST_CASE("banks are where the chip has them") {
    Bench bench;
    bench.npu->write(0, 0x9000, 0x1000);
    bench.npu->write(0, 0xa000, 0x2000);
    bench.npu->write(1, 0xa000, 0x3000);
    bench.npu->write(1, 0x9000, 0x4000);
    CHECK(bench.npu->read(0, 0x9000) == 0x1000);
    CHECK(bench.npu->read(0, 0xa000) == 0x2000);
    CHECK(bench.npu->read(1, 0xa000) == 0x3000);
    CHECK(bench.npu->read(1, 0x9000) == 0);
}

TEST_CASE("the handshakes of the rockchip IOMMU driver work") {
    Bench bench;
    auto& npu = *bench.npu;
    // Force reset: the directory address reads back first, then 0 after the command.
    npu.write(0, 0x9000, 0xcafebabe & ~0xfU);
    CHECK(npu.read(0, 0x9000) == (0xcafebabe & ~0xfU));
    npu.write(0, 0x9008, 6);
    CHECK(npu.read(0, 0x9000) == 0);
    // Stall acts only while paging.
    npu.write(0, 0x9008, 2);
    CHECK((npu.read(0, 0x9004) & 0x4) == 0);
    npu.write(0, 0x9008, 0);
    npu.write(0, 0x9008, 2);
    CHECK((npu.read(0, 0x9004) & 0x80000005) == 0x5);
    npu.write(0, 0x9008, 3);
    CHECK((npu.read(0, 0x9004) & 0x80000005) == 0x80000001);
    npu.write(0, 0x9008, 1);
    CHECK((npu.read(0, 0x9004) & 0x1) == 0);
    CHECK((npu.read(0, 0x9004) & 0x18) == 0x18);
    npu.write(0, 0x9024, 0x80000000);
    CHECK(npu.read(0, 0x9024) == 0x80000000);
}

TEST_CASE("a stale translation lives until it is zapped") {
    Mapped bench;
    bench.enable_paging(1);
    bench.run(1, kCodeVa);
    CHECK(bench.result() == 101);
    bench.guest.map(kSrcVa, bench.spare, 3);
    bench.next(1);
    CHECK(bench.result() == 101);  // the old page
    SECTION("zap of another line does not help") {
        bench.npu->write(1, 0xa010, kDstVa);
        bench.next(1);
        CHECK(bench.result() == 101);
    }
    SECTION("zap of the line") {
        bench.npu->write(1, 0xa010, kSrcVa + 0x10);
        bench.next(1);
        CHECK(bench.result() == 109);
    }
    SECTION("zap of the whole TLB") {
        bench.zap(1);
        bench.next(1);
        CHECK(bench.result() == 109);
    }
    SECTION("switching the directory does not empty the TLB") {
        bench.npu->write(1, 0xa000, bench.npu->read(1, 0xa000));
        bench.npu->write(1, 0xa008, 1);
        bench.npu->write(1, 0xa008, 0);
        bench.next(1);
        CHECK(bench.result() == 101);
    }
}

TEST_CASE("an unmapped page stays reachable until zapped, then faults") {
    Mapped bench;
    bench.enable_paging(0);
    bench.run(0, kCodeVa);
    bench.guest.map(kSrcVa, bench.src, 0);
    bench.next(0);
    CHECK(bench.last().end == JobEnd::kDone);
    bench.zap(0);
    bench.next(0);
    CHECK(bench.last().end == JobEnd::kDmaError);
    CHECK(bench.last().fault.kind == DmaFault::Kind::kPageFault);
    CHECK(bench.last().fault.iova == kSrcVa);
}

TEST_CASE("page faults are reported by bank and core") {
    Mapped bench;
    bench.guest.map(kDstVa, bench.dst, 3);  // read only
    bench.enable_paging(0);
    bench.run(0, kCodeVa);
    CHECK(bench.last().end == JobEnd::kDmaError);
    CHECK(bench.last().fault.access == npusim::Access::kWrite);
    auto& npu = *bench.npu;
    CHECK(npu.read(0, 0x2c) == 0x2000);
    CHECK(npu.read(0, 0x28) == 0);
    CHECK(npu.irq_level(0));  // the bank's interrupt is on the same line
    // Core 0 writes through its second bank.
    CHECK(npu.read(0, 0x9014) == 0);
    CHECK(npu.read(0, 0xa014) == 1);
    CHECK(npu.read(0, 0xa020) == 1);
    CHECK(npu.read(0, 0xa00c) == kDstVa);
    CHECK((npu.read(0, 0xa004) & 0x22) == 0x22);
    npu.write(0, 0xa008, 5);
    CHECK((npu.read(0, 0xa004) & 0x22) == 0);
    npu.write(0, 0xa018, 3);
    CHECK_FALSE(npu.irq_level(0));
    CHECK(npu.counters(0).faults == 1);
}

TEST_CASE("a stream that cannot be fetched is a read error") {
    Mapped bench;
    bench.enable_paging(2);
    bench.start(2, 0x1000);
    bench.finish();
    CHECK(bench.last().end == JobEnd::kDmaError);
    CHECK(bench.npu->read(2, 0x2c) == 0x1000);
    CHECK(bench.npu->read(2, 0xa00c) == 0x1000);
}

TEST_CASE("bus errors: page table, data page, end of the address space") {
    Mapped bench;
    auto& npu = *bench.npu;
    SECTION("directory in nowhere") {
        bench.enable_paging(1);
        npu.write(1, 0xa000, 0x80000000);
        npu.write(1, 0xa008, 4);
        bench.run(1, kCodeVa);
        CHECK(bench.last().fault.kind == DmaFault::Kind::kWalkBusError);
        CHECK(npu.read(1, 0xa014) == 2);
        CHECK(npu.read(1, 0x2c) == 0x10000);
    }
    SECTION("data page in nowhere") {
        bench.guest.map(kDstVa, 0x90000000);
        bench.enable_paging(1);
        bench.run(1, kCodeVa);
        CHECK(bench.last().fault.kind == DmaFault::Kind::kBusError);
        CHECK(npu.read(1, 0xa014) == 0);
        CHECK(npu.read(1, 0x2c) == 0x12000);
    }
    SECTION("over the end") {
        bench.guest.map(0xfffff000, bench.src);
        bench.guest.store_words(bench.code, stream(Bench::body(1, 0xfffffff0, kDstVa), 0x0d));
        bench.enable_paging(1);
        bench.run(1, kCodeVa);
        CHECK(bench.last().fault.kind == DmaFault::Kind::kBusError);
    }
}

TEST_CASE("memory above 4 GiB: reached on RK3588, refused by K15 and on chips that cannot") {
    const uint64_t high = 0x1'2340'0000;
    std::vector<std::byte> page(0x1000, std::byte{7});
    SECTION("reached") {
        Mapped bench;
        bench.guest.ram.add(high, page);
        bench.guest.map(kSrcVa, high, 3);
        bench.enable_paging(0);
        bench.run(0, kCodeVa);
        CHECK(bench.result() == 107);
    }
    SECTION("K15") {
        npusim::NpuOptions options;
        REQUIRE(options.faults.add("K15").empty());
        Mapped bench(options);
        bench.guest.ram.add(high, page);
        bench.guest.map(kSrcVa, high, 3);
        bench.enable_paging(0);
        bench.run(0, kCodeVa);
        CHECK(bench.last().fault.kind == DmaFault::Kind::kBusError);
    }
    SECTION("page table above the reach") {
        npusim::SocConfig soc = npusim::SocConfig::rk3588();
        soc.walk_address_bits = 32;
        Mapped bench({}, soc);
        bench.enable_paging(0);
        bench.npu->write(0, 0x9000, Guest::descriptor(high));
        bench.run(0, kCodeVa);
        CHECK(bench.last().fault.kind == DmaFault::Kind::kWalkBusError);
    }
}

TEST_CASE("K6: an injected page fault looks like a real one") {
    npusim::NpuOptions options;
    REQUIRE(options.faults.add("K6:value=0xff810020,job=2").empty());
    Mapped bench(options);
    bench.enable_paging(1);
    bench.run(1, kCodeVa);
    CHECK(bench.last().end == JobEnd::kDone);
    bench.next(1);
    CHECK(bench.last().fault.kind == DmaFault::Kind::kPageFault);
    CHECK(bench.npu->read(1, 0xa014) == 1);
    CHECK(bench.npu->read(1, 0xa00c) == kSrcVa);
}

TEST_CASE("a stalled bank holds the job until the stall ends or the core is reset") {
    Mapped bench;
    bench.enable_paging(1);
    bench.npu->write(1, 0xa008, 2);
    bench.start(1, kCodeVa);
    CHECK_FALSE(bench.npu->wait_idle(30));
    SECTION("stall ends") {
        bench.npu->write(1, 0xa008, 3);
        bench.finish();
        CHECK(bench.last().end == JobEnd::kDone);
    }
    SECTION("reset") {
        bench.npu->assert_reset(2, true);
        CHECK(bench.last().end == JobEnd::kAborted);
        bench.npu->assert_reset(2, false);
    }
}

TEST_CASE("accesses cross pages that are apart in memory") {
    Mapped bench;
    const uint64_t a = bench.guest.page();
    bench.guest.page();
    const uint64_t b = bench.guest.page();
    bench.guest.map(0x100000, a);
    bench.guest.map(0x101000, b);
    const std::vector<std::byte> ones(16, std::byte{1});
    const std::vector<std::byte> twos(48, std::byte{2});
    bench.guest.store(a + 0xff0, ones);
    bench.guest.store(b, twos);
    bench.guest.store_words(bench.code, stream(Bench::body(0, 0x100ff0, kDstVa), 0x0d));
    bench.enable_paging(0);
    bench.run(0, kCodeVa);
    CHECK(bench.guest.load32(bench.dst) == 0x01010101);
    CHECK(bench.guest.load32(bench.dst + 16) == 0x02020202);
}
