// SPDX-License-Identifier: MIT
// Every matrix kernel this CPU runs, also those the engine would not choose here.
#include "gemm_int8.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace npusim;

namespace {

struct Problem {
    size_t steps = 0, pixels = 0;
    std::vector<int8_t> features;  // [pixel][steps * 16]
    std::vector<int8_t> weights;   // [channel][32]
};

Problem random_problem(std::mt19937& random) {
    Problem p;
    p.steps = std::uniform_int_distribution<size_t>(1, 40)(random);
    p.pixels = std::uniform_int_distribution<size_t>(1, 37)(random);
    std::uniform_int_distribution<int> byte(-128, 127);
    p.features.resize(p.pixels * p.steps * kGemmStep);
    p.weights.resize(p.steps * kGemmStep * kGemmOutputs);
    for (int8_t& v : p.features)
        v = static_cast<int8_t>(byte(random));
    for (int8_t& v : p.weights)
        v = static_cast<int8_t>(byte(random));
    return p;
}

std::vector<int8_t> packed(const Problem& p, unsigned unit) {
    std::vector<int8_t> out(p.weights.size());
    for (size_t c = 0; c < p.steps * kGemmStep; ++c) {
        for (size_t k = 0; k < kGemmOutputs; ++k)
            out[c / unit * unit * kGemmOutputs + k * unit + c % unit] =
                p.weights[c * kGemmOutputs + k];
    }
    return out;
}

std::vector<int32_t> run(const GemmKernel& kernel, const Problem& p) {
    std::vector<uint8_t> biased;
    std::vector<int16_t> wide;
    for (const int8_t v : p.features) {
        biased.push_back(static_cast<uint8_t>(v + 128));
        wide.push_back(v);
    }
    std::vector<int32_t> step_offset;
    std::vector<int32_t> pixel_offset;
    for (size_t s = 0; s < p.steps; ++s)
        step_offset.push_back(static_cast<int32_t>(s * kGemmStep));
    for (size_t i = 0; i < p.pixels; ++i)
        pixel_offset.push_back(static_cast<int32_t>(i * p.steps * kGemmStep));
    const std::vector<int8_t> weights = packed(p, kernel.unit);
    std::vector<int32_t> out(2 * p.pixels * 16);
    GemmArgs args{};
    args.features = kernel.biased_feature ? static_cast<const void*>(biased.data()) : wide.data();
    args.step_offset = step_offset.data();
    args.pixel_offset = pixel_offset.data();
    args.steps = p.steps;
    args.pixels = p.pixels;
    args.weights = weights.data();
    args.out = out.data();
    kernel.run(args);
    return out;
}

int64_t expected(const Problem& p, size_t pixel, size_t output, bool biased) {
    int64_t sum = 0;
    for (size_t c = 0; c < p.steps * kGemmStep; ++c) {
        const int feature = p.features[pixel * p.steps * kGemmStep + c] + (biased ? 128 : 0);
        sum += int64_t{feature} * p.weights[c * kGemmOutputs + output];
    }
    return sum;
}

}  // namespace

TEST_CASE("all matrix kernels of this CPU give the exact sums") {
    std::mt19937 random(7);
    REQUIRE(gemm_kernel_count() >= 1);
    for (size_t k = 0; k < gemm_kernel_count(); ++k) {
        const GemmKernel& kernel = gemm_kernel_at(k);
        INFO(kernel.name);
        for (int i = 0; i < 40; ++i) {
            const Problem p = random_problem(random);
            const std::vector<int32_t> out = run(kernel, p);
            size_t wrong = 0;
            for (size_t pixel = 0; pixel < p.pixels; ++pixel) {
                for (size_t output = 0; output < kGemmOutputs; ++output)
                    wrong += out[(output / 16 * p.pixels + pixel) * 16 + output % 16] !=
                             expected(p, pixel, output, kernel.biased_feature);
            }
            REQUIRE(wrong == 0);
        }
    }
}
