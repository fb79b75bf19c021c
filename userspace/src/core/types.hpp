// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rknpu {

/// Element types, in the order of the public API.
enum class DataType : uint8_t {
    kFloat32,
    kFloat16,
    kInt8,
    kUint8,
    kInt16,
    kUint16,
    kInt32,
    kUint32,
    kInt64,
    kBool,
    kInt4,
    kBfloat16,
};

/// Order of the elements of a tensor in memory.
enum class Order : uint8_t {
    kPlain,    ///< row major in the order of its dims (NCHW for images)
    kNhwc,     ///< packed pixels, rows may be longer than the width
    kNc1hwc2,  ///< the NPU's native feature layout
};

std::string_view to_string(DataType type);
std::string_view to_string(Order order);

constexpr unsigned bits_of(DataType type) {
    switch (type) {
        case DataType::kInt4:
            return 4;
        case DataType::kInt8:
        case DataType::kUint8:
        case DataType::kBool:
            return 8;
        case DataType::kFloat16:
        case DataType::kBfloat16:
        case DataType::kInt16:
        case DataType::kUint16:
            return 16;
        case DataType::kInt64:
            return 64;
        case DataType::kFloat32:
        case DataType::kInt32:
        case DataType::kUint32:
            return 32;
    }
    return 8;
}

/// Bytes that `count` elements occupy.
constexpr uint64_t bytes_of(DataType type, uint64_t count) {
    return (count * bits_of(type) + 7) / 8;
}

}  // namespace rknpu
