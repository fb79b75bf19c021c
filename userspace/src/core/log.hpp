// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace rknpu {

/// RKNN_LOG_LEVEL: 0 errors only, 1 adds warnings, 2 information, 3 details and memory tables,
/// 4 a table of layers per run, 5 a dump of every tensor.
enum class LogLevel { kError = 0, kWarning = 1, kInfo = 2, kDebug = 3, kLayers = 4, kDump = 5 };

/// Level taken from RKNN_LOG_LEVEL when the library was first used; unset or unreadable means 0.
LogLevel log_level();

/// Replaces the level for the rest of the process (tools and tests).
void set_log_level(LogLevel level);

inline bool log_enabled(LogLevel level) {
    return level <= log_level();
}

/// One line "E RKNN: [hh:mm:ss.mmm] text" on stderr, whatever the number of threads.
void log_line(LogLevel level, std::string_view text);

template <typename... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
    if (log_enabled(level))
        log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace rknpu
