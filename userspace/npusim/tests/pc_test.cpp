// SPDX-License-Identifier: MIT
// Task chains, counters, register groups, refusals.
#include <catch2/catch.hpp>

#include "support.hpp"

using namespace npusim_test;
using npusim::JobEnd;

TEST_CASE("version registers add up to what boards report") {
    Bench bench;
    CHECK(bench.npu->read(0, 0) + (bench.npu->read(0, 4) & 0xffff) == 0x46495245);
    Bench small({}, npusim::SocConfig::rk3568());
    CHECK(small.npu->read(0, 0) + (small.npu->read(0, 4) & 0xffff) == 0);
}

TEST_CASE("a chain runs as many tasks as TASK_CON says") {
    Bench bench;
    bench.make_chain(Bench::kCode, {1, 2, 3, 4, 5});
    bench.run(0, Bench::kCode, 5);
    CHECK(bench.runner.values == std::vector<uint32_t>{1, 2, 3, 4, 5});
    CHECK(bench.npu->read(0, 0x3c) == 5);
    CHECK(bench.last().end == JobEnd::kDone);
    CHECK(bench.last().tasks_done == 5);
    // A smaller count cuts the same chain; count-clear in TASK_CON restarts the counter.
    bench.run(0, Bench::kCode, 2);
    CHECK(bench.runner.values == std::vector<uint32_t>{1, 2, 3, 4, 5, 1, 2});
    CHECK(bench.npu->read(0, 0x3c) == 2);
}

TEST_CASE("without count clear the task counter goes on") {
    Bench bench;
    bench.make_chain(Bench::kCode, {1});
    bench.run(0, Bench::kCode);
    bench.npu->write(0, 0x30, 0x5001);
    bench.npu->write(0, 0x24, 0x1ffff);
    bench.npu->write(0, 0x08, 1);
    bench.finish();
    CHECK(bench.npu->read(0, 0x3c) == 2);
}

TEST_CASE("a chain that ends early is refused and the counter is honest") {
    Bench bench;
    bench.make_chain(Bench::kCode, {1, 2});
    bench.run(0, Bench::kCode, 3);
    CHECK(bench.last().end == JobEnd::kRefused);
    CHECK(bench.last().text.find("after task 2 of 3") != std::string::npos);
    CHECK(bench.npu->read(0, 0x3c) == 2);
    CHECK(bench.npu->read(0, 0x2c) == 0);
    CHECK_FALSE(bench.npu->irq_level(0));
    CHECK(bench.npu->refused_count() == 1);
}

TEST_CASE("task n inherits from task n - 2 of the same block") {
    Bench bench;
    const uint32_t at = Bench::kCode;
    // Two full register sets, then deltas that only say where to write.
    std::vector<std::vector<uint64_t>> bodies = {Bench::body(10), Bench::body(20)};
    const std::vector<uint64_t> delta = {write_reg(0x1004, 0xe), write_reg(0x4004, 0xe)};
    for (int i = 0; i < 3; ++i)
        bodies.push_back(delta);
    for (size_t i = 0; i < bodies.size(); ++i) {
        const bool last = i + 1 == bodies.size();
        const bool next_is_full = i == 0;
        const uint32_t next_amount = next_is_full ? 5 : 2;
        bench.guest.store_words(
            at + i * 0x1000,
            stream(bodies[i], 0x0d, last ? 0 : static_cast<uint32_t>(at + (i + 1) * 0x1000),
                   last ? 0 : next_amount));
    }
    bench.start(0, at, 5);
    bench.finish();
    INFO(bench.last().text);
    CHECK(bench.runner.values == std::vector<uint32_t>{10, 20, 10, 20, 10});
    CHECK(bench.npu->read(0, 0x2c) == 0x100);
}

TEST_CASE("group pointers go on from job to job and completion bits alternate") {
    Bench bench;
    bench.make_chain(Bench::kCode, {1});
    for (const uint32_t raw : {0x100U, 0x200U, 0x100U, 0x200U}) {
        bench.run(1, Bench::kCode);
        CHECK(bench.npu->read(1, 0x2c) == raw);
        CHECK(bench.npu->read(1, 0x28) == raw);
        CHECK(bench.npu->irq_level(1));
        bench.npu->write(1, 0x24, 0x1ffff);
        CHECK_FALSE(bench.npu->irq_level(1));
    }
}

TEST_CASE("S_POINTER 0x30 goes back to group 0 without toggling") {
    Bench bench;
    auto body = Bench::body(1);
    bench.guest.store_words(Bench::kCode, stream(body, 0x0d));
    body[2] = write_reg(0x4004, 0x30);
    bench.guest.store_words(Bench::kCode + 0x1000, stream(body, 0x0d));
    bench.run(0, Bench::kCode);
    CHECK(bench.npu->read(0, 0x2c) == 0x100);
    CHECK((bench.npu->read(0, 0x4004) & 1) == 1);
    bench.npu->write(0, 0x24, 0x1ffff);
    bench.run(0, Bench::kCode + 0x1000);
    CHECK(bench.npu->read(0, 0x2c) == 0x100);
    CHECK((bench.npu->read(0, 0x4004) & 0x10001) == 0);
}

