// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace rknpu::cpu {

enum class StatusCode : std::uint8_t {
    kOk,
    kUnknownOperator,   // no operator of that name
    kInvalidAttribute,  // attribute missing, of the wrong kind or out of range
    kInvalidShape,      // dimensions that do not fit together
    kInvalidType,       // element type the operator does not take
    kInvalidValue,      // tensor contents out of range (an index, a shape input)
    kNeedsData,         // the output shape depends on an input whose contents are not known yet
    kTooLarge,          // more than kMaxElements elements or more than the address space
    kNoMemory,
};

/// Result of every fallible call of this library. The text names the operator, the cause and,
/// where there is one, the cure; it is empty on success, and success allocates nothing.
class [[nodiscard]] Status {
 public:
    Status() = default;
    Status(StatusCode code, std::string text) : code_(code), text_(std::move(text)) {}

    bool ok() const { return code_ == StatusCode::kOk; }
    StatusCode code() const { return code_; }
    const std::string& text() const { return text_; }

 private:
    StatusCode code_ = StatusCode::kOk;
    std::string text_;
};

namespace detail {
inline void append(std::string& out, std::string_view part) {
    out.append(part);
}
inline void append(std::string& out, const char* part) {
    out.append(part);
}
template <typename T>
requires std::is_arithmetic_v<T>
void append(std::string& out, T part) {
    out.append(std::to_string(part));
}
}  // namespace detail

/// Joins texts and numbers into one message.
template <typename... Parts>
std::string cat(const Parts&... parts) {
    std::string out;
    (detail::append(out, parts), ...);
    return out;
}

}  // namespace rknpu::cpu

/// Returns the status of `expr` from the enclosing function unless it is ok.
#define RKNPU_CPU_TRY(expr)                                       \
    do {                                                          \
        if (::rknpu::cpu::Status status_ = (expr); !status_.ok()) \
            return status_;                                       \
    } while (0)
