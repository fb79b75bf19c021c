// SPDX-License-Identifier: MIT
#include "rknpu_compiler/quantize.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace rknpu::compiler {

namespace {

constexpr double kQ14One = 1 << 14;
constexpr int32_t kInt8Min = -128;
constexpr int32_t kInt8Max = 127;
constexpr int kMaxShift = 62;

Error wrong(const Layer& layer, const std::string& text) {
    return {"layer \"" + layer.name + "\": " + text};
}

int32_t clamp_int8(double value) {
    return static_cast<int32_t>(std::clamp<double>(value, kInt8Min, kInt8Max));
}

/// Smallest step that lets int8 hold all weights of one kernel, and the zero point for it.
QuantParams kernel_params(std::span<const float> kernel, bool zero_point) {
    const auto [low, high] = std::minmax_element(kernel.begin(), kernel.end());
    const float min = std::min(0.0F, *low);
    const float max = std::max(0.0F, *high);
    if (zero_point && max > min) {
        return quantize_range({min, max});
    }
    return {std::max(max, -min) / kInt8Max, 0};
}

/// Quantised kernels of one layer and the scale of its accumulator.
struct Kernels {
    QuantizedLayer layer;
    double accumulator_scale = 1;
};

Result<Kernels> quantize_kernels(const Layer& layer, const QuantParams& input, bool zero_points) {
    const size_t kernels = layer.bias.size();
    const size_t per_kernel = layer.weights.size() / kernels;
    const auto kernel = [&](size_t c) {
        return std::span(layer.weights).subspan(c * per_kernel, per_kernel);
    };
    std::vector<QuantParams> params(kernels);
    float largest = 0;
    for (size_t c = 0; c < kernels; c++) {
        params[c] = kernel_params(kernel(c), zero_points);
        largest = std::max(largest, params[c].scale);
    }
    if (!(largest > 0) || !std::isfinite(largest)) {
        return wrong(layer, "all weights are zero or one is not finite; check the weights file");
    }

    Kernels out;
    out.accumulator_scale = double{input.scale} * largest;
    out.layer.weights.resize(layer.weights.size());
    for (size_t c = 0; c < kernels; c++) {
        // The channel's scale is rounded up to what Q14 can express, then used exactly.
        const double q14 = std::clamp(std::ceil(params[c].scale / largest * kQ14One), 1.0, kQ14One);
        const double scale = q14 / kQ14One * largest;
        const int32_t zero = params[c].zero_point;
        int64_t sum = 0;
        for (size_t i = 0; i < per_kernel; i++) {
            const int32_t q = clamp_int8(std::nearbyint(kernel(c)[i] / scale) + zero);
            out.layer.weights[c * per_kernel + i] = static_cast<int8_t>(q);
            sum += q - zero;
        }
        const double bias = std::nearbyint(layer.bias[c] / (input.scale * scale)) -
                            static_cast<double>(input.zero_point * sum);
        if (std::abs(bias) > std::numeric_limits<int32_t>::max()) {
            return wrong(layer, "a bias is too large for its weights' scale; rescale the layer");
        }
        out.layer.weight_zero_points.push_back(static_cast<int8_t>(zero));
        out.layer.channels.push_back(
            {static_cast<int32_t>(bias), static_cast<int16_t>(-zero), static_cast<int16_t>(q14)});
    }
    return out;
}

Result<QuantizedLayer> quantize_conv(const Layer& layer, const std::vector<QuantParams>& tensors,
                                     bool zero_points) {
    const QuantParams& out = tensors[layer.output];
    Result<Kernels> kernels = quantize_kernels(layer, tensors[layer.inputs[0]], zero_points);
    if (!kernels) {
        return kernels.error();
    }
    QuantizedLayer q = std::move(kernels->layer);
    const double unit = kernels->accumulator_scale;
    const auto convert = make_requant(unit / out.scale, out.zero_point);
    if (!convert) {
        return wrong(layer, "its output range is too small for its weights; recalibrate");
    }
    q.convert = *convert;
    if (layer.relu && layer.clip) {
        q.clip = static_cast<uint32_t>(std::nearbyint(*layer.clip / unit));
    }
    if (layer.inputs.size() == 2) {
        const QuantParams& second = tensors[layer.inputs[1]];
        const auto ratio = make_requant(second.scale / unit, 0);
        if (!ratio) {
            return wrong(layer,
                         "the added tensor's range is out of proportion; add it in a layer "
                         "of its own");
        }
        q.operand = QuantizedOperand{-second.zero_point, *ratio};
    }
    return q;
}

Result<QuantizedLayer> quantize_add(const Layer& layer, const std::vector<QuantParams>& tensors) {
    QuantizedLayer q;
    // The coarser tensor is the main one: the other's factor is then at most 2^14.
    q.swap_inputs = tensors[layer.inputs[1]].scale > tensors[layer.inputs[0]].scale;
    const QuantParams& main = tensors[layer.inputs[q.swap_inputs ? 1 : 0]];
    const QuantParams& second = tensors[layer.inputs[q.swap_inputs ? 0 : 1]];
    const QuantParams& out = tensors[layer.output];
    const auto ratio = make_requant(kQ14One * second.scale / main.scale, 0);
    const auto convert = make_requant(main.scale / kQ14One / out.scale, out.zero_point);
    if (!ratio || !convert) {
        return wrong(layer, "the ranges of its tensors differ too much; recalibrate");
    }
    q.main_offset = -main.zero_point;
    q.main_scale = static_cast<int16_t>(kQ14One);
    q.operand = QuantizedOperand{-second.zero_point, *ratio};
    q.convert = *convert;
    return q;
}

/// An average over k pixels is a depthwise convolution with weights 1/k.
void average_to_depthwise(Layer& layer, uint32_t channels) {
    const uint32_t taps = layer.window.height * layer.window.width;
    layer.type = OpType::kDepthwiseConv;
    layer.weights.assign(size_t{channels} * taps, 1.0F / static_cast<float>(taps));
}

}  // namespace

