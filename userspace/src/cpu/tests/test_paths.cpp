// SPDX-License-Identifier: MIT
// Fast paths against the plain loops, on random shapes and values.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "helpers.hpp"

using namespace rknpu::cpu;
using namespace rknpu::cpu::test;

namespace {

std::int64_t pick(std::mt19937& rng, std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(rng);
}

Dims random_dims(std::mt19937& rng, std::size_t rank, std::int64_t limit) {
    Dims dims;
    for (std::size_t i = 0; i < rank; ++i)
        (void)dims.push_back(pick(rng, 1, limit));
    return dims;
}

void check_equal(std::string_view type, const Attributes& attributes,
                 const std::vector<const Tensor*>& inputs) {
    const Tensor fast = result(type, attributes, inputs, false);
    const Tensor plain = result(type, attributes, inputs, true);
    INFO(type << " " << inputs[0]->info().dims.text());
    REQUIRE(fast.info().dims == plain.info().dims);
    REQUIRE(std::ranges::equal(fast.bytes(), plain.bytes()));
}

/// Largest distance in units of the reference's last place, plus an absolute floor for sums of
/// many rounded terms.
void check_close(std::string_view type, const Attributes& attributes,
                 const std::vector<const Tensor*>& inputs, float units, float floor) {
    const Tensor fast = result(type, attributes, inputs, false);
    const Tensor plain = result(type, attributes, inputs, true);
    const auto a = fast.view().as<float>();
    const auto b = plain.view().as<float>();
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        const float step = std::nextafter(std::abs(b[i]), INFINITY) - std::abs(b[i]);
        if (a[i] != b[i] && !(std::abs(a[i] - b[i]) <= units * step + floor)) {
            INFO(type << " element " << i << ": " << a[i] << " instead of " << b[i]);
            FAIL();
        }
    }
}

}  // namespace

TEST_CASE("broadcast arithmetic gives the bits of the plain loop", "[cpu][fast]") {
    std::mt19937 rng(1);
    for (int round = 0; round < 60; ++round) {
        const Dims full = random_dims(rng, static_cast<std::size_t>(pick(rng, 1, 5)), 7);
        Dims part = full;
        for (std::size_t i = 0; i < part.rank(); ++i)
            part[i] = pick(rng, 0, 1) != 0 ? part[i] : 1;
        const Tensor a = random_floats(rng, full);
        const Tensor b = random_floats(rng, part);
        for (const char* type : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Greater", "Pow"}) {
            check_equal(type, {}, {&a, &b});
            check_equal(type, {}, {&b, &a});
        }
        const Tensor x = random_codes(rng, DType::kI32, full);
        const Tensor y = random_codes(rng, DType::kI32, part);
        for (const char* type : {"Add", "Mul", "Div", "Equal", "Less"})
            check_equal(type, {}, {&x, &y});
    }
}

TEST_CASE("Transpose moves every element width like the plain loop", "[cpu][fast]") {
    std::mt19937 rng(2);
    for (int round = 0; round < 80; ++round) {
        const std::size_t rank = static_cast<std::size_t>(pick(rng, 1, 6));
        std::vector<std::int64_t> perm(rank);
        for (std::size_t i = 0; i < rank; ++i)
            perm[i] = static_cast<std::int64_t>(i);
        std::ranges::shuffle(perm, rng);
        Attributes attributes;
        attributes.set("perm", perm);
        const DType types[] = {DType::kI8, DType::kF16, DType::kF32, DType::kI64};
        const Tensor x =
            random_codes(rng, types[round % 4], random_dims(rng, rank, rank < 4 ? 40 : 6));
        check_equal("Transpose", attributes, {&x});
    }
}

TEST_CASE("Softmax and exponentials stay within a few last places", "[cpu][fast]") {
    std::mt19937 rng(3);
    for (int round = 0; round < 40; ++round) {
        const Dims dims = random_dims(rng, static_cast<std::size_t>(pick(rng, 1, 4)), 40);
        const Tensor x = random_floats(rng, dims, -30, 30);
        Attributes attributes;
        attributes.set("axis", pick(rng, 0, static_cast<std::int64_t>(dims.rank()) - 1));
        // e^x is good to 2 units, the sum adds half a unit per partial sum of up to 40 terms.
        check_close("Softmax", attributes, {&x}, 16, 1e-37F);
        check_close("LogSoftmax", attributes, {&x}, 16, 1e-5F);
        check_close("Exp", {}, {&x}, 2, 0);
        check_close("Sigmoid", {}, {&x}, 4, 0);
        check_close("Swish", {}, {&x}, 5, 1e-37F);
    }
    // The ends of the range.
    const Tensor edge = floats({8}, {-1000, -87.3F, -87.4F, 0, -0.0F, 88.7F, 89, 1000});
    check_close("Exp", {}, {&edge}, 2, 1.2e-38F);
    const Tensor nan = floats({2}, {NAN, INFINITY});
    const Tensor out = result("Exp", {}, {&nan});
    CHECK(std::isnan(out.view().as<float>()[0]));
    CHECK(std::isinf(out.view().as<float>()[1]));
}

