// SPDX-License-Identifier: MIT
#include "rknpu_compiler/quantize.hpp"

#include <catch2/catch.hpp>
#include <cmath>

#include "rknpu_compiler/arena.hpp"
#include "rknpu_compiler/network_json.hpp"

using namespace rknpu::compiler;

TEST_CASE("ranges: zero is exact, both ends are reached") {
    for (const Range range : {Range{0, 1}, Range{-1, 1}, Range{-3.5F, 0.25F}, Range{2, 5},
                              Range{-7, -3}, Range{0, 0}}) {
        CAPTURE(range.min, range.max);
        const QuantParams p = quantize_range(range);
        CHECK(p.zero_point >= -128);
        CHECK(p.zero_point <= 127);
        const auto low = std::lround(range.min / p.scale) + p.zero_point;
        const auto high = std::lround(range.max / p.scale) + p.zero_point;
        CHECK(low >= -129);
        CHECK(high <= 128);
    }
    CHECK(quantize_range({0, 1}).zero_point == -128);
    CHECK(quantize_range({0, 1}).scale == Approx(1.0 / 255));
}

TEST_CASE("requant: 15 significant bits, refused outside the hardware's range") {
    for (double factor = 1e-9; factor < 3e4; factor *= 1.37) {
        const auto r = make_requant(factor, 5);
        REQUIRE(r);
        CHECK(r->scale >= 1 << 14);
        CHECK(r->scale < 1 << 15);
        CHECK(r->offset == 5);
        CHECK(std::ldexp(r->scale, -r->shift) == Approx(factor).epsilon(1.0 / (1 << 14)));
    }
    CHECK_FALSE(make_requant(0, 0));
    CHECK_FALSE(make_requant(-1, 0));
    CHECK_FALSE(make_requant(NAN, 0));
    CHECK_FALSE(make_requant(1e6, 0));
    CHECK_FALSE(make_requant(1e-30, 0));
}

TEST_CASE("weights: q * scale stays within half a step of the float weight") {
    for (const bool zero_points : {false, true}) {
        Graph graph;
        graph.tensors = {{"in", 2, 1, 1, {-1, 1}}, {"out", 0, 0, 0, {-3, 3}}};
        Layer layer;
        layer.name = "c";
        layer.inputs = {0};
        layer.output = 1;
        layer.weights = {0.5F, 1.0F, -0.01F, 0.003F, 0, 0};  // three kernels, one all zero
        layer.bias = {0.25F, -1, 2};
        graph.layers = {layer};
        graph.inputs = {{0, {0, 0}, {1, 1}}};
        graph.outputs = {1};
        REQUIRE_FALSE(infer_shapes(graph));
        const auto q = quantize(graph, {zero_points});
        REQUIRE(q);
        const QuantizedLayer& l = q->layers[0];
        const double unit = std::ldexp(l.convert.scale, -l.convert.shift) * q->tensors[1].scale /
                            q->tensors[0].scale;
        for (size_t i = 0; i < 6; i++) {
            const ChannelOperands& c = l.channels[i / 2];
            const double scale = unit * c.scale / 16384;
            const double weight = (l.weights[i] - l.weight_zero_points[i / 2]) * scale;
            CHECK(weight == Approx(layer.weights[i]).margin(scale * 0.51));
            CHECK(c.weight_zero == -l.weight_zero_points[i / 2]);
        }
        if (!zero_points) {
            CHECK(l.weight_zero_points == std::vector<int8_t>{0, 0, 0});
        }
    }
}

TEST_CASE("quantize: impossible layers are refused by name") {
    Graph graph;
    graph.tensors = {{"in", 1, 1, 1, {-1, 1}}, {"out", 0, 0, 0, {-1, 1}}};
    Layer layer;
    layer.name = "nothing";
    layer.inputs = {0};
    layer.output = 1;
    layer.weights = {0};
    graph.layers = {layer};
    graph.inputs = {{0, {0}, {1}}};
    graph.outputs = {1};
    REQUIRE_FALSE(infer_shapes(graph));
    auto q = quantize(graph);
    REQUIRE_FALSE(q);
    CHECK(q.error().text.find("nothing") != std::string::npos);

    graph.layers[0].weights = {1};
    graph.tensors[1].range = {1, -1};
    q = quantize(graph);
    REQUIRE_FALSE(q);
    CHECK(q.error().text.find("out") != std::string::npos);
}

