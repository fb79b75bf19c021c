// SPDX-License-Identifier: MIT
#include "reference.hpp"

#include <algorithm>
#include <cmath>

namespace rknpu::compiler::testing {

namespace {

int64_t round_shift(int64_t value, unsigned shift) {
    if (shift == 0) {
        return value;
    }
    const int64_t whole = value >> shift;
    const int64_t rest = value - (whole << shift);
    const int64_t half = int64_t{1} << (shift - 1);
    return whole + (rest > half || (rest == half && (whole & 1) != 0) ? 1 : 0);
}

int8_t saturate(int64_t value) {
    return static_cast<int8_t>(std::clamp<int64_t>(value, -128, 127));
}

/// Calls f(channel, y, x) for a map's elements, in CHW order.
template <typename F>
void for_each_element(const TensorInfo& t, F f) {
    for (uint32_t c = 0; c < t.channels; c++) {
        for (uint32_t y = 0; y < t.height; y++) {
            for (uint32_t x = 0; x < t.width; x++) {
                f(c, y, x);
            }
        }
    }
}

/// Calls f(tap, y, x, inside) for each tap of the window at output position (oy, ox).
template <typename F>
void for_each_tap(const Window& w, const TensorInfo& in, uint32_t oy, uint32_t ox, F f) {
    for (uint32_t ky = 0; ky < w.height; ky++) {
        for (uint32_t kx = 0; kx < w.width; kx++) {
            const int64_t y = int64_t{oy} * w.stride_y + int64_t{ky} * w.dilation_y - w.pad_top;
            const int64_t x = int64_t{ox} * w.stride_x + int64_t{kx} * w.dilation_x - w.pad_left;
            const bool inside = y >= 0 && x >= 0 && y < in.height && x < in.width;
            f(size_t{ky} * w.width + kx, static_cast<size_t>(y), static_cast<size_t>(x), inside);
        }
    }
}

size_t at(const TensorInfo& t, size_t c, size_t y, size_t x) {
    return (c * t.height + y) * t.width + x;
}

class Executor {
 public:
    Executor(const QuantizedGraph& graph, const std::vector<Map>& inputs)
        : q_(graph), g_(graph.graph), maps_(g_.tensors.size()) {
        for (size_t i = 0; i < inputs.size(); i++) {
            maps_[g_.inputs[i].tensor] = inputs[i];
        }
    }
    std::vector<Map> run() {
        for (size_t i = 0; i < g_.layers.size(); i++) {
            const Layer& layer = g_.layers[i];
            if (layer.type == OpType::kMaxPool) {
                pool(layer);
            } else if (layer.type == OpType::kAdd) {
                add(layer, q_.layers[i]);
            } else {
                conv(layer, q_.layers[i]);
            }
        }
        return std::move(maps_);
    }

 private:
    int64_t finish(int64_t v, const Layer& layer, const QuantizedLayer& q, size_t index) {
        if (layer.relu && !q.operand) {
            v = std::max<int64_t>(v, 0);
            if (q.clip != 0) {
                v = std::min<int64_t>(v, q.clip);
            }
        }
        if (q.operand) {
            const uint32_t second = layer.inputs[q.swap_inputs ? 0 : 1];
            const int64_t x = maps_[second][index] + q.operand->offset;
            v += round_shift(x * q.operand->convert.scale, q.operand->convert.shift);
            if (layer.relu) {
                v = std::max<int64_t>(v, 0);
            }
        }
        return round_shift(v * q.convert.scale, q.convert.shift) + q.convert.offset;
    }

    void conv(const Layer& layer, const QuantizedLayer& q) {
        const TensorInfo& in = g_.tensors[layer.inputs[0]];
        const TensorInfo& out = g_.tensors[layer.output];
        const Map& x = maps_[layer.inputs[0]];
        const int64_t pad = q_.tensors[layer.inputs[0]].zero_point;
        const bool depthwise = layer.type == OpType::kDepthwiseConv;
        const size_t in_channels = depthwise ? 1 : in.channels;
        const size_t taps = size_t{layer.window.height} * layer.window.width;
        Map& y = maps_[layer.output];
        for_each_element(out, [&](uint32_t c, uint32_t oy, uint32_t ox) {
            int64_t sum = 0;
            int64_t inputs = 0;
            for (size_t ic = 0; ic < in_channels; ic++) {
                const int8_t* w = q.weights.data() + (c * in_channels + ic) * taps;
                for_each_tap(
                    layer.window, in, oy, ox, [&](size_t tap, size_t iy, size_t ix, bool inside) {
                        const int64_t v = inside ? x[at(in, depthwise ? c : ic, iy, ix)] : pad;
                        sum += v * w[tap];
                        inputs += v;
                    });
            }
            const ChannelOperands& operands = q.channels[c];
            int64_t v = sum + inputs * operands.weight_zero + operands.bias;
            v = round_shift(v * operands.scale, 14);
            y.push_back(saturate(finish(v, layer, q, y.size())));
        });
    }

