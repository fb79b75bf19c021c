// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <unordered_map>

#include "core/bytes.hpp"
#include "model/patches.hpp"
#include "model/reach.hpp"
#include "model/reader.hpp"

namespace rknpu {
namespace {

constexpr size_t kTailWords = 4;
constexpr uint64_t kConstantAlignment = 64;
constexpr uint64_t kRowAlignment = 16;
constexpr uint16_t kPcBlock = 0x0101, kMarker = 0x0041, kEnable = 0x0081;
constexpr uint16_t kBaseAddress = 0x0010, kRegisterAmounts = 0x0014;

/// What differs between the register maps of the chips.
struct RegisterMap {
    /// Registers that take a device address: feature and weights of the CNA, destination of the
    /// DPU, its readers, destination and source of the pool.
    std::span<const uint16_t> addresses;
    uint16_t feature_address;
    uint16_t line_stride;  ///< pixels of a packed image
    uint32_t packed_bit;   ///< in CONV_CON1: the input is a packed image
    /// Files tell that the registers below are complete except for the pool, of which none was
    /// seen: there every register that is relocated counts.
    bool pool_is_known;
    uint32_t blocks;  ///< bits a task may enable: others are not known to do nothing
};

constexpr uint16_t kConvCon1 = 0x100c;
constexpr std::array<uint16_t, 9> kAddressesRk3588 = {0x1070, 0x1110, 0x4020, 0x5018, 0x5020,
                                                      0x502c, 0x5038, 0x6070, 0x701c};
constexpr std::array<uint16_t, 9> kAddressesRk3576 = {0x1088, 0x1110, 0x4018, 0x5018, 0x5020,
                                                      0x5024, 0x5038, 0x6070, 0x701c};
constexpr RegisterMap kRk3588 = {kAddressesRk3588, 0x1070, 0x107c, 1u << 30, true, 0x7f};
constexpr RegisterMap kRk3576 = {kAddressesRk3576, 0x1088, 0x1090, 1u << 1, false, 0xffffffff};
constexpr uint16_t kPoolFirst = 0x6000, kPoolLast = 0x7fff;

constexpr uint16_t block_of(uint64_t word) {
    return static_cast<uint16_t>(word >> 48);
}
constexpr uint16_t offset_of(uint64_t word) {
    return static_cast<uint16_t>(word);
}
constexpr uint32_t value_of(uint64_t word) {
    return static_cast<uint32_t>(word >> 16);
}

const RegisterMap& map_of(const JobGraph& graph) {
    return graph.target == "rk3576" ? kRk3576 : kRk3588;
}

/// The block select bits that go with a register's window; 0 for windows that commands never set.
constexpr uint16_t owner_of(uint16_t offset) {
    constexpr std::array<uint16_t, 8> kOwners = {0,      0x0201, 0,      0x0801,
                                                 0x1001, 0x2001, 0x4001, 0x8001};
    return offset < 0x8000 ? kOwners[offset >> 12] : uint16_t{0};
}

template <typename... Args>
Status bad(fmt::format_string<Args...> format, Args&&... args) {
    return Status{Error::kInvalidModel,
                  "Damaged .rknn file: " + fmt::format(format, std::forward<Args>(args)...) + "."};
}

class Validator {
 public:
    explicit Validator(JobGraph& graph)
        : graph_(graph), map_(map_of(graph)), words_(graph.regcmd.size()) {}

    Status run() {
        for (auto step :
             {&Validator::check_tensors, &Validator::check_streams, &Validator::check_relocations,
              &Validator::check_tasks, &Validator::check_words}) {
            if (auto status = (this->*step)(); !status.ok())
                return status;
        }
        plan_constants();
        find_row_strides();
        if (auto status = check_reach(graph_, graph_.reach_is_known); !status.ok())
            return status;
        keep_whole_input_patches(graph_);
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
                if (auto status = check_host_view(tensor, false); !status.ok())
                    return status;
            }
        }
        for (const auto& node : graph_.nodes) {
            if (node.on_npu)
                continue;
            for (const auto* list : {&node.inputs, &node.outputs}) {
                for (const int32_t index : *list) {
                    const auto& tensor = graph_.tensors[static_cast<size_t>(index)];
                    if (tensor.place != Place::kArena)
                        continue;
                    if (list == &node.inputs && tensor.name.ends_with("_exSecondary"))
                        continue;  // work space of the original runtime is never read
                    if (auto status = check_host_view(tensor, true); !status.ok())
                        return status;
                }
            }
        }
        return {};
    }

