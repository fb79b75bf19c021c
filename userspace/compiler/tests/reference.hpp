// SPDX-License-Identifier: MIT
// Plain integer executor of a quantised network: loops straight from the formulas in quantize.hpp,
// sharing no code with lowering, packing or the NPU model.
#pragma once

#include <cstdint>
#include <vector>

#include "rknpu_compiler/quantize.hpp"

namespace rknpu::compiler::testing {

using Map = std::vector<int8_t>;  // CHW

/// Values of every tensor of the graph; `inputs` in the order of graph.inputs.
std::vector<Map> run_reference(const QuantizedGraph& graph, const std::vector<Map>& inputs);

/// The same network in float, from the unquantised weights; CHW real values of every tensor.
std::vector<std::vector<double>> run_float(const Graph& graph,
                                           const std::vector<std::vector<double>>& inputs);

}  // namespace rknpu::compiler::testing
