// SPDX-License-Identifier: MIT
// Contracts of life cycle, the general interface and layouts, each named by its id.
#include <rknn_api.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "support/fixture.hpp"

using namespace rknpu::test;  // NOLINT: tests

namespace {

/// float32 row major in, the same out.
FileModel copy_of(const std::vector<int32_t>& dims, FileType type = FileType::kFloat) {
    return one_node("Identity", {"", type, dims});
}

/// A four-dimensional float16 model with eight lanes per atom.
FileModel native_half(int32_t channels, int32_t height, int32_t width) {
    FileTensor tensor{"", FileType::kHalf, {1, channels, height, width}};
    tensor.native = {1, (channels + 7) / 8, height, width, 8};
    return one_node("Identity", tensor);
}

/// int8 with sixteen lanes.
FileModel native_int8(int32_t channels, int32_t height, int32_t width, float scale, int32_t zero) {
    FileTensor tensor{"", FileType::kInt8, {1, channels, height, width}};
    tensor.native = {1, (channels + 15) / 16, height, width, 16};
    tensor.scale = scale;
    tensor.zero_point = zero;
    return one_node("Identity", tensor);
}

/// Packed pixels with one to four channels.
FileModel image(int32_t channels, int32_t height, int32_t width, FileType type) {
    FileTensor in{"in", type, {1, channels, height, width}};
    in.native = {1, 1, height, width, channels};
    FileTensor out{"out", type, {1, channels, height, width}};
    FileModel model = one_node("Identity", in);
    model.tensors[1] = out;
    return model;
}

std::vector<float> numbers(size_t count, float first = 0.0f, float step = 1.0f) {
    std::vector<float> out(count);
    for (size_t i = 0; i < count; ++i)
        out[i] = first + step * static_cast<float>(i);
    return out;
}

template <typename T>
int set(const Net& net, const std::vector<T>& values, rknn_tensor_type type,
        rknn_tensor_format format) {
    return net.set(values.data(), values.size() * sizeof(T), type, format);
}

}  // namespace

TEST_CASE("L3 after init queries work and memory is there", "[contract][L3]") {
    const Net net(digits_file());
    REQUIRE(net.code == RKNN_SUCC);
    CHECK(net.sizes().total_weight_size > 0);
    CHECK(net.sizes().total_internal_size > 0);
    CHECK(net.sizes().total_dma_allocated_size >=
          net.sizes().total_weight_size + net.sizes().total_internal_size);
    rknn_tensor_mem model{};
    REQUIRE(rknn_query(net.handle, RKNN_QUERY_DEVICE_MEM_INFO, &model, sizeof(model)) == RKNN_SUCC);
    CHECK(model.virt_addr != nullptr);
    CHECK(model.fd >= 0);
}

TEST_CASE("L8 contexts of different models work independently", "[contract][L8]") {
    const Net digits(digits_file());
    const Net other(copy_of({1, 6}));
    REQUIRE(other.code == RKNN_SUCC);
    const auto pixels = digit_pixels();
    const auto first = digits.digit(pixels);
    for (int i = 0; i < 3; ++i) {
        const auto values = numbers(6, static_cast<float>(i));
        REQUIRE(set(other, values, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_UNDEFINED) == RKNN_SUCC);
        CHECK(digits.digit(pixels) == first);
        REQUIRE(other.run() == RKNN_SUCC);
        CHECK(other.result<float>(true) == values);
    }
}

