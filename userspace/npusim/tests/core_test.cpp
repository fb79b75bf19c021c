// SPDX-License-Identifier: MIT
// Interrupt line, reset, faults on demand, recording, threads.
#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <thread>

#include "support.hpp"

using namespace npusim_test;
using npusim::JobEnd;

namespace {

/// Remembers every call of the interrupt handler.
struct Lines {
    std::mutex mutex;
    std::vector<std::pair<unsigned, bool>> calls;
    std::function<void(unsigned, bool)> handler() {
        return [this](unsigned core, bool level) {
            std::lock_guard lock(mutex);
            calls.emplace_back(core, level);
        };
    }
};

npusim::NpuOptions with_fault(const char* rule) {
    npusim::NpuOptions options;
    REQUIRE(options.faults.add(rule).empty());
    return options;
}

void pulse_reset(Bench& bench, uint32_t mask) {
    bench.npu->assert_reset(mask, true);
    bench.npu->assert_reset(mask, false);
}

/// Lets a task wait until the test opens the gate.
struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool entered = false;
    bool open = false;

    void wait_inside() {
        std::unique_lock lock(mutex);
        entered = true;
        changed.notify_all();
        changed.wait(lock, [this] { return open; });
    }
    void wait_entered() {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return entered; });
    }
    void release() {
        std::lock_guard lock(mutex);
        open = true;
        changed.notify_all();
    }
};

}  // namespace

TEST_CASE("the line follows raw status and mask, and a partial clear signals again") {
    Bench bench;
    Lines lines;
    bench.npu->set_irq_handler(lines.handler());
    bench.make_chain(Bench::kCode, {1});
    bench.run(2, Bench::kCode);
    CHECK(lines.calls == std::vector<std::pair<unsigned, bool>>{{2, true}});
    bench.npu->write(2, 0x24, 0x200);  // not the bit that is set
    CHECK(lines.calls.size() == 2);
    CHECK(lines.calls.back() == std::pair<unsigned, bool>{2, true});
    bench.npu->write(2, 0x24, 0x100);
    CHECK(lines.calls.back() == std::pair<unsigned, bool>{2, false});
    bench.npu->write(2, 0x24, 0x100);
    CHECK(lines.calls.size() == 3);
    CHECK(bench.npu->counters(2).interrupts == 1);
    bench.npu->set_irq_handler({});
}

TEST_CASE("the interrupt handler may start the next job") {
    Bench bench;
    bench.make_chain(Bench::kCode, {1});
    std::atomic<unsigned> rounds = 0;
    std::mutex mutex;
    std::condition_variable changed;
    bool raised = false;
    bench.npu->set_irq_handler([&](unsigned, bool level) {
        std::lock_guard lock(mutex);
        raised = level;
        changed.notify_all();
    });
    for (int i = 0; i < 200; ++i) {
        bench.start(0, Bench::kCode);
        std::unique_lock lock(mutex);
        REQUIRE(changed.wait_for(lock, std::chrono::seconds(5), [&] { return raised; }));
        lock.unlock();
        bench.npu->write(0, 0x24, 0x1ffff);
        ++rounds;
    }
    bench.finish();
    CHECK(rounds == 200);
    CHECK(bench.npu->counters(0).jobs == 200);
    CHECK(bench.npu->counters(0).interrupts == 200);
    bench.npu->set_irq_handler({});
}

TEST_CASE("reset stops a job, clears the registers and leaves other cores alone") {
    Bench bench;
    Gate gate;
    bench.make_chain(Bench::kCode, {1, 2});
    bench.runner.during = [&] { gate.wait_inside(); };
    bench.start(0, Bench::kCode, 2);
    gate.wait_entered();
    bench.npu->write(1, 0x34, 0x1230);
    CHECK_FALSE(bench.npu->wait_idle(1));
    std::thread release([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        gate.release();
    });
    bench.npu->assert_reset(1, true);
    release.join();
    CHECK(bench.last().end == JobEnd::kAborted);
    CHECK(bench.runner.resets == 1);
    bench.npu->write(0, 0x34, 0x55);  // ignored while held in reset
    bench.npu->assert_reset(1, false);
    CHECK(bench.npu->read(0, 0x34) == 0);
    CHECK(bench.npu->read(0, 0x10) == 0);
    CHECK(bench.npu->read(0, 0x3c) == 0);
    CHECK(bench.npu->read(0, 0x20) == 0x8001ffff);
    CHECK(bench.npu->read(1, 0x34) == 0x1230);
    bench.runner.during = {};
    bench.run(0, Bench::kCode, 2);
    CHECK(bench.last().end == JobEnd::kDone);
}

