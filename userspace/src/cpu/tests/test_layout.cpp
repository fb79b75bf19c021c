// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdio>
#include <cstring>

#include "cpu/fp16.hpp"
#include "cpu/layout.hpp"
#include "helpers.hpp"

using namespace rknpu::cpu;
using namespace rknpu::cpu::test;

namespace {

std::vector<std::byte> random_bytes(std::mt19937& rng, std::size_t n, DType type) {
    std::vector<std::byte> out(n);
    for (std::byte& b : out)
        b = static_cast<std::byte>(rng());
    if (type == DType::kF32) {  // random bits hold NaNs; take plain numbers
        for (std::size_t i = 0; i + 4 <= n; i += 4) {
            const float v = static_cast<float>(static_cast<int>(rng() % 100000) - 50000) / 100;
            std::memcpy(out.data() + i, &v, 4);
        }
    } else if (type == DType::kF16) {
        for (std::size_t i = 0; i + 2 <= n; i += 2) {
            const std::uint16_t v = fp32_to_fp16(static_cast<float>(rng() % 2000) / 8 - 100);
            std::memcpy(out.data() + i, &v, 2);
        }
    }
    return out;
}

ConversionSpec random_spec(std::mt19937& rng, bool writer) {
    ConversionSpec spec;
    constexpr std::int64_t kChannels[] = {1, 3, 4, 2, 7, 16, 17, 40, 85};
    spec.shape = {1 + static_cast<std::int64_t>(rng() % 2), kChannels[rng() % 9],
                  1 + static_cast<std::int64_t>(rng() % 9),
                  1 + static_cast<std::int64_t>(rng() % 40)};
    spec.layout = rng() % 2 ? ImageLayout::kNhwc : ImageLayout::kNchw;
    constexpr DType kNative[] = {DType::kI8, DType::kF16, DType::kU8};
    spec.native = kNative[rng() % 3];
    if (writer) {
        constexpr DType kApp[] = {DType::kU8, DType::kF32, DType::kF16, DType::kI8};
        spec.app = kApp[rng() % 4];
    } else {
        constexpr DType kApp[] = {DType::kF32, DType::kF16};
        spec.app = rng() % 3 ? kApp[rng() % 2] : spec.native;
    }
    const bool packed = spec.shape.c <= 4 && rng() % 2;
    spec.native_layout.c2 = packed ? spec.shape.c : spec.native == DType::kF16 ? 8 : 16;
    if (rng() % 2) {
        spec.native_layout.row_pixels = spec.shape.w + static_cast<std::int64_t>(rng() % 5);
        spec.native_layout.plane_pixels =
            spec.native_layout.row_pixels * spec.shape.h + static_cast<std::int64_t>(rng() % 7);
    }
    const float scales[] = {1.0F / 255, 0.0186584F, 1.0F, 0.05F};
    spec.quant =
        Quant{scales[rng() % 4], spec.native == DType::kU8 ? static_cast<int>(rng() % 256)
                                                           : static_cast<int>(rng() % 256) - 128};
    if (writer && rng() % 3) {
        for (std::int64_t c = 0; c < spec.shape.c; ++c) {
            spec.mean.push_back(static_cast<float>(rng() % 2000) / 10);
            spec.std.push_back(rng() % 4 ? 58.395F : 255.0F);
        }
    }
    if (spec.native != DType::kI8 && spec.native != DType::kU8)
        spec.quant.reset();
    return spec;
}

}  // namespace

TEST_CASE("NPU input conversion: fast equals plain", "[cpu][layout]") {
    std::mt19937 rng(11);
    for (int round = 0; round < 400; ++round) {
        ConversionSpec spec = random_spec(rng, true);
        const std::size_t native = native_bytes(spec).value();
        const std::vector<std::byte> app = random_bytes(
            rng, static_cast<std::size_t>(spec.shape.elements()) * dtype_size(spec.app), spec.app);
        std::vector<std::byte> fast(native, std::byte{0x55});
        std::vector<std::byte> plain(native, std::byte{0x55});
        NativeWriter writer;
        Status status = NativeWriter::create(spec, writer);
        INFO(status.text());
        REQUIRE(status.ok());
        REQUIRE(writer.run(app, fast).ok());
        spec.reference = true;
        REQUIRE(NativeWriter::create(spec, writer).ok());
        REQUIRE(writer.run(app, plain).ok());
        INFO("app " << dtype_name(spec.app) << " native " << dtype_name(spec.native) << " shape "
                    << spec.shape.n << "," << spec.shape.c << "," << spec.shape.h << ","
                    << spec.shape.w << " c2 " << spec.native_layout.c2);
        REQUIRE(fast == plain);
    }
}

TEST_CASE("NPU output conversion: fast equals plain", "[cpu][layout]") {
    std::mt19937 rng(12);
    for (int round = 0; round < 400; ++round) {
        ConversionSpec spec = random_spec(rng, false);
        const std::size_t app =
            static_cast<std::size_t>(spec.shape.elements()) * dtype_size(spec.app);
        const std::vector<std::byte> native =
            random_bytes(rng, native_bytes(spec).value(), spec.native);
        std::vector<std::byte> fast(app);
        std::vector<std::byte> plain(app);
        NativeReader reader;
        Status status = NativeReader::create(spec, reader);
        INFO(status.text());
        REQUIRE(status.ok());
        REQUIRE(reader.run(native, fast).ok());
        spec.reference = true;
        REQUIRE(NativeReader::create(spec, reader).ok());
        REQUIRE(reader.run(native, plain).ok());
        REQUIRE(fast == plain);
    }
}

