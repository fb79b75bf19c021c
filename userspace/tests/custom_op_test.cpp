// SPDX-License-Identifier: MIT
// Contracts O1 to O13: custom operators.
#include <rknn_custom_op.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include <dlfcn.h>
#include <unistd.h>

#include "support/fixture.hpp"

using namespace rknpu::test;  // NOLINT: tests

namespace {

/// What the callbacks were called with.
struct Calls {
    int init = 0, prepare = 0, compute = 0, destroy = 0;
    int init_result = 0;
    int compute_result = 0;
    bool state_kept = true;
    rknn_custom_op_context context{};
    rknn_custom_op_tensor input{};
    rknn_custom_op_tensor output{};
    std::vector<std::pair<rknn_tensor_type, std::vector<double>>> attributes;
    std::vector<const char*> ask;  // attributes to read in init
};
Calls calls;
int marker = 0;

std::vector<double> values_of(const rknn_custom_op_attr& attr) {
    std::vector<double> out;
    for (uint32_t i = 0; i < attr.n_elems; ++i) {
        if (attr.dtype == RKNN_TENSOR_INT64)
            out.push_back(static_cast<double>(static_cast<int64_t*>(attr.data)[i]));
        else if (attr.dtype == RKNN_TENSOR_FLOAT32)
            out.push_back(static_cast<float*>(attr.data)[i]);
        else
            out.push_back(static_cast<uint8_t*>(attr.data)[i]);
    }
    return out;
}

int on_init(rknn_custom_op_context* context, rknn_custom_op_tensor* inputs, uint32_t,
            rknn_custom_op_tensor* outputs, uint32_t) {
    ++calls.init;
    context->priv_data = &marker;
    calls.context = *context;
    calls.input = inputs[0];
    calls.output = outputs[0];
    for (const char* name : calls.ask) {
        rknn_custom_op_attr attr{};
        rknn_custom_op_get_op_attr(context, name, &attr);
        calls.attributes.emplace_back(attr.dtype, values_of(attr));
    }
    return calls.init_result;
}

int on_prepare(rknn_custom_op_context* context, rknn_custom_op_tensor*, uint32_t,
               rknn_custom_op_tensor*, uint32_t) {
    ++calls.prepare;
    calls.state_kept = calls.state_kept && context->priv_data == &marker;
    return 0;
}

template <typename T>
void double_all(rknn_custom_op_tensor& in, rknn_custom_op_tensor& out) {
    const auto* from =
        reinterpret_cast<const T*>(static_cast<char*>(in.mem.virt_addr) + in.mem.offset);
    auto* to = reinterpret_cast<T*>(static_cast<char*>(out.mem.virt_addr) + out.mem.offset);
    for (uint32_t i = 0; i < in.attr.n_elems; ++i)
        to[i] = 2 * from[i];
}

int on_compute(rknn_custom_op_context* context, rknn_custom_op_tensor* inputs, uint32_t,
               rknn_custom_op_tensor* outputs, uint32_t) {
    ++calls.compute;
    calls.state_kept = calls.state_kept && context->priv_data == &marker;
    if (inputs[0].attr.type == RKNN_TENSOR_INT64)
        double_all<int64_t>(inputs[0], outputs[0]);
    else
        double_all<float>(inputs[0], outputs[0]);
    return calls.compute_result;
}

int on_destroy(rknn_custom_op_context*) {
    ++calls.destroy;
    return 0;
}

rknn_custom_op make_op(const char* type) {
    rknn_custom_op op{};
    op.version = 1;
    op.target = RKNN_TARGET_TYPE_CPU;
    std::snprintf(op.op_type, sizeof(op.op_type), "%s", type);
    op.init = on_init;
    op.prepare = on_prepare;
    op.compute = on_compute;
    op.destroy = on_destroy;
    return op;
}

FileModel model_of(const std::string& type, FileType data = FileType::kFloat) {
    calls = {};
    return one_node(type, {"", data, {1, 4}});
}

int set(const Net& net, const std::vector<float>& values) {
    return net.set(values.data(), values.size() * sizeof(float), RKNN_TENSOR_FLOAT32,
                   RKNN_TENSOR_UNDEFINED);
}

}  // namespace

