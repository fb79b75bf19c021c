// SPDX-License-Identifier: MIT
// A call that fails changes nothing, or says so at the next one. The device is replaced by one that
// fails on demand.
#include <rknn_custom_op.h>
#include <rknn_matmul_api.h>

#include <algorithm>
#include <stdexcept>

#include "support/test_device.hpp"

using namespace rknpu;        // NOLINT: tests
using namespace rknpu::test;  // NOLINT

namespace {

int bind(const Net& net, rknn_query_cmd query, rknn_tensor_mem* memory, rknn_tensor_type type) {
    auto attr = net.attr(query);
    attr.type = type;
    return rknn_set_io_mem(net.handle, memory, &attr);
}

void write_pixels(rknn_tensor_mem* memory, const std::vector<std::byte>& pixels) {
    for (size_t i = 0; i < pixels.size(); ++i)
        static_cast<float*>(memory->virt_addr)[i] = static_cast<uint8_t>(pixels[i]);
}

/// A multiplication of ones with several shapes, on memory that is large enough for each.
class Ones {
 public:
    Ones(rknn_matmul_type type, std::vector<rknn_matmul_shape> shapes,
         rknn_matmul_quant_type quant = RKNN_QUANT_TYPE_PER_LAYER_SYM, int16_t group = 0)
        : shapes_(std::move(shapes)), attrs_(shapes_.size()) {
        setenv("RKNPU_DEVICE", "sim", 1);
        rknn_matmul_info info{};
        info.type = type;
        info.B_quant_type = static_cast<int16_t>(quant);
        info.group_size = group;
        REQUIRE(rknn_matmul_create_dynamic_shape(&handle, &info, static_cast<int>(shapes_.size()),
                                                 shapes_.data(), attrs_.data()) == RKNN_SUCC);
        for (auto** memory : {&a, &b, &c}) {
            *memory = rknn_create_mem(handle, 1 << 16);
            REQUIRE(*memory != nullptr);
            std::memset((*memory)->virt_addr, 1, 1 << 16);
        }
    }
    ~Ones() {
        for (auto* memory : {a, b, c})
            rknn_destroy_mem(handle, memory);
        rknn_matmul_destroy(handle);
    }
    Ones(const Ones&) = delete;
    Ones& operator=(const Ones&) = delete;

    int choose(size_t shape) { return rknn_matmul_set_dynamic_shape(handle, &shapes_[shape]); }
    int bind_a(size_t shape) { return rknn_matmul_set_io_mem(handle, a, &attrs_[shape].A); }
    void bind_all(size_t shape) {
        REQUIRE(bind_a(shape) == RKNN_SUCC);
        REQUIRE(rknn_matmul_set_io_mem(handle, b, &attrs_[shape].B) == RKNN_SUCC);
        REQUIRE(rknn_matmul_set_io_mem(handle, c, &attrs_[shape].C) == RKNN_SUCC);
    }
    int run() { return rknn_matmul_run(handle); }
    int scales_of_b(std::vector<float> scales) {
        rknn_quant_params params{};
        std::strcpy(params.name, "B");
        params.scale = scales.data();
        params.scale_len = static_cast<int32_t>(scales.size());
        return rknn_matmul_set_quant_params(handle, &params);
    }
    template <typename T>
    std::vector<T> result(size_t shape) const {
        const auto* start = static_cast<const T*>(c->virt_addr);
        return {start, start + attrs_[shape].C.size / sizeof(T)};
    }

    rknn_matmul_ctx handle = 0;
    rknn_tensor_mem* a = nullptr;
    rknn_tensor_mem* b = nullptr;
    rknn_tensor_mem* c = nullptr;

 private:
    std::vector<rknn_matmul_shape> shapes_;
    std::vector<rknn_matmul_io_attr> attrs_;
};

}  // namespace

