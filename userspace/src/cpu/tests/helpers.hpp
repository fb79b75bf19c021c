// SPDX-License-Identifier: MIT
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "cpu/operator.hpp"

namespace rknpu::cpu::test {

template <typename T>
Tensor make(DType dtype, const Dims& dims, const std::vector<T>& values,
            std::optional<Quant> quant = {}) {
    Tensor t;
    const Status status =
        Tensor::create({dtype, dims, quant}, std::as_bytes(std::span<const T>(values)), t);
    INFO(status.text());
    REQUIRE(status.ok());
    return t;
}

inline Tensor floats(const Dims& dims, const std::vector<float>& values) {
    return make<float>(DType::kF32, dims, values);
}

inline Tensor ints(const std::vector<std::int64_t>& values) {
    return make<std::int64_t>(DType::kI64, {static_cast<std::int64_t>(values.size())}, values);
}

/// Uniform floats in [lo, hi).
inline Tensor random_floats(std::mt19937& rng, const Dims& dims, float lo = -2, float hi = 2) {
    std::uniform_real_distribution<float> pick(lo, hi);
    std::vector<float> values(static_cast<std::size_t>(dims.elements()));
    for (float& v : values)
        v = pick(rng);
    return floats(dims, values);
}

/// Any bytes.
inline Tensor random_codes(std::mt19937& rng, DType dtype, const Dims& dims,
                           std::optional<Quant> quant = {}) {
    Tensor t;
    REQUIRE(Tensor::create({dtype, dims, quant}, t).ok());
    for (std::byte& b : t.bytes())
        b = static_cast<std::byte>(rng());
    return t;
}

/// Infers, allocates and runs; `outputs` are made as inferred unless `wanted` is given.
inline Status call(std::string_view type, const Attributes& attributes,
                   const std::vector<const Tensor*>& inputs, std::vector<Tensor>& outputs,
                   std::size_t count = 1, bool reference = false,
                   const TensorInfo* wanted = nullptr) {
    const Operator* op = find(type);
    REQUIRE(op != nullptr);
    std::vector<TensorView> views;
    for (const Tensor* t : inputs)
        views.push_back(t != nullptr ? t->view() : TensorView{});
    OpContext context;
    context.type = type;
    context.attributes = &attributes;
    context.inputs = views;
    context.output_count = count;
    context.reference = reference;
    std::vector<TensorInfo> infos;
    RKNPU_CPU_TRY(infer(*op, context, infos));
    REQUIRE(infos.size() == count);
    if (wanted != nullptr)
        infos[0] = *wanted;
    outputs.clear();
    outputs.resize(count);
    std::vector<MutTensorView> targets;
    for (std::size_t i = 0; i < count; ++i) {
        RKNPU_CPU_TRY(Tensor::create(infos[i], outputs[i]));
        targets.push_back(outputs[i].mut_view());
    }
    context.outputs = targets;
    return run(*op, context);
}

/// The single output of a call that must succeed.
inline Tensor result(std::string_view type, const Attributes& attributes,
                     const std::vector<const Tensor*>& inputs, bool reference = false,
                     const TensorInfo* wanted = nullptr) {
    std::vector<Tensor> outputs;
    const Status status = call(type, attributes, inputs, outputs, 1, reference, wanted);
    INFO(status.text());
    REQUIRE(status.ok());
    return std::move(outputs[0]);
}

}  // namespace rknpu::cpu::test
