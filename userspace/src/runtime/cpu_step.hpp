// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/status.hpp"
#include "cpu/operator.hpp"
#include "model/graph.hpp"
#include "runtime/program.hpp"

namespace rknpu {

/// False for an input that an operator does not get: an optional one that its layer does not have,
/// or work space of the original runtime.
bool is_operand(const GraphTensor& input);

/// Replaces the built-in operator of a node type (custom operators).
class CpuKernel {
 public:
    virtual ~CpuKernel() = default;
    /// Computes node `node`. Inputs and outputs are dense, in the order of the model: those that
    /// are is_operand(), and optional ones that the layer does not have, which are not present().
    virtual Status run(uint32_t node, std::span<const cpu::TensorView> inputs,
                       std::span<const cpu::MutTensorView> outputs) = 0;
};

/// The nodes of a model that run on the CPU, with their scratch memory, so that a run allocates
/// nothing.
class CpuSteps {
 public:
    using Bytes = std::function<std::span<std::byte>(int32_t tensor)>;

    /// Looks up every operator. Errors: kInvalidModel for a constant that is too short.
    Status prepare(const JobGraph& graph);

    /// Errors: kInvalidModel, naming each layer with an operator that neither the library nor a
    /// registered kernel has and that cannot be a custom one (cpu::is_reserved_type()).
    Status check_operators() const;

    /// Layers that wait for a custom operator, in the order of the model.
    const std::vector<uint32_t>& waiting_nodes() const { return waiting_; }

    /// Errors: kFail, naming the first of waiting_nodes().
    Status check_registered() const;

    /// Nodes of that type on the CPU.
    std::vector<uint32_t> nodes_of(std::string_view type) const;

    /// From now on `kernel` computes node `node`.
    void replace(uint32_t node, std::shared_ptr<CpuKernel> kernel);

    /// True if node `node` can be computed without a kernel of the caller.
    bool has_built_in(uint32_t node) const;

    /// Bytes that all nodes together use while they are computed.
    uint64_t scratch_bytes() const;

    /// True if kernels of the caller compute nodes.
    bool has_kernels() const;

    /// Computes node `node`; `bytes` gives the memory of tensors in device memory.
    Status run(uint32_t node, const Bytes& bytes);

 private:
    struct Operand {
        int32_t tensor = -1;   // -1: absent
        bool dense = true;     // lies dense in device memory, no scratch needed
        uint64_t scratch = 0;  // else: where in that of the lane it does
        ElementView native;    // in device memory
        ElementView plain;     // as the operator sees it
    };
    struct Step {
        const cpu::Operator* op = nullptr;
        std::shared_ptr<CpuKernel> kernel;
        const cpu::Operator* activation = nullptr;  // of a fused layer
        cpu::TensorInfo between;                    // its input, which starts in the scratch at
        uint64_t between_scratch = 0;
        uint64_t scratch_bytes = 0;
        cpu::Attributes attributes;
        std::vector<Operand> inputs, outputs;
        std::vector<cpu::TensorView> input_views;
        std::vector<cpu::MutTensorView> output_views;
    };

    bool knows(uint32_t node) const;
    Status prepare_node(const GraphNode& node, Step& step);
    Status prepare_operand(int32_t tensor, Step& step, Operand& operand, cpu::TensorInfo& info);
    std::span<std::byte> scratch_of(uint32_t node);
    Status copy(Step& step);
    Status compute(uint32_t node, Step& step);

    const JobGraph* graph_ = nullptr;
    std::unordered_map<uint32_t, Step> steps_;
    std::vector<uint32_t> waiting_;  // as waiting_nodes()
    /// Per lane (JobGraph::lanes), in which one node is computed after the other.
    std::vector<std::vector<std::byte>> scratch_;
};

}  // namespace rknpu
