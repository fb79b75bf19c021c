// SPDX-License-Identifier: MIT
#include "npusim/time_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "npuregs/regs.hpp"

namespace npusim {

namespace {

constexpr uint64_t kPixelStep = 16;
constexpr uint64_t kMinTaps = 4;
constexpr uint64_t kInputLanes = 32;
constexpr uint32_t kDepthwiseMode = 3;
constexpr std::array<std::string_view, kTaskClasses> kClassNames = {"conv", "depthwise",
                                                                    "elementwise", "pool"};

uint64_t ceil_div(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

/// Output channels the MAC array serves at once.
uint64_t group_of(npuregs::Precision precision) {
    switch (precision) {
        case npuregs::Precision::kInt4:
            return 64;
        case npuregs::Precision::kInt8:
            return 32;
        case npuregs::Precision::kFp16:
        case npuregs::Precision::kBf16:
            return 16;
        default:
            return 8;
    }
}

uint64_t conv_cycles(const TaskRegs& regs, TaskClass kind) {
    namespace cna = npuregs::cna;
    const BlockRegs& r = regs.cna;
    const auto precision =
        static_cast<npuregs::Precision>(npuregs::get(cna::kConvCon1InPrecision, r[cna::kConvCon1]));
    const uint32_t size2 = r[cna::kWeightSize2];
    const uint64_t area = static_cast<uint64_t>(npuregs::get(cna::kWeightSize2WeightWidth, size2)) *
                          npuregs::get(cna::kWeightSize2WeightHeight, size2);
    const uint64_t channels = npuregs::get(cna::kDataSize1DatainChannel, r[cna::kDataSize1]);
    const uint64_t pixels =
        ceil_div(npuregs::get(cna::kDataSize3DataoutAtomics, r[cna::kDataSize3]), kPixelStep) *
        kPixelStep;
    const uint64_t group = group_of(precision);
    if (kind == TaskClass::kDepthwise)
        return pixels * ceil_div(channels, 2 * group) * std::max(kMinTaps, area);
    const uint64_t kernels = npuregs::get(cna::kWeightSize2WeightKernels, size2);
    return pixels * ceil_div(kernels, group) *
           std::max(kMinTaps, area * ceil_div(channels, kInputLanes));
}

/// Bytes of the union of the ranges, reads and writes apart.
uint64_t distinct_bytes(std::span<const DmaRange> ranges) {
    uint64_t total = 0;
    for (const Access access : {Access::kRead, Access::kWrite}) {
        std::vector<std::pair<uint64_t, uint64_t>> spans;
        for (const DmaRange& range : ranges)
            if (range.access == access)
                spans.emplace_back(range.iova, range.iova + range.size);
        std::sort(spans.begin(), spans.end());
        uint64_t end = 0;
        for (const auto& [first, last] : spans) {
            if (last <= end)
                continue;
            total += last - std::max(first, end);
            end = last;
        }
    }
    return total;
}

TaskClass classify(const TaskEvent& event) {
    if (event.enable_mask & kEnablePpu)
        return TaskClass::kPool;
    if ((event.enable_mask & kEnableCna) == 0)
        return TaskClass::kElementwise;
    return event.work.depthwise ? TaskClass::kDepthwise : TaskClass::kConv;
}

}  // namespace

std::string_view task_class_name(TaskClass kind) {
    return kClassNames[static_cast<size_t>(kind)];
}

TaskTime estimate(const TaskEvent& event, const TimeModelOptions& options) {
    TaskTime time;
    time.kind = classify(event);
    if (event.enable_mask & kEnableCna) {
        const bool depthwise =
            npuregs::get(npuregs::cna::kConvCon1ConvMode,
                         event.regs.cna[npuregs::cna::kConvCon1]) == kDepthwiseMode;
        time.compute_cycles =
            conv_cycles(event.regs, depthwise ? TaskClass::kDepthwise : TaskClass::kConv);
    }
    const uint64_t bytes = event.ranges.empty() ? event.bytes_read + event.bytes_written
                                                : distinct_bytes(event.ranges);
    time.memory_cycles =
        static_cast<uint64_t>(std::llround(static_cast<double>(bytes) / options.bytes_per_cycle));
    return time;
}

TaskTime TimeModel::add(const TaskEvent& event) {
    const TaskTime time = estimate(event, options_);
    std::lock_guard lock(mutex_);
    Sum& sum = sums_[event.core % sums_.size()][static_cast<size_t>(time.kind)];
    ++sum.tasks;
    sum.cycles += time.cycles();
    if (time.memory_cycles >= time.compute_cycles)
        sum.memory_bound += time.memory_cycles;
    return time;
}

std::vector<std::string> TimeModel::report() const {
    std::lock_guard lock(mutex_);
    std::vector<std::string> lines;
    for (size_t core = 0; core < sums_.size(); ++core) {
        for (size_t kind = 0; kind < kTaskClasses; ++kind) {
            const Sum& sum = sums_[core][kind];
            if (sum.tasks == 0)
                continue;
            char text[160];
            std::snprintf(
                text, sizeof(text),
                "estimate: core %zu %-11s %6llu tasks %10llu cycles %9.3f ms, %3.0f %% of "
                "it waiting for memory",
                core, kClassNames[kind].data(), static_cast<unsigned long long>(sum.tasks),
                static_cast<unsigned long long>(sum.cycles),
                1e3 * static_cast<double>(sum.cycles) / options_.clock_hz,
                sum.cycles == 0 ? 0.0
                                : 100.0 * static_cast<double>(sum.memory_bound) /
                                      static_cast<double>(sum.cycles));
            lines.emplace_back(text);
        }
    }
    return lines;
}

}  // namespace npusim