TEST_CASE("E1 Z13 a buffer that cannot be bound leaves the one before", "[failed][E1][Z13]") {
    const Placed placed;
    const auto pixels = digit_pixels();
    const auto expected = Net(digits_file()).digit(pixels);
    Net net(digits_file());
    auto* first = net.memory(28 * 28 * 4);
    auto* second = net.memory(28 * 28 * 4);
    auto* out = net.memory(40);
    auto* other_out = net.memory(40);
    placed.device->fail_allocations = true;
    CHECK(bind(net, RKNN_QUERY_INPUT_ATTR, first, RKNN_TENSOR_FLOAT32) == RKNN_ERR_MALLOC_FAIL);
    CHECK(bind(net, RKNN_QUERY_OUTPUT_ATTR, out, RKNN_TENSOR_FLOAT32) == RKNN_ERR_MALLOC_FAIL);
    CHECK(net.run() == RKNN_ERR_CTX_INVALID);
    placed.device->fail_allocations = false;
    REQUIRE(bind(net, RKNN_QUERY_INPUT_ATTR, first, RKNN_TENSOR_FLOAT32) == RKNN_SUCC);
    REQUIRE(bind(net, RKNN_QUERY_OUTPUT_ATTR, out, RKNN_TENSOR_FLOAT32) == RKNN_SUCC);
    placed.device->fail_allocations = true;
    CHECK(bind(net, RKNN_QUERY_INPUT_ATTR, second, RKNN_TENSOR_FLOAT32) == RKNN_ERR_MALLOC_FAIL);
    CHECK(bind(net, RKNN_QUERY_OUTPUT_ATTR, other_out, RKNN_TENSOR_FLOAT32) ==
          RKNN_ERR_MALLOC_FAIL);
    write_pixels(first, pixels);
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(std::memcmp(out->virt_addr, expected.data(), 40) == 0);
}

TEST_CASE("X13 E1 a shape or a mask that cannot be prepared stays away", "[failed][X13][E1]") {
    const Placed placed;
    auto& fail = placed.device->fail_allocations;
    Ones ones(RKNN_INT8_MM_INT8_TO_INT32, {{1, 32, 64}, {4, 64, 64}});
    ones.bind_all(0);
    REQUIRE(ones.run() == RKNN_SUCC);
    const auto expected = std::vector<int32_t>(64, 32);
    REQUIRE(ones.result<int32_t>(0) == expected);
    fail = true;
    for (int i = 0; i < 2; ++i) {
        CHECK(ones.choose(1) == RKNN_ERR_MALLOC_FAIL);
        CHECK(rknn_matmul_set_core_mask(ones.handle, RKNN_NPU_CORE_0_1_2) == RKNN_ERR_MALLOC_FAIL);
    }
    // What was there goes on.
    std::memset(ones.c->virt_addr, 0, 1024);
    REQUIRE(ones.run() == RKNN_SUCC);
    CHECK(ones.result<int32_t>(0) == expected);
    fail = false;
    CHECK(rknn_matmul_set_core_mask(ones.handle, RKNN_NPU_CORE_0_1_2) == RKNN_SUCC);
    std::memset(ones.c->virt_addr, 0, 1024);
    REQUIRE(ones.run() == RKNN_SUCC);
    CHECK(ones.result<int32_t>(0) == expected);
    REQUIRE(ones.choose(1) == RKNN_SUCC);
    CHECK(ones.run() == RKNN_ERR_CTX_INVALID);
    ones.bind_all(1);
    REQUIRE(ones.run() == RKNN_SUCC);
    CHECK(ones.result<int32_t>(1) == std::vector<int32_t>(256, 64));
}

TEST_CASE("E1 an operand of a multiplication that cannot be taken is not there",
          "[failed][matmul][E1]") {
    const Placed placed;
    // A in rows is rearranged in memory of its own.
    Ones ones(RKNN_INT8_MM_INT8_TO_INT32, {{4, 64, 64}});
    placed.device->fail_allocations = true;
    CHECK(ones.bind_a(0) == RKNN_ERR_MALLOC_FAIL);
    CHECK(ones.run() == RKNN_ERR_CTX_INVALID);
    placed.device->fail_allocations = false;
    ones.bind_all(0);
    REQUIRE(ones.run() == RKNN_SUCC);
    CHECK(ones.result<int32_t>(0) == std::vector<int32_t>(256, 64));
}

