// SPDX-License-Identifier: MIT
// rknn_run and rknn_wait.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "api/context.hpp"
#include "api/dump.hpp"
#include "core/log.hpp"
#include "runtime/report.hpp"

namespace rknpu::api {
namespace {

/// Longer than the driver lets a job run: only a wait that the caller limits ends earlier.
constexpr int kForever = -1;

}  // namespace

Status Context::after_run() {
    if (auto status = convert_bound_outputs(); !status.ok())
        return status;
    has_run_ = true;
    ++frame_;
    if (log_enabled(LogLevel::kLayers))
        log_text(LogLevel::kLayers, layer_table(*session_));
    return {};
}

Status Context::run_now() {
    convert_bound_inputs();
    if (dumps_wanted())
        dump_inputs(*session_);
    if (auto status = session_->run(); !status.ok())
        return status;
    return after_run();
}

Status Context::finish_pending() {
    if (!unreported_.ok())
        return std::exchange(unreported_, {});
    if (pending_.valid())
        return pending_.get();
    if (!started_)
        return {};
    started_ = false;
    auto status = session_->finish();
    return status.ok() ? after_run() : status;
}

/// Ends a run that goes on beside the caller, as something that it uses will change or be read.
/// What became of it is for those to know who ask for its results.
void Context::settle() {
    unreported_ = finish_pending();
}

/// RKNN_FLAG_ASYNC_MASK: rknn_run does not wait, rknn_outputs_get gives what is there already.
bool Context::gives_previous() const {
    return (flags_ & RKNN_FLAG_ASYNC_MASK) != 0 && style_ == Style::kGeneral;
}

/// A run that failed left nothing to keep.
void Context::keep_outputs() {
    previous_frame_ = 0;
    if (!has_run_)
        return;
    has_run_ = false;
    for (auto& port : outputs_) {
        const auto bytes = session_->bytes(port.tensor);
        port.previous.assign(bytes.begin(), bytes.end());
    }
    previous_frame_ = frame_;
}

Status Context::check_run(const rknn_run_extend* extend) const {
    if (style_ == Style::kGeneral || style_ == Style::kUndecided) {
        for (size_t i = 0; i < inputs_.size(); ++i) {
            if (!input_given_[i])
                return Status::failure(Error::kInvalidInput,
                                       "input {} ('{}') was never set, call rknn_inputs_set", i,
                                       tensor_of(inputs_[i]).name);
        }
    }
    const bool outside = (flags_ & (RKNN_FLAG_FENCE_IN_OUTSIDE | RKNN_FLAG_FENCE_OUT_OUTSIDE)) != 0;
    if (outside && extend == nullptr)
        return Status{Error::kInvalidArgument,
                      "extend is NULL, but the context was made for fences from outside"};
    if ((flags_ & RKNN_FLAG_FENCE_OUT_OUTSIDE) != 0 && !session_->can_start())
        return Status{Error::kInvalidArgument,
                      "there is no fence to give out: the model has steps on the CPU, layers are "
                      "measured, or the driver has no fences"};
    for (const auto& port : outputs_) {
        if ((flags_ & RKNN_FLAG_FENCE_OUT_OUTSIDE) != 0 && port.converted)
            return Status::failure(Error::kInvalidArgument,
                                   "the fence would signal before output '{}' is converted: bind "
                                   "it in its native form (RKNN_QUERY_NATIVE_OUTPUT_ATTR)",
                                   tensor_of(port).name);
    }
    return {};
}

/// With fences the NPU goes on alone. Otherwise a thread does what the caller would have waited
/// for.
Status Context::run_later(rknn_run_extend* extend, int in_fence) {
    if (session_->can_start()) {
        // What the host converts has to be there now; what the NPU reads itself, it waits for.
        if (in_fence >= 0 && std::ranges::any_of(inputs_, [](const Port& port) {
                return port.converted.has_value();
            })) {
            if (auto status = device()->wait_fence(in_fence, kForever); !status.ok())
                return status;
            in_fence = -1;
        }
        convert_bound_inputs();
        auto fence = session_->start(in_fence);
        if (fence.ok()) {
            started_ = true;
            if ((flags_ & RKNN_FLAG_FENCE_OUT_OUTSIDE) == 0)
                return {};
            extend->fence_fd = fcntl(fence.value(), F_DUPFD_CLOEXEC, 0);
            return extend->fence_fd >= 0 ? Status()
                                         : Status::failure(Error::kFail, "no descriptor left: {}",
                                                           std::strerror(errno));
        }
        // A driver that turns out to have no fences is asked the other way.
        if (session_->can_start() || (flags_ & RKNN_FLAG_FENCE_OUT_OUTSIDE) != 0)
            return fence.status();
    }
    if (in_fence >= 0) {
        if (auto status = device()->wait_fence(in_fence, kForever); !status.ok())
            return status;
    }
    pending_ = std::async(std::launch::async, [this] { return run_now(); });
    return {};
}

Status Context::run(rknn_run_extend* extend) {
    const std::lock_guard lock(mutex_);
    if (session_ == nullptr)
        return choose(style_);
    if (auto status = finish_pending(); !status.ok())
        return status;
    if (auto status = check_run(extend); !status.ok())
        return status;
    const bool given = (flags_ & RKNN_FLAG_FENCE_IN_OUTSIDE) != 0;
    const int in_fence = given ? extend->fence_fd : -1;
    if (given && in_fence < 0)
        return Status::failure(Error::kInvalidArgument, "invalid fence in fd, fd: {}", in_fence);
    if (extend != nullptr)
        extend->frame_id = frame_ + 1;
    if (gives_previous())
        keep_outputs();
    const bool later = (extend != nullptr && extend->non_block != 0) || gives_previous() ||
                       (flags_ & RKNN_FLAG_FENCE_OUT_OUTSIDE) != 0;
    if (later)
        return run_later(extend, in_fence);
    if (in_fence >= 0) {
        if (auto status = device()->wait_fence(in_fence, kForever); !status.ok())
            return status;
    }
    return run_now();
}

Status Context::wait(const rknn_run_extend* extend) {
    const std::lock_guard lock(mutex_);
    if (session_ == nullptr)
        return choose(style_);
    const int limit = extend == nullptr ? 0 : extend->timeout_ms;
    if (started_ && limit > 0) {
        // After a timeout the run goes on; the caller may wait again.
        if (auto status = session_->wait_started(limit); !status.ok())
            return status;
    } else if (pending_.valid() && limit > 0 &&
               pending_.wait_for(std::chrono::milliseconds(limit)) != std::future_status::ready) {
        return Status::failure(Error::kTimeout, "the run did not end within {} ms", limit);
    }
    return finish_pending();
}

}  // namespace rknpu::api
