// SPDX-License-Identifier: MIT
// Compares a .rknn model with the float graph it was made of, layer by layer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rknpu::tools {

/// How far two tensors are apart.
struct Distance {
    double cos = 1;  ///< cosine of the angle between them; 1 for two zeros, 0 for one
    double euc = 0;  ///< Euclidean length of the difference
};

Distance distance(std::span<const float> got, std::span<const float> golden);

struct CompareOptions {
    std::string model;
    std::string onnx;
    std::vector<std::string> inputs;  ///< one file per input; empty: noise
    uint32_t seed = 1;                ///< of the noise
    std::string executor = "auto";    ///< of the graph: "auto", "own" or "onnxruntime"
};

/// One tensor that a layer writes.
struct CompareRow {
    std::string type;    ///< of the layer
    std::string tensor;  ///< its name in both files
    std::string target;  ///< "NPU" or "CPU"
    /// The layer as it runs in the model: errors of the layers before it included.
    std::optional<Distance> entire;
    /// The layer alone, on the graph's values; none if the graph does not have all of its inputs.
    std::optional<Distance> single;
    std::string note;  ///< why there is no distance
};

struct CompareReport {
    std::string executor;  ///< what ran the graph
    std::vector<CompareRow> layers;
    std::vector<CompareRow> outputs;  ///< only `entire`
};

/// Runs both. On failure `error` says why.
std::optional<CompareReport> compare(const CompareOptions& options, std::string& error);

std::string to_text(const CompareReport& report);
std::string to_json(const CompareOptions& options, const CompareReport& report);

}  // namespace rknpu::tools
