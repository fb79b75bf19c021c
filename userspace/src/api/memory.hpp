// SPDX-License-Identifier: MIT
#pragma once

#include <rknn_api.h>

#include <memory>

#include "core/status.hpp"
#include "runtime/runtime.hpp"

namespace rknpu::api {

/// A memory object of the C interface with what stands behind it.
struct Memory {
    /// The caller holds a pointer to this and may write anything into it: nothing is read from it.
    rknn_tensor_mem shown{};
    std::shared_ptr<DeviceMemory> memory;
    std::shared_ptr<Device> device;
    uint64_t offset = 0;         ///< of the object in `memory`
    uint64_t size = 0;           ///< bytes of the object
    std::byte* start = nullptr;  ///< the CPU's view, null without a mapping

    /// The object's bytes as the CPU sees them.
    std::span<std::byte> bytes() const;
};

/// Each returns the pointer for the caller; it is valid until destroy_memory().
Result<rknn_tensor_mem*> create_memory(std::shared_ptr<Device> device, uint64_t size,
                                       uint64_t flags);
Result<rknn_tensor_mem*> wrap_fd(std::shared_ptr<Device> device, int32_t fd, void* virt,
                                 uint32_t size, int32_t offset);
Result<rknn_tensor_mem*> wrap_phys(std::shared_ptr<Device> device, uint64_t phys, void* virt,
                                   uint32_t size);

/// The object behind a pointer. Errors: kInvalidArgument for NULL and for pointers that are none of
/// ours or were destroyed.
Result<std::shared_ptr<Memory>> find_memory(const rknn_tensor_mem* pointer);

/// Lets find_memory() know a structure of ours that a callback gets, until it is taken back.
void lend_memory(const rknn_tensor_mem* pointer, std::shared_ptr<Memory> memory);
void take_back_memory(const rknn_tensor_mem* pointer);

/// Errors: as find_memory(), and for what is lent.
Status destroy_memory(rknn_tensor_mem* pointer);

Status sync_memory(const rknn_tensor_mem* pointer, rknn_mem_sync_mode mode);

/// Number of live memory objects of the process.
size_t live_memories();

}  // namespace rknpu::api
