// SPDX-License-Identifier: MIT
#include "intx.hpp"

#include <unistd.h>

namespace rknpusim {

void IntxLine::signal() {
    masked_ = true;  // until the client unmasks
    owed_ = false;
    resignal_at_.reset();
    const uint64_t one = 1;
    if (eventfd_ && ::write(eventfd_.get(), &one, sizeof(one)) == sizeof(one))
        ++signals_;
}

void IntxLine::set_level(bool level) {
    std::lock_guard lock(mutex_);
    level_ = level;
    if (!level) {
        owed_ = false;
        resignal_at_.reset();
    } else if (masked_) {
        owed_ = true;
    } else if (eventfd_) {
        signal();
    }
}

void IntxLine::set_trigger(UniqueFd eventfd) {
    std::lock_guard lock(mutex_);
    eventfd_ = std::move(eventfd);
    masked_ = false;
    owed_ = false;
    resignal_at_.reset();
    if (eventfd_ && level_)
        signal();
}

void IntxLine::set_masked(bool masked) {
    std::lock_guard lock(mutex_);
    masked_ = masked;
    if (masked || !level_)
        return;
    if (owed_)
        signal();
    else
        resignal_at_ = Clock::now() + kResignalDelay;
}

void IntxLine::fire() {
    std::lock_guard lock(mutex_);
    signal();
}

std::optional<IntxLine::Clock::time_point> IntxLine::deadline() const {
    std::lock_guard lock(mutex_);
    return resignal_at_;
}

void IntxLine::tick(Clock::time_point now) {
    std::lock_guard lock(mutex_);
    if (!resignal_at_ || now < *resignal_at_)
        return;
    resignal_at_.reset();
    if (level_ && !masked_)
        signal();
}

uint64_t IntxLine::signals() const {
    std::lock_guard lock(mutex_);
    return signals_;
}

}  // namespace rknpusim
