// SPDX-License-Identifier: MIT
// Randomised runs of the policy in simulated time, checked against invariants.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>

#include "sched_support.hpp"

namespace {

/** Simulated time over one policy; events are the ends of jobs on cores. */
class Simulation {
 public:
    explicit Simulation(u32 present = 7, bool shared_iommu = false)
        : bench(present, shared_iommu) {}

    rknpu_sched_job* submit(rknpu_sched_client* client, u32 wanted, s32 priority, u64 duration,
                            const void* space = nullptr) {
        rknpu_sched_job* job = bench.enqueue(client, wanted, priority, 1, space);
        info_[job] = {duration, now_, 0};
        return job;
    }

    /** Starts all that can start, then moves to the next end. Null when nothing runs. */
    rknpu_sched_job* step() {
        start_all();
        if (ends_.empty())
            return nullptr;
        const auto it = ends_.begin();
        const auto [end, core] = it->first;
        rknpu_sched_job* job = it->second;
        ends_.erase(it);
        now_ = end;
        const bool last = rknpu_sched_core_done(&bench.sched, job, core, now_ - info_[job].started);
        busy_[core] += now_ - info_[job].started;
        return last ? job : step();
    }

    u64 now() const { return now_; }
    u64 busy(unsigned core) const { return busy_[core]; }
    unsigned started(unsigned core) const { return started_[core]; }
    u64 longest_wait() const { return longest_wait_; }
    const std::string& trace() const { return trace_; }

    Bench bench;

 private:
    struct Info {
        u64 duration, queued, started;
    };

    void start_all() {
        const u32 before = bench.sched.busy;
        u32 taken = 0;
        while (rknpu_sched_job* job = bench.pick()) {
            Info& info = info_[job];
            REQUIRE(job->mask != 0);
            REQUIRE((job->mask & ~bench.sched.present) == 0);
            REQUIRE((job->mask & (before | taken)) == 0);  // a core has one job
            if (job->wanted)
                REQUIRE(job->mask == job->wanted);
            taken |= job->mask;
            info.started = now_;
            longest_wait_ = std::max(longest_wait_, now_ - info.queued);
            trace_ += static_cast<char>('0' + job->mask);
            for (unsigned core = 0; core < RKNPU_SCHED_CORES; core++)
                if (job->mask & BIT(core)) {
                    ends_.emplace(std::pair{now_ + info.duration, core}, job);
                    started_[core]++;
                }
        }
        REQUIRE(bench.sched.busy == (before | taken));
        check_spaces();
    }

    void check_spaces() const {
        for (unsigned a = 0; a < RKNPU_SCHED_CORES; a++)
            for (unsigned b = 0; b < RKNPU_SCHED_CORES; b++)
                if ((bench.sched.group[a] & BIT(b)) && bench.sched.running[a] &&
                    bench.sched.running[b])
                    REQUIRE(bench.sched.running[a]->space == bench.sched.running[b]->space);
    }

    std::map<rknpu_sched_job*, Info> info_;
    std::map<std::pair<u64, unsigned>, rknpu_sched_job*> ends_;
    std::array<u64, RKNPU_SCHED_CORES> busy_{};
    std::array<unsigned, RKNPU_SCHED_CORES> started_{};
    u64 now_ = 0;
    u64 longest_wait_ = 0;
    std::string trace_;
};

u64 total(const rknpu_sched_client* client) {
    return client->busy_ns[0] + client->busy_ns[1] + client->busy_ns[2];
}

constexpr u64 kMs = 1000000;

}  // namespace

TEST_CASE("thirty blocking clients keep all cores evenly busy", "[sched][b04]") {
    const unsigned seed = GENERATE(1u, 2u, 3u, 4u);
    std::mt19937 random(seed);
    std::uniform_int_distribution<u64> length(40 * kMs, 60 * kMs);
    Simulation sim;
    std::map<rknpu_sched_client*, int> left;
    for (int i = 0; i < 30; i++) {
        auto* client = sim.bench.client();
        left[client] = 49;
        sim.submit(client, 0, 0, length(random));
    }
    u64 work = 0;
    while (auto* job = sim.step()) {
        work += job->used_ns;
        if (left[job->client]-- > 0)
            sim.submit(job->client, 0, 0, length(random));
    }
    const auto [least, most] = std::minmax({sim.started(0), sim.started(1), sim.started(2)});
    CHECK(least + most > 0);
    CHECK(static_cast<double>(most) / least < 1.2);
    for (unsigned core = 0; core < 3; core++)
        CHECK(static_cast<double>(sim.busy(core)) / sim.now() > 0.95);
    CHECK(static_cast<double>(sim.now()) < 1.05 * (work / 3.0));
    CHECK(sim.bench.idle());
}

