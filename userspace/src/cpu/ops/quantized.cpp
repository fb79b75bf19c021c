// SPDX-License-Identifier: MIT
#include "quantized.hpp"

#include <utility>

#include "../convert.hpp"
#include "elementwise.hpp"

namespace rknpu::cpu::ops {

Status check_integer_types(const OpContext& context) {
    for (std::size_t i : {0, 1}) {
        if (!is_byte(context.inputs[i].dtype))
            return bad_type(context, i);
    }
    return {};
}

Status check_qlinear_types(const OpContext& context) {
    for (std::size_t i : {0, 2, 3, 5, 7}) {
        if (!is_byte(context.inputs[i].dtype))
            return bad_type(context, i);
    }
    for (std::size_t i : {1, 4, 6}) {
        if (context.inputs[i].dtype != DType::kF32)
            return bad_type(context, i);
    }
    for (std::size_t i : {6, 7}) {
        if (context.inputs[i].elements() != 1)
            return fail(context, StatusCode::kInvalidShape, "input ", i, " is not one number");
    }
    return {};
}

Status read_zero_points(const OpContext& context, std::size_t input, std::int64_t count,
                        std::vector<std::int32_t>& out) {
    out.assign(static_cast<std::size_t>(count), 0);
    if (!context.has(input))
        return {};
    const TensorView& t = context.inputs[input];
    const std::int64_t n = t.elements();
    if (!is_byte(t.dtype) || (n != 1 && n != count))
        return fail(context, StatusCode::kInvalidShape, "zero point ", dtype_name(t.dtype), " ",
                    t.dims.text(), " does not match ", count, " entries");
    for (std::int64_t i = 0; i < count; ++i)
        out[static_cast<std::size_t>(i)] = byte_value(t, n == 1 ? 0 : i);
    return {};
}

Status read_scales(const OpContext& context, std::size_t input, std::int64_t count,
                   std::vector<float>& out) {
    RKNPU_CPU_TRY(read_floats(context, input, out));
    if (out.size() == 1)
        out.resize(static_cast<std::size_t>(count), out[0]);
    if (std::cmp_not_equal(out.size(), count))
        return fail(context, StatusCode::kInvalidShape, "scale ", context.inputs[input].dims.text(),
                    " does not match ", count, " entries");
    return {};
}

Status store_qlinear(const OpContext& context, std::span<const float> real) {
    const MutTensorView& out = context.outputs[0];
    const Quant quant{context.inputs[6].as<float>()[0], byte_value(context.inputs[7], 0)};
    if (!quant_is_valid(quant, out.dtype))
        return fail(context, StatusCode::kInvalidValue, "bad output scale ", quant.scale);
    if (out.dtype == DType::kI8)
        quantize<std::int8_t>(real, quant, out.as<std::int8_t>());
    else
        quantize<std::uint8_t>(real, quant, out.as<std::uint8_t>());
    return {};
}

}  // namespace rknpu::cpu::ops
