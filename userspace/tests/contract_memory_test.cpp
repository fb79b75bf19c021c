// SPDX-License-Identifier: MIT
// Contracts of zero copy, memory, contexts and weight sharing, each named by its id.
#include <rknn_custom_op.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdio>
#include <numeric>
#include <thread>

#include "support/fixture.hpp"

using namespace rknpu::test;  // NOLINT: tests

namespace {

FileModel native_int8() {
    FileTensor tensor{"", FileType::kInt8, {1, 20, 2, 2}};
    tensor.native = {1, 2, 2, 2, 16};
    tensor.scale = 0.5f;
    tensor.zero_point = -1;
    return one_node("Identity", tensor);
}

template <typename T>
T* as(rknn_tensor_mem* memory) {
    return static_cast<T*>(memory->virt_addr);
}

/// The digit model with uint8 pixels in and float32 out, bound.
struct Bound {
    explicit Bound(uint32_t flags = 0) : net(digits_file(), flags) { bind(net); }

    void bind(Net& to) {
        auto input = to.attr(RKNN_QUERY_INPUT_ATTR);
        auto output = to.attr(RKNN_QUERY_OUTPUT_ATTR);
        input.type = RKNN_TENSOR_UINT8;
        output.type = RKNN_TENSOR_FLOAT32;
        in = to.memory(input.n_elems);
        out = to.memory(output.n_elems * 4);
        REQUIRE(rknn_set_io_mem(to.handle, in, &input) == RKNN_SUCC);
        REQUIRE(rknn_set_io_mem(to.handle, out, &output) == RKNN_SUCC);
    }

    std::vector<float> run(const std::vector<std::byte>& pixels) {
        std::memcpy(in->virt_addr, pixels.data(), pixels.size());
        REQUIRE(net.run() == RKNN_SUCC);
        return {as<float>(out), as<float>(out) + 10};
    }

    Net net;
    rknn_tensor_mem* in = nullptr;
    rknn_tensor_mem* out = nullptr;
};

std::atomic<int> computed{0};
std::atomic<int> result_of_slow{0};

int slow(rknn_custom_op_context*, rknn_custom_op_tensor* in, uint32_t, rknn_custom_op_tensor* out,
         uint32_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::memcpy(out[0].mem.virt_addr, in[0].mem.virt_addr, in[0].attr.size);
    ++computed;
    return result_of_slow;
}

rknn_custom_op slow_op(const char* type) {
    rknn_custom_op op{};
    op.target = RKNN_TARGET_TYPE_CPU;
    std::snprintf(op.op_type, sizeof(op.op_type), "%s", type);
    op.compute = slow;
    return op;
}

std::vector<float> reference(const std::vector<std::byte>& pixels) {
    return Net(digits_file()).digit(pixels);
}

}  // namespace

