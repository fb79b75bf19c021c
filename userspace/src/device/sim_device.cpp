// SPDX-License-Identifier: MIT
// Does what the kernel driver does, with the same register writes, on the model in this process.
#include "device/sim_device.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <bit>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <npusim/npu.hpp>
#include <optional>
#include <thread>

#include "core/bytes.hpp"
#include "core/log.hpp"
#include "core/unique_fd.hpp"
#include "device/fence.hpp"
#include "device/sim_memory.hpp"

namespace rknpu {
namespace {

/// Registers the driver writes, as offsets in a core's window (RK3588 TRM part 1, chapter 36).
namespace pc {
constexpr uint32_t kOperationEnable = 0x08;
constexpr uint32_t kBaseAddress = 0x10;
constexpr uint32_t kRegisterAmounts = 0x14;
constexpr uint32_t kInterruptMask = 0x20;
constexpr uint32_t kInterruptClear = 0x24;
constexpr uint32_t kInterruptStatus = 0x28;
constexpr uint32_t kTaskCon = 0x30;
constexpr uint32_t kTaskDmaBaseAddr = 0x34;
}  // namespace pc
constexpr uint32_t kCnaPointer = 0x1004;
constexpr uint32_t kCorePointer = 0x3004;

constexpr size_t kMaxCores = 3;
constexpr size_t kTaskBytes = 40;  // struct rknpu_task
constexpr uint32_t kTailWords = 4;
constexpr uint32_t kClearAll = 0x1ffff;
constexpr uint32_t kCompletionBits = 0xfff;
constexpr uint32_t kGroupPointer = 0xe;  // ping-pong on in both directions, toggled by use
/// The model computes much slower than the chip, so its time limit is longer.
constexpr unsigned kTimeoutFactor = 100;
constexpr const char* kDriverVersion = "0.9.8";  // whose rules this file follows

struct Task {
    uint32_t int_mask;
    uint32_t amount;
    uint64_t address;
};

/// Offsets as in struct rknpu_task.
Task load_task(std::span<const std::byte> bytes, uint32_t index) {
    const size_t at = index * kTaskBytes;
    return {load<uint32_t>(bytes, at + 12), load<uint32_t>(bytes, at + 24),
            load<uint64_t>(bytes, at + 32)};
}

/// What one core has to do for a job.
struct Work {
    unsigned core = 0;
    TaskRange range;
};

/// One entry for each core of a job.
class Works {
 public:
    void clear() { count_ = 0; }
    bool empty() const { return count_ == 0; }
    void push_back(const Work& work) { items_[count_++] = work; }
    Work* begin() { return items_.data(); }
    Work* end() { return items_.data() + count_; }

 private:
    std::array<Work, kMaxCores> items_;
    size_t count_ = 0;
};

/// Job results travel through the fence: one byte for the error, then its text. Readers only peek,
/// so that every copy of the descriptor sees them.
constexpr size_t kFenceBytes = 512;

void signal(int fence, const Status& status) {
    std::string message(1, static_cast<char>(status.error()));
    message += status.text().substr(0, kFenceBytes - 1);
    [[maybe_unused]] const auto sent = send(fence, message.data(), message.size(), MSG_NOSIGNAL);
}

class SimDevice final : public Device {
 public:
    SimDevice(const npusim::SocConfig& soc, unsigned threads, bool coherent)
        : soc_(soc),
          space_(std::make_shared<SimAddressSpace>(soc.sram_size, coherent)),
          npu_(soc, space_->memory(), options(threads)) {
        info_.soc = std::string(soc.name);
        info_.driver_version = kDriverVersion;
        info_.node = "sim";
        info_.cores = soc.cores;
        npu_.set_job_handler([this](const npusim::JobResult& result) {
            const std::lock_guard lock(mutex_);
            cores_[result.core].result = result;
            changed_.notify_all();
        });
        npu_.set_irq_handler([this](unsigned core, bool level) {
            const std::lock_guard lock(mutex_);
            cores_[core].interrupt = level;
            changed_.notify_all();
        });
    }

    const DeviceInfo& info() const override { return info_; }

    Result<std::unique_ptr<DeviceMemory>> allocate(const MemoryRequest& request) override {
        return SimMemory::create(space_, request);
    }

    Result<std::unique_ptr<DeviceMemory>> import(int fd) override {
        return SimMemory::import(space_, fd);
    }

