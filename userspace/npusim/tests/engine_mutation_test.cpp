// SPDX-License-Identifier: MIT
// Damaged register sets: whatever they say, the engine answers with a result, a refusal or a
// failed transfer, and the next sound task runs as if nothing had happened.
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
