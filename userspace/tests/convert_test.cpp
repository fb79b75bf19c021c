// SPDX-License-Identifier: MIT
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

#include "runtime/convert.hpp"
#include "runtime/half.hpp"

using namespace rknpu;  // NOLINT: tests of this namespace

namespace {

ElementView view(DataType type, ImageLayout layout, bool quantised = false, float scale = 1,
                 int32_t zero = 0) {
    return {type, quantised, scale, zero, layout};
}

std::vector<std::byte> random_elements(const ElementView& of, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<std::byte> out(of.bytes());
    const size_t width = bits_of(of.type) / 8;
    for (size_t i = 0; i * width < out.size(); ++i) {
        const float real = std::uniform_real_distribution<float>(-300, 300)(random);
        if (of.type == DataType::kFloat32) {
            std::memcpy(out.data() + i * width, &real, width);
        } else if (of.type == DataType::kFloat16) {
            const uint16_t half = float_to_half(real);
            std::memcpy(out.data() + i * width, &half, width);
        } else {
            const auto code = static_cast<uint8_t>(random());
            std::memset(out.data() + i * width, 0, width);
            out[i * width] = static_cast<std::byte>(code);
        }
    }
    return out;
}

/// With all instructions that this machine has, on memory that starts anywhere, the result is that
/// of the plain arithmetic, and nothing beside the target changes.
void check_equal(const ElementView& from, const ElementView& to, const ChannelMap& map) {
    constexpr std::byte kGuard{0xA5};
    constexpr size_t kBehind = 70;
    const auto source = random_elements(from, 11);
    std::vector<std::byte> plain(to.bytes(), kGuard);  // gaps between rows are not written
    convert_reference(from, source, to, plain, map);
    Converter converter(from, to, map);
    for (const auto simd : simd_of_this_machine()) {
        converter.use(simd);
        for (const size_t skew : {size_t{0}, size_t{1}, size_t{36}}) {
            std::vector<std::byte> in(skew);
            in.insert(in.end(), source.begin(), source.end());
            std::vector<std::byte> out(skew + plain.size() + kBehind, kGuard);
            converter.run(std::span(in).subspan(skew), std::span(out).subspan(skew, plain.size()));
            std::vector<std::byte> expected(out.size(), kGuard);
            std::copy(plain.begin(), plain.end(), expected.begin() + static_cast<long>(skew));
            INFO("instructions " << static_cast<int>(simd) << ", skew " << skew);
            CHECK((out == expected));
        }
    }
}

/// The table of (code - mean) / scale in steps of `unit`.
CodeTable table_of(float mean, float scale, float unit, int32_t zero) {
    const auto line = ImageLayout::plain(1, 1, 1, 256);
    std::array<std::byte, 256> codes;
    for (size_t i = 0; i < codes.size(); ++i)
        codes[i] = static_cast<std::byte>(i);
    CodeTable out;
    convert_reference(view(DataType::kUint8, line), codes,
                      view(DataType::kInt8, line, true, unit, zero),
                      std::as_writable_bytes(std::span(out)), {{mean}, {scale}, {}});
    return out;
}

}  // namespace

TEST_CASE("Y1 elements of NC1HWC2 lie in the documented order", "[convert][Y1]") {
    // (1, 13, 4, 4) int8 with 8 lanes becomes (1, 2, 4, 4, 8), the manual's example.
    const auto layout = ImageLayout::native(1, 13, 4, 4, 2, 8);
    CHECK(layout.storage() == 256);
    CHECK(layout.index(0, 0, 0, 0) == 0);
    CHECK(layout.index(0, 7, 0, 0) == 7);
    CHECK(layout.index(0, 0, 0, 1) == 8);
    CHECK(layout.index(0, 0, 1, 0) == 32);
    CHECK(layout.index(0, 8, 0, 0) == 128);
    CHECK(layout.index(0, 12, 3, 3) == 128 + 15 * 8 + 4);
}

