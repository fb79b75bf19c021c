// SPDX-License-Identifier: MIT
// rknn-compare: distances of layers and outputs of real models to the graphs they were made of.
#include "compare.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "golden.hpp"
#include "onnxruntime.hpp"
#include "support/cpu_model.hpp"
#include "support/files.hpp"

using namespace rknpu::tools;  // NOLINT: tests
using namespace rknpu::test;   // NOLINT

namespace {

/// Options for a pair of others' files, or nothing after a printed reason.
std::optional<CompareOptions> shared_pair(const std::string& model, const std::string& onnx) {
    const auto shared = shared_dir();
    for (const auto& name : {model, onnx}) {
        if (!shared.empty() && exists(shared + "/" + name))
            continue;
        std::printf("skipped: no ../shared/data/rknn/%s\n", name.c_str());
        return std::nullopt;
    }
    CompareOptions options;
    options.model = shared + "/" + model;
    options.onnx = shared + "/" + onnx;
    options.executor = "own";
    return options;
}

CompareReport report_of(const CompareOptions& options) {
    setenv("RKNPU_DEVICE", "sim", 1);
    std::string error;
    auto report = compare(options, error);
    INFO(error);
    REQUIRE(report.has_value());
    return std::move(*report);
}

std::string error_of(const CompareOptions& options) {
    setenv("RKNPU_DEVICE", "sim", 1);
    std::string error;
    CHECK_FALSE(compare(options, error).has_value());
    return error;
}

/// A serialised field of a protocol buffer message that is shorter than 128 bytes.
std::string field(int number, const std::string& bytes) {
    return {std::string(1, static_cast<char>(number << 3 | 2)) + static_cast<char>(bytes.size()) +
            bytes};
}
std::string count(int number, int value) {
    return {static_cast<char>(number << 3), static_cast<char>(value)};
}

/// in [1, 4] -> Neg -> middle -> Relu -> out, as an ONNX file.
std::string small_graph() {
    const auto value = [](const std::string& name) {
        const auto dim = [](int n) { return field(1, count(1, n)); };
        return field(1, name) + field(2, field(1, count(1, 1) + field(2, dim(1) + dim(4))));
    };
    const auto node = [](const std::string& in, const std::string& out, const std::string& type) {
        return field(1, field(1, in) + field(2, out) + field(4, type));
    };
    return count(1, 8) +
           field(7, node("in", "middle", "Neg") + node("middle", "out", "Relu") +
                        field(11, value("in")) + field(12, value("out"))) +
           field(8, count(2, 13));
}

struct SmallPair {
    explicit SmallPair(const std::string& second_type = "Relu") {
        const FileTensor like{"", FileType::kFloat, {1, 4}};
        auto model = one_node("Neg", like);
        model.tensors = {like, like, like, like};
        const char* names[] = {"in", "middle", "out", "more"};
        for (size_t i = 0; i < 4; ++i)
            model.tensors[i].name = names[i];
        model.nodes = {
            {"Neg", "n", {0}, {1}}, {second_type, "r", {1}, {2}}, {"Abs", "a", {2}, {3}}};
        model.outputs = {2, 3};
        options.model = folder.path() + "/model.rknn";
        options.onnx = folder.path() + "/graph.onnx";
        options.executor = "own";
        const auto file = write_file(model);
        write(options.model, {reinterpret_cast<const char*>(file.data()), file.size()});
        write(options.onnx, small_graph());
    }
    static void write(const std::string& path, const std::string& text) {
        std::ofstream(path, std::ios::binary) << text;
    }
    TempFolder folder;
    CompareOptions options;
};

}  // namespace

TEST_CASE("distance: cosine and Euclid", "[compare]") {
    const std::vector<float> zero(3);
    const std::vector<float> a{1, 2, 2};
    const std::vector<float> b{2, 4, 4};
    const std::vector<float> across{2, -2, 1};
    CHECK(distance(a, a).cos == Approx(1));
    CHECK(distance(a, a).euc == 0);
    CHECK(distance(a, b).cos == Approx(1));
    CHECK(distance(a, b).euc == Approx(3));
    CHECK(distance(a, across).cos == Approx(0));
    CHECK(distance(zero, zero).cos == 1);
    CHECK(distance(a, zero).cos == 0);
}

TEST_CASE("compare: layers by name, whole and alone, and what cannot be compared says why",
          "[compare]") {
    // The model computes something else than the graph in its second layer.
    const SmallPair pair("Sigmoid");
    const auto report = report_of(pair.options);
    REQUIRE(report.layers.size() == 3);
    const auto& neg = report.layers[0];
    CHECK(neg.type == "Neg");
    CHECK(neg.tensor == "middle");
    CHECK(neg.target == "CPU");
    REQUIRE(neg.entire.has_value());
    CHECK(neg.entire->euc == 0);
    const auto& second = report.layers[1];
    REQUIRE(second.entire.has_value());
    CHECK(second.entire->euc > 0.1);
    REQUIRE(second.single.has_value());
    CHECK(second.single->euc == Approx(second.entire->euc));
    CHECK_FALSE(report.layers[2].entire.has_value());
    CHECK(report.layers[2].note == "not in the graph");
    REQUIRE(report.outputs.size() == 2);
    CHECK(report.outputs[0].entire->euc == Approx(second.entire->euc));
    CHECK_FALSE(report.outputs[1].entire.has_value());

    const auto text = to_text(report);
    CHECK_THAT(text, Catch::Contains("[Neg] middle") && Catch::Contains("1.00000 | 0") &&
                         Catch::Contains("# not in the graph"));
    const auto json = nlohmann::json::parse(to_json(pair.options, report));
    CHECK(json["executor"] == "own");
    CHECK(json["layers"].size() == 3);
    CHECK(json["layers"][1]["single"]["euc"].get<double>() == Approx(second.single->euc));
    CHECK(json["outputs"][1]["entire"].is_null());
}