TEST_CASE("O1 an unknown operator loads, but does not run before it is registered",
          "[custom][O1]") {
    const Net net(model_of("Mystery"));
    REQUIRE(net.code == RKNN_SUCC);
    REQUIRE(set(net, {1, 2, 3, 4}) == RKNN_SUCC);
    CHECK(net.run() != RKNN_SUCC);
    auto op = make_op("Mystery");
    REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(net.result<float>(true) == std::vector<float>{2, 4, 6, 8});
}

TEST_CASE("O2 O7 callbacks: init and destroy once per node, prepare and compute each run",
          "[custom][O2][O7]") {
    auto model = model_of("Mystery");
    model.tensors.push_back({"end", FileType::kFloat, {1, 4}});
    model.nodes.push_back({"Mystery", "second", {1}, {2}});
    model.outputs = {2};
    {
        const Net net(model);
        auto op = make_op("Mystery");
        REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
        CHECK(calls.init == 2);
        CHECK(calls.context.target == RKNN_TARGET_TYPE_CPU);
        REQUIRE(set(net, {1, 2, 3, 4}) == RKNN_SUCC);
        for (int i = 0; i < 3; ++i)
            REQUIRE(net.run() == RKNN_SUCC);
        CHECK(net.result<float>(true) == std::vector<float>{4, 8, 12, 16});
        CHECK(calls.prepare == 6);
        CHECK(calls.compute == 6);
        CHECK(calls.state_kept);
        CHECK(calls.destroy == 0);
    }
    CHECK(calls.destroy == 2);
}