QuantParams quantize_range(Range range) {
    const double min = std::min(0.0F, range.min);
    double max = std::max(0.0F, range.max);
    if (max - min <= 0) {
        max = min + 1;  // a tensor that is always zero
    }
    const double scale = (max - min) / (kInt8Max - kInt8Min);
    return {static_cast<float>(scale), clamp_int8(std::nearbyint(kInt8Min - min / scale))};
}

std::optional<Requant> make_requant(double factor, int32_t offset) {
    if (!(factor > 0) || !std::isfinite(factor)) {
        return std::nullopt;
    }
    int exponent = 0;
    std::frexp(factor, &exponent);  // factor = m * 2^exponent, m in [0.5, 1)
    int shift = 15 - exponent;
    double scale = std::nearbyint(std::ldexp(factor, shift));
    if (scale >= 1 << 15) {
        scale /= 2;
        shift--;
    }
    if (shift < 0 || shift > kMaxShift) {
        return std::nullopt;
    }
    return Requant{static_cast<uint16_t>(scale), static_cast<uint8_t>(shift), offset};
}

Result<QuantizedGraph> quantize(Graph graph, const QuantizeOptions& options) {
    QuantizedGraph out;
    for (const TensorInfo& tensor : graph.tensors) {
        if (!std::isfinite(tensor.range.min) || !std::isfinite(tensor.range.max) ||
            tensor.range.min > tensor.range.max) {
            return Error{"tensor \"" + tensor.name + "\": its range is not a pair min <= max"};
        }
        out.tensors.push_back(quantize_range(tensor.range));
    }
    for (Layer& layer : graph.layers) {
        if (layer.type == OpType::kAveragePool) {
            average_to_depthwise(layer, graph.tensors[layer.output].channels);
        }
        if (layer.type == OpType::kMaxPool) {
            out.tensors[layer.output] = out.tensors[layer.inputs[0]];
            graph.tensors[layer.output].range = graph.tensors[layer.inputs[0]].range;
            out.layers.emplace_back();
            continue;
        }
        if (layer.bias.empty() && layer.type != OpType::kAdd) {
            layer.bias.assign(graph.tensors[layer.output].channels, 0.0F);
        }
        Result<QuantizedLayer> layer_out =
            layer.type == OpType::kAdd
                ? quantize_add(layer, out.tensors)
                : quantize_conv(layer, out.tensors, options.weight_zero_points);
        if (!layer_out) {
            return layer_out.error();
        }
        out.layers.push_back(std::move(*layer_out));
    }
    out.graph = std::move(graph);
    return out;
}

}  // namespace rknpu::compiler
