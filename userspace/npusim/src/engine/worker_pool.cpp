// SPDX-License-Identifier: MIT
#include "worker_pool.hpp"

namespace npusim {

WorkerPool::WorkerPool(unsigned threads) {
    for (unsigned worker = 1; worker < threads; ++worker)
        threads_.emplace_back([this, worker] { serve(worker); });
}

WorkerPool::~WorkerPool() {
    {
        std::lock_guard lock(mutex_);
        quit_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_)
        thread.join();
}

void WorkerPool::take_jobs(unsigned worker) {
    for (size_t index = next_++; index < count_; index = next_++)
        call_(context_, index, worker);
}

void WorkerPool::start(size_t count, Call call, void* context) {
    {
        std::lock_guard lock(mutex_);
        call_ = call;
        context_ = context;
        count_ = count;
        next_ = 0;
        busy_ = threads_.size();
        ++round_;
    }
    wake_.notify_all();
    take_jobs(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
}

void WorkerPool::serve(unsigned worker) {
    uint64_t seen = 0;
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [&] { return quit_ || round_ != seen; });
            if (quit_)
                return;
            seen = round_;
        }
        take_jobs(worker);
        std::lock_guard lock(mutex_);
        if (--busy_ == 0)
            done_.notify_one();
    }
}

}  // namespace npusim
