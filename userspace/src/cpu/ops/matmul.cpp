// SPDX-License-Identifier: MIT
// MatMul (numpy rules), Gemm, and the integer forms MatMulInteger and QLinearMatMul.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "elementwise.hpp"
#include "gemm.hpp"
#include "ops.hpp"
#include "quantized.hpp"

namespace rknpu::cpu::ops {

namespace {

/// A batched product after numpy's rules for vectors: rank 1 becomes a row or a column.
struct Product {
    Dims batch;  // broadcast batch dimensions
    Dims a_batch;
    Dims b_batch;
    std::int64_t m = 1;
    std::int64_t n = 1;
    std::int64_t k = 1;
    Dims out;
};

Dims leading(const Dims& dims) {
    Dims out;
    for (std::size_t i = 0; i + 2 < dims.rank(); ++i)
        (void)out.push_back(dims[i]);
    return out;
}

Status read_product(const OpContext& context, const Dims& a, const Dims& b, Product& out) {
    if (a.rank() == 0 || b.rank() == 0)
        return fail(context, StatusCode::kInvalidShape, "does not take scalars");
    const bool row = a.rank() == 1;
    const bool column = b.rank() == 1;
    out.m = row ? 1 : a[a.rank() - 2];
    out.k = a[a.rank() - 1];
    out.n = column ? 1 : b[b.rank() - 1];
    if (b[column ? 0 : b.rank() - 2] != out.k)
        return fail(context, StatusCode::kInvalidShape, "cannot multiply ", a.text(), " by ",
                    b.text());
    out.a_batch = leading(a);
    out.b_batch = leading(b);
    RKNPU_CPU_TRY(broadcast(context, out.a_batch, out.b_batch, out.batch));
    out.out = out.batch;
    if (!row && !out.out.push_back(out.m))
        return fail(context, StatusCode::kInvalidShape, "too many dimensions");
    if (!column && !out.out.push_back(out.n))
        return fail(context, StatusCode::kInvalidShape, "too many dimensions");
    return check_size(context, out.out);
}

/// Calls f(a_offset, b_offset, c_offset) for every matrix of the batch.
template <typename F>
void for_each_matrix(const Product& p, F&& f) {
    Walk<3> walk;
    walk.dims = p.batch;
    walk.strides = {broadcast_strides(p.a_batch, p.batch), broadcast_strides(p.b_batch, p.batch),
                    strides_of(p.batch)};
    walk.elements(
        [&](const auto& at) { f(at[0] * p.m * p.k, at[1] * p.k * p.n, at[2] * p.m * p.n); });
}

/// Plain product of any two element types; `load_a(index)` and `load_b(index)` give the factors.
template <typename Acc, typename LoadA, typename LoadB, typename Store>
void multiply(const Product& p, LoadA load_a, LoadB load_b, Store store) {
    for_each_matrix(p, [&](std::int64_t a0, std::int64_t b0, std::int64_t c0) {
        for (std::int64_t i = 0; i < p.m; ++i) {
            for (std::int64_t j = 0; j < p.n; ++j) {
                Acc sum = 0;
                for (std::int64_t k = 0; k < p.k; ++k)
                    sum += load_a(a0 + i * p.k + k, i) * load_b(b0 + k * p.n + j, j);
                store(c0 + i * p.n + j, j, sum);
            }
        }
    });
}

Status infer_matmul(const OpContext& context, std::vector<TensorInfo>& outputs) {
    const TensorView& a = context.inputs[0];
    const TensorView& b = context.inputs[1];
    if (a.dtype != b.dtype)
        return fail(context, StatusCode::kInvalidType, "inputs are ", dtype_name(a.dtype), " and ",
                    dtype_name(b.dtype));
    Product product;
    RKNPU_CPU_TRY(read_product(context, a.dims, b.dims, product));
    push_like(outputs, a, product.out);
    return {};
}

Status compute_matmul(const OpContext& context) {
    const TensorView& a = context.inputs[0];
    const TensorView& b = context.inputs[1];
    const MutTensorView& out = context.outputs[0];
    Product p;
    RKNPU_CPU_TRY(read_product(context, a.dims, b.dims, p));
    if (a.dtype == DType::kF32) {
        std::ranges::fill(out.as<float>(), 0.0F);
        for_each_matrix(p, [&](std::int64_t a0, std::int64_t b0, std::int64_t c0) {
            gemm({a.as<float>().data() + a0, p.k, b.as<float>().data() + b0, p.n,
                  out.as<float>().data() + c0, p.n, p.m, p.n, p.k},
                 context.reference);
        });
        return {};
    }
    const bool known = dispatch_numbers(a.dtype, [&]<typename T>(std::type_identity<T>) {
        using Acc = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
        const auto x = a.as<T>();
        const auto y = b.as<T>();
        const auto z = out.as<T>();
        multiply<Acc>(
            p, [&](std::int64_t i, std::int64_t) { return static_cast<Acc>(x[i]); },
            [&](std::int64_t i, std::int64_t) { return static_cast<Acc>(y[i]); },
            [&](std::int64_t i, std::int64_t, Acc v) { z[i] = static_cast<T>(v); });
    });
    return known ? Status{} : bad_type(context);
}

// --- Gemm: alpha * A' * B' + beta * C

struct GemmSettings {
    float alpha = 1.0F;
    float beta = 1.0F;
    bool trans_a = false;
    bool trans_b = false;
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
};

Status read_gemm(const OpContext& context, GemmSettings& out) {
    RKNPU_CPU_TRY(attr(context, "alpha", out.alpha));
    RKNPU_CPU_TRY(attr(context, "beta", out.beta));
    RKNPU_CPU_TRY(attr(context, "transA", out.trans_a));
    RKNPU_CPU_TRY(attr(context, "transB", out.trans_b));
    const Dims& a = context.inputs[0].dims;
    const Dims& b = context.inputs[1].dims;
    if (a.rank() != 2 || b.rank() != 2 || a[out.trans_a ? 0 : 1] != b[out.trans_b ? 1 : 0])
        return fail(context, StatusCode::kInvalidShape, "cannot multiply ", a.text(), " by ",
                    b.text());
    out.m = a[out.trans_a ? 1 : 0];
    out.k = a[out.trans_a ? 0 : 1];
    out.n = b[out.trans_b ? 0 : 1];
    return {};
}

Status infer_gemm(const OpContext& context, std::vector<TensorInfo>& outputs) {
    GemmSettings s;
    RKNPU_CPU_TRY(read_gemm(context, s));
    for (std::size_t i = 0; i < context.inputs.size(); ++i) {
        if (context.has(i) && context.inputs[i].dtype != DType::kF32)
            return bad_type(context, i);
    }
    const Dims dims{s.m, s.n};
    if (context.has(2)) {
        Dims both;
        RKNPU_CPU_TRY(broadcast(context, dims, context.inputs[2].dims, both));
        if (both != dims)
            return fail(context, StatusCode::kInvalidShape, "C ", context.inputs[2].dims.text(),
                        " does not broadcast to ", dims.text());
    }
    push_like(outputs, context.inputs[0], dims);
    return {};
}

/// A dense copy of x or of its transpose, times `factor`.
std::vector<float> packed(std::span<const float> x, std::int64_t rows, std::int64_t cols,
                          bool transposed, float factor) {
    std::vector<float> out(x.size());
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < cols; ++j)
            out[static_cast<std::size_t>(i * cols + j)] =
                x[static_cast<std::size_t>(transposed ? j * rows + i : i * cols + j)] * factor;
    }
    return out;
}

