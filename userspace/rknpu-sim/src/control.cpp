// SPDX-License-Identifier: MIT
#include "control.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

namespace rknpusim {

namespace {

constexpr uint32_t kPageSize = 0x1000;
constexpr uint32_t kLiveOff = 0;
constexpr uint32_t kLiveAdd = 1;
constexpr uint32_t kLiveRemove = 2;
constexpr size_t kMaxLive = 4096;
constexpr uint32_t kAllCores = 0x7;
constexpr uint32_t kEveryCore = 0xff;
constexpr unsigned kHResetShift = 8;
// Up to here the clock comes from a PLL outside the power island (RK3588).
constexpr uint32_t kSafeRate = 200'000'000;
// What a boot loader leaves behind: enough for the highest rate.
constexpr uint32_t kBootSupply = 850'000;
constexpr uint32_t kFailCountMask = 0xffff;
constexpr unsigned kFailSwitchesShift = 16;
constexpr uint32_t kSupplySwitch = 1U << 3;  // beside the bits of the domains
constexpr uint64_t kMaxLoggedViolations = 100;

// Nominal voltages of RK3588's operating points, lowest first.
struct OperatingPoint {
    uint32_t hz;
    uint32_t microvolts;
};
constexpr OperatingPoint kOperatingPoints[] = {
    {kSafeRate, 1}, {700'000'000, 700'000}, {800'000'000, 750'000}, {900'000'000, 800'000}};

uint32_t needed_microvolts(uint32_t hz) {
    for (const OperatingPoint& point : kOperatingPoints)
        if (hz <= point.hz)
            return point.microvolts;
    return kBootSupply;
}

uint32_t held(uint32_t resets) {
    return (resets | resets >> kHResetShift) & kAllCores;
}

}  // namespace

BoardControl::BoardControl(npusim::Npu& npu, Log log) : npu_(npu), log_(std::move(log)) {
    reset();
}

void BoardControl::reset() {
    if (resets_ != 0)
        write_resets(0);
    npu_.disarm_faults();
    fault_ = fault_value_ = power_fail_ = 0;
    power_ = kAllCores;
    rate_ = kSafeRate;
    supply_ = kBootSupply;
    clock_on_ = 1;
    change_live(kLiveOff);
}

bool BoardControl::owns(uint32_t offset) {
    return offset == kResetRegister ||
           (offset >= kControlPage && offset < kControlPage + kPageSize);
}

uint32_t BoardControl::read(uint32_t offset) const {
    switch (offset) {
        case kControlId:
            return kControlIdValue;
        case kControlFault:
            return fault_;
        case kControlValue:
            return fault_value_;
        case kControlPower:
            return power_;
        case kControlClockRate:
            return rate_;
        case kControlClockOn:
            return clock_on_;
        case kControlPowerFail:
            return power_fail_;
        case kControlSupply:
            return supply_;
        case kControlViolations:
            return static_cast<uint32_t>(violations_);
        case kControlLiveStart:
            return live_start_;
        case kControlLiveSize:
            return live_size_;
        case kControlStray:
            return static_cast<uint32_t>(npu_.stray_count());
        case kResetRegister:
            return resets_;
        default:
            return offset >= kControlCounters ? read_counter(offset - kControlCounters) : 0;
    }
}

uint32_t BoardControl::read_counter(uint32_t offset) const {
    const uint32_t core = offset / kControlCountersStride;
    if (core >= npu_.soc().cores)
        return 0;
    const npusim::CoreCounters c = npu_.counters(core);
    const std::array<uint64_t, kControlCountersStride / 4> values = {
        c.jobs,       c.tasks,     c.reg_reads,  c.reg_writes,
        c.interrupts, c.mmu_reads, c.mmu_writes, c.faults};
    return static_cast<uint32_t>(values[offset % kControlCountersStride / 4]);
}

void BoardControl::write(uint32_t offset, uint32_t value) {
    switch (offset) {
        case kControlFault:
            fault_ = value;
            break;
        case kControlValue:
            fault_value_ = value;
            break;
        case kControlJobs:
            arm(value);
            break;
        case kControlPower:
            set_power(value & kAllCores);
            break;
        case kControlClockRate:
            set_rate(value);
            break;
        case kControlClockOn:
            clock_on_ = value & 1U;
            break;
        case kControlPowerFail:
            power_fail_ = value;
            break;
        case kControlSupply:
            set_supply(value);
            break;
        case kControlViolations:
            violations_ = 0;
            break;
        case kControlLiveStart:
            live_start_ = value;
            break;
        case kControlLiveSize:
            live_size_ = value;
            break;
        case kControlLive:
            change_live(value);
            break;
        case kResetRegister:
            write_resets(value);
            break;
        default:
            break;
    }
}

// The same buffer may live in several address spaces of the guest: each has to remove it.
void BoardControl::change_live(uint32_t command) {
    if (command == kLiveAdd && live_.size() < kMaxLive)
        live_.push_back({.iova = live_start_, .size = live_size_});
    const auto same = [this](const npusim::DmaRange& range) {
        return range.iova == live_start_ && range.size == live_size_;
    };
    if (command == kLiveRemove) {
        const auto it = std::find_if(live_.begin(), live_.end(), same);
        if (it != live_.end())
            live_.erase(it);
    }
    if (command == kLiveOff)
        live_.clear();
    npu_.set_live_buffers(command == kLiveOff ? std::nullopt : std::optional(live_));
}

void BoardControl::arm(uint32_t jobs) {
    if (jobs == 0) {
        npu_.disarm_faults();
        return;
    }
    npusim::FaultRule rule;
    const uint32_t kind = fault_ & 0xffU;
    const uint32_t core = fault_ >> 8 & 0xffU;
    if (kind > static_cast<uint32_t>(npusim::FaultKind::kDelay)) {
        log_(fmt::format("board control: no fault has the number {}", kind));
        return;
    }
    rule.kind = static_cast<npusim::FaultKind>(kind);
    rule.value = fault_value_;
    for (unsigned i = 0; i < npu_.soc().cores; ++i)
        if (core == i || core == kEveryCore)
            npu_.arm_fault(i, rule, jobs);
}

void BoardControl::violation(std::string line) {
    ++violations_;
    if (++total_violations_ <= kMaxLoggedViolations)
        log_("violation: " + std::move(line));
}

/// K8: whether an attempt to switch these on comes to nothing.
bool BoardControl::refuses(uint32_t switches) {
    uint32_t concerned = power_fail_ >> kFailSwitchesShift;
    if (concerned == 0)
        concerned = kAllCores;
    if ((switches & concerned) == 0 || (power_fail_ & kFailCountMask) == 0)
        return false;
    --power_fail_;
    return true;
}

void BoardControl::set_power(uint32_t value) {
    const uint32_t rising = value & ~power_;
    if (rising != 0 && refuses(rising))
        value &= power_;
    const uint32_t falling = power_ & ~value;
    if ((falling & 1U) != 0 && rate_ > kSafeRate)
        violation(fmt::format("K13: power of core 0 cut at a clock of {} Hz", rate_));
    power_ = value;
    // What loses power loses its state; a running job ends.
    npu_.assert_reset(falling & ~held(resets_), true);
    npu_.assert_reset(falling & ~held(resets_), false);
}

void BoardControl::set_rate(uint32_t hz) {
    if (hz > kSafeRate && (power_ & 1U) == 0)
        violation(fmt::format("K13: clock raised to {} Hz while core 0's domain is off", hz));
    if (supply_ != 0 && supply_ < needed_microvolts(hz))
        violation(fmt::format("K13: clock set to {} Hz at {} uV", hz, supply_));
    rate_ = hz;
}

void BoardControl::set_supply(uint32_t microvolts) {
    if (supply_ == 0 && microvolts != 0 && refuses(kSupplySwitch))
        return;
    if (microvolts != 0 && microvolts < needed_microvolts(rate_))
        violation(fmt::format("K13: supply set to {} uV at a clock of {} Hz", microvolts, rate_));
    if (microvolts == 0 && power_ != 0)
        violation("K14: supply cut while a power domain is on");
    supply_ = microvolts;
}

void BoardControl::write_resets(uint32_t value) {
    const uint32_t before = held(resets_);
    const uint32_t after = held(value);
    resets_ = value;
    npu_.assert_reset(after & ~before, true);
    npu_.assert_reset(before & ~after, false);
}

bool BoardControl::check_access(unsigned core, uint32_t offset) {
    if ((power_ >> core & 1U) != 0 && clock_on_ != 0 && supply_ != 0)
        return true;
    const char* missing = supply_ == 0 ? "supply" : clock_on_ == 0 ? "clock" : "power";
    violation(
        fmt::format("K14: register 0x{:04x} of core {} touched without {}", offset, core, missing));
    return false;
}

}  // namespace rknpusim
