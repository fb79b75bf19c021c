// SPDX-License-Identifier: MIT
#pragma once

#include <rknn_api.h>

#include <algorithm>
#include <optional>
#include <span>

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

/// Which input or output an item is for. The manual's own programs leave the index of each at 0 and
/// mean their order.
template <typename Item>
uint32_t index_of(std::span<Item> items, size_t at) {
    const bool unset = std::ranges::all_of(items, [](const auto& item) { return item.index == 0; });
    return unset ? static_cast<uint32_t>(at) : items[at].index;
}

}  // namespace rknpu::api
