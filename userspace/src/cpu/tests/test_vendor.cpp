// SPDX-License-Identifier: MIT
// What .rknn files ask of the operators: vendor names, int8 and float16 tensors, hostile input.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "cpu/convert.hpp"
#include "cpu/fp16.hpp"
#include "helpers.hpp"

using namespace rknpu::cpu;
using namespace rknpu::cpu::test;

TEST_CASE("vendor names find their ONNX operator", "[cpu][vendor]") {
    CHECK(find("exSoftmax13") == find("Softmax"));
    CHECK(find("exGelu") == find("Gelu"));
    CHECK(find("exSwish") == find("Swish"));
    CHECK(find("exMish") == find("Mish"));
    CHECK(find("exHardSwish") == find("HardSwish"));
    CHECK(find("exNorm") == find("LayerNormalization"));
    REQUIRE(find("exDataConvert") != nullptr);
    CHECK(find("exNothingLikeIt") == nullptr);
    CHECK(find("xSoftmax13") == nullptr);
}

TEST_CASE("fused layers of two tensors and an activation have both parts", "[cpu][vendor]") {
    for (const auto& [name, first, then] :
         {std::tuple("AddRelu", "Add", "Relu"), std::tuple("MulExSwish", "Mul", "Swish"),
          std::tuple("SubSigmoid", "Sub", "Sigmoid"), std::tuple("MatMulGelu", "MatMul", "Gelu")}) {
        const Fused fused = find_fused(name);
        CHECK(fused.op == find(first));
        CHECK(fused.activation == find(then));
    }
    // Their attributes are not known, or they are no such thing.
    for (const char* name :
         {"ConvRelu", "AddClip", "Add", "AddExAdd", "MulLeakyRelu", "AddReluRelu"})
        CHECK(find_fused(name).op == nullptr);
}

TEST_CASE("half floats and float32 meet where elements are only moved", "[cpu][vendor]") {
    const Tensor half =
        make<std::uint16_t>(DType::kF16, {2}, {fp32_to_fp16(1.5F), fp32_to_fp16(-2)});
    const Tensor full = floats({2}, {0.25F, 8});
    const TensorInfo wanted{DType::kF16, {4}, {}};
    Attributes axis;
    axis.set("axis", std::int64_t{0});
    const Tensor joined = result("Concat", axis, {&half, &full}, false, &wanted);
    const auto bits = joined.view().as<std::uint16_t>();
    CHECK(fp16_to_fp32(bits[0]) == 1.5F);
    CHECK(fp16_to_fp32(bits[3]) == 8.0F);
    const Tensor condition = make<std::uint8_t>(DType::kBool, {2}, {0, 1});
    const TensorInfo pair{DType::kF16, {2}, {}};
    const Tensor chosen = result("Where", {}, {&condition, &full, &half}, false, &pair);
    CHECK(fp16_to_fp32(chosen.view().as<std::uint16_t>()[0]) == 1.5F);
    CHECK(fp16_to_fp32(chosen.view().as<std::uint16_t>()[1]) == 8.0F);
    const Tensor codes = make<std::int8_t>(DType::kI8, {2}, {4, -6}, Quant{0.5F, 0});
    const Tensor mixed = result("Concat", axis, {&half, &codes}, false, &wanted);
    CHECK(fp16_to_fp32(mixed.view().as<std::uint16_t>()[2]) == 2.0F);
    CHECK(fp16_to_fp32(mixed.view().as<std::uint16_t>()[3]) == -3.0F);
}

TEST_CASE("Resize finds scales and sizes when absent inputs are left out", "[cpu][vendor]") {
    const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4});
    const Tensor scales = floats({4}, {1, 1, 2, 2});
    const Tensor sizes = ints({1, 1, 4, 4});
    const Tensor wanted = result("Resize", {}, {&x, nullptr, &scales});
    REQUIRE(wanted.info().dims == Dims{1, 1, 4, 4});
    for (const Tensor* what : {&scales, &sizes}) {
        const Tensor got = result("Resize", {}, {&x, what});
        REQUIRE(got.info().dims == wanted.info().dims);
        CHECK(std::ranges::equal(got.bytes(), wanted.bytes()));
    }
    // A region alone tells no size.
    const Tensor region = floats({8}, {0, 0, 0, 0, 1, 1, 1, 1});
    std::vector<Tensor> outputs;
    CHECK_FALSE(call("Resize", {}, {&x, &region}, outputs).ok());
}

