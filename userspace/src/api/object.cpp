// SPDX-License-Identifier: MIT
#include "api/object.hpp"

#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace rknpu::api {
namespace {

struct Table {
    std::mutex mutex;  // protects the members below
    std::unordered_map<uint64_t, std::shared_ptr<Object>> objects;
    std::unordered_set<uint64_t> foreign;  // handles of the parent process
    uint64_t next = 1;
    pid_t owner = getpid();

    /// After fork(): what the parent made is neither used nor freed here.
    void adopt() {
        if (owner == getpid())
            return;
        for (const auto& [handle, object] : objects)
            foreign.insert(handle);
        [[maybe_unused]] const auto* leaked = new auto(std::move(objects));
        objects.clear();
        owner = getpid();
    }
};

Table& table();

void lock_table() {
    table().mutex.lock();
}
void unlock_table() {
    table().mutex.unlock();
}

/// Never destroyed: programs call rknn_destroy() from their own static destructors. Nobody holds
/// the lock while the process is copied.
Table& table() {
    static auto* instance = [] {
        auto* made = new Table;
        pthread_atfork(lock_table, unlock_table, unlock_table);
        return made;
    }();
    return *instance;
}

/// Spread out, so that a small number passed by mistake hits nothing. 32 bits are enough on ARM.
uint64_t handle_of(uint64_t number) {
    return static_cast<uint32_t>(number * 2654435761u | 1u);
}

Status unknown(uint64_t handle) {
    return Status::failure(Error::kInvalidContext,
                           "invalid context {:#x}: never made, or destroyed already", handle);
}

Status foreign() {
    return Status{Error::kInvalidContext,
                  "the context belongs to the parent process; make one after fork()"};
}

}  // namespace

uint64_t register_object(std::shared_ptr<Object> object) {
    auto& all = table();
    const std::lock_guard lock(all.mutex);
    all.adopt();
    uint64_t handle = handle_of(all.next++);
    while (all.objects.contains(handle) || all.foreign.contains(handle))
        handle = handle_of(all.next++);
    all.objects.emplace(handle, std::move(object));
    return handle;
}

Result<std::shared_ptr<Object>> find_object(uint64_t handle) {
    auto& all = table();
    const std::lock_guard lock(all.mutex);
    all.adopt();
    const auto found = all.objects.find(handle);
    if (found == all.objects.end())
        return all.foreign.contains(handle) ? foreign() : unknown(handle);
    return found->second;
}

Status drop_object(uint64_t handle) {
    auto& all = table();
    std::shared_ptr<Object> object;
    {
        const std::lock_guard lock(all.mutex);
        all.adopt();
        const auto found = all.objects.find(handle);
        if (found == all.objects.end())
            return all.foreign.contains(handle) ? foreign() : unknown(handle);
        object = std::move(found->second);
        all.objects.erase(found);
    }
    return {};  // the object goes away outside the lock
}

}  // namespace rknpu::api
