// SPDX-License-Identifier: MIT
#include "api/memory.hpp"

#include <unordered_map>
#include <utility>

#include "api/process_table.hpp"
#include "core/bytes.hpp"

namespace rknpu::api {
namespace {

struct Memories {
    std::unordered_map<const rknn_tensor_mem*, std::shared_ptr<Memory>> known;

    /// The driver's objects belong to the parent: freeing them here would take them from it.
    void leave_to_parent() {
        [[maybe_unused]] const auto* leaked = new auto(std::move(known));
        known.clear();
    }
};

using Table = ProcessTable<Memories>::Access;

rknn_tensor_mem* publish(std::shared_ptr<Memory> memory) {
    auto* pointer = &memory->shown;
    memory->size = pointer->size;
    if (pointer->virt_addr != nullptr)
        memory->start = static_cast<std::byte*>(pointer->virt_addr) + pointer->offset;
    pointer->priv_data = memory.get();
    const Table all;
    all->known.emplace(pointer, std::move(memory));
    return pointer;
}

/// Buffer of somebody else, known by the address the NPU has for it.
class ForeignMemory final : public DeviceMemory {
 public:
    ForeignMemory(uint64_t address, std::span<std::byte> bytes) {
        device_address_ = address;
        bytes_ = bytes;
        size_ = bytes.size();
        cacheable_ = false;
    }
    int fd() override { return -1; }
};

/// An object of ours that holds [address, address + size).
std::shared_ptr<Memory> find_by_address(uint64_t address, uint64_t size) {
    const Table all;
    for (const auto& [pointer, memory] : all->known) {
        const uint64_t start = memory->memory->device_address();
        if (address >= start && range_inside(address - start, size, memory->memory->size()))
            return memory;
    }
    return nullptr;
}

}  // namespace

std::span<std::byte> Memory::bytes() const {
    if (start == nullptr)
        return {};
    return {start, static_cast<size_t>(size)};
}

Result<rknn_tensor_mem*> create_memory(std::shared_ptr<Device> device, uint64_t size,
                                       uint64_t flags) {
    if (size == 0 || size > UINT32_MAX)
        return Status::failure(Error::kInvalidArgument, "cannot allocate {} bytes", size);
    MemoryRequest request;
    request.size = size;
    request.cacheable = (flags & RKNN_FLAG_MEMORY_NON_CACHEABLE) == 0;
    request.try_sram = (flags & RKNN_FLAG_MEMORY_TRY_ALLOC_SRAM) != 0;
    auto allocated = device->allocate(request);
    if (!allocated.ok())
        return allocated.status();
    auto memory = std::make_shared<Memory>();
    memory->memory = std::move(allocated).value();
    memory->device = std::move(device);
    auto& shown = memory->shown;
    shown.virt_addr = memory->memory->bytes().data();
    shown.phys_addr = memory->memory->device_address();
    shown.fd = memory->memory->fd();
    shown.size = static_cast<uint32_t>(size);
    shown.flags = RKNN_TENSOR_MEMORY_FLAGS_ALLOC_INSIDE;
    return publish(std::move(memory));
}

Result<rknn_tensor_mem*> wrap_fd(std::shared_ptr<Device> device, int32_t fd, void* virt,
                                 uint32_t size, int32_t offset) {
    if (fd < 0 || offset < 0 || size == 0)
        return Status::failure(Error::kInvalidArgument, "fd {}, size {}, offset {}", fd, size,
                               offset);
    auto imported = device->import(fd);
    if (!imported.ok())
        return imported.status();
    if (!range_inside(static_cast<uint64_t>(offset), size, imported.value()->size()))
        return Status::failure(Error::kInvalidArgument,
                               "{} bytes at offset {} do not lie in the {} bytes of fd {}", size,
                               offset, imported.value()->size(), fd);
    auto memory = std::make_shared<Memory>();
    memory->memory = std::move(imported).value();
    memory->device = std::move(device);
    memory->offset = static_cast<uint64_t>(offset);
    auto& shown = memory->shown;
    shown.virt_addr = virt;
    shown.phys_addr = memory->memory->device_address();
    shown.fd = fd;
    shown.offset = offset;
    shown.size = size;
    shown.flags = RKNN_TENSOR_MEMORY_FLAGS_FROM_FD;
    // A caller who has mapped nothing does not hinder the runtime from converting there.
    if (const auto bytes = memory->memory->bytes(); virt == nullptr && !bytes.empty())
        memory->start = bytes.data() + offset;
    return publish(std::move(memory));
}

Result<rknn_tensor_mem*> wrap_phys(std::shared_ptr<Device> device, uint64_t phys, void* virt,
                                   uint32_t size) {
    if (size == 0 || phys == 0)
        return Status::failure(Error::kInvalidArgument, "address {:#x}, size {}", phys, size);
    const auto owner = find_by_address(phys, size);
    if (owner == nullptr && virt == nullptr)
        return Status::failure(Error::kInvalidArgument,
                               "address {:#x} is in no memory of this library and has no mapping; "
                               "use rknn_create_mem_from_fd",
                               phys);
    auto memory = std::make_shared<Memory>();
    memory->device = std::move(device);
    if (owner != nullptr) {
        memory->memory = owner->memory;
        memory->offset = phys - owner->memory->device_address();
    } else {
        memory->memory =
            std::make_shared<ForeignMemory>(phys, std::span(static_cast<std::byte*>(virt), size));
    }
    auto& shown = memory->shown;
    shown.virt_addr = virt != nullptr ? virt : memory->memory->bytes().data() + memory->offset;
    shown.phys_addr = phys;
    shown.fd = -1;
    shown.size = size;
    shown.flags = RKNN_TENSOR_MEMORY_FLAGS_FROM_PHYS;
    return publish(std::move(memory));
}

Result<std::shared_ptr<Memory>> find_memory(const rknn_tensor_mem* pointer) {
    const Table all;
    const auto found = all->known.find(pointer);
    if (found == all->known.end())
        return Status::failure(Error::kInvalidArgument,
                               "memory {} was not made by this library, or is destroyed already",
                               static_cast<const void*>(pointer));
    return found->second;
}

void lend_memory(const rknn_tensor_mem* pointer, std::shared_ptr<Memory> memory) {
    const Table all;
    all->known.emplace(pointer, std::move(memory));
}

void take_back_memory(const rknn_tensor_mem* pointer) {
    const Table all;
    all->known.erase(pointer);
}

Status destroy_memory(rknn_tensor_mem* pointer) {
    std::shared_ptr<Memory> memory;
    {
        const Table all;
        const auto found = all->known.find(pointer);
        if (found != all->known.end()) {
            if (&found->second->shown != pointer)
                return Status{Error::kInvalidArgument,
                              "the memory belongs to an operand of a custom operator"};
            memory = std::move(found->second);
            all->known.erase(found);
        }
    }
    if (memory == nullptr)
        return Status::failure(Error::kInvalidArgument,
                               "memory {} was not made by this library, or is destroyed already",
                               static_cast<const void*>(pointer));
    return {};
}

Status sync_memory(const rknn_tensor_mem* pointer, rknn_mem_sync_mode mode) {
    auto memory = find_memory(pointer);
    if (!memory.ok())
        return memory.status();
    if (mode < RKNN_MEMORY_SYNC_TO_DEVICE || mode > RKNN_MEMORY_SYNC_BIDIRECTIONAL)
        return Status::failure(Error::kInvalidArgument, "unknown sync mode {}",
                               static_cast<int>(mode));
    const auto& object = *memory.value();
    return object.device->sync(*object.memory, object.offset, object.size,
                               static_cast<SyncDirection>(mode));
}

size_t live_memories() {
    const Table all;
    return all->known.size();
}

}  // namespace rknpu::api
