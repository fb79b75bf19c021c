// SPDX-License-Identifier: MIT
// One rule of the scheduling policy per test.
#include <catch2/catch.hpp>

#include "sched_support.hpp"

TEST_CASE("an empty scheduler has nothing to start", "[sched]") {
    Bench b;
    CHECK(b.pick() == nullptr);
    CHECK(b.idle());
}

TEST_CASE("a mask is valid only if every core in it exists", "[sched][b05]") {
    struct Row {
        u32 present, mask;
        bool valid;
    };
    const Row rows[] = {{1, 0, true},  {1, 1, true},  {1, 2, false}, {1, 4, false},
                        {1, 7, false}, {3, 3, true},  {3, 4, false}, {3, 5, false},
                        {7, 5, true},  {7, 6, true},  {7, 7, true},  {7, 8, false},
                        {7, 9, false}, {5, 2, false}, {5, 4, true},  {7, 0xffff, false}};
    for (const Row& row : rows) {
        Bench b(row.present);
        INFO("present " << row.present << " mask " << row.mask);
        CHECK(rknpu_sched_mask_valid(&b.sched, row.mask) == row.valid);
    }
}

TEST_CASE("a job for any core takes the lowest idle core", "[sched]") {
    Bench b;
    auto* c = b.client();
    auto* first = b.enqueue(c);
    auto* second = b.enqueue(c);
    auto* third = b.enqueue(c);
    auto* fourth = b.enqueue(c);
    CHECK(b.pick() == first);
    CHECK(first->mask == 1);
    CHECK(b.pick() == second);
    CHECK(second->mask == 2);
    CHECK(b.pick() == third);
    CHECK(third->mask == 4);
    CHECK(b.pick() == nullptr);
    CHECK(b.finish(second));
    CHECK(b.pick() == fourth);
    CHECK(fourth->mask == 2);
}

TEST_CASE("a job for any core avoids the core that others ask for by name", "[sched]") {
    Bench b;
    auto* a = b.client();
    auto* c = b.client();
    b.enqueue(a, 1, 0, 10);
    b.enqueue(a, 1, 0, 10);
    auto* any = b.enqueue(c, 0, 1);
    REQUIRE(b.pick() == any);
    CHECK(any->mask == 2);
}

TEST_CASE("a job for any core keeps to the cores it has work for", "[sched]") {
    Bench b;
    auto* c = b.client();
    auto* narrow = b.job(c);
    narrow->allowed = 6;
    rknpu_sched_enqueue(&b.sched, narrow);
    auto* wide = b.enqueue(c);
    REQUIRE(b.pick() == narrow);
    CHECK(narrow->mask == 2);
    REQUIRE(b.pick() == wide);
    CHECK(wide->mask == 1);
    b.finish(narrow);
    b.finish(wide);
    CHECK(b.idle());
}

TEST_CASE("priority goes before arrival and before fairness", "[sched]") {
    Bench b(1);
    auto* rich = b.client();
    auto* poor = b.client();
    auto* low = b.enqueue(rich, 0, 0);
    REQUIRE(b.pick() == low);
    auto* waiting = b.enqueue(poor, 0, 0);
    auto* high = b.enqueue(rich, 0, 5);
    b.finish(low, 1000000);
    CHECK(b.pick() == high);
    b.finish(high);
    CHECK(b.pick() == waiting);
}

TEST_CASE("negative priorities go last", "[sched]") {
    Bench b(1);
    auto* c = b.client();
    auto* nice = b.enqueue(c, 0, -1);
    auto* plain = b.enqueue(c, 0, 0);
    CHECK(b.pick() == plain);
    b.finish(plain);
    CHECK(b.pick() == nice);
}

TEST_CASE("inside a priority the client with the least hardware time goes first", "[sched]") {
    Bench b(1);
    auto* a = b.client();
    auto* c = b.client();
    auto* a1 = b.enqueue(a);
    auto* a2 = b.enqueue(a);
    auto* c1 = b.enqueue(c);
    auto* c2 = b.enqueue(c);
    REQUIRE(b.pick() == a1);
    b.finish(a1, 5000);
    REQUIRE(b.pick() == c1);
    b.finish(c1, 1000);
    CHECK(b.pick() == c2);
    b.finish(c2, 1000);
    CHECK(b.pick() == a2);
}

