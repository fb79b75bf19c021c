// SPDX-License-Identifier: MIT
#include "model/legacy.hpp"

#include <algorithm>
#include <optional>

#include "core/bytes.hpp"

namespace rknpu {
namespace {

constexpr size_t kRecordBytes = 8;  // u16 zero, u16 register offset, u32 value
constexpr size_t kTailWords = 4;
constexpr size_t kStreamAlignWords = 8;  // streams start on 64 bytes
constexpr uint64_t kPcBlock = 0x0101, kMarker = 0x0041, kEnable = 0x0081;
constexpr uint64_t kBaseAddress = 0x0010, kRegisterAmounts = 0x0014, kOperationEnable = 0x0008;
constexpr uint32_t kClearAll = 0x1ffff;

template <typename... Args>
Status bad(fmt::format_string<Args...> format, Args&&... args) {
    return Status{Error::kInvalidModel,
                  "Damaged .rknn file: " + fmt::format(format, std::forward<Args>(args)...) + "."};
}

/// Block select bits of a command, which follow from the register's window.
std::optional<uint64_t> target_of(uint16_t offset) {
    switch (offset >> 12) {
        case 1:
            return 0x0201;
        case 3:
            return 0x0801;
        case 4:
            return 0x1001;
        case 5:
            return 0x2001;
        case 6:
            return 0x4001;
        case 7:
            return 0x8001;
        default:
            return std::nullopt;
    }
}

constexpr uint64_t command(uint64_t target, uint64_t offset, uint64_t value) {
    return target << 48 | value << 16 | offset;
}

/// Stream a task belongs to, by the number of cores that share the work and its place among them.
std::optional<size_t> stream_of(const schema::LegacyTask& task) {
    static constexpr size_t kFirst[] = {0, 0, 1, 3};
    const uint32_t cores = task.core_count();
    if (cores < 1 || cores > 3 || task.core_index() >= cores)
        return std::nullopt;
    return kFirst[cores] + task.core_index();
}

class Builder {
 public:
    Builder(const schema::Graph& source, JobGraph& graph) : source_(source), graph_(graph) {}

    Status build() {
        for (auto& node : graph_.nodes)
            node.task_count.fill(0);
        for (size_t stream = 0; stream < kStreams; ++stream) {
            for (uint32_t n = 0; n < source_.nodes()->size(); ++n) {
                const auto* tasks = source_.nodes()->Get(n)->legacy_tasks();
                for (uint32_t t = 0; tasks != nullptr && t < tasks->size(); ++t) {
                    const auto of = stream_of(*tasks->Get(t));
                    if (!of)
                        return bad("node '{}' has a task for an unknown core",
                                   graph_.nodes[n].name);
                    if (*of != stream)
                        continue;
                    if (auto status = add_task(*tasks->Get(t), n); !status.ok())
                        return status;
                    ++graph_.nodes[n].task_count[stream];
                }
            }
            end_stream();
        }
        if (graph_.tasks.empty())
            return Status{Error::kInvalidModel, "The model holds no NPU commands."};
        return {};
    }

 private:
    Status add_task(const schema::LegacyTask& task, uint32_t node) {
        if (task.regcmd_tensor() >= graph_.tensors.size())
            return bad("a task uses command buffer {}", task.regcmd_tensor());
        const auto records = graph_.tensors[task.regcmd_tensor()].data;
        if (records.empty() || records.size() % kRecordBytes != 0)
            return bad("a task has no commands");
        graph_.regcmd.resize(align_up(graph_.regcmd.size(), kStreamAlignWords));
        const size_t start = graph_.regcmd.size();
        for (size_t at = 0; at < records.size(); at += kRecordBytes) {
            const auto offset = load<uint16_t>(records, at + 2);
            const auto target = target_of(offset);
            if (load<uint16_t>(records, at) != 0 || !target)
                return bad("a task writes the unknown register {:#06x}", offset);
            graph_.regcmd.push_back(command(*target, offset, load<uint32_t>(records, at + 4)));
        }
        if (auto status = relocate(task, start); !status.ok())
            return status;
        add_tail(task, start, node);
        return {};
    }

    Status relocate(const schema::LegacyTask& task, size_t start) {
        if (task.relocations() == nullptr)
            return {};
        for (const auto* item : *task.relocations()) {
            if (item->tensor() >= graph_.tensors.size())
                return bad("a task uses tensor {}", item->tensor());
            const auto begin = graph_.regcmd.begin() + static_cast<ptrdiff_t>(start);
            const auto word = std::find_if(begin, graph_.regcmd.end(), [&](uint64_t w) {
                return (w & 0xffff) == item->register_offset();
            });
            if (word == graph_.regcmd.end())
                return bad("a task relocates register {:#06x}, which it does not write",
                           item->register_offset());
            *word = (*word & ~(uint64_t{0xffffffff} << 16)) | uint64_t{item->addend()} << 16;
            graph_.relocations.push_back({static_cast<uint32_t>(word - graph_.regcmd.begin()),
                                          static_cast<int32_t>(item->tensor()), item->addend()});
        }
        return {};
    }

    void add_tail(const schema::LegacyTask& task, size_t start, uint32_t node) {
        const size_t body = graph_.regcmd.size() - start;
        graph_.regcmd.push_back(0);
        graph_.regcmd.push_back(command(kPcBlock, kRegisterAmounts, 0));
        graph_.regcmd.push_back(command(kMarker, 0, 0));
        graph_.regcmd.push_back(command(kEnable, kOperationEnable, task.enable_mask()));
        if (!first_in_stream_)
            link_previous(start, body);
        first_in_stream_ = false;

        TaskRecord record;
        record.op_idx = node;
        record.enable_mask = task.enable_mask();
        // The file lists every interrupt of the task; the driver waits for the block that writes
        // last.
        record.int_mask = (task.enable_mask() & 0x60) != 0 ? 0xc00 : 0x300;
        record.int_clear = kClearAll;
        record.regcfg_amount = static_cast<uint32_t>(body);
        record.regcmd_addr = start * sizeof(uint64_t);
        graph_.tasks.push_back(record);
    }

    /// Makes the task before this one go on with it.
    void link_previous(size_t start, size_t body) {
        const auto& previous = graph_.tasks.back();
        const size_t tail = previous.regcmd_addr / sizeof(uint64_t) + previous.regcfg_amount;
        graph_.regcmd[tail] = command(kPcBlock, kBaseAddress, start * sizeof(uint64_t));
        graph_.regcmd[tail + 1] =
            command(kPcBlock, kRegisterAmounts, (body + kTailWords + 1) / 2 - 1);
    }

    void end_stream() { first_in_stream_ = true; }

    const schema::Graph& source_;
    JobGraph& graph_;
    bool first_in_stream_ = true;
};

}  // namespace

Status read_legacy_commands(const schema::Graph& source, JobGraph& graph) {
    return Builder(source, graph).build();
}

}  // namespace rknpu
