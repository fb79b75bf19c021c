// SPDX-License-Identifier: MIT
// State of one lowering run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rknpu_compiler/lower.hpp"
#include "rknpu_regcmd/cbuf.hpp"

namespace rknpu::compiler {

class Lowering {
 public:
    explicit Lowering(const QuantizedGraph& quantized);
    Result<Job> run();

 private:
    /// Rows of a feature map.
    struct Rows {
        uint32_t first;
        uint32_t count;
    };
    /// Where a graph tensor lives.
    struct Map {
        uint32_t tensor = 0;  ///< job tensor index
        uint32_t image_channels = 0;
        uint32_t row_pitch = 0;
        uint32_t plane_pitch = 0;
        uint32_t row_bytes = 0;
        uint32_t channel_group = 0;  ///< channels its writer rounds up to
    };
    struct LayerConstants {
        uint32_t weights = 0;   ///< job tensor index, 0 = none
        uint32_t operands = 0;  ///< job tensor index, 0 = none
    };

    void add_constants(size_t index);
    void add_map(uint32_t index, TensorKind kind);
    void add_maps();
    void place_maps();
    void add_nodes();
    [[nodiscard]] std::string node_type(const Layer& layer) const;
    [[nodiscard]] Feature feature(uint32_t tensor, Rows rows) const;

    /// Appends the tasks that make these rows of the layer's output.
    [[nodiscard]] std::optional<std::string> emit_layer(size_t index, Rows rows);
    [[nodiscard]] std::optional<std::string> emit_conv(size_t index, Rows rows);
    [[nodiscard]] std::optional<std::string> emit_pool(size_t index, Rows rows);
    [[nodiscard]] std::optional<std::string> emit_add(size_t index, Rows rows);
    [[nodiscard]] OutputStage conv_stage(size_t index, Rows rows) const;

    const QuantizedGraph& q_;
    const Graph& graph_;
    Job job_;
    std::vector<LayerConstants> layers_;
    std::vector<Map> maps_;
    uint32_t first_layer_node_ = 0;
};

}  // namespace rknpu::compiler
