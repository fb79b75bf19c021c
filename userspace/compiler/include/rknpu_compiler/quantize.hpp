// SPDX-License-Identifier: MIT
// Float network -> int8 network: every number the NPU will compute with, no layout or register yet.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rknpu_compiler/graph.hpp"

namespace rknpu::compiler {

/// real = scale * (q - zero_point), q in -128..127.
struct QuantParams {
    float scale = 1;
    int32_t zero_point = 0;
};

/// Affine int8 parameters that cover the range; zero is always representable.
[[nodiscard]] QuantParams quantize_range(Range range);

/// scale / 2^shift closest to `factor` with 15 significant bits; empty outside [2^-62, 2^15).
[[nodiscard]] std::optional<Requant> make_requant(double factor, int32_t offset);

/// Second tensor of an addition, in units of the first stage's result.
struct QuantizedOperand {
    int32_t offset = 0;
    Requant convert;  ///< offset unused
};

/// Numbers of one layer. Order of computation, each step rounding half to even:
///   v = sum(w * x) + weight_zero[c] * sum(x) + bias[c]       (convolutions)
///   v = v * scale[c] >> 14
///   v = (x + main_offset) * main_scale                        (additions)
///   v = min(max(v, 0), clip)                                  (relu without second tensor)
///   v += (x2 + operand.offset) * operand.scale >> operand.shift; v = max(v, 0) if relu
///   y = saturate(v * convert.scale >> convert.shift + convert.offset)
struct QuantizedLayer {
    std::vector<int8_t> weights;             ///< as Layer::weights
    std::vector<int8_t> weight_zero_points;  ///< per kernel
    std::vector<ChannelOperands> channels;
    int32_t main_offset = 0;
    int16_t main_scale = 1;
    uint32_t clip = 0;
    std::optional<QuantizedOperand> operand;
    bool swap_inputs = false;  ///< additions: the second input is the main one
    Requant convert;
};

struct QuantizedGraph {
    Graph graph;
    std::vector<QuantParams> tensors;    ///< per graph tensor
    std::vector<QuantizedLayer> layers;  ///< per graph layer
};

struct QuantizeOptions {
    /// Weight zero points use the full int8 range of lopsided kernels; off = symmetric weights.
    bool weight_zero_points = false;
};

/// Shapes must be inferred. Pool outputs take over the parameters of their input. Average pools
/// become depthwise convolutions with equal weights, which the NPU rounds exactly.
[[nodiscard]] Result<QuantizedGraph> quantize(Graph graph, const QuantizeOptions& options = {});

}  // namespace rknpu::compiler