TEST_CASE("fast and plain conversions agree byte for byte", "[convert]") {
    const uint32_t c = GENERATE(1u, 2u, 3u, 4u, 13u, 16u, 17u, 32u, 85u);
    const uint32_t h = 5;
    const uint32_t w = GENERATE(1u, 7u, 16u, 33u, 300u);
    const ChannelMap none;
    const ChannelMap map{std::vector<float>(c, 127.5f), std::vector<float>(c, 63.0f), {}};
    const auto plain = ImageLayout::plain(1, c, h, w);
    const auto nhwc = ImageLayout::nhwc(1, c, h, w, w);
    const auto wide = ImageLayout::nhwc(1, c, h, w, w + 5);
    auto int8 = ImageLayout::native(1, c, h, w, (c + 15) / 16, 16);
    auto half = ImageLayout::native(1, c, h, w, (c + 7) / 8, 8);
    int8.plane = half.plane = (h * w + 3) / 4 * 4;

    check_equal(view(DataType::kUint8, nhwc), view(DataType::kInt8, wide, true, 0.02f, -14), map);
    check_equal(view(DataType::kUint8, nhwc), view(DataType::kInt8, int8, true, 0.02f, -14), map);
    check_equal(view(DataType::kUint8, plain), view(DataType::kFloat16, half), map);
    check_equal(view(DataType::kFloat32, nhwc), view(DataType::kInt8, int8, true, 2.5f, 3), none);
    check_equal(view(DataType::kFloat32, plain), view(DataType::kFloat16, half), map);
    check_equal(view(DataType::kInt8, int8, true, 0.5f, 7), view(DataType::kFloat32, plain), none);
    check_equal(view(DataType::kInt8, int8), view(DataType::kInt8, plain), none);
    check_equal(view(DataType::kInt8, plain), view(DataType::kInt8, int8), none);
    check_equal(view(DataType::kFloat16, half), view(DataType::kFloat32, plain), none);
    check_equal(view(DataType::kFloat16, half), view(DataType::kFloat32, nhwc), none);
}

TEST_CASE("G7 real values are rounded to the nearest code and saturate", "[convert][G7]") {
    const auto line = ImageLayout::plain(1, 1, 1, 7);
    const float real[] = {0.5f, 1.5f, 2.5f, -0.5f, 1000.0f, -1000.0f, 0.0f};
    std::vector<std::byte> out(7);
    convert(view(DataType::kFloat32, line), std::as_bytes(std::span(real)),
            view(DataType::kInt8, line, true, 1.0f, 10), out, {});
    const int8_t expected[] = {10, 12, 12, 10, 127, -128, 10};
    CHECK(std::memcmp(out.data(), expected, sizeof(expected)) == 0);
}

TEST_CASE("padding lanes hold the code of zero", "[convert]") {
    const auto from = ImageLayout::plain(1, 3, 1, 2);
    const auto to = ImageLayout::native(1, 3, 1, 2, 1, 16);
    const std::vector<std::byte> source(6, std::byte{5});
    std::vector<std::byte> out(32);
    convert(view(DataType::kInt8, from, true, 1.0f, -128), source,
            view(DataType::kInt8, to, true, 1.0f, -128), out, {});
    CHECK(out[2] == std::byte{5});
    CHECK(out[3] == std::byte{0x80});
    CHECK(out[15] == std::byte{0x80});
    CHECK(out[16] == std::byte{5});
}

TEST_CASE("channels are taken in the order of the model", "[convert]") {
    const auto layout = ImageLayout::nhwc(1, 3, 1, 1, 1);
    const std::vector<std::byte> source{std::byte{1}, std::byte{2}, std::byte{3}};
    std::vector<std::byte> out(3);
    convert(view(DataType::kUint8, layout), source, view(DataType::kInt8, layout), out,
            {{}, {}, {2, 1, 0}});
    CHECK(out == std::vector<std::byte>{std::byte{3}, std::byte{2}, std::byte{1}});
}

TEST_CASE("8-bit conversions of packed pixels give the bits of the plain arithmetic", "[convert]") {
    std::mt19937 random(5);
    const auto uniform = [&random](float low, float high) {
        return std::uniform_real_distribution<float>(low, high)(random);
    };
    for (int round = 0; round < 60; ++round) {
        const auto c = static_cast<uint32_t>(1 + round % 4);
        const uint32_t h = 3;
        const auto w = static_cast<uint32_t>(1 + random() % 130);
        const uint32_t gap = random() % 2 == 0 ? 0 : 3;
        ChannelMap map;
        const bool same = random() % 2 == 0;
        for (uint32_t i = 0; i < c; ++i) {
            map.mean.push_back(i > 0 && same ? map.mean[0] : uniform(0, 255));
            map.scale.push_back(i > 0 && same ? map.scale[0] : uniform(0.5f, 130));
        }
        // A tie at every code: no straight line gives these results.
        const bool ties = round % 5 == 0;
        if (ties) {
            map.mean.assign(c, 127.5f);
            map.scale.assign(c, 127.5f);
        }
        const float unit = ties ? 2.0f / 255 : uniform(0.004f, 0.3f);
        const auto zero = static_cast<int32_t>(random() % 200) - 100;
        const auto in = ImageLayout::nhwc(1, c, h, w, w + gap);
        auto native = ImageLayout::native(1, c, h, w, 1, 16);
        auto padded = native;
        padded.plane = (h * w + 3) / 4 * 4 + 4;
        const auto from_type = random() % 2 == 0 ? DataType::kUint8 : DataType::kInt8;
        const auto from = view(from_type, in, from_type == DataType::kInt8, 0.9f, 4);
        for (const auto to_type : {DataType::kInt8, DataType::kUint8})
            for (const auto& layout : {native, padded, ImageLayout::nhwc(1, c, h, w, w), in,
                                       ImageLayout::plain(1, c, h, w)})
                check_equal(from, view(to_type, layout, true, unit, zero), map);
    }
}

