// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>

#include "bench.hpp"
#include "model.hpp"
#include "support/files.hpp"

using namespace rknpu::test;   // NOLINT: tests
using namespace rknpu::tools;  // NOLINT

namespace {

BenchOptions digits() {
    choose_device("sim");
    BenchOptions options;
    options.model = models_dir() + "/digits/digits_int8_rk3588.rknn";
    options.warmup = 1;
    options.loops = 4;
    return options;
}

BenchResult measured(const BenchOptions& options, Interface interface) {
    std::string error;
    const auto result = measure(options, interface, error);
    INFO(error);
    REQUIRE(result.has_value());
    return *result;
}

}  // namespace

TEST_CASE("order statistics follow their definitions", "[bench]") {
    const auto odd = distribution({5, 1, 3, 2, 4});
    CHECK(odd.count == 5);
    CHECK(odd.min == 1);
    CHECK(odd.max == 5);
    CHECK(odd.median == 3);
    CHECK(odd.mean == 3);
    CHECK(odd.p90 == 5);
    CHECK(distribution({1, 2, 3, 10}).median == 2.5);
    std::vector<double> hundred;
    for (int i = 100; i >= 1; --i)
        hundred.push_back(i);
    const auto many = distribution(hundred);
    CHECK(many.p90 == 90);
    CHECK(many.p95 == 95);
    CHECK(many.p99 == 99);
    CHECK(distribution({}).count == 0);
    CHECK(distribution({7}).p99 == 7);
}

TEST_CASE("every run of every thread is counted, warm-up is not", "[bench]") {
    auto options = digits();
    CHECK(measured(options, Interface::kGeneral).total.count == 4);
    options.threads = 3;
    options.cores = {1, 2, 4};
    const auto result = measured(options, Interface::kGeneral);
    CHECK(result.total.count == 12);
    CHECK(result.set.count == 12);
    CHECK(result.fetch.count == 12);
    CHECK(result.total.median > 0);
    CHECK(result.run.max <= result.total.max);
    CHECK(result.per_second > 0);
}

TEST_CASE("zero copy has a run and no copies", "[bench]") {
    auto options = digits();
    options.threads = 2;
    const auto result = measured(options, Interface::kZeroCopy);
    CHECK(result.run.count == 8);
    CHECK(result.set.count == 0);
    CHECK(result.fetch.count == 0);
}

TEST_CASE("a time to fill adds runs to the wanted number", "[bench]") {
    auto options = digits();
    options.loops = 1;
    options.seconds = 0.2;
    CHECK(measured(options, Interface::kZeroCopy).total.count > 1);
}

TEST_CASE("what cannot be measured says why", "[bench]") {
    auto options = digits();
    std::string error;
    options.inputs = {"a", "b"};
    CHECK_FALSE(measure(options, Interface::kGeneral, error).has_value());
    CHECK_THAT(error, Catch::Contains("1 inputs, 2 files"));
    options = digits();
    options.model = "/nowhere.rknn";
    CHECK_FALSE(measure(options, Interface::kGeneral, error).has_value());
    options = digits();
    options.cores = {5};
    CHECK_FALSE(measure(options, Interface::kGeneral, error).has_value());
}

TEST_CASE("table and JSON hold the same figures", "[bench]") {
    const auto options = digits();
    const std::vector<BenchResult> results = {measured(options, Interface::kGeneral),
                                              measured(options, Interface::kZeroCopy)};
    const auto json = to_json(options, results);
    REQUIRE(json["results"].size() == 2);
    CHECK(json["results"][0]["total"]["median"] == results[0].total.median);
    CHECK(json["results"][0].contains("set_inputs"));
    CHECK_FALSE(json["results"][1].contains("set_inputs"));
    const auto text = to_text(results);
    CHECK_THAT(text, Catch::Contains("general") && Catch::Contains("zero-copy") &&
                         Catch::Contains("median/us") && Catch::Contains("per second"));
}
