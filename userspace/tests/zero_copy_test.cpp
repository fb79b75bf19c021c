// SPDX-License-Identifier: MIT
// Contracts of the interface without copies and of memory objects.
#include <rknn_api.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>

#include "support/files.hpp"
#include "support/run.hpp"

using namespace rknpu::test;  // NOLINT: tests

namespace {

std::string digits_path() {
    return models_dir() + "/digits/digits_int8_rk3588.rknn";
}

struct Fixture {
    explicit Fixture(uint32_t flags = 0) {
        setenv("RKNPU_DEVICE", "sim", 1);
        auto path = digits_path();
        REQUIRE(rknn_init(&context, path.data(), 0, flags, nullptr) == RKNN_SUCC);
    }
    ~Fixture() {
        for (auto* memory : memories)
            rknn_destroy_mem(context, memory);
        rknn_destroy(context);
    }

    rknn_tensor_mem* memory(uint32_t size) {
        auto* out = rknn_create_mem(context, size);
        REQUIRE(out != nullptr);
        memories.push_back(out);
        return out;
    }

    rknn_tensor_attr attr(rknn_query_cmd command) const {
        rknn_tensor_attr out{};
        REQUIRE(rknn_query(context, command, &out, sizeof(out)) == RKNN_SUCC);
        return out;
    }

    rknn_context context = 0;
    std::vector<rknn_tensor_mem*> memories;
};

std::vector<std::byte> expected_codes(const std::vector<std::byte>& pixels) {
    const auto out = run_model(digits_path(), "sim", {{pixels}});
    REQUIRE(out.has_value());
    return out->front();
}

}  // namespace

TEST_CASE("L2 Z4 uint8 pixels in, float32 out, bound once and run often", "[zero-copy]") {
    Fixture model;
    auto input = model.attr(RKNN_QUERY_INPUT_ATTR);
    auto output = model.attr(RKNN_QUERY_OUTPUT_ATTR);
    input.type = RKNN_TENSOR_UINT8;
    input.fmt = RKNN_TENSOR_NHWC;
    output.type = RKNN_TENSOR_FLOAT32;
    auto* in = model.memory(input.n_elems);
    auto* out = model.memory(output.n_elems * 4);
    REQUIRE(rknn_set_io_mem(model.context, in, &input) == RKNN_SUCC);
    REQUIRE(rknn_set_io_mem(model.context, out, &output) == RKNN_SUCC);
    for (uint32_t seed = 0; seed < 3; ++seed) {
        const auto pixels = noise(28 * 28, seed);
        std::memcpy(in->virt_addr, pixels.data(), pixels.size());
        REQUIRE(rknn_run(model.context, nullptr) == RKNN_SUCC);
        const auto expected = run_model(digits_path(), "sim", {{pixels}}, 0, true);
        REQUIRE(expected.has_value());
        CHECK(std::memcmp(out->virt_addr, expected->front().data(), 40) == 0);
    }
}

TEST_CASE("Z7 native input and output give the bytes of the general interface", "[zero-copy]") {
    Fixture model;
    auto input = model.attr(RKNN_QUERY_NATIVE_INPUT_ATTR);
    auto output = model.attr(RKNN_QUERY_NATIVE_OUTPUT_ATTR);
    REQUIRE(input.fmt == RKNN_TENSOR_NHWC);
    REQUIRE(input.type == RKNN_TENSOR_INT8);
    auto* in = model.memory(input.size_with_stride);
    auto* out = model.memory(std::max(output.size_with_stride, 64u));
    REQUIRE(rknn_set_io_mem(model.context, in, &input) == RKNN_SUCC);
    REQUIRE(rknn_set_io_mem(model.context, out, &output) == RKNN_SUCC);
    const auto pixels = noise(28 * 28, 9);
    // The model's scale is 1/255 with zero point -128: the code is the pixel minus 128.
    for (uint32_t row = 0; row < 28; ++row)
        for (uint32_t column = 0; column < 28; ++column)
            static_cast<std::byte*>(in->virt_addr)[row * input.w_stride + column] =
                pixels[row * 28 + column] ^ std::byte{0x80};
    REQUIRE(rknn_run(model.context, nullptr) == RKNN_SUCC);
    const auto expected = expected_codes(pixels);
    CHECK(std::memcmp(out->virt_addr, expected.data(), 10) == 0);
}

