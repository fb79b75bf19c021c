// SPDX-License-Identifier: MIT
#include "conv.hpp"

namespace npusim {

PaddedWindow padded_window(const ConvDesc& conv) {
    return {(conv.out_width - 1) * conv.stride_x + (conv.kernel_width - 1) * conv.dilation_x + 1,
            (conv.out_height - 1) * conv.stride_y + (conv.kernel_height - 1) * conv.dilation_y + 1};
}

int32_t pad_int(const ConvDesc& conv) {
    switch (conv.precision) {
        case Precision::kInt4:
            return static_cast<int8_t>(conv.pad_bits << 4) >> 4;
        case Precision::kInt8:
            return static_cast<int8_t>(conv.pad_bits);
        default:
            return static_cast<int16_t>(conv.pad_bits);
    }
}

float pad_float(const ConvDesc& conv) {
    switch (conv.precision) {
        case Precision::kFp16:
            return half_to_float(static_cast<uint16_t>(conv.pad_bits));
        case Precision::kBf16:
            return bf16_to_float(static_cast<uint16_t>(conv.pad_bits));
        default:
            return cut_to_tf32(std::bit_cast<float>(conv.pad_bits));
    }
}

int32_t convert_input(const ConverterDesc& convert, uint32_t lane, uint8_t raw) {
    const int32_t value = convert.data_signed ? static_cast<int8_t>(raw) : raw;
    const size_t i = lane % 4;
    const int64_t scale = convert.scale[i];
    const int64_t offset = convert.offset[i];
    int64_t result = 0;
    if (convert.offset_first)
        result = shift_round((value + offset) * scale, convert.shift[i], convert.round);
    else
        result = shift_round(value * scale, convert.shift[i], convert.round) + offset;
    return static_cast<int32_t>(saturate(result, 8));
}

}  // namespace npusim
