// SPDX-License-Identifier: MIT
// Random networks: compiled jobs on the NPU model against the integer reference, byte for byte,
// and against the float network within what quantisation explains.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "job_runner.hpp"

using namespace rknpu::compiler;
using namespace rknpu::compiler::testing;

namespace {

/// Builds one random network that the compiler must accept.
class NetworkMaker {
 public:
    explicit NetworkMaker(uint32_t seed) : random_(seed) {}

    Graph make(unsigned layers) {
        const uint32_t channels[] = {1, 2, 3, 4, 7, 16, 24, 33, 72};
        const uint32_t input = add_tensor();
        graph_.tensors[input] = {"in", channels[below(9)], 1 + below(24), 1 + below(24), {-1, 1}};
        graph_.inputs = {{input, {}, {}}};
        graph_.inputs[0].mean.assign(graph_.tensors[input].channels, 0);
        graph_.inputs[0].std.assign(graph_.tensors[input].channels, 1);
        last_ = input;
        for (unsigned i = 0; i < layers; i++) {
            add_layer();
        }
        graph_.outputs = {last_};
        return graph_;
    }

 private:
    uint32_t below(uint32_t n) { return random_() % n; }
    float uniform(float low, float high) {
        return low + (high - low) * static_cast<float>(random_() % 10007) / 10006.0F;
    }
    uint32_t add_tensor() {
        const auto index = static_cast<uint32_t>(graph_.tensors.size());
        graph_.tensors.push_back({"t" + std::to_string(index), 0, 0, 0, {-4, 4}});
        return index;
    }

    void random_window(Layer& layer, const TensorInfo& in, uint32_t most_kernel,
                       uint32_t most_stride) {
        Window& w = layer.window;
        w.height = 1 + below(std::min(most_kernel, in.height));
        w.width = 1 + below(std::min(most_kernel, in.width));
        w.stride_y = 1 + below(most_stride);
        w.stride_x = 1 + below(most_stride);
        w.pad_top = below(w.height);
        w.pad_left = below(w.width);
        layer.pad_bottom = below(w.height);
        layer.pad_right = below(w.width);
    }

    void random_weights(Layer& layer, const TensorInfo& in) {
        static const uint32_t kCounts[] = {1, 2, 5, 10, 16, 31, 32, 48, 70};
        const bool depthwise = layer.type == OpType::kDepthwiseConv;
        const uint32_t kernels = depthwise ? in.channels : kCounts[below(9)];
        const size_t per_kernel =
            size_t{layer.window.height} * layer.window.width * (depthwise ? 1 : in.channels);
        const float reach = 2.0F / std::sqrt(static_cast<float>(per_kernel));
        for (uint32_t k = 0; k < kernels; k++) {
            const float size = uniform(0.1F, reach);
            for (size_t i = 0; i < per_kernel; i++) {
                layer.weights.push_back(uniform(-size, size));
            }
            layer.bias.push_back(uniform(-1, 1));
        }
    }

    /// A tensor other than the last with this shape, or none.
    std::optional<uint32_t> same_shape(const TensorInfo& shape) {
        std::vector<uint32_t> found;
        for (uint32_t i = 1; i < graph_.tensors.size(); i++) {
            const TensorInfo& t = graph_.tensors[i];
            if (t.width == shape.width && t.height == shape.height &&
                t.channels == shape.channels) {
                found.push_back(i);
            }
        }
        return found.empty() ? std::nullopt : std::optional(found[below(found.size())]);
    }

    void add_layer() {
        const TensorInfo in = graph_.tensors[last_];
        Layer layer;
        layer.name = "layer" + std::to_string(graph_.layers.size());
        layer.inputs = {last_};
        switch (below(8)) {
            case 0:
            case 1:
                layer.type = OpType::kDepthwiseConv;
                random_window(layer, in, 4, 3);
                random_weights(layer, in);
                break;
            case 2:
                layer.type = OpType::kMaxPool;
                random_window(layer, in, 3, 3);
                break;
            case 3:
                layer.type = OpType::kAveragePool;
                random_window(layer, in, 4, 2);
                layer.window.pad_top = layer.window.pad_left = 0;
                layer.pad_bottom = layer.pad_right = 0;
                break;
            case 4:
                if (const auto second = same_shape(in)) {
                    layer.type = OpType::kAdd;
                    layer.inputs.push_back(*second);
                    break;
                }
                [[fallthrough]];
            default:
                layer.type = OpType::kConv;
                random_window(layer, in, 5, 3);
                random_weights(layer, in);
                break;
        }
        layer.relu = layer.type != OpType::kMaxPool && below(2) == 0;
        if (layer.relu && layer.type == OpType::kConv && below(3) == 0) {
            layer.clip = 2.5F;
        }
        layer.output = add_tensor();
        graph_.layers.push_back(layer);
        REQUIRE_FALSE(infer_shapes_so_far(graph_));
        last_ = layer.output;
        if (layer.type == OpType::kConv && below(3) == 0) {
            add_second_tensor(graph_.layers.back());
        }
    }

