// SPDX-License-Identifier: MIT
// Memory of others, parts of memory, borrowed weights, and what is counted. Some tests replace the
// device, so they link the library's objects.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <thread>

#include <rknn_custom_op.h>

#include "support/networks.hpp"
#include "support/test_device.hpp"

using namespace rknpu;        // NOLINT: tests
using namespace rknpu::test;  // NOLINT

namespace {

/// Memory that was made elsewhere, with the caller's own view of it.
class Elsewhere {
 public:
    explicit Elsewhere(size_t size) : size_(size), fd_(memfd_create("elsewhere", MFD_CLOEXEC)) {
        REQUIRE(ftruncate(fd_, static_cast<off_t>(size)) == 0);
        start_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
        REQUIRE(start_ != MAP_FAILED);
        std::memset(start_, kUntouched, size);
    }
    ~Elsewhere() {
        munmap(start_, size_);
        close(fd_);
    }
    Elsewhere(const Elsewhere&) = delete;
    Elsewhere& operator=(const Elsewhere&) = delete;

    int fd() const { return fd_; }
    char* bytes() const { return static_cast<char*>(start_); }
    /// True if nobody has written into [first, last).
    bool untouched(size_t first, size_t last) const {
        return std::all_of(bytes() + first, bytes() + last,
                           [](char byte) { return byte == kUntouched; });
    }

