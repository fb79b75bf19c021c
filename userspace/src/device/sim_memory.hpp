// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <npusim/memory.hpp>
#include <span>
#include <vector>

#include "core/unique_fd.hpp"
#include "device/device.hpp"

namespace rknpu {

/// The modelled NPU's address space: ranges of 32-bit device addresses backed by memfd mappings,
/// with unmapped space between them so that an access outside a buffer is a bus error.
class SimAddressSpace {
 public:
    /// Not coherent: of cacheable memory the CPU and the NPU have a copy each, and only sync()
    /// carries bytes from one to the other, as where no line of the CPU's cache ever leaves it by
    /// itself (fault K12). A cache line that does leave it hides a missing sync; here none does.
    SimAddressSpace(uint64_t sram_size, bool coherent)
        : coherent_(coherent), sram_total_(sram_size) {}

    [[nodiscard]] bool coherent() const { return coherent_; }
    npusim::PhysicalMemory& memory() { return memory_; }

    /// Reserves and maps; 0 when the 4 GiB are used up.
    uint64_t add(std::span<std::byte> bytes);
    void remove(uint64_t address);

    /// True if [address, address + length) lies in one mapped buffer.
    bool contains(uint64_t address, uint64_t length) const;

    uint64_t take_sram(uint64_t wanted);
    void return_sram(uint64_t size);
    SramState sram() const;

    void count_sync(uint64_t bytes);
    void count_submit();
    DeviceCounters counters() const;

 private:
    const bool coherent_;
    mutable std::mutex mutex_;  // protects everything below except memory_, which has its own
    std::map<uint64_t, uint64_t> ranges_;  // device address -> bytes
    uint64_t sram_total_;
    uint64_t sram_used_ = 0;
    DeviceCounters counters_;
    npusim::RamMemory memory_;
};

/// A buffer of the model: a memfd, so that it has a descriptor like a dma-buf.
class SimMemory final : public DeviceMemory {
 public:
    static Result<std::unique_ptr<DeviceMemory>> create(std::shared_ptr<SimAddressSpace> space,
                                                        const MemoryRequest& request);
    static Result<std::unique_ptr<DeviceMemory>> import(std::shared_ptr<SimAddressSpace> space,
                                                        int fd);
    ~SimMemory() override;

    int fd() override { return fd_.get(); }

    /// [offset, offset + length) must lie inside.
    void sync(uint64_t offset, uint64_t length, SyncDirection direction) const;

 private:
    SimMemory(std::shared_ptr<SimAddressSpace> space, UniqueFd fd);
    Status map(uint64_t size, bool shared);

    std::shared_ptr<SimAddressSpace> space_;
    UniqueFd fd_;
    std::span<std::byte> device_bytes_;      ///< what the NPU sees: bytes_, or memory of its own
    mutable std::vector<std::byte> synced_;  ///< then, what the CPU saw when it was last synced
};

}  // namespace rknpu
