// SPDX-License-Identifier: MIT
// Layers whose input does not fit the convolution buffer: several tasks must give what one would.
#include <catch2/catch.hpp>
#include <random>

#include "job_runner.hpp"

using namespace rknpu::compiler;
using namespace rknpu::compiler::testing;

namespace {

struct Case {
    const char* what;
    uint32_t channels, height, width;
    OpType type;
    uint32_t kernels;
    Window window;
    uint32_t pad;
    bool add;
    size_t least_tasks;
};

Graph make_graph(const Case& c, std::mt19937& random) {
    Graph graph;
    graph.tensors = {{"in", c.channels, c.height, c.width, {-1, 1}}, {"out", 0, 0, 0, {-3, 3}}};
    graph.inputs = {{0, std::vector<float>(c.channels, 0), std::vector<float>(c.channels, 1)}};
    graph.outputs = {1};
    Layer layer;
    layer.name = "big";
    layer.type = c.type;
    layer.inputs = {0};
    layer.output = 1;
    layer.window = c.window;
    layer.window.pad_top = layer.window.pad_left = c.pad;
    layer.pad_bottom = layer.pad_right = c.pad;
    const size_t per_kernel = size_t{c.window.height} * c.window.width *
                              (c.type == OpType::kDepthwiseConv ? 1 : c.channels);
    for (size_t i = 0; i < c.kernels * per_kernel; i++) {
        layer.weights.push_back((static_cast<float>(random() % 2001) / 1000 - 1) /
                                std::sqrt(static_cast<float>(per_kernel)));
    }
    if (c.add) {
        layer.inputs.push_back(0);
    }
    graph.layers = {layer};
    return graph;
}

}  // namespace

TEST_CASE("row tiles equal one pass") {
    const Window k1{};
    const Window k3{3, 3, 1, 1, 0, 0, 1, 1};
    const Window k3s2{3, 3, 2, 2, 0, 0, 1, 1};
    const Window k5d2{5, 5, 1, 1, 0, 0, 2, 2};
    const std::vector<Case> cases{
        {"colour image, stride 2", 3, 192, 192, OpType::kConv, 8, k3s2, 1, false, 2},
        {"grey image", 1, 400, 300, OpType::kConv, 4, k3, 1, false, 2},
        {"pointwise", 32, 112, 112, OpType::kConv, 8, k1, 0, false, 2},
        {"3x3 with addition", 16, 150, 200, OpType::kConv, 16, k3, 1, true, 2},
        {"dilated", 32, 100, 120, OpType::kConv, 4, k5d2, 4, false, 2},
        {"depthwise", 72, 90, 80, OpType::kDepthwiseConv, 72, k3, 1, false, 2},
        {"depthwise, stride 2", 96, 80, 81, OpType::kDepthwiseConv, 96, k3s2, 1, false, 2},
        {"weights larger than the buffer", 480, 3, 3, OpType::kConv, 130, k3, 1, false, 1},
        {"weights and rows both too large", 272, 40, 40, OpType::kConv, 150, k3, 1, false, 2}};
    std::mt19937 random(7);
    for (const Case& c : cases) {
        CAPTURE(c.what);
        Graph graph = make_graph(c, random);
        REQUIRE_FALSE(infer_shapes(graph));
        const auto quantized = quantize(graph);
        REQUIRE(quantized);
        const auto job = lower(*quantized);
        if (!job) {
            FAIL(job.error().text);
        }
        CHECK(job->commands.tasks().size() >= c.least_tasks);
        Map input(size_t{c.channels} * c.height * c.width);
        for (int8_t& v : input) {
            v = static_cast<int8_t>(random());
        }
        JobRunner runner(*job);
        const auto error = runner.run({input});
        if (error) {
            FAIL(*error);
        }
        const bool same = runner.read(static_cast<size_t>(job->outputs[0])) ==
                          run_reference(*quantized, {input})[1];
        CHECK(same);
    }
}

TEST_CASE("a row that does not fit the buffer is refused with advice") {
    std::mt19937 random(8);
    Graph graph = make_graph(
        {"", 4096, 7, 64, OpType::kConv, 2, {7, 1, 1, 1, 0, 0, 1, 1}, 0, false, 1}, random);
    REQUIRE_FALSE(infer_shapes(graph));
    const auto quantized = quantize(graph);
    REQUIRE(quantized);
    const auto job = lower(*quantized);
    REQUIRE_FALSE(job);
    CHECK(job.error().text.find("big") != std::string::npos);
    CHECK(job.error().text.find("384 KiB") != std::string::npos);
}