TEST_CASE("arena: items alive together never overlap") {
    uint32_t seed = 12345;
    const auto next = [&seed](uint32_t below) {
        seed = seed * 1664525 + 1013904223;
        return (seed >> 8) % below;
    };
    for (int round = 0; round < 50; round++) {
        std::vector<ArenaItem> items(2 + next(20));
        uint32_t sum = 0;
        for (ArenaItem& item : items) {
            item.size = 1 + next(5000);
            item.first = next(20);
            item.last = item.first + next(5);
            sum += item.size + 63;
        }
        const uint32_t total = place_in_arena(items);
        CHECK(total <= sum);
        for (const ArenaItem& a : items) {
            CHECK(a.offset % 64 == 0);
            CHECK(a.offset + a.size <= total);
            for (const ArenaItem& b : items) {
                const bool together = a.first <= b.last && b.first <= a.last;
                const bool apart = a.offset + a.size <= b.offset || b.offset + b.size <= a.offset;
                CHECK((&a == &b || !together || apart));
            }
        }
    }
}

TEST_CASE("network description: errors name layer and field") {
    const std::string head = R"({"inputs": [{"name": "x", "dims": [1, 1, 4, 4], "range": [0, 1]}],
                                 "outputs": ["y"], "layers": [)";
    const auto error_of = [&head](const std::string& layer) {
        const std::vector<std::byte> weights(64);
        const auto graph = parse_network(head + layer + "]}", weights);
        return graph ? std::string("accepted") : graph.error().text;
    };
    const auto has = [](const std::string& text, const char* part) {
        CAPTURE(text, part);
        CHECK(text.find(part) != std::string::npos);
    };
    has(error_of(R"({"name": "a", "op": "Conf", "inputs": ["x"], "output": "y"})"), "Conf");
    has(error_of(R"({"name": "a", "op": "Conv", "inputs": ["x"], "output": "y"})"), "range");
    has(error_of(R"({"name": "a", "op": "Conv", "inputs": ["x"], "output": "y", "range": [0, 1],
                     "kernel": [3]})"),
        "kernel");
    has(error_of(R"({"name": "a", "op": "Conv", "inputs": ["x"], "output": "y", "range": [0, 1],
                     "kernel": [3, 3], "weights": {"offset": 0, "dims": [9, 9]}})"),
        "weights file");
    has(error_of(R"({"name": "a", "op": "Conv", "inputs": ["z"], "output": "y", "range": [0, 1],
                     "kernel": [1, 1], "weights": {"offset": 0, "dims": [1]}})"),
        "no earlier layer");
    has(error_of(R"({"name": "a", "op": "MaxPool", "inputs": ["x"], "output": "y",
                     "kernel": [5, 5]})"),
        "larger");
    has(error_of(R"({"name": "a", "op": "MaxPool", "inputs": ["x"], "output": "w",
                     "kernel": [2, 2]})"),
        "\"y\"");
    CHECK(error_of(R"({"name": "a", "op": "MaxPool", "inputs": ["x"], "output": "y",
                       "kernel": [2, 2]})") == "accepted");
    CHECK(error_of(R"({"name": "a", "op": "Dense", "inputs": ["x"], "output": "y",
                       "range": [0, 1], "weights": {"offset": 0, "dims": [1, 16]}})") ==
          "accepted");
    has(parse_network("{", {}).error().text, "JSON");
    has(parse_network("[]", {}).error().text, "missing");
    CHECK(weights_file_of(R"({"weights_file": "w.f32"})") == "w.f32");
    CHECK(weights_file_of("[]").empty());
}
