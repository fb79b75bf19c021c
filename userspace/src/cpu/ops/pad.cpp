// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstring>

#include "../convert.hpp"
#include "ops.hpp"
#include "support.hpp"

namespace rknpu::cpu::ops {

namespace {

enum class Mode { kConstant, kReflect, kEdge, kWrap };

struct Pads {
    Mode mode = Mode::kConstant;
    std::array<std::int64_t, kMaxRank> before{};
    std::array<std::int64_t, kMaxRank> after{};
};

Status read_mode(const OpContext& context, Mode& out) {
    std::string name = "constant";
    RKNPU_CPU_TRY(attr(context, "mode", name));
    constexpr std::array<std::string_view, 4> kNames = {"constant", "reflect", "edge", "wrap"};
    const auto it = std::ranges::find(kNames, name);
    if (it == kNames.end())
        return fail(context, StatusCode::kInvalidAttribute, "unknown mode '", name, "'");
    out = static_cast<Mode>(it - kNames.begin());
    return {};
}

Status read_pads(const OpContext& context, Pads& out) {
    RKNPU_CPU_TRY(read_mode(context, out.mode));
    const std::size_t rank = context.inputs[0].dims.rank();
    std::vector<std::int64_t> pads;
    bool present = false;
    RKNPU_CPU_TRY(ints_input_or_attr(context, 1, "pads", pads, present));
    std::vector<std::size_t> axes(rank);
    for (std::size_t i = 0; i < rank; ++i)
        axes[i] = i;
    if (context.has(3)) {
        std::vector<std::int64_t> list;
        RKNPU_CPU_TRY(read_ints(context, 3, list));
        RKNPU_CPU_TRY(normalize_axes(context, list, rank, axes));
    }
    if (!present || pads.size() != 2 * axes.size())
        return fail(context, StatusCode::kInvalidValue, "needs ", 2 * axes.size(), " pads, got ",
                    pads.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
        for (std::int64_t p : {pads[i], pads[i + axes.size()]}) {
            if (p < -kMaxElements || p > kMaxElements)
                return fail(context, StatusCode::kTooLarge, "pad ", p, " is out of range");
        }
        out.before[axes[i]] = pads[i];
        out.after[axes[i]] = pads[i + axes.size()];
    }
    return {};
}

Status infer_pad(const OpContext& context, std::vector<TensorInfo>& outputs) {
    Pads pads;
    RKNPU_CPU_TRY(read_pads(context, pads));
    const Dims& in = context.inputs[0].dims;
    Dims dims = in;
    for (std::size_t i = 0; i < dims.rank(); ++i) {
        dims[i] += pads.before[i] + pads.after[i];
        const bool grows = pads.before[i] > 0 || pads.after[i] > 0;
        if (dims[i] < 0 || (pads.mode != Mode::kConstant && grows && in[i] == 0))
            return fail(context, StatusCode::kInvalidShape, "pads ", pads.before[i], " and ",
                        pads.after[i], " do not fit dimension ", in[i]);
    }
    RKNPU_CPU_TRY(check_size(context, dims));
    push_like(outputs, context.inputs[0], dims);
    return {};
}

/// The source position of output position `i` in one dimension; -1 for the constant.
std::int64_t source_position(Mode mode, std::int64_t i, std::int64_t dim) {
    if (i >= 0 && i < dim)
        return i;
    switch (mode) {
        case Mode::kConstant:
            return -1;
        case Mode::kEdge:
            return std::clamp<std::int64_t>(i, 0, dim - 1);
        case Mode::kWrap:
            return ((i % dim) + dim) % dim;
        case Mode::kReflect: {
            if (dim == 1)
                return 0;
            const std::int64_t period = 2 * (dim - 1);
            const std::int64_t m = ((i % period) + period) % period;
            return m < dim ? m : period - m;
        }
    }
    return -1;
}

/// The fill element's bytes (at most 8). Without a value input a quantised tensor is filled with
/// its zero point, the code of 0.0.
Status fill_bytes(const OpContext& context, std::array<std::byte, 8>& out) {
    const TensorView& in = context.inputs[0];
    Tensor one;
    RKNPU_CPU_TRY(Tensor::create({in.dtype, {}, in.quant}, one));
    Tensor value;
    if (context.has(2)) {
        if (context.inputs[2].elements() != 1)
            return fail(context, StatusCode::kInvalidShape, "the value is not one number");
        RKNPU_CPU_TRY(Tensor::create({context.inputs[2].dtype, {}, context.inputs[2].quant},
                                     context.inputs[2].data, value));
        // A plain number of the tensor's own type is a code already.
        const bool code = in.quant && value.info().dtype == in.dtype;
        if (code)
            RKNPU_CPU_TRY(Tensor::create(one.info(), context.inputs[2].data, value));
    } else {
        float number = 0;
        RKNPU_CPU_TRY(attr(context, "value", number));
        const auto bytes = std::as_bytes(std::span(&number, 1));
        RKNPU_CPU_TRY(Tensor::create({DType::kF32, {}, std::nullopt}, bytes, value));
    }
    RKNPU_CPU_TRY(convert(value.view(), one.mut_view()));
    std::ranges::copy(one.bytes(), out.begin());
    return {};
}

Status compute_pad(const OpContext& context) {
    Pads pads;
    RKNPU_CPU_TRY(read_pads(context, pads));
    std::array<std::byte, 8> fill{};
    RKNPU_CPU_TRY(fill_bytes(context, fill));
    const TensorView& in = context.inputs[0];
    const MutTensorView& out = context.outputs[0];
    const std::size_t rank = in.dims.rank();
    // One table of source offsets per dimension; -1 marks the constant.
    const auto strides = strides_of(in.dims);
    std::vector<std::vector<std::int64_t>> tables(rank);
    for (std::size_t a = 0; a < rank; ++a) {
        for (std::int64_t i = 0; i < out.dims[a]; ++i) {
            const std::int64_t p = source_position(pads.mode, i - pads.before[a], in.dims[a]);
            tables[a].push_back(p < 0 ? -1 : p * strides[a]);
        }
    }
    dispatch_width(in.dtype, [&]<typename T>(std::type_identity<T>) {
        T constant;
        std::memcpy(&constant, fill.data(), sizeof(T));
        const T* src = in.as<T>().data();
        T* dst = out.as<T>().data();
        Walk<1> walk;
        walk.dims = out.dims;
        walk.strides[0] = strides_of(out.dims);
        const auto out_strides = walk.strides[0];
        walk.rows([&](const auto& at) {
            std::int64_t rest = at[0];
            std::int64_t offset = 0;
            bool inside = true;
            for (std::size_t a = 0; a + 1 < rank; ++a) {
                const std::int64_t o = tables[a][static_cast<std::size_t>(rest / out_strides[a])];
                rest %= out_strides[a];
                inside = inside && o >= 0;
                offset += o;
            }
            const std::int64_t n = walk.row_length();
            for (std::int64_t i = 0; i < n; ++i) {
                const std::int64_t o =
                    rank == 0 ? 0 : tables[rank - 1][static_cast<std::size_t>(i)];
                dst[at[0] + i] = inside && o >= 0 ? src[offset + o] : constant;
            }
        });
    });
    return {};
}

constexpr std::array kOps = {
    Operator{"Pad", 1, 4, 1, Numeric::kMove, infer_pad, compute_pad},
};

}  // namespace

std::span<const Operator> pad_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
