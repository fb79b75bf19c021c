// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "npusim/fault_plan.hpp"

using npusim::FaultPlan;

TEST_CASE("rules select core and job") {
    FaultPlan plan;
    REQUIRE(plan.add("hang:core=1,job=3-5,value=7").empty());
    REQUIRE(plan.add(" K3 : job=2 ").empty());
    CHECK_FALSE(plan.for_job(1, 2).hang_after.has_value());
    CHECK(plan.for_job(1, 3).hang_after == 7U);
    CHECK(plan.for_job(1, 5).hang_after == 7U);
    CHECK_FALSE(plan.for_job(1, 6).hang_after.has_value());
    CHECK_FALSE(plan.for_job(0, 3).hang_after.has_value());
    CHECK(plan.for_job(0, 2).drop_irq);
    CHECK(plan.for_job(2, 2).drop_irq);
}

TEST_CASE("draws depend on seed, core and job only") {
    const auto plan_with = [](uint64_t seed) {
        FaultPlan plan(seed);
        REQUIRE(plan.add("drop-irq:p=0.25").empty());
        REQUIRE(plan.add("delay:value=1000").empty());
        return plan;
    };
    const FaultPlan a = plan_with(7);
    const FaultPlan b = plan_with(7);
    const FaultPlan c = plan_with(8);
    unsigned hits = 0;
    unsigned differ = 0;
    uint64_t longest = 0;
    for (uint64_t job = 4000; job != 0; --job) {
        const auto x = a.for_job(job % 3, job);
        const auto y = b.for_job(job % 3, job);
        const auto z = c.for_job(job % 3, job);
        REQUIRE(x.drop_irq == y.drop_irq);
        REQUIRE(x.delay_us == y.delay_us);
        hits += x.drop_irq ? 1 : 0;
        differ += x.delay_us != z.delay_us ? 1 : 0;
        longest = std::max(longest, x.delay_us);
    }
    CHECK(hits > 850);
    CHECK(hits < 1150);
    CHECK(differ > 3900);
    CHECK(longest <= 1000);
    CHECK(longest > 950);
}

TEST_CASE("a plan file has comments, a seed and named errors") {
    FaultPlan plan;
    REQUIRE(plan.add_lines("# comment\nseed=0x10\n\nlate:value=5 # trailing\r\npoison\n").empty());
    CHECK(plan.seed() == 16);
    CHECK(plan.for_job(0, 1).delay_us == 5000);
    CHECK(plan.for_job(0, 1).poison);
    CHECK(plan.add_lines("hang\nbroken:core=1").starts_with("line 2: unknown fault 'broken'"));
    CHECK(plan.for_job(0, 1).hang_after == std::nullopt);  // a bad file changes nothing
}

TEST_CASE("bad rules are refused with a reason") {
    FaultPlan plan;
    for (const char* text :
         {"", "hang:", "hang:core=3", "hang:core=x", "hang:job=0", "hang:job=5-2", "hang:p=1.5",
          "hang:p=nan", "hang:value=", "hang:value=0x", "hang:value=4294967296", "late",
          "page-fault", "delay:value=99999999999999999999", "hang:core", "hang;core=1"}) {
        INFO(text);
        const std::string error = plan.add(text);
        if (std::string(text) == "hang:")
            CHECK(error.empty());
        else
            CHECK_FALSE(error.empty());
    }
}