TEST_CASE("only the blocks of a task change their group") {
    Bench bench;
    bench.guest.store_words(Bench::kCode, stream(Bench::body(1), 0x08));
    bench.run(0, Bench::kCode);
    CHECK((bench.npu->read(0, 0x4004) & 1) == 1);
    CHECK((bench.npu->read(0, 0x1004) & 1) == 0);
}

TEST_CASE("a pooling task completes with the PPU's bit") {
    Bench bench;
    std::vector<uint64_t> body = Bench::body(1);
    body.push_back(write_reg(0x6004, 0xe));
    body.push_back(write_reg(0x7004, 0xe));
    bench.guest.store_words(Bench::kCode, stream(body, 0x60));
    bench.start(0, Bench::kCode, 1, 6, 0x300);
    bench.finish();
    CHECK(bench.npu->read(0, 0x2c) == 0x400);
    CHECK(bench.npu->read(0, 0x28) == 0);  // the driver asked for the DPU's bits only
    CHECK_FALSE(bench.npu->irq_level(0));
    bench.npu->write(0, 0x20, 0xc00);
    CHECK(bench.npu->irq_level(0));
}

TEST_CASE("LUT accesses reach the runner in order") {
    Bench bench;
    std::vector<uint64_t> body = Bench::body(1);
    body.push_back(write_reg(0x4100, 0x20000));
    for (uint32_t i = 0; i < 5; ++i)
        body.push_back(write_reg(0x4104, i));
    bench.guest.store_words(Bench::kCode, stream(body, 0x0d));
    bench.start(0, Bench::kCode, 1, 9);
    bench.finish();
    REQUIRE(bench.runner.lut.size() == 6);
    CHECK(bench.runner.lut[0] == std::pair<uint32_t, uint32_t>{0x4100, 0x20000});
    CHECK(bench.runner.lut[5] == std::pair<uint32_t, uint32_t>{0x4104, 4});
    CHECK(bench.npu->read(0, 0x4104) == 0x77);
}