TEST_CASE("clients with short and long jobs get the same time", "[sched]") {
    Simulation sim;
    std::vector<rknpu_sched_client*> clients;
    for (int i = 0; i < 6; i++) {
        clients.push_back(sim.bench.client());
        for (int n = 0; n < 3; n++)  // always something waiting
            sim.submit(clients[i], 0, 0, (i + 1) * kMs);
    }
    while (sim.now() < 20000 * kMs) {
        auto* job = sim.step();
        REQUIRE(job != nullptr);
        sim.submit(job->client, 0, 0, job->used_ns);
    }
    const u64 share = 3 * sim.now() / 6;
    for (auto* client : clients)
        CHECK(total(client) == Approx(share).epsilon(0.03));
}

TEST_CASE("a burst of a thousand jobs does not lock out a blocking client", "[sched]") {
    Simulation sim;
    auto* burst = sim.bench.client();
    auto* steady = sim.bench.client();
    for (int i = 0; i < 1000; i++)
        sim.submit(burst, 0, 0, 10 * kMs);
    int done = 0;
    sim.submit(steady, 0, 0, 10 * kMs);
    while (sim.now() < 2000 * kMs) {
        auto* job = sim.step();
        REQUIRE(job != nullptr);
        if (job->client == steady) {
            done++;
            sim.submit(steady, 0, 0, 10 * kMs);
        }
    }
    // One job at a time can use a third of the NPU: it must get nearly that.
    CHECK(done > 180);
}

TEST_CASE("gangs make progress against any mix of single jobs", "[sched]") {
    const u32 gang_mask = GENERATE(3u, 5u, 6u, 7u);
    const unsigned seed = GENERATE(11u, 12u, 13u);
    std::mt19937 random(seed);
    std::uniform_int_distribution<u64> length(1 * kMs, 20 * kMs);
    Simulation sim;
    auto* ganger = sim.bench.client();
    int gangs = 0;
    const int singles = 10;
    for (int i = 0; i < singles; i++) {
        auto* client = sim.bench.client();
        for (int n = 0; n < 2; n++)
            sim.submit(client, i % 4 ? 0 : 1u << (i % 3), 0, length(random));
    }
    sim.submit(ganger, gang_mask, 0, 10 * kMs);
    while (sim.now() < 20000 * kMs) {
        auto* job = sim.step();
        REQUIRE(job != nullptr);
        if (job->client == ganger)
            gangs++;
        sim.submit(job->client, job->wanted, 0, length(random));
    }
    const double share = 3.0 * static_cast<double>(sim.now()) / (singles + 1);
    CHECK(static_cast<double>(total(ganger)) > 0.5 * share);
    CHECK(static_cast<double>(total(ganger)) < 1.5 * share);
    CHECK(gangs > 100);
    u64 used = sim.busy(0) + sim.busy(1) + sim.busy(2);
    CHECK(static_cast<double>(used) > 0.75 * 3 * static_cast<double>(sim.now()));
}

TEST_CASE("two files with deep queues share the NPU and keep it busy", "[sched][space]") {
    Simulation sim(7, true);
    auto* a = sim.bench.client();
    auto* b = sim.bench.client();
    for (auto* client : {a, b})
        for (int n = 0; n < 6; n++)
            sim.submit(client, 0, 0, 5 * kMs, client);
    while (sim.now() < 10000 * kMs) {
        auto* job = sim.step();
        REQUIRE(job != nullptr);
        sim.submit(job->client, 0, 0, 5 * kMs, job->client);
    }
    CHECK(static_cast<double>(total(a)) == Approx(static_cast<double>(total(b))).epsilon(0.03));
    CHECK(static_cast<double>(total(a) + total(b)) > 0.8 * 3 * static_cast<double>(sim.now()));
}

