// SPDX-License-Identifier: MIT
#include "api/object.hpp"

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "api/process_table.hpp"

namespace rknpu::api {
namespace {

struct Objects {
    std::unordered_map<uint64_t, std::shared_ptr<Object>> known;
    std::unordered_set<uint64_t> foreign;  // handles of the parent process
    uint64_t next = 1;

    void leave_to_parent() {
        for (const auto& [handle, object] : known)
            foreign.insert(handle);
        [[maybe_unused]] const auto* leaked = new auto(std::move(known));
        known.clear();
    }
};

using Table = ProcessTable<Objects>::Access;

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
    const Table all;
    uint64_t handle = handle_of(all->next++);
    while (all->known.contains(handle) || all->foreign.contains(handle))
        handle = handle_of(all->next++);
    all->known.emplace(handle, std::move(object));
    return handle;
}

Result<std::shared_ptr<Object>> find_object(uint64_t handle) {
    const Table all;
    const auto found = all->known.find(handle);
    if (found == all->known.end())
        return all->foreign.contains(handle) ? foreign() : unknown(handle);
    return found->second;
}

Status drop_object(uint64_t handle) {
    std::shared_ptr<Object> object;
    {
        const Table all;
        const auto found = all->known.find(handle);
        if (found == all->known.end())
            return all->foreign.contains(handle) ? foreign() : unknown(handle);
        object = std::move(found->second);
        all->known.erase(found);
    }
    return {};  // the object goes away outside the lock
}

}  // namespace rknpu::api
