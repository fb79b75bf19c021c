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
                return skipped(
                    cat("'", value.name,
                        "' is a string, sequence or optional: .rknn files have no such tensors"));
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

// ---- the same cases on quantised and half-float tensors

/// A type that .rknn files store real values in.
struct Variant {
    const char* name;
    DType dtype;
};
constexpr Variant kVariants[] = {
    {"int8", DType::kI8}, {"uint8", DType::kU8}, {"int16", DType::kI16}, {"float16", DType::kF16}};

std::pair<std::int32_t, std::int32_t> range_of(DType dtype) {
    return dtype == DType::kI8   ? std::pair(-128, 127)
           : dtype == DType::kU8 ? std::pair(0, 255)
                                 : std::pair(-32768, 32767);
}

/// As a compiler chooses it: the range of the finite values, with zero in it.
Quant quant_for(const Tensor& reals, DType dtype) {
    float low = 0;
    float high = 0;
    for (const float v : reals.view().as<float>()) {
        low = std::isfinite(v) ? std::min(low, v) : low;
        high = std::isfinite(v) ? std::max(high, v) : high;
    }
    const auto [first, last] = range_of(dtype);
    const float width = high / 2 - low / 2;
    const float scale = width > 1e-30F ? width * 2 / static_cast<float>(last - first) : 1.0F;
    const auto zero = static_cast<std::int32_t>(std::lround(-low / scale)) + first;
    return {std::isfinite(scale) ? scale : 1e30F, std::clamp(zero, first, last)};
}

/// One call of the operator; inputs of the ones that are absent are empty tensors.
Status run_once(const OnnxModel& model, const std::vector<Tensor>& inputs, bool reference,
                const std::vector<TensorInfo>* wanted, std::vector<Tensor>& outputs) {
    const OnnxNode& node = model.nodes.front();
    std::vector<TensorView> views;
    for (const Tensor& tensor : inputs)
        views.push_back(tensor.present() ? tensor.view() : TensorView{});
    OpContext context;
    context.type = node.type;
    context.attributes = &node.attributes;
    context.opset = static_cast<int>(std::clamp<std::int64_t>(model.opset, 1, 1000));
    context.inputs = views;
    context.reference = reference;
    context.output_count = node.outputs.size();
    const Operator* op = find(node.type);
    std::vector<TensorInfo> infos;
    if (wanted != nullptr)
        infos = *wanted;
    else
        RKNPU_CPU_TRY(infer(*op, context, infos));
    outputs.clear();
    outputs.resize(infos.size());
    std::vector<MutTensorView> targets(infos.size());
    for (std::size_t i = 0; i < infos.size(); ++i) {
        if (i >= node.outputs.size() || node.outputs[i].empty())
            continue;
        RKNPU_CPU_TRY(Tensor::create(infos[i], outputs[i]));
        targets[i] = outputs[i].mut_view();
    }
    context.outputs = targets;
    return run(*op, context);
}

/// Distance in codes; for halves in bits of equal sign.
std::string compare_codes(const Tensor& got, const Tensor& expected) {
    const DType dtype = expected.info().dtype;
    const auto at = [dtype](const Tensor& t, std::size_t i) -> std::int32_t {
        if (dtype == DType::kI8)
            return t.view().as<std::int8_t>()[i];
        if (dtype == DType::kU8)
            return t.view().as<std::uint8_t>()[i];
        if (dtype == DType::kI16)
            return t.view().as<std::int16_t>()[i];
        const std::uint16_t bits = t.view().as<std::uint16_t>()[i];
        const auto magnitude = static_cast<std::int32_t>(bits & 0x7fff);
        return (bits & 0x8000) != 0 ? -magnitude : magnitude;
    };
    for (std::int64_t i = 0; i < expected.info().elements(); ++i) {
        const auto a = at(got, static_cast<std::size_t>(i));
        const auto b = at(expected, static_cast<std::size_t>(i));
        if (std::abs(a - b) > 1)
            return cat("element ", i, " is code ", a, ", the float operator's is ", b);
    }
    return "";
}

