// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "core/status.hpp"
#include "runtime/runtime.hpp"

namespace rknpu::api {

/// What a handle of the C interface stands for.
class Object {
 public:
    virtual ~Object() = default;
    virtual const std::shared_ptr<Device>& device() const = 0;
};

/// Handles are numbers that are never given out twice, so that a stale one is noticed.
uint64_t register_object(std::shared_ptr<Object> object);

/// The object of a handle. Errors: kInvalidContext for 0, unknown, destroyed handles and for those
/// of a parent process.
Result<std::shared_ptr<Object>> find_object(uint64_t handle);

/// Takes the handle away; the object dies with its last user.
Status drop_object(uint64_t handle);

template <typename T>
Result<std::shared_ptr<T>> find_as(uint64_t handle) {
    auto object = find_object(handle);
    if (!object.ok())
        return object.status();
    auto typed = std::dynamic_pointer_cast<T>(object.value());
    if (typed == nullptr)
        return Status{Error::kInvalidContext, "the context is of another kind"};
    return typed;
}

}  // namespace rknpu::api