    /// Turns a convolution into convolution + addition when a tensor of that shape exists.
    void add_second_tensor(Layer& layer) {
        const TensorInfo shape = graph_.tensors[layer.output];
        const uint32_t output = layer.output;
        std::vector<uint32_t> found;
        for (uint32_t i = 1; i < output; i++) {
            const TensorInfo& t = graph_.tensors[i];
            if (t.width == shape.width && t.height == shape.height &&
                t.channels == shape.channels) {
                found.push_back(i);
            }
        }
        if (!found.empty()) {
            layer.inputs.push_back(found[below(found.size())]);
            layer.clip.reset();
        }
    }

    std::mt19937 random_;
    Graph graph_;
    uint32_t last_ = 0;
};

Map random_input(const TensorInfo& t, uint32_t seed) {
    std::mt19937 random(seed);
    Map values(size_t{t.channels} * t.height * t.width);
    for (int8_t& v : values) {
        v = static_cast<int8_t>(random());
    }
    return values;
}

void check_network(uint32_t seed, bool reference_path) {
    CAPTURE(seed);
    Graph graph = NetworkMaker(seed).make(1 + seed % 5);
    REQUIRE_FALSE(infer_shapes(graph));
    const auto quantized = quantize(graph, {seed % 3 == 0});
    if (!quantized) {
        FAIL(quantized.error().text);
    }
    const auto job = lower(*quantized);
    if (!job) {
        FAIL(job.error().text);
    }
    const Map input = random_input(graph.tensors[0], seed);
    const auto expected = run_reference(*quantized, {input});
    npusim::EngineOptions options;
    options.reference_path = reference_path;
    JobRunner runner(*job, options);
    const auto error = runner.run({input});
    if (error) {
        FAIL(*error);
    }
    const bool same =
        runner.read(static_cast<size_t>(job->outputs[0])) == expected[graph.outputs[0]];
    CHECK(same);
}

}  // namespace

TEST_CASE("random networks: the NPU model equals the integer reference") {
    for (uint32_t seed = 1; seed <= 150; seed++) {
        check_network(seed, seed % 4 == 0);
    }
}

TEST_CASE("random networks: int8 follows the float network") {
    for (uint32_t seed = 1000; seed < 1040; seed++) {
        CAPTURE(seed);
        Graph graph = NetworkMaker(seed).make(1);
        REQUIRE_FALSE(infer_shapes(graph));
        const auto quantized = quantize(graph, {seed % 2 == 0});
        REQUIRE(quantized);
        const Map input = random_input(graph.tensors[0], seed);
        const QuantParams in = quantized->tensors[0];
        std::vector<double> real;
        for (const int8_t v : input) {
            real.push_back(in.scale * (v - in.zero_point));
        }
        const auto ints = run_reference(*quantized, {input})[graph.outputs[0]];
        const auto floats = run_float(graph, {real})[graph.outputs[0]];
        const QuantParams out = quantized->tensors[graph.outputs[0]];
        REQUIRE(ints.size() == floats.size());
        double worst = 0;
        for (size_t i = 0; i < ints.size(); i++) {
            const double low = out.scale * (-128 - out.zero_point);
            const double high = out.scale * (127 - out.zero_point);
            const double want = std::clamp(floats[i], low, high);
            worst = std::max(worst, std::abs(out.scale * (ints[i] - out.zero_point) - want));
        }
        // Half a step of the output, the rounding stages, and the weights' own rounding.
        CHECK(worst < out.scale * 3);
    }
}
