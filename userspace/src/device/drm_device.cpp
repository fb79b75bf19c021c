// SPDX-License-Identifier: MIT
#include "device/drm_device.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <sys/mman.h>
#include <xf86drm.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "../../../uapi/rknpu_drm.h"
#include "core/log.hpp"
#include "core/unique_fd.hpp"
#include "device/addressable.hpp"
#include "device/fence.hpp"

namespace rknpu {
namespace {

/// Folder of the nodes; RKNPU_DRI names another one.
std::string node_directory() {
    const char* text = std::getenv("RKNPU_DRI");
    return text == nullptr || *text == '\0' ? "/dev/dri" : text;
}

constexpr uint32_t kOldestDriver = 700;  // 0.7.0, the oldest one with this interface
/// Version registers of RK3588 and RK3576 alike; the chip's name comes from the device tree.
constexpr uint32_t kHwVersionRk3588 = 0x46495245;

/// How the CPU's caches are kept in step with memory.
enum class Sync {
    kNever,   ///< the mapping is not cached
    kDriver,  ///< made here: MEM_SYNC
    kDmaBuf,  ///< made elsewhere: whoever made it knows, behind DMA_BUF_IOCTL_SYNC
};

/// A GEM handle. An import of a buffer this file knows already gives its old handle again.
struct Handle {
    unsigned users = 0;
    Sync sync = Sync::kDmaBuf;
};

struct Shared {
    UniqueFd fd;
    std::mutex mutex;  // protects handles
    std::unordered_map<uint32_t, Handle> handles;
    std::atomic<uint64_t> submits{0}, syncs{0}, synced_bytes{0}, allocations{0}, live_bytes{0};
};

class DrmMemory final : public DeviceMemory {
 public:
    /// Takes over one use of the handle, which the caller has counted.
    DrmMemory(std::shared_ptr<Shared> shared, const rknpu_mem_create& made, uint64_t size,
              bool imported, Sync sync)
        : shared_(std::move(shared)),
          handle_(made.handle),
          token_(made.obj_addr),
          imported_(imported),
          sync_(sync) {
        device_address_ = made.dma_addr;
        size_ = size;
        sram_size_ = made.sram_size;
        cacheable_ = sync != Sync::kNever;
        if (!imported_)
            shared_->live_bytes += size_;
    }

    ~DrmMemory() override {
        if (!bytes_.empty())
            munmap(bytes_.data(), bytes_.size());
        release_handle();
        if (!imported_)
            shared_->live_bytes -= size_;
    }

    Status map() {
        rknpu_mem_map request{};
        request.handle = handle_;
        if (drmIoctl(shared_->fd.get(), DRM_IOCTL_RKNPU_MEM_MAP, &request) != 0)
            return Status::failure(Error::kFail, "failed to get map offset: {}",
                                   std::strerror(errno));
        static_assert(sizeof(off_t) == sizeof(request.offset), "see cmake/RknpuTargets.cmake");
        return map_from(shared_->fd.get(), static_cast<off_t>(request.offset));
    }

    /// The driver maps no buffers of others, but they map themselves. Some cannot: then there is no
    /// view, which only those miss who need it.
    void map_import(int dmabuf) {
        export_.reset(fcntl(dmabuf, F_DUPFD_CLOEXEC, 0));
        if (auto status = map_from(export_.get(), 0); !status.ok())
            log(LogLevel::kInfo, "dma-buf {}: {}", dmabuf, status.text());
    }

    int fd() override {
        if (!export_.valid()) {
            int fd = -1;
            if (drmPrimeHandleToFD(shared_->fd.get(), handle_, DRM_CLOEXEC | DRM_RDWR, &fd) == 0)
                export_.reset(fd);
        }
        return export_.get();
    }

    uint64_t token() const { return token_; }

    Status sync(uint64_t offset, uint64_t length, SyncDirection direction) const {
        return sync_ == Sync::kDmaBuf ? sync_dmabuf(direction)
                                      : sync_range(offset, length, direction);
    }

 private:
    Status map_from(int fd, off_t offset) {
        if (!addressable(size_))
            return Status::failure(Error::kNoMemory, "{} bytes are too many for a 32-bit program",
                                   size_);
        void* start = mmap(nullptr, static_cast<size_t>(size_), PROT_READ | PROT_WRITE, MAP_SHARED,
                           fd, offset);
        if (start == MAP_FAILED)
            return Status::failure(Error::kNoMemory, "cannot map {} bytes of NPU memory: {}", size_,
                                   std::strerror(errno));
        bytes_ = {static_cast<std::byte*>(start), static_cast<size_t>(size_)};
        return {};
    }

