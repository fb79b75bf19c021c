// SPDX-License-Identifier: MIT
#include "core/log.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace rknpu {
namespace {

int level_from_environment() {
    const char* text = std::getenv("RKNN_LOG_LEVEL");
    int level = 0;
    if (text != nullptr)
        std::from_chars(text, text + std::strlen(text), level);
    return std::clamp(level, 0, 5);
}

std::atomic<int>& level_storage() {
    static std::atomic<int> level{level_from_environment()};
    return level;
}

char letter(LogLevel level) {
    static constexpr char kLetters[] = {'E', 'W', 'I', 'D', 'D', 'D'};
    return kLetters[static_cast<int>(level)];
}

}  // namespace

LogLevel log_level() {
    return static_cast<LogLevel>(level_storage().load(std::memory_order_relaxed));
}

void set_log_level(LogLevel level) {
    level_storage().store(static_cast<int>(level), std::memory_order_relaxed);
}

void log_line(LogLevel level, std::string_view text) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    tm local{};
    localtime_r(&now.tv_sec, &local);
    const auto line =
        fmt::format("{} RKNN: [{:02}:{:02}:{:02}.{:03}] {}\n", letter(level), local.tm_hour,
                    local.tm_min, local.tm_sec, now.tv_nsec / 1000000, text);
    std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace rknpu
