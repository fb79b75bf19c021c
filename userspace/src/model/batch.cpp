// SPDX-License-Identifier: MIT
#include "model/batch.hpp"

#include <algorithm>
#include <utility>

#include "core/bytes.hpp"

namespace rknpu {
namespace {

constexpr uint64_t kLargestTensor = uint64_t{1} << 31;
constexpr uint64_t kArenaAlignment = 4096;
constexpr uint64_t kCommandAlignment = 8;  // words
constexpr uint64_t kAtomBytes = 16;
constexpr uint64_t kTensorAlignment = 64;
constexpr uint32_t kLargestBatch = 4096;

bool is_end(const GraphTensor& tensor) {
    return tensor.kind == TensorKind::kInput || tensor.kind == TensorKind::kOutput;
}

/// Inputs, then outputs.
std::vector<int32_t> ends_of(const JobGraph& graph) {
    auto ends = graph.inputs;
    ends.insert(ends.end(), graph.outputs.begin(), graph.outputs.end());
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    return ends;
}

/// The first dim that all inputs and outputs have in common, 1 if there is none.
uint32_t common_batch(const JobGraph& graph) {
    int32_t batch = -1;  // none seen
    for (const int32_t end : ends_of(graph)) {
        const auto& tensor = graph.tensors[static_cast<size_t>(end)];
        if (tensor.dims.empty() || !is_end(tensor) || (batch >= 0 && tensor.dims[0] != batch))
            return 1;
        batch = tensor.dims[0];
    }
    return batch >= 1 && batch <= static_cast<int32_t>(kLargestBatch) ? static_cast<uint32_t>(batch)
                                                                      : 1;
}

/// Bytes from one picture to the next. The tensor's native dims have been checked.
uint64_t picture_bytes(const GraphTensor& tensor) {
    const auto& native = tensor.native_dims;
    const auto at = [&](size_t i) { return static_cast<uint64_t>(native[i]); };
    if (tensor.order == Order::kNhwc)
        return bytes_of(tensor.type, at(2) * tensor.row_stride * at(4));
    if (tensor.order == Order::kNc1hwc2) {
        return bytes_of(tensor.type, at(1) * surface_pitch(at(2) * at(3)) * at(4));
    }
    return bytes_of(tensor.type, tensor.elements());
}

template <typename T>
uint64_t bytes_in(const std::vector<T>& list) {
    return list.size() * sizeof(T);
}

uint64_t attribute_bytes(const Attribute& value) {
    return sizeof(Attributes::value_type) +
           std::visit([](const auto& held) { return held.size() * sizeof(held[0]); }, value);
}

/// What a copy of a node takes. The runtime makes another one of attributes and operands.
uint64_t node_bytes(const GraphNode& node) {
    constexpr uint64_t kOperand = 512;
    uint64_t attributes = 0;
    for (const auto& [name, value] : node.attributes)
        attributes += name.size() + attribute_bytes(value);
    return sizeof(GraphNode) + node.type.size() + node.name.size() + 2 * attributes +
           (node.inputs.size() + node.outputs.size()) * kOperand;
}

/// What a part of an input or output takes.
uint64_t part_bytes(const GraphTensor& tensor) {
    return sizeof(GraphTensor) + tensor.name.size() + bytes_in(tensor.dims) +
           bytes_in(tensor.native_dims);
}

class Repeater {
 public:
    Repeater(JobGraph& graph, uint32_t batch)
        : graph_(graph),
          batch_(batch),
          lanes_(std::min(batch, graph.target == "rk3576" ? 2u : 3u)),
          words_(align_up(graph.regcmd.size(), kCommandAlignment)) {}

    Status run(uint64_t& room) {
        stage_ends();
        while (lanes_ > 1 && arena_bytes() * lanes_ > kLargestArena)
            --lanes_;
        if (auto status = check_size(room); !status.ok())
            return status;
        room -= bytes_of_picture() * batch_;
        repeat_tensors();
        repeat_commands();
        repeat_nodes();
        graph_.batch = batch_;
        graph_.lanes = lanes_;
        return {};
    }

 private:
    uint64_t stride_of(int32_t end) const {
        return picture_bytes(graph_.tensors[static_cast<size_t>(end)]);
    }

    uint64_t arena_bytes() const { return align_up(graph_.arena_size, kArenaAlignment); }

    /// The NPU reads and writes at multiples of 16 bytes, and may write more channels than a
    /// picture has. Where the pictures of an input or output lie closer, a layer on the CPU moves
    /// each one between its place and an internal tensor.
    void stage_ends() {
        std::vector<bool> used(graph_.tensors.size(), false);
        for (const auto& item : graph_.relocations)
            used[static_cast<size_t>(item.tensor)] = true;
        for (const int32_t end : ends_of(graph_)) {
            const auto& tensor = graph_.tensors[static_cast<size_t>(end)];
            const uint64_t stride = stride_of(end);
            const bool input = tensor.kind == TensorKind::kInput;
            const bool apart = stride % kAtomBytes == 0 && (input || tensor.size <= stride);
            if (used[static_cast<size_t>(end)] && !apart)
                stage(end, input);
        }
    }