TEST_CASE("hardware time is booked per core", "[sched]") {
    Bench b;
    auto* c = b.client();
    auto* gang = b.enqueue(c, 6);
    REQUIRE(b.pick() == gang);
    CHECK_FALSE(rknpu_sched_core_done(&b.sched, gang, 1, 100));
    CHECK(b.sched.running[1] == nullptr);
    CHECK(b.sched.running[2] == gang);
    CHECK_FALSE(rknpu_sched_core_done(&b.sched, gang, 1, 100));  // a late interrupt
    CHECK(rknpu_sched_core_done(&b.sched, gang, 2, 300));
    CHECK(c->busy_ns[0] == 0);
    CHECK(c->busy_ns[1] == 100);
    CHECK(c->busy_ns[2] == 300);
    CHECK(c->last_ns == 400);
    CHECK(b.idle());
}

TEST_CASE("idle time is not saved up, and a newcomer is not punished", "[sched]") {
    Bench b(1);
    auto* old = b.client();
    for (int i = 0; i < 100; i++) {
        auto* j = b.enqueue(old);
        REQUIRE(b.pick() == j);
        b.finish(j, 1000000);
    }
    auto* fresh = b.client();
    int turns = 0;
    for (int i = 0; i < 20; i++) {
        b.enqueue(old);
        b.enqueue(fresh);
        auto* j = b.pick();
        REQUIRE(j != nullptr);
        turns += j->client == fresh;
        b.finish(j, 1000000);
    }
    CHECK(turns >= 9);
    CHECK(turns <= 11);
}

TEST_CASE("past use is not held against a client that comes back", "[sched]") {
    Bench b(1);
    auto* heavy = b.client();
    auto* j = b.enqueue(heavy);
    REQUIRE(b.pick() == j);
    b.finish(j, 1000000000);
    auto* light = b.client();
    j = b.enqueue(light);
    REQUIRE(b.pick() == j);
    auto* next_light = b.enqueue(light);
    auto* next_heavy = b.enqueue(heavy);
    b.finish(j, 1000);
    CHECK(b.pick() == next_heavy);
    b.finish(next_heavy, 1000);
    CHECK(b.pick() == next_light);
}

TEST_CASE("a client with twice the weight gets twice the time", "[sched]") {
    Bench b(1);
    auto* single = b.client(16);
    auto* twice = b.client(32);
    for (int i = 0; i < 400; i++) {
        b.enqueue(single);
        b.enqueue(twice);
    }
    for (int i = 0; i < 300; i++) {
        auto* j = b.pick();
        REQUIRE(j != nullptr);
        b.finish(j, 1000);
    }
    CHECK(single->busy_ns[0] == Approx(100000).margin(2000));
    CHECK(twice->busy_ns[0] == Approx(200000).margin(2000));
}

TEST_CASE("jobs of one client that can share a core keep their order", "[sched]") {
    Bench b;
    auto* c = b.client();
    auto* other = b.client();
    auto* block = b.enqueue(other, 1);
    REQUIRE(b.pick() == block);
    auto* gang = b.enqueue(c, 3);
    auto* same = b.enqueue(c, 2);
    auto* apart = b.enqueue(c, 4);
    auto* any = b.enqueue(c, 0);
    CHECK(b.pick() == apart);    // shares no core with the gang
    CHECK(b.pick() == nullptr);  // core 1 is free, yet `same` came after the gang
    b.finish(apart);
    REQUIRE(b.pick() == any);
    CHECK(any->mask == 4);  // the only core that no earlier job may need
    b.finish(block);
    CHECK(b.pick() == gang);
    b.finish(gang);
    CHECK(b.pick() == same);
}

TEST_CASE("a gang starts only when all its cores are free", "[sched]") {
    Bench b;
    auto* c = b.client();
    auto* d = b.client();
    auto* one = b.enqueue(c, 2);
    REQUIRE(b.pick() == one);
    auto* gang = b.enqueue(d, 7);
    CHECK(b.pick() == nullptr);
    b.finish(one);
    CHECK(b.pick() == gang);
    CHECK(b.sched.busy == 7);
    CHECK(b.sched.running[0] == gang);
    CHECK(b.sched.running[2] == gang);
}

TEST_CASE("every core mask of the ABI starts on exactly its cores", "[sched]") {
    for (u32 mask : {1u, 2u, 4u, 3u, 5u, 6u, 7u}) {
        Bench b;
        auto* j = b.enqueue(b.client(), mask);
        REQUIRE(b.pick() == j);
        CHECK(j->mask == mask);
        CHECK(b.sched.busy == mask);
        b.finish(j);
        CHECK(b.idle());
    }
}