TEST_CASE("nobody starves, whatever the mix of masks", "[sched]") {
    const bool shared_iommu = GENERATE(false, true);
    const unsigned seed = GENERATE(range(100u, 130u));
    std::mt19937 random(seed);
    const u32 masks[] = {0, 0, 1, 2, 4, 3, 5, 6, 7};
    std::uniform_int_distribution<size_t> pick_mask(0, 8);
    std::uniform_int_distribution<u64> length(1 * kMs, 10 * kMs);
    std::uniform_int_distribution<int> count(1, 4);
    Simulation sim(7, shared_iommu);
    int clients = 12;
    for (int i = 0; i < clients; i++) {
        auto* client = sim.bench.client();
        for (int n = count(random); n > 0; n--)
            sim.submit(client, masks[pick_mask(random)], 0, length(random), client);
    }
    int steps = 0;
    while (auto* job = sim.step()) {
        if (++steps < 3000)
            sim.submit(job->client, masks[pick_mask(random)], 0, length(random), job->client);
    }
    // Twelve clients, at most four jobs each, 10 ms: a second is far beyond a fair turn.
    CHECK(sim.longest_wait() < 2000 * kMs);
    CHECK(sim.bench.idle());
}

TEST_CASE("the same calls give the same schedule", "[sched]") {
    auto run = [] {
        std::mt19937 random(7);
        std::uniform_int_distribution<u32> mask(0, 7);
        std::uniform_int_distribution<u64> length(1 * kMs, 10 * kMs);
        Simulation sim;
        for (int i = 0; i < 8; i++) {
            auto* client = sim.bench.client();
            for (int n = 0; n < 50; n++)
                sim.submit(client, mask(random), static_cast<s32>(random() % 3), length(random));
        }
        while (sim.step() != nullptr) {
        }
        return sim.trace();
    };
    const std::string first = run();
    CHECK(first.size() == 400);
    CHECK(first == run());
}

TEST_CASE("random calls of every kind keep the books straight", "[sched]") {
    const unsigned seed = GENERATE(range(1u, 21u));
    std::mt19937 random(seed);
    Bench b(7, seed % 2);
    std::vector<rknpu_sched_client*> clients;
    for (int i = 0; i < 5; i++)
        clients.push_back(b.client(1 + random() % 64));
    std::vector<rknpu_sched_job*> live;
    auto forget = [&](rknpu_sched_job* job) {
        live.erase(std::find(live.begin(), live.end(), job));
    };

    for (int i = 0; i < 5000; i++) {
        auto* any = live.empty() ? nullptr : live[random() % live.size()];
        switch (random() % 8) {
            case 0:
            case 1:
                if (live.size() < 60)
                    live.push_back(b.enqueue(clients[random() % 5], random() % 8,
                                             static_cast<s32>(random() % 2), random() % 100,
                                             clients[random() % 5]));
                break;
            case 2:
            case 3:
                b.pick();
                break;
            case 4:
                if (auto* job = b.sched.running[random() % 3])
                    if (rknpu_sched_core_done(&b.sched, job, __builtin_ctz(job->busy),
                                              random() % kMs))
                        forget(job);
                break;
            case 5:
                if (any && random() % 4 == 0) {
                    rknpu_sched_remove(&b.sched, any, random() % kMs);
                    forget(any);
                }
                break;
            case 6:
                if (any && rknpu_sched_is_running(any))
                    rknpu_sched_requeue(&b.sched, any);
                break;
            case 7:
                rknpu_sched_set_disabled(&b.sched, random() % 4 ? 0 : random() % 8);
                rknpu_sched_forget_cores(&b.sched, random() % 8);
                break;
        }
        u32 busy = 0;
        for (unsigned core = 0; core < 3; core++)
            if (auto* job = b.sched.running[core]) {
                busy |= BIT(core);
                REQUIRE((job->busy & BIT(core)) != 0);
            }
        REQUIRE(busy == b.sched.busy);
        size_t jobs = 0;
        for (auto* client : clients)
            jobs += client->jobs;
        REQUIRE(jobs == live.size());
    }
    rknpu_sched_set_disabled(&b.sched, 0);
    while (!live.empty()) {  // everything that is left can still be run to its end
        auto* job = b.pick();
        if (!job)
            for (unsigned core = 0; core < 3 && !job; core++)
                job = b.sched.running[core];
        REQUIRE(job != nullptr);
        b.finish(job);
        forget(job);
    }
    CHECK(b.idle());
}
