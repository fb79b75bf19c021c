// SPDX-License-Identifier: MIT
#include "support/mutate_model.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace rknpu::test {
namespace {

constexpr size_t kTaskBytes = 40;
constexpr uint8_t kRegcmd = 9, kTasks = 10;  // kinds of a tensor

class Mutation {
 public:
    Mutation(schema::ModelT& model, std::mt19937& random) : model_(model), random_(random) {}

    void apply() {
        if (model_.graphs.empty())
            return;
        graph_ = model_.graphs[below(model_.graphs.size())].get();
        if (graph_ == nullptr || graph_->tensors.empty())
            return;
        // Commands and tensors are most of what there is to get wrong.
        switch (below(15)) {
            case 14:
                return batch();
            case 0:
                return task();
            case 1:
            case 2:
                return relocation();
            case 3:
                return node();
            case 4:
                return ends();
            case 5:
                return patch();
            case 6:
                return plan();
            case 7:
            case 8:
            case 9:
                return tensor();
            default:
                return command();
        }
    }

 private:
    size_t below(size_t limit) { return limit == 0 ? 0 : random_() % limit; }

    void number(float& value) { value *= static_cast<float>(below(5)) - 2.0f; }

    template <typename T>
    void number(T& value) {
        constexpr std::array<uint32_t, 12> kValues = {
            0, 1, 2, 15, 16, 64, 0x7f, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff};
        switch (below(5)) {
            case 0:
                value = static_cast<T>(kValues[below(kValues.size())]);
                break;
            case 1:
                value = static_cast<T>(static_cast<uint64_t>(value) + below(33) - 16);
                break;
            case 2:
                value = static_cast<T>(static_cast<uint64_t>(value) ^ uint64_t{1} << below(32));
                break;
            case 3:
                value = static_cast<T>(static_cast<uint64_t>(value) * (2 + below(3)));
                break;
            default:
                value = static_cast<T>(random_());
        }
    }

    template <typename T>
    void numbers(std::vector<T>& list) {
        const size_t what = below(8);
        if (what == 0 && list.size() < 20)
            list.insert(list.begin() + static_cast<ptrdiff_t>(below(list.size() + 1)), T{});
        else if (what == 1 && !list.empty())
            list.erase(list.begin() + static_cast<ptrdiff_t>(below(list.size())));
        else if (what == 2 && list.size() > 1)
            std::swap(list[below(list.size())], list[below(list.size())]);
        else if (!list.empty())
            number(list[below(list.size())]);
    }

    schema::TensorT& any_tensor() { return *graph_->tensors[below(graph_->tensors.size())]; }

    std::vector<uint8_t>* blob(uint8_t kind) {
        for (const auto& tensor : graph_->tensors) {
            if (tensor->kind == kind && tensor->buffer < model_.buffers.size())
                return &model_.buffers[tensor->buffer]->data;
        }
        return nullptr;
    }

    /// Value, register or whole of a command; or another command in its place.
    void command() {
        auto* bytes = blob(kRegcmd);
        if (bytes == nullptr || bytes->size() < 8)
            return legacy();
        const size_t words = bytes->size() / 8;
        uint8_t* const at = bytes->data() + 8 * below(words);
        uint64_t word = 0;
        std::memcpy(&word, at, sizeof(word));
        auto value = static_cast<uint32_t>(word >> 16);
        switch (below(8)) {
            case 0:
                std::memcpy(&word, bytes->data() + 8 * below(words), sizeof(word));
                break;
            case 1:
                word ^= uint64_t{4} << below(6);  // a neighbouring register
                break;
            case 2:
                word = 0;
                break;
            default:
                number(value);
                word = (word & ~(uint64_t{0xffffffff} << 16)) | uint64_t{value} << 16;
        }
        std::memcpy(at, &word, sizeof(word));
    }

    /// Files of layout 2: a task of a node, or the bytes of its commands.
    void legacy() {
        auto& node = *graph_->nodes[below(graph_->nodes.size())];
        if (node.legacy_tasks.empty())
            return;
        auto& task = *node.legacy_tasks[below(node.legacy_tasks.size())];
        const std::array<uint32_t*, 5> fields = {&task.regcmd_tensor, &task.enable_mask,
                                                 &task.int_mask, &task.core_index,
                                                 &task.core_count};
        const size_t which = below(fields.size() + 4);
        if (which < fields.size())
            return number(*fields[which]);
        if (task.regcmd_tensor >= graph_->tensors.size())
            return;
        const auto buffer = graph_->tensors[task.regcmd_tensor]->buffer;
        if (buffer < model_.legacy_buffers.size())
            numbers(model_.legacy_buffers[buffer]->data);
    }

