// SPDX-License-Identifier: MIT
// Fused operators against the ONNX operators they stand for.
#include <cmath>

#include "cpu/names.hpp"
#include "helpers.hpp"

using namespace rknpu::cpu;
using namespace rknpu::cpu::test;

namespace {

void check_equal(const Tensor& a, const Tensor& b) {
    REQUIRE(a.info().dims == b.info().dims);
    const auto x = a.view().as<float>();
    const auto y = b.view().as<float>();
    for (std::size_t i = 0; i < x.size(); ++i)
        CHECK(x[i] == Approx(y[i]).margin(1e-5));
}

Tensor transposed(const Tensor& x) {
    Attributes attributes;
    attributes.set("perm", std::vector<std::int64_t>{0, 1, 3, 2});
    return result("Transpose", attributes, {&x});
}

Tensor spelled_out(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor* mask,
                   float scale) {
    const Tensor kt = transposed(k);
    const Tensor scores = result("MatMul", {}, {&q, &kt});
    const Tensor factor = floats({1}, {scale});
    Tensor scaled = result("Mul", {}, {&scores, &factor});
    if (mask != nullptr)
        scaled = result("Add", {}, {&scaled, mask});
    const Tensor weights = result("exSoftmax13", {}, {&scaled});
    return result("MatMul", {}, {&weights, &v});
}

}  // namespace

TEST_CASE("exSDPAttention is MatMul, scale, mask, Softmax and MatMul", "[cpu][vendor]") {
    std::mt19937 rng(3);
    const Tensor q = random_floats(rng, {2, 3, 5, 8});
    const Tensor k = random_floats(rng, {2, 3, 7, 8});
    const Tensor v = random_floats(rng, {2, 3, 7, 4});
    const float usual = 1.0F / std::sqrt(8.0F);
    check_equal(result("exSDPAttention", {}, {&q, &k, &v}), spelled_out(q, k, v, nullptr, usual));
    for (const Dims& dims : {Dims{5, 7}, Dims{2, 1, 5, 7}, Dims{1, 1, 1, 7}, Dims{2, 3, 5, 1}}) {
        const Tensor mask = random_floats(rng, dims);
        check_equal(result("exSDPAttention", {}, {&q, &k, &v, &mask}),
                    spelled_out(q, k, v, &mask, usual));
    }
    Attributes attributes;
    attributes.set("scale", 0.25F);
    check_equal(result("exSDPAttention", attributes, {&q, &k, &v}),
                spelled_out(q, k, v, nullptr, 0.25F));
}

TEST_CASE("exSDPAttention refuses shapes that do not fit", "[cpu][vendor]") {
    std::mt19937 rng(4);
    const Tensor q = random_floats(rng, {2, 5, 8});
    const Tensor k = random_floats(rng, {2, 7, 8});
    const Tensor v = random_floats(rng, {2, 7, 4});
    const Tensor narrow = random_floats(rng, {2, 7, 6});
    const Tensor short_v = random_floats(rng, {2, 6, 4});
    const Tensor other = random_floats(rng, {3, 7, 8});
    const Tensor flat = random_floats(rng, {7, 8});
    const Tensor mask = random_floats(rng, {9});
    std::vector<Tensor> out;
    CHECK(call("exSDPAttention", {}, {&q, &k, &v}, out).ok());
    CHECK_FALSE(call("exSDPAttention", {}, {&q, &narrow, &v}, out).ok());
    CHECK_FALSE(call("exSDPAttention", {}, {&q, &k, &short_v}, out).ok());
    CHECK_FALSE(call("exSDPAttention", {}, {&q, &other, &v}, out).ok());
    CHECK_FALSE(call("exSDPAttention", {}, {&q, &flat, &v}, out).ok());
    CHECK_FALSE(call("exSDPAttention", {}, {&q, &k, &v, &mask}, out).ok());
    CHECK_FALSE(call("exSDPAttention", {}, {&q, &k}, out).ok());
}

TEST_CASE("a row that the mask hides wholly gives zeros", "[cpu][vendor]") {
    const Tensor q = floats({1, 2, 1}, {1, 1});
    const Tensor k = floats({1, 2, 1}, {1, 2});
    const Tensor v = floats({1, 2, 1}, {3, 4});
    const float hidden = -INFINITY;
    const Tensor mask = floats({2, 2}, {0, hidden, hidden, hidden});
    const Tensor y = result("exSDPAttention", {}, {&q, &k, &v, &mask});
    CHECK(y.view().as<float>()[0] == 3);
    CHECK(y.view().as<float>()[1] == 0);
}

TEST_CASE("exGlu gates the first half with the second", "[cpu][vendor]") {
    std::mt19937 rng(5);
    const Tensor x = random_floats(rng, {2, 6, 4});
    for (const std::int64_t axis : {-1, 1, 0}) {
        Attributes attributes;
        attributes.set("axis", axis);
        Attributes split;
        split.set("axis", axis);
        std::vector<Tensor> halves;
        REQUIRE(call("Split", split, {&x}, halves, 2).ok());
        const Tensor gate = result("Sigmoid", {}, {&halves[1]}, true);
        check_equal(result("exGlu", attributes, {&x}), result("Mul", {}, {&halves[0], &gate}));
    }
    const Tensor odd = random_floats(rng, {2, 3});
    std::vector<Tensor> out;
    CHECK_FALSE(call("exGlu", {}, {&odd}, out).ok());
}

TEST_CASE("names that cannot be custom operators are those of ONNX and the vendor",
          "[cpu][vendor]") {
    for (const auto type : operator_types()) {
        const bool ours = type == "Swish" || type == "DataConvert" || type == "SDPAttention" ||
                          type == "Glu" || type == "ScaledTanh" || type == "Affine";
        INFO(type);
        CHECK(is_reserved_type(type) != ours);
    }
    CHECK(is_reserved_type("exSDPAttention"));
    CHECK(is_reserved_type("Loop"));
    CHECK_FALSE(is_reserved_type("cstSoftmax"));
    CHECK_FALSE(is_reserved_type("ex"));
    CHECK_FALSE(is_reserved_type("extra"));
    CHECK_FALSE(is_reserved_type(""));
}