TEST_CASE("Z6 memory that is too small is refused", "[zero-copy]") {
    Fixture model;
    auto input = model.attr(RKNN_QUERY_NATIVE_INPUT_ATTR);
    auto* small = model.memory(16);
    CHECK(rknn_set_io_mem(model.context, small, &input) == RKNN_ERR_PARAM_INVALID);
    input.type = RKNN_TENSOR_FLOAT32;
    CHECK(rknn_set_io_mem(model.context, small, &input) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_set_io_mem(model.context, small, nullptr) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_set_io_mem(model.context, nullptr, &input) == RKNN_ERR_PARAM_INVALID);
    std::strcpy(input.name, "nobody");
    CHECK(rknn_set_io_mem(model.context, small, &input) == RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("G12 the two interfaces cannot be mixed on a context", "[zero-copy]") {
    Fixture model;
    auto input = model.attr(RKNN_QUERY_NATIVE_INPUT_ATTR);
    REQUIRE(rknn_set_io_mem(model.context, model.memory(input.size_with_stride), &input) ==
            RKNN_SUCC);
    auto pixels = noise(28 * 28, 1);
    rknn_input general{0, pixels.data(), 28 * 28, 0, RKNN_TENSOR_UINT8, RKNN_TENSOR_NHWC};
    CHECK(rknn_inputs_set(model.context, 1, &general) == RKNN_ERR_CTX_INVALID);
}

TEST_CASE("Z9 Z10 Z11 memory objects and wrapped descriptors", "[zero-copy]") {
    Fixture model;
    auto* memory = model.memory(8192);
    CHECK(memory->virt_addr != nullptr);
    CHECK(memory->fd >= 0);
    CHECK(memory->phys_addr != 0);
    CHECK(memory->offset == 0);
    CHECK(memory->size == 8192);
    auto* first = rknn_create_mem_from_fd(model.context, memory->fd, memory->virt_addr, 4096, 4096);
    auto* second = rknn_create_mem_from_fd(model.context, memory->fd, memory->virt_addr, 8192, 0);
    REQUIRE(first != nullptr);
    REQUIRE(second != nullptr);
    CHECK(first->offset == 4096);
    CHECK(rknn_destroy_mem(model.context, first) == RKNN_SUCC);
    std::memset(memory->virt_addr, 7, 8192);
    CHECK(rknn_destroy_mem(model.context, second) == RKNN_SUCC);
    CHECK(rknn_create_mem_from_fd(model.context, memory->fd, memory->virt_addr, 4097, 4096) ==
          nullptr);
    CHECK(rknn_create_mem_from_fd(model.context, -1, memory->virt_addr, 4096, 0) == nullptr);
    auto* physical =
        rknn_create_mem_from_phys(model.context, memory->phys_addr, memory->virt_addr, 4096);
    CHECK(physical != nullptr);
    CHECK(rknn_destroy_mem(model.context, physical) == RKNN_SUCC);
}

TEST_CASE("M8 M13 M14 odd requests for memory", "[zero-copy]") {
    Fixture model;
    CHECK(rknn_create_mem(model.context, 0) == nullptr);
    CHECK(rknn_create_mem2(model.context, uint64_t{1} << 40, 0) == nullptr);
    CHECK(rknn_destroy_mem(model.context, nullptr) == RKNN_ERR_PARAM_INVALID);
    rknn_tensor_mem foreign{};
    CHECK(rknn_destroy_mem(model.context, &foreign) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_create_mem_from_mb_blk(model.context, nullptr, 0) == nullptr);
    auto path = digits_path();
    rknn_context context = 0;
    CHECK(rknn_init(&context, path.data(), 0, RKNN_FLAG_SHARE_SRAM, nullptr) ==
          RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("memory without a context outlives and precedes contexts", "[zero-copy]") {
    setenv("RKNPU_DEVICE", "sim", 1);
    auto* memory = rknn_create_mem2(0, 4096, RKNN_MEM_FLAG_ALLOC_NO_CONTEXT);
    REQUIRE(memory != nullptr);
    std::memset(memory->virt_addr, 1, 4096);
    CHECK(rknn_destroy_mem(0, memory) == RKNN_SUCC);
    CHECK(rknn_destroy_mem(0, memory) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_create_mem2(0, 4096, 0) == nullptr);
}

TEST_CASE("S2 S3 cache maintenance", "[zero-copy]") {
    Fixture model;
    auto* memory = model.memory(4096);
    for (const int mode : {1, 2, 3})
        CHECK(rknn_mem_sync(0, memory, static_cast<rknn_mem_sync_mode>(mode)) == RKNN_SUCC);
    CHECK(rknn_mem_sync(0, memory, static_cast<rknn_mem_sync_mode>(0)) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_mem_sync(0, memory, static_cast<rknn_mem_sync_mode>(4)) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_mem_sync(0, nullptr, RKNN_MEMORY_SYNC_TO_DEVICE) == RKNN_ERR_PARAM_INVALID);
    auto* uncached = rknn_create_mem2(model.context, 4096, RKNN_FLAG_MEMORY_NON_CACHEABLE);
    REQUIRE(uncached != nullptr);
    CHECK(rknn_mem_sync(0, uncached, RKNN_MEMORY_SYNC_TO_DEVICE) == RKNN_SUCC);
    CHECK(rknn_destroy_mem(0, uncached) == RKNN_SUCC);
}

TEST_CASE("M9 weights and internal memory from outside", "[zero-copy]") {
    Fixture model(RKNN_FLAG_MEM_ALLOC_OUTSIDE);
    rknn_mem_size sizes{};
    REQUIRE(rknn_query(model.context, RKNN_QUERY_MEM_SIZE, &sizes, sizeof(sizes)) == RKNN_SUCC);
    auto input = model.attr(RKNN_QUERY_INPUT_ATTR);
    auto output = model.attr(RKNN_QUERY_OUTPUT_ATTR);
    input.type = RKNN_TENSOR_UINT8;
    output.type = RKNN_TENSOR_FLOAT32;
    auto* in = model.memory(input.n_elems);
    auto* out = model.memory(output.n_elems * 4);
    REQUIRE(rknn_set_io_mem(model.context, in, &input) == RKNN_SUCC);
    REQUIRE(rknn_set_io_mem(model.context, out, &output) == RKNN_SUCC);
    CHECK(rknn_run(model.context, nullptr) != RKNN_SUCC);
    CHECK(rknn_set_weight_mem(model.context, model.memory(64)) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_set_weight_mem(model.context, model.memory(sizes.total_weight_size)) == RKNN_SUCC);
    CHECK(rknn_set_internal_mem(model.context, model.memory(sizes.total_internal_size)) ==
          RKNN_SUCC);
    const auto pixels = noise(28 * 28, 21);
    std::memcpy(in->virt_addr, pixels.data(), pixels.size());
    REQUIRE(rknn_run(model.context, nullptr) == RKNN_SUCC);
    const auto expected = run_model(digits_path(), "sim", {{pixels}}, 0, true);
    CHECK(std::memcmp(out->virt_addr, expected->front().data(), 40) == 0);
}

TEST_CASE("M3 M6 on-chip memory is taken and returned", "[zero-copy]") {
    Fixture outside;
    rknn_mem_size before{};
    rknn_mem_size during{};
    rknn_mem_size after{};
    REQUIRE(rknn_query(outside.context, RKNN_QUERY_MEM_SIZE, &before, sizeof(before)) == RKNN_SUCC);
    CHECK(before.total_sram_size == 978944);
    {
        Fixture inside(RKNN_FLAG_ENABLE_SRAM);
        REQUIRE(rknn_query(inside.context, RKNN_QUERY_MEM_SIZE, &during, sizeof(during)) ==
                RKNN_SUCC);
        CHECK(during.free_sram_size < before.free_sram_size);
    }
    REQUIRE(rknn_query(outside.context, RKNN_QUERY_MEM_SIZE, &after, sizeof(after)) == RKNN_SUCC);
    CHECK(after.free_sram_size == before.free_sram_size);
}
