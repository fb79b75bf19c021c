// SPDX-License-Identifier: MIT
#include "support/networks.hpp"

#include <cstdio>
#include <cstdlib>

#include "rknpu_compiler/writer.hpp"

namespace rknpu::test {
namespace {

template <typename T>
T must(T value, const char* what) {
    if (!value) {
        std::fprintf(stderr, "the network for a test: %s failed\n", what);
        std::abort();
    }
    return value;
}

}  // namespace

std::vector<std::byte> network(Size size, float gain) {
    compiler::Graph graph;
    graph.name = "two";
    graph.tensors = {{"in", 3, size.first, size.second, {0, 255}},
                     {"middle", 8, 0, 0, {0, 900}},
                     {"out", 8, 0, 0, {-2000, 2000}}};
    const auto conv = [&](const char* name, uint32_t from, uint32_t to, uint32_t channels) {
        compiler::Layer layer;
        layer.name = name;
        layer.inputs = {from};
        layer.output = to;
        layer.window.height = layer.window.width = 3;
        layer.window.pad_top = layer.window.pad_left = 1;
        layer.pad_bottom = layer.pad_right = 1;
        layer.relu = to == 1;
        for (uint32_t i = 0; i < 8 * channels * 9; ++i)
            layer.weights.push_back(gain * (static_cast<float>(i * 7 % 23) - 11) / 11);
        return layer;
    };
    graph.layers = {conv("first", 0, 1, 3), conv("second", 1, 2, 8)};
    graph.inputs = {{0, {0, 0, 0}, {1, 1, 1}}};
    graph.outputs = {2};
    must(!compiler::infer_shapes(graph), "inference of shapes");
    auto quantised = must(compiler::quantize(std::move(graph)), "quantisation");
    auto job = must(compiler::lower(*quantised), "lowering");
    return compiler::write_rknn(*job);
}

std::vector<std::byte> dynamic_network(std::span<const Size> sizes,
                                       const std::function<void(schema::ModelT&)>& more) {
    return edit_model(network(sizes[0]), [&](schema::ModelT& model) {
        for (const auto& size : sizes.subspan(1))
            add_shape(model, network(size));
        if (more)
            more(model);
    });
}

}  // namespace rknpu::test