TEST_CASE("GroupNormalization takes a number for each group or for each channel", "[cpu]") {
    std::mt19937 rng(8);
    for (int round = 0; round < 30; ++round) {
        const std::int64_t groups = 1 + rng() % 3;
        const std::int64_t each = 1 + rng() % 3;
        const std::int64_t channels = groups * each;
        const std::int64_t width = 1 + rng() % 9;
        const Tensor x = random_floats(rng, {2, channels, width});
        const Tensor scale = random_floats(rng, {channels});
        const Tensor bias = random_floats(rng, {channels});
        Attributes attributes;
        attributes.set("num_groups", groups);
        const Tensor y = result("GroupNormalization", attributes, {&x, &scale, &bias});
        // One group is a plane of its own for InstanceNormalization.
        const Tensor planes =
            make<float>(DType::kF32, {2, groups, each * width},
                        {x.view().as<float>().begin(), x.view().as<float>().end()});
        const Tensor ones = floats({groups}, std::vector<float>(groups, 1));
        const Tensor zeros = floats({groups}, std::vector<float>(groups, 0));
        const Tensor plain = result("InstanceNormalization", {}, {&planes, &ones, &zeros});
        for (std::int64_t i = 0; i < x.info().elements(); ++i) {
            const auto channel = static_cast<std::size_t>(i / width % channels);
            const float wanted = plain.view().as<float>()[i] * scale.view().as<float>()[channel] +
                                 bias.view().as<float>()[channel];
            CHECK(y.view().as<float>()[i] == Approx(wanted).margin(1e-5));
        }
        const Tensor of_groups = result("GroupNormalization", attributes, {&x, &ones, &zeros});
        for (std::int64_t i = 0; i < x.info().elements(); ++i)
            CHECK(of_groups.view().as<float>()[i] ==
                  Approx(plain.view().as<float>()[i]).margin(1e-5));
    }
}

TEST_CASE("RMSNormalization divides by the root of the mean square", "[cpu]") {
    const Tensor x = floats({2, 2}, {3, 4, -1, 1});
    const Tensor scale = floats({2}, {1, 2});
    Attributes attributes;
    attributes.set("epsilon", 0.0F);
    const Tensor y = result("RMSNormalization", attributes, {&x, &scale});
    const auto v = y.view().as<float>();
    CHECK(v[0] == Approx(3 / std::sqrt(12.5)));
    CHECK(v[1] == Approx(8 / std::sqrt(12.5)));
    CHECK(v[2] == Approx(-1));
    CHECK(v[3] == Approx(2));
}

TEST_CASE("bitwise operators work on integers alone", "[cpu]") {
    const Tensor a = make<std::int32_t>(DType::kI32, {3}, {0b1100, -1, 7});
    const Tensor b = make<std::int32_t>(DType::kI32, {1}, {0b1010});
    const auto first = [&](const char* type) {
        return result(type, {}, {&a, &b}).view().as<std::int32_t>()[0];
    };
    CHECK(first("BitwiseAnd") == 0b1000);
    CHECK(first("BitwiseOr") == 0b1110);
    CHECK(first("BitwiseXor") == 0b0110);
    CHECK(result("BitwiseNot", {}, {&a}).view().as<std::int32_t>()[1] == 0);
    const Tensor real = floats({1}, {1});
    std::vector<Tensor> outputs;
    CHECK_FALSE(call("BitwiseNot", {}, {&real}, outputs).ok());
}

TEST_CASE("exSoftmax13 normalises the last axis whatever the operator set", "[cpu][vendor]") {
    const Tensor x = floats({1, 2, 2}, {0, 0, 1, 1});
    const Tensor y = result("exSoftmax13", {}, {&x});
    for (float v : y.view().as<float>())
        CHECK(v == Approx(0.5F));
}

