// SPDX-License-Identifier: MIT
// A job end to end through the protocol, PCI functions, the interrupt line's rules.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <thread>

#include "client.hpp"
#include "npuregs/regcmd.hpp"
#include "pci_function.hpp"

using namespace rknpusim_test;

namespace {

constexpr uint64_t kRam = 0x40000000;
constexpr uint64_t kRamSize = 1U << 20;
constexpr uint32_t kConfig = rknpusim::kConfigRegion;

/// Writes one word to DPU.DST_BASE_ADDR: enough to see a job through.
class WordRunner final : public npusim::TaskRunner {
 public:
    std::optional<npusim::ExecError> run(const npusim::TaskRegs& regs, uint32_t,
                                         npusim::DmaPort& dma) override {
        const uint32_t value = regs.dpu[0x4044];
        if (!dma.write(regs.dpu[0x4020], std::as_bytes(std::span(&value, 1))))
            return npusim::ExecError{npusim::ExecError::Kind::kDma, "write"};
        return std::nullopt;
    }
    void write_lut(uint32_t, uint32_t) override {}
    uint32_t read_lut() override { return 0; }
    void reset() override {}
    const npusim::TaskWork& last_work() const override { return work_; }

 private:
    npusim::TaskWork work_;
};

std::unique_ptr<rknpusim::Board> make_board() {
    npusim::NpuOptions options;
    options.make_runner = [](unsigned) { return std::make_unique<WordRunner>(); };
    return rknpusim::Board::create(npusim::SocConfig::rk3588(), std::move(options));
}

uint64_t word(uint16_t target, uint32_t offset, uint32_t value) {
    return npuregs::Command{target, static_cast<uint16_t>(offset), value}.encode();
}

bool readable(int fd, int timeout_ms) {
    pollfd p{fd, POLLIN, 0};
    return ::poll(&p, 1, timeout_ms) == 1;
}

uint64_t drain(int fd) {
    uint64_t count = 0;
    return ::read(fd, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

}  // namespace

TEST_CASE("a job runs end to end over the wire") {
    const auto board = make_board();
    REQUIRE(board);
    rknpusim::CoreFunction function(*board, 1);
    board->npu().set_irq_handler([&](unsigned, bool level) { function.line().set_level(level); });
    const UniqueFd memory = rknpusim::make_memfd("ram", kRamSize);
    auto mapping = rknpusim::Mapping::map(memory.get(), 0, kRamSize, true);
    REQUIRE(mapping);
    const std::vector<uint64_t> words = {word(0x1001, 0x4020, kRam + 0x1000),
                                         word(0x1001, 0x4044, 0xabcd1234), word(0x0041, 0, 0),
                                         word(0x0081, 8, 0x18)};
    std::memcpy(mapping->bytes().data(), words.data(), words.size() * 8);

    Client client(function);
    client.hello();
    CHECK(client.dma_map(kRam, kRamSize, 0, {memory.get()}) == 0);
    const UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    CHECK(client.set_irqs(0x24, 0, 0, 1, {event.get()}) == 0);
    CHECK(client.read32(0, 0) == 0x46495245);
    client.write32(0, 0x10, kRam);
    client.write32(0, 0x14, 1);
    client.write32(0, 0x20, 0x300);
    client.write32(0, 0x30, 0x7001);
    client.write32(0, 0x08, 1);
    client.write32(0, 0x08, 0);
    REQUIRE(readable(event.get(), 2000));
    CHECK(drain(event.get()) == 1);
    CHECK(client.read32(0, 0x28) == 0x100);
    CHECK(client.read32(0, 0x3c) == 1);
    client.write32(0, 0x24, 0x1ffff);
    CHECK(client.set_irqs(0x11, 0, 0, 1) == 0);
    CHECK_FALSE(readable(event.get(), 10));
    uint32_t result = 0;
    std::memcpy(&result, mapping->bytes().data() + 0x1000, sizeof(result));
    CHECK(result == 0xabcd1234);
    CHECK(client.dma_unmap(kRam, kRamSize) == 0);
    client.close();
    board->npu().set_irq_handler({});
}

TEST_CASE("the reset register holds cores and reads back") {
    const auto board = make_board();
    rknpusim::CoreFunction first(*board, 0);
    rknpusim::CoreFunction second(*board, 1);
    Client a(first);
    Client b(second);
    a.hello();
    b.hello();
    b.write32(0, 0x34, 0x10);
    a.write32(0, 0xf000, 0x202);  // A and H of core 1
    CHECK(a.read32(0, 0xf000) == 0x202);
    CHECK(b.read32(0, 0x34) == 0);
    a.write32(0, 0xf000, 0x200);
    b.write32(0, 0x34, 0x10);
    CHECK(b.read32(0, 0x34) == 0);  // H still asserted
    a.write32(0, 0xf000, 0);
    b.write32(0, 0x34, 0x10);
    CHECK(b.read32(0, 0x34) == 0x10);
    b.write32(0, 0xf000, 0x2);  // an ordinary offset of core 1
    CHECK(b.read32(0, 0x34) == 0x10);
    a.close();
    b.close();
}

TEST_CASE("faults are armed from the guest for the next jobs") {
    const auto board = make_board();
    rknpusim::CoreFunction core(*board, 0);
    Client client(core);
    client.hello();
    CHECK(client.read32(0, 0xe000) == 0x534b5052);
    const auto start = [&] {
        client.write32(0, 0x24, 0x1ffff);
        client.write32(0, 0x10, 0x20);
        client.write32(0, 0x30, 0x7001);
        client.write32(0, 0x08, 1);
        client.write32(0, 0x08, 0);
        REQUIRE(board->npu().wait_idle(2000));
    };
    const UniqueFd memory = rknpusim::make_memfd("ram", kRamSize);
    auto mapping = rknpusim::Mapping::map(memory.get(), 0, kRamSize, true);
    const std::vector<uint64_t> words = {0,
                                         0,
                                         word(0x1001, 0x4020, 0x1000),
                                         word(0x1001, 0x4044, 7),
                                         word(0x0041, 0, 0),
                                         word(0x0081, 8, 0x18)};
    std::memcpy(mapping->bytes().data() + 0x10, words.data(), words.size() * 8);
    client.dma_map(0, kRamSize, 0, {memory.get()});
    client.write32(0, 0x14, 1);
    client.write32(0, 0xe010, 4);  // wrong status, core 0
    client.write32(0, 0xe014, 0x800);
    client.write32(0, 0xe018, 2);
    for (const uint32_t raw : {0x800U, 0x800U, 0x100U}) {
        start();
        CHECK(client.read32(0, 0x2c) == raw);
    }
    client.write32(0, 0xe010, 0xff00);  // hang, all cores
    client.write32(0, 0xe018, 5);
    client.write32(0, 0xe018, 0);
    start();
    CHECK(client.read32(0, 0x2c) != 0);
}

TEST_CASE("the guest reads counters and names the buffers that live") {
    const auto board = make_board();
    board->set_synchronous();
    rknpusim::CoreFunction first(*board, 0);
    rknpusim::CoreFunction second(*board, 1);
    Client a(first);
    Client b(second);
    a.hello();
    b.hello();
    const UniqueFd memory = rknpusim::make_memfd("ram", kRamSize);
    auto mapping = rknpusim::Mapping::map(memory.get(), 0, kRamSize, true);
    const std::vector<uint64_t> words = {word(0x1001, 0x4020, 0x1000), word(0x1001, 0x4044, 7),
                                         word(0x0041, 0, 0), word(0x0081, 8, 0x18)};
    std::memcpy(mapping->bytes().data() + 0x20, words.data(), words.size() * 8);
    b.dma_map(0, kRamSize, 0, {memory.get()});
    const auto run = [&] {
        b.write32(0, 0x24, 0x1ffff);
        b.write32(0, 0x10, 0x20);
        b.write32(0, 0x14, 1);
        b.write32(0, 0x30, 0x7001);
        b.write32(0, 0x08, 1);
        CHECK(b.read32(0, 0x2c) != 0);  // no wait: the start has waited
        b.write32(0, 0x08, 0);
    };
    const auto set_live = [&](uint32_t start, uint32_t size, uint32_t command) {
        a.write32(0, 0xe040, start);
        a.write32(0, 0xe044, size);
        a.write32(0, 0xe048, command);
    };
    run();
    CHECK(a.read32(0, 0xe120) == 1);  // jobs of core 1
    CHECK(a.read32(0, 0xe124) == 1);  // its tasks, reads, writes
    CHECK(a.read32(0, 0xe128) == 1);
    CHECK(a.read32(0, 0xe12c) == 6);
    CHECK(a.read32(0, 0xe134) == 0);  // registers of its IOMMU bank
    CHECK(a.read32(0, 0xe100) == 0);  // core 0 did nothing
    CHECK(a.read32(0, 0xe160) == 0);  // there is no core 3
    CHECK(a.read32(0, 0xe04c) == 0);
    set_live(0x1000, 0x1000, 1);
    run();
    CHECK(a.read32(0, 0xe04c) == 0);
    set_live(0x1000, 0x1000, 2);
    run();
    CHECK(a.read32(0, 0xe04c) == 1);
    set_live(0, 0, 0);
    run();
    CHECK(a.read32(0, 0xe04c) == 1);
    CHECK(board->npu().stray_count() == 1);
}

TEST_CASE("registers without power or clock are violations") {
    const auto board = make_board();
    rknpusim::CoreFunction first(*board, 0);
    rknpusim::CoreFunction second(*board, 1);
    Client a(first);
    Client b(second);
    a.hello();
    b.hello();
    b.write32(0, 0x34, 0x10);
    CHECK(a.read32(0, 0xe020) == 7);
    a.write32(0, 0xe020, 5);
    CHECK(a.read32(0, 0xe030) == 0);
    CHECK(b.read32(0, 0x34) == 0xffffffff);
    b.write32(0, 0x34, 0x20);
    CHECK(a.read32(0, 0xe030) == 2);
    a.write32(0, 0xe030, 0);
    a.write32(0, 0xe02c, 1);  // the next switch-on fails
    a.write32(0, 0xe020, 7);
    CHECK(a.read32(0, 0xe020) == 5);
    a.write32(0, 0xe020, 7);
    CHECK(a.read32(0, 0xe020) == 7);
    CHECK(b.read32(0, 0x34) == 0);  // state lost
    CHECK(a.read32(0, 0xe030) == 0);
    a.write32(0, 0xe024, 1000000000);
    CHECK(a.read32(0, 0xe030) == 0);
    a.write32(0, 0xe020, 6);  // power cut at full clock
    CHECK(a.read32(0, 0xe030) == 1);
    a.write32(0, 0xe024, 200000000);
    a.write32(0, 0xe024, 300000000);  // raised without power
    CHECK(a.read32(0, 0xe030) == 2);
    a.write32(0, 0xe020, 7);
    a.write32(0, 0xe028, 0);
    CHECK(b.read32(0, 0x0) == 0xffffffff);
    CHECK(board->control().total_violations() == 5);
}

TEST_CASE("the supply must be there first and high enough for the clock", "[board]") {
    const auto board = make_board();
    rknpusim::CoreFunction core0(*board, 0);
    Client a(core0);
    a.hello();
    const auto violations = [&board] { return board->control().total_violations(); };
    CHECK(a.read32(0, 0xe034) == 850000);
    a.write32(0, 0xe034, 700000);
    CHECK(violations() == 0);
    a.write32(0, 0xe024, 800000000);  // needs 750 mV
    CHECK(violations() == 1);
    a.write32(0, 0xe034, 750000);
    CHECK(violations() == 1);
    a.write32(0, 0xe034, 700000);  // lowered before the clock
    CHECK(violations() == 2);
    a.write32(0, 0xe024, 200000000);
    a.write32(0, 0xe034, 0);  // domains are still on
    CHECK(violations() == 3);
    CHECK(a.read32(0, 0x0) == 0xffffffff);
    CHECK(violations() == 4);
    a.write32(0, 0xe020, 0);
    a.write32(0, 0xe020, 7);  // the kernel does this before any driver is asked
    CHECK(violations() == 4);
    a.write32(0, 0xe020, 0);
    a.write32(0, 0xe02c, 1U << 19 | 1);  // the supply's next switch-on fails
    a.write32(0, 0xe034, 700000);
    CHECK(a.read32(0, 0xe034) == 0);
    a.write32(0, 0xe034, 700000);
    CHECK(a.read32(0, 0xe034) == 700000);
    a.write32(0, 0xe02c, 1U << 17 | 1);  // only domain 1 fails
    a.write32(0, 0xe020, 1);
    CHECK(a.read32(0, 0xe020) == 1);
    a.write32(0, 0xe020, 3);
    CHECK(a.read32(0, 0xe020) == 1);
    a.write32(0, 0xe020, 3);
    CHECK(a.read32(0, 0xe020) == 3);
    CHECK(violations() == 4);
}

TEST_CASE("configuration space keeps what a device keeps") {
    const auto board = make_board();
    rknpusim::CoreFunction core(*board, 2);
    rknpusim::SramFunction sram(*board);
    Client a(core);
    Client b(sram);
    a.hello();
    b.hello();
    CHECK(a.read32(kConfig, 0) == 0x35881d87);
    CHECK(a.write32(kConfig, 0, 0) == 0);
    CHECK(a.read32(kConfig, 0) == 0x35881d87);
    a.write32(kConfig, 0x10, 0xffffffff);
    CHECK(a.read32(kConfig, 0x10) == 0xffff0000);
    a.write32(kConfig, 0x30, 0xffffffff);
    CHECK(a.read32(kConfig, 0x30) == 0);  // no ROM
    CHECK((a.read32(kConfig, 0x3c) & 0xff00) == 0x100);
    CHECK((b.read32(kConfig, 0x3c) & 0xff00) == 0);
    b.write32(kConfig, 0x18, 0xffffffff);
    CHECK(b.read32(kConfig, 0x18) == 0xfff00008);
    CHECK(a.call(9, Payload().add<uint64_t>(255).add(kConfig).add<uint32_t>(2).bytes()).error ==
          EINVAL);
}

TEST_CASE("register access widths") {
    const auto board = make_board();
    rknpusim::CoreFunction core(*board, 0);
    Client client(core);
    client.hello();
    const Reply bytes =
        client.call(9, Payload().add<uint64_t>(1).add<uint32_t>(0).add<uint32_t>(2).bytes());
    CHECK(bytes.at<uint16_t>(16) == 0x4952);
    const Reply wide =
        client.call(9, Payload().add<uint64_t>(0).add<uint32_t>(0).add<uint32_t>(8).bytes());
    CHECK(wide.at<uint64_t>(16) == 0x0001000046495245);
    CHECK(client
              .call(10, Payload()
                            .add<uint64_t>(0x34)
                            .add<uint32_t>(0)
                            .add<uint32_t>(1)
                            .add<uint8_t>(1)
                            .bytes())
              .error == EINVAL);
}

TEST_CASE("SRAM is one memory for guest and NPU, wherever the BAR is") {
    const auto board = make_board();
    rknpusim::SramFunction sram(*board);
    Client client(sram);
    client.hello();
    const Reply info = client.call(5, Payload()
                                          .add<uint32_t>(32)
                                          .add<uint32_t>(0)
                                          .add<uint32_t>(2)
                                          .add<uint32_t>(0)
                                          .add<uint64_t>(0)
                                          .add<uint64_t>(0)
                                          .bytes());
    REQUIRE(info.fd);
    auto mapping = rknpusim::Mapping::map(info.fd.get(), 0, rknpusim::kSramBarSize, true);
    REQUIRE(mapping);
    const std::vector<uint64_t> words = {word(0x1001, 0x4020, 0x20000100), word(0x1001, 0x4044, 7),
                                         word(0x0041, 0, 0), word(0x0081, 8, 0x18)};
    std::memcpy(mapping->bytes().data(), words.data(), words.size() * 8);
    client.write32(kConfig, 0x18, 0x20000000);
    client.write32(kConfig, 0x04, 0x2);
    auto& npu = board->npu();
    npu.write(0, 0x10, 0x20000000);
    npu.write(0, 0x14, 1);
    npu.write(0, 0x30, 0x7001);
    npu.write(0, 0x08, 1);
    REQUIRE(npu.wait_idle(2000));
    CHECK(npu.read(0, 0x2c) == 0x100);
    CHECK(client.read32(2, 0x100) == 7);
    CHECK(client.write32(2, 0x104, 9) == 0);
    CHECK(mapping->bytes()[0x104] == std::byte{9});
}

TEST_CASE("guest memory: shared by functions, checked against the file") {
    const auto board = make_board();
    rknpusim::CoreFunction first(*board, 0);
    rknpusim::CoreFunction second(*board, 1);
    const UniqueFd memory = rknpusim::make_memfd("ram", kRamSize);
    const UniqueFd other = rknpusim::make_memfd("other", kRamSize);
    Client a(first);
    Client b(second);
    a.hello();
    b.hello();
    CHECK(a.dma_map(kRam, kRamSize + 1, 0, {memory.get()}) == EINVAL);
    CHECK(a.dma_map(kRam, 0x1000, kRamSize, {memory.get()}) == EINVAL);
    CHECK(a.dma_map(kRam, 0x1000, UINT64_MAX, {memory.get()}) == EINVAL);
    CHECK(a.dma_map(kRam, kRamSize, 0, {memory.get()}) == 0);
    CHECK(a.dma_map(kRam, kRamSize, 0, {memory.get()}) == EEXIST);
    CHECK(b.dma_map(kRam, kRamSize, 0, {other.get()}) == EEXIST);
    CHECK(b.dma_map(kRam + 0x1000, 0x1000, 0, {other.get()}) == EEXIST);
    CHECK(b.dma_map(kRam, kRamSize, 0, {memory.get()}) == 0);
    CHECK(a.dma_map(0x80000000, 0x1000, 0, {}) == 0);
    CHECK(a.dma_unmap(kRam, 0x1000) == ENOENT);
    CHECK(a.dma_unmap(kRam, kRamSize) == 0);
    CHECK(a.dma_unmap(kRam, kRamSize) == ENOENT);
    CHECK(b.dma_unmap(0, 0, 2) == 0);
    CHECK(b.dma_unmap(kRam, kRamSize) == ENOENT);
}

TEST_CASE("level interrupt over an eventfd") {
    rknpusim::IntxLine line;
    const UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    line.set_trigger(UniqueFd(::dup(event.get())));
    line.set_level(true);
    CHECK(drain(event.get()) == 1);
    SECTION("unmasked while up: again after the delay, not at once") {
        line.set_masked(false);
        CHECK(drain(event.get()) == 0);
        REQUIRE(line.deadline());
        line.tick(rknpusim::IntxLine::Clock::now());
        CHECK(drain(event.get()) == 0);
        line.tick(*line.deadline());
        CHECK(drain(event.get()) == 1);
        CHECK_FALSE(line.deadline());
    }
    SECTION("cleared before the delay is over: silence") {
        line.set_masked(false);
        line.set_level(false);
        CHECK_FALSE(line.deadline());
        CHECK(drain(event.get()) == 0);
    }
    SECTION("a clear that leaves a cause signals at once") {
        line.set_masked(false);
        line.set_level(true);
        CHECK(drain(event.get()) == 1);
    }
    SECTION("a rise while masked is owed and comes with the unmask") {
        line.set_level(false);
        line.set_level(true);
        CHECK(drain(event.get()) == 0);
        line.set_masked(false);
        CHECK(drain(event.get()) == 1);
    }
    SECTION("a trigger set while the level is up signals") {
        const UniqueFd second(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        line.set_trigger(UniqueFd(::dup(second.get())));
        CHECK(drain(second.get()) == 1);
    }
}
