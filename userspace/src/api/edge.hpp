// SPDX-License-Identifier: MIT
#pragma once

#include <rknn_api.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string_view>

#include "core/log.hpp"
#include "core/status.hpp"

#define RKNN_EXPORT __attribute__((visibility("default")))

namespace rknpu::api {

/// The public code of an error.
int to_code(Error error);

/// One line of the log. Without the memory for it there is none.
inline void complain(const char* function, std::string_view text) noexcept {
    try {
        log(LogLevel::kError, "{}: {}", function, text);
    } catch (const std::exception&) {
        std::fputs("E RKNN: out of memory\n", stderr);
    }
}

/// Runs `body`, which returns a Status; logs a failure under the function's name; no exception
/// leaves.
template <typename Body>
int guarded(const char* function, Body&& body) {
    try {
        const Status status = body();
        if (status.ok())
            return RKNN_SUCC;
        complain(function, status.text());
        return to_code(status.error());
    } catch (const std::bad_alloc&) {
        complain(function, "out of memory");
        return RKNN_ERR_MALLOC_FAIL;
    } catch (const std::exception& error) {
        complain(function, error.what());
        return RKNN_ERR_FAIL;
    }
}

/// The same for functions that return a pointer: NULL on failure.
template <typename Body>
rknn_tensor_mem* guarded_memory(const char* function, Body&& body) {
    rknn_tensor_mem* out = nullptr;
    guarded(function, [&]() -> Status {
        auto result = body();
        if (!result.ok())
            return result.status();
        out = result.value();
        return {};
    });
    return out;
}

}  // namespace rknpu::api