    /// The host reads and writes these tensors element by element: the native dims, which may have
    /// rows and columns to spare, must hold all the logical ones, inside the bytes that are
    /// reserved.
    Status check_host_view(const GraphTensor& tensor, bool may_be_empty) const {
        const auto& dims = tensor.dims;
        if (!may_be_empty && std::any_of(dims.begin(), dims.end(), [](int32_t d) { return d < 1; }))
            return bad("tensor '{}' is empty", tensor.name);
        if (tensor.order == Order::kPlain) {
            if (!tensor.native_dims.empty() && dims.size() != 4)
                return Status::failure(Error::kInvalidModel,
                                       "Tensor '{}' has {} dims in the NPU's layout: how they lie "
                                       "there is not known.",
                                       tensor.name, dims.size());
            const uint64_t bytes = bytes_of(tensor.type, tensor.elements());
            if (bytes > tensor.size)
                return bad("tensor '{}' needs {} bytes and reserves {}", tensor.name, bytes,
                           tensor.size);
            return {};
        }
        // reader.cpp gives these orders only to tensors of 4 logical and 5 native dims.
        const auto& native = tensor.native_dims;
        if (dims[0] > native[0] && native[0] > 0)
            return Status::failure(
                Error::kInvalidModel,
                "Tensor '{}' is a batch of {}, the commands compute {}: in a file of "
                "rknn_batch_size all inputs and outputs hold as many pictures. Build the model "
                "with rknn_batch_size 1 and use a context for each picture.",
                tensor.name, dims[0], native[0]);
        const bool positive =
            std::all_of(native.begin(), native.end(), [](int32_t d) { return d > 0; });
        const auto at = [](int32_t value) { return static_cast<uint64_t>(value); };
        const bool packed = tensor.order == Order::kNhwc;
        const bool holds =
            positive && native[0] == dims[0] &&
            (packed ? native[2] == dims[2] && native[3] == dims[3] && dims[1] == native[4]
                    : native[2] >= dims[2] && native[3] >= dims[3] &&
                          at(dims[1]) <= at(native[1]) * at(native[4]));
        if (!holds)
            return bad("the native dims of tensor '{}' do not hold its dims", tensor.name);
        const uint64_t pixels = at(native[2]) * at(native[3]);
        const uint64_t plane = packed ? pixels : surface_pitch(pixels);
        const uint64_t bytes =
            bytes_of(tensor.type, at(native[0]) * at(native[1]) * plane * at(native[4]));
        if (bytes > tensor.size)
            return bad("tensor '{}' needs {} bytes and reserves {}", tensor.name, bytes,
                       tensor.size);
        return {};
    }

    /// Tasks are stored stream after stream, inside a stream in the order of the nodes.
    Status check_streams() {
        uint64_t next = 0;
        bool consistent = true;
        for (size_t stream = 0; stream < kStreams; ++stream) {
            graph_.stream_first[stream] = static_cast<uint32_t>(next);
            for (uint32_t n = 0; n < graph_.nodes.size(); ++n) {
                auto& node = graph_.nodes[n];
                if (!node.on_npu && node.task_count[stream] != 0)
                    return bad("node '{}' runs on the CPU and has NPU tasks", node.name);
                node.first_task[stream] = static_cast<uint32_t>(next);
                next += node.task_count[stream];
                if (next > graph_.tasks.size())
                    return bad("node '{}' needs task {} of {}", node.name, next,
                               graph_.tasks.size());
                for (uint64_t t = node.first_task[stream]; t < next; ++t)
                    consistent = consistent && graph_.tasks[t].op_idx == n;
                if (stream == 0 && !consistent)
                    return bad("the tasks of node '{}' belong to another one", node.name);
            }
            graph_.stream_count[stream] = static_cast<uint32_t>(next) - graph_.stream_first[stream];
        }
        if (!consistent)
            use_one_core();
        return {};
    }

    /// Streams for several cores that are not what the nodes say are left alone.
    void use_one_core() {
        for (size_t stream = 1; stream < kStreams; ++stream) {
            graph_.stream_count[stream] = 0;
            for (auto& node : graph_.nodes)
                node.task_count[stream] = 0;
        }
    }

    bool is_address(uint64_t word) const {
        return block_of(word) != 0 && std::find(map_.addresses.begin(), map_.addresses.end(),
                                                offset_of(word)) != map_.addresses.end();
    }

    /// Whether a relocation may change this command.
    bool takes_address(uint64_t word) const {
        const bool pool = offset_of(word) >= kPoolFirst && offset_of(word) <= kPoolLast;
        return is_address(word) || (block_of(word) != 0 && pool && !map_.pool_is_known);
    }