TEST_CASE("a gang that was overtaken often enough reserves its cores", "[sched]") {
    Bench b;
    auto* c = b.client();
    auto* g = b.client();
    auto* left = b.enqueue(c, 1);
    auto* right = b.enqueue(c, 2);
    REQUIRE(b.pick() == left);
    REQUIRE(b.pick() == right);
    auto* gang = b.enqueue(g, 3);
    int overtaken = 0;
    // Core 0 and core 1 are never free at once unless somebody keeps them so.
    for (; overtaken < 100; overtaken++) {
        rknpu_sched_job*& ended = overtaken % 2 ? right : left;
        auto* next = b.enqueue(c, overtaken % 2 ? 2 : 1);
        b.finish(ended);
        auto* got = b.pick();
        if (got != next)
            break;
        ended = next;
    }
    CHECK(overtaken <= RKNPU_SCHED_BYPASS_MAX);
    CHECK(b.sched.reserver == gang);
    // Both ends may be running or ended by now; end what is left and the gang is next.
    for (unsigned core = 0; core < 2; core++)
        if (b.sched.running[core])
            b.finish(b.sched.running[core]);
    CHECK(b.pick() == gang);
    CHECK(b.sched.reserver == nullptr);
}

TEST_CASE("a reservation holds off equals, not urgent jobs and not other cores", "[sched]") {
    Bench b;
    auto* c = b.client();
    auto* g = b.client();
    auto* u = b.client();
    auto* hold = b.enqueue(c, 1);
    REQUIRE(b.pick() == hold);
    auto* gang = b.enqueue(g, 3);
    b.sched.reserver = gang;
    b.enqueue(c, 2);
    CHECK(b.pick() == nullptr);
    auto* elsewhere = b.enqueue(u, 0);
    CHECK(b.pick() == elsewhere);
    CHECK(elsewhere->mask == 4);
    auto* urgent = b.enqueue(u, 2, 1);
    CHECK(b.pick() == urgent);
}

TEST_CASE("a reservation for a core out of order is not honoured", "[sched]") {
    Bench b;
    auto* g = b.client();
    auto* c = b.client();
    auto* gang = b.enqueue(g, 3);
    b.sched.reserver = gang;
    rknpu_sched_set_disabled(&b.sched, 1);
    auto* j = b.enqueue(c, 2);
    CHECK(b.pick() == j);
    b.finish(j);
    rknpu_sched_set_disabled(&b.sched, 0);
    CHECK(b.pick() == gang);
}

TEST_CASE("removing the reserving gang lets the others go on", "[sched]") {
    Bench b;
    auto* g = b.client();
    auto* c = b.client();
    auto* hold = b.enqueue(c, 1);
    REQUIRE(b.pick() == hold);
    auto* gang = b.enqueue(g, 3);
    b.sched.reserver = gang;
    auto* j = b.enqueue(c, 2);
    REQUIRE(b.pick() == nullptr);
    rknpu_sched_remove(&b.sched, gang, 0);
    CHECK(b.pick() == j);
    CHECK_FALSE(rknpu_sched_is_queued(gang));
}

TEST_CASE("a disabled core gets no job, a waiting wish for it survives", "[sched]") {
    Bench b;
    auto* c = b.client();
    rknpu_sched_set_disabled(&b.sched, 1);
    auto* named = b.enqueue(c, 1);
    auto* any = b.enqueue(b.client(), 0);
    CHECK(b.pick() == any);
    CHECK(any->mask == 2);
    CHECK(b.pick() == nullptr);
    rknpu_sched_set_disabled(&b.sched, 0);
    CHECK(b.pick() == named);
}

TEST_CASE("removing a running gang frees every core it still holds", "[sched][b06]") {
    for (unsigned hung = 0; hung < 3; hung++) {
        Bench b;
        auto* c = b.client();
        auto* gang = b.enqueue(c, 7);
        REQUIRE(b.pick() == gang);
        for (unsigned core = 0; core < 3; core++)
            if (core != hung)
                CHECK_FALSE(rknpu_sched_core_done(&b.sched, gang, core, 10));
        rknpu_sched_remove(&b.sched, gang, 50);
        CHECK(b.idle());
        CHECK(c->busy_ns[hung] == 50);
        // The late interrupt of the hung core changes nothing.
        CHECK_FALSE(rknpu_sched_core_done(&b.sched, gang, hung, 10));
        CHECK(c->busy_ns[hung] == 50);
        rknpu_sched_remove(&b.sched, gang, 50);
        CHECK(c->busy_ns[hung] == 50);
    }
}