TEST_CASE("X8 X13 scales go with a shape that they fit, others are asked for again",
          "[failed][matmul][X8][X13]") {
    SECTION("per channel") {
        Ones ones(RKNN_INT8_MM_INT8_TO_FLOAT32, {{1, 32, 64}, {2, 64, 64}, {1, 32, 32}},
                  RKNN_QUANT_TYPE_PER_CHANNEL_SYM);
        REQUIRE(ones.scales_of_b(std::vector<float>(64, 0.5f)) == RKNN_SUCC);
        for (const size_t shape : {0, 1}) {
            REQUIRE(ones.choose(shape) == RKNN_SUCC);
            ones.bind_all(shape);
            REQUIRE(ones.run() == RKNN_SUCC);
            CHECK(ones.result<float>(shape)[0] == (shape == 0 ? 16.0f : 32.0f));
        }
        REQUIRE(ones.choose(2) == RKNN_SUCC);
        ones.bind_all(2);
        Capture capture(LogLevel::kError);
        CHECK(ones.run() == RKNN_ERR_CTX_INVALID);
        CHECK_THAT(capture.text(), Catch::Contains("rknn_matmul_set_quant_params"));
        REQUIRE(ones.scales_of_b(std::vector<float>(32, 0.25f)) == RKNN_SUCC);
        REQUIRE(ones.run() == RKNN_SUCC);
        CHECK(ones.result<float>(2)[0] == 8.0f);
    }
    SECTION("one for the layer") {
        Ones ones(RKNN_INT8_MM_INT8_TO_FLOAT32, {{1, 32, 64}, {1, 32, 32}});
        REQUIRE(ones.scales_of_b({0.5f}) == RKNN_SUCC);
        REQUIRE(ones.choose(1) == RKNN_SUCC);
        ones.bind_all(1);
        REQUIRE(ones.run() == RKNN_SUCC);
        CHECK(ones.result<float>(1)[0] == 16.0f);
    }
    SECTION("none given") {
        Ones ones(RKNN_INT8_MM_INT8_TO_FLOAT32, {{1, 32, 64}, {1, 32, 32}},
                  RKNN_QUANT_TYPE_PER_CHANNEL_SYM);
        REQUIRE(ones.choose(1) == RKNN_SUCC);
        ones.bind_all(1);
        REQUIRE(ones.run() == RKNN_SUCC);
        CHECK(ones.result<float>(1)[0] == 32.0f);
    }
}

TEST_CASE("S1 S2 X14 what the CPU wrote into C outlives a sync from the device",
          "[failed][matmul][S1][S2][X14]") {
    const Environment coherent("RKNPU_SIM_COHERENT", "0");
    const auto check = [] {
        Ones ones(RKNN_INT8_MM_INT8_TO_INT32, {{1, 32, 64}});
        ones.bind_all(0);
        REQUIRE(ones.run() == RKNN_SUCC);
        for (const auto mode : {RKNN_MEMORY_SYNC_FROM_DEVICE, RKNN_MEMORY_SYNC_BIDIRECTIONAL}) {
            REQUIRE(rknn_mem_sync(ones.handle, ones.c, mode) == RKNN_SUCC);
            CHECK(ones.result<int32_t>(0) == std::vector<int32_t>(64, 32));
        }
    };
    SECTION("finished by the CPU") {
        check();
    }
    SECTION("computed by the CPU") {
        const Environment soc("RKNPU_SIM_SOC", "rk3576");
        check();
    }
}

TEST_CASE("E1 E2 an exception of a run that nobody waited for stays inside", "[failed][E1][E2]") {
    const auto model = one_node("Mystery", {"", FileType::kFloat, {1, 4}});
    rknn_custom_op op{};
    op.target = RKNN_TARGET_TYPE_CPU;
    std::strcpy(op.op_type, "Mystery");
    op.compute = [](rknn_custom_op_context*, rknn_custom_op_tensor*, uint32_t,
                    rknn_custom_op_tensor*, uint32_t) -> int { throw std::runtime_error("no"); };
    const float values[] = {1, 2, 3, 4};
    rknn_run_extend extend{};
    extend.non_block = 1;
    for (const bool wait : {true, false}) {
        const Net net(model);
        REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
        REQUIRE(net.set(values, 16, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_UNDEFINED) == RKNN_SUCC);
        REQUIRE(rknn_run(net.handle, &extend) == RKNN_SUCC);
        if (wait)
            CHECK(rknn_wait(net.handle, nullptr) == RKNN_ERR_FAIL);
    }
}