    /// The last user of a handle closes it.
    void release_handle() {
        const std::lock_guard lock(shared_->mutex);
        if (--shared_->handles[handle_].users != 0)
            return;
        shared_->handles.erase(handle_);
        rknpu_mem_destroy destroy{};
        destroy.handle = handle_;
        destroy.obj_addr = token_;
        drmIoctl(shared_->fd.get(), DRM_IOCTL_RKNPU_MEM_DESTROY, &destroy);
    }

    Status sync_range(uint64_t offset, uint64_t length, SyncDirection direction) const {
        rknpu_mem_sync request{};
        request.flags = static_cast<uint32_t>(direction);
        request.obj_addr = token_;
        request.offset = offset;
        request.size = length;
        if (drmIoctl(shared_->fd.get(), DRM_IOCTL_RKNPU_MEM_SYNC, &request) == 0)
            return {};
        return Status::failure(Error::kFail, "failed to sync memory, offset {}, size {}: {}",
                               offset, length, std::strerror(errno));
    }

    /// Knows no ranges. An access is opened and closed again: some exporters want it in this order.
    /// Closing one that wrote empties the cache, opening one that reads drops what it has.
    Status sync_dmabuf(SyncDirection direction) const {
        const auto call = [this](uint64_t flags) {
            dma_buf_sync request{flags};
            return drmIoctl(export_.get(), DMA_BUF_IOCTL_SYNC, &request) == 0;
        };
        const auto access = [&](uint64_t kind) {
            return call(DMA_BUF_SYNC_START | kind) && call(DMA_BUF_SYNC_END | kind);
        };
        const bool done = (direction == SyncDirection::kFromDevice || access(DMA_BUF_SYNC_WRITE)) &&
                          (direction == SyncDirection::kToDevice || access(DMA_BUF_SYNC_READ));
        return done ? Status()
                    : Status::failure(Error::kFail, "failed to sync dma-buf {}: {}", export_.get(),
                                      std::strerror(errno));
    }

    std::shared_ptr<Shared> shared_;
    uint32_t handle_;
    uint64_t token_;
    bool imported_;
    Sync sync_;
    UniqueFd export_;  // of an import: the caller's descriptor once more
};

class DrmDevice final : public Device {
 public:
    DrmDevice(UniqueFd fd, std::string node) : shared_(std::make_shared<Shared>()) {
        shared_->fd = std::move(fd);
        info_.node = std::move(node);
    }

    Status start() {
        uint32_t version = 0;
        if (!action(RKNPU_GET_DRV_VERSION, version) || version < kOldestDriver)
            return Status::failure(Error::kDeviceUnavailable,
                                   "{}: driver version {} is too old, 0.7.0 or newer is needed",
                                   info_.node, version);
        info_.driver_version =
            fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
        uint32_t hardware = 0;
        action(RKNPU_GET_HW_VERSION, hardware);
        identify(hardware);
        uint32_t iommu = 0;
        iommu_ = action(RKNPU_GET_IOMMU_EN, iommu) && iommu != 0;
        return {};
    }

    const DeviceInfo& info() const override { return info_; }

    Result<std::unique_ptr<DeviceMemory>> allocate(const MemoryRequest& request) override {
        rknpu_mem_create create{};
        create.size = request.size;
        create.flags = RKNPU_MEM_IOMMU_LIMIT_IOVA_ALIGNMENT;
        if (iommu_)
            create.flags |= RKNPU_MEM_NON_CONTIGUOUS;
        if (request.cacheable)
            create.flags |= RKNPU_MEM_CACHEABLE;
        if (request.holds_tasks)
            create.flags |= RKNPU_MEM_KERNEL_MAPPING;
        if (request.try_sram) {
            create.flags |= RKNPU_MEM_TRY_ALLOC_SRAM;
            create.sram_size = request.sram_limit;
        }
        create.iommu_domain_id = request.iommu_domain;
        if (drmIoctl(fd(), DRM_IOCTL_RKNPU_MEM_CREATE, &create) != 0)
            return Status::failure(errno == EINVAL ? Error::kInvalidArgument : Error::kNoMemory,
                                   "cannot allocate {} bytes of NPU memory: {}", request.size,
                                   std::strerror(errno));
        if (!request.try_sram)
            create.sram_size = 0;
        const auto kind = request.cacheable ? Sync::kDriver : Sync::kNever;
        {
            const std::lock_guard lock(shared_->mutex);
            shared_->handles[create.handle] = {1, kind};
        }
        auto memory = std::make_unique<DrmMemory>(shared_, create, request.size, false, kind);
        if (auto status = memory->map(); !status.ok())
            return status;
        ++shared_->allocations;
        return std::unique_ptr<DeviceMemory>(std::move(memory));
    }

