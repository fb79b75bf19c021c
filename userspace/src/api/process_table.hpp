// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <mutex>

#include "core/process_wide.hpp"

namespace rknpu::api {

/// What all callers in a process share. T::leave_to_parent() is called once after fork(), before
/// the copy uses it: what the parent made is neither used nor freed there.
template <typename T>
struct ProcessTable {
    /// The table, locked while this lives.
    class Access {
     public:
        Access() : table_(process_wide<ProcessTable>()), lock_(table_.mutex) { table_.adopt(); }
        T* operator->() const { return &table_.content; }

     private:
        ProcessTable& table_;
        std::lock_guard<std::mutex> lock_;
    };

    void adopt() {
        if (owner == getpid())
            return;
        content.leave_to_parent();
        owner = getpid();
    }

    std::mutex mutex;  // protects the members below
    T content;
    pid_t owner = getpid();
};

}  // namespace rknpu::api