    void stage(int32_t end, bool input) {
        const auto inside = static_cast<int32_t>(graph_.tensors.size());
        auto copy = graph_.tensors[static_cast<size_t>(end)];
        copy.kind = TensorKind::kInternal;
        copy.offset = align_up(graph_.arena_size, kTensorAlignment);
        graph_.arena_size = copy.offset + copy.size;
        for (auto& item : graph_.relocations)
            item.tensor = item.tensor == end ? inside : item.tensor;
        for (auto& node : graph_.nodes) {
            std::ranges::replace(node.inputs, end, inside);
            std::ranges::replace(node.outputs, end, inside);
        }
        std::erase_if(graph_.input_patches,
                      [end](const InputPatch& patch) { return patch.tensor == end; });
        GraphNode node;
        node.type = "Identity";
        node.name = copy.name + ":picture";
        node.inputs = {input ? end : inside};
        node.outputs = {input ? inside : end};
        graph_.nodes.insert(input ? graph_.nodes.begin() : graph_.nodes.end(), std::move(node));
        graph_.tensors.push_back(std::move(copy));
    }

    /// Of all that is there once for each picture. The device gets a copy of commands and tasks.
    uint64_t bytes_of_picture() const {
        uint64_t sum = 2 * (words_ * sizeof(uint64_t) + bytes_in(graph_.tasks)) +
                       2 * bytes_in(graph_.relocations) + bytes_in(graph_.chain_words);
        for (const auto& patch : graph_.input_patches)
            sum += bytes_in(patch.geometry) + bytes_in(patch.converter);
        for (const auto& node : graph_.nodes)
            sum += node_bytes(node);
        for (const int32_t end : ends_of(graph_))
            sum += part_bytes(graph_.tensors[static_cast<size_t>(end)]);
        return sum;
    }

    Status too_large(std::string_view what, uint64_t has, uint64_t most) const {
        return Status::failure(Error::kInvalidModel,
                               "The model is too large for a batch of {}: {} would take {} MiB, at "
                               "most {} can be. Build it with a smaller rknn_batch_size.",
                               batch_, what, (has >> 20) + 1, most >> 20);
    }

    Status check_size(uint64_t room) const {
        const uint64_t repeated = bytes_of_picture() * batch_;
        if (repeated > room)
            return too_large("its commands and layers", repeated, room);
        if (const uint64_t arena = arena_bytes() * lanes_; arena > kLargestArena)
            return too_large("its working memory", arena, kLargestArena);
        for (const int32_t end : ends_of(graph_)) {
            const auto& tensor = graph_.tensors[static_cast<size_t>(end)];
            const uint64_t bytes = (stride_of(end) + tensor.size) * batch_;
            if (bytes > kLargestTensor)
                return too_large(fmt::format("'{}'", tensor.name), bytes, kLargestTensor);
        }
        return {};
    }

    /// Parts of inputs and outputs, and internal tensors of their own for each lane.
    void repeat_tensors() {
        const size_t count = graph_.tensors.size();
        const uint64_t arena = arena_bytes();
        for (uint32_t lane = 0; lane < lanes_; ++lane) {
            auto& map = internal_.emplace_back(count);
            for (size_t i = 0; i < count; ++i) {
                map[i] = static_cast<int32_t>(i);
                if (lane == 0 || graph_.tensors[i].place != Place::kArena ||
                    is_end(graph_.tensors[i]))
                    continue;
                map[i] = static_cast<int32_t>(graph_.tensors.size());
                auto copy = graph_.tensors[i];
                copy.offset += arena * lane;
                graph_.tensors.push_back(std::move(copy));
            }
        }
        if (lanes_ > 1)
            graph_.arena_size = arena * lanes_;
        first_part_.assign(count, -1);
        for (const int32_t end : ends_of(graph_))
            add_parts(end);
    }

    void add_parts(int32_t end) {
        const auto first = static_cast<int32_t>(graph_.tensors.size());
        const uint64_t stride = stride_of(end);
        for (uint32_t picture = 0; picture < batch_; ++picture) {
            auto part = graph_.tensors[static_cast<size_t>(end)];
            part.part_of = end;
            part.offset = stride * picture;
            graph_.tensors.push_back(std::move(part));
        }
        auto& whole = graph_.tensors[static_cast<size_t>(end)];
        first_part_[static_cast<size_t>(end)] = whole.first_part = first;
        whole.size += stride * (batch_ - 1);
        whole.dims[0] = static_cast<int32_t>(batch_);
        if (!whole.native_dims.empty())
            whole.native_dims[0] = static_cast<int32_t>(batch_);
    }

