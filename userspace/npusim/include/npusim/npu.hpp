// SPDX-License-Identifier: MIT
// The NPU: register windows in, memory accesses and interrupt lines out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npusim/dma.hpp"
#include "npusim/engine.hpp"
#include "npusim/fault_plan.hpp"
#include "npusim/memory.hpp"
#include "npusim/soc.hpp"

namespace npusim {

/// The execution blocks of one core, behind the register file. The default runner is TaskEngine;
/// tests put their own in its place. run() is called from the core's worker thread, the LUT calls
/// also from register writes while the core is idle; never two calls at once.
class TaskRunner {
 public:
    virtual ~TaskRunner() = default;
    [[nodiscard]] virtual std::optional<ExecError> run(const TaskRegs& regs, uint32_t enable_mask,
                                                       DmaPort& dma) = 0;
    virtual void write_lut(uint32_t offset, uint32_t value) = 0;
    [[nodiscard]] virtual uint32_t read_lut() = 0;
    virtual void reset() = 0;
    [[nodiscard]] virtual const TaskWork& last_work() const = 0;
};

struct DmaRange {
    uint32_t iova = 0;
    uint64_t size = 0;
    Access access = Access::kRead;
    bool fetch = false;  ///< register commands, not tensor data
};

enum class JobEnd : uint8_t {
    kDone,      ///< completion interrupt raised (or due, when a fault rule holds it back)
    kRefused,   ///< something the model does not execute; text says what
    kDmaError,  ///< page fault or bus error; fault says where
    kHung,      ///< a fault rule stopped it
    kAborted,   ///< reset or shutdown
};

struct JobResult {
    unsigned core = 0;
    uint64_t number = 0;  ///< 1 = first job of this core since power-on
    JobEnd end = JobEnd::kDone;
    std::string text;  ///< empty for kDone
    DmaFault fault;
    uint32_t tasks_done = 0;
    uint32_t tasks_wanted = 0;
    uint64_t bytes_read = 0;
    uint64_t bytes_written = 0;
    std::vector<DmaRange> ranges;  ///< only with record_ranges; adjacent accesses merged
};

/// One executed task, as the observer sees it.
struct TaskEvent {
    unsigned core = 0;
    uint64_t job = 0;
    uint32_t task = 0;         ///< index in the job
    uint32_t stream_iova = 0;  ///< of its register commands
    uint32_t enable_mask = 0;
    const TaskRegs& regs;
    const TaskWork& work;
    std::span<const DmaRange> ranges;  ///< of this task; empty without record_ranges
    uint64_t bytes_read = 0;
    uint64_t bytes_written = 0;
    DmaPort& dma;  ///< for checksums; reads through it are not recorded
};

struct CoreCounters {
    uint64_t reg_reads = 0;
    uint64_t reg_writes = 0;
    uint64_t mmu_reads = 0;
    uint64_t mmu_writes = 0;
    uint64_t interrupts = 0;  ///< rising edges of the line
    uint64_t jobs = 0;
    uint64_t tasks = 0;
    uint64_t faults = 0;  ///< page faults and bus errors
};

struct NpuOptions {
    bool reference_path = false;    ///< engine: plain loops instead of the fast path
    unsigned threads_per_core = 1;  ///< engine: threads one task may use
    bool record_ranges = false;
    FaultPlan faults;
    /// Called on the worker thread after each executed task.
    std::function<void(const TaskEvent&)> on_task;
    /// Empty: TaskEngine.
    std::function<std::unique_ptr<TaskRunner>(unsigned core)> make_runner;
};

/// The default runner.
[[nodiscard]] std::unique_ptr<TaskRunner> make_engine_runner(const SocConfig& soc,
                                                             const NpuOptions& options);

/// Thread safe. Register accesses never compute and never wait for a job.
class Npu {
 public:
    Npu(const SocConfig& soc, PhysicalMemory& memory, NpuOptions options);
    ~Npu();  ///< aborts running jobs and joins the workers
    Npu(const Npu&) = delete;
    Npu& operator=(const Npu&) = delete;

    [[nodiscard]] const SocConfig& soc() const;

    /// 32-bit register access; offset in the core's window, multiple of 4. An offset without a
    /// register reads 0, drops writes and is logged.
    [[nodiscard]] uint32_t read(unsigned core, uint32_t offset);
    void write(unsigned core, uint32_t offset, uint32_t value);

    /// Called at each change of a core's interrupt line, and with true again when a write to an
    /// interrupt-clear register leaves the line high. Runs on worker threads and inside write(),
    /// with no lock of the model held except the line's own order: it must not call back into the
    /// same core.
    void set_irq_handler(std::function<void(unsigned core, bool level)> handler);

    /// Called on the worker thread at the end of each job, before its interrupt is raised.
    void set_job_handler(std::function<void(const JobResult&)> handler);

    [[nodiscard]] bool irq_level(unsigned core) const;

    /// Holds cores in reset (bit n = core n) or lets them go. Asserting aborts the running job and
    /// clears registers, IOMMU banks, TLB and LUT tables; it returns when the job has stopped.
    /// A core whose job was refused, faulted or hung starts no job until it was reset.
    void assert_reset(uint32_t core_mask, bool asserted);

    /// A fault for the next `jobs` jobs of a core, whatever the fault plan says; the rule's core
    /// and job range are not looked at.
    void arm_fault(unsigned core, const FaultRule& rule, uint32_t jobs);
    void disarm_faults();

    /// Waits until no core runs a job; false when that takes longer than timeout_ms.
    [[nodiscard]] bool wait_idle(unsigned timeout_ms);

    /// Ranges a job may touch. Once set, data accesses outside are logged and counted in
    /// stray_count(), they are still carried out. An empty optional switches the check off.
    void set_live_buffers(std::optional<std::vector<DmaRange>> buffers);

    [[nodiscard]] uint64_t refused_count() const;
    [[nodiscard]] uint64_t stray_count() const;
    [[nodiscard]] CoreCounters counters(unsigned core) const;
    [[nodiscard]] std::vector<std::string> take_log();

 private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace npusim