TEST_CASE("a requeued job keeps its place and runs on all its cores again", "[sched]") {
    Bench b;
    auto* c = b.client();
    auto* gang = b.enqueue(c, 3);
    REQUIRE(b.pick() == gang);
    auto* later = b.enqueue(c, 3);
    CHECK_FALSE(rknpu_sched_core_done(&b.sched, gang, 0, 10));
    const u64 clock = c->clock;
    rknpu_sched_requeue(&b.sched, gang);
    CHECK(b.sched.busy == 0);
    CHECK(rknpu_sched_is_queued(gang));
    CHECK(c->clock <= clock);
    CHECK(b.pick() == gang);
    CHECK(gang->busy == 3);
    b.finish(gang);
    CHECK(b.pick() == later);
    b.finish(later);
    CHECK(b.idle());
}

TEST_CASE("the walk over all jobs meets waiting and running ones in order", "[sched]") {
    Bench b(1);
    auto* c = b.client();
    std::vector<rknpu_sched_job*> want;
    for (int i = 0; i < 5; i++)
        want.push_back(b.enqueue(c));
    REQUIRE(b.pick() == want[0]);
    std::vector<rknpu_sched_job*> got;
    rknpu_sched_job *job, *next;
    rknpu_sched_for_each_job(job, &b.sched) {
        CHECK(rknpu_sched_is_running(job) == (job == want[0]));
        got.push_back(job);
    }
    CHECK(got == want);
    rknpu_sched_for_each_job_safe(job, next, &b.sched) {
        rknpu_sched_remove(&b.sched, job, 0);
    }
    CHECK(b.idle());
}

TEST_CASE("cores behind one IOMMU run one address space at a time", "[sched][space]") {
    Bench b(7, true);
    auto* c = b.client();
    auto* d = b.client();
    auto* a1 = b.enqueue(c, 1, 0, 1, c);
    auto* other = b.enqueue(d, 2, 0, 1, d);
    auto* a2 = b.enqueue(c, 4, 0, 1, c);
    CHECK(b.pick() == a1);
    CHECK(b.pick() == a2);  // shares the space, so it may join
    CHECK(b.pick() == nullptr);
    b.finish(a1);
    CHECK(b.pick() == nullptr);
    b.finish(a2);
    CHECK(b.pick() == other);
    CHECK(b.sched.space[0] == d);
}

TEST_CASE("with an IOMMU for each core, spaces do not wait for each other", "[sched][space]") {
    Bench b(7, false);
    auto* c = b.client();
    auto* d = b.client();
    auto* a1 = b.enqueue(c, 1, 0, 1, c);
    auto* other = b.enqueue(d, 2, 0, 1, d);
    CHECK(b.pick() == a1);
    CHECK(b.pick() == other);
    CHECK(b.sched.space[0] == c);
    CHECK(b.sched.space[1] == d);
}

TEST_CASE("a job of another space is overtaken a bounded number of times", "[sched][space]") {
    for (u32 wanted : {0u, 2u, 3u, 7u}) {
        Bench b(7, true);
        auto* c = b.client();
        auto* d = b.client();
        auto* even = b.enqueue(c, 0, 0, 1, c);
        auto* odd = b.enqueue(c, 0, 0, 1, c);
        REQUIRE(b.pick() == even);
        REQUIRE(b.pick() == odd);
        auto* foreign = b.enqueue(d, wanted, 0, 1, d);
        int overtaken = 0;
        while (overtaken < 100) {
            auto* next = b.enqueue(c, 0, 0, 1, c);
            b.finish(even);
            if (b.pick() != next)
                break;
            overtaken++;
            even = odd;
            odd = next;
        }
        INFO("mask " << wanted);
        CHECK(overtaken <= RKNPU_SCHED_BYPASS_MAX);
        CHECK(b.sched.reserver == foreign);
        b.finish(odd);
        CHECK(b.pick() == foreign);
    }
}

TEST_CASE("after a reset the IOMMU is set again before the next job", "[sched][space]") {
    Bench b(7, true);
    auto* c = b.client();
    auto* hung = b.enqueue(c, 1, 0, 1, c);
    auto* innocent = b.enqueue(c, 2, 0, 1, c);
    REQUIRE(b.pick() == hung);
    REQUIRE(b.pick() == innocent);
    rknpu_sched_set_disabled(&b.sched, 1);
    rknpu_sched_remove(&b.sched, hung, 10);
    auto* next = b.enqueue(c, 1, 0, 1, c);
    CHECK(b.pick() == nullptr);
    rknpu_sched_forget_cores(&b.sched, 1);
    rknpu_sched_set_disabled(&b.sched, 0);
    CHECK(b.pick() == nullptr);  // the innocent job still uses the IOMMU
    b.finish(innocent);
    CHECK(b.sched.space[0] == nullptr);
    CHECK(b.pick() == next);
    CHECK(b.sched.space[2] == c);
}

