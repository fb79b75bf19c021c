// SPDX-License-Identifier: MIT
// Register side and interrupt line of a core; the worker's side is in core_job.cpp.
#include "core.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "npuregs/regs.hpp"

namespace npusim {

namespace {

constexpr size_t kMaxLogLines = 10000;
constexpr size_t kMaxDeferredWrites = 4096;
constexpr size_t kMaxArmedFaults = 64;
constexpr uint32_t kIntBits = 0x1ffff;          // raw bits a completion or an error can set
constexpr uint32_t kIdleIntMask = 0x8001ffffU;  // as boards read it before any driver wrote it

std::vector<MmuBank*> pointers(const std::vector<std::unique_ptr<MmuBank>>& banks) {
    std::vector<MmuBank*> out;
    for (const auto& bank : banks)
        out.push_back(bank.get());
    return out;
}

std::vector<std::unique_ptr<MmuBank>> make_banks(unsigned count, PhysicalMemory& memory) {
    std::vector<std::unique_ptr<MmuBank>> banks;
    for (unsigned i = 0; i < count; ++i)
        banks.push_back(std::make_unique<MmuBank>(memory));
    return banks;
}

}  // namespace

void SharedState::log(std::string line) {
    std::lock_guard lock(mutex_);
    if (log_.size() < kMaxLogLines)
        log_.push_back(std::move(line));
    else
        ++dropped_;
}

std::vector<std::string> SharedState::take_log() {
    std::lock_guard lock(mutex_);
    if (dropped_ != 0)
        log_.push_back(std::to_string(dropped_) + " more lines dropped");
    dropped_ = 0;
    return std::exchange(log_, {});
}

void SharedState::set_live(std::shared_ptr<const LiveBuffers> live) {
    std::lock_guard lock(mutex_);
    live_ = std::move(live);
}

std::shared_ptr<const LiveBuffers> SharedState::live() const {
    std::lock_guard lock(mutex_);
    return live_;
}

Core::Core(unsigned index, const SocConfig& soc, PhysicalMemory& memory, const NpuOptions& options,
           SharedState& shared, std::unique_ptr<TaskRunner> runner)
    : index_(index),
      soc_(soc),
      options_(options),
      shared_(shared),
      banks_(make_banks(soc.mmu[index].count, memory)),
      dma_(memory, pointers(banks_), soc),
      runner_(std::move(runner)) {
    pc_.int_mask = kIdleIntMask;
    thread_ = std::thread([this] { worker(); });
}

Core::~Core() {
    {
        std::lock_guard lock(mutex_);
        quit_ = true;
        abort_ = true;
        wake_.notify_all();
    }
    dma_.abort();
    for (auto& bank : banks_)
        bank->abort();
    thread_.join();
}

void Core::log_refusal(const std::string& text) {
    ++shared_.refused;
    shared_.log("core " + std::to_string(index_) + ": refused: " + text);
}

void Core::note_unknown(const char* what, uint32_t offset, uint32_t value) {
    if (unknown_seen_[offset / 4])
        return;
    unknown_seen_[offset / 4] = true;
    char text[96];
    std::snprintf(text, sizeof(text), "core %u: %s 0x%04x, value 0x%08x, has no register", index_,
                  what, offset, value);
    shared_.log(text);
}

MmuBank* Core::bank_at(uint32_t offset, uint32_t& bank_offset) const {
    const MmuBanks& info = soc_.mmu[index_];
    for (size_t i = 0; i < banks_.size(); ++i) {
        if (offset < info.offset[i] || offset >= info.offset[i] + MmuBank::kWindow)
            continue;
        bank_offset = offset - info.offset[i];
        return banks_[i].get();
    }
    return nullptr;
}

uint32_t Core::read(uint32_t offset) {
    if (offset >= soc_.core_window || offset % 4 != 0)
        return 0;
    uint32_t bank_offset = 0;
    MmuBank* bank = bank_at(offset, bank_offset);
    std::lock_guard lock(mutex_);
    if (bank) {
        ++counters_.mmu_reads;
        return in_reset_ ? 0 : bank->read(bank_offset);
    }
    ++counters_.reg_reads;
    return read_locked(offset);
}

uint32_t Core::read_locked(uint32_t offset) {
    namespace pc = npuregs::pc;
    if (offset == soc_.task_status_offset)
        return pc_.task_status;
    switch (offset) {
        case pc::kVersion:
            return soc_.version;
        case pc::kVersionNum:
            return soc_.version_num;
        case pc::kOperationEnable:
            return pc_.op_en;
        case pc::kBaseAddress:
            return pc_.base_address;
        case pc::kRegisterAmounts:
            return pc_.amounts;
        case pc::kInterruptMask:
            return pc_.int_mask;
        case pc::kInterruptClear:
            return 0;
        case pc::kInterruptStatus:
            return pc_.int_raw & pc_.int_mask;
        case pc::kInterruptRawStatus:
            return pc_.int_raw;
        case pc::kTaskCon:
            return pc_.task_con;
        case pc::kTaskDmaBaseAddr:
            return pc_.dma_base;
        default:
            break;
    }
    if (offset == npuregs::dpu::kLutAccessData)
        return running_ ? 0 : runner_->read_lut();
    if (const auto id = RegFile::block_at(offset))
        return regs_.block(*id).read(offset & 0xfffU);
    note_unknown("read of", offset, 0);
    return 0;
}

void Core::write(uint32_t offset, uint32_t value) {
    if (offset >= soc_.core_window || offset % 4 != 0)
        return;
    uint32_t bank_offset = 0;
    bool irq_changed = false;
    bool cleared = false;
    MmuBank* bank = bank_at(offset, bank_offset);
    {
        std::lock_guard lock(mutex_);
        ++(bank ? counters_.mmu_writes : counters_.reg_writes);
        if (in_reset_)
            return;
        if (!bank)
            write_locked(offset, value, irq_changed, cleared);
    }
    if (bank) {
        irq_changed = bank->write(bank_offset, value);
        cleared = irq_changed;
    }
    if (irq_changed)
        update_line(cleared);
}

void Core::write_locked(uint32_t offset, uint32_t value, bool& irq_changed, bool& cleared) {
    namespace pc = npuregs::pc;
    switch (offset) {
        case pc::kOperationEnable:
            write_op_en(value);
            return;
        case pc::kBaseAddress:
            pc_.base_address = value;
            return;
        case pc::kRegisterAmounts:
            pc_.amounts = value;
            return;
        case pc::kInterruptMask:
            pc_.int_mask = value;
            irq_changed = true;
            return;
        case pc::kInterruptClear:
            pc_.int_raw &= ~(value & kIntBits);
            if (pc_.int_raw == 0)
                mute_npu_ = false;
            irq_changed = cleared = true;
            return;
        case pc::kTaskCon:
            write_task_con(value);
            return;
        case pc::kTaskDmaBaseAddr:
            pc_.dma_base = value;
            return;
        default:
            break;
    }
    if (RegFile::block_at(offset))
        write_block(offset, value);
    else
        note_unknown("write to", offset, value);
}

void Core::write_block(uint32_t offset, uint32_t value) {
    if (running_ || start_) {
        // The worker owns the groups now; the value is due when the job has ended.
        if (deferred_.size() < kMaxDeferredWrites)
            deferred_.emplace_back(offset, value);
        return;
    }
    if ((offset & 0xfffU) == 0x8 && (value & 1U) != 0) {
        char text[96];
        std::snprintf(text, sizeof(text),
                      "register 0x%04x = 0x%x: slave mode (blocks started by the CPU) is not "
                      "modelled",
                      offset, value);
        log_refusal(text);
        return;
    }
    regs_.block(*RegFile::block_at(offset)).write(offset & 0xfffU, value);
    if (offset == npuregs::dpu::kLutAccessCfg || offset == npuregs::dpu::kLutAccessData)
        runner_->write_lut(offset, value);
}

void Core::write_task_con(uint32_t value) {
    const unsigned clear_bit = soc_.task_number_bits + 1;
    pc_.task_con = value;
    if (value >> clear_bit & 1U)
        pc_.task_status = 0;
}

void Core::write_op_en(uint32_t value) {
    const bool rising = (value & ~pc_.op_en & 1U) != 0;
    pc_.op_en = value & 1U;
    if (!rising)
        return;
    const std::string name = "core " + std::to_string(index_) + ": start ignored: ";
    if (pc_.base_address & npuregs::pc::kBaseAddressPcSel.mask()) {
        log_refusal("PC.BASE_ADDRESS bit 0 selects slave mode, which is not modelled");
        return;
    }
    if (running_ || start_) {
        shared_.log(name + "a job is running");
        return;
    }
    if (stuck_) {
        shared_.log(name + "the last job ended without completion and no reset followed");
        return;
    }
    start_ = true;
    wake_.notify_all();
}

void Core::set_irq_handler(IrqHandler handler) {
    std::lock_guard lock(line_mutex_);
    irq_handler_ = std::move(handler);
}

void Core::set_job_handler(JobHandler handler) {
    std::lock_guard lock(mutex_);
    job_handler_ = std::move(handler);
}

void Core::update_line(bool signal_again) {
    std::lock_guard order(line_mutex_);
    bool level = false;
    for (const auto& bank : banks_)
        level |= bank->irq();
    bool rising = false;
    {
        std::lock_guard lock(mutex_);
        level |= !mute_npu_ && (pc_.int_raw & pc_.int_mask & kIntBits) != 0;
        level &= !in_reset_;
        rising = level && !line_;
        if (rising)
            ++counters_.interrupts;
    }
    const bool changed = line_.exchange(level) != level;
    if (irq_handler_ && (changed || (level && signal_again)))
        irq_handler_(index_, level);
}

void Core::pulse_line() {
    std::lock_guard order(line_mutex_);
    if (line_ || !irq_handler_)
        return;
    {
        std::lock_guard lock(mutex_);
        ++counters_.interrupts;
    }
    irq_handler_(index_, true);
    irq_handler_(index_, false);
}

void Core::set_reset(bool asserted) {
    {
        std::unique_lock lock(mutex_);
        if (in_reset_ == asserted)
            return;
        in_reset_ = asserted;
        if (!asserted)
            return;
        abort_ = true;
        start_ = false;
        wake_.notify_all();
    }
    dma_.abort();
    for (auto& bank : banks_)
        bank->abort();
    {
        std::unique_lock lock(mutex_);
        idle_.wait(lock, [this] { return !running_; });
        for (auto& bank : banks_)
            bank->reset();
        pc_ = PcRegs{};
        pc_.int_mask = kIdleIntMask;
        regs_.reset();
        runner_->reset();
        deferred_.clear();
        stuck_ = poisoned_ = mute_npu_ = abort_ = false;
        dma_.clear_abort();
    }
    update_line(false);
}

void Core::arm_fault(const FaultRule& rule, uint32_t jobs) {
    std::lock_guard lock(mutex_);
    if (jobs != 0 && armed_.size() < kMaxArmedFaults)
        armed_.emplace_back(rule, jobs);
}

void Core::disarm_faults() {
    std::lock_guard lock(mutex_);
    armed_.clear();
}

bool Core::wait_idle(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    return idle_.wait_until(lock, deadline, [this] { return !running_ && !start_ && !settling_; });
}

CoreCounters Core::counters() const {
    std::lock_guard lock(mutex_);
    return counters_;
}

}  // namespace npusim
