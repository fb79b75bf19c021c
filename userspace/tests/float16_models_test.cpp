// SPDX-License-Identifier: MIT
// float16 models on the NPU model against float graphs: every cut of the audio network and both
// single convolutions, ten random inputs each.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

#include "cpu/onnx/onnx_model.hpp"
#include "model/reader.hpp"
#include "support/files.hpp"
#include "support/run.hpp"

using namespace rknpu;        // NOLINT: tests
using namespace rknpu::test;  // NOLINT

namespace {

constexpr uint32_t kInputs = 10;

std::vector<float> random_values(size_t count, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> values(count);
    for (float& value : values)
        value = std::normal_distribution<float>(0, 1)(random);
    return values;
}

/// All tensors of a float graph with one input, by name.
cpu::OnnxTensors onnx_tensors(const cpu::OnnxModel& model, const std::vector<float>& input) {
    cpu::TensorInfo info;
    info.dtype = cpu::DType::kF32;
    info.dims = *cpu::Dims::from(std::span<const int64_t>(model.inputs.front().dims));
    cpu::Tensor tensor;
    REQUIRE(cpu::Tensor::create(info, std::as_bytes(std::span(input)), tensor).ok());
    cpu::OnnxTensors values;
    values.emplace(model.inputs.front().name, std::move(tensor));
    const auto status = cpu::run_onnx(model, {}, values);
    INFO(status.text());
    REQUIRE(status.ok());
    return values;
}

std::vector<float> numbers_of(const cpu::OnnxTensors& tensors, const std::string& name) {
    INFO(name);
    const auto found = tensors.find(name);
    REQUIRE(found != tensors.end());
    const auto view = found->second.view();
    const auto numbers = view.as<float>();
    return {numbers.begin(), numbers.end()};
}

cpu::OnnxModel load_onnx(const std::string& path) {
    cpu::OnnxModel model;
    REQUIRE(cpu::parse_onnx_model(read_all(path), model).ok());
    REQUIRE(model.inputs.size() == 1);
    return model;
}

std::vector<float> npu_output(const std::string& path, const std::vector<float>& values) {
    Input input;
    input.type = RKNN_TENSOR_FLOAT32;
    input.fmt = RKNN_TENSOR_NCHW;
    const auto bytes = std::as_bytes(std::span(values));
    input.bytes.assign(bytes.begin(), bytes.end());
    const auto out = run_model(path, "sim", {input}, 0, true);
    REQUIRE(out.has_value());
    return floats(out->front());
}

constexpr double kSmallest = 1.0 / (1 << 24);  // step of the smallest float16 numbers

/// Largest difference, but for steps of the smallest numbers, as a share of the largest value.
double worst_share(const std::vector<float>& got, const std::vector<float>& want) {
    REQUIRE(got.size() == want.size());
    double largest = 0;
    double worst = 0;
    for (size_t i = 0; i < got.size(); ++i) {
        largest = std::max(largest, std::abs(double{want[i]}));
        const double error = std::abs(double{got[i]} - want[i]);
        worst = std::isnan(error) ? INFINITY : std::max(worst, error - 4 * kSmallest);
    }
    return worst / largest;
}

// A float16 number is exact to 2^-11. Inputs, weights and the results of up to sixteen layers are
// rounded to it; independent errors add up to sqrt(3 * 16) < 7 of them, and the sigmoid table adds
// 2^-10 of its range.
constexpr double kBound = 9.0 / 2048;

}  // namespace

TEST_CASE("every cut of the float16 audio network agrees with its float graph",
          "[models][shared]") {
    const char* name =
        GENERATE("sub_after_first_conv", "sub_after_first_relu", "sub_after_f2_conv",
                 "sub_fix_f2_out", "sub_fix_after_rm", "sub_fix_after_pad", "sub_fix_after_swish",
                 "sub_fix_after_f1_1", "sub_fix_after_slice", "sub_fix_add_out");
    const auto path = shared_file(std::string("audio_fp16/") + name + ".rknn");
    const auto onnx = shared_file(std::string("audio_fp16/") + name + ".onnx");
    if (path.empty() || onnx.empty())
        return;
    const auto model = load_onnx(onnx);
    double worst = 0;
    for (uint32_t seed = 1; seed <= kInputs; ++seed) {
        const auto values = random_values(40 * 151, seed);
        const auto want = numbers_of(onnx_tensors(model, values), model.outputs.front().name);
        worst = std::max(worst, worst_share(npu_output(path, values), want));
    }
    std::printf("%-22s worst error %.2e of the range\n", name, worst);
    CHECK(worst <= kBound);
}