Status compute_gemm(const OpContext& context) {
    GemmSettings s;
    RKNPU_CPU_TRY(read_gemm(context, s));
    const MutTensorView& out = context.outputs[0];
    float* c = out.as<float>().data();
    std::ranges::fill(out.as<float>(), 0.0F);
    if (context.has(2)) {
        Walk<2> walk;
        walk.dims = out.dims;
        walk.strides = {broadcast_strides(context.inputs[2].dims, out.dims), strides_of(out.dims)};
        const float* bias = context.inputs[2].as<float>().data();
        walk.elements([&](const auto& at) { c[at[1]] = s.beta * bias[at[0]]; });
    }
    const std::vector<float> a =
        packed(context.inputs[0].as<float>(), s.m, s.k, s.trans_a, s.alpha);
    const std::vector<float> b = packed(context.inputs[1].as<float>(), s.k, s.n, s.trans_b, 1.0F);
    gemm({a.data(), s.k, b.data(), s.n, c, s.n, s.m, s.n, s.k}, context.reference);
    return {};
}

// --- MatMulInteger: A, B, a_zero_point, b_zero_point

Status infer_matmul_integer(const OpContext& context, std::vector<TensorInfo>& outputs) {
    RKNPU_CPU_TRY(check_integer_types(context));
    Product product;
    RKNPU_CPU_TRY(read_product(context, context.inputs[0].dims, context.inputs[1].dims, product));
    outputs.push_back({DType::kI32, product.out, std::nullopt});
    return {};
}