TEST_CASE("exDataConvert changes the form and keeps the values", "[cpu][vendor]") {
    const Tensor codes = make<std::int8_t>(DType::kI8, {4}, {-128, 0, 10, 127}, Quant{0.25F, -28});
    const TensorInfo half{DType::kF16, {4}, {}};
    const Tensor halves = result("exDataConvert", {}, {&codes}, false, &half);
    const auto bits = halves.view().as<std::uint16_t>();
    CHECK(fp16_to_fp32(bits[0]) == -25.0F);
    CHECK(fp16_to_fp32(bits[1]) == 7.0F);
    const TensorInfo back{DType::kI8, {4}, Quant{0.25F, -28}};
    const Tensor again = result("exDataConvert", {}, {&halves}, false, &back);
    CHECK(std::memcmp(again.bytes().data(), codes.bytes().data(), 4) == 0);
    // Another scale: values that do not fit saturate.
    const TensorInfo coarse{DType::kI8, {4}, Quant{0.125F, 0}};
    const Tensor other = result("exDataConvert", {}, {&codes}, false, &coarse);
    CHECK(other.view().as<std::int8_t>()[0] == -128);
    CHECK(other.view().as<std::int8_t>()[1] == 56);
}

TEST_CASE("int8 Softmax dequantises its input and gives float16", "[cpu][vendor]") {
    const Tensor x = make<std::int8_t>(DType::kI8, {1, 3}, {0, 10, 20}, Quant{0.1F, 10});
    const TensorInfo half{DType::kF16, {1, 3}, {}};
    const Tensor y = result("Softmax", {}, {&x}, false, &half);
    const double sum = std::exp(-1.0) + 1 + std::exp(1.0);
    for (int i = 0; i < 3; ++i)
        CHECK(fp16_to_fp32(y.view().as<std::uint16_t>()[i]) ==
              Approx(std::exp(i - 1.0) / sum).epsilon(1e-3));
}

TEST_CASE("ArgMax compares codes and requantised outputs are rounded once", "[cpu][vendor]") {
    const Tensor x = make<std::int8_t>(DType::kI8, {1, 2, 2}, {-5, 7, -4, 6}, Quant{0.05F, -1});
    Attributes attributes;
    attributes.set("axis", std::int64_t{1});
    const Tensor y = result("ArgMax", attributes, {&x});
    REQUIRE(y.info().dtype == DType::kI64);
    CHECK(y.view().as<std::int64_t>()[0] == 1);
    CHECK(y.view().as<std::int64_t>()[1] == 0);

    const Tensor a = make<std::int8_t>(DType::kI8, {2}, {4, 100}, Quant{0.5F, 0});
    const Tensor b = make<std::int8_t>(DType::kI8, {2}, {3, 100}, Quant{0.25F, 1});
    const TensorInfo wanted{DType::kI8, {2}, Quant{0.5F, -2}};
    const Tensor sum = result("Add", {}, {&a, &b}, false, &wanted);
    CHECK(sum.view().as<std::int8_t>()[0] == 3);  // 2.0 + 0.5 = 2.5 -> 5 - 2
    CHECK(sum.view().as<std::int8_t>()[1] == 127);
}

TEST_CASE("Concat of differently quantised tensors meets the output's scale", "[cpu][vendor]") {
    const Tensor a = make<std::int8_t>(DType::kI8, {1, 2}, {2, 4}, Quant{0.5F, 0});
    const Tensor b = make<std::int8_t>(DType::kI8, {1, 1}, {9}, Quant{1.0F, 1});
    Attributes attributes;
    attributes.set("axis", std::int64_t{1});
    const TensorInfo wanted{DType::kI8, {1, 3}, Quant{1.0F, 0}};
    const Tensor y = result("Concat", attributes, {&a, &b}, false, &wanted);
    CHECK(y.view().as<std::int8_t>()[0] == 1);
    CHECK(y.view().as<std::int8_t>()[1] == 2);
    CHECK(y.view().as<std::int8_t>()[2] == 8);
}