    Status sync(const DeviceMemory& memory, uint64_t offset, uint64_t length,
                SyncDirection direction) override {
        if (!memory.cacheable() || length == 0)
            return {};
        if (!range_inside(offset, length, memory.size()))
            return Status::failure(Error::kFail,
                                   "failed to sync memory: offset {} and size {} of {} bytes",
                                   offset, length, memory.size());
        space_->count_sync(length);
        static_cast<const SimMemory&>(memory).sync(offset, length, direction);
        return {};
    }

    ~SimDevice() override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return running_ == 0; });
    }

    Result<JobReport> run(const Job& job) override {
        if (auto status = check(job); !status.ok())
            return status;
        if (job.in_fence >= 0 && !is_open(job.in_fence))
            return refuse("invalid fence in fd");
        space_->count_submit();
        if (job.nonblocking)
            return start(job);
        if (job.in_fence >= 0) {
            if (auto status = wait_fence(job.in_fence, -1); !status.ok())
                return status;
        }
        return execute(job);
    }

    bool has_fences() const override { return true; }

    Status wait_fence(int fence, int timeout_ms) override {
        if (auto status = wait_readable(fence, timeout_ms); !status.ok())
            return status;
        std::array<char, kFenceBytes> message;
        const auto size = recv(fence, message.data(), message.size(), MSG_PEEK | MSG_DONTWAIT);
        if (size < 1)
            return Status::failure(Error::kInvalidArgument, "descriptor {} is no fence", fence);
        const auto error = static_cast<Error>(message[0]);
        if (error == Error::kNone)
            return {};
        return {error, std::string(message.data() + 1, static_cast<size_t>(size) - 1)};
    }

    SramState sram() const override { return space_->sram(); }

    DeviceCounters counters() const override { return space_->counters(); }

 private:
    struct Core {
        bool busy = false;
        bool interrupt = false;
        std::optional<npusim::JobResult> result;
    };

    /// As the driver's worker: the job runs when its fence and a core are there.
    Result<JobReport> start(const Job& job) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
            return Status::failure(Error::kFail, "cannot make a fence: {}", std::strerror(errno));
        UniqueFd in(job.in_fence >= 0 ? fcntl(job.in_fence, F_DUPFD_CLOEXEC, 0) : -1);
        {
            const std::lock_guard lock(mutex_);
            ++running_;
        }
        std::thread([this, job, in = std::move(in), out = UniqueFd(ends[1])] {
            Status status;
            if (in.valid())
                status = wait_fence(in.get(), -1);
            if (status.ok()) {
                auto report = execute(job);
                if (!report.ok())
                    status = report.status();
            }
            signal(out.get(), status);
            const std::lock_guard lock(mutex_);
            --running_;
            changed_.notify_all();
        }).detach();
        JobReport report;
        report.out_fence = ends[0];
        return report;
    }

    Result<JobReport> execute(const Job& job) {
        Works work = claim(job);
        const auto start = std::chrono::steady_clock::now();
        Status status;
        for (const auto& item : work)
            begin(job, item);
        for (auto& item : work) {
            auto one = finish(job, item);
            if (status.ok())
                status = std::move(one);
        }
        const auto time = std::chrono::steady_clock::now() - start;
        JobReport report;
        for (const auto& item : work)
            report.core_mask |= 1u << item.core;
        report.hw_time_ns = static_cast<uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
        release(report.core_mask, status.ok());
        if (!status.ok())
            return status;
        return report;
    }

    static npusim::NpuOptions options(unsigned threads) {
        npusim::NpuOptions out;
        out.threads_per_core = threads;
        return out;
    }

    static Status refuse(std::string_view why) {
        return Status::failure(Error::kFail, "failed to submit!, the sim device refuses: {}", why);
    }

    /// Range of core `core` in a job for `mask`, by the driver's rule.
    static TaskRange range_of(const Job& job, uint32_t mask, unsigned core) {
        return job.ranges[std::popcount(mask) == 3 ? core + 2 : core];
    }

    /// The driver's checks of a job.
    Status check(const Job& job) const {
        const uint32_t all = (1u << soc_.cores) - 1;
        if ((job.core_mask & ~all) != 0)
            return refuse(fmt::format("core mask {:#x}, {} has {} cores", job.core_mask, soc_.name,
                                      soc_.cores));
        if (job.core_mask == 5 || job.core_mask == 6)
            return refuse(fmt::format("core mask {:#x} is no combination", job.core_mask));
        bool any = false;
        for (unsigned core = 0; core < soc_.cores; ++core) {
            if (job.core_mask != 0 && (job.core_mask >> core & 1) == 0)
                continue;
            const TaskRange range = range_of(job, job.core_mask, core);
            any = any || range.count != 0;
            if (auto status = check_range(job, range); !status.ok())
                return status;
        }
        return any ? Status() : refuse("no core has a task");
    }

    Status check_range(const Job& job, TaskRange range) const {
        if (range.count == 0)
            return {};
        const auto bytes = job.tasks->bytes();
        if (!range_inside(uint64_t{range.first} * kTaskBytes, uint64_t{range.count} * kTaskBytes,
                          bytes.size()))
            return refuse(fmt::format("tasks {} to {} lie outside the task buffer", range.first,
                                      uint64_t{range.first} + range.count));
        const Task first = load_task(bytes, range.first);
        const Task last = load_task(bytes, range.first + range.count - 1);
        for (const Task& task : {first, last}) {
            if (task.int_mask == 0 || (task.int_mask & ~kCompletionBits) != 0)
                return refuse(fmt::format("a task has the interrupt mask {:#x}", task.int_mask));
        }
        const uint64_t length = (uint64_t{first.amount} + kTailWords) * sizeof(uint64_t);
        if (first.amount == 0 || first.address % 16 != 0 ||
            !space_->contains(first.address, length))
            return refuse(fmt::format("the commands of task {} ({:#x}, {} words) lie in no buffer",
                                      range.first, first.address, first.amount));
        return {};
    }

    /// Waits for the cores of the job: the named ones, or the first idle one that has a range.
    Works claim(const Job& job) {
        std::unique_lock lock(mutex_);
        Works work;
        changed_.wait(lock, [&] {
            work.clear();
            for (unsigned core = 0; core < soc_.cores; ++core) {
                const bool named = (job.core_mask >> core & 1) != 0;
                const TaskRange range = range_of(job, job.core_mask, core);
                if (job.core_mask != 0 && named && cores_[core].busy)
                    return false;
                const bool wanted = job.core_mask != 0 ? named : !cores_[core].busy && work.empty();
                if (wanted && range.count != 0)
                    work.push_back({core, range});
            }
            return !work.empty();
        });
        for (const auto& item : work)
            cores_[item.core].busy = true;
        return work;
    }

    void release(uint32_t mask, bool good) {
        if (!good) {
            npu_.assert_reset(mask, true);
            npu_.assert_reset(mask, false);
        }
        const std::lock_guard lock(mutex_);
        for (unsigned core = 0; core < soc_.cores; ++core) {
            if ((mask >> core & 1) != 0)
                cores_[core].busy = false;
        }
        changed_.notify_all();
    }

    uint32_t largest_batch() const { return (1u << soc_.task_number_bits) - 1; }

    /// The register writes that start a batch, in the driver's order.
    void begin(const Job& job, const Work& item) {
        const unsigned core = item.core;
        const auto bytes = job.tasks->bytes();
        const uint32_t count = std::min(item.range.count, largest_batch());
        const Task first = load_task(bytes, item.range.first);
        const Task last = load_task(bytes, item.range.first + count - 1);
        {
            const std::lock_guard lock(mutex_);
            cores_[core].result.reset();
            cores_[core].interrupt = false;
        }
        npu_.write(core, pc::kBaseAddress, 1);
        if (soc_.cores > 1) {
            npu_.write(core, kCnaPointer, kGroupPointer + (core << 28));
            npu_.write(core, kCorePointer, kGroupPointer + (core << 28));
        }
        npu_.write(core, pc::kBaseAddress, static_cast<uint32_t>(first.address));
        const uint32_t scale = soc_.fetch_words_per_amount;
        npu_.write(core, pc::kRegisterAmounts, (first.amount + kTailWords + scale - 1) / scale - 1);
        npu_.write(core, pc::kInterruptMask, last.int_mask);
        npu_.write(core, pc::kInterruptClear, first.int_mask);
        // Bits above the number: ping-pong, clear the count, and one that drivers always set.
        npu_.write(core, pc::kTaskCon, 7u << soc_.task_number_bits | count);
        npu_.write(core, pc::kTaskDmaBaseAddr, 0);
        npu_.write(core, pc::kOperationEnable, 1);
        npu_.write(core, pc::kOperationEnable, 0);
    }

    Status finish(const Job& job, Work& item) {
        for (;;) {
            const uint32_t count = std::min(item.range.count, largest_batch());
            const auto last = load_task(job.tasks->bytes(), item.range.first + count - 1);
            if (auto status = wait(job, item, last.int_mask); !status.ok())
                return status;
            store<uint32_t>(job.tasks->bytes(), (item.range.first + count - 1) * kTaskBytes + 20,
                            last.int_mask);
            item.range = {item.range.first + count, item.range.count - count};
            if (item.range.count == 0)
                return {};
            begin(job, item);
        }
    }

    Status wait(const Job& job, const Work& item, uint32_t int_mask) {
        npusim::JobResult result;
        {
            std::unique_lock lock(mutex_);
            auto& core = cores_[item.core];
            const auto limit = std::chrono::milliseconds(uint64_t{job.timeout_ms} * kTimeoutFactor);
            const bool ended = changed_.wait_for(lock, limit, [&] {
                return core.result && (core.result->end != npusim::JobEnd::kDone || core.interrupt);
            });
            if (!ended)
                return Status::failure(Error::kTimeout,
                                       "failed to submit!, the job did not end within {} ms",
                                       limit.count());
            result = *core.result;
        }
        if (result.end != npusim::JobEnd::kDone)
            return failed(item, result);
        const uint32_t status = npu_.read(item.core, pc::kInterruptStatus) & kCompletionBits;
        // Either register group of a block may have completed.
        const uint32_t pairs = status | (status & 0x555) << 1 | (status & 0xaaa) >> 1;
        npu_.write(item.core, pc::kInterruptClear, kClearAll);
        if (pairs != int_mask)
            return Status::failure(Error::kFail,
                                   "failed to submit!, interrupt status {:#x}, wanted {:#x}",
                                   status, int_mask);
        return {};
    }

    static Status failed(const Work& item, const npusim::JobResult& result) {
        const auto error = result.end == npusim::JobEnd::kHung ? Error::kTimeout : Error::kFail;
        return Status::failure(error,
                               "failed to submit!, core {}, task start: {}, task number: {}, run "
                               "task counter: {}: {}",
                               item.core, item.range.first, item.range.count, result.tasks_done,
                               result.text);
    }

    const npusim::SocConfig& soc_;
    DeviceInfo info_;
    std::shared_ptr<SimAddressSpace> space_;
    mutable std::mutex mutex_;  // protects cores_ and running_
    std::condition_variable changed_;
    std::array<Core, kMaxCores> cores_;
    unsigned running_ = 0;  // nonblocking jobs under way
    npusim::Npu npu_;       // last: its threads use the members above
};

