// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/status.hpp"

namespace rknpu {

/// `drm`: /dev/dri through uapi/rknpu_drm.h. `sim`: the NPU model inside this process.
enum class DeviceKind { kDrm, kSim };

std::string_view to_string(DeviceKind kind);
std::optional<DeviceKind> device_kind_from(std::string_view text);

/// Kind named by RKNPU_DEVICE, `drm` when unset; an unknown word is an error.
Result<DeviceKind> default_device_kind();

enum class SyncDirection : uint32_t { kToDevice = 1, kFromDevice = 2, kBoth = 3 };

struct MemoryRequest {
    uint64_t size = 0;         ///< bytes, at least 1
    bool cacheable = true;     ///< CPU mapping cached; sync() does something
    bool holds_tasks = false;  ///< task records live here, the driver reads them
    bool try_sram = false;     ///< as much of it as possible in on-chip SRAM
    uint64_t sram_limit = 0;   ///< bytes of SRAM to take at most, 0 = no limit
    int32_t iommu_domain = 0;
};

/// Memory that the CPU and the NPU see. Freed by the destructor, also while the CPU copy is mapped.
class DeviceMemory {
 public:
    virtual ~DeviceMemory() = default;
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    /// The CPU's view; empty for an imported buffer that could not be mapped.
    std::span<std::byte> bytes() const { return bytes_; }
    /// Address of byte 0 as the NPU sees it.
    uint64_t device_address() const { return device_address_; }
    uint64_t size() const { return size_; }
    uint64_t sram_size() const { return sram_size_; }
    bool cacheable() const { return cacheable_; }
    /// A file descriptor of this memory (a dma-buf on real devices), made on the first call and
    /// owned by this object; -1 if it cannot be exported.
    virtual int fd() = 0;

 protected:
    DeviceMemory() = default;
    std::span<std::byte> bytes_;
    uint64_t device_address_ = 0;
    uint64_t size_ = 0;
    uint64_t sram_size_ = 0;
    bool cacheable_ = true;
};

/// Tasks [first, first + count) of a task buffer.
struct TaskRange {
    uint32_t first = 0;
    uint32_t count = 0;
};

struct Job {
    const DeviceMemory* tasks = nullptr;
    uint32_t core_mask = 0;  ///< 0 = any one core, 1, 2, 4, 3 or 7
    /// One core: entries 0..2 alike. Two cores: entries 0 and 1. Three cores: entries 2, 3 and 4.
    std::array<TaskRange, 5> ranges{};
    uint32_t timeout_ms = 6000;
    uint32_t priority = 0;
    int32_t iommu_domain = 0;
    int in_fence = -1;  ///< wait for this sync_file first
    bool nonblocking = false;
};

struct JobReport {
    uint32_t core_mask = 0;   ///< cores that ran it
    uint64_t hw_time_ns = 0;  ///< 0 when unknown
    int out_fence = -1;       ///< nonblocking jobs: descriptor of a fence the caller now owns
};

struct DeviceInfo {
    std::string soc;             ///< "rk3588"
    std::string driver_version;  ///< "0.9.8"
    std::string node;            ///< path, or "sim"
    uint32_t cores = 1;
};

/// What this process has asked of a device since it opened it.
struct DeviceCounters {
    uint64_t submits = 0;
    uint64_t syncs = 0;
    uint64_t synced_bytes = 0;
    uint64_t allocations = 0;
    uint64_t live_bytes = 0;
};

struct SramState {
    uint64_t total = 0;
    uint64_t free = 0;
};

/// The runtime's only door to an NPU. Every function may be called from any thread.
class Device {
 public:
    virtual ~Device() = default;

    /// Opens the device, or returns the one of this kind that is open already.
    /// Errors: kDeviceUnavailable with what was tried and what the user can do.
    static Result<std::shared_ptr<Device>> open(DeviceKind kind);

    /// The same for the kind of default_device_kind().
    static Result<std::shared_ptr<Device>> open_default();

    /// Makes open() return `device` for this kind as long as it lives (tests).
    static void use(DeviceKind kind, const std::shared_ptr<Device>& device);

    virtual const DeviceInfo& info() const = 0;

    virtual Result<std::unique_ptr<DeviceMemory>> allocate(const MemoryRequest& request) = 0;
    /// Makes a dma-buf of someone else visible to the NPU. The caller keeps `fd`.
    virtual Result<std::unique_ptr<DeviceMemory>> import(int fd) = 0;
    /// Cache maintenance of [offset, offset + length).
    virtual Status sync(const DeviceMemory& memory, uint64_t offset, uint64_t length,
                        SyncDirection direction) = 0;

    /// Runs one job. Errors: kTimeout, or kFail with the device's reason.
    virtual Result<JobReport> run(const Job& job) = 0;

    /// False when nonblocking jobs are not possible, as with drivers built without fences.
    virtual bool has_fences() const = 0;
    /// Waits for the job behind a fence, which stays open. Errors: kTimeout when it has not ended
    /// within `timeout_ms`, else what the job ended with; kInvalidArgument for other descriptors.
    virtual Status wait_fence(int fence, int timeout_ms) = 0;

    virtual SramState sram() const = 0;

    virtual DeviceCounters counters() const = 0;
};

}  // namespace rknpu
