// SPDX-License-Identifier: MIT
// Files with several sets of input shapes, slaves that borrow weights, and inputs and outputs of
// different types and ranks.
#include <rknn_custom_op.h>

#include <cmath>
#include <span>

#include "model/graph.hpp"
#include "support/networks.hpp"
#include "support/test_device.hpp"

using namespace rknpu;        // NOLINT: tests
using namespace rknpu::test;  // NOLINT

namespace {

using Codes = std::vector<int8_t>;

const std::vector<Size> kSizes = {{8, 8}, {24, 16}, {16, 8}};
constexpr size_t kLargest = 1;

/// One file with all of kSizes.
std::vector<std::byte> dynamic_network(const std::function<void(schema::ModelT&)>& more = {}) {
    return rknpu::test::dynamic_network(kSizes, more);
}

std::vector<std::byte> pixels_of(Size size) {
    return noise(size_t{3} * size.first * size.second, size.first + size.second);
}

rknn_tensor_attr shape_of(Size size) {
    rknn_tensor_attr attr{};
    attr.n_dims = 4;
    attr.fmt = RKNN_TENSOR_NHWC;
    const uint32_t dims[] = {1, size.first, size.second, 3};
    std::copy(std::begin(dims), std::end(dims), attr.dims);
    return attr;
}

int choose(const Net& net, Size size) {
    auto attr = shape_of(size);
    return rknn_set_input_shapes(net.handle, 1, &attr);
}

Codes answer(const Net& net, Size size) {
    const auto pixels = pixels_of(size);
    REQUIRE(net.set(pixels.data(), pixels.size(), RKNN_TENSOR_UINT8) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    return net.result<int8_t>(false);
}

Codes expected(Size size) {
    return answer(Net(network(size)), size);
}

int copy_codes(rknn_custom_op_context*, rknn_custom_op_tensor* in, uint32_t,
               rknn_custom_op_tensor* out, uint32_t) {
    std::memcpy(out[0].mem.virt_addr, in[0].mem.virt_addr, in[0].attr.size);
    return 0;
}
int inits = 0;
int count_init(rknn_custom_op_context*, rknn_custom_op_tensor*, uint32_t, rknn_custom_op_tensor*,
               uint32_t) {
    ++inits;
    return 0;
}

}  // namespace

TEST_CASE("D1 D6 every shape of a file gives what a file of that shape alone gives",
          "[shapes][D1][D6]") {
    const Net net(dynamic_network());
    REQUIRE(net.code == RKNN_SUCC);
    CHECK(answer(net, kSizes[kLargest]) == expected(kSizes[kLargest]));
    for (const size_t i : {0u, 1u, 2u, 0u, 2u}) {
        REQUIRE(choose(net, kSizes[i]) == RKNN_SUCC);
        for (const uint32_t mask : {0u, 7u}) {
            REQUIRE(rknn_set_core_mask(net.handle, static_cast<rknn_core_mask>(mask)) == 0);
            CHECK(answer(net, kSizes[i]) == expected(kSizes[i]));
        }
        // Chosen again it stays as it is.
        REQUIRE(choose(net, kSizes[i]) == RKNN_SUCC);
        CHECK(net.result<int8_t>(false) == expected(kSizes[i]));
    }
}

TEST_CASE("D3 D4 D5 D7 what a model of several shapes says about them", "[shapes][D4][D5][D7]") {
    const Net net(dynamic_network());
    rknn_input_range range{};
    REQUIRE(rknn_query(net.handle, RKNN_QUERY_INPUT_DYNAMIC_RANGE, &range, sizeof(range)) == 0);
    CHECK(range.shape_number == kSizes.size());
    CHECK(range.fmt == RKNN_TENSOR_NHWC);
    CHECK(range.n_dims == 4);
    CHECK(std::string(range.name) == "in");
    for (size_t i = 0; i < kSizes.size(); ++i) {
        const auto attr = shape_of(kSizes[i]);
        CHECK(std::equal(attr.dims, attr.dims + 4, range.dyn_range[i]));
    }
    CHECK(net.attr(RKNN_QUERY_INPUT_ATTR).dims[1] == kSizes[kLargest].first);
    rknn_tensor_attr attr{};
    CHECK(rknn_query(net.handle, RKNN_QUERY_CURRENT_INPUT_ATTR, &attr, sizeof(attr)) ==
          RKNN_ERR_PARAM_INVALID);
    REQUIRE(choose(net, kSizes[2]) == RKNN_SUCC);
    attr = net.attr(RKNN_QUERY_CURRENT_INPUT_ATTR);
    CHECK(attr.fmt == RKNN_TENSOR_NHWC);
    CHECK(attr.dims[1] == kSizes[2].first);
    CHECK(attr.dims[2] == kSizes[2].second);
    for (const auto query :
         {RKNN_QUERY_CURRENT_NATIVE_INPUT_ATTR, RKNN_QUERY_CURRENT_NATIVE_OUTPUT_ATTR}) {
        attr = net.attr(query);
        CHECK(attr.fmt == RKNN_TENSOR_NC1HWC2);
        CHECK(attr.dims[2] == kSizes[2].first);
        CHECK(attr.dims[3] == kSizes[2].second);
    }
}

TEST_CASE("D2 a shape that the model does not have is refused with those it has", "[shapes][D2]") {
    const Net net(dynamic_network());
    REQUIRE(choose(net, kSizes[0]) == RKNN_SUCC);
    Capture capture(LogLevel::kError);
    CHECK(choose(net, {8, 16}) == RKNN_ERR_FAIL);
    auto planes = shape_of(kSizes[2]);
    planes.fmt = RKNN_TENSOR_NCHW;
    CHECK(rknn_set_input_shapes(net.handle, 1, &planes) == RKNN_ERR_FAIL);
    const auto text = capture.text();
    CHECK_THAT(text, Catch::Contains("[1,8,16,3] NHWC") && Catch::Contains("[1,16,8,3] NCHW") &&
                         Catch::Contains("NHWC: [1,8,8,3]; [1,24,16,3]; [1,16,8,3]"));
    CHECK(lines(text) == 2);
    CHECK(answer(net, kSizes[0]) == expected(kSizes[0]));
}

TEST_CASE("D6 D8 bound buffers: again after a change, larger than needed", "[shapes][D6][D8]") {
    Net net(dynamic_network());
    const auto largest = net.attr(RKNN_QUERY_INPUT_ATTR);
    auto* in = net.memory(largest.size_with_stride);
    auto* out = net.memory(net.attr(RKNN_QUERY_OUTPUT_ATTR).size);
    for (const auto& size : {kSizes[2], kSizes[1], kSizes[2]}) {
        REQUIRE(choose(net, size) == RKNN_SUCC);
        CHECK(net.run() != RKNN_SUCC);  // nothing is bound for this shape
        auto input = net.attr(RKNN_QUERY_CURRENT_INPUT_ATTR);
        auto output = net.attr(RKNN_QUERY_OUTPUT_ATTR);
        input.type = RKNN_TENSOR_UINT8;
        REQUIRE(rknn_set_io_mem(net.handle, in, &input) == RKNN_SUCC);
        REQUIRE(rknn_set_io_mem(net.handle, out, &output) == RKNN_SUCC);
        const auto pixels = pixels_of(size);
        const uint32_t row = 3 * size.second;
        for (uint32_t y = 0; y < size.first; ++y)
            std::memcpy(static_cast<std::byte*>(in->virt_addr) + y * 3 * input.w_stride,
                        pixels.data() + y * row, row);
        REQUIRE(net.run() == RKNN_SUCC);
        const auto want = expected(size);
        CHECK(std::memcmp(out->virt_addr, want.data(), want.size()) == 0);
    }
}

TEST_CASE("D9 T6 memory from outside holds every shape, no duplicates, no shared weights",
          "[shapes][D9][T6]") {
    Net net(dynamic_network(), RKNN_FLAG_INTERNAL_ALLOC_OUTSIDE);
    const auto need = net.sizes().total_internal_size;
    REQUIRE(need >= Net(network(kSizes[kLargest])).sizes().total_internal_size);
    CHECK(rknn_set_internal_mem(net.handle, net.memory(need / 2)) == RKNN_ERR_PARAM_INVALID);
    REQUIRE(rknn_set_internal_mem(net.handle, net.memory(need)) == RKNN_SUCC);
    for (const auto& size : kSizes) {
        REQUIRE(choose(net, size) == RKNN_SUCC);
        CHECK(answer(net, size) == expected(size));
    }
    rknn_context from = net.handle;
    rknn_context copy = 0;
    CHECK(rknn_dup_context(&from, &copy) == RKNN_ERR_MODEL_INVALID);
    CHECK(copy == 0);
    rknn_init_extend extend{};
    extend.ctx = net.handle;
    CHECK(Net(dynamic_network(), RKNN_FLAG_SHARE_WEIGHT_MEM, &extend).code ==
          RKNN_ERR_MODEL_INVALID);
}

TEST_CASE("D10 weights are there once, and shapes that were used cost nothing again",
          "[shapes][D10]") {
    const Placed placed;
    const Net net(dynamic_network());
    // Layers of the same weights: the buffer is hardly larger than that of one shape.
    CHECK(net.sizes().total_weight_size <
          Net(network(kSizes[0])).sizes().total_weight_size * 3 / 2);
    for (const auto& size : kSizes) {
        REQUIRE(choose(net, size) == RKNN_SUCC);
        CHECK(answer(net, size) == expected(size));
    }
    const auto before = placed.device->counters().live_bytes;
    for (const auto& size : kSizes)
        REQUIRE(choose(net, size) == RKNN_SUCC);
    CHECK(placed.device->counters().live_bytes == before);
}

TEST_CASE("O1 operators registered once serve every shape", "[shapes][O1]") {
    inits = 0;
    const Net net(edit_model(
        [] {
            auto one = edit_model(network(kSizes[0]),
                                  [](schema::ModelT& m) { append_cpu_node(m, "cstCopy"); });
            const auto two = edit_model(network(kSizes[2]),
                                        [](schema::ModelT& m) { append_cpu_node(m, "cstCopy"); });
            return edit_model(one, [&](schema::ModelT& m) { add_shape(m, two); });
        }(),
        [](schema::ModelT&) {}));
    REQUIRE(net.code == RKNN_SUCC);
    rknn_custom_op op{};
    op.target = RKNN_TARGET_TYPE_CPU;
    std::snprintf(op.op_type, sizeof(op.op_type), "cstCopy");
    op.init = count_init;
    op.compute = copy_codes;
    REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
    for (const auto& size : {kSizes[0], kSizes[2], kSizes[0]}) {
        REQUIRE(choose(net, size) == RKNN_SUCC);
        CHECK(answer(net, size) == expected(size));
    }
    CHECK(inits == 2);  // once for each node
}

TEST_CASE("D1 shapes whose inputs or outputs differ in more than dims are refused",
          "[shapes][D1]") {
    const std::pair<const char*, std::function<void(schema::ModelT&)>> cases[] = {
        {"another name",
         [](schema::ModelT& m) {
             auto& graph = *m.graphs.back();
             for (auto& list : graph.relocations)
                 list->tensor = list->tensor == "in" ? "other" : list->tensor;
             graph.tensors[static_cast<size_t>(graph.inputs.front())]->name = "other";
         }},
        {"one output less",
         [](schema::ModelT& m) {
             m.graphs.back()->outputs.push_back(m.graphs.back()->outputs.front());
         }},
    };
    for (const auto& [what, edit] : cases) {
        INFO(what);
        CHECK(Net(dynamic_network(edit)).code == RKNN_ERR_MODEL_INVALID);
    }
}

TEST_CASE("W1 W2 a slave without weights computes with those of its master", "[shapes][W1][W2]") {
    const auto size = kSizes[2];
    // Weights of convolutions go, all other constants stay, as the toolkit leaves them.
    const auto slave_file = edit_model(network(size), [](schema::ModelT& model) {
        size_t gone = 0;
        for (auto& tensor : model.graphs.front()->tensors) {
            if (tensor->kind == 4 && tensor->dims.size() == 4) {
                tensor->buffer = 0;
                ++gone;
            }
        }
        REQUIRE(gone == 2);
    });
    Capture capture(LogLevel::kError);
    CHECK(Net(slave_file).code == RKNN_ERR_MODEL_INVALID);
    CHECK_THAT(capture.text(), Catch::Contains("RKNN_FLAG_SHARE_WEIGHT_MEM"));

    // The master is for pictures of another size and has another last layer's bias.
    const Net master(network(kSizes[0]));
    rknn_init_extend extend{};
    extend.ctx = master.handle;
    const Net slave(slave_file, RKNN_FLAG_SHARE_WEIGHT_MEM, &extend);
    REQUIRE(slave.code == RKNN_SUCC);
    CHECK(answer(slave, size) == expected(size));
    CHECK(answer(master, kSizes[0]) == expected(kSizes[0]));

    const Net stranger(digits_file());
    extend.ctx = stranger.handle;
    CHECK(Net(slave_file, RKNN_FLAG_SHARE_WEIGHT_MEM, &extend).code == RKNN_ERR_MODEL_INVALID);
}

TEST_CASE("W1 constants that only the slave has are its own", "[shapes][W1]") {
    const auto size = kSizes[2];
    const auto with_other_names = edit_model(network(size), [](schema::ModelT& model) {
        auto& graph = *model.graphs.front();
        // Everything but the first layer's weights is called otherwise than in the master.
        bool first = true;
        for (auto& tensor : graph.tensors) {
            if (tensor->kind != 4)
                continue;
            if (std::exchange(first, false))
                continue;
            for (auto& list : graph.relocations)
                list->tensor += list->tensor == tensor->name ? "_own" : "";
            tensor->name += "_own";
        }
    });
    const Net master(network(kSizes[0]));
    rknn_init_extend extend{};
    extend.ctx = master.handle;
    const Net slave(with_other_names, RKNN_FLAG_SHARE_WEIGHT_MEM, &extend);
    REQUIRE(slave.code == RKNN_SUCC);
    CHECK(answer(slave, size) == expected(size));
    rknn_context from = slave.handle;
    rknn_context copy = 0;
    REQUIRE(rknn_dup_context(&from, &copy) == RKNN_SUCC);
    CHECK(answer(Net(copy), size) == expected(size));
}

TEST_CASE("L2 what the lists of a file name are its inputs and outputs", "[shapes][L2]") {
    const auto kinds = [](uint8_t from, uint8_t to) {
        return edit_model(network(kSizes[0]), [=](schema::ModelT& model) {
            for (auto& tensor : model.graphs.front()->tensors)
                tensor->kind = tensor->kind == from ? to : tensor->kind;
        });
    };
    const auto kind = [](TensorKind value) { return static_cast<uint8_t>(value); };
    Capture capture(LogLevel::kError);
    for (const auto end : {TensorKind::kInput, TensorKind::kOutput}) {
        CHECK(Net(kinds(kind(end), kind(TensorKind::kInternal))).code == RKNN_ERR_MODEL_INVALID);
        CHECK_THAT(capture.text(), Catch::Contains("is listed as input or output, but is none"));
    }
    // Nobody would bind what is no input or output of the model: it stays inside.
    CHECK(Net(kinds(kind(TensorKind::kInternal), kind(TensorKind::kOutput))).code == RKNN_SUCC);
}

TEST_CASE("G3 G9 inputs and outputs of different types and ranks in one model",
          "[shapes][G3][G9]") {
    // Casts keep their values; int8 has scale 0.5 and zero point 0.
    FileModel model;
    model.tensors = {{"half", FileType::kHalf, {2, 3}},
                     {"long", FileType::kInt64, {4}},
                     {"code", FileType::kInt8, {1, 2, 2}, {}, 0.5f, 0},
                     {"flag", FileType::kBool, {5}},
                     {"half_out", FileType::kFloat, {2, 3}},
                     {"long_out", FileType::kInt64, {2, 2}},
                     {"code_out", FileType::kFloat, {1, 2, 2}},
                     {"flag_out", FileType::kBool, {5}},
                     {"five", FileType::kFloat, {1, 1, 2, 1, 2}}};
    model.nodes = {{"Cast", "a", {0}, {4}, {{"to", int64_t{1}}}},
                   {"Reshape", "b", {1}, {5}},
                   {"Cast", "c", {2}, {6}, {{"to", int64_t{1}}}},
                   {"Not", "d", {3}, {7}},
                   {"Reshape", "e", {6}, {8}}};
    model.inputs = {0, 1, 2, 3};
    model.outputs = {4, 5, 7, 8};
    const Net net(model);
    REQUIRE(net.code == RKNN_SUCC);
    CHECK(net.attr(RKNN_QUERY_OUTPUT_ATTR, 3).n_dims == 5);
    for (uint32_t i = 0; i < 4; ++i)
        CHECK(net.attr(RKNN_QUERY_INPUT_ATTR, i).fmt == RKNN_TENSOR_UNDEFINED);
    std::vector<float> half{-1, 0.5f, 2, 3, -4, 8};
    std::vector<int64_t> numbers{1, -2, int64_t{1} << 40, 4};
    std::vector<float> codes{0.5f, -1, 2, 3.5f};
    std::vector<uint8_t> flags{0, 1, 1, 0, 1};
    const auto fmt = RKNN_TENSOR_UNDEFINED;
    rknn_input inputs[] = {{0, half.data(), 24, 0, RKNN_TENSOR_FLOAT32, fmt},
                           {1, numbers.data(), 32, 0, RKNN_TENSOR_INT64, fmt},
                           {2, codes.data(), 16, 0, RKNN_TENSOR_FLOAT32, fmt},
                           {3, flags.data(), 5, 0, RKNN_TENSOR_BOOL, fmt}};
    REQUIRE(rknn_inputs_set(net.handle, 4, inputs) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(net.result<float>(true, 0) == half);
    CHECK(net.result<int64_t>(false, 1) == numbers);
    CHECK(net.result<uint8_t>(false, 2) == std::vector<uint8_t>{1, 0, 0, 1, 0});
    CHECK(net.result<float>(true, 3) == codes);
    inputs[1].type = RKNN_TENSOR_FLOAT32;
    CHECK(rknn_inputs_set(net.handle, 4, inputs) == RKNN_ERR_INPUT_INVALID);
}

TEST_CASE("layers with a fused activation run on the CPU", "[kinds]") {
    FileModel model;
    model.tensors = {{"a", FileType::kFloat, {1, 4}},
                     {"b", FileType::kFloat, {1, 4}},
                     {"y", FileType::kFloat, {1, 4}},
                     {"code", FileType::kInt8, {1, 4}, {}, 0.5f, 1}};
    model.nodes = {{"AddRelu", "sum", {0, 1}, {2}}, {"SubExSwish", "difference", {0, 1}, {3}}};
    model.inputs = {0, 1};
    model.outputs = {2, 3};
    const Net net(model);
    REQUIRE(net.code == RKNN_SUCC);
    std::vector<float> a{1, -2, 3, -8};
    std::vector<float> b{1, 1, -4, -4};
    const auto fmt = RKNN_TENSOR_UNDEFINED;
    rknn_input inputs[] = {{0, a.data(), 16, 0, RKNN_TENSOR_FLOAT32, fmt},
                           {1, b.data(), 16, 0, RKNN_TENSOR_FLOAT32, fmt}};
    REQUIRE(rknn_inputs_set(net.handle, 2, inputs) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(net.result<float>(true, 0) == std::vector<float>{2, 0, 0, 0});
    const auto codes = net.result<int8_t>(false, 1);
    for (size_t i = 0; i < a.size(); ++i) {
        const double x = a[i] - b[i];
        CHECK(codes[i] == static_cast<int>(std::nearbyint(x / (1 + std::exp(-x)) / 0.5)) + 1);
    }
}

TEST_CASE("a layer on the CPU may lack an optional input in front of others", "[kinds]") {
    const std::vector<float> most{2.5f};
    FileModel model;
    model.tensors = {
        {"x", FileType::kFloat, {4}}, {"y", FileType::kFloat, {4}}, {"most", FileType::kFloat, {}}};
    const auto bytes = std::as_bytes(std::span(most));
    model.tensors[2].data = {bytes.begin(), bytes.end()};
    model.inputs = {0};
    model.outputs = {1};
    model.nodes = {{"Clip", "bounded", {0, -1, 2}, {1}}};
    const Net net(model);
    REQUIRE(net.code == RKNN_SUCC);
    std::vector<float> x{-9, 0, 2, 7};
    rknn_input input{0, x.data(), 16, 0, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_UNDEFINED};
    REQUIRE(rknn_inputs_set(net.handle, 1, &input) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(net.result<float>(true) == std::vector<float>{-9, 0, 2, 2.5f});
}

TEST_CASE("what is not optional must be there", "[kinds]") {
    FileModel model = one_node("Clip", {"", FileType::kFloat, {4}});
    Capture capture(LogLevel::kError);
    {
        model.nodes[0].inputs = {-1, 0};
        const Net net(model);
        REQUIRE(net.code == RKNN_SUCC);
        const std::vector<float> x{-9, 0, 2, 7};
        REQUIRE(net.set(x.data(), 16, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_UNDEFINED) == RKNN_SUCC);
        CHECK(net.run() == RKNN_ERR_FAIL);
    }
    model.nodes[0].inputs = {0, -2};
    CHECK(Net(model).code == RKNN_ERR_MODEL_INVALID);
    model.nodes[0].inputs = {0};
    model.nodes[0].outputs = {-1};
    CHECK(Net(model).code == RKNN_ERR_MODEL_INVALID);
    // Layers on the NPU have no optional inputs.
    const auto layer = edit_model(network(kSizes[0]), [](schema::ModelT& file) {
        for (auto& node : file.graphs.front()->nodes) {
            if (node->engine == 2)
                return node->inputs.push_back(-1);
        }
        FAIL("no layer on the NPU");
    });
    CHECK(Net(layer).code == RKNN_ERR_MODEL_INVALID);
    const auto text = capture.text();
    for (const char* part : {"uses tensor -2 of", "uses tensor -1 of"})
        CHECK_THAT(text, Catch::Contains(part));
}

TEST_CASE("work space of the original runtime is checked where a layer writes it", "[kinds]") {
    constexpr int32_t kCount = 4096;
    FileModel model = one_node("Relu", {"", FileType::kFloat, {1, kCount, 1, 1}});
    // Native dims of sixteen elements.
    model.tensors.push_back(
        {"relu_exSecondary", FileType::kFloat, {1, kCount, 1, 1}, {1, 1, 1, 1, 16}});
    const auto with = [&](const std::vector<int32_t>& inputs, int32_t output) {
        auto other = model;
        other.nodes = {{"Relu", "before", {0}, {1}}, {"Relu", "after", inputs, {output}}};
        return other;
    };
    // Nobody reads it: what it says does not matter there.
    CHECK(Net(with({0, 2}, 1)).code == RKNN_SUCC);
    Capture capture(LogLevel::kError);
    CHECK(Net(with({0}, 2)).code == RKNN_ERR_MODEL_INVALID);
    CHECK_THAT(capture.text(), Catch::Contains("of tensor 'relu_exSecondary' do not hold its"));
    model.tensors.back().native = {1, kCount / 16, 1, 1, 16};
    const Net net(with({0}, 2));
    REQUIRE(net.code == RKNN_SUCC);
    std::vector<float> x(kCount, -1);
    x.back() = 3;
    REQUIRE(net.set(x.data(), kCount * 4, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_NCHW) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(net.result<float>(true).back() == 3);
}

TEST_CASE("G12 the custom string is that of the file, as far as it fits", "[shapes][G12]") {
    const auto string_of = [](const std::vector<std::byte>& file) {
        const Net net(file);
        REQUIRE(net.code == RKNN_SUCC);
        rknn_custom_string text;
        std::memset(&text, 7, sizeof(text));
        REQUIRE(rknn_query(net.handle, RKNN_QUERY_CUSTOM_STRING, &text, sizeof(text)) == RKNN_SUCC);
        return std::string(text.string);
    };
    const auto with = [](const std::string& text) {
        return edit_model(digits_file(), [&](schema::ModelT& model) {
            model.custom_string.assign(text.begin(), text.end());
        });
    };
    CHECK(string_of(digits_file()).empty());
    CHECK(string_of(with("")).empty());
    CHECK(string_of(with("a=1;b=2")) == "a=1;b=2");
    CHECK(string_of(with(std::string("ab\0cd", 5))) == "ab");
    CHECK(string_of(with(std::string(1023, 'x'))) == std::string(1023, 'x'));
    CHECK(string_of(with(std::string(3000, 'x'))) == std::string(1023, 'x'));
}
