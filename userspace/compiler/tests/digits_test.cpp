// SPDX-License-Identifier: MIT
#include "digits.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "job_runner.hpp"
#include "rknpu_compiler/writer.hpp"

using namespace rknpu::compiler;
using namespace rknpu::compiler::testing;

namespace {

unsigned best(const Map& logits) {
    return static_cast<unsigned>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace

TEST_CASE("digits: the committed .rknn is what rknn-make makes of the committed weights") {
    const auto job = lower(quantized_digits());
    REQUIRE(job);
    const bool same = write_rknn(*job) == read_digits_file("digits_int8_rk3588.rknn");
    INFO("rebuild it: rknn-make digits.json -o digits_int8_rk3588.rknn");
    CHECK(same);
}

TEST_CASE("digits: at least 97 % of 1,000 digits, on the NPU model") {
    const QuantizedGraph quantized = quantized_digits();
    const auto job = lower(quantized);
    REQUIRE(job);
    const std::vector<Digit> digits = load_digits();
    REQUIRE(digits.size() == 1000);
    JobRunner runner(*job);
    unsigned right = 0;
    for (const Digit& digit : digits) {
        REQUIRE(runner.run({digit.pixels}) == std::nullopt);
        right += best(runner.read(static_cast<size_t>(job->outputs[0]))) == digit.label;
    }
    WARN("digit model: " << right << " of 1000 right");
    CHECK(right >= 970);
}

TEST_CASE("digits: the NPU model equals the integer reference in every layer") {
    const QuantizedGraph quantized = quantized_digits();
    const auto job = lower(quantized);
    REQUIRE(job);
    const std::vector<Digit> digits = load_digits();
    JobRunner runner(*job);
    for (size_t i = 0; i < digits.size(); i += 50) {
        const auto expected = run_reference(quantized, {digits[i].pixels});
        REQUIRE(runner.run({digits[i].pixels}) == std::nullopt);
        CHECK(runner.read(static_cast<size_t>(job->outputs[0])) ==
              expected[quantized.graph.outputs[0]]);
    }
}