TEST_CASE("float16 tensors keep their type through shape inference", "[cpu][vendor]") {
    const Tensor x = make<std::uint16_t>(DType::kF16, {2}, {fp32_to_fp16(1.5F), fp32_to_fp16(-2)});
    const Tensor y = result("Add", {}, {&x, &x});
    REQUIRE(y.info().dtype == DType::kF16);
    CHECK(fp16_to_fp32(y.view().as<std::uint16_t>()[0]) == 3.0F);
    CHECK(fp16_to_fp32(y.view().as<std::uint16_t>()[1]) == -4.0F);
}

TEST_CASE("misaligned tensors are read and written", "[cpu][vendor]") {
    alignas(8) std::byte memory[64];
    const float values[] = {1, 2, 3};
    std::memcpy(memory + 1, values, sizeof(values));
    const TensorView x{{DType::kF32, {3}, {}}, {memory + 1, sizeof(values)}};
    MutTensorView y{{DType::kF32, {3}, {}}, {memory + 33, sizeof(values)}};
    Attributes attributes;
    OpContext context;
    context.type = "Neg";
    context.attributes = &attributes;
    context.inputs = {&x, 1};
    context.outputs = {&y, 1};
    REQUIRE(run_op("Neg", context).ok());
    float got[3];
    std::memcpy(got, memory + 33, sizeof(got));
    CHECK(got[2] == -3.0F);
}

namespace {

/// The operator on codes or half floats against the operator on float32 tensors of the same values,
/// rounded once. The ONNX cases have no float32 tensors for these operators.
void check_variants(std::string_view type, const Attributes& attributes,
                    const std::vector<const Tensor*>& reals, std::size_t parameters = 0) {
    for (const DType dtype : {DType::kI8, DType::kU8, DType::kI16, DType::kF16}) {
        std::vector<Tensor> kept(2 * reals.size());
        std::vector<const Tensor*> codes;
        std::vector<const Tensor*> widened;
        for (std::size_t i = 0; i < reals.size(); ++i) {
            if (i + parameters >= reals.size()) {
                codes.push_back(reals[i]);
                widened.push_back(reals[i]);
                continue;
            }
            TensorInfo info{dtype, reals[i]->info().dims, {}};
            if (dtype != DType::kF16)
                info.quant =
                    Quant{dtype == DType::kI16 ? 1e-4F : 0.02F, dtype == DType::kU8 ? 128 : 0};
            REQUIRE(Tensor::create(info, kept[2 * i]).ok());
            REQUIRE(convert(reals[i]->view(), kept[2 * i].mut_view()).ok());
            REQUIRE(Tensor::create(reals[i]->info(), kept[2 * i + 1]).ok());
            REQUIRE(convert(kept[2 * i].view(), kept[2 * i + 1].mut_view()).ok());
            codes.push_back(&kept[2 * i]);
            widened.push_back(&kept[2 * i + 1]);
        }
        const Tensor oracle = result(type, attributes, widened, true);
        TensorInfo info = oracle.info();
        if (info.dtype == DType::kF32) {
            info.dtype = dtype;
            if (dtype != DType::kF16)
                info.quant =
                    Quant{dtype == DType::kI16 ? 1e-3F : 0.1F, dtype == DType::kU8 ? 100 : 3};
        }
        Tensor wanted;
        REQUIRE(Tensor::create(info, wanted).ok());
        REQUIRE(convert(oracle.view(), wanted.mut_view()).ok());
        for (const bool reference : {false, true}) {
            const Tensor got = result(type, attributes, codes, reference, &info);
            INFO(type << " on " << dtype_name(dtype));
            REQUIRE(std::ranges::equal(got.bytes(), wanted.bytes()));
        }
    }
}

}  // namespace

