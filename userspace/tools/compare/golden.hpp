// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rknpu::tools {

/// Every tensor of a float graph for one set of inputs, by name.
struct Golden {
    std::string executor;
    std::map<std::string, std::vector<float>, std::less<>> tensors;
    std::vector<std::string> outputs;  ///< names in the order of the graph
};

/// An input of the model as the graph wants it: row major in the order of the model, normalised.
struct GoldenInput {
    std::string name;
    std::vector<int64_t> dims;
    std::vector<float> values;
};

/// Runs the graph in `path` with `executor` ("own": the CPU operators of this project,
/// "onnxruntime": Python's, "auto": that if it is installed). Inputs belong together by name, else
/// by position. On failure `error` says why.
std::optional<Golden> run_golden(const std::string& path, const std::vector<GoldenInput>& inputs,
                                 const std::string& executor, std::string& error);

}  // namespace rknpu::tools
