// SPDX-License-Identifier: MIT
// The network as it enters the compiler: float weights, calibrated value ranges, batch 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rknpu_compiler/result.hpp"
#include "rknpu_regcmd/task.hpp"

namespace rknpu::compiler {

/// Real values a tensor takes, as seen in calibration.
struct Range {
    float min = 0;
    float max = 0;
};

struct TensorInfo {
    std::string name;
    uint32_t channels = 0;
    uint32_t height = 0;
    uint32_t width = 0;
    Range range;
};

enum class OpType : uint8_t { kConv, kDepthwiseConv, kMaxPool, kAveragePool, kAdd };

struct Layer {
    OpType type = OpType::kConv;
    std::string name;
    std::vector<uint32_t> inputs;  ///< tensor indices; a convolution may add a second tensor
    uint32_t output = 0;           ///< tensor index
    Window window;
    uint32_t pad_bottom = 0;
    uint32_t pad_right = 0;
    bool relu = false;
    std::optional<float> clip;   ///< upper limit of the ReLU
    std::vector<float> weights;  ///< OIHW (depthwise: C1HW)
    std::vector<float> bias;     ///< per output channel, or empty
};

/// The application's value v becomes (v - mean[c]) / std[c].
struct InputInfo {
    uint32_t tensor = 0;
    std::vector<float> mean;
    std::vector<float> std;
};

/// Layers stand in execution order.
struct Graph {
    std::string name;
    std::vector<TensorInfo> tensors;
    std::vector<Layer> layers;
    std::vector<InputInfo> inputs;
    std::vector<uint32_t> outputs;
};

/// Checks references, order and sizes, and fills in the shapes of all layer outputs (whatever was
/// in them is replaced). Returns the first thing that is wrong.
[[nodiscard]] std::optional<Error> infer_shapes(Graph& graph);

/// The same for a graph under construction, whose outputs are not listed yet.
[[nodiscard]] std::optional<Error> infer_shapes_so_far(Graph& graph);

}  // namespace rknpu::compiler
