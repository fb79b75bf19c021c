// SPDX-License-Identifier: MIT
// Comparisons, logic and selection.
#include <array>
#include <cmath>

#include "elementwise.hpp"
#include "ops.hpp"

namespace rknpu::cpu::ops {

namespace {

Status infer_compare(const OpContext& context, std::vector<TensorInfo>& outputs) {
    RKNPU_CPU_TRY(infer_binary(context, outputs));
    outputs.back().dtype = DType::kBool;
    outputs.back().quant.reset();
    return {};
}

template <typename F, typename T>
void compare(const OpContext& context) {
    zip<T, T, std::uint8_t>(context, context.inputs[0], context.inputs[1], context.outputs[0],
                            [](T a, T b) -> std::uint8_t { return F{}(a, b); });
}

template <typename F>
Status compute_compare(const OpContext& context) {
    const bool known =
        dispatch_numbers(context.inputs[0].dtype,
                         [&]<typename T>(std::type_identity<T>) { compare<F, T>(context); });
    return known ? Status{} : bad_type(context);
}

/// For bool: two values are the same if both are zero or both are not.
template <typename F>
Status compute_logic(const OpContext& context) {
    compare<F, std::uint8_t>(context);
    return {};
}

struct Equal {
    bool operator()(auto a, auto b) const { return a == b; }
};
struct Greater {
    bool operator()(auto a, auto b) const { return a > b; }
};
struct GreaterOrEqual {
    bool operator()(auto a, auto b) const { return a >= b; }
};
struct Less {
    bool operator()(auto a, auto b) const { return a < b; }
};
struct LessOrEqual {
    bool operator()(auto a, auto b) const { return a <= b; }
};
struct And {
    bool operator()(auto a, auto b) const { return a != 0 && b != 0; }
};
struct Or {
    bool operator()(auto a, auto b) const { return a != 0 || b != 0; }
};
struct Xor {
    bool operator()(auto a, auto b) const { return (a != 0) != (b != 0); }
};

struct Same {
    bool operator()(auto a, auto b) const { return (a != 0) == (b != 0); }
};

Status compute_equal(const OpContext& context) {
    if (context.inputs[0].dtype == DType::kBool)
        return compute_logic<Same>(context);
    return compute_compare<Equal>(context);
}

Status infer_logic(const OpContext& context, std::vector<TensorInfo>& outputs) {
    for (std::size_t i = 0; i < context.inputs.size(); ++i) {
        if (context.inputs[i].dtype != DType::kBool)
            return bad_type(context, i);
    }
    return infer_compare(context, outputs);
}

Status infer_not(const OpContext& context, std::vector<TensorInfo>& outputs) {
    if (context.inputs[0].dtype != DType::kBool)
        return bad_type(context);
    return infer_same(context, outputs);
}

Status compute_not(const OpContext& context) {
    map<std::uint8_t, std::uint8_t>(context.inputs[0], context.outputs[0],
                                    [](std::uint8_t v) -> std::uint8_t { return v == 0; });
    return {};
}

Status infer_bool(const OpContext& context, std::vector<TensorInfo>& outputs) {
    if (!dtype_is_float(context.inputs[0].dtype))
        return bad_type(context);
    outputs.push_back({DType::kBool, context.inputs[0].dims, std::nullopt});
    return {};
}

Status compute_isnan(const OpContext& context) {
    dispatch_floats(context.inputs[0].dtype, [&]<typename T>(std::type_identity<T>) {
        map<T, std::uint8_t>(context.inputs[0], context.outputs[0],
                             [](T v) -> std::uint8_t { return v != v; });
    });
    return {};
}

Status compute_isinf(const OpContext& context) {
    bool negative = true;
    bool positive = true;
    RKNPU_CPU_TRY(attr(context, "detect_negative", negative));
    RKNPU_CPU_TRY(attr(context, "detect_positive", positive));
    dispatch_floats(context.inputs[0].dtype, [&]<typename T>(std::type_identity<T>) {
        map<T, std::uint8_t>(context.inputs[0], context.outputs[0], [=](T v) -> std::uint8_t {
            return std::isinf(v) && (v > 0 ? positive : negative);
        });
    });
    return {};
}

Status infer_where(const OpContext& context, std::vector<TensorInfo>& outputs) {
    if (context.inputs[0].dtype != DType::kBool)
        return bad_type(context);
    const TensorView& x = context.inputs[1];
    if (x.dtype != context.inputs[2].dtype)
        return fail(context, StatusCode::kInvalidType, "values are ", dtype_name(x.dtype), " and ",
                    dtype_name(context.inputs[2].dtype));
    Dims dims;
    RKNPU_CPU_TRY(broadcast(context, context.inputs[0].dims, x.dims, dims));
    RKNPU_CPU_TRY(broadcast(context, dims, context.inputs[2].dims, dims));
    push_like(outputs, x, dims);
    return {};
}

Status compute_where(const OpContext& context) {
    const MutTensorView& out = context.outputs[0];
    Walk<4> walk;
    walk.dims = out.dims;
    walk.strides = {broadcast_strides(context.inputs[0].dims, out.dims),
                    broadcast_strides(context.inputs[1].dims, out.dims),
                    broadcast_strides(context.inputs[2].dims, out.dims), strides_of(out.dims)};
    if (!context.reference)
        walk.coalesce();
    dispatch_width(out.dtype, [&]<typename T>(std::type_identity<T>) {
        const std::uint8_t* c = context.inputs[0].as<std::uint8_t>().data();
        const T* x = context.inputs[1].as<T>().data();
        const T* y = context.inputs[2].as<T>().data();
        T* z = out.as<T>().data();
        walk.elements([&](const auto& at) { z[at[3]] = c[at[0]] != 0 ? x[at[1]] : y[at[2]]; });
    });
    return {};
}

constexpr std::array kOps = {
    Operator{"Equal", 2, 2, 1, Numeric::kOrder, infer_compare, compute_equal},
    Operator{"Greater", 2, 2, 1, Numeric::kOrder, infer_compare, compute_compare<Greater>},
    Operator{"GreaterOrEqual", 2, 2, 1, Numeric::kOrder, infer_compare,
             compute_compare<GreaterOrEqual>},
    Operator{"Less", 2, 2, 1, Numeric::kOrder, infer_compare, compute_compare<Less>},
    Operator{"LessOrEqual", 2, 2, 1, Numeric::kOrder, infer_compare, compute_compare<LessOrEqual>},
    Operator{"And", 2, 2, 1, Numeric::kRaw, infer_logic, compute_logic<And>},
    Operator{"Or", 2, 2, 1, Numeric::kRaw, infer_logic, compute_logic<Or>},
    Operator{"Xor", 2, 2, 1, Numeric::kRaw, infer_logic, compute_logic<Xor>},
    Operator{"Not", 1, 1, 1, Numeric::kRaw, infer_not, compute_not},
    Operator{"IsNaN", 1, 1, 1, Numeric::kFloat, infer_bool, compute_isnan},
    Operator{"IsInf", 1, 1, 1, Numeric::kFloat, infer_bool, compute_isinf},
    Operator{"Where", 3, 3, 1, Numeric::kMove, infer_where, compute_where},
};

}  // namespace

std::span<const Operator> compare_ops() {
    return kOps;
}

}  // namespace rknpu::cpu::ops
