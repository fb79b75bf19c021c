// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "cpu/convert.hpp"
#include "cpu/fp16.hpp"
#include "cpu/operator.hpp"

using namespace rknpu::cpu;

namespace {

template <typename T>
Tensor make(DType dtype, Dims dims, std::vector<T> values, std::optional<Quant> quant = {}) {
    Tensor t;
    const Status status =
        Tensor::create({dtype, dims, quant}, std::as_bytes(std::span<const T>(values)), t);
    INFO(status.text());
    REQUIRE(status.ok());
    return t;
}

/// The plain definition of binary16, to check the branch-free code against.
float half_by_definition(std::uint16_t h) {
    const int exponent = (h >> 10) & 31;
    const int mantissa = h & 1023;
    float value;
    if (exponent == 31)
        value = mantissa ? std::numeric_limits<float>::quiet_NaN()
                         : std::numeric_limits<float>::infinity();
    else if (exponent == 0)
        value = std::ldexp(static_cast<float>(mantissa), -24);
    else
        value = std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
    return h & 0x8000 ? -value : value;
}

}  // namespace

TEST_CASE("every binary16 value converts to float and back", "[cpu][fp16]") {
    for (unsigned h = 0; h < 65536; ++h) {
        const float expected = half_by_definition(static_cast<std::uint16_t>(h));
        const float got = fp16_to_fp32(static_cast<std::uint16_t>(h));
        if (std::isnan(expected)) {
            if (!std::isnan(got) || !std::isnan(fp16_to_fp32(fp32_to_fp16(got))))
                FAIL("NaN lost for " << h);
            continue;
        }
        if (std::memcmp(&expected, &got, 4) != 0 || fp32_to_fp16(got) != h)
            FAIL("half " << h << ": " << got << " instead of " << expected);
    }
}

TEST_CASE("float rounds to the nearest binary16, ties to even", "[cpu][fp16]") {
    for (unsigned h = 0; h < 0x7bff; ++h) {
        const double lo = half_by_definition(static_cast<std::uint16_t>(h));
        const double hi = half_by_definition(static_cast<std::uint16_t>(h + 1));
        const float mid = static_cast<float>((lo + hi) / 2);
        const unsigned even = h % 2 == 0 ? h : h + 1;
        if (fp32_to_fp16(mid) != even || fp32_to_fp16(-mid) != (even | 0x8000) ||
            fp32_to_fp16(std::nextafter(mid, 1e9F)) != h + 1 ||
            fp32_to_fp16(std::nextafter(mid, 0.0F)) != h)
            FAIL("around half " << h);
    }
    CHECK(fp32_to_fp16(65519.99F) == 0x7bff);
    CHECK(fp32_to_fp16(65520.0F) == 0x7c00);
    CHECK(fp32_to_fp16(1e30F) == 0x7c00);
}

TEST_CASE("an unknown operator is named", "[cpu][registry]") {
    Attributes attributes;
    OpContext context;
    context.attributes = &attributes;
    const Status status = run_op("exFoo7", context);
    CHECK(status.code() == StatusCode::kUnknownOperator);
    CHECK(status.text().find("exFoo7") != std::string::npos);
    CHECK(find("") == nullptr);
    CHECK(find("ex") == nullptr);
}

TEST_CASE("Reshape keeps int8 codes and requantises only when asked to", "[cpu][reshape]") {
    const Tensor x = make<std::int8_t>(DType::kI8, {2, 3}, {-3, -2, -1, 0, 1, 2}, Quant{0.5F, 1});
    const Tensor shape = make<std::int64_t>(DType::kI64, {2}, {3, -1});
    Attributes attributes;
    OpContext context;
    context.type = "Reshape";
    context.attributes = &attributes;
    const TensorView inputs[] = {x.view(), shape.view()};
    context.inputs = inputs;
    std::vector<TensorInfo> infos;
    const Operator* op = find("Reshape");
    REQUIRE(op != nullptr);
    REQUIRE(infer(*op, context, infos).ok());
    REQUIRE(infos.size() == 1);
    CHECK(infos[0].dims == Dims{3, 2});
    CHECK(infos[0].dtype == DType::kI8);

    Tensor same;
    REQUIRE(Tensor::create({DType::kI8, {3, 2}, Quant{0.5F, 1}}, same).ok());
    MutTensorView out = same.mut_view();
    context.outputs = {&out, 1};
    REQUIRE(run(*op, context).ok());
    CHECK(std::memcmp(same.bytes().data(), x.bytes().data(), 6) == 0);

    Tensor real;
    REQUIRE(Tensor::create({DType::kF32, {6}, {}}, real).ok());
    out = real.mut_view();
    REQUIRE(run(*op, context).ok());
    CHECK(real.view().as<float>()[0] == -2.0F);
    CHECK(real.view().as<float>()[5] == 0.5F);

    Tensor small;
    REQUIRE(Tensor::create({DType::kF32, {5}, {}}, small).ok());
    out = small.mut_view();
    const Status status = run(*op, context);
    CHECK(status.code() == StatusCode::kInvalidShape);
    CHECK(status.text().find("Reshape") == 0);
}
