// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>

#include "core/bytes.hpp"
#include "model/reader.hpp"

namespace rknpu {
namespace {

constexpr size_t kTailWords = 4;
constexpr uint64_t kLargestArena = uint64_t{3} << 30;
constexpr uint64_t kConstantAlignment = 64;
constexpr uint64_t kRowAlignment = 16;
constexpr uint16_t kPcBlock = 0x0101, kMarker = 0x0041, kEnable = 0x0081;
constexpr uint16_t kBaseAddress = 0x0010;
constexpr uint16_t kConvCon1 = 0x100c, kLineStride = 0x107c, kFeatureAddress = 0x1070;
constexpr uint32_t kNonAlignedInput = 1u << 30;

/// Registers of RK3588 that take a device address: feature and weights of the CNA, destination of
/// the DPU, the four readers of the DPU, destination and source of the pool.
constexpr std::array<uint16_t, 9> kAddressRegisters = {0x1070, 0x1110, 0x4020, 0x5018, 0x5020,
                                                       0x502c, 0x5038, 0x6070, 0x701c};

constexpr uint16_t block_of(uint64_t word) {
    return static_cast<uint16_t>(word >> 48);
}
constexpr uint16_t offset_of(uint64_t word) {
    return static_cast<uint16_t>(word);
}
constexpr uint32_t value_of(uint64_t word) {
    return static_cast<uint32_t>(word >> 16);
}

bool is_address(uint64_t word) {
    return block_of(word) != 0 && std::find(kAddressRegisters.begin(), kAddressRegisters.end(),
                                            offset_of(word)) != kAddressRegisters.end();
}

template <typename... Args>
Status bad(fmt::format_string<Args...> format, Args&&... args) {
    return Status{Error::kInvalidModel,
                  "Damaged .rknn file: " + fmt::format(format, std::forward<Args>(args)...) + "."};
}

class Validator {
 public:
    explicit Validator(JobGraph& graph) : graph_(graph), words_(graph.regcmd.size()) {}

    Status run() {
        for (auto step :
             {&Validator::check_tensors, &Validator::check_streams, &Validator::check_relocations,
              &Validator::check_tasks, &Validator::check_words}) {
            if (auto status = (this->*step)(); !status.ok())
                return status;
        }
        plan_constants();
        find_row_strides();
        return {};
    }

 private:
    Status check_tensors() {
        if (graph_.arena_size > kLargestArena)
            return bad("it wants {} bytes of working memory", graph_.arena_size);
        for (const auto& tensor : graph_.tensors) {
            if (tensor.place == Place::kArena &&
                !range_inside(tensor.offset, tensor.size, graph_.arena_size))
                return bad("tensor '{}' lies outside the working memory", tensor.name);
        }
        for (const auto* list : {&graph_.inputs, &graph_.outputs}) {
            for (const int32_t index : *list) {
                const auto& tensor = graph_.tensors[static_cast<size_t>(index)];
                if (tensor.place != Place::kArena)
                    return bad("input or output '{}' has no memory", tensor.name);
                if (!std::isfinite(tensor.scale) || tensor.scale <= 0)
                    return bad("input or output '{}' has the scale {}", tensor.name, tensor.scale);
            }
        }
        return {};
    }

    /// Tasks are stored stream after stream, inside a stream in the order of the nodes.
    Status check_streams() {
        uint64_t next = 0;
        for (size_t stream = 0; stream < kStreams; ++stream) {
            graph_.stream_first[stream] = static_cast<uint32_t>(next);
            for (auto& node : graph_.nodes) {
                if (!node.on_npu && node.task_count[stream] != 0)
                    return bad("node '{}' runs on the CPU and has NPU tasks", node.name);
                node.first_task[stream] = static_cast<uint32_t>(next);
                next += node.task_count[stream];
                if (next > graph_.tasks.size())
                    return bad("node '{}' needs task {} of {}", node.name, next,
                               graph_.tasks.size());
            }
            graph_.stream_count[stream] = static_cast<uint32_t>(next) - graph_.stream_first[stream];
        }
        return {};
    }

    Status check_relocations() {
        relocated_.assign(words_, false);
        for (const auto& item : graph_.relocations) {
            if (item.word >= words_)
                return bad("a relocation changes command {} of {}", item.word, words_);
            const auto& tensor = graph_.tensors[static_cast<size_t>(item.tensor)];
            if (relocated_[item.word])
                return bad("command {} is relocated twice", item.word);
            if (!is_address(graph_.regcmd[item.word]))
                return bad("a relocation changes register {:#06x}, which takes no address",
                           offset_of(graph_.regcmd[item.word]));
            if (tensor.place == Place::kNowhere && tensor.kind != TensorKind::kLutTarget)
                return bad("a command uses tensor '{}', which has no memory", tensor.name);
            if (item.addend >= std::max<uint64_t>(tensor.size, 1))
                return bad("a command points behind tensor '{}'", tensor.name);
            relocated_[item.word] = true;
        }
        return {};
    }

    Status check_tasks() {
        in_tail_.assign(words_, false);
        for (size_t i = 0; i < graph_.tasks.size(); ++i) {
            const auto& task = graph_.tasks[i];
            const uint64_t bytes = (uint64_t{task.regcfg_amount} + kTailWords) * sizeof(uint64_t);
            if (task.regcmd_addr % sizeof(uint64_t) != 0 ||
                !range_inside(task.regcmd_addr, bytes, words_ * sizeof(uint64_t)))
                return bad("task {} lies outside the commands", i);
            if (task.op_idx >= graph_.nodes.size())
                return bad("task {} belongs to node {} of {}", i, task.op_idx, graph_.nodes.size());
            const size_t tail = task.regcmd_addr / sizeof(uint64_t) + task.regcfg_amount;
            if (auto status = check_tail(i, tail); !status.ok())
                return status;
        }
        return {};
    }