Status compute_matmul_integer(const OpContext& context) {
    const TensorView& a = context.inputs[0];
    const TensorView& b = context.inputs[1];
    Product p;
    RKNPU_CPU_TRY(read_product(context, a.dims, b.dims, p));
    std::vector<std::int32_t> za;
    std::vector<std::int32_t> zb;
    RKNPU_CPU_TRY(read_zero_points(context, 2, p.m, za));
    RKNPU_CPU_TRY(read_zero_points(context, 3, p.n, zb));
    const auto out = context.outputs[0].as<std::int32_t>();
    multiply<std::int64_t>(
        p, [&](std::int64_t i, std::int64_t row) { return byte_value(a, i) - za[row]; },
        [&](std::int64_t i, std::int64_t col) { return byte_value(b, i) - zb[col]; },
        [&](std::int64_t i, std::int64_t, std::int64_t v) {
            out[i] = static_cast<std::int32_t>(v);
        });
    return {};
}

// --- QLinearMatMul: a, a_scale, a_zp, b, b_scale, b_zp, y_scale, y_zp

Status infer_qlinear_matmul(const OpContext& context, std::vector<TensorInfo>& outputs) {
    RKNPU_CPU_TRY(check_qlinear_types(context));
    Product product;
    RKNPU_CPU_TRY(read_product(context, context.inputs[0].dims, context.inputs[3].dims, product));
    outputs.push_back({context.inputs[7].dtype, product.out, std::nullopt});
    return {};
}

Status compute_qlinear_matmul(const OpContext& context) {
    const TensorView& a = context.inputs[0];
    const TensorView& b = context.inputs[3];
    Product p;
    RKNPU_CPU_TRY(read_product(context, a.dims, b.dims, p));
    std::vector<std::int32_t> za;
    std::vector<std::int32_t> zb;
    std::vector<float> sa;
    std::vector<float> sb;
    RKNPU_CPU_TRY(read_zero_points(context, 2, p.m, za));
    RKNPU_CPU_TRY(read_zero_points(context, 5, p.n, zb));
    RKNPU_CPU_TRY(read_scales(context, 1, p.m, sa));
    RKNPU_CPU_TRY(read_scales(context, 4, p.n, sb));
    std::vector<float> real(static_cast<std::size_t>(context.outputs[0].elements()));
    multiply<std::int64_t>(
        p, [&](std::int64_t i, std::int64_t row) { return byte_value(a, i) - za[row]; },
        [&](std::int64_t i, std::int64_t col) { return byte_value(b, i) - zb[col]; },
        [&](std::int64_t i, std::int64_t col, std::int64_t v) {
            const std::int64_t row = i / p.n % p.m;
            real[i] = static_cast<float>(static_cast<double>(v) * sa[row] * sb[col]);
        });
    return store_qlinear(context, real);
}

constexpr std::array kOps = {
    Operator{"MatMul", 2, 2, 1, Numeric::kFloat, infer_matmul, compute_matmul},
    Operator{"Gemm", 2, 3, 1, Numeric::kFloat, infer_gemm, compute_gemm},
    Operator{"MatMulInteger", 2, 4, 1, Numeric::kRaw, infer_matmul_integer, compute_matmul_integer},
    Operator{"QLinearMatMul", 8, 8, 1, Numeric::kRaw, infer_qlinear_matmul, compute_qlinear_matmul},
};

}  // namespace

std::span<const Operator> matmul_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
