// SPDX-License-Identifier: MIT
#include "device/sim_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/bytes.hpp"
#include "device/addressable.hpp"

namespace rknpu {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLowest = 0x1000'0000;
constexpr uint64_t kHighest = 0xffff'0000;
constexpr uint64_t kGuard = 0x1'0000;  // unmapped space behind every buffer

/// `fd` -1: memory of nobody else. Empty when there is none.
std::span<std::byte> map_memory(uint64_t size, int fd) {
    if (!addressable(size)) {
        errno = ENOMEM;
        return {};
    }
    const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void* start = mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE, flags, fd, 0);
    if (start == MAP_FAILED)
        return {};
    return {static_cast<std::byte*>(start), static_cast<size_t>(size)};
}

}  // namespace

uint64_t SimAddressSpace::add(std::span<std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    uint64_t at = kLowest;
    for (const auto& [address, size] : ranges_) {
        if (address - at >= bytes.size() + kGuard)
            break;
        at = align_up(address + size + kGuard, kPage);
    }
    if (at + bytes.size() > kHighest || !memory_.add(at, bytes))
        return 0;
    ranges_.emplace(at, bytes.size());
    ++counters_.allocations;
    counters_.live_bytes += bytes.size();
    return at;
}

void SimAddressSpace::remove(uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto found = ranges_.find(address);
    if (found == ranges_.end())
        return;
    counters_.live_bytes -= found->second;
    memory_.remove(address);
    ranges_.erase(found);
}

bool SimAddressSpace::contains(uint64_t address, uint64_t length) const {
    const std::lock_guard lock(mutex_);
    auto next = ranges_.upper_bound(address);
    if (next == ranges_.begin())
        return false;
    --next;
    return range_inside(address - next->first, length, next->second);
}

uint64_t SimAddressSpace::take_sram(uint64_t wanted) {
    const std::lock_guard lock(mutex_);
    const uint64_t taken = std::min(align_up(wanted, kPage), sram_total_ - sram_used_);
    sram_used_ += taken;
    return taken;
}

void SimAddressSpace::return_sram(uint64_t size) {
    const std::lock_guard lock(mutex_);
    sram_used_ -= size;
}

SramState SimAddressSpace::sram() const {
    const std::lock_guard lock(mutex_);
    return {sram_total_, sram_total_ - sram_used_};
}

void SimAddressSpace::count_sync(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    ++counters_.syncs;
    counters_.synced_bytes += bytes;
}

void SimAddressSpace::count_submit() {
    const std::lock_guard lock(mutex_);
    ++counters_.submits;
}

DeviceCounters SimAddressSpace::counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
}

SimMemory::SimMemory(std::shared_ptr<SimAddressSpace> space, UniqueFd fd)
    : space_(std::move(space)), fd_(std::move(fd)) {}

SimMemory::~SimMemory() {
    if (device_address_ != 0)
        space_->remove(device_address_);
    if (!device_bytes_.empty() && device_bytes_.data() != bytes_.data())
        munmap(device_bytes_.data(), device_bytes_.size());
    if (!bytes_.empty())
        munmap(bytes_.data(), bytes_.size());
    if (sram_size_ != 0)
        space_->return_sram(sram_size_);
}

Status SimMemory::map(uint64_t size, bool shared) {
    bytes_ = map_memory(size, fd_.get());
    device_bytes_ = shared ? bytes_ : map_memory(size, -1);
    if (bytes_.empty() || device_bytes_.empty())
        return Status::failure(Error::kNoMemory, "cannot map {} bytes: {}", size,
                               std::strerror(errno));
    if (!shared)
        synced_.resize(size);
    size_ = size;
    device_address_ = space_->add(device_bytes_);
    if (device_address_ == 0)
        return Status::failure(Error::kNoMemory,
                               "no device addresses left for {} bytes (4 GiB in all)", size);
    return {};
}

void SimMemory::sync(uint64_t offset, uint64_t length, SyncDirection direction) const {
    if (synced_.empty())
        return;
    for (size_t i = offset; i < offset + length; ++i) {
        // Cleaning writes back what the CPU changed; invalidating drops even that.
        const bool clean = direction != SyncDirection::kFromDevice && bytes_[i] != synced_[i];
        if (clean)
            device_bytes_[i] = bytes_[i];
        if (direction != SyncDirection::kToDevice)
            bytes_[i] = device_bytes_[i];
        synced_[i] = bytes_[i];
    }
}

Result<std::unique_ptr<DeviceMemory>> SimMemory::create(std::shared_ptr<SimAddressSpace> space,
                                                        const MemoryRequest& request) {
    const auto fail = [&](const char* what) {
        return Status::failure(Error::kNoMemory, "cannot allocate {} bytes of NPU memory: {}",
                               request.size, what);
    };
    if (request.size == 0 || request.size > kHighest - kLowest)
        return fail(request.size == 0 ? "size 0" : "more than the 4 GiB the NPU can address");
    UniqueFd fd(memfd_create("rknpu-sim", MFD_CLOEXEC));
    if (!fd.valid())
        return fail(std::strerror(errno));
    // Size rounded up to pages: the driver does the same, and the NPU may read up to there.
    const uint64_t size = align_up(request.size, kPage);
    if (posix_fallocate(fd.get(), 0, static_cast<off_t>(size)) != 0)
        return fail("out of memory");
    std::unique_ptr<SimMemory> memory(new SimMemory(space, std::move(fd)));
    if (auto status = memory->map(size, space->coherent() || !request.cacheable); !status.ok())
        return status;
#ifdef MADV_POPULATE_WRITE
    // The pages are there already; one by one, each would cost a fault when it is first touched.
    // Kernels before 5.14 refuse, which does no harm.
    madvise(memory->bytes_.data(), size, MADV_POPULATE_WRITE);
#endif
    memory->cacheable_ = request.cacheable;
    if (request.try_sram) {
        const uint64_t limit = request.sram_limit == 0 ? size : request.sram_limit;
        memory->sram_size_ = space->take_sram(std::min(limit, size));
    }
    return std::unique_ptr<DeviceMemory>(std::move(memory));
}

Result<std::unique_ptr<DeviceMemory>> SimMemory::import(std::shared_ptr<SimAddressSpace> space,
                                                        int fd) {
    UniqueFd own(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    const off_t size = own.valid() ? lseek(own.get(), 0, SEEK_END) : -1;
    if (size <= 0)
        return Status::failure(Error::kInvalidArgument, "cannot import fd {}: {}", fd,
                               own.valid() ? "it has no size" : std::strerror(errno));
    std::unique_ptr<SimMemory> memory(new SimMemory(std::move(space), std::move(own)));
    if (auto status = memory->map(static_cast<uint64_t>(size), true); !status.ok())
        return status;
    return std::unique_ptr<DeviceMemory>(std::move(memory));
}

}  // namespace rknpu
