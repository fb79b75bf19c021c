// SPDX-License-Identifier: MIT
#include "core/types.hpp"

#include <array>

namespace rknpu {

std::string_view to_string(DataType type) {
    static constexpr std::array<std::string_view, 12> kNames = {
        "float32", "float16", "int8",  "uint8", "int16", "uint16",
        "int32",   "uint32",  "int64", "bool",  "int4",  "bfloat16"};
    return kNames[static_cast<size_t>(type)];
}

std::string_view to_string(Order order) {
    static constexpr std::array<std::string_view, 3> kNames = {"plain", "NHWC", "NC1HWC2"};
    return kNames[static_cast<size_t>(order)];
}

}  // namespace rknpu
