// SPDX-License-Identifier: MIT
#pragma once

#include <rknn_api.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rknpu::test {

struct Input {
    std::vector<std::byte> bytes;
    rknn_tensor_type type = RKNN_TENSOR_UINT8;
    rknn_tensor_format fmt = RKNN_TENSOR_NHWC;
};

using Outputs = std::vector<std::vector<std::byte>>;

/// Runs a model once on `device` ("sim" or "drm") through the public interface. With want_float the
/// outputs are float32, otherwise the model's own types. Nothing on failure; the library has said
/// why on stderr. With non_block the run is started, then waited for.
std::optional<Outputs> run_model(const std::string& path, const std::string& device,
                                 const std::vector<Input>& inputs, uint32_t core_mask = 0,
                                 bool want_float = false, bool non_block = false);

/// Inputs of the right sizes filled with reproducible noise; empty if the model does not load.
std::vector<Input> noise_inputs(const std::string& path, const std::string& device, uint32_t seed);

/// float32 outputs as numbers.
std::vector<float> floats(const std::vector<std::byte>& bytes);

}  // namespace rknpu::test