TEST_CASE("operators without such ONNX cases on codes and half floats", "[cpu][variants]") {
    std::mt19937 rng(12);
    for (int round = 0; round < 25; ++round) {
        const auto size = [&] { return static_cast<std::int64_t>(1 + rng() % 6); };
        const Dims dims{size(), size(), size()};
        const Tensor x = random_floats(rng, dims);
        const Tensor y = random_floats(rng, dims);
        for (const char* type : {"Mish", "Gelu", "Swish", "HardSwish"})
            check_variants(type, {}, {&x});
        Attributes tanh_form;
        tanh_form.set("approximate", std::string("tanh"));
        check_variants("Gelu", tanh_form, {&x});
        check_variants("Equal", {}, {&x, &y});
        check_variants("Equal", {}, {&x, &x});
        const Tensor axis =
            make<std::int64_t>(DType::kI64, {}, {static_cast<std::int64_t>(rng() % 3)});
        check_variants("CumSum", {}, {&x, &axis}, 1);
        Attributes equation;
        equation.set("equation", std::string("abc,abc->ac"));
        check_variants("Einsum", equation, {&x, &y});
    }
}

TEST_CASE("errors name the operator and the reason", "[cpu][errors]") {
    const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
    std::vector<Tensor> outputs;
    const auto text = [&](std::string_view type, const Attributes& a,
                          const std::vector<const Tensor*>& inputs) {
        const Status status = call(type, a, inputs, outputs);
        CHECK_FALSE(status.ok());
        CHECK(status.text().find(type) == 0);
        return status.text();
    };
    Attributes axis;
    axis.set("axis", std::int64_t{5});
    CHECK(text("Softmax", axis, {&x}).find("axis 5") != std::string::npos);
    Attributes wrong;
    wrong.set("axis", std::string("one"));
    CHECK(text("Softmax", wrong, {&x}).find("'axis' is not an integer") != std::string::npos);
    const Tensor other = floats({4}, {1, 2, 3, 4});
    CHECK(text("Add", {}, {&x, &other}).find("broadcast") != std::string::npos);
    CHECK(text("Add", {}, {&x}).find("inputs") != std::string::npos);
    const Tensor index = ints({7});
    CHECK(text("Gather", {}, {&x, &index}).find("index 7") != std::string::npos);
    const Tensor huge = ints({1 << 30, 1 << 30});
    CHECK(text("Expand", {}, {&x, &huge}).find("broadcast") != std::string::npos);
    const Tensor one = floats({1}, {1});
    CHECK(text("Expand", {}, {&one, &huge}).find("more than") != std::string::npos);
    const Tensor negative = ints({-5, 1});
    CHECK(text("Reshape", {}, {&x, &negative}).find("-5") != std::string::npos);
    const Tensor bad_quant = make<std::int8_t>(DType::kI8, {1}, {1}, Quant{0.0F, 0});
    CHECK(text("Exp", {}, {&bad_quant}).find("scale") != std::string::npos);
}

TEST_CASE("a shape that depends on unknown contents is reported as such", "[cpu][errors]") {
    const Tensor x = floats({4}, {1, 2, 3, 4});
    const TensorView inputs[] = {x.view(), {{DType::kI64, {2}, {}}, {}}};
    Attributes attributes;
    OpContext context;
    context.type = "Reshape";
    context.attributes = &attributes;
    context.inputs = inputs;
    std::vector<TensorInfo> infos;
    CHECK(infer(*find("Reshape"), context, infos).code() == StatusCode::kNeedsData);
    CHECK(infos.empty());
}

