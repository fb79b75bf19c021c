// SPDX-License-Identifier: MIT
// Threads that share the work of one task.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

namespace npusim {

/// Runs numbered jobs on a fixed set of threads. The calling thread is worker 0 and takes part.
class WorkerPool {
 public:
    explicit WorkerPool(unsigned threads);
    ~WorkerPool();
    WorkerPool(const WorkerPool&) = delete;
    WorkerPool& operator=(const WorkerPool&) = delete;

    [[nodiscard]] unsigned workers() const { return static_cast<unsigned>(threads_.size()) + 1; }

    /// Calls job(index, worker) once for every index below `count` and returns when all are done.
    /// Jobs must not throw.
    template <typename Job>
    void run(size_t count, Job& job) {
        start(
            count,
            [](void* context, size_t index, unsigned worker) {
                (*static_cast<Job*>(context))(index, worker);
            },
            &job);
    }

 private:
    using Call = void (*)(void* context, size_t index, unsigned worker);

    void start(size_t count, Call call, void* context);
    void serve(unsigned worker);
    void take_jobs(unsigned worker);

    std::mutex mutex_;  // protects round_, busy_, quit_ and the start of a round
    std::condition_variable wake_, done_;
    uint64_t round_ = 0;
    size_t busy_ = 0;
    bool quit_ = false;
    Call call_ = nullptr;
    void* context_ = nullptr;
    size_t count_ = 0;
    std::atomic<size_t> next_{0};
    std::vector<std::thread> threads_;
};

}  // namespace npusim
