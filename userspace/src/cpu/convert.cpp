// SPDX-License-Identifier: MIT
#include "convert.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "fp16.hpp"
#include "ops/dispatch.hpp"

namespace rknpu::cpu {

void fp16_to_fp32(std::span<const std::uint16_t> src, std::span<float> dst) {
    const std::size_t n = std::min(src.size(), dst.size());
    const std::uint16_t* s = src.data();
    float* d = dst.data();
    for (std::size_t i = 0; i < n; ++i)
        d[i] = fp16_to_fp32(s[i]);
}

void fp32_to_fp16(std::span<const float> src, std::span<std::uint16_t> dst) {
    const std::size_t n = std::min(src.size(), dst.size());
    const float* s = src.data();
    std::uint16_t* d = dst.data();
    for (std::size_t i = 0; i < n; ++i)
        d[i] = fp32_to_fp16(s[i]);
}

template <typename T>
void quantize(std::span<const float> src, const Quant& quant, std::span<T> dst) {
    const float scale = quant.scale;
    const std::int32_t zero = quant.zero_point;
    // Clamping before rounding is exact because the bounds are integers.
    const float lo = static_cast<float>(std::numeric_limits<T>::min() - zero);
    const float hi = static_cast<float>(std::numeric_limits<T>::max() - zero);
    const std::size_t n = std::min(src.size(), dst.size());
    const float* s = src.data();
    T* d = dst.data();
    for (std::size_t i = 0; i < n; ++i) {
        float v = s[i] / scale;
        v = v > lo ? v : lo;
        v = v < hi ? v : hi;
        d[i] = static_cast<T>(static_cast<std::int32_t>(round_even_small(v)) + zero);
    }
}

template <typename T>
void dequantize(std::span<const T> src, const Quant& quant, std::span<float> dst) {
    const float scale = quant.scale;
    const std::int32_t zero = quant.zero_point;
    const std::size_t n = std::min(src.size(), dst.size());
    const T* s = src.data();
    float* d = dst.data();
    for (std::size_t i = 0; i < n; ++i) {
        if constexpr (sizeof(T) < 4)
            d[i] = static_cast<float>(static_cast<std::int32_t>(s[i]) - zero) * scale;
        else
            d[i] = static_cast<float>(static_cast<std::int64_t>(s[i]) - zero) * scale;
    }
}

template void quantize(std::span<const float>, const Quant&, std::span<std::int8_t>);
template void quantize(std::span<const float>, const Quant&, std::span<std::uint8_t>);
template void quantize(std::span<const float>, const Quant&, std::span<std::int16_t>);
template void dequantize(std::span<const std::int8_t>, const Quant&, std::span<float>);
template void dequantize(std::span<const std::uint8_t>, const Quant&, std::span<float>);
template void dequantize(std::span<const std::int16_t>, const Quant&, std::span<float>);
template void dequantize(std::span<const std::int32_t>, const Quant&, std::span<float>);

bool quant_is_valid(const Quant& quant, DType dtype) {
    if (!std::isfinite(quant.scale) || !(quant.scale > 0.0F))
        return false;
    switch (dtype) {
        case DType::kI8:
            return quant.zero_point >= -128 && quant.zero_point <= 127;
        case DType::kU8:
            return quant.zero_point >= 0 && quant.zero_point <= 255;
        case DType::kI16:
            return quant.zero_point >= -32768 && quant.zero_point <= 32767;
        case DType::kI32:
            return quant.zero_point == 0;
        default:
            return false;
    }
}

namespace {

Status check_quant(const TensorInfo& info) {
    if (info.quant && !quant_is_valid(*info.quant, info.dtype))
        return {StatusCode::kInvalidValue,
                cat("quantisation with scale ", info.quant->scale, " and zero point ",
                    info.quant->zero_point, " does not fit ", dtype_name(info.dtype))};
    return {};
}

/// Any source to float32, dequantised.
void to_float(const TensorView& src, std::span<float> dst) {
    if (src.quant) {
        switch (src.dtype) {
            case DType::kI8:
                return dequantize(src.as<std::int8_t>(), *src.quant, dst);
            case DType::kU8:
                return dequantize(src.as<std::uint8_t>(), *src.quant, dst);
            case DType::kI16:
                return dequantize(src.as<std::int16_t>(), *src.quant, dst);
            default:
                return dequantize(src.as<std::int32_t>(), *src.quant, dst);
        }
    }
    ops::dispatch_all(src.dtype, [&]<typename S>(std::type_identity<S>) {
        const auto from = src.as<S>();
        for (std::size_t i = 0; i < dst.size(); ++i)
            dst[i] = ops::cast_saturate<float>(from[i]);
    });
}

void to_codes(std::span<const float> src, const MutTensorView& dst) {
    switch (dst.dtype) {
        case DType::kI8:
            return quantize(src, *dst.quant, dst.as<std::int8_t>());
        case DType::kU8:
            return quantize(src, *dst.quant, dst.as<std::uint8_t>());
        case DType::kI16:
            return quantize(src, *dst.quant, dst.as<std::int16_t>());
        default: {
            const auto out = dst.as<std::int32_t>();
            for (std::size_t i = 0; i < out.size(); ++i)
                out[i] = ops::cast_saturate<std::int32_t>(
                    std::nearbyint(static_cast<double>(src[i]) / dst.quant->scale));
        }
    }
}

}  // namespace

Status convert(const TensorView& src, const MutTensorView& dst) {
    RKNPU_CPU_TRY(check_quant(src));
    RKNPU_CPU_TRY(check_quant(dst));
    if (src.elements() != dst.elements())
        return {StatusCode::kInvalidShape, cat("cannot convert ", src.dims.text(), " to ",
                                               dst.dims.text(), ": different numbers of elements")};
    if (src.dtype == dst.dtype && src.quant == dst.quant) {
        if (!src.data.empty())
            std::memmove(dst.data.data(), src.data.data(), src.data.size());
        return {};
    }
    const std::size_t n = static_cast<std::size_t>(dst.elements());
    if (src.quant || dst.quant) {
        if (!src.quant && src.dtype == DType::kF32) {
            to_codes(src.as<float>(), dst);
            return {};
        }
        if (dst.dtype == DType::kF32 && !dst.quant) {
            to_float(src, dst.as<float>());
            return {};
        }
        std::vector<float> real(n);
        to_float(src, real);
        if (dst.quant)
            to_codes(real, dst);
        else
            return convert({{DType::kF32, src.dims, {}}, std::as_bytes(std::span(real))}, dst);
        return {};
    }
    ops::dispatch_all(src.dtype, [&]<typename S>(std::type_identity<S>) {
        ops::dispatch_all(dst.dtype, [&]<typename D>(std::type_identity<D>) {
            const S* from = src.as<S>().data();
            D* to = dst.as<D>().data();
            for (std::size_t i = 0; i < n; ++i)
                to[i] = ops::cast_saturate<D>(from[i]);
        });
    });
    return {};
}

}  // namespace rknpu::cpu