namespace {

/// Names that occur as attributes of any operator, to be filled with nonsense.
constexpr const char* kNames[] = {
    "axis",     "axes",        "keepdims",     "perm",           "pads",
    "strides",  "dilations",   "kernel_shape", "group",          "auto_pad",
    "mode",     "blocksize",   "to",           "dtype",          "k",
    "equation", "hidden_size", "direction",    "starts",         "ends",
    "split",    "epsilon",     "output_shape", "output_padding", "size",
    "p",        "ceil_mode",   "batch_dims",   "num_outputs",    "alpha",
    "scales",   "activations", "output_width", "layout",         "sampling_ratio",
    "axes"};

std::int64_t nasty(std::mt19937& rng) {
    constexpr std::int64_t kValues[] = {0,
                                        1,
                                        -1,
                                        2,
                                        3,
                                        4,
                                        16,
                                        100,
                                        -100,
                                        std::int64_t{1} << 31,
                                        -(std::int64_t{1} << 31),
                                        std::numeric_limits<std::int64_t>::max(),
                                        std::numeric_limits<std::int64_t>::min()};
    return kValues[rng() % std::size(kValues)];
}

void nonsense_attributes(std::mt19937& rng, Attributes& attributes) {
    for (unsigned i = rng() % 4; i > 0; --i) {
        const char* name = kNames[rng() % std::size(kNames)];
        switch (rng() % 4) {
            case 0:
                attributes.set(name, nasty(rng));
                break;
            case 1: {
                std::vector<std::int64_t> list(rng() % 7);
                for (std::int64_t& v : list)
                    v = nasty(rng);
                attributes.set(name, list);
                break;
            }
            case 2:
                attributes.set(name, static_cast<float>(nasty(rng)));
                break;
            default: {
                const char* words[] = {"constant", "linear", "SAME_UPPER", "ij,jk->ik",
                                       "CRD",      "cubic",  "reverse",    "ii->i"};
                attributes.set(name, std::string(words[rng() % std::size(words)]));
            }
        }
    }
}

Tensor nonsense_tensor(std::mt19937& rng) {
    constexpr DType kTypes[] = {DType::kF32, DType::kF32, DType::kF32,  DType::kI64, DType::kI32,
                                DType::kI8,  DType::kF16, DType::kBool, DType::kU8};
    const DType type = kTypes[rng() % std::size(kTypes)];
    Dims dims;
    for (unsigned i = rng() % 5; i > 0; --i)
        (void)dims.push_back(static_cast<std::int64_t>(rng() % 5));
    Tensor t = random_codes(
        rng, type, dims,
        type == DType::kI8 && rng() % 2 ? std::optional(Quant{0.1F, 5}) : std::nullopt);
    if (type == DType::kI64 && rng() % 4) {  // small numbers get further than random ones
        for (std::size_t i = 0; i < t.bytes().size() / 8; ++i) {
            const std::int64_t v = static_cast<std::int64_t>(rng() % 6) - 1;
            std::memcpy(t.bytes().data() + 8 * i, &v, sizeof(v));
        }
    }
    return t;
}

}  // namespace

TEST_CASE("no operator crashes on nonsense", "[cpu][hostile]") {
    std::mt19937 rng(7);
    std::size_t succeeded = 0;
    std::size_t refused = 0;
    for (std::string_view type : operator_types()) {
        const Operator* op = find(type);
        for (int round = 0; round < 150; ++round) {
            Attributes attributes;
            nonsense_attributes(rng, attributes);
            std::vector<Tensor> tensors;
            const std::size_t most = std::min<std::size_t>(op->max_inputs, op->min_inputs + 3);
            const std::size_t count = op->min_inputs + rng() % (most - op->min_inputs + 1);
            for (std::size_t i = 0; i < count; ++i)
                tensors.push_back(nonsense_tensor(rng));
            std::vector<TensorView> views;
            for (const Tensor& t : tensors)
                views.push_back(t.view());
            OpContext context;
            context.type = type;
            context.attributes = &attributes;
            context.inputs = views;
            context.opset = static_cast<int>(rng() % 20) + 1;
            context.reference = rng() % 2 == 0;
            context.output_count = 1 + rng() % std::min<std::size_t>(op->max_outputs, 3);
            std::vector<TensorInfo> infos;
            Status status = infer(*op, context, infos);
            // Results of some megabytes prove nothing that smaller ones do not.
            bool small = status.ok();
            for (const TensorInfo& info : infos)
                small = small && info.elements() < 1 << 16;
            if (!small) {
                ++refused;
                continue;
            }
            std::vector<Tensor> outputs(infos.size());
            std::vector<MutTensorView> targets;
            for (std::size_t i = 0; i < infos.size(); ++i) {
                REQUIRE(Tensor::create(infos[i], outputs[i]).ok());
                targets.push_back(outputs[i].mut_view());
            }
            context.outputs = targets;
            status = run(*op, context);
            if (!status.ok() && status.text().find(type) != 0)
                FAIL("message without the operator's name: " << status.text());
            ++(status.ok() ? succeeded : refused);
        }
    }
    INFO(succeeded << " ran, " << refused << " refused");
    CHECK(succeeded > 500);
    CHECK(refused > 500);
}
