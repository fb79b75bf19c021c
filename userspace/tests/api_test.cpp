// SPDX-License-Identifier: MIT
// Contracts of the C interface, each named by the id it has in the project's notes on the
// interface.
#include <dirent.h>
#include <fcntl.h>
#include <rknn_api.h>
#include <rknn_custom_op.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <unistd.h>

#include "support/files.hpp"

using namespace rknpu::test;  // NOLINT: tests

namespace {

std::string digits_path() {
    return models_dir() + "/digits/digits_int8_rk3588.rknn";
}

/// A context on the digit model, on the NPU model inside the process.
class Digits {
 public:
    explicit Digits(uint32_t flags = 0) {
        setenv("RKNPU_DEVICE", "sim", 1);
        auto path = digits_path();
        REQUIRE(rknn_init(&handle, path.data(), 0, flags, nullptr) == RKNN_SUCC);
    }
    ~Digits() {
        if (handle != 0)
            rknn_destroy(handle);
    }
    Digits(const Digits&) = delete;
    Digits& operator=(const Digits&) = delete;

    int set(const std::vector<std::byte>& pixels) const {
        rknn_input input{0,
                         const_cast<std::byte*>(pixels.data()),
                         static_cast<uint32_t>(pixels.size()),
                         0,
                         RKNN_TENSOR_UINT8,
                         RKNN_TENSOR_NHWC};
        return rknn_inputs_set(handle, 1, &input);
    }

    std::vector<float> result() const {
        rknn_output output{};
        output.want_float = 1;
        REQUIRE(rknn_outputs_get(handle, 1, &output, nullptr) == RKNN_SUCC);
        const auto* start = static_cast<const float*>(output.buf);
        std::vector<float> out(start, start + output.size / sizeof(float));
        REQUIRE(rknn_outputs_release(handle, 1, &output) == RKNN_SUCC);
        return out;
    }

    std::vector<float> infer(const std::vector<std::byte>& pixels) const {
        REQUIRE(set(pixels) == RKNN_SUCC);
        REQUIRE(rknn_run(handle, nullptr) == RKNN_SUCC);
        return result();
    }

    rknn_context handle = 0;
};

const std::vector<std::byte>& sample() {
    static const auto pixels = noise(28 * 28, 1);
    return pixels;
}

size_t open_files() {
    size_t count = 0;
    DIR* directory = opendir("/proc/self/fd");
    while (readdir(directory) != nullptr)
        ++count;
    closedir(directory);
    return count;
}

}  // namespace

TEST_CASE("L1 the general sequence repeats on one handle", "[api]") {
    const Digits model;
    const auto first = model.infer(sample());
    CHECK(first.size() == 10);
    CHECK(model.infer(noise(28 * 28, 2)) != first);
    CHECK(model.infer(sample()) == first);
}

TEST_CASE("L4 the model block may be freed right after init", "[api]") {
    setenv("RKNPU_DEVICE", "sim", 1);
    const Digits reference;
    auto block = read_all(digits_path());
    Digits other;
    rknn_destroy(other.handle);
    REQUIRE(rknn_init(&other.handle, block.data(), static_cast<uint32_t>(block.size()), 0,
                      nullptr) == RKNN_SUCC);
    std::fill(block.begin(), block.end(), std::byte{0xee});
    block.clear();
    block.shrink_to_fit();
    CHECK(other.infer(sample()) == reference.infer(sample()));
}

TEST_CASE("L5 a model may lie inside a larger file", "[api]") {
    setenv("RKNPU_DEVICE", "sim", 1);
    const auto model = read_all(digits_path());
    const TempFolder folder;
    const auto path = folder.path() + "/larger";
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
    REQUIRE(fd >= 0);
    const std::vector<std::byte> before(777, std::byte{1});
    REQUIRE(write(fd, before.data(), before.size()) == 777);
    REQUIRE(write(fd, model.data(), model.size()) == static_cast<ssize_t>(model.size()));
    REQUIRE(write(fd, before.data(), before.size()) == 777);
    close(fd);
    rknn_init_extend extend{};
    extend.real_model_offset = 777;
    extend.real_model_size = static_cast<uint32_t>(model.size());
    rknn_context context = 0;
    CHECK(rknn_init(&context, const_cast<char*>(path.c_str()), 0, 0, &extend) == RKNN_SUCC);
    CHECK(rknn_destroy(context) == RKNN_SUCC);
}

