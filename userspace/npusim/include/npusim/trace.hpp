// SPDX-License-Identifier: MIT
// Job trace as JSON lines, and lint findings as text lines.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "npusim/npu.hpp"
#include "npusim/time_model.hpp"

namespace npusim {

struct TraceOptions {
    bool registers = true;  ///< non-zero registers of the enabled blocks, by name
    bool checksums = true;  ///< CRC-32 of each written range (needs record_ranges)
};

/// Turns events into lines. One object per line, "type" is "task" or "job". Thread safe.
class TraceWriter {
 public:
    using Sink = std::function<void(std::string_view line)>;

    TraceWriter(Sink sink, TraceOptions options) : sink_(std::move(sink)), options_(options) {}

    void task(const TaskEvent& event, const TaskTime& time);
    void job(const JobResult& result);

 private:
    std::mutex mutex_;  // protects the order of lines in sink_
    Sink sink_;
    TraceOptions options_;
};

/// Runs lint_task() on each task and passes every distinct finding on once. Thread safe.
class LintWriter {
 public:
    using Sink = std::function<void(const std::string& line)>;

    LintWriter(Sink sink, RegisterMap map) : sink_(std::move(sink)), map_(map) {}

    void task(const TaskEvent& event);

 private:
    std::mutex mutex_;  // protects seen_ and the order of lines in sink_
    Sink sink_;
    RegisterMap map_;
    std::set<std::string> seen_;
};

/// CRC-32 (IEEE 802.3), as zlib's crc32() computes it.
[[nodiscard]] uint32_t crc32(std::span<const std::byte> data, uint32_t seed = 0);

}  // namespace npusim