    void task() {
        auto* bytes = blob(kTasks);
        if (bytes == nullptr || bytes->size() < kTaskBytes)
            return legacy();
        uint8_t* const at =
            bytes->data() + kTaskBytes * below(bytes->size() / kTaskBytes) + 4 * below(10);
        uint32_t value = 0;
        std::memcpy(&value, at, sizeof(value));
        number(value);
        std::memcpy(at, &value, sizeof(value));
    }

    void tensor() {
        auto& tensor = any_tensor();
        switch (below(12)) {
            case 0:
                return number(tensor.dtype);
            case 1:
                return number(tensor.layout);
            case 2:
                tensor.kind = static_cast<uint8_t>(below(12));
                return;
            case 3:
                return numbers(tensor.native_dims);
            case 4:
                return numbers(tensor.dims);
            case 5:
                tensor.name = any_tensor().name;
                return;
            case 6:
                return numbers(tensor.zero_point);
            case 7:
                return number(tensor.size);
            case 8:
                return number(tensor.offset);
            case 9:
                return number(tensor.buffer);
            case 10:
                if (!tensor.scale.empty())
                    tensor.scale[0] *= static_cast<float>(below(3)) - 1.0f;
                return;
            default:
                if (tensor.buffer < model_.buffers.size())
                    model_.buffers[tensor.buffer]->data.resize(
                        below(model_.buffers[tensor.buffer]->data.size() + 65));
        }
    }

    void relocation() {
        if (graph_->relocations.empty())
            return;
        auto& list = *graph_->relocations[below(graph_->relocations.size())];
        if (below(6) == 0 || list.entries.empty()) {
            list.tensor = any_tensor().name;
            return;
        }
        auto& entry = list.entries[below(list.entries.size())];
        int32_t addend = entry.addend();
        uint32_t word = entry.word();
        if (below(2) == 0)
            number(addend);
        else
            number(word);
        entry = schema::Relocation(addend, word);
    }

    void node() {
        if (graph_->nodes.empty())
            return;
        auto& node = *graph_->nodes[below(graph_->nodes.size())];
        switch (below(6)) {
            case 0:
                node.engine = static_cast<uint8_t>(below(3));
                return;
            case 1:
                return numbers(node.inputs);
            case 2:
                return numbers(node.outputs);
            case 3:
                return numbers(node.task_counts);
            case 4:
                return numbers(node.lut_counts);
            default:
                return numbers(node.attributes);
        }
    }

    void ends() { numbers(below(2) == 0 ? graph_->inputs : graph_->outputs); }

    /// As files of rknn_batch_size are.
    void batch() {
        const auto pictures = static_cast<int32_t>(below(6));
        const bool native = below(3) == 0;
        const bool room = below(2) == 0;
        for (const auto* list : {&graph_->inputs, &graph_->outputs}) {
            for (const int32_t end : *list) {
                if (end < 0 || static_cast<size_t>(end) >= graph_->tensors.size())
                    continue;
                auto& tensor = *graph_->tensors[static_cast<size_t>(end)];
                if (!tensor.dims.empty())
                    tensor.dims[0] = pictures;
                if (native && !tensor.native_dims.empty())
                    tensor.native_dims[0] = pictures;
                if (room)
                    tensor.size *= static_cast<uint32_t>(pictures);
            }
        }
        if (room && model_.memory != nullptr)
            model_.memory->arena_bytes *= static_cast<uint32_t>(pictures);
    }

    void patch() {
        if (graph_->convert_patches.empty() || graph_->convert_patches.front()->streams.empty())
            return;
        auto& list = graph_->convert_patches[below(graph_->convert_patches.size())]->streams;
        if (list.empty())
            return;
        auto& slot = list[below(list.size())]->cvt_con0;
        uint32_t word = slot == nullptr ? 0 : slot->word();
        number(word);
        slot = std::make_unique<schema::Patch>(0, word);
    }

    void plan() {
        if (model_.memory != nullptr && below(2) == 0)
            number(model_.memory->arena_bytes);
        else if (!graph_->normalisation.empty())
            numbers(graph_->normalisation.front()->mean);
    }

    schema::ModelT& model_;
    std::mt19937& random_;
    schema::GraphT* graph_ = nullptr;
};

}  // namespace

void mutate_model(schema::ModelT& model, std::mt19937& random) {
    Mutation(model, random).apply();
}

}  // namespace rknpu::test