TEST_CASE("L6 handles that are gone give CTX_INVALID", "[api]") {
    rknn_context gone = 0;
    {
        Digits model;
        gone = model.handle;
    }
    rknn_input_output_num count{};
    for (const rknn_context handle : {rknn_context{0}, rknn_context{12345}, gone}) {
        CHECK(rknn_query(handle, RKNN_QUERY_IN_OUT_NUM, &count, sizeof(count)) ==
              RKNN_ERR_CTX_INVALID);
        CHECK(rknn_run(handle, nullptr) == RKNN_ERR_CTX_INVALID);
        CHECK(rknn_destroy(handle) == RKNN_ERR_CTX_INVALID);
        CHECK(rknn_create_mem(handle, 4096) == nullptr);
    }
}

TEST_CASE("L7 contexts leave no descriptor behind", "[api]") {
    const Digits keeps_the_device_open;
    const size_t before = open_files();
    for (int i = 0; i < 100; ++i) {
        const Digits model;
        if (i % 10 == 0)
            model.infer(sample());
    }
    CHECK(open_files() == before);
}

TEST_CASE("L9 a context for information answers MEM_SIZE and refuses to run", "[api]") {
    const Digits model(RKNN_FLAG_COLLECT_MODEL_INFO_ONLY | RKNN_FLAG_MEM_ALLOC_OUTSIDE);
    rknn_mem_size sizes{};
    CHECK(rknn_query(model.handle, RKNN_QUERY_MEM_SIZE, &sizes, sizeof(sizes)) == RKNN_SUCC);
    CHECK(sizes.total_weight_size > 0);
    CHECK(rknn_run(model.handle, nullptr) == RKNN_ERR_CTX_INVALID);
}

TEST_CASE("L10 a failed init leaves the handle alone", "[api]") {
    setenv("RKNPU_DEVICE", "sim", 1);
    rknn_context context = 77;
    char missing[] = "/nowhere/model.rknn";
    CHECK(rknn_init(&context, missing, 0, 0, nullptr) == RKNN_ERR_PARAM_INVALID);
    char garbage[64] = "this is no model";
    CHECK(rknn_init(&context, garbage, sizeof(garbage), 0, nullptr) == RKNN_ERR_MODEL_INVALID);
    CHECK(rknn_init(nullptr, garbage, sizeof(garbage), 0, nullptr) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_init(&context, nullptr, 0, 0, nullptr) == RKNN_ERR_PARAM_INVALID);
    CHECK(context == 77);
}

TEST_CASE("E5 without a device init says so", "[api]") {
    if (opendir("/dev/dri") != nullptr)
        return;
    setenv("RKNPU_DEVICE", "drm", 1);
    auto path = digits_path();
    rknn_context context = 0;
    CHECK(rknn_init(&context, path.data(), 0, 0, nullptr) == RKNN_ERR_DEVICE_UNAVAILABLE);
    setenv("RKNPU_DEVICE", "sim", 1);
}

TEST_CASE("G1 inputs are copied", "[api]") {
    const Digits model;
    const auto expected = model.infer(sample());
    auto pixels = sample();
    REQUIRE(model.set(pixels) == RKNN_SUCC);
    std::fill(pixels.begin(), pixels.end(), std::byte{0});
    REQUIRE(rknn_run(model.handle, nullptr) == RKNN_SUCC);
    CHECK(model.result() == expected);
}

TEST_CASE("G3 types that cannot become the input's are refused", "[api]") {
    const Digits model;
    auto pixels = noise(28 * 28 * 8, 3);
    rknn_input input{0, pixels.data(),     static_cast<uint32_t>(pixels.size()),
                     0, RKNN_TENSOR_INT64, RKNN_TENSOR_NHWC};
    CHECK(rknn_inputs_set(model.handle, 1, &input) == RKNN_ERR_INPUT_INVALID);
    input.type = static_cast<rknn_tensor_type>(99);
    CHECK(rknn_inputs_set(model.handle, 1, &input) == RKNN_ERR_INPUT_INVALID);
    input.type = RKNN_TENSOR_UINT8;
    input.index = 5;
    CHECK(rknn_inputs_set(model.handle, 1, &input) == RKNN_ERR_INPUT_INVALID);
    CHECK(rknn_inputs_set(model.handle, 2, &input) == RKNN_ERR_INPUT_INVALID);
}