namespace {

/// Runs one stream and returns the refusal text.
std::string refusal(const std::vector<uint64_t>& words) {
    Bench bench;
    bench.guest.store_words(Bench::kCode, words);
    bench.start(0, Bench::kCode, 1, amount(words));
    bench.finish();
    CHECK(bench.last().end == JobEnd::kRefused);
    CHECK(bench.npu->refused_count() == 1);
    CHECK(bench.npu->read(0, 0x3c) == 0);
    CHECK_FALSE(bench.npu->irq_level(0));
    return bench.last().text;
}

bool has(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("streams the model does not understand are refused by name") {
    const auto with = [](uint64_t extra) {
        auto body = Bench::body(1);
        body.push_back(extra);
        return stream(body, 0x0d);
    };
    CHECK(has(refusal(with(word(0x0301, 0x1010, 1))), "unknown target"));
    CHECK(has(refusal(with(word(0x0201, 0x4010, 1))), "outside the modelled registers"));
    CHECK(has(refusal(with(word(0x0201, 0x1400, 1))), "outside the modelled registers"));
    CHECK(has(refusal(with(word(0x0201, 0x1012, 1))), "multiple of 4"));
    CHECK(has(refusal(with(word(0x1001, 0x41f0, 1))), "no register is known"));
    CHECK(has(refusal(with(word(0x1001, 0x4008, 1))), "per-block op-enable"));
    CHECK(has(refusal(with(word(0x0101, 0x20, 1))), "only BASE_ADDRESS"));
    CHECK(has(refusal(with(word(0x0101, 0x10, 1))), "slave mode"));
    CHECK(has(refusal(stream(Bench::body(1), 0x100)), "unknown bits"));
    CHECK(has(refusal(stream(Bench::body(1), 0)), "enables no block"));
    CHECK(has(refusal({write_reg(0x1020, 1), 0}), "no op-enable"));
    CHECK(has(refusal({0, word(0x0081, 8, 0xd)}), "0x0041 marker"));
    CHECK(has(refusal({word(0x41, 0, 0), word(0x0081, 12, 0xd)}), "offset other than 8"));
}

TEST_CASE("words behind the op-enable are the rounding of the fetch and are ignored") {
    Bench bench;
    auto words = stream(Bench::body(1), 0x0d);
    words.push_back(word(0x0301, 0, 1));
    words.push_back(word(0x0301, 0, 1));
    bench.guest.store_words(Bench::kCode, words);
    bench.start(0, Bench::kCode, 1, amount(words));
    bench.finish();
    CHECK(bench.last().end == JobEnd::kDone);
}

TEST_CASE("slave mode and jobs without tasks are refused") {
    Bench bench;
    bench.npu->write(0, 0x10, 1);
    bench.npu->write(0, 0x08, 1);
    CHECK(bench.npu->refused_count() == 1);
    bench.npu->write(0, 0x08, 0);
    bench.npu->write(0, 0x4008, 1);
    CHECK(bench.npu->refused_count() == 2);
    bench.start(0, Bench::kCode, 0);
    bench.finish();
    CHECK(bench.npu->refused_count() == 3);
    CHECK(has(bench.last().text, "0 tasks"));
}

TEST_CASE("the runner's refusal stops the job and a reset helps") {
    Bench bench;
    bench.make_chain(Bench::kCode, {1});
    bench.runner.refuse = "DPU.EW_CFG = 0x1: reason";
    bench.run(0, Bench::kCode);
    CHECK(bench.last().end == JobEnd::kRefused);
    CHECK(has(bench.last().text, "EW_CFG"));
    bench.runner.refuse.clear();
    bench.run(0, Bench::kCode);
    CHECK(bench.results.size() == 1);  // stuck: not even started
    bench.npu->assert_reset(1, true);
    bench.npu->assert_reset(1, false);
    bench.run(0, Bench::kCode);
    CHECK(bench.last().end == JobEnd::kDone);
    bool seen = false;
    for (const std::string& line : bench.npu->take_log())
        seen |= has(line, "refused") && has(line, "EW_CFG");
    CHECK(seen);
}

TEST_CASE("chips differ in counter register, count width and fetch unit") {
    npusim::SocConfig soc = npusim::SocConfig::rk3576();
    Bench bench({}, soc);
    bench.make_chain(Bench::kCode, {1, 2});
    bench.npu->write(0, 0x1004, 0xe);
    bench.npu->write(0, 0x3004, 0xe);
    bench.npu->write(0, 0x10, Bench::kCode);
    bench.npu->write(0, 0x14, Bench::kAmount);
    bench.npu->write(0, 0x30, (7U << 16) | 2);
    bench.npu->write(0, 0x08, 1);
    bench.finish();
    INFO(bench.last().text);
    CHECK(bench.npu->read(0, 0x48) == 2);
    CHECK(bench.npu->read(0, 0x3c) == 0);
    CHECK(bench.npu->read(2, 0) == 0);  // no third core

    Bench old({}, npusim::SocConfig::rk3568());
    old.start(0, Bench::kCode);
    old.finish();
    CHECK(has(old.last().text, "rk3568"));
}

TEST_CASE("chips of one core: program controller and IOMMU bank are their own") {
    struct Row {
        const char* name;
        uint32_t counter, control, amount, bank;
    };
    const Row row = GENERATE(Row{"rk3568", 0x3c, 7U << 12, 11, 0xb000},
                             Row{"rk3566", 0x3c, 7U << 12, 11, 0xb000},
                             Row{"rk3562", 0x48, 7U << 16, 5, 0xa000});
    INFO(row.name);
    REQUIRE(npusim::SocConfig::find(row.name));
    npusim::SocConfig soc = *npusim::SocConfig::find(row.name);
    CHECK_FALSE(soc.map);
    soc.map = npusim::RegisterMap::kRk3588;  // as rknpu-sim --blocks does
    Bench bench({}, soc);
    for (uint32_t task = 0; task < 3; ++task) {
        const uint32_t at = Bench::kCode + task * 0x1000;
        const bool last = task == 2;
        bench.guest.store_words(
            at, stream(Bench::body(task), 0x0d, last ? 0 : at + 0x1000, last ? 0 : row.amount));
    }
    bench.npu->write(0, 0x10, Bench::kCode);
    bench.npu->write(0, 0x14, row.amount);
    bench.npu->write(0, 0x20, 0x300);
    bench.npu->write(0, 0x30, row.control | 3);
    bench.npu->write(0, 0x08, 1);
    bench.finish();
    INFO(bench.last().text);
    CHECK(bench.last().end == JobEnd::kDone);
    CHECK(bench.runner.values == std::vector<uint32_t>{0, 1, 2});
    CHECK(bench.npu->read(0, row.counter) == 3);
    CHECK(bench.npu->read(0, row.counter ^ 0x74) == 0);  // where the other chips have theirs
    CHECK(bench.npu->irq_level(0));
    CHECK(bench.npu->read(1, 0) == 0);  // no second core
    bench.npu->write(0, row.bank, 0x12345000);
    CHECK(bench.npu->read(0, row.bank) == 0x12345000);
    bench.npu->write(0, row.bank ^ 0x1000, 0x12345000);  // the other chips' bank
    CHECK(bench.npu->read(0, row.bank ^ 0x1000) == 0);
}
