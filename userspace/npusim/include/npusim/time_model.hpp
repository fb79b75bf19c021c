// SPDX-License-Identifier: MIT
// Estimated NPU time of executed tasks. An estimate, not a measurement: the formulas reproduce the
// per-layer "NPU Cycles" and "DDR Cycles" columns that the vendor SDK's manual prints for a
// MobileNet v2 on a three-core chip; what those columns do not cover is left out (see estimate()).
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "npusim/npu.hpp"

namespace npusim {

/// What a task mostly does.
enum class TaskClass : uint8_t { kConv, kDepthwise, kElementwise, kPool };
inline constexpr size_t kTaskClasses = 4;
[[nodiscard]] std::string_view task_class_name(TaskClass kind);

struct TaskTime {
    TaskClass kind = TaskClass::kConv;
    uint64_t compute_cycles = 0;  ///< MAC array; 0 for tasks without convolution, as in the manual
    uint64_t memory_cycles = 0;   ///< bytes moved / bytes per NPU cycle
    [[nodiscard]] uint64_t cycles() const {
        return compute_cycles > memory_cycles ? compute_cycles : memory_cycles;
    }
};

struct TimeModelOptions {
    double bytes_per_cycle = 5.91;  ///< DDR traffic per NPU cycle, from the manual's table
    double clock_hz = 1e9;
};

/// compute = roundup(output pixels, 16) * channel groups * max(4, taps), where a direct convolution
/// has taps = kernel height * width * ceil(input channels / 32) and groups of 32 (8 bit), 16
/// (16 bit float) or 64 (4 bit) output channels, and a depthwise one has taps = kernel height *
/// width and groups of 64 (8 bit) or 32 channels.
/// memory = distinct bytes of the task's ranges, or all bytes moved when ranges are not recorded.
/// Not modelled: SRAM instead of DDR, several cores sharing the DDR, start-up of a task.
[[nodiscard]] TaskTime estimate(const TaskEvent& event, const TimeModelOptions& options);

/// Sums over tasks. Thread safe.
class TimeModel {
 public:
    explicit TimeModel(TimeModelOptions options = {}) : options_(options) {}

    TaskTime add(const TaskEvent& event);
    /// Readable lines: total per core and where the time goes.
    [[nodiscard]] std::vector<std::string> report() const;

 private:
    struct Sum {
        uint64_t tasks = 0;
        uint64_t cycles = 0;
        uint64_t memory_bound = 0;  // cycles of tasks that wait for memory
    };
    using CoreSums = std::array<Sum, kTaskClasses>;

    TimeModelOptions options_;
    mutable std::mutex mutex_;  // protects sums_
    std::array<CoreSums, 3> sums_;
};

}  // namespace npusim
