// SPDX-License-Identifier: MIT
// Registers that exist only on the emulated board: page 0xe000 of core 0's window lets a test in
// the guest arm faults and drive power and clock; 0xf000 is the reset controller.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "npusim/npu.hpp"

namespace rknpusim {

inline constexpr uint32_t kControlPage = 0xe000;

enum ControlRegister : uint32_t {
    kControlId = 0xe000,          ///< RO 0x534b5052
    kControlFault = 0xe010,       ///< 7:0 FaultKind, 15:8 core or 0xff for all
    kControlValue = 0xe014,       ///< the rule's value
    kControlJobs = 0xe018,        ///< write n: armed for the next n jobs; write 0: all disarmed
    kControlPower = 0xe020,       ///< bit n: power domain of core n; reads the state
    kControlClockRate = 0xe024,   ///< Hz
    kControlClockOn = 0xe028,     ///< bit 0
    kControlPowerFail = 0xe02c,   ///< 15:0 n: the next n switch-on attempts have no effect (K8);
                                  ///< 19:16 of these: domains 0..2, supply; 0 = all domains
    kControlViolations = 0xe030,  ///< count of K13 and K14 violations; write clears
    kControlSupply = 0xe034,      ///< microvolts, 0 = off
    kControlLiveStart = 0xe040,   ///< device address of a buffer
    kControlLiveSize = 0xe044,    ///< its bytes
    kControlLive = 0xe048,      ///< write 1: add the buffer, 2: remove it, 0: check off, none left
    kControlStray = 0xe04c,     ///< RO data accesses outside the live buffers so far
    kControlCounters = 0xe100,  ///< RO of core 0: jobs tasks reads writes interrupts mmu_reads
                                ///< mmu_writes faults
    kResetRegister = 0xf000,    ///< bit n: A reset, bit 8 + n: H reset of core n
};
inline constexpr uint32_t kControlIdValue = 0x534b5052;
inline constexpr uint32_t kControlCountersStride = 0x20;  ///< from one core to the next

/// Power, supply and clock are on and the rate is 200 MHz until the guest says otherwise, as the
/// boot loader leaves them; a guest that never touches them never sees a violation.
class BoardControl {
 public:
    using Log = std::function<void(std::string line)>;

    BoardControl(npusim::Npu& npu, Log log);

    /// True when the offset of core 0's window belongs to the board.
    [[nodiscard]] static bool owns(uint32_t offset);
    [[nodiscard]] uint32_t read(uint32_t offset) const;
    void write(uint32_t offset, uint32_t value);

    /// K14: false (and a violation) when a core's registers are touched without power or clock.
    [[nodiscard]] bool check_access(unsigned core, uint32_t offset);

    void reset();
    [[nodiscard]] uint64_t total_violations() const { return total_violations_; }

 private:
    [[nodiscard]] uint32_t read_counter(uint32_t offset) const;
    void change_live(uint32_t command);
    void arm(uint32_t jobs);
    void set_power(uint32_t value);
    void set_rate(uint32_t hz);
    void set_supply(uint32_t microvolts);
    [[nodiscard]] bool refuses(uint32_t switches);
    void write_resets(uint32_t value);
    void violation(std::string line);

    npusim::Npu& npu_;
    Log log_;
    uint32_t fault_ = 0;
    uint32_t fault_value_ = 0;
    uint32_t power_ = 0;
    uint32_t rate_ = 0;
    uint32_t supply_ = 0;
    uint32_t clock_on_ = 1;
    uint32_t power_fail_ = 0;
    uint32_t resets_ = 0;
    uint32_t live_start_ = 0;
    uint32_t live_size_ = 0;
    std::vector<npusim::DmaRange> live_;
    uint64_t violations_ = 0;
    uint64_t total_violations_ = 0;
};

}  // namespace rknpusim
