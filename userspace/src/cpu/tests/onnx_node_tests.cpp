// SPDX-License-Identifier: MIT
// Runs the ONNX backend test data (Debian package libonnx-testdata) on the CPU operators, counts
// passed, failed and skipped cases and names each skip. Exit code: 0 all ran cases passed,
// 1 a case failed, 77 (ctest "skipped") the data is not installed.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "cpu/convert.hpp"
#include "cpu/onnx/onnx_model.hpp"
#include "cpu/operator.hpp"

namespace fs = std::filesystem;
using namespace rknpu::cpu;

namespace {

constexpr const char* kDefaultData = "/usr/share/libonnx-testdata/data";
/// Bounds of the ONNX backend runner itself (numpy.testing.assert_allclose with these).
constexpr double kRelative = 1e-3;
constexpr double kAbsolute = 1e-7;
/// The generator of the bfloat16 cases truncates, the operator rounds to nearest: one unit in the
/// last of its 8 bits.
constexpr double kRelativeBf16 = 1.0 / 128;

struct Result {
    enum class Kind { kPassed, kFailed, kSkipped } kind;
    std::string reason;
};

Result failed(std::string reason) {
    return {Result::Kind::kFailed, std::move(reason)};
}
Result skipped(std::string reason) {
    return {Result::Kind::kSkipped, std::move(reason)};
}

/// Cases that no implementation can reproduce from the data alone.
const std::map<std::string, std::string, std::less<>> kCannotPass = {
    {"test_training_dropout", "training mode: the result depends on numpy's random generator"},
    {"test_training_dropout_default", "training mode: depends on numpy's random generator"},
    {"test_training_dropout_default_mask", "training mode: depends on numpy's random generator"},
    {"test_training_dropout_mask", "training mode: depends on numpy's random generator"},
};

/// Operators a .rknn file cannot hold or an inference never needs, and why.
const std::map<std::string, std::string, std::less<>> kNotNeeded = {
    {"NegativeLogLikelihoodLoss", "a loss: training only"},
    {"SoftmaxCrossEntropyLoss", "a loss: training only"},
    {"StringNormalizer", "works on strings"},
    {"TfIdfVectorizer", "counts words of a text"},
    {"SequenceLength", "works on sequences"},
    {"SequenceConstruct", "works on sequences"},
    {"SequenceInsert", "works on sequences"},
    {"SequenceEmpty", "works on sequences"},
    {"SplitToSequence", "works on sequences"},
    {"OptionalHasElement", "works on optional values"},
    {"OptionalGetElement", "works on optional values"},
    {"RandomUniformLike", "the result is random"},
    {"Bernoulli", "the result is random"},
};

/// The operators this library promises: their cases must all pass.
const std::set<std::string, std::less<>> kPromised = {"Reshape",
                                                      "Transpose",
                                                      "Squeeze",
                                                      "Unsqueeze",
                                                      "Flatten",
                                                      "Concat",
                                                      "Split",
                                                      "Slice",
                                                      "Gather",
                                                      "Expand",
                                                      "Tile",
                                                      "Pad",
                                                      "Cast",
                                                      "Softmax",
                                                      "LogSoftmax",
                                                      "ArgMax",
                                                      "ArgMin",
                                                      "TopK",
                                                      "ReduceSum",
                                                      "ReduceMean",
                                                      "ReduceMax",
                                                      "ReduceMin",
                                                      "Add",
                                                      "Sub",
                                                      "Mul",
                                                      "Div",
                                                      "Pow",
                                                      "Min",
                                                      "Max",
                                                      "Equal",
                                                      "Greater",
                                                      "Less",
                                                      "Where",
                                                      "Not",
                                                      "And",
                                                      "Or",
                                                      "Exp",
                                                      "Log",
                                                      "Sqrt",
                                                      "Sin",
                                                      "Cos",
                                                      "Tanh",
                                                      "Erf",
                                                      "Sigmoid",
                                                      "HardSigmoid",
                                                      "HardSwish",
                                                      "Mish",
                                                      "Gelu",
                                                      "Clip",
                                                      "LayerNormalization",
                                                      "InstanceNormalization",
                                                      "BatchNormalization",
                                                      "MatMul",
                                                      "Gemm",
                                                      "Conv",
                                                      "ConvTranspose",
                                                      "MaxPool",
                                                      "AveragePool",
                                                      "GlobalAveragePool",
                                                      "GlobalMaxPool",
                                                      "Resize",
                                                      "DepthToSpace",
                                                      "SpaceToDepth",
                                                      "GridSample",
                                                      "NonMaxSuppression",
                                                      "LSTM",
                                                      "GRU",
                                                      "CumSum",
                                                      "Range",
                                                      "Shape",
                                                      "Einsum",
                                                      "QLinearConv",
                                                      "QLinearMatMul",
                                                      "QuantizeLinear",
                                                      "DequantizeLinear",
                                                      "ConvInteger",
                                                      "MatMulInteger"};

std::vector<std::byte> read_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    const std::vector<char> chars{std::istreambuf_iterator<char>(in), {}};
    std::vector<std::byte> bytes(chars.size());
    std::memcpy(bytes.data(), chars.data(), chars.size());
    return bytes;
}

