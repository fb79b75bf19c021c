// SPDX-License-Identifier: MIT
// The policy under test, with jobs and clients that are built in one expression.
#pragma once

#include <memory>
#include <vector>

extern "C" {
#include "rknpu_sched.h"
}

/** One scheduler and the clients and jobs that live as long as it does. */
class Bench {
 public:
    explicit Bench(u32 present = 7, bool shared_iommu = false) {
        rknpu_sched_init(&sched, present, shared_iommu);
    }

    rknpu_sched_client* client(u32 weight = RKNPU_SCHED_WEIGHT) {
        clients_.push_back(std::make_unique<rknpu_sched_client>());
        rknpu_sched_client_init(clients_.back().get(), weight);
        return clients_.back().get();
    }

    /** A job that is known but not waiting yet. */
    rknpu_sched_job* job(rknpu_sched_client* client, u32 wanted = 0, s32 priority = 0, u32 cost = 1,
                         const void* space = nullptr) {
        jobs_.push_back(std::make_unique<rknpu_sched_job>());
        rknpu_sched_job_init(jobs_.back().get(), client, space ? space : this, wanted, priority,
                             cost);
        return jobs_.back().get();
    }

    rknpu_sched_job* enqueue(rknpu_sched_client* client, u32 wanted = 0, s32 priority = 0,
                             u32 cost = 1, const void* space = nullptr) {
        rknpu_sched_job* j = job(client, wanted, priority, cost, space);
        rknpu_sched_enqueue(&sched, j);
        return j;
    }

    rknpu_sched_job* pick() { return rknpu_sched_pick(&sched); }

    /** Ends a running job on all cores it still holds; true when it left the books. */
    bool finish(rknpu_sched_job* j, u64 ns = 1000) {
        bool last = false;
        for (unsigned core = 0; core < RKNPU_SCHED_CORES; core++)
            if (j->busy & BIT(core))
                last = rknpu_sched_core_done(&sched, j, core, ns);
        return last;
    }

    bool idle() const {
        return sched.busy == 0 && list_empty(&sched.jobs) && list_empty(&sched.active) &&
               sched.reserver == nullptr && sched.load[0] == 0 && sched.load[1] == 0 &&
               sched.load[2] == 0;
    }

    rknpu_sched sched;

 private:
    std::vector<std::unique_ptr<rknpu_sched_client>> clients_;
    std::vector<std::unique_ptr<rknpu_sched_job>> jobs_;
};
