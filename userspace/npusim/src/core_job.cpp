// SPDX-License-Identifier: MIT
// The worker thread of a core: fetches streams, runs tasks, raises interrupts.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "core.hpp"
#include "npuregs/regs.hpp"

namespace npusim {

namespace {

constexpr uint32_t kRawReadError = 1U << 12;
constexpr uint32_t kRawWriteError = 1U << 13;
constexpr uint32_t kRawBusError = 1U << 16;  // seen on boards beside failed page table reads
constexpr unsigned kRawDpu = 8;              // + group
constexpr unsigned kRawPpu = 10;             // + group

}  // namespace

struct Core::Job {
    JobResult result;
    JobFaults faults;
    uint32_t address = 0;
    uint32_t amounts = 0;
    uint32_t completion = 0;  // raw interrupt bit of the last task
    size_t ranges_before = 0;
    uint64_t read_before = 0;
    uint64_t written_before = 0;
};

void Core::worker() {
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [this] { return start_ || quit_; });
            if (quit_)
                return;
            start_ = false;
            running_ = true;
            ++counters_.jobs;
        }
        run_job();
    }
}

JobFaults Core::take_faults() {
    JobFaults faults = options_.faults.for_job(index_, counters_.jobs);
    for (auto& [rule, jobs] : armed_) {
        apply_fault(rule, options_.faults.draw(index_, counters_.jobs, UINT64_MAX), faults);
        --jobs;
    }
    std::erase_if(armed_, [](const auto& entry) { return entry.second == 0; });
    if (poisoned_)
        faults.hang_after = 0;
    return faults;
}

void Core::run_job() {
    Job job;
    uint32_t dma_base = 0;
    {
        std::lock_guard lock(mutex_);
        job.result.core = index_;
        job.result.number = counters_.jobs;
        job.result.tasks_wanted = pc_.task_con & ((1U << soc_.task_number_bits) - 1);
        job.address = pc_.base_address & npuregs::pc::kBaseAddressPcSourceAddr.mask();
        job.amounts = pc_.amounts;
        dma_base = pc_.dma_base;
        job.faults = take_faults();
    }
    if (job.faults.spurious_irq)
        pulse_line();
    dma_.begin_job(job.faults, options_.record_ranges, shared_.live());
    job.result.end = JobEnd::kRefused;
    if (!soc_.map)
        job.result.text = std::string(soc_.name) + ": its execution blocks are not decoded";
    else if (dma_base != 0)
        job.result.text =
            "PC.TASK_DMA_BASE_ADDR = " + std::to_string(dma_base) + ": only 0 is modelled";
    else if (job.result.tasks_wanted == 0)
        job.result.text = "PC.TASK_CON: a job of 0 tasks";
    else
        run_tasks(job);
    finish(job);
}

void Core::run_tasks(Job& job) {
    while (job.result.tasks_done < job.result.tasks_wanted) {
        if (job.faults.hang_after && job.result.tasks_done >= *job.faults.hang_after) {
            job.result.end = JobEnd::kHung;
            job.result.text = "held back by the fault plan";
            return;
        }
        if (!run_one_task(job))
            return;
    }
    job.result.end = JobEnd::kDone;
}

bool Core::begin_task(Job& job, StreamEnd& end) {
    words_.resize(fetch_words(job.amounts, soc_));
    if (!dma_.fetch(job.address, std::as_writable_bytes(std::span(words_)))) {
        end_dma_error(job);
        return false;
    }
    std::lock_guard lock(mutex_);
    if (abort_) {
        job.result.end = JobEnd::kAborted;
        return false;
    }
    end = apply_stream(words_, soc_, regs_, *runner_);
    if (end.error.empty())
        end.error = regs_.check_start(end.enable_mask);
    if (end.error.empty())
        return true;
    char where[64];
    std::snprintf(where, sizeof(where), "task %u, stream at 0x%08x: ", job.result.tasks_done,
                  job.address);
    job.result.end = JobEnd::kRefused;
    job.result.text = where + end.error;
    return false;
}

bool Core::run_one_task(Job& job) {
    StreamEnd end;
    dma_.begin_task();
    job.ranges_before = dma_.ranges().size();
    job.read_before = dma_.bytes_read();
    job.written_before = dma_.bytes_written();
    if (!begin_task(job, end))
        return false;
    const auto error = runner_->run(regs_.active(), end.enable_mask, dma_);
    if (dma_.fault().kind != DmaFault::Kind::kNone) {
        end_dma_error(job);
        return false;
    }
    if (error) {
        job.result.end = JobEnd::kRefused;
        job.result.text = "task " + std::to_string(job.result.tasks_done) + ": " + error->text;
        return false;
    }
    if (options_.on_task)
        report_task(job, end.enable_mask);
    {
        std::lock_guard lock(mutex_);
        const bool pooled = (end.enable_mask & kEnablePpu) != 0;
        const BlockId last = pooled ? BlockId::kPpu : BlockId::kDpu;
        job.completion = 1U << ((pooled ? kRawPpu : kRawDpu) + regs_.block(last).executer());
        regs_.advance(end.enable_mask);
        ++pc_.task_status;
        ++counters_.tasks;
        ++job.result.tasks_done;
    }
    return job.result.tasks_done == job.result.tasks_wanted || continue_chain(job, end);
}

