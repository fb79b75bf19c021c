// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "attributes.hpp"
#include "status.hpp"
#include "tensor.hpp"

namespace rknpu::cpu {

/// One call of one operator. The spans belong to the caller and must outlive the call. Inputs and
/// outputs are dense and in ONNX order (NCHW for images); outputs overlap neither each other nor an
/// input. An absent optional tensor has dtype kNone; trailing absent ones may be left out.
struct OpContext {
    std::string_view type;  // as in the file, for messages
    const Attributes* attributes = nullptr;
    int opset = 17;  // ONNX operator set whose defaults apply
    std::span<const TensorView> inputs;
    std::span<const MutTensorView> outputs;  // empty during shape inference
    bool reference = false;                  // take the plain loops instead of the fast path
    std::size_t output_count = 1;            // number of outputs wanted, for inference

    bool has(std::size_t i) const { return i < inputs.size() && inputs[i].present(); }
    bool wants(std::size_t i) const { return i < outputs.size() && outputs[i].present(); }
};

/// How run() treats float16, bfloat16 and quantised integer tensors around an operator.
enum class Numeric : std::uint8_t {
    kFloat,  // computed on real values: inputs become float32, results are rounded once
    kMove,   // only moves elements: bytes as they are if all quantised inputs share one Quant and
             // all real ones one type
    kOrder,  // needs only the order of elements: as kMove, but half floats are widened
    kRaw,    // the operator looks at quantisation itself
};

/// An operator: constant data and two functions without state, so any number of threads may use it.
struct Operator {
    std::string_view type;  // ONNX operator type
    std::size_t min_inputs;
    std::size_t max_inputs;
    std::size_t max_outputs;
    Numeric numeric;
    /// Appends one TensorInfo per wanted output.
    Status (*infer)(const OpContext&, std::vector<TensorInfo>& outputs);
    /// Outputs have the inferred shapes and types and data of matching size and alignment.
    Status (*compute)(const OpContext&);
};

/// The operator for an ONNX or vendor ("exSoftmax13") type name; null if there is none.
const Operator* find(std::string_view type);

/// An operator and the activation that a compiler has fused to it.
struct Fused {
    const Operator* op = nullptr;
    const Operator* activation = nullptr;
};

/// The parts of "AddRelu" or "MulExSwish"; null if it is not an operator of two tensors and an
/// activation, both without attributes. Files do not keep the attributes of fused layers where we
/// could read them, so that "ConvRelu" or "AddClip" cannot be computed.
Fused find_fused(std::string_view type);

/// All ONNX type names that find() knows, vendor spellings not included.
std::vector<std::string_view> operator_types();

/// Shapes and types of the outputs. Reads of `context`: inputs (data may be empty where the shape
/// does not depend on it, else kNeedsData), attributes, opset and output_count. The result is given
/// for real-valued tensors: quantised inputs of computing operators count as float32, half floats
/// stay as they are. `outputs` is unchanged on failure.
Status infer(const Operator& op, const OpContext& context, std::vector<TensorInfo>& outputs);

/// Checks everything, converts where the operator needs it (Numeric), computes, and converts the
/// result to the dtype and Quant of each given output. An output may have other dims than inferred
/// as long as the number of elements is equal. Never throws; on failure the contents of the outputs
/// are undefined and nothing else has changed.
Status run(const Operator& op, const OpContext& context);

/// find() and run(); kUnknownOperator names the type.
Status run_op(std::string_view type, const OpContext& context);

}  // namespace rknpu::cpu