/// RKNPU_SIM_THREADS, 1 without it; nothing if it is no number.
std::optional<unsigned> threads_from_environment() {
    const char* text = std::getenv("RKNPU_SIM_THREADS");
    if (text == nullptr)
        return 1;
    unsigned threads = 0;
    const char* end = text + std::strlen(text);
    const auto [stop, problem] = std::from_chars(text, end, threads);
    if (problem != std::errc() || stop != end || threads == 0)
        return std::nullopt;
    return std::min(threads, 64u);
}

const char* soc_name() {
    const char* name = std::getenv("RKNPU_SIM_SOC");
    return name == nullptr ? "rk3588" : name;
}

}  // namespace

Status check_sim_soc(const Device& open) {
    if (open.info().soc == soc_name())
        return {};
    return Status::failure(
        Error::kPlatformMismatch,
        "RKNPU_SIM_SOC asks for '{}', but this process has contexts on a modelled {}: destroy them "
        "and their memory first, or use another process.",
        soc_name(), open.info().soc);
}

Result<std::shared_ptr<Device>> open_sim_device() {
    const auto* soc = npusim::SocConfig::find(soc_name());
    if (soc == nullptr)
        return Status::failure(Error::kDeviceUnavailable,
                               "RKNPU_SIM_SOC is '{}', which is no known chip.", soc_name());
    const auto threads = threads_from_environment();
    if (!threads)
        return Status::failure(Error::kDeviceUnavailable,
                               "RKNPU_SIM_THREADS is '{}', which is no number from 1 to 64.",
                               std::getenv("RKNPU_SIM_THREADS"));
    const char* coherent = std::getenv("RKNPU_SIM_COHERENT");
    if (coherent != nullptr && std::strcmp(coherent, "0") != 0 && std::strcmp(coherent, "1") != 0)
        return Status::failure(Error::kDeviceUnavailable,
                               "RKNPU_SIM_COHERENT is '{}', which is neither 0 nor 1.", coherent);
    return std::shared_ptr<Device>(std::make_shared<SimDevice>(
        *soc, *threads, coherent == nullptr || std::strcmp(coherent, "1") == 0));
}

}  // namespace rknpu