TEST_CASE("O3 O4 operands are NCHW float32, int64 stays", "[custom][O3][O4]") {
    SECTION("int8 neighbours are dequantised") {
        calls = {};
        FileTensor tensor{"", FileType::kInt8, {1, 20, 1, 4}};
        tensor.native = {1, 2, 1, 4, 16};
        tensor.scale = 0.5f;
        tensor.zero_point = 1;
        const Net net(one_node("Mystery", tensor));
        auto op = make_op("Mystery");
        REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
        CHECK(calls.input.attr.type == RKNN_TENSOR_FLOAT32);
        CHECK(calls.input.attr.fmt == RKNN_TENSOR_NCHW);
        CHECK(calls.input.attr.n_dims == 4);
        CHECK(calls.input.attr.dims[1] == 20);
        CHECK(calls.input.attr.n_elems == 80);
        CHECK(calls.input.attr.size == 320);
        CHECK(calls.input.mem.fd >= 0);
        CHECK(calls.input.mem.virt_addr != nullptr);
        CHECK(calls.output.mem.fd >= 0);
        std::vector<float> values(80);
        for (size_t i = 0; i < values.size(); ++i)
            values[i] = 0.5f * static_cast<float>(i % 30);
        REQUIRE(net.set(values.data(), values.size() * 4, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_NCHW) ==
                RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        const auto got = net.result<float>(true);
        for (size_t i = 0; i < values.size(); ++i)
            CHECK(got[i] == 2 * values[i]);
    }
    SECTION("int64") {
        const Net net(model_of("Mystery", FileType::kInt64));
        auto op = make_op("Mystery");
        REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
        CHECK(calls.input.attr.type == RKNN_TENSOR_INT64);
        CHECK(calls.input.attr.fmt == RKNN_TENSOR_UNDEFINED);
        const std::vector<int64_t> values{1, -2, int64_t{1} << 40, 0};
        REQUIRE(net.set(values.data(), 32, RKNN_TENSOR_INT64, RKNN_TENSOR_UNDEFINED) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        CHECK(net.result<int64_t>(false) == std::vector<int64_t>{2, -4, int64_t{1} << 41, 0});
    }
}

TEST_CASE("O5 callbacks but compute may be missing", "[custom][O5]") {
    const Net net(model_of("Mystery"));
    auto op = make_op("Mystery");
    op.compute = nullptr;
    CHECK(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_ERR_PARAM_INVALID);
    op.compute = on_compute;
    op.init = nullptr;
    op.prepare = nullptr;
    op.destroy = nullptr;
    REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
    REQUIRE(set(net, {1, 2, 3, 4}) == RKNN_SUCC);
    CHECK(net.run() == RKNN_SUCC);
}

TEST_CASE("O6 an operator may ask for the built-in one, or refuse", "[custom][O6]") {
    {
        const Net net(model_of("Neg"));
        auto op = make_op("Neg");
        calls.init_result = RKNN_WARNING_SKIP_CUSTOM_OP_COMPUTE;
        REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
        REQUIRE(set(net, {1, 2, 3, 4}) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        CHECK(net.result<float>(true) == std::vector<float>{-1, -2, -3, -4});
        CHECK(calls.compute == 0);
    }
    {
        const Net net(model_of("Mystery"));
        auto op = make_op("Mystery");
        calls.init_result = RKNN_WARNING_SKIP_CUSTOM_OP_COMPUTE;
        CHECK(rknn_register_custom_ops(net.handle, &op, 1) != RKNN_SUCC);
        calls.init_result = -5;
        CHECK(rknn_register_custom_ops(net.handle, &op, 1) != RKNN_SUCC);
        calls.init_result = 0;
        CHECK(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
    }
    // A built-in operator can be replaced.
    const Net net(model_of("Neg"));
    auto op = make_op("Neg");
    REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
    REQUIRE(set(net, {1, 2, 3, 4}) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(net.result<float>(true) == std::vector<float>{2, 4, 6, 8});
}

TEST_CASE("O6 an operator may take some nodes of its type and leave others", "[custom][O6]") {
    static std::vector<std::string> left;
    FileModel model;
    for (const char* name : {"in", "between", "out"})
        model.tensors.push_back({name, FileType::kFloat, {1, 4}});
    model.nodes = {{"Neg", "first", {0}, {1}}, {"Neg", "second", {1}, {2}}};
    model.inputs = {0};
    model.outputs = {2};
    auto op = make_op("Neg");
    op.init = [](rknn_custom_op_context* context, rknn_custom_op_tensor*, uint32_t,
                 rknn_custom_op_tensor*, uint32_t) {
        context->priv_data = &marker;
        rknn_custom_op_attr attr{};
        rknn_custom_op_get_op_attr(context, "name", &attr);
        const std::string name(static_cast<const char*>(attr.data), attr.n_elems);
        const bool leave = std::find(left.begin(), left.end(), name) != left.end();
        return leave ? static_cast<int>(RKNN_WARNING_SKIP_CUSTOM_OP_COMPUTE) : 0;
    };
    for (const auto& leave :
         std::vector<std::vector<std::string>>{{}, {"first"}, {"second"}, {"first", "second"}}) {
        calls = {};
        left = leave;
        const Net net(model);
        REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
        REQUIRE(set(net, {1, 2, 3, 4}) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        float factor = 1;
        for (size_t i = 0; i < 2; ++i)
            factor *= i < leave.size() ? -1.0f : 2.0f;
        CHECK(net.result<float>(true) ==
              std::vector<float>{factor, 2 * factor, 3 * factor, 4 * factor});
        CHECK(calls.compute == 2 - static_cast<int>(leave.size()));
        CHECK(calls.state_kept);
    }
}

TEST_CASE("S3 O4 the memory of operands can be synced, but belongs to the library",
          "[custom][S3][O4]") {
    static std::vector<int> codes;
    static rknn_tensor_mem* seen = nullptr;
    codes.clear();
    auto op = make_op("Mystery");
    op.compute = [](rknn_custom_op_context*, rknn_custom_op_tensor* inputs, uint32_t,
                    rknn_custom_op_tensor* outputs, uint32_t) {
        codes.push_back(rknn_mem_sync(0, &inputs[0].mem, RKNN_MEMORY_SYNC_TO_DEVICE));
        double_all<float>(inputs[0], outputs[0]);
        codes.push_back(rknn_mem_sync(0, &outputs[0].mem, RKNN_MEMORY_SYNC_TO_DEVICE));
        codes.push_back(rknn_mem_sync(0, &outputs[0].mem, RKNN_MEMORY_SYNC_FROM_DEVICE));
        CHECK(rknn_destroy_mem(0, &outputs[0].mem) == RKNN_ERR_PARAM_INVALID);
        seen = &outputs[0].mem;
        return 0;
    };
    {
        const Net net(model_of("Mystery"));
        REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
        REQUIRE(set(net, {1, 2, 3, 4}) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        CHECK(codes == std::vector<int>{RKNN_SUCC, RKNN_SUCC, RKNN_SUCC});
        CHECK(net.result<float>(true) == std::vector<float>{2, 4, 6, 8});
    }
    CHECK(rknn_mem_sync(0, seen, RKNN_MEMORY_SYNC_TO_DEVICE) == RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("O6 what the library fuses is built in as well", "[custom][O6]") {
    auto model = model_of("AddRelu");
    model.nodes[0].inputs = {0, 0};
    const Net net(model);
    auto op = make_op("AddRelu");
    calls.init_result = RKNN_WARNING_SKIP_CUSTOM_OP_COMPUTE;
    REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
    REQUIRE(set(net, {1, -2, 3, 4}) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(net.result<float>(true) == std::vector<float>{2, 0, 6, 8});
    CHECK(calls.compute == 0);
}

TEST_CASE("O3 an operator gets the inputs that its layer has", "[custom][O3]") {
    static uint32_t seen = 0;
    // Unknown to the library, known, and fused from two that are.
    for (const char* type : {"Mystery", "Clip", "AddRelu"}) {
        INFO(type);
        auto model = model_of(type);
        model.tensors.push_back({"more", FileType::kFloat, {1, 4}});
        model.nodes[0].inputs = {0, -1, 2};
        model.inputs = {0, 2};
        const Net net(model);
        REQUIRE(net.code == RKNN_SUCC);
        auto op = make_op(type);
        op.prepare = [](rknn_custom_op_context*, rknn_custom_op_tensor*, uint32_t inputs,
                        rknn_custom_op_tensor*, uint32_t) {
            seen = inputs;
            return 0;
        };
        op.compute = [](rknn_custom_op_context*, rknn_custom_op_tensor* inputs, uint32_t,
                        rknn_custom_op_tensor* outputs, uint32_t) {
            double_all<float>(inputs[1], outputs[0]);
            return 0;
        };
        REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
        std::vector<float> x{1, 2, 3, 4};
        std::vector<float> more{5, 6, 7, 8};
        rknn_input inputs[] = {{0, x.data(), 16, 0, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_UNDEFINED},
                               {1, more.data(), 16, 0, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_UNDEFINED}};
        REQUIRE(rknn_inputs_set(net.handle, 2, inputs) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        CHECK(seen == 2);
        CHECK(net.result<float>(true) == std::vector<float>{10, 12, 14, 16});
    }
}

TEST_CASE("O7 O8 operators for the GPU need an OpenCL library", "[custom][O7][O8]") {
    const Net net(model_of("Mystery"));
    auto op = make_op("Mystery");
    op.target = RKNN_TARGET_TYPE_GPU;
    char source[] = "kernel void twice() {}";
    op.cl_kernel_source = source;
    op.cl_source_size = sizeof(source) - 1;
    std::snprintf(op.cl_kernel_name, sizeof(op.cl_kernel_name), "twice");
    // The next dlopen() of a library of that name finds this one.
    void* fake = dlopen(RKNPU_FAKE_OPENCL, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(fake != nullptr);
    const auto live = reinterpret_cast<int (*)()>(dlsym(fake, "fake_opencl_live"));
    REQUIRE(live != nullptr);
    {
        const Environment no_gpu("FAKE_OPENCL_FAIL", "device");
        CHECK(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_ERR_DEVICE_UNAVAILABLE);
    }
    {
        const Environment no_build("FAKE_OPENCL_FAIL", "build");
        CHECK(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_ERR_FAIL);
    }
    op.cl_kernel_name[0] = 'x';
    CHECK(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_ERR_FAIL);
    op.cl_kernel_name[0] = 't';
    CHECK(live() == 0);
    {
        const Net other(model_of("Mystery"));
        REQUIRE(rknn_register_custom_ops(other.handle, &op, 1) == RKNN_SUCC);
        CHECK(calls.context.target == RKNN_TARGET_TYPE_GPU);
        CHECK(calls.context.gpu_ctx.cl_context != nullptr);
        CHECK(calls.context.gpu_ctx.cl_command_queue != nullptr);
        CHECK(calls.context.gpu_ctx.cl_kernel != nullptr);
        CHECK(calls.input.mem.fd >= 0);
        REQUIRE(set(other, {1, 2, 3, 4}) == RKNN_SUCC);
        REQUIRE(other.run() == RKNN_SUCC);
        CHECK(other.result<float>(true) == std::vector<float>{2, 4, 6, 8});
        CHECK(live() == 4);
    }
    CHECK(live() == 0);
    // A path when no size is given.
    const std::string path = "custom_op_test_kernel.cl";
    std::ofstream(path) << source;
    std::string writable = path;
    op.cl_kernel_source = writable.data();
    op.cl_source_size = 0;
    CHECK(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
    unlink(path.c_str());
    const Net last(model_of("Mystery"));
    CHECK(rknn_register_custom_ops(last.handle, &op, 1) != RKNN_SUCC);
    op.target = static_cast<rknn_target_type>(7);
    CHECK(rknn_register_custom_ops(last.handle, &op, 1) == RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("O9 a failing compute fails the run", "[custom][O9]") {
    const Net net(model_of("Mystery"));
    auto op = make_op("Mystery");
    REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
    REQUIRE(set(net, {1, 2, 3, 4}) == RKNN_SUCC);
    calls.compute_result = -3;
    CHECK(net.run() == RKNN_ERR_FAIL);
    calls.compute_result = 0;
    CHECK(net.run() == RKNN_SUCC);
}

TEST_CASE("O10 custom operators stand in the table of layers", "[custom][O10]") {
    const Net net(model_of("Mystery"), RKNN_FLAG_COLLECT_PERF_MASK);
    auto op = make_op("Mystery");
    REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
    REQUIRE(set(net, {1, 2, 3, 4}) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    rknn_perf_detail detail{};
    REQUIRE(rknn_query(net.handle, RKNN_QUERY_PERF_DETAIL, &detail, sizeof(detail)) == RKNN_SUCC);
    CHECK_THAT(std::string(detail.perf_data), Catch::Contains("Mystery"));
}

TEST_CASE("O11 attributes: numbers, lists, the name, and none", "[custom][O11]") {
    auto model = model_of("Mystery");
    model.nodes[0].attributes = {
        {"axis", int64_t{-1}}, {"alpha", 0.25}, {"shape", std::vector<int64_t>{1, 2, 3}}};
    calls.ask = {"axis", "alpha", "shape", "absent", "name"};
    const Net net(model);
    auto op = make_op("Mystery");
    REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
    REQUIRE(calls.attributes.size() == 5);
    CHECK(calls.attributes[0].first == RKNN_TENSOR_INT64);
    CHECK(calls.attributes[0].second == std::vector<double>{-1});
    CHECK(calls.attributes[1].first == RKNN_TENSOR_FLOAT32);
    CHECK(calls.attributes[1].second == std::vector<double>{0.25});
    CHECK(calls.attributes[2].second == std::vector<double>{1, 2, 3});
    CHECK(calls.attributes[3].second.empty());
    CHECK(calls.attributes[4].first == RKNN_TENSOR_UINT8);
    CHECK(calls.attributes[4].second.size() == std::string("Mystery:0").size());
}

TEST_CASE("O12 plugins of a folder are used when the environment asks", "[custom][O12]") {
    const std::vector<float> in{1, 2, 3, 4};
    {
        const Net without(model_of("PluginDouble"));
        REQUIRE(set(without, in) == RKNN_SUCC);
        CHECK(without.run() != RKNN_SUCC);
    }
    {
        const Environment folder("RKNPU_OP_PLUGINS", RKNPU_PLUGIN_FOLDER);
        const Net net(model_of("PluginDouble"));
        REQUIRE(set(net, in) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        CHECK(net.result<float>(true) == std::vector<float>{2, 4, 6, 8});
    }
    const Environment missing("RKNPU_OP_PLUGINS", "/nonexistent");
    CHECK(Net(digits_file()).code == RKNN_SUCC);
}

TEST_CASE("O13 several calls add operators, none of them twice", "[custom][O13]") {
    auto model = model_of("First");
    model.tensors.push_back({"end", FileType::kFloat, {1, 4}});
    model.nodes.push_back({"Second", "second", {1}, {2}});
    model.outputs = {2};
    const Net net(model);
    auto first = make_op("First");
    auto second = make_op("Second");
    REQUIRE(rknn_register_custom_ops(net.handle, &first, 1) == RKNN_SUCC);
    REQUIRE(rknn_register_custom_ops(net.handle, &second, 1) == RKNN_SUCC);
    CHECK(rknn_register_custom_ops(net.handle, &first, 1) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_register_custom_ops(net.handle, nullptr, 1) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_register_custom_ops(12345, &first, 1) == RKNN_ERR_CTX_INVALID);
    for (const uint32_t count : {0u, UINT32_MAX})
        CHECK(rknn_register_custom_ops(net.handle, &first, count) == RKNN_ERR_PARAM_INVALID);
    rknn_custom_op both[] = {make_op("Third"), make_op("Third")};
    CHECK(rknn_register_custom_ops(net.handle, both, 2) == RKNN_ERR_PARAM_INVALID);
}