TEST_CASE("ArgMax, ArgMin and reductions agree along every axis", "[cpu][fast]") {
    std::mt19937 rng(4);
    for (int round = 0; round < 50; ++round) {
        const Dims dims = random_dims(rng, static_cast<std::size_t>(pick(rng, 1, 4)), 12);
        const std::int64_t axis = pick(rng, 0, static_cast<std::int64_t>(dims.rank()) - 1);
        Attributes attributes;
        attributes.set("axis", axis);
        attributes.set("keepdims", pick(rng, 0, 1));
        attributes.set("select_last_index", pick(rng, 0, 1));
        const Tensor codes = random_codes(rng, DType::kI8, dims, Quant{0.1F, 3});
        const Tensor values = random_floats(rng, dims);
        for (const char* type : {"ArgMax", "ArgMin"}) {
            check_equal(type, attributes, {&codes});
            check_equal(type, attributes, {&values});
        }
        attributes.set("axes", std::vector<std::int64_t>{axis});
        for (const char* type : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2"})
            check_equal(type, attributes, {&values});
    }
}

TEST_CASE("matrix products and convolutions sum in the same order", "[cpu][fast]") {
    std::mt19937 rng(5);
    for (int round = 0; round < 25; ++round) {
        const std::int64_t m = pick(rng, 1, 20);
        const std::int64_t n = pick(rng, 1, 20);
        const std::int64_t k = pick(rng, 1, 300);
        const Tensor a = random_floats(rng, {2, m, k});
        const Tensor b = random_floats(rng, {k, n});
        check_equal("MatMul", {}, {&a, &b});

        const std::int64_t groups = pick(rng, 1, 3);
        const std::int64_t in = pick(rng, 1, 5);
        const std::int64_t out = pick(rng, 1, 9);
        const std::int64_t kh = pick(rng, 1, 3);
        const std::int64_t kw = pick(rng, 1, 3);
        const Tensor x = random_floats(rng, {2, groups * in, pick(rng, 8, 14), pick(rng, 8, 14)});
        const Tensor w = random_floats(rng, {groups * out, in, kh, kw});
        const Tensor bias = random_floats(rng, {groups * out});
        Attributes attributes;
        attributes.set("group", groups);
        attributes.set("strides", std::vector<std::int64_t>{pick(rng, 1, 3), pick(rng, 1, 3)});
        attributes.set("dilations", std::vector<std::int64_t>{pick(rng, 1, 2), pick(rng, 1, 2)});
        attributes.set("pads", std::vector<std::int64_t>{pick(rng, 0, 2), pick(rng, 0, 2),
                                                         pick(rng, 0, 2), pick(rng, 0, 2)});
        check_equal("Conv", attributes, {&x, &w, &bias});
    }
}

TEST_CASE("slices, expansions and selections agree", "[cpu][fast]") {
    std::mt19937 rng(6);
    for (int round = 0; round < 50; ++round) {
        const Dims dims = random_dims(rng, 3, 9);
        const Tensor x = random_codes(rng, DType::kU16, dims);
        std::vector<std::int64_t> starts;
        std::vector<std::int64_t> ends;
        std::vector<std::int64_t> steps;
        for (std::size_t i = 0; i < 3; ++i) {
            starts.push_back(pick(rng, -12, 12));
            ends.push_back(pick(rng, -12, 12));
            steps.push_back(pick(rng, 1, 3) * (pick(rng, 0, 1) != 0 ? 1 : -1));
        }
        const Tensor s = ints(starts);
        const Tensor e = ints(ends);
        const Tensor axes = ints({0, 1, 2});
        const Tensor step = ints(steps);
        check_equal("Slice", {}, {&x, &s, &e, &axes, &step});
        const Tensor repeats = ints({pick(rng, 0, 3), pick(rng, 1, 3), pick(rng, 1, 3)});
        check_equal("Tile", {}, {&x, &repeats});
        Dims small = dims;
        small[1] = 1;
        const Tensor part = random_codes(rng, DType::kU16, small);
        const Tensor target = ints({dims[0], dims[1], dims[2]});
        check_equal("Expand", {}, {&part, &target});
        Tensor condition = random_codes(rng, DType::kBool, small);
        check_equal("Where", {}, {&condition, &x, &part});
    }
}
