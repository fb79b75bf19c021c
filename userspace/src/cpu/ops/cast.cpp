// SPDX-License-Identifier: MIT
// Type changes: Cast, CastLike, and the vendor's exDataConvert.
#include <array>
#include <utility>

#include "../convert.hpp"
#include "ops.hpp"
#include "support.hpp"

namespace rknpu::cpu::ops {

namespace {

Status infer_cast(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::int64_t to = 0;
    RKNPU_CPU_TRY(attr(context, "to", to));
    const std::optional<DType> type = dtype_from_onnx(to);
    if (!type)
        return fail(context, StatusCode::kInvalidAttribute, "to = ", to,
                    " is no number type (ONNX TensorProto code)");
    outputs.push_back({*type, context.inputs[0].dims, std::nullopt});
    return {};
}

Status infer_cast_like(const OpContext& context, std::vector<TensorInfo>& outputs) {
    outputs.push_back({context.inputs[1].dtype, context.inputs[0].dims, std::nullopt});
    return {};
}

bool is_integer(DType type) {
    return !dtype_is_float(type) && type != DType::kBool;
}

/// Integers wrap as in numpy and C; floats truncate and saturate (ONNX leaves that open).
Status cast_elements(const TensorView& in, const MutTensorView& out) {
    if (!is_integer(in.dtype) || !is_integer(out.dtype))
        return convert(in, out);
    const std::int64_t n = in.elements();
    // The source's sign matters, of the target only the width.
    dispatch_numbers(in.dtype, [&]<typename S>(std::type_identity<S>) {
        if constexpr (std::is_integral_v<S>) {
            dispatch_width(out.dtype, [&]<typename D>(std::type_identity<D>) {
                const S* src = in.as<S>().data();
                D* dst = out.as<D>().data();
                for (std::int64_t i = 0; i < n; ++i)
                    dst[i] = static_cast<D>(src[i]);
            });
        }
    });
    return {};
}

Status compute_cast(const OpContext& context) {
    const TensorView& in = context.inputs[0];
    const MutTensorView& out = context.outputs[0];
    if (!in.quant && !out.quant)
        return cast_elements(in, out);
    // What is cast is the real value, not its code.
    Tensor real;
    RKNPU_CPU_TRY(Tensor::create({DType::kF32, in.dims, std::nullopt}, real));
    RKNPU_CPU_TRY(convert(in, real.mut_view()));
    return out.quant ? convert(real.view(), out) : cast_elements(real.view(), out);
}

/// exDataConvert changes the representation (float16, float32, int8 codes) and keeps the values:
/// exactly what run() does after an operator that hands its input through.
Status compute_data_convert(const OpContext& context) {
    return convert(context.inputs[0], context.outputs[0]);
}

constexpr std::array kOps = {
    Operator{"Cast", 1, 1, 1, Numeric::kRaw, infer_cast, compute_cast},
    Operator{"CastLike", 2, 2, 1, Numeric::kRaw, infer_cast_like, compute_cast},
    Operator{"DataConvert", 1, 4, 1, Numeric::kMove, infer_same, compute_data_convert},
};

}  // namespace

std::span<const Operator> cast_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
