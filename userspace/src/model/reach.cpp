// SPDX-License-Identifier: MIT
// A model's own commands say which memory they touch. Here every buffer gets an address as a device
// would give it, with gaps between them; then each task's ranges must fall into one of them.
#include "model/reach.hpp"

#include <npusim/engine.hpp>

#include <algorithm>
#include <span>
#include <vector>

#include "core/bytes.hpp"
#include "model/task_registers.hpp"

namespace rknpu {
namespace {

constexpr uint64_t kGap = 1u << 20;
constexpr uint64_t kTopAddress = uint64_t{1} << 32;
constexpr uint64_t kPage = 4096;

struct Buffer {
    int64_t begin, end;
};

/// Registers that say how far a task reaches, by block. Each must be set by the operator itself
/// before the block works with them: what earlier operators left there must not matter. Operators
/// in files of every compiler known set them in their first two tasks.
constexpr uint16_t kReachRk3588[] = {
    0x100c, 0x1020, 0x1024, 0x1038, 0x1070, 0x107c, 0x1080, 0x1100, 0x1110, 0x3014, 0x3018, 0x4004,
    0x400c, 0x4010, 0x4020, 0x4024, 0x4030, 0x4034, 0x4038, 0x403c, 0x4050, 0x4058, 0x405c, 0x4070,
    0x40c0, 0x5004, 0x500c, 0x5010, 0x5014, 0x5018, 0x501c, 0x5020, 0x5028, 0x502c, 0x5034, 0x5038,
    0x5040, 0x5044, 0x5048, 0x504c, 0x506c, 0x6004, 0x600c, 0x6010, 0x6014, 0x6018, 0x601c, 0x6020,
    0x6024, 0x6070, 0x607c, 0x7004, 0x700c, 0x7010, 0x7014, 0x701c, 0x7024, 0x7028};
constexpr uint16_t kReachRk3576[] = {
    0x100c, 0x101c, 0x1024, 0x102c, 0x1078, 0x107c, 0x1088, 0x1090, 0x1094, 0x1110, 0x3018,
    0x301c, 0x3020, 0x4004, 0x400c, 0x4010, 0x4018, 0x401c, 0x4020, 0x4024, 0x4028, 0x402c,
    0x4030, 0x4034, 0x4038, 0x4050, 0x407c, 0x4088, 0x5004, 0x500c, 0x5010, 0x5014, 0x5018,
    0x501c, 0x5020, 0x5024, 0x5034, 0x5038, 0x5040, 0x5044, 0x5048};

/// Lengths of the decompressor's lanes count only when it is on (bit 3 of its control is a bypass).
constexpr uint16_t kFirstLane = 0x1140, kLastLane = 0x117c;

uint16_t missing_lane(const TaskRegisters& state, uint32_t enable) {
    constexpr uint32_t kBypass = 1u << 3;
    if ((enable & npusim::kEnableCna) == 0 || (state.active().cna[0x1100] & kBypass) != 0)
        return 0;
    for (uint16_t offset = kFirstLane; offset <= kLastLane; offset += 4) {
        if (state.missing({&offset, 1}, enable) != 0)
            return offset;
    }
    return 0;
}

class Checker {
 public:
    explicit Checker(const JobGraph& graph)
        : graph_(graph),
          map_(graph.target == "rk3576" ? npusim::RegisterMap::kRk3576
                                        : npusim::RegisterMap::kRk3588),
          words_(graph.regcmd) {}

    Status run() {
        if (auto status = place(); !status.ok())
            return status;
        for (const auto& item : graph_.relocations) {
            auto& word = words_[item.word];
            const uint64_t value = addresses_[static_cast<size_t>(item.tensor)] + item.addend;
            word = (word & ~(uint64_t{0xffffffff} << 16)) | (value & 0xffffffff) << 16;
        }
        for (size_t stream = 0; stream < kStreams; ++stream) {
            const auto judge_task = [this](size_t task, const TaskRegisters& state,
                                           uint32_t enable) { return judge(task, state, enable); };
            if (auto status = walk_stream(graph_, words_, stream, judge_task); !status.ok())
                return status;
        }
        return {};
    }

    bool all_judged() const { return all_judged_; }

 private:
    uint64_t add_buffer(uint64_t size) {
        const uint64_t start = next_;
        buffers_.push_back({static_cast<int64_t>(start), static_cast<int64_t>(start + size)});
        next_ = align_up(start + size, kPage) + kGap;
        return start;
    }

    Status place() {
        const uint64_t constants = add_buffer(graph_.constants_size);
        const uint64_t arena = add_buffer(graph_.arena_size);
        addresses_.assign(graph_.tensors.size(), 0);
        for (size_t i = 0; i < graph_.tensors.size(); ++i) {
            const auto& tensor = graph_.tensors[i];
            const bool io = tensor.kind == TensorKind::kInput || tensor.kind == TensorKind::kOutput;
            if (tensor.place == Place::kConstants)
                addresses_[i] = constants + tensor.offset;
            else if (tensor.place == Place::kArena)
                addresses_[i] = io ? add_buffer(tensor.size) : arena + tensor.offset;
        }
        if (next_ > kTopAddress)
            return Status{Error::kInvalidModel, "The model needs more than 4 GiB of NPU memory."};
        return {};
    }

    Status judge(size_t task, const TaskRegisters& state, uint32_t enable) {
        const bool rk3576 = map_ == npusim::RegisterMap::kRk3576;
        uint16_t missing =
            state.missing(rk3576 ? std::span<const uint16_t>(kReachRk3576) : kReachRk3588, enable);
        if (missing == 0 && !rk3576)
            missing = missing_lane(state, enable);
        if (missing != 0)
            return Status::failure(
                Error::kInvalidModel,
                "Damaged .rknn file: task {} (layer '{}') uses register {:#06x}, which its layer "
                "does not set.",
                task, graph_.nodes[graph_.tasks[task].op_idx].name, missing);
        if (npusim::task_reach(state.active(), enable, map_, reach_)) {
            all_judged_ = false;
            return {};
        }
        for (const auto& range : reach_) {
            const bool inside =
                std::any_of(buffers_.begin(), buffers_.end(), [&](const Buffer& buffer) {
                    return range.begin >= buffer.begin && range.end <= buffer.end;
                });
            if (inside || range.begin == range.end)
                continue;
            const auto& node = graph_.nodes[graph_.tasks[task].op_idx];
            return Status::failure(
                Error::kInvalidModel,
                "Damaged .rknn file: task {} (layer '{}') {} memory outside the model's own "
                "buffers.",
                task, node.name, range.access == npusim::Access::kRead ? "reads" : "writes");
        }
        return {};
    }

    const JobGraph& graph_;
    npusim::RegisterMap map_;
    std::vector<uint64_t> words_;
    std::vector<uint64_t> addresses_;  // per tensor
    std::vector<Buffer> buffers_;
    std::vector<npusim::TaskReach> reach_;
    uint64_t next_ = kGap;
    bool all_judged_ = true;
};

}  // namespace

Status check_reach(const JobGraph& graph, bool& all) {
    Checker checker(graph);
    auto status = checker.run();
    all = status.ok() && checker.all_judged();
    return status;
}

}  // namespace rknpu