/// The case with every float32 tensor as `variant`. The oracle is the operator on float32 tensors
/// of the same values, its result rounded once.
Result run_variant_set(const OnnxModel& model, const fs::path& dir, const Variant& variant) {
    std::vector<Tensor> given;
    if (const std::string why = load_set(dir, "input", given); !why.empty())
        return skipped(why);
    std::vector<Tensor> reals;
    std::vector<Tensor> codes;
    bool any = false;
    std::size_t next = 0;
    for (const std::string& name : model.nodes.front().inputs) {
        Tensor real;
        Tensor code;
        const auto initializer = model.initializers.find(name);
        Tensor* from = nullptr;
        Tensor copy;
        if (initializer != model.initializers.end()) {
            if (!initializer->second.clone(copy).ok())
                return skipped("no memory");
            from = &copy;
        } else {
            const auto found = std::ranges::find(model.inputs, name, &OnnxValue::name);
            next = static_cast<std::size_t>(found - model.inputs.begin());
            from = found != model.inputs.end() && next < given.size() ? &given[next] : nullptr;
        }
        if (from != nullptr && from->info().dtype == DType::kF32) {
            any = true;
            const bool half = variant.dtype == DType::kF16;
            TensorInfo info{variant.dtype, from->info().dims, std::nullopt};
            if (!half)
                info.quant = quant_for(*from, variant.dtype);
            if (!Tensor::create(info, code).ok() || !convert(from->view(), code.mut_view()).ok() ||
                !Tensor::create(from->info(), real).ok() ||
                !convert(code.view(), real.mut_view()).ok())
                return failed("cannot be converted");
        } else if (from != nullptr) {
            if (!from->clone(real).ok() || !from->clone(code).ok())
                return skipped("no memory");
        }
        reals.push_back(std::move(real));
        codes.push_back(std::move(code));
    }
    if (!any)
        return skipped("no float32 input");
    std::vector<Tensor> oracle;
    if (const Status status = run_once(model, reals, true, nullptr, oracle); !status.ok())
        return skipped(cat("a parameter is out of range once it is a code: ", status.text()));
    std::vector<Tensor> wanted(oracle.size());
    std::vector<TensorInfo> infos;
    for (std::size_t i = 0; i < oracle.size(); ++i) {
        TensorInfo info = oracle[i].info();
        const bool is_real = info.dtype == DType::kF32;
        if (is_real) {
            info.dtype = variant.dtype;
            if (variant.dtype != DType::kF16)
                info.quant = quant_for(oracle[i], variant.dtype);
        }
        infos.push_back(info);
        if (!info.present())
            continue;
        if (!Tensor::create(info, wanted[i]).ok() ||
            !convert(oracle[i].view(), wanted[i].mut_view()).ok())
            return failed("the float result cannot be converted");
    }
    for (const bool reference : {false, true}) {
        std::vector<Tensor> got;
        if (const Status status = run_once(model, codes, reference, &infos, got); !status.ok())
            return failed(status.text());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            if (!wanted[i].present())
                continue;
            const bool is_real = oracle[i].info().dtype == DType::kF32;
            const std::string why =
                is_real ? compare_codes(got[i], wanted[i]) : compare(got[i], wanted[i]);
            if (!why.empty())
                return failed(cat("output ", i, ": ", why));
        }
    }
    return {Result::Kind::kPassed, ""};
}

/// Operators whose result is a code already: what their float inputs are is part of what they do.
const std::set<std::string, std::less<>> kNoVariant = {
    "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv",
    "QLinearMatMul",  "ConvInteger",      "MatMulInteger",         "Cast",
    "CastLike",       "Constant"};

const std::set<std::string, std::less<>> kNoRealNumbers = {"Not", "And", "Or", "Shape"};

