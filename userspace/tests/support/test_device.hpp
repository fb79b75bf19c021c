// SPDX-License-Identifier: MIT
// A device that counts and fails on demand, and a look at what the library prints. For tests that
// link the library's objects.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "core/log.hpp"
#include "device/device.hpp"
#include "support/fixture.hpp"

namespace rknpu::test {

/// True while this thread is inside the NPU model.
inline thread_local bool inside_device = false;

/// An import that the CPU cannot map.
class BlindMemory final : public DeviceMemory {
 public:
    explicit BlindMemory(std::unique_ptr<DeviceMemory> real) : real_(std::move(real)) {
        device_address_ = real_->device_address();
        size_ = real_->size();
        cacheable_ = false;
    }
    int fd() override { return real_->fd(); }

 private:
    std::unique_ptr<DeviceMemory> real_;
};

/// Passes everything on to the NPU model in the process, unless told to fail.
class TestDevice final : public Device {
 public:
    TestDevice() {
        auto real = Device::open(DeviceKind::kSim);
        REQUIRE(real.ok());
        real_ = std::move(real).value();
    }

    const DeviceInfo& info() const override { return real_->info(); }
    Result<std::unique_ptr<DeviceMemory>> allocate(const MemoryRequest& request) override {
        if (fail_allocations)
            return Status{Error::kNoMemory, "cannot allocate: the test says no"};
        return real_->allocate(request);
    }
    Result<std::unique_ptr<DeviceMemory>> import(int fd) override {
        auto made = real_->import(fd);
        if (!made.ok() || !blind_imports)
            return made;
        return std::unique_ptr<DeviceMemory>(
            std::make_unique<BlindMemory>(std::move(made).value()));
    }
    Status sync(const DeviceMemory& memory, uint64_t offset, uint64_t length,
                SyncDirection direction) override {
        (direction == SyncDirection::kToDevice ? to_device : from_device) += length;
        ++syncs;
        return real_->sync(memory, offset, length, direction);
    }
    Result<JobReport> run(const Job& job) override {
        inside_device = true;
        ++submits;
        nonblocking += job.nonblocking ? 1 : 0;
        masks.push_back(job.core_mask);
        inside_device = false;
        if (fail_runs != Error::kNone)
            return Status{fail_runs, "failed to submit!, the test says no"};
        inside_device = true;
        auto report = real_->run(job);
        inside_device = false;
        return report;
    }
    bool has_fences() const override { return fences; }
    Status wait_fence(int fence, int timeout_ms) override {
        return real_->wait_fence(fence, timeout_ms);
    }
    SramState sram() const override { return real_->sram(); }
    DeviceCounters counters() const override { return real_->counters(); }

    void reset() { submits = syncs = to_device = from_device = nonblocking = 0; }

    bool fail_allocations = false;
    bool blind_imports = false;
    bool fences = true;
    Error fail_runs = Error::kNone;
    std::vector<uint32_t> masks;  // of all jobs
    uint64_t submits = 0, syncs = 0, to_device = 0, from_device = 0, nonblocking = 0;

 private:
    std::shared_ptr<Device> real_;
};

/// A TestDevice in the place of the one in the process.
struct Placed {
    Placed() : device(std::make_shared<TestDevice>()) { Device::use(DeviceKind::kSim, device); }
    ~Placed() { Device::use(DeviceKind::kSim, nullptr); }
    std::shared_ptr<TestDevice> device;
};

/// What the library prints to stderr within a scope.
class Capture {
 public:
    explicit Capture(LogLevel level) : before_(log_level()) {
        set_log_level(level);
        std::fflush(stderr);
        saved_ = dup(STDERR_FILENO);
        file_ = std::tmpfile();
        dup2(fileno(file_), STDERR_FILENO);
    }
    ~Capture() {
        restore();
        std::fclose(file_);
    }
    std::string text() {
        restore();
        std::string out;
        std::rewind(file_);
        for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_))
            out += static_cast<char>(c);
        return out;
    }

 private:
    void restore() {
        if (saved_ < 0)
            return;
        std::fflush(stderr);
        dup2(saved_, STDERR_FILENO);
        close(saved_);
        saved_ = -1;
        set_log_level(before_);
    }
    LogLevel before_;
    int saved_ = -1;
    std::FILE* file_ = nullptr;
};

inline size_t lines(const std::string& text) {
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace rknpu::test