TEST_CASE("a space that is gone is not taken for a new one at its address", "[sched][space]") {
    Bench b(7, true);
    auto* c = b.client();
    b.enqueue(c, 1, 0, 1, c);
    b.finish(b.pick());
    CHECK(b.sched.space[1] == c);
    rknpu_sched_forget_space(&b.sched, c);
    CHECK(b.sched.space[0] == nullptr);
    CHECK(b.sched.space[1] == nullptr);
}

TEST_CASE("two spaces of one client cannot starve each other", "[sched][space]") {
    Bench b(7, true);
    auto* c = b.client();
    const int here = 0, there = 0;
    auto* even = b.enqueue(c, 1, 0, 1, &here);
    REQUIRE(b.pick() == even);
    auto* foreign = b.enqueue(c, 2, 0, 1, &there);
    int overtaken = 0;
    while (overtaken < 100) {
        auto* next = b.enqueue(c, even->wanted == 1 ? 4 : 1, 0, 1, &here);
        if (b.pick() != next)
            break;
        overtaken++;
        b.finish(even);
        even = next;
    }
    CHECK(overtaken == RKNPU_SCHED_BYPASS_MAX);
    b.finish(even);
    CHECK(b.pick() == foreign);
}

// Cores busy or out of use, and what they see: with nothing waiting, the short way and the way
// through the queue must come to the same, for each job.
TEST_CASE("a start at once is what enqueue and pick would do", "[sched]") {
    const int here = 0, there = 0;
    for (u32 state = 0; state < 1024; state++) {
        const u32 busy = state & 7, disabled = state >> 3 & 7, wanted = state >> 6 & 7;
        const bool shared = state >> 9;
        Bench pair[2] = {Bench(7, shared), Bench(7, shared)};
        rknpu_sched_job* jobs[2];
        bool started[2];
        for (int i = 0; i < 2; i++) {
            Bench& b = pair[i];
            auto* other = b.client();
            for (u32 core = 1; core < 8; core <<= 1) {
                // Behind one IOMMU all that run together are of one space.
                if (busy & core) {
                    b.enqueue(other, core, 0, 1, shared || core == 4 ? &there : &here);
                    b.pick();
                }
            }
            REQUIRE(b.sched.queued == 0);
            rknpu_sched_set_disabled(&b.sched, disabled);
            jobs[i] = b.job(b.client(), wanted, 0, 3, &here);
        }
        started[0] = rknpu_sched_start_now(&pair[0].sched, jobs[0]);
        if (!started[0])
            rknpu_sched_enqueue(&pair[0].sched, jobs[0]);
        rknpu_sched_enqueue(&pair[1].sched, jobs[1]);
        started[1] = pair[1].pick() == jobs[1];
        INFO("busy " << busy << " disabled " << disabled << " wanted " << wanted);
        CHECK(started[0] == started[1]);
        CHECK(jobs[0]->mask == jobs[1]->mask);
        CHECK(jobs[0]->seq == jobs[1]->seq);
        CHECK(pair[0].sched.busy == pair[1].sched.busy);
        CHECK(pair[0].sched.queued == pair[1].sched.queued);
        CHECK(jobs[0]->client->clock == jobs[1]->client->clock);
        for (unsigned core = 0; core < RKNPU_SCHED_CORES; core++) {
            CHECK((pair[0].sched.running[core] == jobs[0]) ==
                  (pair[1].sched.running[core] == jobs[1]));
            CHECK(pair[0].sched.space[core] == pair[1].sched.space[core]);
            CHECK(pair[0].sched.load[core] == pair[1].sched.load[core]);
        }
    }
}

TEST_CASE("no job starts at once while another one waits", "[sched]") {
    Bench b(1);
    auto* c = b.client();
    auto* running = b.enqueue(c);
    REQUIRE(b.pick() == running);
    auto* waiting = b.enqueue(c);
    b.finish(running);
    auto* late = b.job(b.client());
    CHECK_FALSE(rknpu_sched_start_now(&b.sched, late));
    CHECK(b.pick() == waiting);
    CHECK_FALSE(rknpu_sched_start_now(&b.sched, late));  // the core is busy
    b.finish(waiting);
    CHECK(rknpu_sched_start_now(&b.sched, late));
    b.finish(late);
    CHECK(b.idle());
}
