// SPDX-License-Identifier: MIT
// A level-triggered interrupt line over an eventfd.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "os.hpp"

namespace rknpusim {

/// QEMU takes a signal as "line up", drops the line at the next access to the function's BARs and
/// then asks to unmask; the line must be signalled again when it is still up. Doing that at once
/// gives spurious interrupts, because the guest's handler is about to clear the cause: it is done
/// when a write leaves the cause standing (set_level(true) again) or some ms after the unmask.
class IntxLine {
 public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds kResignalDelay{5};

    /// Any thread. `true` while already up = the guest has seen it and it is still up.
    void set_level(bool level);
    void set_trigger(UniqueFd eventfd);
    void set_masked(bool masked);
    /// Signals whatever the level.
    void fire();

    /// When tick() has something to do.
    [[nodiscard]] std::optional<Clock::time_point> deadline() const;
    void tick(Clock::time_point now);
    [[nodiscard]] uint64_t signals() const;

 private:
    void signal();

    mutable std::mutex mutex_;  // protects all below
    UniqueFd eventfd_;
    bool level_ = false;
    bool masked_ = false;
    bool owed_ = false;  // rose while masked
    std::optional<Clock::time_point> resignal_at_;
    uint64_t signals_ = 0;
};

}  // namespace rknpusim
