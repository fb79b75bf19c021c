// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/status.hpp"
#include "model/graph.hpp"

namespace rknpu {

/// The parts of a .rknn file; the spans point into the file's bytes.
struct Container {
    uint64_t version = 0;  ///< low byte = layout
    std::span<const std::byte> payload;
    std::string_view json;
};

/// Splits a file. Errors (kInvalidModel) tell apart: not a .rknn, encrypted, RV1103/RV1106 mini
/// format, toolkit 1, RKNN3, ONNX or TFLite by mistake, newer layout, truncated.
Result<Container> open_container(std::span<const std::byte> file);

/// Parses and checks a model; of several shapes the largest. `file` is kept by the graph. Every
/// index, offset and length of the result is inside its bounds. Errors: kInvalidModel,
/// kPlatformMismatch (when `soc` is not empty and is not the model's target).
Result<JobGraph> read_model(std::shared_ptr<const std::vector<std::byte>> file,
                            std::string_view soc);

/// The chip a model is for, as the file spells it. Errors: kInvalidModel, without looking further
/// than the structure of the file.
Result<std::string> read_target(std::shared_ptr<const std::vector<std::byte>> file);

/// True if commands for that chip can be checked.
bool knows_chip(std::string_view target);

/// A model with several sets of input shapes has one graph for each; they agree in the number,
/// names, types and ranks of their inputs and outputs and share one constants buffer. In the order
/// of the file. Errors as read_model().
Result<std::vector<JobGraph>> read_shapes(std::shared_ptr<const std::vector<std::byte>> file,
                                          std::string_view soc);

/// The shape with the largest inputs: what a model with several has until one is chosen.
size_t largest_shape(const std::vector<JobGraph>& shapes);

/// Reads a file, or `length` bytes at `offset` of it (0 = to the end).
/// Errors: kInvalidArgument with the path and the reason.
Result<std::shared_ptr<const std::vector<std::byte>>> read_file(const std::string& path,
                                                                uint64_t offset = 0,
                                                                uint64_t length = 0);

/// Checks what the run time relies on: tensors inside arena and buffers, tasks and relocations
/// inside the command blob, no address register that escapes relocation, no jump out of the blob.
/// Fills chain_words, the tensors' row strides and the constants plan.
Status validate(JobGraph& graph);

}  // namespace rknpu
