// SPDX-License-Identifier: MIT
// Fuzz target: .rknn files. What the loader accepts is run: all tasks on a memory in which only the
// model's own buffers lie, and the layers on the CPU.
#include <rknn_generated.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "model/reader.hpp"
#include "runtime/cpu_step.hpp"
#include "support/edit_model.hpp"
#include "support/live_run.hpp"
#include "support/mutate_model.hpp"

namespace {

using namespace rknpu;  // NOLINT: one program

constexpr uint64_t kMostBytes = uint64_t{16} << 20;
constexpr uint64_t kMostWork = uint64_t{1} << 18;
constexpr uint64_t kMostElements = uint64_t{1} << 14;  // of a tensor of a CPU layer

/// Runs the layers on the CPU in a memory of their own.
void run_cpu_layers(const JobGraph& graph) {
    std::vector<std::vector<std::byte>> memory(graph.tensors.size());
    uint64_t total = 0;
    for (size_t i = 0; i < memory.size(); ++i) {
        const auto& tensor = graph.tensors[i];
        total += tensor.place == Place::kArena ? tensor.size : 0;
        if (total > kMostBytes)
            return;
        if (tensor.place == Place::kArena)
            memory[i].resize(tensor.size);
    }
    CpuSteps steps;
    if (!steps.prepare(graph).ok() || !steps.check_operators().ok() ||
        !steps.check_registered().ok())
        return;
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
        const auto& node = graph.nodes[i];
        bool small = !node.on_npu && node.type != "InputOperator" && node.type != "OutputOperator";
        for (const auto* list : {&node.inputs, &node.outputs}) {
            for (const int32_t tensor : *list)
                small =
                    small && graph.tensors[static_cast<size_t>(tensor)].elements() <= kMostElements;
        }
        if (small)
            (void)steps.run(i, [&](int32_t tensor) {
                return std::span<std::byte>(memory[static_cast<size_t>(tensor)]);
            });
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto* start = reinterpret_cast<const std::byte*>(data);
    const auto shapes =
        read_shapes(std::make_shared<const std::vector<std::byte>>(start, start + size), {});
    if (!shapes.ok())
        return 0;
    for (const auto& graph : shapes.value()) {
        const auto result = test::run_live(graph, kMostWork);
        if (!result.escape.empty()) {
            std::fprintf(stderr, "an accepted file leaves its buffers: %s\n",
                         result.escape.c_str());
            std::abort();
        }
        run_cpu_layers(graph);
    }
    return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

/// Mostly changes that keep the structure; sometimes bytes anywhere.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
    std::mt19937 random(seed);
    const auto* start = reinterpret_cast<const std::byte*>(data);
    const std::vector<std::byte> file(start, start + size);
    const bool loads = read_target(std::make_shared<const std::vector<std::byte>>(file)).ok();
    if (!loads || random() % 8 == 0)
        return LLVMFuzzerMutate(data, size, most);
    const auto changed = test::edit_model(file, [&](schema::ModelT& model) {
        for (uint32_t i = 0; i <= random() % 3; ++i)
            test::mutate_model(model, random);
    });
    if (changed.size() > most)
        return size;
    std::memcpy(data, changed.data(), changed.size());
    return changed.size();
}