TEST_CASE("codes become float32 with the bits of the plain arithmetic", "[convert]") {
    std::mt19937 random(6);
    for (int round = 0; round < 40; ++round) {
        const auto c = round == 0 ? 85u : static_cast<uint32_t>(1 + random() % 50);
        const auto h = static_cast<uint32_t>(1 + random() % 6);
        const auto w = static_cast<uint32_t>(1 + random() % 40);
        auto native = ImageLayout::native(1, c, h, w, (c + 15) / 16, 16);
        native.plane = round % 3 == 0 ? (h * w + 3) / 4 * 4 : h * w;
        auto wider = ImageLayout::native(1, c, h, w, (c + 15) / 16, 16);
        wider.native_w = w + 2;
        wider.plane = h * (w + 2);
        const auto plain = ImageLayout::plain(1, c, h, w);
        const float scale = 0.001f * static_cast<float>(1 + random() % 500);
        const auto zero = static_cast<int32_t>(random() % 256) - 128;
        const auto to = view(DataType::kFloat32, plain);
        for (const auto type : {DataType::kInt8, DataType::kUint8})
            for (const auto& layout : {native, wider, plain}) {
                check_equal(view(type, layout, true, scale, zero), to, {});
                check_equal(view(type, layout), to, {});
            }
    }
}

TEST_CASE("the usual normalisations are lines in integers", "[convert]") {
    // The first are those of ImageNet; the last is one of ties that rounding in float32 breaks.
    for (const auto& [mean, scale, unit, zero] : {std::tuple{123.675f, 58.395f, 0.0187f, -14},
                                                  {116.28f, 57.12f, 0.0187f, -14},
                                                  {103.53f, 57.375f, 0.0187f, -14},
                                                  {0.0f, 255.0f, 0.003922f, -128},
                                                  {0.0f, 1.0f, 1.0f, -128},
                                                  {127.5f, 127.5f, 0.0078431f, -1}}) {
        const auto table = table_of(mean, scale, unit, zero);
        const Line line{1.0 / scale / unit, -static_cast<double>(mean) / scale / unit + zero};
        INFO(mean << " " << scale << " " << unit << " " << zero);
        CHECK(CodeMap({table}, std::span(&line, 1), {}).fixed());
    }
}

TEST_CASE("a table that is no line is not taken for one", "[convert]") {
    const Line line{1.0, -128.0};
    auto table = table_of(0, 1, 1, -128);
    CHECK(CodeMap({table}, std::span(&line, 1), {}).fixed());
    std::swap(table[100], table[101]);
    CHECK_FALSE(CodeMap({table}, std::span(&line, 1), {}).fixed());
    const Line endless{1e30, 0.0};
    CHECK_FALSE(CodeMap({table}, std::span(&endless, 1), {}).fixed());
}

TEST_CASE("any tables are applied as they are, per channel", "[convert]") {
    std::mt19937 random(7);
    for (size_t channels = 1; channels <= 4; ++channels) {
        std::vector<CodeTable> tables(channels);
        for (auto& table : tables)
            for (auto& entry : table)
                entry = static_cast<uint8_t>(random());
        const CodeMap map(tables, {}, {});
        for (const size_t pixels : {0u, 1u, 15u, 16u, 63u, 64u, 65u, 200u}) {
            std::vector<uint8_t> in(pixels * channels);
            std::vector<uint8_t> expected(in.size());
            for (size_t i = 0; i < in.size(); ++i) {
                in[i] = static_cast<uint8_t>(random());
                expected[i] = tables[i % channels][in[i]];
            }
            for (const auto simd : simd_of_this_machine()) {
                std::vector<uint8_t> out(in.size());
                apply_codes(in.data(), out.data(), in.size(), map, simd);
                INFO("instructions " << static_cast<int>(simd));
                CHECK((out == expected));
            }
        }
    }
}

TEST_CASE("a converter can be used again", "[convert]") {
    const auto in = ImageLayout::nhwc(1, 3, 4, 20, 20);
    const auto out = ImageLayout::native(1, 3, 4, 20, 1, 16);
    const auto from = view(DataType::kUint8, in);
    const auto to = view(DataType::kInt8, out, true, 0.02f, -14);
    const ChannelMap map{{1, 2, 3}, {50, 60, 70}, {}};
    Converter converter(from, to, map);
    for (uint32_t seed = 0; seed < 3; ++seed) {
        const auto source = random_elements(from, seed);
        std::vector<std::byte> got(to.bytes());
        std::vector<std::byte> expected(to.bytes());
        converter.run(source, got);
        convert_reference(from, source, to, expected, map);
        CHECK(got == expected);
    }
}