 private:
    static constexpr char kUntouched = 0x5a;
    size_t size_;
    int fd_;
    void* start_ = nullptr;
};

rknn_tensor_mem* part_of(const Net& net, const Elsewhere& from, uint32_t size, int32_t offset = 0) {
    auto* out = rknn_create_mem_from_fd(net.handle, from.fd(), nullptr, size, offset);
    REQUIRE(out != nullptr);
    return out;
}

int bind(const Net& net, rknn_query_cmd query, rknn_tensor_mem* memory, rknn_tensor_type type) {
    auto attr = net.attr(query);
    attr.type = type;
    return rknn_set_io_mem(net.handle, memory, &attr);
}

/// Two layers on the CPU with a tensor between them.
FileModel two_layers() {
    FileModel model;
    for (const char* name : {"in", "between", "out"})
        model.tensors.push_back({name, FileType::kFloat, {1, 4}});
    model.nodes = {{"Relu", "first", {0}, {1}}, {"Relu", "second", {1}, {2}}};
    model.inputs = {0};
    model.outputs = {2};
    return model;
}

/// A slave and its master, and that one's answer.
struct Pair {
    Pair() : size{16, 8}, file(network(size)), master(file), pixels(noise(3 * 16 * 8, 4)) {
        extend.ctx = master.handle;
    }
    std::vector<int8_t> answer(const Net& net) const {
        REQUIRE(net.set(pixels.data(), pixels.size(), RKNN_TENSOR_UINT8) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        return net.result<int8_t>(false);
    }
    Size size;
    std::vector<std::byte> file;
    Net master;
    std::vector<std::byte> pixels;
    rknn_init_extend extend{};
};

}  // namespace

TEST_CASE("Z12 M9 memory that the CPU cannot map is refused where the CPU needs it",
          "[memory][Z12][M9]") {
    const Placed placed;
    placed.device->blind_imports = true;
    const Elsewhere elsewhere(1 << 20);
    SECTION("weights") {
        const Net net(digits_file(), RKNN_FLAG_MEM_ALLOC_OUTSIDE);
        auto* weights = part_of(net, elsewhere, 1 << 20);
        Capture capture(LogLevel::kError);
        CHECK(rknn_set_weight_mem(net.handle, weights) == RKNN_ERR_PARAM_INVALID);
        CHECK_THAT(capture.text(), Catch::Contains("cannot map"));
        rknn_destroy_mem(net.handle, weights);
    }
    SECTION("inputs and outputs of a layer on the CPU") {
        for (const bool input : {true, false}) {
            Net net(two_layers());
            auto* blind = part_of(net, elsewhere, 4096);
            auto* seen = net.memory(4096);
            REQUIRE(bind(net, RKNN_QUERY_INPUT_ATTR, input ? blind : seen, RKNN_TENSOR_FLOAT32) ==
                    RKNN_SUCC);
            REQUIRE(bind(net, RKNN_QUERY_OUTPUT_ATTR, input ? seen : blind, RKNN_TENSOR_FLOAT32) ==
                    RKNN_SUCC);
            Capture capture(LogLevel::kError);
            CHECK(net.run() == RKNN_ERR_PARAM_INVALID);
            CHECK_THAT(capture.text(), Catch::Contains(input ? "'in'" : "'out'"));
            rknn_destroy_mem(net.handle, blind);
        }
    }
    SECTION("internal tensors of layers on the CPU") {
        const Net net(two_layers(), RKNN_FLAG_INTERNAL_ALLOC_OUTSIDE);
        auto* blind = part_of(net, elsewhere, 4096);
        REQUIRE(rknn_set_internal_mem(net.handle, blind) == RKNN_SUCC);
        const float values[] = {1, 2, 3, 4};
        REQUIRE(net.set(values, 16, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_UNDEFINED) == RKNN_SUCC);
        CHECK(net.run() == RKNN_ERR_PARAM_INVALID);
        rknn_destroy_mem(net.handle, blind);
    }
}

TEST_CASE("Z11 Z12 a descriptor without a mapping of the caller is enough", "[memory][Z11][Z12]") {
    const Elsewhere elsewhere(1 << 16);
    const auto pixels = digit_pixels();
    const auto expected = Net(digits_file()).digit(pixels);
    const Net net(digits_file());
    auto* in = part_of(net, elsewhere, 28 * 28 * 4, 4096);
    auto* out = part_of(net, elsewhere, 40, 64);
    REQUIRE(bind(net, RKNN_QUERY_INPUT_ATTR, in, RKNN_TENSOR_FLOAT32) == RKNN_SUCC);
    REQUIRE(bind(net, RKNN_QUERY_OUTPUT_ATTR, out, RKNN_TENSOR_FLOAT32) == RKNN_SUCC);
    for (size_t i = 0; i < pixels.size(); ++i) {
        const auto value = static_cast<float>(static_cast<uint8_t>(pixels[i]));
        std::memcpy(elsewhere.bytes() + 4096 + i * 4, &value, 4);
    }
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(std::memcmp(elsewhere.bytes() + 64, expected.data(), 40) == 0);
    CHECK(elsewhere.untouched(104, 4096));
    rknn_destroy_mem(net.handle, in);
    rknn_destroy_mem(net.handle, out);
}

TEST_CASE("M9 Z11 weights and internal tensors stay within the object that is given",
          "[memory][M9][Z11]") {
    const auto pixels = digit_pixels();
    const auto expected = Net(digits_file()).digit(pixels);
    Net net(digits_file(), RKNN_FLAG_MEM_ALLOC_OUTSIDE);
    const auto sizes = net.sizes();
    const Elsewhere elsewhere(4 << 20);
    REQUIRE(sizes.total_weight_size < 1 << 20);
    REQUIRE(sizes.total_internal_size < 1 << 20);
    constexpr int32_t kWeights = 4096;
    constexpr int32_t kInternal = 2 << 20;
    // The buffer would be large enough, the object is not.
    auto* small = part_of(net, elsewhere, sizes.total_weight_size - 1, kWeights);
    CHECK(rknn_set_weight_mem(net.handle, small) == RKNN_ERR_PARAM_INVALID);
    rknn_destroy_mem(net.handle, small);
    small = part_of(net, elsewhere, sizes.total_internal_size - 1, kInternal);
    CHECK(rknn_set_internal_mem(net.handle, small) == RKNN_ERR_PARAM_INVALID);
    rknn_destroy_mem(net.handle, small);
    auto* crooked = part_of(net, elsewhere, 1 << 20, kWeights + 4);
    CHECK(rknn_set_weight_mem(net.handle, crooked) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_set_internal_mem(net.handle, crooked) == RKNN_ERR_PARAM_INVALID);
    rknn_destroy_mem(net.handle, crooked);
    CHECK(elsewhere.untouched(0, 4 << 20));

    auto* weights = part_of(net, elsewhere, sizes.total_weight_size, kWeights);
    auto* internal = part_of(net, elsewhere, sizes.total_internal_size, kInternal);
    auto* in = net.memory(28 * 28);
    auto* out = net.memory(40);
    REQUIRE(rknn_set_weight_mem(net.handle, weights) == RKNN_SUCC);
    REQUIRE(rknn_set_internal_mem(net.handle, internal) == RKNN_SUCC);
    REQUIRE(bind(net, RKNN_QUERY_INPUT_ATTR, in, RKNN_TENSOR_UINT8) == RKNN_SUCC);
    REQUIRE(bind(net, RKNN_QUERY_OUTPUT_ATTR, out, RKNN_TENSOR_FLOAT32) == RKNN_SUCC);
    std::memcpy(in->virt_addr, pixels.data(), pixels.size());
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(std::memcmp(out->virt_addr, expected.data(), 40) == 0);
    CHECK(elsewhere.untouched(0, kWeights));
    CHECK(elsewhere.untouched(kWeights + sizes.total_weight_size, kInternal));
    CHECK(elsewhere.untouched(kInternal + sizes.total_internal_size, 4 << 20));
    rknn_tensor_mem info{};
    REQUIRE(rknn_query(net.handle, RKNN_QUERY_DEVICE_MEM_INFO, &info, sizeof(info)) == RKNN_SUCC);
    CHECK(info.offset == kWeights);
    rknn_destroy_mem(net.handle, weights);
    rknn_destroy_mem(net.handle, internal);
}

TEST_CASE("W1 W3 a slave keeps the weights of its master", "[memory][W1][W3]") {
    const Pair pair;
    const auto expected = pair.answer(pair.master);
    auto extend = pair.extend;
    Net slave(pair.file, RKNN_FLAG_SHARE_WEIGHT_MEM, &extend);
    REQUIRE(slave.code == RKNN_SUCC);
    // It has none that it could put there.
    auto* memory = slave.memory(slave.sizes().total_weight_size + 4096);
    CHECK(rknn_set_weight_mem(slave.handle, memory) == RKNN_ERR_PARAM_INVALID);
    CHECK(pair.answer(slave) == expected);
    rknn_context copy = 0;
    REQUIRE(rknn_dup_context(&slave.handle, &copy) == RKNN_SUCC);
    const Net duplicate(copy);
    CHECK(rknn_set_weight_mem(copy, memory) == RKNN_ERR_PARAM_INVALID);
    // A master that has moved its weights lends them where they are.
    Net moved(pair.file);
    auto* other = moved.memory(moved.sizes().total_weight_size + 4096);
    REQUIRE(rknn_set_weight_mem(moved.handle, other) == RKNN_SUCC);
    extend.ctx = moved.handle;
    CHECK(pair.answer(Net(pair.file, RKNN_FLAG_SHARE_WEIGHT_MEM, &extend)) == expected);
}

TEST_CASE("W2 D9 a master has weights of its own and one shape", "[memory][W2][D9]") {
    const Pair pair;
    auto extend = pair.extend;
    const Net slave(pair.file, RKNN_FLAG_SHARE_WEIGHT_MEM, &extend);
    REQUIRE(slave.code == RKNN_SUCC);
    extend.ctx = slave.handle;
    Capture capture(LogLevel::kError);
    CHECK(Net(pair.file, RKNN_FLAG_SHARE_WEIGHT_MEM, &extend).code == RKNN_ERR_PARAM_INVALID);
    CHECK_THAT(capture.text(), Catch::Contains("has borrowed its weights"));
    const std::array<Size, 2> sizes{Size{16, 8}, Size{8, 8}};
    const Net dynamic(dynamic_network(sizes));
    REQUIRE(dynamic.code == RKNN_SUCC);
    extend.ctx = dynamic.handle;
    CHECK(Net(pair.file, RKNN_FLAG_SHARE_WEIGHT_MEM, &extend).code == RKNN_ERR_MODEL_INVALID);
}

TEST_CASE("W1 only the context of the extension counts unless the rest names a model",
          "[memory][W1]") {
    const Pair pair;
    const auto expected = pair.answer(pair.master);
    const TempFolder folder;
    auto path = folder.path() + "/slave.rknn";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(pair.file.data()),
               static_cast<std::streamsize>(pair.file.size()));
    const auto load = [&](int32_t offset, uint32_t size) {
        auto extend = pair.extend;
        extend.real_model_offset = offset;
        extend.real_model_size = size;
        rknn_context handle = 0;
        CHECK(rknn_init(&handle, path.data(), 0, RKNN_FLAG_SHARE_WEIGHT_MEM, &extend) == RKNN_SUCC);
        CHECK(pair.answer(Net(handle)) == expected);
    };
    load(0, 0);
    load(-17, 5);
    load(0x5a5a5a5a, 0xfffffff0);
    load(16, 64);
    load(static_cast<int32_t>(pair.file.size()), 0);
    // One inside of a larger file.
    std::ofstream larger(path, std::ios::binary);
    larger << std::string(4096, 'x');
    larger.write(reinterpret_cast<const char*>(pair.file.data()),
                 static_cast<std::streamsize>(pair.file.size()));
    larger << std::string(100, 'y');
    larger.close();
    load(4096, static_cast<uint32_t>(pair.file.size()));
}