TEST_CASE("compare: single leaves out the errors of the layers before", "[compare]") {
    SmallPair pair;
    // The first layer of the model is wrong, the second right.
    const FileTensor like{"", FileType::kFloat, {1, 4}};
    auto model = one_node("Abs", like);
    model.tensors = {like, like, like};
    model.tensors[0].name = "in";
    model.tensors[1].name = "middle";
    model.tensors[2].name = "out";
    model.nodes = {{"Abs", "n", {0}, {1}}, {"Relu", "r", {1}, {2}}};
    model.outputs = {2};
    const auto file = write_file(model);
    SmallPair::write(pair.options.model, {reinterpret_cast<const char*>(file.data()), file.size()});
    const auto report = report_of(pair.options);
    REQUIRE(report.layers.size() == 2);
    CHECK(report.layers[1].entire->euc > 0.1);
    CHECK(report.layers[1].single->euc == 0);
    pair.options.seed = 2;
    CHECK(report_of(pair.options).layers[1].entire->euc != report.layers[1].entire->euc);
}

TEST_CASE("compare: what is wrong is said", "[compare]") {
    SmallPair pair;
    auto options = pair.options;
    options.inputs = {"a.npy", "b.npy"};
    CHECK_THAT(error_of(options), Catch::Contains("1 inputs, 2 files"));
    options = pair.options;
    options.onnx = pair.folder.path() + "/nothing.onnx";
    CHECK_THAT(error_of(options), Catch::Contains("nothing.onnx: cannot be read"));
    SmallPair::write(options.onnx, "no graph");
    CHECK_THAT(error_of(options), Catch::Contains("not a serialised ONNX"));
    options = pair.options;
    options.model = options.onnx;
    CHECK_THAT(error_of(options), Catch::Contains("ONNX model, not a .rknn"));
    if (!has_onnxruntime()) {
        options = pair.options;
        options.executor = "onnxruntime";
        CHECK_THAT(error_of(options), Catch::Contains("--executor own"));
    } else {
        std::printf("skipped: the message for a missing onnxruntime (it is installed)\n");
    }
}

TEST_CASE("compare: onnxruntime and our operators agree", "[compare]") {
    if (!has_onnxruntime()) {
        std::printf("skipped: python3 has no onnxruntime\n");
        return;
    }
    SmallPair pair;
    const auto own = report_of(pair.options);
    pair.options.executor = "onnxruntime";
    const auto other = report_of(pair.options);
    CHECK(other.executor == "onnxruntime");
    for (size_t i = 0; i < own.layers.size(); ++i)
        CHECK(own.layers[i].entire.has_value() == other.layers[i].entire.has_value());
}

TEST_CASE("compare: int8 model with two inputs", "[compare][shared]") {
    auto options =
        shared_pair("multiple_input/multiple_input_rk3588.rknn", "multiple_input/mi_test.onnx");
    if (!options)
        return;
    for (const char* name : {"mi_input1.bin", "mi_input2.bin"})
        options->inputs.push_back(shared_dir() + "/multiple_input/" + name);
    const auto report = report_of(*options);
    REQUIRE(report.layers.size() == 2);
    CHECK(report.layers[0].tensor == "7");
    CHECK(report.layers[1].tensor == "8");
    for (const auto& row : report.layers) {
        CHECK(row.target == "NPU");
        REQUIRE(row.entire.has_value());
        REQUIRE(row.single.has_value());
        CHECK(row.entire->cos > 0.9995);
        CHECK(row.single->cos > 0.9995);
    }
    // Each element is at most one step of 4.14 away.
    CHECK(report.outputs.front().entire->euc < 4.15 * std::sqrt(8 * 128 * 128));
}

TEST_CASE("compare: float16 models", "[compare][shared]") {
    const std::pair<const char*, const char*> pairs[] = {
        {"conv_fp16/conv_160_320_3x3_14x14_fp16_rk3588.rknn", "conv_fp16/conv_160_320_3x3.onnx"},
        {"audio_fp16/sub_fix_after_swish.rknn", "audio_fp16/sub_fix_after_swish.onnx"},
        {"audio_fp16/sub_fix_add_out.rknn", "audio_fp16/sub_fix_add_out.onnx"}};
    for (const auto& [model, onnx] : pairs) {
        const auto options = shared_pair(model, onnx);
        if (!options)
            continue;
        INFO(model);
        const auto report = report_of(*options);
        size_t compared = 0;
        for (const auto& row : report.layers) {
            INFO(row.type << " " << row.tensor);
            compared += row.entire ? 1 : 0;
            // One layer's values lie below float16's normal range, where steps are 2^-24.
            for (const auto& value : {row.entire, row.single})
                CHECK((!value || value->cos > 0.9999 || value->euc < 1e-5));
        }
        CHECK(compared * 2 > report.layers.size());
        REQUIRE(report.outputs.front().entire.has_value());
        CHECK(report.outputs.front().entire->cos > 0.9999);
    }
}
