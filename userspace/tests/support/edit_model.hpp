// SPDX-License-Identifier: MIT
#pragma once

#include <rknn_generated.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace rknpu::test {

/// A .rknn file (layout 6) with `edit` applied to its contents; fields without a meaning that is
/// known get lost. Aborts if `file` is no such file.
std::vector<std::byte> edit_model(std::span<const std::byte> file,
                                  const std::function<void(schema::ModelT&)>& edit);

/// Puts an operator that runs on the CPU behind the first graph's first output: it reads that
/// tensor and writes the new output, which has the same shape and type.
void append_cpu_node(schema::ModelT& model, const std::string& type);

/// Gives every input of an RK3588 model patch tables, as the vendor's compiler writes them.
void add_input_patches(schema::ModelT& model);

/// Adds the graph of another model file as one more set of shapes. Equal buffers are there once.
void add_shape(schema::ModelT& model, std::span<const std::byte> other);

}  // namespace rknpu::test