TEST_CASE("reset loses the IOMMU registers") {
    Bench bench;
    bench.guest.map(0x10000, Bench::kCode);
    bench.enable_paging(0);
    CHECK(bench.npu->read(0, 0x9000) != 0);
    CHECK((bench.npu->read(0, 0xa004) & 1) == 1);
    pulse_reset(bench, 1);
    CHECK(bench.npu->read(0, 0x9000) == 0);
    CHECK((bench.npu->read(0, 0x9004) & 1) == 0);
    CHECK((bench.npu->read(0, 0xa004) & 1) == 0);
}

TEST_CASE("block registers written during a job wait for its end") {
    Bench bench;
    Gate gate;
    bench.make_chain(Bench::kCode, {1});
    bench.runner.during = [&] { gate.wait_inside(); };
    bench.start(0, Bench::kCode);
    gate.wait_entered();
    bench.npu->write(0, 0x1020, 99);
    CHECK(bench.npu->read(0, 0x1020) == 64);
    gate.release();
    bench.finish();
    CHECK(bench.npu->read(0, 0x1020) == 99);
}

TEST_CASE("a second start during a job is ignored and logged") {
    Bench bench;
    Gate gate;
    bench.make_chain(Bench::kCode, {1});
    bench.runner.during = [&] { gate.wait_inside(); };
    bench.start(0, Bench::kCode);
    gate.wait_entered();
    bench.npu->write(0, 0x08, 1);
    gate.release();
    bench.finish();
    CHECK(bench.npu->counters(0).jobs == 1);
    const auto log = bench.npu->take_log();
    REQUIRE(log.size() == 1);
    CHECK(log[0].find("a job is running") != std::string::npos);
}

TEST_CASE("offsets without a register are logged once") {
    Bench bench;
    CHECK(bench.npu->read(0, 0x3ff0) == 0);
    CHECK(bench.npu->read(0, 0x2000) == 0);
    CHECK(bench.npu->read(0, 0x2000) == 0);
    bench.npu->write(0, 0xfff0, 5);
    CHECK(bench.npu->take_log().size() == 3);
    CHECK(bench.npu->read(0, 0x10000) == 0);
    CHECK(bench.npu->read(0, 0x2) == 0);
}

TEST_CASE("K1: a core hangs after k tasks, only reset helps") {
    Bench bench(with_fault("K1:core=0,job=2,value=1"));
    bench.make_chain(Bench::kCode, {1, 2});
    bench.run(0, Bench::kCode, 2);
    bench.npu->write(0, 0x24, 0x1ffff);
    bench.run(0, Bench::kCode, 2);
    CHECK(bench.last().end == JobEnd::kHung);
    CHECK(bench.npu->read(0, 0x3c) == 1);
    CHECK(bench.npu->read(0, 0x2c) == 0);
    bench.run(1, Bench::kCode, 2);
    CHECK(bench.last().end == JobEnd::kDone);
    pulse_reset(bench, 1);
    bench.run(0, Bench::kCode, 2);
    CHECK(bench.last().end == JobEnd::kDone);
    CHECK(bench.last().number == 3);
}

TEST_CASE("K2: completion comes late, and a reset meanwhile drops it") {
    Bench bench(with_fault("late:value=60,job=1-2"));
    bench.make_chain(Bench::kCode, {1});
    const auto before = std::chrono::steady_clock::now();
    bench.run(0, Bench::kCode);
    CHECK(std::chrono::steady_clock::now() - before >= std::chrono::milliseconds(60));
    CHECK(bench.npu->irq_level(0));
    bench.npu->write(0, 0x24, 0x1ffff);
    bench.start(0, Bench::kCode);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    pulse_reset(bench, 1);
    CHECK(bench.last().end == JobEnd::kAborted);
    CHECK_FALSE(bench.npu->irq_level(0));
    CHECK(bench.npu->read(0, 0x2c) == 0);
}

TEST_CASE("K3: the status is set but the line stays low until cleared") {
    Bench bench(with_fault("K3:job=1"));
    bench.make_chain(Bench::kCode, {1});
    bench.run(0, Bench::kCode);
    CHECK(bench.npu->read(0, 0x28) == 0x100);
    CHECK_FALSE(bench.npu->irq_level(0));
    bench.npu->write(0, 0x24, 0x1ffff);
    bench.run(0, Bench::kCode);
    CHECK(bench.npu->irq_level(0));
}

TEST_CASE("K4: the line pulses without a status") {
    Bench bench(with_fault("K4:core=1"));
    Lines lines;
    bench.npu->set_irq_handler(lines.handler());
    bench.make_chain(Bench::kCode, {1});
    bench.run(1, Bench::kCode);
    CHECK(lines.calls == std::vector<std::pair<unsigned, bool>>{{1, true}, {1, false}, {1, true}});
    bench.npu->set_irq_handler({});
}