Result run_variant(const fs::path& dir, const Variant& variant) {
    OnnxModel model;
    if (!parse_onnx_model(read_file(dir / "model.onnx"), model).ok() || model.nodes.size() != 1 ||
        !onnx_missing_operator(model).empty())
        return skipped("not one operator that is here");
    if (kNoVariant.contains(model.nodes.front().type))
        return skipped("its types are what it is about");
    Result result = skipped("no test data beside the model");
    for (const fs::directory_entry& entry : fs::directory_iterator(dir)) {
        if (!entry.is_directory())
            continue;
        result = run_variant_set(model, entry.path(), variant);
        if (result.kind != Result::Kind::kPassed)
            return result;
    }
    return result;
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
/// Skipped cases with their reasons: of promised operators, and all others.
std::vector<std::string> promised_skips;
std::vector<std::string> other_skips;
Counts variant_counts[std::size(kVariants)];
std::map<std::string, unsigned, std::less<>> variant_cases;  // passed, by operator

/// True for cases of promised operators only. Strings are not promised: .rknn files have none.
bool is_promised(const fs::path& dir) {
    OnnxModel model;
    if (!parse_onnx_model(read_file(dir / "model.onnx"), model).ok() || model.nodes.empty())
        return false;
    return std::ranges::all_of(model.nodes, [](const OnnxNode& node) {
        return node.type == "Constant" || kPromised.contains(node.type);
    });
}

std::string operator_of(const fs::path& dir) {
    OnnxModel model;
    return parse_onnx_model(read_file(dir / "model.onnx"), model).ok() && !model.nodes.empty()
               ? model.nodes.front().type
               : "";
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
        const bool promised = is_promised(path);
        if (promised)
            promised_counts.add(result.kind);
        if (result.kind == Result::Kind::kSkipped)
            (promised ? promised_skips : other_skips).push_back(cat(name, ": ", result.reason));
        for (std::size_t v = 0; v < std::size(kVariants); ++v) {
            const Result other = run_variant(path, kVariants[v]);
            variant_counts[v].add(other.kind);
            if (other.kind == Result::Kind::kFailed)
                std::printf("FAIL %s on %s: %s\n", name.c_str(), kVariants[v].name,
                            other.reason.c_str());
            else if (other.kind == Result::Kind::kPassed)
                ++variant_cases[operator_of(path)];
        }
        if (result.kind == Result::Kind::kPassed) {
            ++counts.passed;
        } else if (result.kind == Result::Kind::kFailed) {
            ++counts.failed;
            std::printf("FAIL %s: %s\n", name.c_str(), result.reason.c_str());
        } else {
            ++counts.skipped;
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
    for (const std::string& skip : promised_skips)
        std::printf("skip, promised operator: %s\n", skip.c_str());
    for (const std::string& skip : other_skips)
        std::printf("skip, other operator: %s\n", skip.c_str());
    std::printf("ONNX backend tests: %u passed, %u failed, %u skipped\n", total.passed,
                total.failed, total.skipped);
    bool good = total.failed == 0 && total.passed != 0;
    for (std::size_t v = 0; v < std::size(kVariants); ++v) {
        std::printf("the same on %s tensors: %u passed, %u failed\n", kVariants[v].name,
                    variant_counts[v].passed, variant_counts[v].failed);
        good = good && variant_counts[v].failed == 0 && variant_counts[v].passed != 0;
    }
    for (const std::string& type : kPromised) {
        if (!variant_cases.contains(type) && !kNoVariant.contains(type) &&
            !kNoRealNumbers.contains(type) && find(type) != nullptr)
            std::printf("no case of %s on such tensors\n", type.c_str());
    }
    std::printf("of the float cases, promised operators only: %u passed, %u failed, %u skipped\n",
                promised_counts.passed, promised_counts.failed, promised_counts.skipped);
    return good ? 0 : 1;
}
