// SPDX-License-Identifier: MIT
// Reads .onnx files and runs them on the CPU operators: the float reference of rknn-compare and of
// the ONNX node tests.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../attributes.hpp"
#include "../status.hpp"
#include "../tensor.hpp"

namespace rknpu::cpu {

/// A graph input or output as the file declares it.
struct OnnxValue {
    std::string name;
    DType dtype = DType::kNone;      // kNone: not a tensor, or of a type we do not have
    std::vector<std::int64_t> dims;  // -1 for a symbolic or missing dimension
};

struct OnnxNode {
    std::string type;
    std::string name;
    std::vector<std::string> inputs;  // "" marks an absent optional tensor
    std::vector<std::string> outputs;
    Attributes attributes;
    std::string unsupported;  // why this node cannot run (a subgraph, a string tensor); else empty
};

using OnnxTensors = std::map<std::string, Tensor, std::less<>>;

struct OnnxModel {
    std::int64_t opset = 17;
    std::vector<OnnxValue> inputs;  // without those that are initializers
    std::vector<OnnxValue> outputs;
    std::vector<OnnxNode> nodes;  // in topological order, as ONNX demands
    OnnxTensors initializers;
};

/// Parses a serialised ModelProto. `out` is unchanged on failure.
Status parse_onnx_model(std::span<const std::byte> bytes, OnnxModel& out);

/// Parses a serialised TensorProto (the .pb files of the ONNX test data).
Status parse_onnx_tensor(std::span<const std::byte> bytes, std::string& name, Tensor& out);

/// The first node that cannot run and why, or "" if all operators are there.
std::string onnx_missing_operator(const OnnxModel& model);

/// The model with every tensor that a node writes as a graph output as well, so that another
/// runtime gives them out. Everything else in the file stays as it is.
Status expose_all_tensors(std::span<const std::byte> bytes, std::vector<std::byte>& out);

struct OnnxRunOptions {
    bool reference = false;  // plain loops instead of the fast paths
};

/// Runs all nodes. `values` holds the graph inputs by name and receives every intermediate and
/// final tensor by name. The Status text names the failing node.
Status run_onnx(const OnnxModel& model, const OnnxRunOptions& options, OnnxTensors& values);

}  // namespace rknpu::cpu