    Status check_tail(size_t task, size_t tail) {
        const auto& words = graph_.regcmd;
        const bool ends =
            block_of(words[tail + 2]) == kMarker && block_of(words[tail + 3]) == kEnable;
        if (!ends)
            return bad("task {} does not end with the enable command", task);
        if (in_tail_[tail])
            return {};
        for (size_t i = 0; i < kTailWords; ++i)
            in_tail_[tail + i] = true;
        const bool chains = block_of(words[tail]) == kPcBlock && value_of(words[tail]) != 0;
        if (!chains)
            return {};
        const uint64_t next = value_of(words[tail]);
        if (offset_of(words[tail]) != kBaseAddress || next % 16 != 0 ||
            !range_inside(next, kTailWords * sizeof(uint64_t), words_ * sizeof(uint64_t)))
            return bad("task {} continues outside the commands", task);
        graph_.chain_words.push_back(static_cast<uint32_t>(tail));
        return {};
    }

    /// What a stream may not do: steer the program counter by itself, or use an address that no
    /// relocation has put inside one of the model's own buffers.
    Status check_words() {
        for (size_t i = 0; i < words_; ++i) {
            const uint64_t word = graph_.regcmd[i];
            if (in_tail_[i])
                continue;
            const auto block = block_of(word);
            if (block == kPcBlock || block == kEnable)
                return bad("command {} steers the program counter", i);
            if (is_address(word) && !relocated_[i] && value_of(word) != 0)
                return bad("command {} writes address {:#x} of its own to register {:#06x}", i,
                           value_of(word), offset_of(word));
        }
        return {};
    }

    /// Every constant that a command points at goes into one buffer.
    void plan_constants() {
        std::vector<bool> used(graph_.tensors.size(), false);
        for (const auto& item : graph_.relocations)
            used[static_cast<size_t>(item.tensor)] = true;
        uint64_t next = 0;
        for (size_t i = 0; i < graph_.tensors.size(); ++i) {
            auto& tensor = graph_.tensors[i];
            if (!used[i] || tensor.place == Place::kArena)
                continue;
            if (tensor.place == Place::kNowhere)  // a table upload writes one pixel
                tensor.size = std::max<uint64_t>(tensor.size, kConstantAlignment);
            tensor.place = Place::kConstants;
            tensor.offset = next;
            next += align_up(tensor.size, kConstantAlignment);
        }
        graph_.constants_size = next;
    }

    /// Packed images: the row pitch follows from the first task that reads the input.
    void find_row_strides() {
        for (auto& tensor : graph_.tensors) {
            if (tensor.order == Order::kNhwc)
                tensor.row_stride = static_cast<uint32_t>(tensor.native_dims[3]);
        }
        for (const auto& item : graph_.relocations) {
            auto& tensor = graph_.tensors[static_cast<size_t>(item.tensor)];
            if (tensor.order == Order::kNhwc && tensor.kind == TensorKind::kInput &&
                offset_of(graph_.regcmd[item.word]) == kFeatureAddress)
                read_row_stride(item.word, tensor);
        }
    }

    void read_row_stride(size_t word, GraphTensor& tensor) {
        for (const auto& task : graph_.tasks) {
            const size_t first = task.regcmd_addr / sizeof(uint64_t);
            if (word < first || word >= first + task.regcfg_amount)
                continue;
            uint32_t mode = 0;
            uint32_t stride = 0;
            for (size_t i = first; i < first + task.regcfg_amount; ++i) {
                if (offset_of(graph_.regcmd[i]) == kConvCon1)
                    mode = value_of(graph_.regcmd[i]);
                if (offset_of(graph_.regcmd[i]) == kLineStride)
                    stride = value_of(graph_.regcmd[i]);
            }
            if ((mode & kNonAlignedInput) != 0)
                set_row_stride(tensor, stride);
            return;
        }
    }

    /// Rows start at multiples of 16 bytes even where the stride register says less: the sizes of
    /// inputs and the addresses of tiles in the vendor's files agree on that.
    static void set_row_stride(GraphTensor& tensor, uint32_t stride) {
        const auto rows = static_cast<uint64_t>(tensor.native_dims[2]);
        const auto pixel = bytes_of(tensor.type, static_cast<uint64_t>(tensor.native_dims[4]));
        const uint64_t reserved = tensor.size / std::max<uint64_t>(1, rows * pixel);
        const bool exact =
            reserved * rows * pixel == tensor.size && reserved * pixel % kRowAlignment == 0;
        const auto pitch = exact ? reserved : uint64_t{stride};
        if (pitch >= tensor.row_stride && rows * pixel * pitch <= tensor.size)
            tensor.row_stride = static_cast<uint32_t>(pitch);
    }

    JobGraph& graph_;
    const size_t words_;
    std::vector<bool> relocated_;
    std::vector<bool> in_tail_;
};

}  // namespace

Status validate(JobGraph& graph) {
    graph.chain_words.clear();
    return Validator(graph).run();
}

}  // namespace rknpu