TEST_CASE("G3 float32 and uint8 pixels mean the same", "[api]") {
    const Digits model;
    const auto expected = model.infer(sample());
    std::vector<float> real;
    for (const std::byte pixel : sample())
        real.push_back(static_cast<float>(std::to_integer<int>(pixel)));
    rknn_input input{0, real.data(),         static_cast<uint32_t>(real.size() * 4),
                     0, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_NHWC};
    REQUIRE(rknn_inputs_set(model.handle, 1, &input) == RKNN_SUCC);
    REQUIRE(rknn_run(model.handle, nullptr) == RKNN_SUCC);
    CHECK(model.result() == expected);
    input.fmt = RKNN_TENSOR_NCHW;  // one channel: the same order
    REQUIRE(rknn_inputs_set(model.handle, 1, &input) == RKNN_SUCC);
    REQUIRE(rknn_run(model.handle, nullptr) == RKNN_SUCC);
    CHECK(model.result() == expected);
}

TEST_CASE("G5 buffers that are too small are refused and change nothing", "[api]") {
    const Digits model;
    const auto expected = model.infer(sample());
    auto small = noise(28 * 28 - 1, 4);
    CHECK(model.set(small) == RKNN_ERR_INPUT_INVALID);
    REQUIRE(rknn_run(model.handle, nullptr) == RKNN_SUCC);
    CHECK(model.result() == expected);
}

TEST_CASE("G8 want_float chooses between real values and codes", "[api]") {
    const Digits model;
    const auto real = model.infer(sample());
    rknn_tensor_attr attr{};
    REQUIRE(rknn_query(model.handle, RKNN_QUERY_OUTPUT_ATTR, &attr, sizeof(attr)) == RKNN_SUCC);
    CHECK(attr.type == RKNN_TENSOR_INT8);
    CHECK(attr.qnt_type == RKNN_TENSOR_QNT_AFFINE_ASYMMETRIC);
    rknn_output output{};
    REQUIRE(rknn_outputs_get(model.handle, 1, &output, nullptr) == RKNN_SUCC);
    REQUIRE(output.size == 10);
    for (size_t i = 0; i < 10; ++i) {
        const int code = static_cast<const int8_t*>(output.buf)[i];
        CHECK(real[i] == Approx(attr.scale * static_cast<float>(code - attr.zp)));
    }
    CHECK(rknn_outputs_release(model.handle, 1, &output) == RKNN_SUCC);
}

TEST_CASE("G10 preallocated outputs are used, too small ones refused", "[api]") {
    const Digits model;
    const auto expected = model.infer(sample());
    std::vector<float> mine(10);
    rknn_output output{1, 1, 0, mine.data(), 40};
    REQUIRE(rknn_outputs_get(model.handle, 1, &output, nullptr) == RKNN_SUCC);
    CHECK(output.buf == mine.data());
    CHECK(mine == expected);
    CHECK(rknn_outputs_release(model.handle, 1, &output) == RKNN_SUCC);
    CHECK(output.buf == mine.data());
    output.size = 39;
    CHECK(rknn_outputs_get(model.handle, 1, &output, nullptr) == RKNN_ERR_OUTPUT_INVALID);
}

TEST_CASE("G11 more outputs than the model has are refused", "[api]") {
    const Digits model;
    model.infer(sample());
    rknn_output outputs[2]{};
    CHECK(rknn_outputs_get(model.handle, 2, outputs, nullptr) == RKNN_ERR_OUTPUT_INVALID);
    outputs[0].index = 1;
    CHECK(rknn_outputs_get(model.handle, 1, outputs, nullptr) == RKNN_ERR_OUTPUT_INVALID);
}