    Result<std::unique_ptr<DeviceMemory>> import(int dmabuf) override {
        rknpu_mem_create create{};
        Sync kind = Sync::kDmaBuf;
        {
            const std::lock_guard lock(shared_->mutex);
            if (drmPrimeFDToHandle(fd(), dmabuf, &create.handle) != 0)
                return Status::failure(Error::kInvalidArgument,
                                       "cannot import fd {} as a dma-buf: {}", dmabuf,
                                       std::strerror(errno));
            auto& handle = shared_->handles[create.handle];
            ++handle.users;
            kind = handle.sync;
        }
        const int failed = drmIoctl(fd(), DRM_IOCTL_RKNPU_MEM_CREATE, &create) != 0 ? errno : 0;
        auto memory = std::make_unique<DrmMemory>(shared_, create, create.size, true, kind);
        if (failed != 0)
            return Status::failure(Error::kFail, "cannot map dma-buf {} for the NPU: {}", dmabuf,
                                   std::strerror(failed));
        memory->map_import(dmabuf);
        return std::unique_ptr<DeviceMemory>(std::move(memory));
    }

    Status sync(const DeviceMemory& memory, uint64_t offset, uint64_t length,
                SyncDirection direction) override {
        if (!memory.cacheable() || length == 0)
            return {};
        if (auto s = static_cast<const DrmMemory&>(memory).sync(offset, length, direction); !s.ok())
            return s;
        ++shared_->syncs;
        shared_->synced_bytes += length;
        return {};
    }

    Result<JobReport> run(const Job& job) override {
        rknpu_submit submit{};
        submit.flags = RKNPU_JOB_PC | RKNPU_JOB_PINGPONG;
        if (job.nonblocking)
            submit.flags |= RKNPU_JOB_NONBLOCK | RKNPU_JOB_FENCE_OUT;
        submit.fence_fd = -1;
        if (job.in_fence >= 0) {
            submit.flags |= RKNPU_JOB_FENCE_IN;
            submit.fence_fd = job.in_fence;
        }
        submit.timeout = job.timeout_ms;
        submit.priority = job.priority;
        submit.task_obj_addr = static_cast<const DrmMemory&>(*job.tasks).token();
        submit.iommu_domain_id = static_cast<uint32_t>(job.iommu_domain);
        submit.core_mask = job.core_mask;
        for (size_t i = 0; i < job.ranges.size(); ++i) {
            submit.subcore_task[i] = {job.ranges[i].first, job.ranges[i].count};
            submit.task_number += job.ranges[i].count;
        }
        // Chips with one core look at these two instead.
        submit.task_start = job.ranges[0].first;
        if (info_.cores == 1)
            submit.task_number = job.ranges[0].count;
        ++shared_->submits;
        if (drmIoctl(fd(), DRM_IOCTL_RKNPU_SUBMIT, &submit) != 0) {
            const int reason = errno;
            // Drivers without fences know these flags as nothing else but wrong.
            if (job.nonblocking && (reason == EINVAL || reason == EOPNOTSUPP))
                fences_ = false;
            return submit_failed(submit, reason);
        }
        JobReport report;
        report.core_mask = submit.core_mask;
        report.hw_time_ns = static_cast<uint64_t>(std::max<int64_t>(submit.hw_elapse_time, 0));
        report.out_fence = job.nonblocking ? submit.fence_fd : -1;
        return report;
    }

    bool has_fences() const override { return fences_; }

    Status wait_fence(int fence, int timeout_ms) override {
        return wait_sync_file(fence, timeout_ms);
    }

    SramState sram() const override {
        uint32_t total = 0;
        uint32_t free = 0;
        action(RKNPU_GET_TOTAL_SRAM_SIZE, total);
        action(RKNPU_GET_FREE_SRAM_SIZE, free);
        return {total, free};
    }

    DeviceCounters counters() const override {
        return {shared_->submits, shared_->syncs, shared_->synced_bytes, shared_->allocations,
                shared_->live_bytes};
    }

