// SPDX-License-Identifier: MIT
#pragma once

#include <rknn_api.h>

#include <optional>

#include "runtime/runtime.hpp"

namespace rknpu::api {

/// Views of a tensor that the queries offer.
enum class TensorView {
    kModelInput,   ///< 4 dims as NHWC, others as the model has them
    kModelOutput,  ///< 4 dims as NCHW
    kNative,       ///< as it lies in NPU memory
    kNativeNhwc,   ///< native type, NHWC
};

rknn_tensor_type to_public(DataType type);
std::optional<DataType> from_public(rknn_tensor_type type);

/// Fills every member except pass_through and h_stride, which become 0.
void fill_attr(const GraphTensor& tensor, uint32_t index, TensorView view, rknn_tensor_attr& attr);

/// What a buffer with this type and format holds for `tensor`, without padding. Empty if such a
/// buffer makes no sense for the tensor.
std::optional<ElementView> user_view(const GraphTensor& tensor, DataType type,
                                     rknn_tensor_format format);

/// Copies at most size - 1 characters and terminates.
void copy_text(std::string_view text, char* target, size_t size);

}  // namespace rknpu::api