TEST_CASE("G13 G14 attributes are consistent and clean", "[api]") {
    const Digits model;
    for (const auto command :
         {RKNN_QUERY_INPUT_ATTR, RKNN_QUERY_OUTPUT_ATTR, RKNN_QUERY_NATIVE_INPUT_ATTR,
          RKNN_QUERY_NATIVE_OUTPUT_ATTR, RKNN_QUERY_NATIVE_NHWC_INPUT_ATTR,
          RKNN_QUERY_NATIVE_NHWC_OUTPUT_ATTR}) {
        rknn_tensor_attr attr;
        std::memset(&attr, 0xee, sizeof(attr));
        attr.index = 0;
        REQUIRE(rknn_query(model.handle, command, &attr, sizeof(attr)) == RKNN_SUCC);
        CHECK(attr.size == attr.n_elems);
        CHECK(attr.size_with_stride >= attr.size);
        for (uint32_t i = attr.n_dims; i < RKNN_MAX_DIMS; ++i)
            CHECK(attr.dims[i] == 0);
        CHECK(std::memchr(attr.name, 0, sizeof(attr.name)) != nullptr);
    }
}

TEST_CASE("ABI1 structures of older headers are filled as far as they go", "[api]") {
    const Digits model;
    unsigned char old[376];
    std::memset(old, 0, sizeof(old));
    std::memset(old + 372, 0xab, 4);
    CHECK(rknn_query(model.handle, RKNN_QUERY_INPUT_ATTR, old, 372) == RKNN_SUCC);
    CHECK(old[372] == 0xab);
    uint32_t sizes[3] = {0, 0, 0xabababab};
    CHECK(rknn_query(model.handle, RKNN_QUERY_MEM_SIZE, sizes, 8) == RKNN_SUCC);
    CHECK(sizes[0] > 0);
    CHECK(sizes[2] == 0xabababab);
    CHECK(rknn_query(model.handle, RKNN_QUERY_INPUT_ATTR, old, 371) == RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("all query commands answer or refuse as documented", "[api]") {
    const Digits model;
    static char space[40000];
    for (int command = 0; command < RKNN_QUERY_CMD_MAX; ++command) {
        std::memset(space, 0, sizeof(space));
        const int result =
            rknn_query(model.handle, static_cast<rknn_query_cmd>(command), space, sizeof(space));
        const bool current = command >= RKNN_QUERY_CURRENT_INPUT_ATTR;
        INFO("command " << command);
        CHECK(result == (current ? RKNN_ERR_PARAM_INVALID : RKNN_SUCC));
    }
    CHECK(rknn_query(model.handle, RKNN_QUERY_CMD_MAX, space, sizeof(space)) ==
          RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_query(model.handle, RKNN_QUERY_IN_OUT_NUM, nullptr, 8) == RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("D4 current shapes are known after they were chosen", "[api]") {
    const Digits model;
    rknn_tensor_attr attr{};
    REQUIRE(rknn_query(model.handle, RKNN_QUERY_INPUT_ATTR, &attr, sizeof(attr)) == RKNN_SUCC);
    auto wrong = attr;
    wrong.dims[1] = 64;
    CHECK(rknn_set_input_shapes(model.handle, 1, &wrong) == RKNN_ERR_FAIL);
    CHECK(rknn_set_input_shapes(model.handle, 1, &attr) == RKNN_SUCC);
    CHECK(rknn_query(model.handle, RKNN_QUERY_CURRENT_INPUT_ATTR, &attr, sizeof(attr)) ==
          RKNN_SUCC);
}

TEST_CASE("P1 P2 P3 run times and layer tables", "[api]") {
    const Digits plain;
    plain.infer(sample());
    rknn_perf_run run{};
    REQUIRE(rknn_query(plain.handle, RKNN_QUERY_PERF_RUN, &run, sizeof(run)) == RKNN_SUCC);
    CHECK(run.run_duration > 0);
    rknn_perf_detail detail{};
    REQUIRE(rknn_query(plain.handle, RKNN_QUERY_PERF_DETAIL, &detail, sizeof(detail)) == RKNN_SUCC);
    CHECK(detail.data_len == std::strlen(detail.perf_data));

    const Digits measured(RKNN_FLAG_COLLECT_PERF_MASK);
    CHECK(measured.infer(sample()) == plain.result());
    REQUIRE(rknn_query(measured.handle, RKNN_QUERY_PERF_DETAIL, &detail, sizeof(detail)) ==
            RKNN_SUCC);
    CHECK_THAT(detail.perf_data, Catch::Contains("OutputOperator") && Catch::Contains("NPU") &&
                                     Catch::Contains("Total Operator Elapsed"));
}

TEST_CASE("C1 C5 core masks", "[api]") {
    const Digits model;
    const auto expected = model.infer(sample());
    for (const int mask : {0, 1, 2, 4, 3, 7, 0xffff})
        CHECK(rknn_set_core_mask(model.handle, static_cast<rknn_core_mask>(mask)) == RKNN_SUCC);
    for (const int mask : {5, 6, 8, 0x10000})
        CHECK(rknn_set_core_mask(model.handle, static_cast<rknn_core_mask>(mask)) ==
              RKNN_ERR_PARAM_INVALID);
    CHECK(model.infer(sample()) == expected);
    CHECK(rknn_set_batch_core_num(model.handle, 3) == RKNN_SUCC);
    CHECK(rknn_set_batch_core_num(model.handle, 4) == RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("T1 T3 one context from two threads, and two contexts at once", "[api]") {
    const Digits first;
    Digits second;
    const auto expected = first.infer(sample());
    REQUIRE(first.set(sample()) == RKNN_SUCC);
    const auto loop = [&](const Digits& model) {
        for (int i = 0; i < 20; ++i)
            if (rknn_run(model.handle, nullptr) != RKNN_SUCC)
                std::abort();
    };
    second.infer(sample());
    std::thread a([&] { loop(first); });
    std::thread b([&] { loop(first); });
    std::thread c([&] { loop(second); });
    a.join();
    b.join();
    c.join();
    CHECK(first.result() == expected);
    CHECK(second.result() == expected);
}

TEST_CASE("T2 duplicates outlive their source", "[api]") {
    Digits source;
    const auto expected = source.infer(sample());
    Digits copy;
    rknn_destroy(copy.handle);
    REQUIRE(rknn_dup_context(&source.handle, &copy.handle) == RKNN_SUCC);
    Digits second;
    rknn_destroy(second.handle);
    REQUIRE(rknn_dup_context(&copy.handle, &second.handle) == RKNN_SUCC);
    REQUIRE(rknn_destroy(source.handle) == RKNN_SUCC);
    source.handle = 0;
    CHECK(copy.infer(sample()) == expected);
    CHECK(second.infer(sample()) == expected);
}

TEST_CASE("a run without waiting ends with rknn_wait", "[api]") {
    const Digits model;
    const auto expected = model.infer(sample());
    REQUIRE(model.set(sample()) == RKNN_SUCC);
    rknn_run_extend extend{};
    extend.non_block = 1;
    extend.fence_fd = -1;
    REQUIRE(rknn_run(model.handle, &extend) == RKNN_SUCC);
    CHECK(rknn_wait(model.handle, &extend) == RKNN_SUCC);
    CHECK(model.result() == expected);
}

TEST_CASE("E1 a run before inputs are set is refused", "[api]") {
    const Digits model;
    CHECK(rknn_run(model.handle, nullptr) == RKNN_ERR_INPUT_INVALID);
    rknn_output output{};
    CHECK(rknn_outputs_get(model.handle, 1, &output, nullptr) == RKNN_ERR_OUTPUT_INVALID);
    CHECK(rknn_outputs_release(model.handle, 1, &output) == RKNN_SUCC);
    CHECK(rknn_inputs_set(model.handle, 1, nullptr) == RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("O5 custom operators without compute are refused", "[api]") {
    const Digits model;
    static rknn_custom_op op;
    std::memset(&op, 0, sizeof(op));
    op.target = RKNN_TARGET_TYPE_CPU;
    std::strcpy(op.op_type, "cstNothing");
    CHECK(rknn_register_custom_ops(model.handle, &op, 1) == RKNN_ERR_PARAM_INVALID);
    op.compute = [](rknn_custom_op_context*, rknn_custom_op_tensor*, uint32_t,
                    rknn_custom_op_tensor*, uint32_t) { return 0; };
    CHECK(rknn_register_custom_ops(model.handle, &op, 1) == RKNN_SUCC);
    CHECK(rknn_register_custom_ops(model.handle, &op, 1) == RKNN_ERR_PARAM_INVALID);
}