std::string compare(const Tensor& got, const Tensor& expected) {
    if (got.info().dtype != expected.info().dtype)
        return cat("type ", dtype_name(got.info().dtype), ", expected ",
                   dtype_name(expected.info().dtype));
    if (got.info().dims != expected.info().dims)
        return cat("shape ", got.info().dims.text(), ", expected ", expected.info().dims.text());
    if (!dtype_is_float(expected.info().dtype)) {
        const auto a = got.bytes();
        const auto b = expected.bytes();
        const auto diff = std::ranges::mismatch(a, b);
        return diff.in1 == a.end() ? "" : cat("differs at byte ", diff.in1 - a.begin());
    }
    Tensor a;
    Tensor b;
    const TensorInfo wide{DType::kF64, expected.info().dims, {}};
    if (!Tensor::create(wide, a).ok() || !Tensor::create(wide, b).ok() ||
        !convert(got.view(), a.mut_view()).ok() || !convert(expected.view(), b.mut_view()).ok())
        return "cannot be widened";
    const double relative = expected.info().dtype == DType::kBf16 ? kRelativeBf16 : kRelative;
    const auto x = a.view().as<double>();
    const auto y = b.view().as<double>();
    for (std::size_t i = 0; i < x.size(); ++i) {
        const bool same = (std::isnan(x[i]) && std::isnan(y[i])) || x[i] == y[i] ||
                          std::abs(x[i] - y[i]) <= kAbsolute + relative * std::abs(y[i]);
        if (!same)
            return cat("element ", i, " is ", x[i], ", expected ", y[i]);
    }
    return "";
}

/// Loads <prefix>_0.pb, <prefix>_1.pb, ...; the reason why not if one is no plain tensor.
std::string load_set(const fs::path& dir, const std::string& prefix, std::vector<Tensor>& out) {
    for (unsigned i = 0;; ++i) {
        const fs::path file = dir / cat(prefix, "_", i, ".pb");
        if (!fs::exists(file))
            return "";
        Tensor tensor;
        std::string name;
        const Status status = parse_onnx_tensor(read_file(file), name, tensor);
        if (!status.ok())
            return cat(file.filename().string(), ": ", status.text());
        out.push_back(std::move(tensor));
    }
}

/// The generator of the data stores bfloat16 as uint16; the model's declaration tells.
void retype(const OnnxValue& declared, Tensor& tensor) {
    if (declared.dtype != DType::kBf16 || tensor.info().dtype != DType::kU16)
        return;
    Tensor typed;
    if (Tensor::create({DType::kBf16, tensor.info().dims, {}}, tensor.bytes(), typed).ok())
        tensor = std::move(typed);
}

Result run_set(const OnnxModel& model, const fs::path& dir, bool reference) {
    std::vector<Tensor> inputs;
    std::vector<Tensor> expected;
    if (const std::string why = load_set(dir, "input", inputs); !why.empty())
        return skipped(why);
    if (const std::string why = load_set(dir, "output", expected); !why.empty())
        return skipped(why);
    if (inputs.size() > model.inputs.size() || expected.size() != model.outputs.size())
        return failed("number of inputs or outputs does not match the model");
    OnnxTensors values;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        retype(model.inputs[i], inputs[i]);
        values.insert_or_assign(model.inputs[i].name, std::move(inputs[i]));
    }
    const Status status = run_onnx(model, {reference}, values);
    if (!status.ok())
        return failed(status.text());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        retype(model.outputs[i], expected[i]);
        const std::string why = compare(values.at(model.outputs[i].name), expected[i]);
        if (!why.empty())
            return failed(cat("output '", model.outputs[i].name, "': ", why));
    }
    return {Result::Kind::kPassed, ""};
}