// The stream of this cut expands the small operand of its last addition into the memory of the
// other one and then adds that memory to itself: main and EW address are the same in the file, so
// no reading of the registers can bring the float graph's second operand back. What the stream
// says can be checked: twice the expanded operand, and its ReLU.
TEST_CASE("the cut behind the first block adds its expanded operand to itself",
          "[models][shared]") {
    const auto path = shared_file("audio_fp16/sub_fix_after_block0.rknn");
    const auto onnx = shared_file("audio_fp16/sub_fix_after_block0.onnx");
    if (path.empty() || onnx.empty())
        return;
    const auto model = load_onnx(onnx);
    constexpr size_t kChannels = 16;
    constexpr size_t kRows = 20;
    constexpr size_t kColumns = 151;
    double worst = 0;
    for (uint32_t seed = 1; seed <= kInputs; ++seed) {
        const auto values = random_values(40 * kColumns, seed);
        const auto row = numbers_of(onnx_tensors(model, values),
                                    "/backbone/BCBlocks.0.0/f1/f1.1/Conv_output_0_sliced");
        REQUIRE(row.size() == kChannels * kColumns);
        std::vector<float> want;
        for (size_t i = 0; i < kChannels * kRows * kColumns; ++i) {
            const size_t channel = i / (kRows * kColumns);
            want.push_back(std::max(0.0F, 2 * row[channel * kColumns + i % kColumns]));
        }
        worst = std::max(worst, worst_share(npu_output(path, values), want));
    }
    std::printf("%-22s worst error %.2e of the range\n", "sub_fix_after_block0", worst);
    CHECK(worst <= kBound);
}

namespace {

/// Weights of a direct float16 convolution, OIHW, out of the file's native tensor
/// [O / 16][I / 32][KH][KW][16][32].
std::vector<float> native_weights(const JobGraph& graph) {
    const auto& weights = graph.tensors[static_cast<size_t>(find_tensor(graph, "conv.weight"))];
    const auto dim = [&](size_t i) { return static_cast<size_t>(weights.dims[i]); };
    const size_t window = dim(2) * dim(3);
    std::vector<float> out(dim(0) * dim(1) * window);
    for (size_t i = 0; i < out.size(); ++i) {
        const size_t o = i / (dim(1) * window);
        const size_t c = i / window % dim(1);
        const size_t k = i % window;
        const size_t block = (o / 16 * (dim(1) / 32) + c / 32) * window + k;
        uint16_t bits = 0;
        std::memcpy(&bits, weights.data.data() + 2 * ((block * 16 + o % 16) * 32 + c % 32), 2);
        const int exponent = bits >> 10 & 31;
        const double size = exponent == 0 ? std::ldexp(bits & 1023, -24)
                                          : std::ldexp((bits & 1023) + 1024, exponent - 25);
        out[i] = static_cast<float>((bits & 0x8000) != 0 ? -size : size);
    }
    return out;
}

/// 3 x 3 convolution of a 14 x 14 picture without padding, in double.
std::vector<float> convolve(const std::vector<float>& weights, const std::vector<float>& input,
                            size_t outputs) {
    constexpr size_t kIn = 14;
    constexpr size_t kOut = 12;
    const size_t channels = input.size() / (kIn * kIn);
    std::vector<float> out;
    for (size_t o = 0; o < outputs; ++o)
        for (size_t p = 0; p < kOut * kOut; ++p) {
            double sum = 0;
            for (size_t c = 0; c < channels; ++c)
                for (size_t k = 0; k < 9; ++k)
                    sum += double{weights[(o * channels + c) * 9 + k]} *
                           input[(c * kIn + p / kOut + k / 3) * kIn + p % kOut + k % 3];
            out.push_back(static_cast<float>(sum));
        }
    return out;
}

}  // namespace

TEST_CASE("single float16 convolutions agree with double arithmetic", "[models][shared]") {
    const char* name = GENERATE("conv_160_320_3x3_14x14", "conv_32_128_3x3_14x14");
    const auto path = shared_file(std::string("conv_fp16/") + name + "_fp16_rk3588.rknn");
    if (path.empty())
        return;
    auto file = read_file(path);
    REQUIRE(file.ok());
    auto graph = read_model(file.value(), "rk3588");
    REQUIRE(graph.ok());
    const auto& dims = graph.value().tensors[static_cast<size_t>(graph.value().inputs[0])].dims;
    const auto& shape = graph.value().tensors[static_cast<size_t>(graph.value().outputs[0])].dims;
    const auto weights = native_weights(graph.value());
    double worst = 0;
    for (uint32_t seed = 1; seed <= kInputs; ++seed) {
        const auto values = random_values(static_cast<size_t>(dims[1]) * 14 * 14, seed);
        const auto want = convolve(weights, values, static_cast<size_t>(shape[1]));
        worst = std::max(worst, worst_share(npu_output(path, values), want));
    }
    std::printf("%-22s worst error %.2e of the range\n", name, worst);
    CHECK(worst <= kBound);
}

TEST_CASE("the larger float16 convolution agrees with its float graph", "[models][shared]") {
    const auto path = shared_file("conv_fp16/conv_160_320_3x3_14x14_fp16_rk3588.rknn");
    const auto onnx = shared_file("conv_fp16/conv_160_320_3x3.onnx");
    if (path.empty() || onnx.empty())
        return;
    const auto model = load_onnx(onnx);
    double worst = 0;
    for (uint32_t seed = 1; seed <= kInputs; ++seed) {
        const auto values = random_values(160 * 14 * 14, seed);
        const auto want = numbers_of(onnx_tensors(model, values), model.outputs.front().name);
        worst = std::max(worst, worst_share(npu_output(path, values), want));
    }
    CHECK(worst <= kBound);
}
