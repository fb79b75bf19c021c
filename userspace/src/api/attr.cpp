// SPDX-License-Identifier: MIT
#include "api/attr.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/program.hpp"

namespace rknpu::api {
namespace {

void set_dims(rknn_tensor_attr& attr, std::span<const uint32_t> dims) {
    attr.n_dims = static_cast<uint32_t>(std::min<size_t>(dims.size(), RKNN_MAX_DIMS));
    std::copy_n(dims.begin(), attr.n_dims, attr.dims);
    attr.n_elems = 1;
    for (uint32_t i = 0; i < attr.n_dims; ++i)
        attr.n_elems *= attr.dims[i];
}

std::vector<uint32_t> unsigned_dims(const std::vector<int32_t>& dims) {
    return {dims.begin(), dims.end()};
}

}  // namespace

rknn_tensor_type to_public(DataType type) {
    return static_cast<rknn_tensor_type>(type);
}

std::optional<DataType> from_public(rknn_tensor_type type) {
    if (static_cast<uint32_t>(type) >= RKNN_TENSOR_TYPE_MAX)
        return std::nullopt;
    return static_cast<DataType>(type);
}

void copy_text(std::string_view text, char* target, size_t size) {
    const size_t length = std::min(text.size(), size - 1);
    std::memcpy(target, text.data(), length);
    std::memset(target + length, 0, size - length);
}

void fill_attr(const GraphTensor& tensor, uint32_t index, TensorView view, rknn_tensor_attr& attr) {
    std::memset(&attr, 0, sizeof(attr));
    attr.index = index;
    copy_text(tensor.name, attr.name, sizeof(attr.name));
    attr.type = to_public(tensor.type);
    attr.qnt_type = tensor.quantised ? RKNN_TENSOR_QNT_AFFINE_ASYMMETRIC : RKNN_TENSOR_QNT_NONE;
    attr.zp = tensor.quantised ? tensor.zero_point : 0;
    attr.scale = tensor.quantised ? tensor.scale : 1.0f;
    const auto layout = layout_of(tensor);
    const bool image = tensor.dims.size() == 4;
    uint64_t storage = tensor.elements();
    if (!image) {
        attr.fmt = RKNN_TENSOR_UNDEFINED;
        set_dims(attr, unsigned_dims(tensor.dims));
    } else if (view == TensorView::kNative && layout.order == Order::kNc1hwc2) {
        attr.fmt = RKNN_TENSOR_NC1HWC2;
        set_dims(attr, unsigned_dims(tensor.native_dims));
        storage = layout.storage();
    } else if (view == TensorView::kModelOutput ||
               (view == TensorView::kNative && layout.order == Order::kPlain)) {
        attr.fmt = RKNN_TENSOR_NCHW;
        set_dims(attr, unsigned_dims(tensor.dims));
    } else {
        attr.fmt = RKNN_TENSOR_NHWC;
        set_dims(attr, std::array<uint32_t, 4>{layout.n, layout.h, layout.w, layout.c});
    }
    attr.size = static_cast<uint32_t>(bytes_of(tensor.type, attr.n_elems));
    if (layout.order == Order::kNhwc) {
        attr.w_stride = layout.row;
        storage = layout.storage();
    } else if (image) {
        attr.w_stride = layout.w;
    }
    attr.size_with_stride =
        std::max(attr.size, static_cast<uint32_t>(bytes_of(tensor.type, storage)));
}

std::optional<ElementView> user_view(const GraphTensor& tensor, DataType type,
                                     rknn_tensor_format format) {
    ElementView view = view_of(tensor);
    const auto& native = view.layout;
    if (tensor.dims.size() != 4) {
        view.layout = native;  // one row
    } else if (format == RKNN_TENSOR_NHWC) {
        view.layout = ImageLayout::nhwc(native.n, native.c, native.h, native.w, native.w);
    } else if (format == RKNN_TENSOR_NC1HWC2) {
        const uint32_t lanes = 128 / bits_of(type);
        if (native.order == Order::kNc1hwc2 && lanes == native.c2)
            view.layout = native;
        else
            return std::nullopt;
    } else {
        view.layout = ImageLayout::plain(native.n, native.c, native.h, native.w);
    }
    view.type = type;
    view.quantised = view.quantised && type == tensor.type;
    return view;
}

}  // namespace rknpu::api