Result run_case(const fs::path& dir) {
    if (const auto it = kCannotPass.find(dir.filename().string()); it != kCannotPass.end())
        return skipped(it->second);
    OnnxModel model;
    const Status status = parse_onnx_model(read_file(dir / "model.onnx"), model);
    if (!status.ok())
        return status.code() == StatusCode::kInvalidType ? skipped(status.text())
                                                         : failed(status.text());
    if (const std::string why = onnx_missing_operator(model); !why.empty()) {
        for (const OnnxNode& node : model.nodes) {
            if (const auto it = kNotNeeded.find(node.type); it != kNotNeeded.end())
                return skipped(cat(why, ": ", it->second));
        }
        return skipped(why);
    }
    for (const auto& list : {model.inputs, model.outputs}) {
        for (const OnnxValue& value : list) {
            if (value.dtype == DType::kNone)
                return skipped(cat("'", value.name, "' is a string, sequence or optional"));
        }
    }
    unsigned sets = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(dir)) {
        if (!entry.is_directory())
            continue;
        ++sets;
        for (const bool reference : {false, true}) {
            Result result = run_set(model, entry.path(), reference);
            if (result.kind == Result::Kind::kFailed && reference)
                result.reason = "reference path: " + result.reason;
            if (result.kind != Result::Kind::kPassed)
                return result;
        }
    }
    return sets != 0 ? Result{Result::Kind::kPassed, ""} : skipped("no test data beside the model");
}

struct Counts {
    unsigned passed = 0;
    unsigned failed = 0;
    unsigned skipped = 0;

    void add(Result::Kind kind) {
        passed += kind == Result::Kind::kPassed ? 1 : 0;
        failed += kind == Result::Kind::kFailed ? 1 : 0;
        skipped += kind == Result::Kind::kSkipped ? 1 : 0;
    }
};

/// Cases whose every node is one of the promised operators, of all folders.
Counts promised_counts;

/// True for cases of promised operators only. Strings are not promised: .rknn files have none.
bool is_promised(const fs::path& dir) {
    OnnxModel model;
    if (!parse_onnx_model(read_file(dir / "model.onnx"), model).ok() || model.nodes.empty())
        return false;
    return std::ranges::all_of(model.nodes, [](const OnnxNode& node) {
        return node.type == "Constant" || kPromised.contains(node.type);
    });
}

Counts run_folder(const fs::path& folder) {
    std::set<fs::path> cases;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        if (fs::exists(entry.path() / "model.onnx"))
            cases.insert(entry.path());
    }
    Counts counts;
    for (const fs::path& path : cases) {
        const Result result = run_case(path);
        const std::string name = path.filename().string();
        if (is_promised(path))
            promised_counts.add(result.kind);
        if (result.kind == Result::Kind::kPassed) {
            ++counts.passed;
        } else if (result.kind == Result::Kind::kFailed) {
            ++counts.failed;
            std::printf("FAIL %s: %s\n", name.c_str(), result.reason.c_str());
        } else {
            ++counts.skipped;
            std::printf("skip %s: %s\n", name.c_str(), result.reason.c_str());
        }
    }
    std::printf("%s: %u passed, %u failed, %u skipped\n", folder.filename().string().c_str(),
                counts.passed, counts.failed, counts.skipped);
    return counts;
}

}  // namespace

int main(int argc, char** argv) {
    const char* env = std::getenv("RKNPU_ONNX_TEST_DATA");
    const fs::path root = env != nullptr ? env : kDefaultData;
    if (argc > 1) {  // single cases, by folder
        bool good = true;
        for (int i = 1; i < argc; ++i) {
            const Result result = run_case(argv[i]);
            good = good && result.kind == Result::Kind::kPassed;
            std::printf("%s: %s\n", argv[i],
                        result.reason.empty() ? "passed" : result.reason.c_str());
        }
        return good ? 0 : 1;
    }
    if (!fs::is_directory(root / "node")) {
        std::printf("SKIP: no ONNX test data in %s; apt-get install libonnx-testdata\n",
                    root.c_str());
        return 77;
    }
    Counts total;
    for (const char* folder : {"node", "simple", "pytorch-operator", "pytorch-converted"}) {
        if (!fs::is_directory(root / folder))
            continue;
        const Counts counts = run_folder(root / folder);
        total.passed += counts.passed;
        total.failed += counts.failed;
        total.skipped += counts.skipped;
    }
    std::printf("ONNX backend tests: %u passed, %u failed, %u skipped\n", total.passed,
                total.failed, total.skipped);
    std::printf("of these, promised operators only: %u passed, %u failed, %u skipped\n",
                promised_counts.passed, promised_counts.failed, promised_counts.skipped);
    return total.failed == 0 && total.passed != 0 ? 0 : 1;
}
