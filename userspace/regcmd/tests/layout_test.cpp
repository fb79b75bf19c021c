// SPDX-License-Identifier: MIT
#include "rknpu_regcmd/layout.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

#include "rknpu_regcmd/cbuf.hpp"

using namespace rknpu::compiler;

namespace {

std::vector<int8_t> ramp(size_t n) {
    std::vector<int8_t> v(n);
    for (size_t i = 0; i < n; i++) {
        v[i] = static_cast<int8_t>(i * 37 % 251);
    }
    return v;
}

/// Where element (oc, ic, tap) of direct int8 weights must lie, written from the layout's prose.
size_t direct_offset(uint32_t oc, uint32_t ic, uint32_t tap, const WeightShape& s) {
    const uint32_t kernels = (s.output_channels + 1) / 2 * 2;
    const uint32_t lanes = (s.input_channels + 15) / 16 * 16;
    const uint32_t taps = s.kernel_height * s.kernel_width;
    const uint32_t oc0 = oc / 32 * 32;
    const uint32_t ic0 = ic / 32 * 32;
    const uint32_t group = std::min(32U, kernels - oc0);
    const uint32_t block = std::min(32U, lanes - ic0);
    return size_t{oc0} * lanes * taps + size_t{ic0} * taps * group +
           (size_t{tap} * group + (oc - oc0)) * block + (ic - ic0);
}

}  // namespace

TEST_CASE("direct weights: every element is where the layout says") {
    for (const WeightShape s :
         {WeightShape{16, 1, 3, 3}, WeightShape{32, 16, 3, 3}, WeightShape{10, 32, 7, 7},
          WeightShape{240, 240, 1, 1}, WeightShape{33, 72, 2, 5}, WeightShape{7, 24, 1, 3}}) {
        CAPTURE(s.output_channels, s.input_channels);
        const uint32_t taps = s.kernel_height * s.kernel_width;
        const auto source = ramp(size_t{s.output_channels} * s.input_channels * taps);
        const auto packed = pack_direct_weights<int8_t>(source, s);
        REQUIRE(packed.size() == direct_weight_bytes(s, Precision::kInt8));
        size_t wrong = 0;
        for (uint32_t oc = 0; oc < s.output_channels; oc++) {
            for (uint32_t ic = 0; ic < s.input_channels; ic++) {
                for (uint32_t tap = 0; tap < taps; tap++) {
                    const size_t from = (size_t{oc} * s.input_channels + ic) * taps + tap;
                    wrong += packed[direct_offset(oc, ic, tap, s)] != source[from];
                }
            }
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("direct weights: 240x240 has the size of the vendor's packing") {
    CHECK(direct_weight_bytes({240, 240, 1, 1}, Precision::kInt8) == 57600);
    CHECK(direct_weight_bytes({320, 160, 3, 3}, Precision::kFp16) == 921600);
    CHECK(direct_weight_bytes({12, 1, 3, 3}, Precision::kInt8) == 1728);
    CHECK(direct_weight_bytes({10, 12, 13, 13}, Precision::kInt8) == 27040);
}

TEST_CASE("direct weights: unused lanes and the odd kernel hold the padding") {
    const WeightShape s{3, 5, 1, 1};
    const std::vector<int8_t> source(15, 9);
    const std::vector<int8_t> padding{-1, -2, -3};
    const auto packed = pack_direct_weights<int8_t>(source, s, padding);
    REQUIRE(packed.size() == 64);
    for (uint32_t oc = 0; oc < 3; oc++) {
        for (uint32_t lane = 0; lane < 16; lane++) {
            CHECK(int{packed[oc * 16 + lane]} == (lane < 5 ? 9 : padding[oc]));
        }
    }
    CHECK(std::all_of(packed.begin() + 48, packed.end(), [](int8_t v) { return v == 0; }));
}

TEST_CASE("depthwise weights: groups of 64 channels, the last one whole atoms") {
    const WeightShape s{72, 1, 3, 3};
    const auto source = ramp(72 * 9);
    const auto packed = pack_depthwise_weights<int8_t>(source, s);
    REQUIRE(packed.size() == 80 * 9);
    CHECK(packed[0] == source[0]);
    CHECK(packed[4 * 64 + 63] == source[63 * 9 + 4]);
    CHECK(packed[64 * 9 + 5 * 16 + 7] == source[71 * 9 + 5]);
    CHECK(packed[64 * 9 + 5 * 16 + 8] == 0);
}

TEST_CASE("operand records: eight channels each, zero up to the aligned count") {
    std::vector<ChannelOperands> channels(10);
    for (int i = 0; i < 10; i++) {
        channels[i] = {-1000 * i, static_cast<int16_t>(-i), static_cast<int16_t>(16384 - i)};
    }
    const auto packed = pack_operand_records(channels, 32);
    REQUIRE(packed.size() == 4 * 64);
    const auto at = [&packed]<typename T>(size_t offset, T) {
        T value;
        std::memcpy(&value, packed.data() + offset, sizeof(T));
        return value;
    };
    CHECK(at(64 + 4, int32_t{}) == -9000);
    CHECK(at(64 + 32 + 2, int16_t{}) == -9);
    CHECK(at(64 + 48 + 2, int16_t{}) == 16384 - 9);
    CHECK(at(7 * 4, int32_t{}) == -7000);
    CHECK(std::all_of(packed.begin() + 128, packed.end(),
                      [](std::byte b) { return b == std::byte{0}; }));
    CHECK(pack_operand_records(channels, 64).size() == 512);
}

TEST_CASE("buffer plan: bank counts of the vendor's compiler") {
    // 112x112x32 1x1: 100 rows in 11 banks, then the rest with the weights still loaded.
    ConvNeeds needs{buffer_row_bytes(112, 32, 0, Precision::kInt8), 112, 112, 512, 512, {}};
    auto plan = plan_conv(needs);
    REQUIRE(plan);
    CHECK(plan->banks.data == 11);
    CHECK(plan->output_rows == 100);
    CHECK(plan->weights_fit);

    // 14x14x192 1x1 -> 64: one task, 2 + 10.
    plan = plan_conv({buffer_row_bytes(14, 192, 0, Precision::kInt8), 14, 14, 12288, 6144, {}});
    REQUIRE(plan);
    CHECK(plan->banks.data == 2);
    CHECK(plan->banks.weights == 10);
    CHECK(plan->output_rows == 14);

    // 7x7x960 -> 1280 weights larger than the buffer: streamed, still one task.
    plan = plan_conv({buffer_row_bytes(7, 320, 0, Precision::kInt8), 7, 7, 409600, 10240, {}});
    REQUIRE(plan);
    CHECK(plan->banks.data == 1);
    CHECK(plan->output_rows == 7);
    CHECK_FALSE(plan->weights_fit);

    // A 3x3 stride-2 image: 192x192x3 gives tasks of 58 rows (117 input rows).
    Window window{3, 3, 2, 2, 0, 0, 1, 1};
    plan = plan_conv({buffer_row_bytes(192, 3, 3, Precision::kInt8), 192, 96, 9216, 4608, window});
    REQUIRE(plan);
    CHECK(plan->output_rows == 58);
    CHECK(input_rows(window, 58) == 117);
}

TEST_CASE("buffer plan: a row larger than the buffer cannot be planned") {
    CHECK_FALSE(plan_conv({13 * kBankBytes, 4, 4, 1024, 1024, {}}));
}
