// SPDX-License-Identifier: MIT
// A written file, read back by the runtime's own reader.
#include "rknpu_compiler/writer.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "digits.hpp"
#include "model/reader.hpp"

using namespace rknpu::compiler;
using namespace rknpu::compiler::testing;

namespace {

Job digits_job() {
    auto job = lower(quantized_digits());
    REQUIRE(job);
    return std::move(*job);
}

rknpu::JobGraph read_back(const Job& job) {
    auto file = std::make_shared<const std::vector<std::byte>>(write_rknn(job));
    auto graph = rknpu::read_model(file, "rk3588");
    REQUIRE(graph.ok());
    return std::move(graph.value());
}

}  // namespace

TEST_CASE("writer: container header and trailer") {
    const std::vector<std::byte> file = write_rknn(digits_job());
    uint64_t words[3];
    REQUIRE(file.size() > 64);
    std::memcpy(words, file.data(), sizeof(words));
    CHECK(words[0] == 0x4e4e4b52);
    CHECK(words[1] == 6);
    CHECK(words[2] % 64 == 0);
    uint64_t json_size = 0;
    REQUIRE(file.size() > 72 + words[2]);
    std::memcpy(&json_size, file.data() + 64 + words[2], 8);
    CHECK(file.size() == 72 + words[2] + json_size);
    CHECK(std::memcmp(file.data() + 68, "RKNN", 4) == 0);
}

TEST_CASE("writer: the runtime reads back what was written") {
    const Job job = digits_job();
    const rknpu::JobGraph graph = read_back(job);
    CHECK(graph.target == "rk3588");
    CHECK(graph.arena_size == job.arena_bytes);
    CHECK(std::equal(graph.regcmd.begin(), graph.regcmd.end(), job.commands.words().begin(),
                     job.commands.words().end()));
    REQUIRE(graph.tasks.size() == job.commands.tasks().size());
    for (size_t i = 0; i < graph.tasks.size(); i++) {
        const TaskRecord& task = job.commands.tasks()[i];
        CHECK(graph.tasks[i].enable_mask == task.enable_mask);
        CHECK(graph.tasks[i].int_mask == task.int_mask);
        CHECK(graph.tasks[i].int_clear == 0x1ffff);
        CHECK(graph.tasks[i].regcfg_amount == task.amount);
        CHECK(graph.tasks[i].regcmd_addr == task.offset);
        CHECK(graph.tasks[i].op_idx == task.op_index);
    }
    CHECK(graph.relocations.size() == job.commands.relocations().size());
    CHECK(graph.chain_words.size() == job.commands.link_words().size());

    REQUIRE(graph.tensors.size() >= job.tensors.size());
    for (size_t i = 1; i < job.tensors.size(); i++) {
        const JobTensor& written = job.tensors[i];
        const rknpu::GraphTensor& read = graph.tensors[i];
        CAPTURE(written.name);
        CHECK(read.name == written.name);
        CHECK(read.dims == written.dims);
        CHECK(read.size == written.size);
        const bool constant = written.kind == TensorKind::kConstant;
        CHECK(read.place == (constant ? rknpu::Place::kConstants : rknpu::Place::kArena));
        if (constant) {
            CHECK(std::equal(read.data.begin(), read.data.end(), written.data.begin(),
                             written.data.end()));
        } else {
            CHECK(read.offset == written.offset);
            CHECK(read.scale == written.quant.scale);
            CHECK(read.zero_point == written.quant.zero_point);
        }
    }
    CHECK(graph.inputs == job.inputs);
    CHECK(graph.outputs == job.outputs);
    REQUIRE(graph.normalisation.size() == 1);
    CHECK(graph.normalisation[0].mean == std::vector<float>{0});
    CHECK(graph.normalisation[0].scale == std::vector<float>{255});
    REQUIRE(graph.nodes.size() == job.nodes.size());
    for (size_t i = 0; i < job.nodes.size(); i++) {
        CHECK(graph.nodes[i].type == job.nodes[i].type);
        CHECK(graph.nodes[i].on_npu == job.nodes[i].on_npu);
        CHECK(graph.nodes[i].task_count == job.nodes[i].task_counts);
    }
}

TEST_CASE("writer: the runtime finds the row pitch of packed images") {
    for (const uint32_t channels : {1U, 3U, 4U}) {
        for (const uint32_t width : {5U, 10U, 16U, 28U}) {
            for (const uint32_t height : {3U, 27U}) {
                CAPTURE(channels, width, height);
                Graph graph;
                graph.tensors = {{"in", channels, height, width, {-1, 1}},
                                 {"out", 0, 0, 0, {-1, 1}}};
                Layer layer;
                layer.name = "conv";
                layer.inputs = {0};
                layer.output = 1;
                layer.weights.assign(2 * channels, 0.5F);
                graph.layers = {layer};
                graph.inputs = {
                    {0, std::vector<float>(channels, 0), std::vector<float>(channels, 1)}};
                graph.outputs = {1};
                REQUIRE_FALSE(infer_shapes(graph));
                const auto quantized = quantize(graph);
                REQUIRE(quantized);
                const auto job = lower(*quantized);
                REQUIRE(job);
                const rknpu::JobGraph read = read_back(*job);
                const rknpu::GraphTensor& input = read.tensors[static_cast<size_t>(read.inputs[0])];
                const bool packed = input.order == rknpu::Order::kNhwc;
                const uint32_t row = (width * channels + 15) / 16 * 16;
                CHECK(packed == (row % channels == 0));
                CHECK((!packed || input.row_stride * channels == row));
            }
        }
    }
}