TEST_CASE("D3 shapes are for the inputs that their indices name", "[memory][D3]") {
    const auto model_of = [](int32_t a, int32_t b) {
        FileModel model;
        model.tensors = {{"a", FileType::kFloat, {1, a}},
                         {"b", FileType::kFloat, {1, b}},
                         {"of_a", FileType::kFloat, {1, a}},
                         {"of_b", FileType::kFloat, {1, b}}};
        model.nodes = {{"Relu", "first", {0}, {2}}, {"Relu", "second", {1}, {3}}};
        model.inputs = {0, 1};
        model.outputs = {2, 3};
        return write_file(model);
    };
    const auto file = edit_model(model_of(2, 4),
                                 [&](schema::ModelT& model) { add_shape(model, model_of(4, 2)); });
    const Net net(file);
    REQUIRE(net.code == RKNN_SUCC);
    const auto choose = [&](std::array<uint32_t, 2> indices, std::array<uint32_t, 2> lengths) {
        rknn_tensor_attr attrs[2] = {};
        for (size_t i = 0; i < 2; ++i) {
            attrs[i].index = indices[i];
            attrs[i].n_dims = 2;
            attrs[i].dims[0] = 1;
            attrs[i].dims[1] = lengths[i];
            attrs[i].fmt = RKNN_TENSOR_UNDEFINED;
        }
        return rknn_set_input_shapes(net.handle, 2, attrs);
    };
    const auto length_of_a = [&] { return net.attr(RKNN_QUERY_CURRENT_INPUT_ATTR, 0).dims[1]; };
    REQUIRE(choose({0, 1}, {2, 4}) == RKNN_SUCC);
    CHECK(length_of_a() == 2);
    REQUIRE(choose({1, 0}, {2, 4}) == RKNN_SUCC);
    CHECK(length_of_a() == 4);
    REQUIRE(choose({0, 0}, {2, 4}) == RKNN_SUCC);
    CHECK(length_of_a() == 2);
    CHECK(choose({1, 1}, {2, 4}) == RKNN_ERR_PARAM_INVALID);
    CHECK(choose({0, 2}, {2, 4}) == RKNN_ERR_PARAM_INVALID);
    CHECK(length_of_a() == 2);
}