TEST_CASE("K5: a status other than the expected") {
    Bench bench(with_fault("K5:value=0x4"));
    bench.make_chain(Bench::kCode, {1});
    bench.run(0, Bench::kCode);
    CHECK(bench.npu->read(0, 0x2c) == 0x4);
    CHECK(bench.npu->read(0, 0x28) == 0);
}

TEST_CASE("K7: a poisoned core works once more only after a reset") {
    Bench bench(with_fault("K7:job=1"));
    bench.make_chain(Bench::kCode, {1});
    bench.run(0, Bench::kCode);
    CHECK(bench.last().end == JobEnd::kDone);
    bench.npu->write(0, 0x24, 0x1ffff);
    bench.run(0, Bench::kCode);
    CHECK(bench.last().end == JobEnd::kHung);
    pulse_reset(bench, 1);
    bench.run(0, Bench::kCode);
    CHECK(bench.last().end == JobEnd::kDone);
}

TEST_CASE("every range of a job is recorded, commands apart from data") {
    npusim::NpuOptions options;
    options.record_ranges = true;
    Bench bench(options);
    bench.make_chain(Bench::kCode, {1, 2});
    bench.run(0, Bench::kCode, 2);
    const auto ranges = bench.last().ranges;
    const auto count = [&](uint32_t iova, uint64_t size, npusim::Access access, bool fetch) {
        return std::count_if(ranges.begin(), ranges.end(), [&](const npusim::DmaRange& r) {
            return r.iova == iova && r.size == size && r.access == access && r.fetch == fetch;
        });
    };
    CHECK(count(Bench::kCode, 96, npusim::Access::kRead, true) == 1);
    CHECK(count(Bench::kCode + 0x1000, 96, npusim::Access::kRead, true) == 1);
    CHECK(count(Bench::kSrc, 64, npusim::Access::kRead, false) == 2);
    CHECK(count(Bench::kDst, 64, npusim::Access::kWrite, false) == 2);
    CHECK(bench.last().bytes_read == 2 * 96 + 2 * 64);
    CHECK(bench.last().bytes_written == 2 * 64);
}

TEST_CASE("accesses outside the live buffers are counted and named") {
    Bench bench;
    bench.make_chain(Bench::kCode, {1});
    bench.npu->set_live_buffers(
        std::vector<npusim::DmaRange>{{Bench::kSrc, 32, npusim::Access::kRead, false},
                                      {Bench::kSrc + 32, 32, npusim::Access::kRead, false},
                                      {Bench::kDst, 63, npusim::Access::kRead, false}});
    bench.run(0, Bench::kCode);
    CHECK(bench.npu->stray_count() == 1);
    const auto log = bench.npu->take_log();
    REQUIRE(log.size() == 1);
    CHECK(log[0].find("write of 64 bytes at 0x40110000") != std::string::npos);
    bench.npu->set_live_buffers(std::nullopt);
    bench.npu->write(0, 0x24, 0x1ffff);
    bench.run(0, Bench::kCode);
    CHECK(bench.npu->stray_count() == 1);
}

TEST_CASE("three cores run at once while registers are read and cores are reset") {
    npusim::NpuOptions options;
    REQUIRE(options.faults.add("delay:value=300,p=0.5").empty());
    Bench bench(options);
    for (uint32_t core = 0; core < 3; ++core)
        bench.make_chain(Bench::kCode + core * 0x10000, {1, 2, 3}, Bench::kSrc + core * 0x1000,
                         Bench::kDst + core * 0x1000);
    std::array<std::atomic<unsigned>, 3> edges{};
    bench.npu->set_irq_handler([&](unsigned core, bool level) { edges[core] += level ? 1 : 0; });
    std::vector<std::thread> threads;
    for (uint32_t core = 0; core < 3; ++core) {
        threads.emplace_back([&, core] {
            for (int i = 0; i < 100; ++i) {
                // The line is a level: what is cleared before the handler runs raises no edge.
                const unsigned before = edges[core];
                bench.start(core, Bench::kCode + core * 0x10000, 3);
                while ((bench.npu->read(core, 0x2c) == 0 || edges[core] == before) && i % 10 != 0)
                    std::this_thread::yield();
                if (i % 10 == 0) {
                    bench.npu->assert_reset(1U << core, true);
                    bench.npu->assert_reset(1U << core, false);
                }
                bench.npu->write(core, 0x24, 0x1ffff);
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    bench.finish();
    for (unsigned core = 0; core < 3; ++core)
        CHECK(bench.npu->counters(core).jobs >= 90);
    CHECK(edges[0] + edges[1] + edges[2] >= 270);
    bench.npu->set_irq_handler({});
}