    void pool(const Layer& layer) {
        const TensorInfo& in = g_.tensors[layer.inputs[0]];
        const Map& x = maps_[layer.inputs[0]];
        Map& y = maps_[layer.output];
        for_each_element(g_.tensors[layer.output], [&](uint32_t c, uint32_t oy, uint32_t ox) {
            int8_t largest = -128;
            for_each_tap(layer.window, in, oy, ox, [&](size_t, size_t iy, size_t ix, bool inside) {
                largest = inside ? std::max(largest, x[at(in, c, iy, ix)]) : largest;
            });
            y.push_back(largest);
        });
    }

    void add(const Layer& layer, const QuantizedLayer& q) {
        const Map& main = maps_[layer.inputs[q.swap_inputs ? 1 : 0]];
        Map& y = maps_[layer.output];
        for (size_t i = 0; i < main.size(); i++) {
            const int64_t v = int64_t{main[i] + q.main_offset} * q.main_scale;
            y.push_back(saturate(finish(v, layer, q, i)));
        }
    }

    const QuantizedGraph& q_;
    const Graph& g_;
    std::vector<Map> maps_;
};

std::vector<double> float_window(const Layer& layer, const TensorInfo& in, const TensorInfo& out,
                                 const std::vector<double>& x) {
    const bool depthwise = layer.type == OpType::kDepthwiseConv;
    const size_t in_channels = depthwise || layer.weights.empty() ? 1 : in.channels;
    const size_t taps = size_t{layer.window.height} * layer.window.width;
    std::vector<double> y;
    for_each_element(out, [&](uint32_t c, uint32_t oy, uint32_t ox) {
        double sum = layer.bias.empty() ? 0 : layer.bias[c];
        double largest = -INFINITY;
        for (size_t ic = 0; ic < in_channels; ic++) {
            for_each_tap(
                layer.window, in, oy, ox, [&](size_t tap, size_t iy, size_t ix, bool inside) {
                    if (!inside) {
                        return;
                    }
                    const size_t channel = depthwise || layer.weights.empty() ? c : ic;
                    const double v = x[at(in, channel, iy, ix)];
                    const double w = layer.weights.empty()
                                         ? 1.0 / static_cast<double>(taps)
                                         : layer.weights[(c * in_channels + ic) * taps + tap];
                    sum += v * w;
                    largest = std::max(largest, v);
                });
        }
        y.push_back(layer.type == OpType::kMaxPool ? largest : sum);
    });
    return y;
}

}  // namespace

std::vector<Map> run_reference(const QuantizedGraph& graph, const std::vector<Map>& inputs) {
    return Executor(graph, inputs).run();
}

std::vector<std::vector<double>> run_float(const Graph& graph,
                                           const std::vector<std::vector<double>>& inputs) {
    std::vector<std::vector<double>> maps(graph.tensors.size());
    for (size_t i = 0; i < inputs.size(); i++) {
        maps[graph.inputs[i].tensor] = inputs[i];
    }
    for (const Layer& layer : graph.layers) {
        const std::vector<double>& x = maps[layer.inputs[0]];
        std::vector<double> y = layer.type == OpType::kAdd
                                    ? x
                                    : float_window(layer, graph.tensors[layer.inputs[0]],
                                                   graph.tensors[layer.output], x);
        for (size_t i = 0; i < y.size(); i++) {
            if (layer.inputs.size() == 2) {
                y[i] += maps[layer.inputs[1]][i];
            }
            if (layer.relu) {
                y[i] = std::clamp<double>(y[i], 0, layer.clip ? *layer.clip : INFINITY);
            }
        }
        maps[layer.output] = std::move(y);
    }
    return maps;
}

}  // namespace rknpu::compiler::testing