TEST_CASE("S1 an input that is converted is read when the fence has signalled",
          "[memory][fence][S1]") {
    const auto pixels = digit_pixels();
    const auto expected = Net(digits_file()).digit(pixels);
    Net net(digits_file(), RKNN_FLAG_FENCE_IN_OUTSIDE);
    auto* in = net.memory(28 * 28 * 4);
    auto* out = net.memory(40);
    REQUIRE(bind(net, RKNN_QUERY_INPUT_ATTR, in, RKNN_TENSOR_FLOAT32) == RKNN_SUCC);
    REQUIRE(bind(net, RKNN_QUERY_OUTPUT_ATTR, out, RKNN_TENSOR_FLOAT32) == RKNN_SUCC);
    // A fence of the NPU model: its message is how the job before ended.
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    std::thread camera([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        for (size_t i = 0; i < pixels.size(); ++i)
            static_cast<float*>(in->virt_addr)[i] = static_cast<uint8_t>(pixels[i]);
        [[maybe_unused]] const auto sent = send(ends[1], "", 1, 0);
    });
    rknn_run_extend extend{};
    extend.non_block = 1;
    extend.fence_fd = ends[0];
    CHECK(rknn_run(net.handle, &extend) == RKNN_SUCC);
    CHECK(rknn_wait(net.handle, &extend) == RKNN_SUCC);
    camera.join();
    CHECK(std::memcmp(out->virt_addr, expected.data(), 40) == 0);
    close(ends[0]);
    close(ends[1]);
}

