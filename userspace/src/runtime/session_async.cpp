// SPDX-License-Identifier: MIT
// Jobs of a session, and inferences that the NPU does while the caller goes on.
#include <poll.h>

#include <bit>

#include "runtime/session.hpp"

namespace rknpu {
namespace {

bool is_signalled(int fence, int timeout_ms) {
    pollfd entry{fence, POLLIN, 0};
    return poll(&entry, 1, timeout_ms) == 1;
}

}  // namespace

Session::~Session() {
    // The NPU may still be writing into memory that goes away now.
    if (!fence_.valid())
        return;
    try {
        [[maybe_unused]] const auto ended = program_->device->wait_fence(fence_.get(), -1);
    } catch (const std::exception&) {
        // It has waited: there was no memory to tell how it ended.
    }
}

Job Session::make_job(const PlanStep& step) const {
    Job job;
    job.tasks = tasks_.get();
    job.priority = options_.priority;
    job.iommu_domain = options_.iommu_domain;
    if (step.cores > 1) {
        job.core_mask = step.cores == 2 ? 3 : 7;
        // The driver looks at entries 0 and 1 for two cores, at 2, 3 and 4 for three.
        const size_t base = step.cores == 2 ? 0 : 2;
        for (uint32_t core = 0; core < step.cores; ++core)
            job.ranges[base + core] = step.ranges[core];
    } else {
        // A part that only one core can do runs on the first core of the mask.
        job.core_mask = std::popcount(core_mask_) > 1 ? core_mask_ & -core_mask_ : core_mask_;
        job.ranges[0] = job.ranges[1] = job.ranges[2] = step.ranges[0];
    }
    return job;
}

Status Session::job_failed(const PlanStep& step, const Status& status) const {
    const auto& node = program_->graph.nodes[step.first_node];
    return Status::failure(status.error(), "{} (op id: {}, op name: {}{})", status.text(),
                           step.first_node, node.name,
                           step.first_node == step.last_node ? "" : " and following");
}

bool Session::can_start() const {
    bool npu_only = !plan_.empty() && !options_.per_node_jobs;
    for (const auto& step : plan_)
        npu_only = npu_only && step.on_npu;
    return npu_only && program_->device->has_fences();
}

Result<int> Session::start(int in_fence) {
    started_ = std::chrono::steady_clock::now();
    if (auto status = begin_run(); !status.ok())
        return status;
    // Each job waits for the one before it: they may run on different cores.
    UniqueFd last;
    for (const auto& step : plan_) {
        Job job = make_job(step);
        job.nonblocking = true;
        job.in_fence = last.valid() ? last.get() : in_fence;
        auto report = program_->device->run(job);
        if (!report.ok()) {
            // Nothing may be under way when the caller sees the error.
            if (last.valid()) [[maybe_unused]]
                const auto ended = program_->device->wait_fence(last.get(), -1);
            return job_failed(step, report.status());
        }
        last.reset(report->out_fence);
    }
    fence_ = std::move(last);
    return fence_.get();
}

Status Session::wait_started(int timeout_ms) const {
    if (!fence_.valid() || is_signalled(fence_.get(), timeout_ms))
        return {};
    return Status::failure(Error::kTimeout, "the run did not end within {} ms", timeout_ms);
}

Status Session::finish() {
    if (!fence_.valid())
        return {};
    auto status = program_->device->wait_fence(fence_.get(), -1);
    fence_.reset();
    if (!status.ok())
        return job_failed(plan_.back(), status);
    if (auto synced = sync_outputs(); !synced.ok())
        return synced;
    last_run_ = std::chrono::steady_clock::now() - started_;
    return {};
}

}  // namespace rknpu
