// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace rknpu::compiler {

/// One line that names the cause and what to do about it.
struct Error {
    std::string text;
};

/// A value or the reason why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
    Result(T value) : state_(std::move(value)) {}
    Result(Error error) : state_(std::move(error)) {}

    [[nodiscard]] bool ok() const { return std::holds_alternative<T>(state_); }
    explicit operator bool() const { return ok(); }

    /// Only when ok().
    [[nodiscard]] T& value() { return std::get<T>(state_); }
    [[nodiscard]] const T& value() const { return std::get<T>(state_); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    T& operator*() { return value(); }
    const T& operator*() const { return value(); }

    /// Only when not ok().
    [[nodiscard]] const Error& error() const { return std::get<Error>(state_); }

 private:
    std::variant<T, Error> state_;
};

}  // namespace rknpu::compiler