TEST_CASE("G2 the runtime converts, normalises and quantises", "[contract][G2]") {
    auto model = image(3, 2, 2, FileType::kFloat);
    model.mean = {10, 20, 30};
    model.scale = {2, 4, 5};
    const Net net(model);
    REQUIRE(net.code == RKNN_SUCC);
    const std::vector<uint8_t> pixels{12, 24, 35, 10, 20, 30, 0, 0, 0, 255, 255, 255};
    REQUIRE(set(net, pixels, RKNN_TENSOR_UINT8, RKNN_TENSOR_NHWC) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(net.result<float>(true) ==
          std::vector<float>{1, 0, -5, 122.5f, 1, 0, -5, 58.75f, 1, 0, -6, 45});
}

TEST_CASE("G4 four dims come as NHWC, others in the model's own order", "[contract][G4]") {
    SECTION("four dims: NHWC is turned, NCHW is taken as it is") {
        const Net net(copy_of({1, 2, 1, 3}));
        REQUIRE(net.code == RKNN_SUCC);
        const auto planes = numbers(6);
        REQUIRE(set(net, planes, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_NCHW) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        CHECK(net.result<float>(true) == planes);
        REQUIRE(set(net, std::vector<float>{0, 3, 1, 4, 2, 5}, RKNN_TENSOR_FLOAT32,
                    RKNN_TENSOR_NHWC) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        CHECK(net.result<float>(true) == planes);
    }
    SECTION("float32 NCHW into an input that normalises") {
        auto model = image(3, 1, 1, FileType::kFloat);
        model.mean = {1, 2, 3};
        model.scale = {1, 2, 4};
        const Net net(model);
        REQUIRE(set(net, std::vector<float>{2, 4, 7}, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_NCHW) ==
                RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        CHECK(net.result<float>(true) == std::vector<float>{1, 1, 1});
    }
    SECTION("other ranks are not normalised") {
        auto model = copy_of({2, 3});
        model.mean = {5, 5, 5};
        model.scale = {2, 2, 2};
        const Net net(model);
        CHECK(net.attr(RKNN_QUERY_INPUT_ATTR).fmt == RKNN_TENSOR_UNDEFINED);
        const auto values = numbers(6);
        REQUIRE(set(net, values, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_UNDEFINED) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        CHECK(net.result<float>(true) == values);
    }
}

TEST_CASE("G6 pass_through puts the bytes into the input as they are", "[contract][G6]") {
    const Net net(native_int8(20, 1, 4, 0.5f, 3));
    REQUIRE(net.code == RKNN_SUCC);
    const auto native = net.attr(RKNN_QUERY_NATIVE_INPUT_ATTR);
    REQUIRE(native.fmt == RKNN_TENSOR_NC1HWC2);
    std::vector<int8_t> bytes(native.size_with_stride);
    std::iota(bytes.begin(), bytes.end(), int8_t{-60});
    // Type and format need not be set then.
    REQUIRE(net.set(bytes.data(), bytes.size(), RKNN_TENSOR_FLOAT32, RKNN_TENSOR_NCHW, true) ==
            RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    const auto codes = net.result<int8_t>(false);
    REQUIRE(codes.size() == 80);
    for (size_t c = 0; c < 20; ++c)
        for (size_t w = 0; w < 4; ++w)
            CHECK(codes[c * 4 + w] == bytes[(c / 16 * 4 + w) * 16 + c % 16]);
    CHECK(net.set(bytes.data(), bytes.size() / 2, RKNN_TENSOR_INT8, RKNN_TENSOR_NHWC, true) ==
          RKNN_ERR_INPUT_INVALID);
}

TEST_CASE("G7 codes are round(x / scale) + zp within the range of the type", "[contract][G7]") {
    FileTensor tensor{"", FileType::kInt8, {1, 12}};
    tensor.scale = 0.5f;
    tensor.zero_point = 3;
    const Net net(one_node("Identity", tensor));
    REQUIRE(net.code == RKNN_SUCC);
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> real{0,     0.24f, 0.26f, -0.24f, -0.26f,   62,
                                  62.5f, 1000,  -65.5, -1000,  infinity, -infinity};
    REQUIRE(set(net, real, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_UNDEFINED) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    const auto codes = net.result<int8_t>(false);
    CHECK(codes == std::vector<int8_t>{3, 3, 4, 3, 2, 127, 127, 127, -128, -128, 127, -128});
    const auto back = net.result<float>(true);
    for (size_t i = 0; i < codes.size(); ++i)
        CHECK(back[i] == 0.5f * static_cast<float>(codes[i] - 3));
}

TEST_CASE("G9 int64 outputs are delivered as 8-byte integers", "[contract][G9]") {
    const Net net(copy_of({1, 3}, FileType::kInt64));
    REQUIRE(net.code == RKNN_SUCC);
    CHECK(net.attr(RKNN_QUERY_OUTPUT_ATTR).type == RKNN_TENSOR_INT64);
    const std::vector<int64_t> values{-1, int64_t{1} << 40, 7};
    REQUIRE(set(net, values, RKNN_TENSOR_INT64, RKNN_TENSOR_UNDEFINED) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(net.result<int64_t>(false) == values);
    CHECK(net.result<float>(true) == std::vector<float>{-1.0f, 1099511627776.0f, 7.0f});
    CHECK(set(net, numbers(3), RKNN_TENSOR_FLOAT32, RKNN_TENSOR_UNDEFINED) ==
          RKNN_ERR_INPUT_INVALID);
}

TEST_CASE("G10 outputs that are never released leak nothing", "[contract][G10]") {
    const Net net(copy_of({1, 4}));
    const auto values = numbers(4);
    REQUIRE(set(net, values, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_UNDEFINED) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    float mine[4] = {};
    rknn_output output{};
    output.want_float = 1;
    output.is_prealloc = 1;
    output.buf = mine;
    output.size = sizeof(mine);
    for (int i = 0; i < 100; ++i)
        REQUIRE(rknn_outputs_get(net.handle, 1, &output, nullptr) == RKNN_SUCC);
    CHECK(output.buf == mine);
    CHECK(mine[3] == 3.0f);
    // Safe also for the caller's own buffer.
    CHECK(rknn_outputs_release(net.handle, 1, &output) == RKNN_SUCC);
    CHECK(output.buf == mine);
}

TEST_CASE("G11 outputs may be fetched alone and in any order", "[contract][G11]") {
    FileModel model;
    model.tensors = {{"in", FileType::kFloat, {1, 2}},
                     {"same", FileType::kFloat, {1, 2}},
                     {"negative", FileType::kFloat, {1, 2}}};
    model.nodes = {{"Identity", "a", {0}, {1}}, {"Neg", "b", {0}, {2}}};
    model.inputs = {0};
    model.outputs = {1, 2};
    const Net net(model);
    REQUIRE(net.code == RKNN_SUCC);
    REQUIRE(set(net, std::vector<float>{3, 4}, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_UNDEFINED) ==
            RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(net.result<float>(true, 1) == std::vector<float>{-3, -4});
    rknn_output outputs[2] = {};
    outputs[0].index = 1;
    outputs[1].index = 0;
    outputs[0].want_float = outputs[1].want_float = 1;
    REQUIRE(rknn_outputs_get(net.handle, 2, outputs, nullptr) == RKNN_SUCC);
    CHECK(static_cast<float*>(outputs[0].buf)[1] == -4.0f);
    CHECK(static_cast<float*>(outputs[1].buf)[1] == 4.0f);
    CHECK(rknn_outputs_release(net.handle, 2, outputs) == RKNN_SUCC);
    outputs[0].index = 2;
    CHECK(rknn_outputs_get(net.handle, 1, outputs, nullptr) == RKNN_ERR_OUTPUT_INVALID);
}

TEST_CASE("G11 indices that are all left 0 mean the order, as in the manual's programs",
          "[contract][G11]") {
    FileModel model;
    for (const char* name : {"a", "b", "same", "negative"})
        model.tensors.push_back({name, FileType::kFloat, {1, 2}});
    model.nodes = {{"Identity", "one", {0}, {2}}, {"Neg", "two", {1}, {3}}};
    model.inputs = {0, 1};
    model.outputs = {2, 3};
    const Net net(model);
    REQUIRE(net.code == RKNN_SUCC);
    float values[2][2] = {{1, 2}, {3, 4}};
    rknn_input inputs[2] = {};
    for (size_t i = 0; i < 2; ++i) {
        inputs[i].buf = values[i];
        inputs[i].size = sizeof(values[i]);
        inputs[i].fmt = RKNN_TENSOR_UNDEFINED;
    }
    REQUIRE(rknn_inputs_set(net.handle, 2, inputs) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    rknn_output outputs[2] = {};
    outputs[0].want_float = outputs[1].want_float = 1;
    float mine[2] = {};
    outputs[1].is_prealloc = 1;
    outputs[1].buf = mine;
    outputs[1].size = sizeof(mine);
    REQUIRE(rknn_outputs_get(net.handle, 2, outputs, nullptr) == RKNN_SUCC);
    CHECK(static_cast<float*>(outputs[0].buf)[1] == 2.0f);
    CHECK(mine[1] == -4.0f);
    CHECK(rknn_outputs_release(net.handle, 2, outputs) == RKNN_SUCC);
    // Indices that say something count: the first input is never set here.
    const Net other(model);
    inputs[0].index = inputs[1].index = 1;
    REQUIRE(rknn_inputs_set(other.handle, 2, inputs) == RKNN_SUCC);
    CHECK(other.run() == RKNN_ERR_INPUT_INVALID);
}

TEST_CASE("ASYNC_MASK gives the outputs of the run before, after the first run its own",
          "[contract]") {
    const Net plain(digits_file());
    const Net net(digits_file(), RKNN_FLAG_ASYNC_MASK);
    for (uint32_t frame = 1; frame <= 4; ++frame) {
        const auto pixels = digit_pixels(frame);
        REQUIRE(set(net, pixels, RKNN_TENSOR_UINT8, RKNN_TENSOR_NHWC) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        const uint32_t wanted = std::max(frame - 1, 1u);
        for (const uint8_t real : {1, 0}) {
            rknn_output output{};
            output.want_float = real;
            rknn_output_extend extend{};
            REQUIRE(rknn_outputs_get(net.handle, 1, &output, &extend) == RKNN_SUCC);
            CHECK(extend.frame_id == wanted);
            const auto expected = plain.digit(digit_pixels(wanted));
            if (real != 0)
                CHECK(std::memcmp(output.buf, expected.data(), 10 * sizeof(float)) == 0);
            else
                CHECK(output.size == 10);
            CHECK(rknn_outputs_release(net.handle, 1, &output) == RKNN_SUCC);
        }
        CHECK(rknn_wait(net.handle, nullptr) == RKNN_SUCC);
    }
}

TEST_CASE("Z1 native formats of inputs", "[contract][Z1]") {
    const auto format = [](const FileModel& model) {
        const Net net(model);
        REQUIRE(net.code == RKNN_SUCC);
        return net.attr(RKNN_QUERY_NATIVE_INPUT_ATTR).fmt;
    };
    CHECK(format(copy_of({1, 2, 3, 4}, FileType::kInt64)) == RKNN_TENSOR_NCHW);
    CHECK(format(copy_of({1, 2, 3, 4}, FileType::kBool)) == RKNN_TENSOR_NCHW);
    for (const int32_t channels : {1, 3, 4})
        CHECK(format(image(channels, 2, 16, FileType::kHalf)) == RKNN_TENSOR_NHWC);
    CHECK(format(native_half(9, 2, 2)) == RKNN_TENSOR_NC1HWC2);
    CHECK(format(native_int8(17, 2, 2, 0.1f, 0)) == RKNN_TENSOR_NC1HWC2);
    CHECK(format(copy_of({2, 3})) == RKNN_TENSOR_UNDEFINED);
}

TEST_CASE("Y1 the order in memory is C2, W, H, C1, N, the fastest first", "[contract][Y1]") {
    FileTensor tensor{"", FileType::kInt8, {2, 20, 2, 4}};
    tensor.native = {2, 2, 2, 4, 16};
    tensor.scale = 1.0f;
    const auto model = one_node("Identity", tensor);
    std::vector<int8_t> plain(2 * 20 * 2 * 4);
    std::iota(plain.begin(), plain.end(), int8_t{0});
    Net net(model);
    REQUIRE(net.code == RKNN_SUCC);
    auto in = net.attr(RKNN_QUERY_NATIVE_INPUT_ATTR);
    auto out = net.attr(RKNN_QUERY_OUTPUT_ATTR);
    auto* given = net.memory(in.size_with_stride);
    auto* wanted = net.memory(out.size);
    for (size_t n = 0, i = 0; n < 2; ++n)
        for (size_t c = 0; c < 20; ++c)
            for (size_t y = 0; y < 2; ++y)
                for (size_t x = 0; x < 4; ++x)
                    static_cast<int8_t*>(
                        given->virt_addr)[(((n * 2 + c / 16) * 2 + y) * 4 + x) * 16 + c % 16] =
                        plain[i++];
    REQUIRE(rknn_set_io_mem(net.handle, given, &in) == RKNN_SUCC);
    REQUIRE(rknn_set_io_mem(net.handle, wanted, &out) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(std::memcmp(wanted->virt_addr, plain.data(), plain.size()) == 0);
}

TEST_CASE("Y2 an atom has sixteen int8 or eight float16 channels", "[contract][Y2]") {
    const Net half(native_half(9, 2, 2));
    const auto of_half = half.attr(RKNN_QUERY_NATIVE_INPUT_ATTR);
    CHECK(of_half.n_dims == 5);
    CHECK(of_half.dims[1] == 2);
    CHECK(of_half.dims[4] == 8);
    const Net bytes(native_int8(17, 2, 2, 0.1f, 0));
    const auto of_int8 = bytes.attr(RKNN_QUERY_NATIVE_INPUT_ATTR);
    CHECK(of_int8.dims[1] == 2);
    CHECK(of_int8.dims[4] == 16);
}

TEST_CASE("Y3 Y4 channels beyond the tensor are ignored, extra rows are skipped",
          "[contract][Y3][Y4]") {
    // Thirteen channels in sixteen lanes, and a native width of 6 for 5 pixels.
    FileTensor tensor{"", FileType::kInt8, {1, 13, 2, 5}};
    tensor.native = {1, 1, 2, 6, 16};
    tensor.scale = 1.0f;
    auto model = one_node("Identity", tensor);
    const Net net(model);
    REQUIRE(net.code == RKNN_SUCC);
    const auto native = net.attr(RKNN_QUERY_NATIVE_OUTPUT_ATTR);
    CHECK(native.dims[3] == 6);
    std::vector<int8_t> values(13 * 2 * 5);
    std::iota(values.begin(), values.end(), int8_t{-60});
    REQUIRE(set(net, values, RKNN_TENSOR_INT8, RKNN_TENSOR_NCHW) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(net.result<int8_t>(false) == values);
}

TEST_CASE("E2 clean-up works from every intermediate state", "[contract][E2]") {
    const auto file = digits_file();
    {
        const Net never_run(file);
        rknn_output zeroed{};
        CHECK(rknn_outputs_release(never_run.handle, 1, &zeroed) == RKNN_SUCC);
    }
    {
        const Net only_inputs(file);
        const auto pixels = digit_pixels();
        CHECK(only_inputs.set(pixels.data(), pixels.size(), RKNN_TENSOR_UINT8) == RKNN_SUCC);
    }
    {
        // Memory that is still alive when its context goes.
        setenv("RKNPU_DEVICE", "sim", 1);
        rknn_context context = 0;
        auto copy = file;
        REQUIRE(rknn_init(&context, copy.data(), static_cast<uint32_t>(copy.size()), 0, nullptr) ==
                RKNN_SUCC);
        auto* memory = rknn_create_mem(context, 4096);
        REQUIRE(memory != nullptr);
        CHECK(rknn_destroy(context) == RKNN_SUCC);
        std::memset(memory->virt_addr, 1, 4096);
        CHECK(rknn_destroy_mem(context, memory) == RKNN_SUCC);
        CHECK(rknn_destroy_mem(context, memory) == RKNN_ERR_PARAM_INVALID);
    }
    {
        const Net net(file);
        rknn_output not_ours{};
        int dummy = 0;
        not_ours.buf = &dummy;
        CHECK(rknn_outputs_release(net.handle, 1, &not_ours) == RKNN_SUCC);
        CHECK(not_ours.buf == &dummy);
    }
}

TEST_CASE("E6 E7 E8 files that cannot be loaded are MODEL_INVALID", "[contract][E6][E7][E8]") {
    const auto code = [](std::vector<std::byte> bytes) { return Net(bytes).code; };
    auto file = digits_file();
    std::vector<std::byte> encrypted(file);
    std::memcpy(encrypted.data(), "CYPTRKNN", 8);
    CHECK(code(encrypted) == RKNN_ERR_MODEL_INVALID);
    for (const int version : {0, 1, 7, 200}) {
        auto other = file;
        other[8] = static_cast<std::byte>(version);
        CHECK(code(other) == RKNN_ERR_MODEL_INVALID);
    }
    CHECK(code(std::vector<std::byte>(64)) == RKNN_ERR_MODEL_INVALID);
    auto other_chip = one_node("Identity", {"", FileType::kFloat, {1, 2}});
    other_chip.target = "rk3576";
    CHECK(Net(other_chip).code == RKNN_ERR_TARGET_PLATFORM_UNMATCH);
}
