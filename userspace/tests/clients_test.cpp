// SPDX-License-Identifier: MIT
// The C programs of clients/ on models of every kind, and their answers against each other.
#include <rknn_matmul_api.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "clients/clients.h"
#include "support/fixture.hpp"
#include "support/networks.hpp"

using namespace rknpu::test;  // NOLINT: tests

namespace {

class ModelFile {
 public:
    explicit ModelFile(const std::vector<std::byte>& bytes) : path_(folder_.path() + "/m.rknn") {
        setenv("RKNPU_DEVICE", "sim", 1);
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path_.c_str(), "wb"),
                                                                   &std::fclose);
        REQUIRE(file != nullptr);
        REQUIRE(std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size());
    }
    const char* path() const { return path_.c_str(); }

 private:
    TempFolder folder_;
    std::string path_;
};

struct Picture {
    std::string model;
    std::vector<std::byte> bytes;
};

using Values = std::vector<float>;

/// Models with one input that is a picture: grey, and in colour with rows that need padding.
const std::vector<Picture>& pictures() {
    static const ModelFile wide(network({24, 16}));
    static const ModelFile narrow(network({9, 7}));
    static const std::vector<Picture> all{{digits_path(), digit_pixels()},
                                          {wide.path(), noise(24 * 16 * 3, 2)},
                                          {narrow.path(), noise(9 * 7 * 3, 3)}};
    return all;
}

job job_of(const Picture& picture, Values& values) {
    setenv("RKNPU_DEVICE", "sim", 1);
    return {picture.model.c_str(), reinterpret_cast<const uint8_t*>(picture.bytes.data()),
            static_cast<uint32_t>(picture.bytes.size()), values.data(),
            static_cast<uint32_t>(values.size())};
}

template <typename Options>
Values answer(int (*client)(job*, const Options*), const Picture& picture, const Options& options) {
    Values values(100000);
    auto work = job_of(picture, values);
    REQUIRE(client(&work, &options) == 0);
    values.resize(work.count);
    return values;
}

Values general(const Picture& picture, const general_options& options) {
    return answer(general_client, picture, options);
}

Values zero_copy(const Picture& picture, const zero_copy_options& options) {
    return answer(zero_copy_client, picture, options);
}

const Values& expected(const Picture& picture) {
    static std::map<std::string, Values> known;
    auto& values = known[picture.model];
    if (values.empty())
        values = general(picture, {0, 0, 1, 0, 0, 0, 0, 0});
    return values;
}

bool equal(const Values& a, const Values& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](float x, float y) {
               return x == Approx(y).margin(1e-6);
           });
}

}  // namespace

TEST_CASE("clients: the general interface, whatever the client prefers", "[clients]") {
    for (const auto& picture : pictures()) {
        INFO(picture.model);
        // from_memory, want_float, preallocated, as_float, planes, duplicate, odd
        for (const general_options& options : {general_options{0, 1, 1, 0, 0, 0, 0, 0},
                                               {0, 0, 0, 0, 0, 0, 0, 0},
                                               {0, 0, 0, 1, 0, 0, 0, 0},
                                               {0, 0, 1, 1, 1, 0, 0, 0},
                                               {0, 0, 1, 0, 0, 1, 0, 0},
                                               {0, 1, 0, 1, 1, 1, 1, 0},
                                               {0, 0, 1, 1, 1, 0, 0, 1},
                                               {0, 0, 0, 1, 0, 1, 0, 1}})
            CHECK(equal(general(picture, options), expected(picture)));
    }
}