TEST_CASE("Z5 a fence is given out for native outputs, not before they are converted",
          "[memory][fence][Z5]") {
    Net net(digits_file(), RKNN_FLAG_FENCE_OUT_OUTSIDE);
    auto* memory = net.memory(1 << 16);
    REQUIRE(bind(net, RKNN_QUERY_INPUT_ATTR, memory, RKNN_TENSOR_UINT8) == RKNN_SUCC);
    auto* out = net.memory(1 << 16);
    REQUIRE(bind(net, RKNN_QUERY_OUTPUT_ATTR, out, RKNN_TENSOR_FLOAT32) == RKNN_SUCC);
    rknn_run_extend extend{};
    extend.fence_fd = -1;
    Capture capture(LogLevel::kError);
    CHECK(rknn_run(net.handle, &extend) == RKNN_ERR_PARAM_INVALID);
    CHECK_THAT(capture.text(), Catch::Contains("RKNN_QUERY_NATIVE_OUTPUT_ATTR"));
    auto native = net.attr(RKNN_QUERY_NATIVE_OUTPUT_ATTR);
    REQUIRE(rknn_set_io_mem(net.handle, out, &native) == RKNN_SUCC);
    REQUIRE(rknn_run(net.handle, &extend) == RKNN_SUCC);
    CHECK(extend.fence_fd >= 0);
    CHECK(rknn_wait(net.handle, nullptr) == RKNN_SUCC);
    close(extend.fence_fd);
}

TEST_CASE("Z3 G2 real inputs are normalised in either interface", "[memory][Z3][G2]") {
    auto model = one_node("Identity", {"", FileType::kFloat, {1, 3, 2, 2}});
    model.mean = {1, 2, 3};
    model.scale = {2, 4, 8};
    std::vector<float> values(12);
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i) * 3;
    const Net general(model);
    REQUIRE(general.set(values.data(), 48, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_NCHW) == RKNN_SUCC);
    REQUIRE(general.run() == RKNN_SUCC);
    const auto expected = general.result<float>(true);
    REQUIRE(expected[1] == (values[1] - 1) / 2);
    for (const uint8_t pass_through : {uint8_t{0}, uint8_t{1}}) {
        Net net(model);
        auto* in = net.memory(4096);
        auto* out = net.memory(4096);
        auto attr = net.attr(RKNN_QUERY_INPUT_ATTR);
        attr.type = RKNN_TENSOR_FLOAT32;
        attr.fmt = RKNN_TENSOR_NCHW;
        attr.pass_through = pass_through;
        REQUIRE(rknn_set_io_mem(net.handle, in, &attr) == RKNN_SUCC);
        REQUIRE(bind(net, RKNN_QUERY_OUTPUT_ATTR, out, RKNN_TENSOR_FLOAT32) == RKNN_SUCC);
        std::memcpy(in->virt_addr, values.data(), 48);
        REQUIRE(net.run() == RKNN_SUCC);
        const auto* got = static_cast<const float*>(out->virt_addr);
        CHECK(std::vector<float>(got, got + 12) == (pass_through == 0 ? expected : values));
    }
}

