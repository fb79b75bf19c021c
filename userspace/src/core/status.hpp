// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/core.h>

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace rknpu {

/// Why an operation failed. The API layer maps these to RKNN_ERR_* once.
enum class Error {
    kNone,
    kFail,
    kTimeout,
    kDeviceUnavailable,
    kNoPermission,
    kNoMemory,
    kInvalidArgument,
    kInvalidModel,
    kInvalidContext,
    kInvalidInput,
    kInvalidOutput,
    kDeviceMismatch,
    kPlatformMismatch,
    kUseBuiltIn,  ///< a custom operator's init asked for the built-in one
};

/// Success, or an error with one sentence that names the cause and the cure.
class [[nodiscard]] Status {
 public:
    Status() = default;
    Status(Error error, std::string text) : error_(error), text_(std::move(text)) {}

    template <typename... Args>
    static Status failure(Error error, fmt::format_string<Args...> format, Args&&... args) {
        return {error, fmt::format(format, std::forward<Args>(args)...)};
    }

    bool ok() const { return error_ == Error::kNone; }
    Error error() const { return error_; }
    const std::string& text() const { return text_; }

 private:
    Error error_ = Error::kNone;
    std::string text_;
};

/// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
    Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit on purpose
    Result(Status status) : status_(std::move(status)) { assert(!status_.ok()); }  // NOLINT

    bool ok() const { return value_.has_value(); }
    const Status& status() const { return status_; }
    T& value() & { return *value_; }
    const T& value() const& { return *value_; }
    T&& value() && { return std::move(*value_); }
    T& operator*() & { return *value_; }
    T* operator->() { return &*value_; }

 private:
    std::optional<T> value_;
    Status status_;
};

}  // namespace rknpu