TEST_CASE("clients: flags do not change what is computed", "[clients]") {
    const Picture picture{digits_path(), digit_pixels()};
    const Environment quiet("RKNN_LOG_LEVEL", "0");
    for (const uint32_t flags :
         {uint32_t{RKNN_FLAG_PRIOR_MEDIUM}, uint32_t{RKNN_FLAG_PRIOR_LOW},
          uint32_t{RKNN_FLAG_ASYNC_MASK}, uint32_t{RKNN_FLAG_COLLECT_PERF_MASK},
          uint32_t{RKNN_FLAG_EXECUTE_FALLBACK_PRIOR_DEVICE_GPU}, uint32_t{RKNN_FLAG_ENABLE_SRAM},
          uint32_t{RKNN_FLAG_ENABLE_SRAM | RKNN_FLAG_SHARE_SRAM},
          uint32_t{RKNN_FLAG_DISABLE_PROC_HIGH_PRIORITY},
          uint32_t{RKNN_FLAG_PRIOR_LOW | RKNN_FLAG_ASYNC_MASK | RKNN_FLAG_COLLECT_PERF_MASK |
                   RKNN_FLAG_ENABLE_SRAM | RKNN_FLAG_DISABLE_PROC_HIGH_PRIORITY}}) {
        INFO("flags " << flags);
        CHECK(equal(general(picture, {flags, 0, 1, 0, 0, 0, 0, 0}), expected(picture)));
        CHECK(equal(general(picture, {flags, 0, 1, 0, 0, 0, 1, 0}), expected(picture)));
        CHECK(equal(zero_copy(picture, {flags, OUTPUT_FLOAT_NCHW, 0, 0, 0, 0}), expected(picture)));
    }
}

TEST_CASE("clients: zero copy in every form gives what the general interface gives", "[clients]") {
    for (const auto& picture : pictures()) {
        INFO(picture.model);
        for (const auto output :
             {OUTPUT_FLOAT_NCHW, OUTPUT_OWN_NCHW, OUTPUT_NATIVE, OUTPUT_NATIVE_NHWC}) {
            INFO("output form " << output);
            CHECK(equal(zero_copy(picture, {0, output, 0, 0, 0, 0}), expected(picture)));
        }
        // own_weights, from_fd, sync, non_block
        for (const zero_copy_options& options :
             {zero_copy_options{0, OUTPUT_FLOAT_NCHW, 1, 0, 0, 0},
              {0, OUTPUT_FLOAT_NCHW, 0, 1, 0, 0},
              {0, OUTPUT_NATIVE, 0, 0, 1, 0},
              {0, OUTPUT_FLOAT_NCHW, 0, 0, 0, 1},
              {0, OUTPUT_NATIVE, 1, 1, 1, 1}})
            CHECK(equal(zero_copy(picture, options), expected(picture)));
    }
}

TEST_CASE("clients: every query answers", "[clients]") {
    for (const auto& picture : pictures())
        CHECK(print_client(picture.model.c_str()) == 0);
    const std::vector<Size> sizes{{8, 8}, {24, 16}};
    CHECK(print_client(ModelFile(dynamic_network(sizes)).path()) == 0);
    for (const char* name :
         {"segmentation/pp_human_segv2_rk3588.rknn", "multiple_input/multiple_input_rk3588.rknn"}) {
        if (const auto path = shared_file(name); !path.empty())
            CHECK(print_client(path.c_str()) == 0);
    }
}

TEST_CASE("clients: a pool of threads", "[clients]") {
    const Picture picture{digits_path(), digit_pixels()};
    Values values;
    const auto work = job_of(picture, values);
    CHECK(pool_client(&work, 6, 20) == 0);
}

TEST_CASE("clients: matrix multiplications", "[clients]") {
    setenv("RKNPU_DEVICE", "sim", 1);
    for (const int type : {RKNN_INT8_MM_INT8_TO_INT32, RKNN_FLOAT16_MM_FLOAT16_TO_FLOAT32}) {
        CHECK(matmul_client(type, 1, 32, 32) == 0);
        CHECK(matmul_client(type, 5, 96, 64) == 0);
    }
    CHECK(matmul_shapes_client(64, 32) == 0);
}

TEST_CASE("clients: a custom operator", "[clients]") {
    CHECK(custom_op_client(
              ModelFile(write_file(one_node("Mystery", {"", FileType::kFloat, {1, 8}}))).path()) ==
          0);
}

TEST_CASE("clients: several shapes", "[clients]") {
    const std::vector<Size> sizes{{8, 8}, {24, 16}, {16, 8}, {9, 7}};
    CHECK(shapes_client(ModelFile(dynamic_network(sizes)).path()) == 0);
}

TEST_CASE("clients: mistakes get their codes", "[clients]") {
    setenv("RKNPU_DEVICE", "sim", 1);
    CHECK(mistakes_client(digits_path().c_str()) == 0);
}
