// SPDX-License-Identifier: MIT
#pragma once

#include <rknn_api.h>

#include <optional>
#include <string>
#include <vector>

namespace rknpu::tools {

/// Data for one model input, ready for rknn_inputs_set().
struct InputData {
    std::vector<std::byte> bytes;
    rknn_tensor_type type = RKNN_TENSOR_UINT8;
    rknn_tensor_format fmt = RKNN_TENSOR_NHWC;
    std::string note;  ///< what was changed on the way (resized, scaled), empty if nothing
};

/// Reads a picture (PNG, JPEG, BMP, PGM, PPM), a .npy array or raw bytes for the input `attr`
/// (RKNN_QUERY_INPUT_ATTR). Pictures are resized to the input's size. An array has the input's
/// shape, or that of NCHW for an image; dimensions of 1 may be missing, and a one-dimensional one
/// is in the input's order. The size of raw bytes chooses their type: 1 byte an element is uint8
/// (or bool), 2 float16, 4 float32, 8 int64. On failure `error` says why.
std::optional<InputData> load_input(const std::string& path, const rknn_tensor_attr& attr,
                                    std::string& error);

}  // namespace rknpu::tools