 private:
    int fd() const { return shared_->fd.get(); }

    bool action(uint32_t code, uint32_t& value) const {
        rknpu_action request{};
        request.flags = code;
        if (drmIoctl(fd(), DRM_IOCTL_RKNPU_ACTION, &request) != 0)
            return false;
        value = request.value;
        return true;
    }

    /// Device trees name the chip in the last strings of the root's compatible list.
    void identify(uint32_t hardware) {
        info_.soc = hardware == kHwVersionRk3588 ? "rk3588" : "rk3566";
        std::string text(256, '\0');
        const UniqueFd file(::open("/proc/device-tree/compatible", O_RDONLY | O_CLOEXEC));
        const auto length = file.valid() ? ::read(file.get(), text.data(), text.size()) : -1;
        text.resize(static_cast<size_t>(std::max<ssize_t>(length, 0)));
        for (const char* name : {"rk3588", "rk3576", "rk3568", "rk3566", "rk3562"}) {
            if (text.find(std::string("rockchip,") + name) != std::string::npos) {
                info_.soc = name;
                break;
            }
        }
        info_.cores = info_.soc == "rk3588" ? 3 : info_.soc == "rk3576" ? 2 : 1;
    }

    static Status submit_failed(const rknpu_submit& submit, int reason) {
        const auto kind = reason == ETIMEDOUT ? Error::kTimeout : Error::kFail;
        return Status::failure(kind,
                               "failed to submit!, flags: {:#x}, task start: {}, task number: {}, "
                               "run task counter: {}, core mask: {:#x}: {}",
                               submit.flags, submit.task_start, submit.task_number,
                               submit.task_counter, submit.core_mask, std::strerror(reason));
    }

    std::shared_ptr<Shared> shared_;
    DeviceInfo info_;
    bool iommu_ = false;
    std::atomic<bool> fences_{true};
};

bool is_rknpu(int fd) {
    drmVersionPtr version = drmGetVersion(fd);
    if (version == nullptr)
        return false;
    const bool match = std::strcmp(version->name, "rknpu") == 0;
    drmFreeVersion(version);
    return match;
}

/// Render nodes first: they need fewer rights.
std::vector<std::string> list_nodes() {
    std::vector<std::string> render;
    std::vector<std::string> primary;
    const auto folder = node_directory();
    if (DIR* directory = opendir(folder.c_str())) {
        while (const dirent* entry = readdir(directory)) {
            const std::string_view name = entry->d_name;
            if (name.starts_with("renderD"))
                render.emplace_back(fmt::format("{}/{}", folder, name));
            else if (name.starts_with("card"))
                primary.emplace_back(fmt::format("{}/{}", folder, name));
        }
        closedir(directory);
    }
    std::sort(render.begin(), render.end());
    std::sort(primary.begin(), primary.end());
    render.insert(render.end(), primary.begin(), primary.end());
    return render;
}

Status not_found(size_t tried, const std::string& denied) {
    constexpr const char* kSim =
        " To try without a board set RKNPU_DEVICE=sim (NPU model inside the process).";
    if (!denied.empty())
        return Status::failure(Error::kNoPermission,
                               "No permission for {}: add the user to the group that owns it "
                               "(render or video).{}",
                               denied, kSim);
    return Status::failure(
        Error::kDeviceUnavailable,
        "failed to open rknpu module: none of {} nodes in {} belongs to the rknpu "
        "driver. Load it (insmod rknpu.ko).{}",
        tried, node_directory(), kSim);
}

}  // namespace

Result<std::shared_ptr<Device>> open_drm_device() {
    std::string denied;
    const auto nodes = list_nodes();
    for (const auto& node : nodes) {
        UniqueFd fd(open(node.c_str(), O_RDWR | O_CLOEXEC));
        if (!fd.valid()) {
            if (errno == EACCES || errno == EPERM)
                denied += (denied.empty() ? "" : ", ") + node;
            continue;
        }
        if (!is_rknpu(fd.get()))
            continue;
        auto device = std::make_shared<DrmDevice>(std::move(fd), node);
        if (auto status = device->start(); !status.ok())
            return status;
        log(LogLevel::kInfo, "{}: rknpu driver {}, {}", node, device->info().driver_version,
            device->info().soc);
        return std::shared_ptr<Device>(std::move(device));
    }
    return not_found(nodes.size(), denied);
}

}  // namespace rknpu
