// SPDX-License-Identifier: MIT
// One NPU core: register window, PC unit, interrupt line, worker thread.
#pragma once

#include <atomic>
#include <bitset>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core_dma.hpp"
#include "mmu.hpp"
#include "npusim/npu.hpp"
#include "npusim/regfile.hpp"
#include "pc.hpp"

namespace npusim {

/// Log and counters all cores share.
class SharedState {
 public:
    void log(std::string line);
    std::vector<std::string> take_log();

    std::atomic<uint64_t> refused = 0;
    std::atomic<uint64_t> stray = 0;

    void set_live(std::shared_ptr<const LiveBuffers> live);
    [[nodiscard]] std::shared_ptr<const LiveBuffers> live() const;

 private:
    mutable std::mutex mutex_;  // protects log_, dropped_, live_
    std::vector<std::string> log_;
    uint64_t dropped_ = 0;
    std::shared_ptr<const LiveBuffers> live_;
};

class Core {
 public:
    using IrqHandler = std::function<void(unsigned core, bool level)>;
    using JobHandler = std::function<void(const JobResult&)>;

    Core(unsigned index, const SocConfig& soc, PhysicalMemory& memory, const NpuOptions& options,
         SharedState& shared, std::unique_ptr<TaskRunner> runner);
    ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    [[nodiscard]] uint32_t read(uint32_t offset);
    void write(uint32_t offset, uint32_t value);
    void set_irq_handler(IrqHandler handler);
    void set_job_handler(JobHandler handler);
    [[nodiscard]] bool irq_level() const { return line_.load(); }
    void set_reset(bool asserted);
    void arm_fault(const FaultRule& rule, uint32_t jobs);
    void disarm_faults();
    [[nodiscard]] bool wait_idle(std::chrono::steady_clock::time_point deadline);
    [[nodiscard]] CoreCounters counters() const;

 private:
    struct PcRegs {
        uint32_t base_address = 0;
        uint32_t amounts = 0;
        uint32_t int_mask = 0;
        uint32_t int_raw = 0;
        uint32_t task_con = 0;
        uint32_t dma_base = 0;
        uint32_t task_status = 0;
        uint32_t op_en = 0;
    };
    struct Job;

    // Register side.
    MmuBank* bank_at(uint32_t offset, uint32_t& bank_offset) const;
    uint32_t read_locked(uint32_t offset);
    void write_locked(uint32_t offset, uint32_t value, bool& irq_changed, bool& cleared);
    void write_block(uint32_t offset, uint32_t value);
    void write_task_con(uint32_t value);
    void write_op_en(uint32_t value);
    void note_unknown(const char* what, uint32_t offset, uint32_t value);
    void log_refusal(const std::string& text);

    // Interrupt line.
    void update_line(bool signal_again);
    void pulse_line();

    // Worker thread.
    void worker();
    JobFaults take_faults();
    void run_job();
    void run_tasks(Job& job);
    bool run_one_task(Job& job);
    bool begin_task(Job& job, StreamEnd& end);
    bool continue_chain(Job& job, const StreamEnd& end);
    void report_task(const Job& job, uint32_t mask);
    void finish(Job& job);
    void log_end(const Job& job);
    void set_end_status(const Job& job);
    void end_dma_error(Job& job);
    bool pause_us(uint64_t us);  // false: aborted meanwhile

    const unsigned index_;
    const SocConfig& soc_;
    const NpuOptions& options_;
    SharedState& shared_;
    std::vector<std::unique_ptr<MmuBank>> banks_;
    CoreDma dma_;
    std::unique_ptr<TaskRunner> runner_;

    mutable std::mutex mutex_;  // protects everything below up to the line's part
    std::condition_variable wake_;
    std::condition_variable idle_;
    PcRegs pc_;
    RegFile regs_;  // groups selected for the running task are read without the lock: only the
                    // worker changes them while running_
    std::vector<std::pair<uint32_t, uint32_t>> deferred_;  // block writes that came during a job
    std::bitset<0x4000> unknown_seen_;
    std::vector<std::pair<FaultRule, uint32_t>> armed_;  // with the jobs each is still due for
    CoreCounters counters_;
    JobHandler job_handler_;
    bool start_ = false;     // a job waits for the worker
    bool running_ = false;   // the worker runs a job
    bool settling_ = false;  // idle again, but the line is not up to date
    bool stuck_ = false;     // ended without completion, only a reset helps
    bool poisoned_ = false;  // K7
    bool mute_npu_ = false;  // K3: completion bits do not reach the line
    bool in_reset_ = false;
    bool abort_ = false;
    bool quit_ = false;

    std::mutex
        line_mutex_;  // protects irq_handler_ and the order of its calls; taken before mutex_
    IrqHandler irq_handler_;
    std::atomic<bool> line_ = false;

    std::vector<uint64_t> words_;  // worker only: the stream being decoded
    std::thread thread_;           // last: starts when all else is ready
};

}  // namespace npusim
