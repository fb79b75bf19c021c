// SPDX-License-Identifier: MIT
#include "input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <span>

#include "npy.hpp"
#include "picture.hpp"

namespace rknpu::tools {
namespace {

bool has_suffix(const std::string& path, std::initializer_list<const char*> suffixes) {
    std::string lower(path);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return std::any_of(suffixes.begin(), suffixes.end(),
                       [&](const char* suffix) { return lower.ends_with(suffix); });
}

struct PictureSize {
    uint32_t height = 0, width = 0, channels = 0;
};

/// Height, width and channels of an input that takes a picture.
std::optional<PictureSize> picture_size(const rknn_tensor_attr& attr) {
    if (attr.n_dims == 4 && attr.fmt == RKNN_TENSOR_NHWC && attr.dims[0] == 1 &&
        (attr.dims[3] == 1 || attr.dims[3] == 3 || attr.dims[3] == 4))
        return PictureSize{attr.dims[1], attr.dims[2], attr.dims[3]};
    if (attr.n_dims == 3 && attr.dims[0] == 1)
        return PictureSize{attr.dims[1], attr.dims[2], 1};
    return std::nullopt;
}

/// Inputs that are no NHWC image take real values; pixels then go to the range the input has.
void to_real_values(const rknn_tensor_attr& attr, InputData& data) {
    const float highest = attr.scale * static_cast<float>(127 - attr.zp);
    const bool unit = attr.qnt_type == RKNN_TENSOR_QNT_AFFINE_ASYMMETRIC && highest <= 2.0f;
    std::vector<std::byte> values(data.bytes.size() * sizeof(float));
    for (size_t i = 0; i < data.bytes.size(); ++i) {
        const auto pixel = static_cast<float>(std::to_integer<uint8_t>(data.bytes[i]));
        const float value = unit ? pixel / 255.0f : pixel;
        std::memcpy(values.data() + i * sizeof(float), &value, sizeof(float));
    }
    data.bytes = std::move(values);
    data.type = RKNN_TENSOR_FLOAT32;
    data.fmt = RKNN_TENSOR_UNDEFINED;
    if (unit)
        data.note += (data.note.empty() ? "" : ", ") + std::string("pixels scaled to 0..1");
}

std::optional<InputData> load_picture(const std::string& path, const rknn_tensor_attr& attr,
                                      std::string& error) {
    const auto size = picture_size(attr);
    if (!size) {
        error = fmt::format("{}: input '{}' does not take a picture; give .npy or raw bytes", path,
                            attr.name);
        return std::nullopt;
    }
    auto picture = read_picture(path, size->channels, error);
    if (!picture)
        return std::nullopt;
    InputData out;
    if (picture->height != size->height || picture->width != size->width) {
        out.note = fmt::format("resized from {}x{} to {}x{}", picture->width, picture->height,
                               size->width, size->height);
        *picture = resize(*picture, size->height, size->width);
    }
    out.bytes = std::move(picture->pixels);
    if (attr.n_dims != 4)
        to_real_values(attr, out);
    return out;
}

std::optional<rknn_tensor_type> npy_type(const std::string& descr) {
    static constexpr std::pair<const char*, rknn_tensor_type> kTypes[] = {
        {"f4", RKNN_TENSOR_FLOAT32}, {"f2", RKNN_TENSOR_FLOAT16}, {"u1", RKNN_TENSOR_UINT8},
        {"i1", RKNN_TENSOR_INT8},    {"i8", RKNN_TENSOR_INT64},   {"b1", RKNN_TENSOR_BOOL},
        {"i4", RKNN_TENSOR_INT32}};
    for (const auto& [name, type] : kTypes) {
        if (descr.size() > 1 && descr.compare(1, std::string::npos, name) == 0)
            return type;
    }
    return std::nullopt;
}

/// A shape without the dimensions that are 1.
std::vector<uint32_t> squeezed(std::span<const uint32_t> shape) {
    std::vector<uint32_t> out;
    std::copy_if(shape.begin(), shape.end(), std::back_inserter(out),
                 [](uint32_t dim) { return dim != 1; });
    return out;
}

/// The order of an array of this shape: the input's own, or NCHW for an image. Dimensions of 1 may
/// be missing, and a list of all elements is in the input's order. Nothing if the shape does not
/// fit.
std::optional<rknn_tensor_format> npy_format(std::span<const uint32_t> shape,
                                             const rknn_tensor_attr& attr) {
    const auto given = squeezed(shape);
    if (given.size() <= 1 || given == squeezed({attr.dims, attr.n_dims}))
        return attr.fmt;
    if (attr.fmt != RKNN_TENSOR_NHWC || attr.n_dims != 4)
        return std::nullopt;
    const uint32_t nchw[] = {attr.dims[0], attr.dims[3], attr.dims[1], attr.dims[2]};
    return given == squeezed(nchw) ? std::optional(RKNN_TENSOR_NCHW) : std::nullopt;
}

std::optional<InputData> load_npy(const std::string& path, const rknn_tensor_attr& attr,
                                  std::string& error) {
    auto array = read_npy(path, error);
    if (!array)
        return std::nullopt;
    const auto type = npy_type(array->descr);
    if (!type) {
        error = fmt::format(
            "{}: the type {} is not supported; float32, float16, uint8, int8, int32, int64 and "
            "bool are",
            path, array->descr);
        return std::nullopt;
    }
    if (array->elements() != attr.n_elems) {
        error = fmt::format("{}: {} elements, input '{}' has {}", path, array->elements(),
                            attr.name, attr.n_elems);
        return std::nullopt;
    }
    const auto format = npy_format(array->shape, attr);
    if (!format) {
        error = fmt::format("{}: has the shape [{}], input '{}' has [{}]", path,
                            fmt::join(array->shape, ", "), attr.name,
                            fmt::join(attr.dims, attr.dims + attr.n_dims, ", "));
        return std::nullopt;
    }
    InputData out;
    out.bytes = std::move(array->data);
    out.type = *type;
    out.fmt = *format;
    return out;
}

std::optional<InputData> load_raw(const std::string& path, const rknn_tensor_attr& attr,
                                  std::string& error) {
    auto bytes = read_bytes(path);
    if (!bytes) {
        error = cannot(path, "read");
        return std::nullopt;
    }
    InputData out;
    out.fmt = attr.fmt;
    const uint64_t count = attr.n_elems;
    const bool wide = attr.type == RKNN_TENSOR_INT64;
    if (bytes->size() == count)
        out.type = attr.type == RKNN_TENSOR_BOOL ? RKNN_TENSOR_BOOL : RKNN_TENSOR_UINT8;
    else if (bytes->size() == 2 * count)
        out.type = RKNN_TENSOR_FLOAT16;
    else if (bytes->size() == 4 * count)
        out.type = RKNN_TENSOR_FLOAT32;
    else if (bytes->size() == 8 * count && wide)
        out.type = RKNN_TENSOR_INT64;
    else {
        error = fmt::format("{}: {} bytes; input '{}' has {} elements of 1, 2 or 4 bytes", path,
                            bytes->size(), attr.name, count);
        return std::nullopt;
    }
    out.bytes = std::move(*bytes);
    return out;
}

}  // namespace

std::optional<InputData> load_input(const std::string& path, const rknn_tensor_attr& attr,
                                    std::string& error) {
    if (has_suffix(path, {".png", ".jpg", ".jpeg", ".bmp", ".pgm", ".ppm"}))
        return load_picture(path, attr, error);
    if (has_suffix(path, {".npy"}))
        return load_npy(path, attr, error);
    return load_raw(path, attr, error);
}

}  // namespace rknpu::tools
