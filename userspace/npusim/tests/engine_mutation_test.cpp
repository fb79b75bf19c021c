// SPDX-License-Identifier: MIT
// Damaged register sets: whatever they say, the engine answers with a result, a refusal or a
// failed transfer, and the next sound task runs as if nothing had happened.
#include "decode.hpp"
#include "engine_conv_case.hpp"

using namespace engine_test;

namespace {

/// Flips bits in random registers of all six blocks.
Task damaged(Machine& m, const Task& good) {
    Task t = good;
    const auto all = npuregs::all_registers();
    for (int i = m.pick(1, 3); i > 0; --i) {
        const npuregs::RegisterInfo& info =
            all[static_cast<size_t>(m.pick(0, static_cast<int>(all.size()) - 1))];
        if (info.offset < 0x1000 || info.offset >= 0x8000)
            continue;
        const uint32_t old = t.get(info.offset);
        const uint32_t bit = 1U << m.pick(0, 31);
        t.set(info.offset, m.chance(70) ? old ^ bit : old + static_cast<uint32_t>(m.pick(-2, 2)));
    }
    return t;
}

}  // namespace

TEST_CASE("damaged register sets never break the engine") {
    const int count = case_count(40);
    size_t ran = 0;
    size_t refused = 0;
    size_t failed = 0;
    for (int i = 0; i < count; ++i) {
        Machine m(1U << 17, 80000 + static_cast<uint32_t>(i));
        ConvCase c = make_conv_case(m, m.chance(30));
        Task good;
        place_conv(m, c, good);
        const uint32_t mask = c.records ? kMaskConvRdma : kMaskConv;
        for (int k = 0; k < 40; ++k) {
            const Task t = damaged(m, good);
            const uint32_t mutated = m.chance(90) ? mask : static_cast<uint32_t>(m.pick(0, 127));
            (void)npusim::lint_task(t.regs(), mutated);
            const auto error = m.run(t, mutated, false);
            if (!error)
                ++ran;
            else if (error->kind == npusim::ExecError::Kind::kRefused)
                ++refused;
            else
                ++failed;
            REQUIRE((!error || !error->text.empty()));
        }
        const auto error = m.run(good, mask, false);
        INFO("case " << i << ": " << (error ? error->text : ""));
        REQUIRE_FALSE(error);
    }
    INFO(ran << " ran, " << refused << " refused, " << failed << " failed");
    CHECK(ran > 0);
    CHECK(refused > 0);
    CHECK(failed > 0);
}

TEST_CASE("registers of any content are decoded to a refusal or to bounded sizes") {
    const int count = case_count(20000);
    Machine m(1U << 12, 81000);
    const auto all = npuregs::all_registers();
    const auto any = [&] {
        const auto half = [&] { return static_cast<uint32_t>(m.pick(0, 0xffff)); };
        // Few bits, many bits, and the ends.
        switch (m.pick(0, 3)) {
            case 0:
                return uint32_t{1} << m.pick(0, 31);
            case 1:
                return half();
            case 2:
                return ~half();
            default:
                return half() << 16 | half();
        }
    };
    size_t refused = 0;
    for (int i = 0; i < count; ++i) {
        Task t;
        for (const auto& info : all) {
            if (info.offset >= 0x1000 && info.offset < 0x8000 && m.chance(60))
                t.set(info.offset, any());
        }
        // Registers that RK3576 has and RK3588 has not.
        for (uint32_t offset = 0x1000; offset < 0x6000; offset += 4) {
            if (m.chance(2))
                t.set(offset, any());
        }
        const auto mask = static_cast<uint32_t>(m.chance(80) ? 0x1d : m.pick(0, 127));
        for (const auto map : {npusim::RegisterMap::kRk3588, npusim::RegisterMap::kRk3576}) {
            npusim::TaskDesc task;
            if (npusim::decode_task(map, t.regs(), mask, task))
                ++refused;
            CHECK(task.conv.image_channels <= 4);
        }
    }
    CHECK(refused > 0);
}