TEST_CASE("Z2 NC1HWC2 without pass_through takes NHWC, with it the native bytes",
          "[contract][Z2]") {
    std::vector<int8_t> values(20 * 4);
    std::iota(values.begin(), values.end(), int8_t{-40});  // NHWC
    const auto result = [&](bool pass_through) {
        Net net(native_int8());
        REQUIRE(net.code == RKNN_SUCC);
        auto input = net.attr(pass_through ? RKNN_QUERY_NATIVE_INPUT_ATTR : RKNN_QUERY_INPUT_ATTR);
        auto output = net.attr(RKNN_QUERY_OUTPUT_ATTR);
        output.type = RKNN_TENSOR_INT8;
        input.pass_through = pass_through ? 1 : 0;
        auto* in = net.memory(input.size_with_stride);
        auto* out = net.memory(output.n_elems);
        for (size_t pixel = 0; pixel < 4; ++pixel)
            for (size_t c = 0; c < 20; ++c) {
                const size_t to =
                    pass_through ? (c / 16 * 4 + pixel) * 16 + c % 16 : pixel * 20 + c;
                as<int8_t>(in)[to] = values[pixel * 20 + c];
            }
        REQUIRE(rknn_set_io_mem(net.handle, in, &input) == RKNN_SUCC);
        REQUIRE(rknn_set_io_mem(net.handle, out, &output) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        return std::vector<int8_t>(as<int8_t>(out), as<int8_t>(out) + 80);
    };
    const auto converted = result(false);
    CHECK(converted[4 * 7 + 2] == values[2 * 20 + 7]);
    CHECK(result(true) == converted);
}

TEST_CASE("Z3 the caller may change the type of an attribute", "[contract][Z3]") {
    Net net(digits_file());
    auto input = net.attr(RKNN_QUERY_NATIVE_INPUT_ATTR);
    auto output = net.attr(RKNN_QUERY_OUTPUT_ATTR);
    input.type = RKNN_TENSOR_FLOAT32;
    input.fmt = RKNN_TENSOR_NHWC;
    output.type = RKNN_TENSOR_FLOAT32;
    auto* in = net.memory(input.n_elems * 4);
    auto* out = net.memory(output.n_elems * 4);
    const auto pixels = digit_pixels();
    for (size_t i = 0; i < pixels.size(); ++i)
        as<float>(in)[i] = static_cast<float>(static_cast<uint8_t>(pixels[i]));
    REQUIRE(rknn_set_io_mem(net.handle, in, &input) == RKNN_SUCC);
    REQUIRE(rknn_set_io_mem(net.handle, out, &output) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(std::vector<float>(as<float>(out), as<float>(out) + 10) == reference(pixels));
    // A quarter of the memory is not enough for float32.
    CHECK(rknn_set_io_mem(net.handle, net.memory(input.n_elems), &input) == RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("Z5 forms of outputs", "[contract][Z5]") {
    struct Form {
        rknn_query_cmd query;
        rknn_tensor_type type;
        rknn_tensor_format format;
    };
    std::vector<int8_t> values(80);
    std::iota(values.begin(), values.end(), int8_t{-40});  // NCHW
    for (const Form& form :
         {Form{RKNN_QUERY_OUTPUT_ATTR, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_NCHW},
          Form{RKNN_QUERY_OUTPUT_ATTR, RKNN_TENSOR_INT8, RKNN_TENSOR_NCHW},
          Form{RKNN_QUERY_NATIVE_OUTPUT_ATTR, RKNN_TENSOR_INT8, RKNN_TENSOR_NC1HWC2},
          Form{RKNN_QUERY_NATIVE_NHWC_OUTPUT_ATTR, RKNN_TENSOR_INT8, RKNN_TENSOR_NHWC}}) {
        Net net(native_int8());
        auto input = net.attr(RKNN_QUERY_INPUT_ATTR);
        auto output = net.attr(form.query);
        CHECK(output.fmt == form.format);
        output.type = form.type;
        input.fmt = RKNN_TENSOR_NCHW;
        auto* in = net.memory(80);
        auto* out = net.memory(4 * output.size_with_stride);
        std::memcpy(in->virt_addr, values.data(), values.size());
        REQUIRE(rknn_set_io_mem(net.handle, in, &input) == RKNN_SUCC);
        REQUIRE(rknn_set_io_mem(net.handle, out, &output) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        for (size_t c = 0; c < 20; ++c)
            for (size_t pixel = 0; pixel < 4; ++pixel) {
                const int8_t code = values[c * 4 + pixel];
                if (form.type == RKNN_TENSOR_FLOAT32)
                    CHECK(as<float>(out)[c * 4 + pixel] == static_cast<float>(code + 1) * 0.5f);
                else if (form.format == RKNN_TENSOR_NCHW)
                    CHECK(as<int8_t>(out)[c * 4 + pixel] == code);
                else if (form.format == RKNN_TENSOR_NHWC)
                    CHECK(as<int8_t>(out)[pixel * 20 + c] == code);
                else
                    CHECK(as<int8_t>(out)[(c / 16 * 4 + pixel) * 16 + c % 16] == code);
            }
        auto wrong = output;
        wrong.type = RKNN_TENSOR_INT64;
        CHECK(rknn_set_io_mem(net.handle, out, &wrong) == RKNN_ERR_PARAM_INVALID);
    }
}

TEST_CASE("Z8 strides: the width may be padded, the height stride starts at 0", "[contract][Z8]") {
    const Net net(digits_file());
    const auto input = net.attr(RKNN_QUERY_NATIVE_INPUT_ATTR);
    CHECK(input.h_stride == 0);
    CHECK(input.w_stride >= 28);
    CHECK(input.size_with_stride >= input.w_stride * 28);
}

TEST_CASE("Z12 memory made elsewhere is taken by its descriptor", "[contract][Z12]") {
    Net net(digits_file());
    auto input = net.attr(RKNN_QUERY_INPUT_ATTR);
    auto output = net.attr(RKNN_QUERY_OUTPUT_ATTR);
    input.type = RKNN_TENSOR_UINT8;
    output.type = RKNN_TENSOR_FLOAT32;
    const int fd = memfd_create("elsewhere", MFD_CLOEXEC);
    REQUIRE(fd >= 0);
    REQUIRE(ftruncate(fd, 8192) == 0);
    void* mapped = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(mapped != MAP_FAILED);
    auto* in = rknn_create_mem_from_fd(net.handle, fd, mapped, input.n_elems, 4096);
    REQUIRE(in != nullptr);
    const auto pixels = digit_pixels();
    std::memcpy(static_cast<char*>(mapped) + 4096, pixels.data(), pixels.size());
    auto* out = net.memory(output.n_elems * 4);
    REQUIRE(rknn_set_io_mem(net.handle, in, &input) == RKNN_SUCC);
    REQUIRE(rknn_set_io_mem(net.handle, out, &output) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(std::vector<float>(as<float>(out), as<float>(out) + 10) == reference(pixels));
    // The same descriptor once more, in another context; the caller keeps both.
    Net second(digits_file());
    auto* again = rknn_create_mem_from_fd(second.handle, fd, mapped, input.n_elems, 0);
    REQUIRE(again != nullptr);
    CHECK(rknn_destroy_mem(net.handle, in) == RKNN_SUCC);
    CHECK(rknn_destroy_mem(second.handle, again) == RKNN_SUCC);
    CHECK(static_cast<std::byte*>(mapped)[4096] == pixels[0]);
    munmap(mapped, 8192);
    close(fd);
    CHECK(rknn_create_mem_from_fd(net.handle, fd, mapped, 16, 0) == nullptr);
}

TEST_CASE("Z12 more memory than the NPU can address is refused", "[contract][Z12]") {
    const Net net(digits_file());
    for (const off_t size : {off_t{1} << 32, off_t{5} << 30}) {
        const int fd = memfd_create("sparse", MFD_CLOEXEC);
        REQUIRE(ftruncate(fd, size) == 0);
        CHECK(rknn_create_mem_from_fd(net.handle, fd, nullptr, 4096, 0) == nullptr);
        close(fd);
    }
    CHECK(rknn_create_mem(net.handle, UINT32_MAX) == nullptr);
}

TEST_CASE("Z13 buffers may be swapped between runs", "[contract][Z13]") {
    Bound bound;
    const auto a = digit_pixels(3);
    const auto b = digit_pixels(4);
    const auto first = bound.run(a);
    auto output = bound.net.attr(RKNN_QUERY_OUTPUT_ATTR);
    output.type = RKNN_TENSOR_FLOAT32;
    auto* other = bound.net.memory(output.n_elems * 4);
    REQUIRE(rknn_set_io_mem(bound.net.handle, other, &output) == RKNN_SUCC);
    std::memcpy(bound.in->virt_addr, b.data(), b.size());
    REQUIRE(bound.net.run() == RKNN_SUCC);
    CHECK(std::vector<float>(as<float>(other), as<float>(other) + 10) == reference(b));
    // The buffer that was swapped out keeps what it had.
    CHECK(std::vector<float>(as<float>(bound.out), as<float>(bound.out) + 10) == first);
}

TEST_CASE("Z14 an address of memory of ours can be wrapped, a foreign one needs a mapping",
          "[contract][Z14]") {
    Bound bound;
    auto input = bound.net.attr(RKNN_QUERY_INPUT_ATTR);
    input.type = RKNN_TENSOR_UINT8;
    auto* whole = bound.net.memory(8192);
    auto* part = rknn_create_mem_from_phys(bound.net.handle, whole->phys_addr + 4096,
                                           as<char>(whole) + 4096, input.n_elems);
    REQUIRE(part != nullptr);
    const auto pixels = digit_pixels(5);
    std::memcpy(as<char>(whole) + 4096, pixels.data(), pixels.size());
    REQUIRE(rknn_set_io_mem(bound.net.handle, part, &input) == RKNN_SUCC);
    REQUIRE(bound.net.run() == RKNN_SUCC);
    CHECK(std::vector<float>(as<float>(bound.out), as<float>(bound.out) + 10) == reference(pixels));
    CHECK(rknn_destroy_mem(bound.net.handle, part) == RKNN_SUCC);
    CHECK(rknn_create_mem_from_phys(bound.net.handle, 0x10, nullptr, 64) == nullptr);
    CHECK(rknn_create_mem_from_phys(bound.net.handle, whole->phys_addr, nullptr, 0) == nullptr);
    CHECK(rknn_create_mem_from_mb_blk(bound.net.handle, whole, 0) == nullptr);
}

TEST_CASE("T4 T7 many duplicates are cheap, keep the flags and bind for themselves",
          "[contract][T4][T7]") {
    const Net source(digits_file(), RKNN_FLAG_COLLECT_PERF_MASK);
    const auto pixels = digit_pixels();
    const auto expected = source.digit(pixels);
    std::vector<std::unique_ptr<Net>> copies;
    for (int i = 0; i < 30; ++i) {
        rknn_context from = copies.empty() ? source.handle : copies.back()->handle;
        rknn_context copy = 0;
        REQUIRE(rknn_dup_context(&from, &copy) == RKNN_SUCC);
        copies.push_back(std::make_unique<Net>(copy));
    }
    // No inputs of the source are taken along.
    CHECK(copies[0]->run() == RKNN_ERR_INPUT_INVALID);
    CHECK(copies[29]->digit(pixels) == expected);
    rknn_perf_detail detail{};
    REQUIRE(rknn_query(copies[29]->handle, RKNN_QUERY_PERF_DETAIL, &detail, sizeof(detail)) ==
            RKNN_SUCC);
    CHECK(std::string(detail.perf_data).find("OpType") != std::string::npos);
}

TEST_CASE("T1 calls beside a run that goes on wait for its end", "[contract][T1]") {
    Net net(one_node("Slow", {"", FileType::kFloat, {1, 4}}), RKNN_FLAG_COLLECT_PERF_MASK);
    auto op = slow_op("Slow");
    auto other = slow_op("Other");
    REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
    const float values[] = {1, 2, 3, 4};
    const auto set = [&] {
        return net.set(values, sizeof(values), RKNN_TENSOR_FLOAT32, RKNN_TENSOR_UNDEFINED);
    };
    const auto query = [&](rknn_query_cmd command) {
        uint64_t space[64] = {};
        return rknn_query(net.handle, command, space, sizeof(space));
    };
    REQUIRE(set() == RKNN_SUCC);
    rknn_run_extend extend{};
    extend.non_block = 1;
    const auto beside = [&](auto&& call) {
        const int before = computed;
        REQUIRE(rknn_run(net.handle, &extend) == RKNN_SUCC);
        REQUIRE(call() == RKNN_SUCC);
        CHECK(computed == before + 1);
    };
    beside([&] { return rknn_set_core_mask(net.handle, RKNN_NPU_CORE_0_1_2); });
    beside([&] { return rknn_set_batch_core_num(net.handle, 2); });
    beside([&] { return rknn_register_custom_ops(net.handle, &other, 1); });
    beside([&] { return query(RKNN_QUERY_PERF_RUN); });
    beside([&] { return query(RKNN_QUERY_PERF_DETAIL); });
    beside([&] { return query(RKNN_QUERY_MEM_SIZE); });
    beside([&] { return rknn_set_internal_mem(net.handle, net.memory(1 << 20)); });
    beside([&] { return rknn_wait(net.handle, nullptr); });
    beside(set);
    CHECK(net.result<float>(true) == std::vector<float>{1, 2, 3, 4});
    // A failure is not lost between the run and the wait.
    result_of_slow = -1;
    REQUIRE(rknn_run(net.handle, &extend) == RKNN_SUCC);
    CHECK(query(RKNN_QUERY_PERF_RUN) == RKNN_SUCC);
    CHECK(rknn_wait(net.handle, nullptr) != RKNN_SUCC);
    CHECK(rknn_wait(net.handle, nullptr) == RKNN_SUCC);
    result_of_slow = 0;
}

TEST_CASE("ASYNC_MASK reports a run that failed and does not give what it left", "[contract]") {
    Net net(one_node("Slow", {"", FileType::kFloat, {1, 4}}), RKNN_FLAG_ASYNC_MASK);
    auto op = slow_op("Slow");
    REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
    const auto set = [&](float value) {
        const float values[] = {value, value, value, value};
        return net.set(values, sizeof(values), RKNN_TENSOR_FLOAT32, RKNN_TENSOR_UNDEFINED);
    };
    REQUIRE(set(1) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(net.result<float>(true) == std::vector<float>(4, 1));
    REQUIRE(set(2) == RKNN_SUCC);
    result_of_slow = -1;
    REQUIRE(net.run() == RKNN_SUCC);
    REQUIRE(set(3) == RKNN_SUCC);
    result_of_slow = 0;
    CHECK(net.run() != RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(net.result<float>(true) == std::vector<float>(4, 3));
}

TEST_CASE("T5 memory of one context from several threads", "[contract][T5]") {
    const Net net(digits_file());
    std::atomic<int> failed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (uint32_t i = 1; i <= 50; ++i) {
                auto* memory = rknn_create_mem(net.handle, i * 100);
                if (memory == nullptr ||
                    rknn_mem_sync(net.handle, memory, RKNN_MEMORY_SYNC_TO_DEVICE) != 0 ||
                    rknn_destroy_mem(net.handle, memory) != RKNN_SUCC)
                    ++failed;
            }
        });
    for (auto& thread : threads)
        thread.join();
    CHECK(failed == 0);
}

TEST_CASE("W1 W3 a context takes the weights of another and keeps them alive",
          "[contract][W1][W3]") {
    const auto file = digits_file();
    const auto pixels = digit_pixels();
    auto master = std::make_unique<Net>(file);
    const auto expected = master->digit(pixels);
    rknn_init_extend extend{};
    extend.ctx = master->handle;
    const Net slave(file, RKNN_FLAG_SHARE_WEIGHT_MEM, &extend);
    REQUIRE(slave.code == RKNN_SUCC);
    CHECK(slave.digit(pixels) == expected);
    rknn_tensor_mem of_master{};
    rknn_tensor_mem of_slave{};
    REQUIRE(rknn_query(master->handle, RKNN_QUERY_DEVICE_MEM_INFO, &of_master, sizeof(of_master)) ==
            RKNN_SUCC);
    REQUIRE(rknn_query(slave.handle, RKNN_QUERY_DEVICE_MEM_INFO, &of_slave, sizeof(of_slave)) ==
            RKNN_SUCC);
    CHECK(of_slave.phys_addr == of_master.phys_addr);
    master.reset();
    CHECK(slave.digit(pixels) == expected);
}

TEST_CASE("W2 weights are shared with the right master only", "[contract][W2]") {
    const auto file = digits_file();
    CHECK(Net(file, RKNN_FLAG_SHARE_WEIGHT_MEM).code == RKNN_ERR_PARAM_INVALID);
    rknn_init_extend extend{};
    extend.ctx = 4711;
    CHECK(Net(file, RKNN_FLAG_SHARE_WEIGHT_MEM, &extend).code == RKNN_ERR_CTX_INVALID);
    const Net other(one_node("Identity", {"", FileType::kFloat, {1, 2}}));
    extend.ctx = other.handle;
    const int code = Net(file, RKNN_FLAG_SHARE_WEIGHT_MEM, &extend).code;
    CHECK((code == RKNN_ERR_MODEL_INVALID || code == RKNN_ERR_PARAM_INVALID));
}

TEST_CASE("C2 C6 any idle core without a mask, all cores by one name", "[contract][C2][C6]") {
    const Net net(digits_file());
    const auto pixels = digit_pixels();
    const auto expected = net.digit(pixels);
    REQUIRE(rknn_set_core_mask(net.handle, RKNN_NPU_CORE_ALL) == RKNN_SUCC);
    CHECK(net.digit(pixels) == expected);
    REQUIRE(rknn_set_core_mask(net.handle, RKNN_NPU_CORE_AUTO) == RKNN_SUCC);
    CHECK(net.digit(pixels) == expected);
}

TEST_CASE("C1 a chip with two cores takes masks of two cores", "[contract][C1]") {
    const Environment soc("RKNPU_SIM_SOC", "rk3576");
    auto model = one_node("Identity", {"", FileType::kFloat, {1, 2}});
    model.target = "rk3576";
    const Net net(model);
    REQUIRE(net.code == RKNN_SUCC);
    for (const int mask : {0, 1, 2, 3, 0xffff})
        CHECK(rknn_set_core_mask(net.handle, static_cast<rknn_core_mask>(mask)) == RKNN_SUCC);
    for (const int mask : {4, 7, 5, 6, 8, 0x10000})
        CHECK(rknn_set_core_mask(net.handle, static_cast<rknn_core_mask>(mask)) ==
              RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("C1 a chip with one core refuses masks", "[contract][C1]") {
    const Environment soc("RKNPU_SIM_SOC", "rk3568");
    auto model = one_node("Identity", {"", FileType::kFloat, {1, 2}});
    model.target = "rk3568";
    const Net net(model);
    REQUIRE(net.code == RKNN_SUCC);
    for (const int mask : {0, 1, 7})
        CHECK(rknn_set_core_mask(net.handle, static_cast<rknn_core_mask>(mask)) ==
              RKNN_ERR_TARGET_PLATFORM_UNMATCH);
}

TEST_CASE("B2 B3 a number of cores for batches, within those of the chip", "[contract][B2][B3]") {
    {
        const auto pixels = digit_pixels();
        const Net net(digits_file());
        for (const int cores : {1, 2, 3}) {
            CHECK(rknn_set_batch_core_num(net.handle, cores) == RKNN_SUCC);
            CHECK(net.digit(pixels) == reference(pixels));
        }
        for (const int cores : {0, -1, 4, INT_MAX, INT_MIN})
            CHECK(rknn_set_batch_core_num(net.handle, cores) == RKNN_ERR_PARAM_INVALID);
    }
    const Environment soc("RKNPU_SIM_SOC", "rk3576");
    auto model = one_node("Identity", {"", FileType::kFloat, {1, 2}});
    model.target = "rk3576";
    const Net net(model);
    REQUIRE(net.code == RKNN_SUCC);
    CHECK(rknn_set_batch_core_num(net.handle, 2) == RKNN_SUCC);
    CHECK(rknn_set_batch_core_num(net.handle, 3) == RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("M1 M2 sizes of a context's memory", "[contract][M1][M2]") {
    const Net net(digits_file());
    const auto before = net.sizes();
    for (const uint32_t word : before.reserved)
        CHECK(word == 0);
    CHECK(before.total_dma_allocated_size > before.total_weight_size + before.total_internal_size);
    // Inputs and outputs come with the first use.
    net.digit(digit_pixels());
    CHECK(net.sizes().total_dma_allocated_size > before.total_dma_allocated_size);
    CHECK(net.sizes().total_internal_size == before.total_internal_size);
}

TEST_CASE("M4 on-chip memory of the chips", "[contract][M4]") {
    {
        const Net net(digits_file());
        CHECK(net.sizes().total_sram_size == 978944);
    }
    const Environment soc("RKNPU_SIM_SOC", "rk3576");
    auto model = one_node("Identity", {"", FileType::kFloat, {1, 2}});
    model.target = "rk3576";
    const Net net(model);
    REQUIRE(net.code == RKNN_SUCC);
    CHECK(net.sizes().total_sram_size == 491520);
    CHECK(net.sizes().free_sram_size % 4096 == 0);
}

TEST_CASE("M5 versions tell that there is on-chip memory", "[contract][M5]") {
    const Net net(digits_file());
    rknn_sdk_version version{};
    REQUIRE(rknn_query(net.handle, RKNN_QUERY_SDK_VERSION, &version, sizeof(version)) == RKNN_SUCC);
    const auto number = [](const char* text) {
        int major = 0, minor = 0, patch = 0;
        REQUIRE(std::sscanf(text, "%d.%d.%d", &major, &minor, &patch) == 3);
        return major * 10000 + minor * 100 + patch;
    };
    CHECK(number(version.api_version) >= 10600);
    CHECK(number(version.drv_version) >= 902);  // programs that warn of older ones stay quiet
}

TEST_CASE("M7 memory takes on-chip memory first and the rest elsewhere", "[contract][M7]") {
    const Net net(digits_file());
    const auto free = net.sizes().free_sram_size;
    auto* first = rknn_create_mem2(net.handle, 65536, RKNN_FLAG_MEMORY_TRY_ALLOC_SRAM);
    REQUIRE(first != nullptr);
    CHECK(net.sizes().free_sram_size == free - 65536);
    auto* larger = rknn_create_mem2(net.handle, 2 << 20, RKNN_FLAG_MEMORY_TRY_ALLOC_SRAM);
    REQUIRE(larger != nullptr);
    CHECK(net.sizes().free_sram_size == 0);
    CHECK(rknn_destroy_mem(net.handle, larger) == RKNN_SUCC);
    CHECK(rknn_destroy_mem(net.handle, first) == RKNN_SUCC);
    CHECK(net.sizes().free_sram_size == free);
}

TEST_CASE("M10 only the internal memory from outside", "[contract][M10]") {
    Bound bound(RKNN_FLAG_INTERNAL_ALLOC_OUTSIDE);
    CHECK(bound.net.run() == RKNN_ERR_CTX_INVALID);
    REQUIRE(rknn_set_internal_mem(bound.net.handle,
                                  bound.net.memory(bound.net.sizes().total_internal_size)) ==
            RKNN_SUCC);
    const auto pixels = digit_pixels();
    CHECK(bound.run(pixels) == reference(pixels));
}

TEST_CASE("M11 contexts that run in turn share one internal buffer", "[contract][M11]") {
    Bound first(RKNN_FLAG_INTERNAL_ALLOC_OUTSIDE);
    Bound second(RKNN_FLAG_INTERNAL_ALLOC_OUTSIDE);
    auto* shared = rknn_create_mem(first.net.handle, first.net.sizes().total_internal_size);
    REQUIRE(shared != nullptr);
    REQUIRE(rknn_set_internal_mem(first.net.handle, shared) == RKNN_SUCC);
    REQUIRE(rknn_set_internal_mem(second.net.handle, shared) == RKNN_SUCC);
    // The object may go before the contexts.
    REQUIRE(rknn_destroy_mem(first.net.handle, shared) == RKNN_SUCC);
    for (uint32_t i = 0; i < 3; ++i) {
        CHECK(first.run(digit_pixels(i)) == reference(digit_pixels(i)));
        CHECK(second.run(digit_pixels(i + 10)) == reference(digit_pixels(i + 10)));
    }
}

// With RKNPU_SIM_COHERENT=0 only a sync carries bytes between the CPU's copy and the NPU's.
TEST_CASE("S1 what the CPU wrote into the caller's memory outlives a sync from the device",
          "[contract][S1]") {
    const auto model = one_node("Identity", {"", FileType::kFloat, {1, 4}});
    const Net net(model);
    rknn_tensor_attr in{};
    rknn_tensor_attr out{};
    REQUIRE(rknn_query(net.handle, RKNN_QUERY_INPUT_ATTR, &in, sizeof(in)) == RKNN_SUCC);
    REQUIRE(rknn_query(net.handle, RKNN_QUERY_OUTPUT_ATTR, &out, sizeof(out)) == RKNN_SUCC);
    auto* given = rknn_create_mem(net.handle, 4096);
    auto* wanted = rknn_create_mem(net.handle, 4096);
    REQUIRE(given != nullptr);
    REQUIRE(wanted != nullptr);
    const std::vector<float> values{1, -2, 3.5f, 4};
    std::memcpy(given->virt_addr, values.data(), 16);
    REQUIRE(rknn_set_io_mem(net.handle, given, &in) == RKNN_SUCC);
    REQUIRE(rknn_set_io_mem(net.handle, wanted, &out) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    for (const auto mode : {RKNN_MEMORY_SYNC_FROM_DEVICE, RKNN_MEMORY_SYNC_BIDIRECTIONAL}) {
        REQUIRE(rknn_mem_sync(net.handle, wanted, mode) == RKNN_SUCC);
        const auto* start = static_cast<const float*>(wanted->virt_addr);
        CHECK(std::vector<float>(start, start + 4) == values);
    }
    CHECK(rknn_destroy_mem(net.handle, given) == RKNN_SUCC);
    CHECK(rknn_destroy_mem(net.handle, wanted) == RKNN_SUCC);
}

TEST_CASE("S4 memory from a descriptor can be synced by either side", "[contract][S4]") {
    const Net net(digits_file());
    const int fd = memfd_create("elsewhere", MFD_CLOEXEC);
    REQUIRE(ftruncate(fd, 4096) == 0);
    void* mapped = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    auto* memory = rknn_create_mem_from_fd(net.handle, fd, mapped, 2048, 1024);
    REQUIRE(memory != nullptr);
    for (const auto mode :
         {RKNN_MEMORY_SYNC_TO_DEVICE, RKNN_MEMORY_SYNC_FROM_DEVICE, RKNN_MEMORY_SYNC_BIDIRECTIONAL})
        CHECK(rknn_mem_sync(net.handle, memory, mode) == RKNN_SUCC);
    CHECK(rknn_destroy_mem(net.handle, memory) == RKNN_SUCC);
    munmap(mapped, 4096);
    close(fd);
}

TEST_CASE("counts and sizes that the caller claims are not believed", "[contract][E1]") {
    Net net(digits_file());
    const auto pixels = digit_pixels();
    net.digit(pixels);
    rknn_output output{};
    output.want_float = 1;
    rknn_input input{
        0, const_cast<std::byte*>(pixels.data()), 784, 0, RKNN_TENSOR_UINT8, RKNN_TENSOR_NHWC};
    auto shape = net.attr(RKNN_QUERY_INPUT_ATTR);
    for (const uint32_t count : {2u, 0x10000u, UINT32_MAX}) {
        CHECK(rknn_outputs_get(net.handle, count, &output, nullptr) == RKNN_ERR_OUTPUT_INVALID);
        CHECK(rknn_outputs_release(net.handle, count, &output) == RKNN_ERR_OUTPUT_INVALID);
        CHECK(rknn_inputs_set(net.handle, count, &input) == RKNN_ERR_INPUT_INVALID);
        CHECK(rknn_set_input_shapes(net.handle, count, &shape) == RKNN_ERR_PARAM_INVALID);
    }
    CHECK(rknn_inputs_set(net.handle, 0, &input) == RKNN_ERR_INPUT_INVALID);

    // What stands in the structure of a memory object is the caller's own business.
    Net other(digits_file());
    auto attr = other.attr(RKNN_QUERY_NATIVE_INPUT_ATTR);
    auto out_attr = other.attr(RKNN_QUERY_NATIVE_OUTPUT_ATTR);
    auto* small = other.memory(16);
    for (const uint32_t size : {UINT32_MAX, 4096u, 784u}) {
        small->size = size;
        CHECK(rknn_set_io_mem(other.handle, small, &attr) == RKNN_ERR_PARAM_INVALID);
        out_attr.type = RKNN_TENSOR_FLOAT32;
        out_attr.fmt = RKNN_TENSOR_NCHW;
        CHECK(rknn_set_io_mem(other.handle, small, &out_attr) == RKNN_ERR_PARAM_INVALID);
    }
    const Net outside(digits_file(), RKNN_FLAG_MEM_ALLOC_OUTSIDE);
    CHECK(rknn_set_weight_mem(outside.handle, small) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_set_internal_mem(outside.handle, small) == RKNN_ERR_PARAM_INVALID);
    small->virt_addr = nullptr;
    small->offset = -5;
    small->fd = -1;
    small->phys_addr = 0;
    CHECK(rknn_mem_sync(other.handle, small, RKNN_MEMORY_SYNC_TO_DEVICE) == RKNN_SUCC);
}