    Status check_relocations() {
        relocated_.assign(words_, false);
        for (const auto& item : graph_.relocations) {
            if (item.word >= words_)
                return bad("a relocation changes command {} of {}", item.word, words_);
            const auto& tensor = graph_.tensors[static_cast<size_t>(item.tensor)];
            if (relocated_[item.word])
                return bad("command {} is relocated twice", item.word);
            if (!takes_address(graph_.regcmd[item.word]))
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
        for (const auto& task : graph_.tasks)
            amounts_.emplace(task.regcmd_addr, task.regcfg_amount);
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
        return check_bodies();
    }

    /// A tail inside a body would start the blocks before the task is complete.
    Status check_bodies() const {
        for (size_t i = 0; i < graph_.tasks.size(); ++i) {
            const auto& task = graph_.tasks[i];
            const size_t first = task.regcmd_addr / sizeof(uint64_t);
            for (size_t w = first; w < first + task.regcfg_amount; ++w) {
                if (in_tail_[w])
                    return bad("task {} contains the end of another", i);
            }
        }
        return {};
    }

    Status check_tail(size_t task, size_t tail) {
        const auto& words = graph_.regcmd;
        const bool ends =
            block_of(words[tail + 2]) == kMarker && block_of(words[tail + 3]) == kEnable;
        if (!ends)
            return bad("task {} does not end with the enable command", task);
        if ((value_of(words[tail + 3]) & ~map_.blocks) != 0)
            return bad("task {} enables blocks that do not exist ({:#x})", task,
                       value_of(words[tail + 3]));
        const auto jump = words[tail];
        const auto amounts = words[tail + 1];
        if ((block_of(jump) != 0 &&
             (block_of(jump) != kPcBlock || offset_of(jump) != kBaseAddress)) ||
            (block_of(amounts) != 0 &&
             (block_of(amounts) != kPcBlock || offset_of(amounts) != kRegisterAmounts)))
            return bad("task {} sets other registers at its end", task);
        if (in_tail_[tail])
            return {};
        for (size_t i = 0; i < kTailWords; ++i)
            in_tail_[tail + i] = true;
        const bool chains = block_of(words[tail]) == kPcBlock && value_of(words[tail]) != 0;
        if (!chains)
            return {};
        const uint64_t next = value_of(words[tail]);
        const auto follower = amounts_.find(next);
        if (offset_of(words[tail]) != kBaseAddress || next % 16 != 0 || follower == amounts_.end())
            return bad("task {} continues outside the commands", task);
        // The fetch unit is two words, minus one; what is fetched becomes commands.
        const uint64_t fetched = (uint64_t{value_of(words[tail + 1]) & 0xffff} + 1) * 2;
        if (block_of(words[tail + 1]) != kPcBlock ||
            fetched > align_up(uint64_t{follower->second} + kTailWords, 2))
            return bad("task {} fetches more commands than the next one has", task);
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
            if (block != 0 && block != kMarker && block != owner_of(offset_of(word)))
                return bad("command {} sets register {:#06x} of the block {:#06x}", i,
                           offset_of(word), block);
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
                offset_of(graph_.regcmd[item.word]) == map_.feature_address)
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
                if (offset_of(graph_.regcmd[i]) == map_.line_stride)
                    stride = value_of(graph_.regcmd[i]);
            }
            if ((mode & map_.packed_bit) != 0)
                set_row_stride(tensor, stride);
            return;
        }
    }

    /// Rows start at multiples of 16 bytes even where the stride register says less: the sizes of
    /// inputs and the addresses of tiles in the vendor's files agree on that.
    static void set_row_stride(GraphTensor& tensor, uint32_t stride) {
        const auto rows = static_cast<uint64_t>(tensor.native_dims[0]) *
                          static_cast<uint64_t>(tensor.native_dims[2]);
        const auto pixel = bytes_of(tensor.type, static_cast<uint64_t>(tensor.native_dims[4]));
        const uint64_t reserved = tensor.size / std::max<uint64_t>(1, rows * pixel);
        const bool exact =
            reserved * rows * pixel == tensor.size && reserved * pixel % kRowAlignment == 0;
        const auto pitch = exact ? reserved : uint64_t{stride};
        if (pitch >= tensor.row_stride && rows * pixel * pitch <= tensor.size)
            tensor.row_stride = static_cast<uint32_t>(pitch);
    }

    JobGraph& graph_;
    const RegisterMap& map_;
    const size_t words_;
    std::vector<bool> relocated_;
    std::vector<bool> in_tail_;
    std::unordered_map<uint64_t, uint32_t> amounts_;  // words of the task at a byte offset
};

}  // namespace

Status validate(JobGraph& graph) {
    graph.chain_words.clear();
    return Validator(graph).run();
}

}  // namespace rknpu
