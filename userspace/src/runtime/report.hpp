// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "core/log.hpp"
#include "runtime/session.hpp"

namespace rknpu {

/// Table of layers of the last run, then operator types ranked by time. Layers have a time of their
/// own when the session runs one job per node; otherwise the first layer of a job shows its time.
std::string layer_table(const Session& session);

/// Table of the internal tensors in memory order of the run, with their share of on-chip memory.
std::string memory_table(const Session& session);

/// Logs memory_table() at level 3.
void log_memory_plan(const Session& session);

/// Logs a text of several lines, one log line each.
void log_text(LogLevel level, std::string_view text);

}  // namespace rknpu