bool Core::continue_chain(Job& job, const StreamEnd& end) {
    if (!end.next_address || *end.next_address == 0 || !end.next_amount) {
        job.result.end = JobEnd::kRefused;
        job.result.text = "the chain of streams ends after task " +
                          std::to_string(job.result.tasks_done) + " of " +
                          std::to_string(job.result.tasks_wanted) + " (PC.TASK_CON)";
        return false;
    }
    job.address = *end.next_address;
    job.amounts = *end.next_amount;
    return true;
}

void Core::report_task(const Job& job, uint32_t mask) {
    const std::span<const DmaRange> ranges(dma_.ranges());
    const TaskEvent event{.core = index_,
                          .job = job.result.number,
                          .task = job.result.tasks_done,
                          .stream_iova = job.address,
                          .enable_mask = mask,
                          .regs = regs_.active(),
                          .work = runner_->last_work(),
                          .ranges = ranges.subspan(std::min(job.ranges_before, ranges.size())),
                          .bytes_read = dma_.bytes_read() - job.read_before,
                          .bytes_written = dma_.bytes_written() - job.written_before,
                          .dma = dma_};
    dma_.set_observed(true);
    options_.on_task(event);
    dma_.set_observed(false);
}

void Core::end_dma_error(Job& job) {
    job.result.fault = dma_.fault();
    const bool aborted = job.result.fault.kind == DmaFault::Kind::kAborted;
    job.result.end = aborted ? JobEnd::kAborted : JobEnd::kDmaError;
    job.result.text = describe(job.result.fault);
}

bool Core::pause_us(uint64_t us) {
    std::unique_lock lock(mutex_);
    return !wake_.wait_for(lock, std::chrono::microseconds(us), [this] { return abort_; });
}

void Core::log_end(const Job& job) {
    const JobResult& result = job.result;
    if (result.end == JobEnd::kRefused) {
        log_refusal("job " + std::to_string(result.number) + ": " + result.text);
    } else if (result.end == JobEnd::kDmaError || result.end == JobEnd::kHung) {
        shared_.log("core " + std::to_string(index_) + ": job " + std::to_string(result.number) +
                    " stopped in task " + std::to_string(result.tasks_done) + ": " + result.text);
    }
    if (dma_.stray_accesses() == 0)
        return;
    shared_.stray += dma_.stray_accesses();
    const DmaRange& first = dma_.first_stray();
    char text[160];
    std::snprintf(text, sizeof(text),
                  "core %u: job %llu: %llu accesses outside the live buffers, first a %s of %llu "
                  "bytes at 0x%08x",
                  index_, static_cast<unsigned long long>(result.number),
                  static_cast<unsigned long long>(dma_.stray_accesses()),
                  first.access == Access::kRead ? "read" : "write",
                  static_cast<unsigned long long>(first.size), first.iova);
    shared_.log(text);
}

void Core::set_end_status(const Job& job) {
    switch (job.result.end) {
        case JobEnd::kDone:
            pc_.int_raw |= job.faults.wrong_status.value_or(job.completion);
            mute_npu_ = job.faults.drop_irq;
            poisoned_ |= job.faults.poison;
            return;
        case JobEnd::kDmaError:
            ++counters_.faults;
            if (job.result.fault.kind != DmaFault::Kind::kPageFault)
                pc_.int_raw |= kRawBusError;
            if (job.result.fault.kind != DmaFault::Kind::kWalkBusError)
                pc_.int_raw |=
                    job.result.fault.access == Access::kRead ? kRawReadError : kRawWriteError;
            stuck_ = true;
            return;
        case JobEnd::kRefused:
        case JobEnd::kHung:
            stuck_ = true;
            return;
        case JobEnd::kAborted:
            return;
    }
}

void Core::finish(Job& job) {
    if (job.result.end == JobEnd::kDone && job.faults.delay_us != 0 &&
        !pause_us(job.faults.delay_us))
        job.result.end = JobEnd::kAborted;
    job.result.bytes_read = dma_.bytes_read();
    job.result.bytes_written = dma_.bytes_written();
    job.result.ranges = std::move(dma_.ranges());
    dma_.ranges() = {};
    log_end(job);
    JobHandler handler;
    {
        std::lock_guard lock(mutex_);
        if (abort_)
            job.result.end = JobEnd::kAborted;
        handler = job_handler_;
    }
    if (handler)
        handler(job.result);
    {
        // Idle before the line rises: its handler may start the next job at once.
        std::lock_guard lock(mutex_);
        if (!abort_)
            set_end_status(job);
        running_ = false;
        settling_ = true;
        for (const auto& [offset, value] : std::exchange(deferred_, {}))
            write_block(offset, value);
        idle_.notify_all();
    }
    update_line(false);
    std::lock_guard lock(mutex_);
    settling_ = false;
    idle_.notify_all();
}

}  // namespace npusim