TEST_CASE("S1 O8 operands of an operator for the GPU are synced around it", "[memory][S1][O8]") {
    void* opencl = dlopen(RKNPU_FAKE_OPENCL, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(opencl != nullptr);
    const Placed placed;
    auto& device = *placed.device;
    char source[] = "kernel void twice() {}";
    rknn_custom_op op{};
    std::strcpy(op.op_type, "Mystery");
    std::strcpy(op.cl_kernel_name, "twice");
    op.cl_kernel_source = source;
    op.cl_source_size = sizeof(source) - 1;
    op.compute = [](rknn_custom_op_context*, rknn_custom_op_tensor*, uint32_t,
                    rknn_custom_op_tensor*, uint32_t) { return 0; };
    const float values[4] = {};
    for (const auto target : {RKNN_TARGET_TYPE_CPU, RKNN_TARGET_TYPE_GPU}) {
        op.target = target;
        const Net net(one_node("Mystery", {"", FileType::kFloat, {1, 4}}));
        REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
        REQUIRE(net.set(values, 16, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_UNDEFINED) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        device.reset();
        REQUIRE(net.run() == RKNN_SUCC);
        // The input to the GPU; the output before and after, in both directions.
        const uint64_t count = target == RKNN_TARGET_TYPE_GPU ? 1 : 0;
        CHECK(device.to_device == count * 16);
        CHECK(device.from_device == count * 32);
    }
    dlclose(opencl);
}

TEST_CASE("M1 all memory of a context is counted", "[memory][M1]") {
    const auto total = [](const Net& net) { return net.sizes().total_dma_allocated_size; };
    SECTION("buffers for conversions") {
        Net net(digits_file());
        const auto before = total(net);
        auto* in = net.memory(28 * 28 * 4);
        REQUIRE(bind(net, RKNN_QUERY_INPUT_ATTR, in, RKNN_TENSOR_FLOAT32) == RKNN_SUCC);
        CHECK(total(net) >= before + 28 * 28);
    }
    SECTION("operands of custom operators") {
        const Net net(one_node("Mystery", {"", FileType::kFloat, {1, 4096}}));
        const auto before = total(net);
        rknn_custom_op op{};
        op.target = RKNN_TARGET_TYPE_CPU;
        std::strcpy(op.op_type, "Mystery");
        op.compute = [](rknn_custom_op_context*, rknn_custom_op_tensor*, uint32_t,
                        rknn_custom_op_tensor*, uint32_t) { return 0; };
        REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
        CHECK(total(net) >= before + 2 * 4 * 4096);
    }
    SECTION("what other shapes have") {
        const std::array<Size, 2> sizes{Size{16, 8}, Size{8, 8}};
        const Net net(dynamic_network(sizes));
        const auto before = total(net);
        auto attr = net.attr(RKNN_QUERY_INPUT_ATTR);
        const uint32_t height = attr.dims[1] == 16 ? 8 : 16;
        attr.dims[1] = height;
        REQUIRE(rknn_set_input_shapes(net.handle, 1, &attr) == RKNN_SUCC);
        // Commands of both; weights and internal tensors are there once.
        CHECK(total(net) > before);
        CHECK(total(net) < 2 * before);
    }
}
