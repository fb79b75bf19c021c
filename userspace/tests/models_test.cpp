// SPDX-License-Identifier: MIT
// Real models on the NPU model inside the process, against truths that do not come from this
// project.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <sstream>

#include "cpu/onnx/onnx_model.hpp"
#include "input.hpp"
#include "support/files.hpp"
#include "support/run.hpp"

using namespace rknpu::test;  // NOLINT: tests

namespace {

size_t argmax(const std::vector<float>& values) {
    return static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

Input picture(const std::string& path, rknn_tensor_format fmt, std::vector<uint32_t> dims) {
    rknn_tensor_attr attr{};
    attr.fmt = fmt;
    attr.n_dims = static_cast<uint32_t>(dims.size());
    attr.n_elems = 1;
    std::copy(dims.begin(), dims.end(), attr.dims);
    for (const uint32_t dim : dims)
        attr.n_elems *= dim;
    std::string error;
    auto data = rknpu::tools::load_input(path, attr, error);
    INFO(error);
    REQUIRE(data.has_value());
    return {std::move(data->bytes), data->type, data->fmt};
}

/// Grey strokes on a 28 x 28 field, values 0..1.
class Drawing {
 public:
    void line(double y0, double x0, double y1, double x1, double width = 1.6) {
        for (int i = 0; i < 60; ++i)
            dot(y0 + (y1 - y0) * i / 59, x0 + (x1 - x0) * i / 59, width);
    }
    void ring(double cy, double cx, double ry, double rx, double from = 0, double to = 6.2831853) {
        for (int i = 0; i < 240; ++i) {
            const double angle = from + (to - from) * i / 239;
            dot(cy + ry * std::sin(angle), cx + rx * std::cos(angle), 1.5);
        }
    }
    Input input() const {
        Input out;
        out.type = RKNN_TENSOR_FLOAT32;
        out.fmt = RKNN_TENSOR_UNDEFINED;
        const auto bytes = std::as_bytes(std::span(pixels_));
        out.bytes.assign(bytes.begin(), bytes.end());
        return out;
    }

 private:
    void dot(double y, double x, double width) {
        for (int row = 0; row < 28; ++row)
            for (int column = 0; column < 28; ++column) {
                const double distance = std::hypot(row - y, column - x);
                auto& pixel = pixels_[static_cast<size_t>(row * 28 + column)];
                pixel = std::max(pixel,
                                 static_cast<float>(std::clamp(width + 0.5 - distance, 0.0, 1.0)));
            }
    }
    std::vector<float> pixels_ = std::vector<float>(28 * 28, 0.0f);
};

std::vector<Drawing> drawn_digits() {
    std::vector<Drawing> d(10);
    d[0].ring(14, 14, 8.5, 6);
    d[1].line(4, 14, 23, 14);
    d[2].ring(9, 13.5, 4.5, 5, -3.0, 0.6);
    d[2].line(12, 17.5, 22, 8);
    d[2].line(22, 8, 22, 20);
    d[3].ring(9.5, 13, 4.5, 5, -2.2, 1.6);
    d[3].ring(18, 13, 5, 5.5, -1.6, 2.4);
    d[4].line(5, 9, 14, 7);
    d[4].line(14, 7, 14, 20);
    d[4].line(5, 18, 23, 17);
    d[5].line(5, 18, 5, 9);
    d[5].line(5, 9, 12, 9);
    d[5].ring(17, 12.5, 5.3, 6, -2.2, 2.4);
    d[6].ring(18, 14, 4.6, 4.8);
    d[6].line(4, 16, 10, 11);
    d[6].line(10, 11, 18, 9.3);
    d[7].line(5, 7, 5, 20);
    d[7].line(5, 20, 23, 11);
    d[8].ring(9, 14, 4.2, 4);
    d[8].ring(18, 14, 4.8, 4.8);
    d[9].ring(9.5, 14, 4.6, 4.8);
    d[9].line(9.5, 18.8, 23, 16.5);
    return d;
}

}  // namespace

TEST_CASE("our digit model reads the committed pictures", "[models]") {
    const auto folder = models_dir() + "/digits";
    const auto labels = read_all(folder + "/pictures/labels.txt");
    REQUIRE_FALSE(labels.empty());
    std::istringstream lines(
        std::string(reinterpret_cast<const char*>(labels.data()), labels.size()));
    size_t total = 0;
    size_t right = 0;
    std::string name;
    for (size_t label = 0; lines >> name >> label; ++total) {
        const auto input = picture(folder + "/pictures/" + name, RKNN_TENSOR_NHWC, {1, 28, 28, 1});
        const auto out = run_model(folder + "/digits_int8_rk3588.rknn", "sim", {input}, 0, true);
        REQUIRE(out.has_value());
        right += argmax(floats(out->front())) == label ? 1 : 0;
    }
    CHECK(total >= 20);
    CHECK(right + 1 >= total);
}

TEST_CASE("mnist: at least nine of ten drawn digits are right", "[models][shared]") {
    const auto path = shared_file("mnist/mnist_int8_rk3588.rknn");
    if (path.empty())
        return;
    const auto digits = drawn_digits();
    size_t right = 0;
    for (size_t digit = 0; digit < digits.size(); ++digit) {
        const auto out = run_model(path, "sim", {digits[digit].input()}, 0, true);
        REQUIRE(out.has_value());
        right += argmax(floats(out->front())) == digit ? 1 : 0;
    }
    CHECK(right >= 9);
}

TEST_CASE("mobilenet_v2 sees the bell as a board does", "[models][shared]") {
    const auto path = shared_file("mobilenet_v2/mobilenet_v2_int8_rk3588.rknn");
    const auto bell = shared_file("mobilenet_v2/bell.jpg");
    if (path.empty() || bell.empty())
        return;
    const auto input = picture(bell, RKNN_TENSOR_NHWC, {1, 224, 224, 3});
    const auto out = run_model(path, "sim", {input}, 0, true);
    REQUIRE(out.has_value());
    auto scores = floats(out->front());
    const float highest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (float& score : scores)
        sum += score = std::exp(score - highest);
    REQUIRE(argmax(scores) == 494);
    CHECK(scores[494] / sum > 0.95);
    scores[494] = 0;
    CHECK(*std::max_element(scores.begin(), scores.end()) / sum < 0.02);
}

namespace {

struct Overlap {
    double same = 0;    ///< share of equal pixels
    double union_ = 0;  ///< persons found and wanted over found or wanted
};

/// Nothing, after a printed reason, when the files are not there.
std::optional<Overlap> segment() {
    const auto path = shared_file("segmentation/pp_human_segv2_rk3588.rknn");
    const auto photo = shared_file("segmentation/test_image.jpg");
    const auto truth_path = shared_file("segmentation/truth_mask_192.png");
    if (path.empty() || photo.empty() || truth_path.empty())
        return std::nullopt;
    constexpr size_t kPixels = 192 * 192;
    const auto input = picture(photo, RKNN_TENSOR_NHWC, {1, 192, 192, 3});
    const auto truth = picture(truth_path, RKNN_TENSOR_NHWC, {1, 192, 192, 1});
    const auto out = run_model(path, "sim", {input});
    REQUIRE(out.has_value());
    REQUIRE(out->front().size() == kPixels * sizeof(int64_t));
    size_t same = 0;
    size_t both = 0;
    size_t either = 0;
    for (size_t i = 0; i < kPixels; ++i) {
        int64_t label = 0;
        std::memcpy(&label, out->front().data() + i * sizeof(label), sizeof(label));
        const bool person = label == 1;
        const bool wanted = std::to_integer<int>(truth.bytes[i]) > 127;
        same += person == wanted ? 1 : 0;
        both += person && wanted ? 1 : 0;
        either += person || wanted ? 1 : 0;
    }
    return Overlap{static_cast<double>(same) / kPixels,
                   static_cast<double>(both) / static_cast<double>(either)};
}

}  // namespace

TEST_CASE("segmentation labels 98 % of the pixels as its maker did", "[models][shared]") {
    const auto overlap = segment();
    if (!overlap)
        return;
    CHECK(overlap->same >= 0.98);
    CHECK(overlap->union_ >= 0.75);  // what is reached: see the next test
}

// Wanted, and known to fall short: 0.757. The mask is of another run than this file's, see
// Documentation/hardware.rst.
TEST_CASE("segmentation finds the person with 85 % overlap", "[models][shared][!mayfail]") {
    const auto overlap = segment();
    if (overlap)
        CHECK(overlap->union_ >= 0.85);
}

TEST_CASE("C4 all core masks give the same bytes", "[models][shared][C4]") {
    const char* name =
        GENERATE("multiple_input/multiple_input_rk3588.rknn",
                 "multiple_input/multiple_input_rk3588_layout2.rknn",
                 "mnist/mnist_int8_rk3588.rknn", "mobilenet_v2/mobilenet_v2_int8_rk3588.rknn");
    const auto path = shared_file(name);
    if (path.empty())
        return;
    const auto inputs = noise_inputs(path, "sim", 5);
    const auto expected = run_model(path, "sim", inputs);
    REQUIRE(expected.has_value());
    for (const uint32_t mask : {1u, 2u, 4u, 3u, 7u, 0xffffu}) {
        INFO("core mask " << mask);
        const auto got = run_model(path, "sim", inputs, mask);
        REQUIRE(got.has_value());
        CHECK((*got == *expected));
    }
}

namespace {

using namespace rknpu;  // NOLINT

/// Output of a float ONNX graph; inputs by position, float32 NCHW.
std::vector<float> onnx_output(const std::string& path,
                               const std::vector<std::vector<float>>& inputs) {
    cpu::OnnxModel model;
    const auto bytes = read_all(path);
    REQUIRE(cpu::parse_onnx_model(bytes, model).ok());
    REQUIRE(model.inputs.size() == inputs.size());
    cpu::OnnxTensors values;
    for (size_t i = 0; i < inputs.size(); ++i) {
        cpu::TensorInfo info;
        info.dtype = cpu::DType::kF32;
        info.dims = *cpu::Dims::from(std::span<const int64_t>(model.inputs[i].dims));
        cpu::Tensor tensor;
        REQUIRE(cpu::Tensor::create(info, std::as_bytes(std::span(inputs[i])), tensor).ok());
        values.emplace(model.inputs[i].name, std::move(tensor));
    }
    const auto status = cpu::run_onnx(model, {}, values);
    INFO(status.text());
    REQUIRE(status.ok());
    const auto out = values.at(model.outputs.front().name).view();
    const auto numbers = out.as<float>();
    return {numbers.begin(), numbers.end()};
}

/// HWC bytes as CHW numbers.
std::vector<float> planes(const std::vector<std::byte>& pixels, size_t channels) {
    std::vector<float> out(pixels.size());
    const size_t plane = pixels.size() / channels;
    for (size_t i = 0; i < pixels.size(); ++i)
        out[i % channels * plane + i / channels] =
            static_cast<float>(std::to_integer<int>(pixels[i]));
    return out;
}

}  // namespace

TEST_CASE("multiple_input lies within one step of its float graph", "[models][shared]") {
    const char* name = GENERATE("multiple_input/multiple_input_rk3588.rknn",
                                "multiple_input/multiple_input_rk3588_layout2.rknn");
    const auto path = shared_file(name);
    const auto onnx = shared_file("multiple_input/mi_test.onnx");
    if (path.empty() || onnx.empty())
        return;
    const auto first = read_all(shared_dir() + "/multiple_input/mi_input1.bin");
    const auto second = read_all(shared_dir() + "/multiple_input/mi_input2.bin");
    const auto reference = onnx_output(onnx, {planes(first, 1), planes(second, 3)});
    const auto out = run_model(path, "sim", {{first}, {second}});
    REQUIRE(out.has_value());
    REQUIRE(out->front().size() == reference.size());
    // Scale and zero point of the output, from the file.
    constexpr float kScale = 4.142374515533447f;
    constexpr float kZero = 20;
    int worst = 0;
    for (size_t i = 0; i < reference.size(); ++i) {
        const float code = std::clamp(std::nearbyint(reference[i] / kScale) + kZero, -128.f, 127.f);
        const int got = static_cast<int8_t>(std::to_integer<uint8_t>(out->front()[i]));
        worst = std::max(worst, std::abs(got - static_cast<int>(code)));
    }
    CHECK(worst <= 1);
}