TEST_CASE("a known image becomes the codes the formula gives", "[cpu][layout]") {
    ConversionSpec spec;
    spec.shape = {1, 3, 1, 2};
    spec.native_layout.c2 = 3;
    spec.quant = Quant{0.0186584480106831F, -14};  // the public mobilenet_v2 input
    spec.mean = {123.675F, 116.28F, 103.53F};
    spec.std = {58.395F, 57.12F, 57.375F};
    const std::vector<std::byte> app = {std::byte{0},   std::byte{0},   std::byte{0},
                                        std::byte{255}, std::byte{255}, std::byte{255}};
    std::vector<std::byte> native(6);
    NativeWriter writer;
    REQUIRE(NativeWriter::create(spec, writer).ok());
    REQUIRE(writer.run(app, native).ok());
    // -2.1179039 / 0.0186584 = -113.509 -> -114 - 14; 2.2489083 -> 120.53 -> 121 - 14; ...
    const int expected[] = {-128, -123, -111, 107, 116, 127};
    for (int i = 0; i < 6; ++i)
        CHECK(static_cast<int>(static_cast<std::int8_t>(native[i])) == expected[i]);
}

TEST_CASE("impossible conversions are refused", "[cpu][layout]") {
    ConversionSpec spec;
    spec.shape = {1, 3, 4, 4};
    NativeWriter writer;
    CHECK(NativeWriter::create(spec, writer).code() == StatusCode::kInvalidValue);  // no Quant
    spec.quant = Quant{1.0F, 0};
    spec.mean = {1.0F, 2.0F};
    CHECK_FALSE(NativeWriter::create(spec, writer).ok());
    spec.mean.clear();
    spec.std = {0.0F};
    CHECK_FALSE(NativeWriter::create(spec, writer).ok());
    spec.std.clear();
    spec.native_layout.row_pixels = 3;  // less than the width
    CHECK_FALSE(NativeWriter::create(spec, writer).ok());
    spec.native_layout.row_pixels = 0;
    REQUIRE(NativeWriter::create(spec, writer).ok());
    std::vector<std::byte> app(48);
    std::vector<std::byte> native(16 * 16 - 1);
    CHECK(writer.run(app, native).text().find("native buffer") != std::string::npos);
    spec.shape.w = std::int64_t{1} << 40;
    CHECK_FALSE(NativeWriter::create(spec, writer).ok());
    spec.shape.w = 4;
    spec.app = DType::kI64;
    CHECK(NativeWriter::create(spec, writer).code() == StatusCode::kInvalidType);
}

namespace {

/// Seconds of the fastest of many calls.
template <typename F>
double best_time(F&& f) {
    double best = 1e9;
    for (int i = 0; i < 60; ++i) {
        const auto start = std::chrono::steady_clock::now();
        f();
        const std::chrono::duration<double> t = std::chrono::steady_clock::now() - start;
        best = std::min(best, t.count());
    }
    return best;
}

void report(const char* what, std::size_t bytes, double seconds) {
    std::vector<std::byte> a(bytes);
    std::vector<std::byte> b(bytes, std::byte{1});
    const double copy = best_time([&] { std::memcpy(a.data(), b.data(), bytes); });
    std::printf("%-44s %8.1f us, memcpy of %zu bytes %8.1f us: %5.1f %% of its speed\n", what,
                seconds * 1e6, bytes, copy * 1e6, 100 * copy / seconds);
}

}  // namespace

// Not part of the default run: cpu_tests "[bench]"
TEST_CASE("speed of the layout conversions", "[.][bench]") {
    std::mt19937 rng(13);
    ConversionSpec in;
    in.shape = {1, 3, 640, 640};
    in.native_layout.c2 = 3;
    in.quant = Quant{1.0F / 255, -128};
    in.std = {255.0F};
    const std::vector<std::byte> image = random_bytes(rng, 640 * 640 * 3, DType::kU8);
    std::vector<std::byte> native(native_bytes(in).value());
    NativeWriter writer;
    REQUIRE(NativeWriter::create(in, writer).ok());
    report("640x640x3 uint8 -> int8, x - 128", image.size(),
           best_time([&] { (void)writer.run(image, native); }));
    in.quant = Quant{0.0186584F, -14};
    in.mean = {123.675F, 116.28F, 103.53F};
    in.std = {58.395F, 57.12F, 57.375F};
    REQUIRE(NativeWriter::create(in, writer).ok());
    report("640x640x3 uint8 -> int8, mean and std", image.size(),
           best_time([&] { (void)writer.run(image, native); }));

    ConversionSpec out;
    out.shape = {1, 85, 80, 80};
    out.layout = ImageLayout::kNchw;
    out.app = DType::kF32;
    out.quant = Quant{0.05F, 3};
    const std::vector<std::byte> codes = random_bytes(rng, native_bytes(out).value(), DType::kI8);
    std::vector<std::byte> floats(85 * 80 * 80 * 4);
    NativeReader reader;
    REQUIRE(NativeReader::create(out, reader).ok());
    report("1x85x80x80 int8 -> float32 NCHW", floats.size(),
           best_time([&] { (void)reader.run(codes, floats); }));
}