    /// What tensor `index` of the file is for one picture.
    int32_t tensor_of(int32_t index, uint32_t picture) const {
        const auto at = static_cast<size_t>(index);
        return first_part_[at] < 0 ? internal_[picture % lanes_][at]
                                   : first_part_[at] + static_cast<int32_t>(picture);
    }

    void repeat_commands() {
        const auto relocations = std::exchange(graph_.relocations, {});
        const auto chains = std::exchange(graph_.chain_words, {});
        graph_.regcmd.resize(words_);
        const auto commands = graph_.regcmd;
        graph_.regcmd.resize(words_ * batch_);
        for (uint32_t picture = 0; picture < batch_; ++picture) {
            const auto base = static_cast<uint32_t>(words_ * picture);
            std::ranges::copy(commands, graph_.regcmd.begin() + base);
            for (const auto& item : relocations)
                graph_.relocations.push_back(
                    {item.word + base, tensor_of(item.tensor, picture), item.addend});
            for (const uint32_t word : chains) {
                graph_.chain_words.push_back(word + base);
                // The value, an offset into the blob, stands in bits 16 to 47: no carry gets out.
                graph_.regcmd[word + base] += uint64_t{base} * sizeof(uint64_t) << 16;
            }
        }
        const auto move = [this](std::vector<WordPatch>& words) {
            const auto once = words;
            for (uint32_t picture = 1; picture < batch_; ++picture) {
                for (const auto& item : once)
                    words.push_back(
                        {item.word + static_cast<uint32_t>(words_ * picture), item.value});
            }
        };
        for (auto& patch : graph_.input_patches) {
            move(patch.geometry);
            move(patch.converter);
        }
    }

    void repeat_nodes() {
        const auto nodes = std::exchange(graph_.nodes, {});
        for (uint32_t picture = 0; picture < batch_; ++picture) {
            for (const auto& from : nodes) {
                auto& node = graph_.nodes.emplace_back(from);
                node.picture = picture;
                for (auto* list : {&node.inputs, &node.outputs}) {
                    for (int32_t& tensor : *list)
                        tensor = tensor_of(tensor, picture);
                }
            }
        }
        const auto tasks = std::exchange(graph_.tasks, {});
        for (size_t stream = 0; stream < kStreams; ++stream) {
            graph_.stream_first[stream] = static_cast<uint32_t>(graph_.tasks.size());
            for (uint32_t n = 0; n < graph_.nodes.size(); ++n) {
                auto& node = graph_.nodes[n];
                const uint32_t first = node.first_task[stream];
                node.first_task[stream] = static_cast<uint32_t>(graph_.tasks.size());
                for (uint32_t t = first; t < first + node.task_count[stream]; ++t) {
                    auto& task = graph_.tasks.emplace_back(tasks[t]);
                    task.op_idx = n;
                    task.regcmd_addr += words_ * sizeof(uint64_t) * node.picture;
                }
            }
            graph_.stream_count[stream] =
                static_cast<uint32_t>(graph_.tasks.size()) - graph_.stream_first[stream];
        }
    }

    JobGraph& graph_;
    uint32_t batch_;
    uint32_t lanes_;
    uint64_t words_;
    std::vector<std::vector<int32_t>> internal_;  // per lane and tensor of the file
    std::vector<int32_t> first_part_;             // per tensor of the file
};

}  // namespace

Batch batch_of(const JobGraph& graph) {
    const uint32_t pictures = common_batch(graph);
    if (pictures == 1)
        return {};
    const auto ends = ends_of(graph);
    bool native = false;
    bool single = true;
    for (const int32_t end : ends) {
        const auto& tensor = graph.tensors[static_cast<size_t>(end)];
        native = native || tensor.order != Order::kPlain;
        single = single && (tensor.order == Order::kPlain || tensor.native_dims[0] == 1);
    }
    if (native && single)
        return {pictures, true};
    for (const auto& tensor : graph.tensors) {
        if (tensor.place == Place::kArena && !is_end(tensor) && tensor.order != Order::kPlain &&
            (tensor.dims[0] != 1 || tensor.native_dims[0] != 1))
            return {};
    }
    std::vector<bool> used(graph.tensors.size(), false);
    for (const auto& item : graph.relocations)
        used[static_cast<size_t>(item.tensor)] = true;
    const bool all =
        std::ranges::all_of(ends, [&](int32_t end) { return used[static_cast<size_t>(end)]; });
    return {all ? pictures : 1, false};
}

void keep_one_picture(JobGraph& graph, uint32_t pictures, bool all) {
    for (const int32_t end : ends_of(graph)) {
        auto& tensor = graph.tensors[static_cast<size_t>(end)];
        if (all)
            tensor.size /= pictures;
        tensor.dims[0] = 1;
        if (!tensor.native_dims.empty())
            tensor.native_dims[0] = 1;
    }
}

Status repeat_for_batch(JobGraph& graph, uint32_t pictures, uint64_t& room) {
    return Repeater(graph, pictures).run(room);
}

}  // namespace rknpu
