// SPDX-License-Identifier: MIT
// Fused operators of transformer models that compilers form; ONNX spells them out.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "attention.hpp"
#include "support.hpp"

namespace rknpu::cpu::ops {

namespace {

Status only_floats(const OpContext& context) {
    for (std::size_t i = 0; i < context.inputs.size(); ++i) {
        if (context.has(i) && context.inputs[i].dtype != DType::kF32)
            return fail(context, StatusCode::kInvalidType, "input ", i, " is ",
                        dtype_name(context.inputs[i].dtype), ", float32 is needed");
    }
    return {};
}

// --- scaled dot-product attention ----------------------------------------------------------------

/// Q [.., M, D], K [.., N, D], V [.., N, E] and a mask that broadcasts to [.., M, N]. The leading
/// dimensions of K and V are those of Q.
struct AttentionShape {
    std::int64_t batch = 1, m = 0, n = 0, d = 0, e = 0;
};

Status attention_shape(const OpContext& context, AttentionShape& shape) {
    RKNPU_CPU_TRY(only_floats(context));
    const Dims& q = context.inputs[0].dims;
    const Dims& k = context.inputs[1].dims;
    const Dims& v = context.inputs[2].dims;
    const std::size_t rank = q.rank();
    if (rank < 2 || k.rank() != rank || v.rank() != rank)
        return fail(context, StatusCode::kInvalidShape, "Q ", q.text(), ", K ", k.text(), ", V ",
                    v.text(), " must have one rank of 2 or more");
    for (std::size_t i = 0; i + 2 < rank; ++i) {
        if (k[i] != q[i] || v[i] != q[i])
            return fail(context, StatusCode::kInvalidShape, "Q ", q.text(), ", K ", k.text(),
                        ", V ", v.text(), " differ in front of the last two dimensions");
    }
    shape = {q.product(0, rank - 2), q[rank - 2], k[rank - 2], q[rank - 1], v[rank - 1]};
    if (k[rank - 1] != shape.d || v[rank - 2] != shape.n)
        return fail(context, StatusCode::kInvalidShape, "K ", k.text(), " and V ", v.text(),
                    " do not fit Q ", q.text());
    return {};
}

Status infer_attention(const OpContext& context, std::vector<TensorInfo>& outputs) {
    AttentionShape shape;
    RKNPU_CPU_TRY(attention_shape(context, shape));
    if (context.has(3)) {
        Dims scores = context.inputs[0].dims;
        scores[scores.rank() - 1] = shape.n;
        Dims all;
        RKNPU_CPU_TRY(broadcast(context, scores, context.inputs[3].dims, all));
        if (all != scores)
            return fail(context, StatusCode::kInvalidShape, "mask ", context.inputs[3].dims.text(),
                        " does not fit ", scores.text());
    }
    Dims dims = context.inputs[0].dims;
    dims[dims.rank() - 1] = shape.e;
    RKNPU_CPU_TRY(check_size(context, dims));
    push_like(outputs, context.inputs[0], dims);
    return {};
}

/// softmax(scale * q . K^T + mask) of one row of Q, into `weights`.
void attention_row(const float* q, const float* k, const float* mask, std::int64_t mask_step,
                   const AttentionShape& shape, float scale, std::vector<double>& weights) {
    double highest = -std::numeric_limits<double>::infinity();
    for (std::int64_t j = 0; j < shape.n; ++j) {
        float dot = 0;
        for (std::int64_t i = 0; i < shape.d; ++i)
            dot += q[i] * k[j * shape.d + i];
        double score = static_cast<double>(dot) * scale;
        if (mask != nullptr)
            score += mask[j * mask_step];
        weights[static_cast<std::size_t>(j)] = score;
        highest = std::max(highest, score);
    }
    double sum = 0;
    for (double& weight : weights) {
        // A row that the mask hides wholly gives zeros, not NaN.
        weight = std::isinf(highest) && highest < 0 ? 0 : std::exp(weight - highest);
        sum += weight;
    }
    for (double& weight : weights)
        weight = sum == 0 ? 0 : weight / sum;
}

Status compute_attention(const OpContext& context) {
    AttentionShape shape;
    RKNPU_CPU_TRY(attention_shape(context, shape));
    auto scale = static_cast<float>(
        1.0 / std::sqrt(static_cast<double>(std::max<std::int64_t>(shape.d, 1))));
    RKNPU_CPU_TRY(attr(context, "scale", scale));
    const auto q = context.inputs[0].as<float>();
    const auto k = context.inputs[1].as<float>();
    const auto v = context.inputs[2].as<float>();
    const auto out = context.outputs[0].as<float>();
    // Offsets of the mask along [batch dims.., M, N].
    Walk<1> rows;
    rows.dims = context.inputs[0].dims;
    rows.dims[rows.dims.rank() - 1] = 1;
    std::int64_t mask_step = 0;
    if (context.has(3)) {
        Dims scores = context.inputs[0].dims;
        scores[scores.rank() - 1] = shape.n;
        rows.strides[0] = broadcast_strides(context.inputs[3].dims, scores);
        mask_step = rows.strides[0][scores.rank() - 1];
    }
    std::vector<double> weights(static_cast<std::size_t>(shape.n));
    std::int64_t row = 0;
    rows.rows([&](std::array<std::int64_t, 1> offset) {
        const float* mask =
            context.has(3) ? context.inputs[3].as<float>().data() + offset[0] : nullptr;
        const std::int64_t batch = row / std::max<std::int64_t>(shape.m, 1);
        attention_row(q.data() + row * shape.d, k.data() + batch * shape.n * shape.d, mask,
                      mask_step, shape, scale, weights);
        for (std::int64_t c = 0; c < shape.e; ++c) {
            double sum = 0;
            for (std::int64_t j = 0; j < shape.n; ++j)
                sum += weights[static_cast<std::size_t>(j)] *
                       v[static_cast<std::size_t>((batch * shape.n + j) * shape.e + c)];
            out[static_cast<std::size_t>(row * shape.e + c)] = static_cast<float>(sum);
        }
        ++row;
    });
    return {};
}

// --- gated linear unit ---------------------------------------------------------------------------

Status glu_axis(const OpContext& context, std::size_t& axis) {
    RKNPU_CPU_TRY(only_floats(context));
    std::int64_t value = -1;
    RKNPU_CPU_TRY(attr(context, "axis", value));
    RKNPU_CPU_TRY(normalize_axis(context, value, context.inputs[0].dims.rank(), axis));
    if (context.inputs[0].dims[axis] % 2 != 0)
        return fail(context, StatusCode::kInvalidShape, "dimension ", axis, " of ",
                    context.inputs[0].dims.text(), " is odd");
    return {};
}

Status infer_glu(const OpContext& context, std::vector<TensorInfo>& outputs) {
    std::size_t axis = 0;
    RKNPU_CPU_TRY(glu_axis(context, axis));
    Dims dims = context.inputs[0].dims;
    dims[axis] /= 2;
    push_like(outputs, context.inputs[0], dims);
    return {};
}

/// first half * sigmoid(second half), as PyTorch's GLU.
Status compute_glu(const OpContext& context) {
    std::size_t axis = 0;
    RKNPU_CPU_TRY(glu_axis(context, axis));
    const Dims& dims = context.inputs[0].dims;
    const std::int64_t outer = dims.product(0, axis);
    const std::int64_t half = dims.product(axis, dims.rank()) / 2;
    const auto in = context.inputs[0].as<float>();
    const auto out = context.outputs[0].as<float>();
    for (std::int64_t o = 0; o < outer; ++o) {
        for (std::int64_t i = 0; i < half; ++i) {
            const auto a = static_cast<std::size_t>(2 * o * half + i);
            const double gate =
                1.0 / (1.0 + std::exp(-double{in[a + static_cast<std::size_t>(half)]}));
            out[static_cast<std::size_t>(o * half + i)] = static_cast<float>(in[a] * gate);
        }
    }
    return {};
}

constexpr std::array kOps = {
    Operator{"SDPAttention", 3, 4, 1, Numeric::kFloat, infer_attention, compute_attention},
    Operator{"Glu", 1, 1, 1, Numeric::kFloat, infer_glu, compute_glu},
};

}  // namespace

std::span<const Operator> attention_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
