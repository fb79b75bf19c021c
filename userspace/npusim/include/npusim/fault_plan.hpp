// SPDX-License-Identifier: MIT
// Faults on demand: which job of which core goes wrong, and how.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace npusim {

enum class FaultKind : uint8_t {
    kHang,         ///< K1: the core stops after `value` tasks and never completes
    kLate,         ///< K2: completion comes `value` ms late
    kDropIrq,      ///< K3: the job ends, the status is set, the line stays low
    kSpuriousIrq,  ///< K4: the line pulses at job start without any status
    kWrongStatus,  ///< K5: `value` appears in the raw status instead of the completion bit
    kPageFault,    ///< K6: accesses to the page of IOVA `value` fault
    kPoison,       ///< K7: the job ends right, later jobs hang until the core is reset
    kLow4G,        ///< K15: page tables and buffers above 4 GiB give bus errors
    kBusError,     ///< accesses to the page of IOVA `value` get no answer from memory
    kDelay,        ///< completion comes 0..`value` us late, drawn per job
};

/// One rule. Text form, as in a plan file or on the command line:
///   kind[:key=value[,key=value...]]
/// kind: a name ("hang") or its number in the fault list ("K1"); keys: core=N or core=any,
/// job=N, job=N-M or job=any (jobs are counted per core from 1), p=0..1 (probability, drawn per
/// job), value=N (see FaultKind; decimal or 0x).
struct FaultRule {
    FaultKind kind = FaultKind::kHang;
    std::optional<unsigned> core;  ///< empty = any core
    uint64_t first_job = 1;
    uint64_t last_job = UINT64_MAX;
    uint64_t value = 0;
    double probability = 1.0;
};

/// Rules that apply to one job, with every random draw already made.
struct JobFaults {
    std::optional<uint32_t> hang_after;
    std::optional<uint32_t> wrong_status;
    std::optional<uint32_t> fault_page;  ///< IOVA, low 12 bits 0
    std::optional<uint32_t> bus_page;    ///< IOVA, low 12 bits 0
    uint64_t delay_us = 0;
    bool drop_irq = false;
    bool spurious_irq = false;
    bool poison = false;
    bool low_4g = false;
};

/// Adds the effect of one rule to `faults`; `random` decides the length of kDelay.
void apply_fault(const FaultRule& rule, uint64_t random, JobFaults& faults);

/// Draws depend only on seed, core, job number and rule, never on timing.
class FaultPlan {
 public:
    FaultPlan() = default;
    explicit FaultPlan(uint64_t seed) : seed_(seed) {}

    void add(const FaultRule& rule) { rules_.push_back(rule); }
    void set_seed(uint64_t seed) { seed_ = seed; }

    /// Random word for rule `index` of a job.
    [[nodiscard]] uint64_t draw(unsigned core, uint64_t job, uint64_t index) const;

    /// Adds the rule written in `text`. Returns an error text, empty on success.
    [[nodiscard]] std::string add(std::string_view text);

    /// Adds one rule per line; '#' starts a comment, "seed=N" sets the seed. Error texts start
    /// with the line number; empty on success.
    [[nodiscard]] std::string add_lines(std::string_view text);

    [[nodiscard]] JobFaults for_job(unsigned core, uint64_t job) const;
    [[nodiscard]] bool empty() const { return rules_.empty(); }
    [[nodiscard]] uint64_t seed() const { return seed_; }

 private:
    uint64_t seed_ = 1;
    std::vector<FaultRule> rules_;
};

}  // namespace npusim
