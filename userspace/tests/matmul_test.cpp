// SPDX-License-Identifier: MIT
// Contracts X1 to X17: matrix multiplications.
#include <rknn_matmul_api.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "support/fixture.hpp"
#include "support/matmul_case.hpp"

using namespace rknpu::test;  // NOLINT

namespace {

/// A context with its attributes, for tests that do more than one multiplication.
struct Context {
    explicit Context(rknn_matmul_info wanted) : info(wanted) {
        code = rknn_matmul_create(&handle, &info, &attr);
    }
    ~Context() {
        for (auto* memory : made)
            rknn_destroy_mem(handle, memory);
        if (handle != 0)
            rknn_matmul_destroy(handle);
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    rknn_tensor_mem* memory(uint32_t size) {
        made.push_back(rknn_create_mem(handle, size));
        REQUIRE(made.back() != nullptr);
        std::memset(made.back()->virt_addr, 0, size);
        return made.back();
    }

    rknn_matmul_info info;
    rknn_matmul_ctx handle = 0;
    rknn_matmul_io_attr attr{};
    int code = 0;
    std::vector<rknn_tensor_mem*> made;
};

rknn_matmul_info info_of(rknn_matmul_type type, int32_t m, int32_t k, int32_t n) {
    rknn_matmul_info info{};
    info.M = m;
    info.K = k;
    info.N = n;
    info.type = type;
    return info;
}

std::vector<uint32_t> dims(const rknn_matmul_tensor_attr& attr) {
    return {attr.dims, attr.dims + attr.n_dims};
}

using Dims = std::vector<uint32_t>;

template <typename T>
T* as(rknn_tensor_mem* memory) {
    return static_cast<T*>(memory->virt_addr);
}

void check(const MatmulCase& test) {
    INFO(describe(test));
    const auto got = multiply(test);
    REQUIRE(!got.empty());
    CHECK(worst(got, expect(test)) <= 1.0);
}

}  // namespace

TEST_CASE("X1 X2 names, dims and sizes of A, B and C", "[matmul][X1][X2]") {
    const Environment device("RKNPU_DEVICE", "sim");
    SECTION("normal layouts have two dims") {
        const Context context(info_of(RKNN_INT8_MM_INT8_TO_INT32, 5, 96, 64));
        REQUIRE(context.code == RKNN_SUCC);
        CHECK(std::string(context.attr.A.name) == "A");
        CHECK(std::string(context.attr.B.name) == "B");
        CHECK(std::string(context.attr.C.name) == "C");
        CHECK(dims(context.attr.A) == Dims{5, 96});
        CHECK(dims(context.attr.B) == Dims{96, 64});
        CHECK(dims(context.attr.C) == Dims{5, 64});
        CHECK(context.attr.A.size == 5 * 96);
        CHECK(context.attr.B.size == 96 * 64);
        CHECK(context.attr.C.size == 5 * 64 * 4);
        CHECK(context.attr.C.type == RKNN_TENSOR_INT32);
    }
    SECTION("native layouts of float16") {
        auto info = info_of(RKNN_FLOAT16_MM_FLOAT16_TO_FLOAT32, 7, 64, 48);
        info.B_layout = RKNN_MM_LAYOUT_NATIVE;
        info.AC_layout = RKNN_MM_LAYOUT_NATIVE;
        const Context context(info);
        REQUIRE(context.code == RKNN_SUCC);
        CHECK(dims(context.attr.A) == Dims{8, 7, 8});
        CHECK(dims(context.attr.B) == Dims{3, 2, 16, 32});
        CHECK(dims(context.attr.C) == Dims{12, 7, 4});
        CHECK(context.attr.A.type == RKNN_TENSOR_FLOAT16);
        CHECK(context.attr.B.size == 64 * 48 * 2);
    }
    SECTION("native layouts of int8") {
        auto info = info_of(RKNN_INT8_MM_INT8_TO_INT8, 3, 32, 64);
        info.B_layout = RKNN_MM_LAYOUT_NATIVE;
        info.AC_layout = RKNN_MM_LAYOUT_NATIVE;
        const Context context(info);
        REQUIRE(context.code == RKNN_SUCC);
        CHECK(dims(context.attr.A) == Dims{2, 3, 16});
        CHECK(dims(context.attr.B) == Dims{2, 1, 32, 32});
        CHECK(dims(context.attr.C) == Dims{4, 3, 16});
    }
    SECTION("native layouts of int4: two values in a byte") {
        auto info = info_of(RKNN_INT4_MM_INT4_TO_INT16, 3, 64, 128);
        info.B_layout = RKNN_MM_LAYOUT_NATIVE;
        info.AC_layout = RKNN_MM_LAYOUT_NATIVE;
        const Context context(info);
        REQUIRE(context.code == RKNN_SUCC);
        CHECK(dims(context.attr.A) == Dims{2, 3, 32});
        CHECK(dims(context.attr.B) == Dims{2, 2, 64, 32});
        CHECK(dims(context.attr.C) == Dims{16, 3, 8});
        CHECK(context.attr.A.size == 3 * 64 / 2);
        CHECK(context.attr.B.size == 64 * 128 / 2);
        CHECK(context.attr.C.size == 3 * 128 * 2);
    }
}

TEST_CASE("X3 X8 X9 X15 random shapes of every type of RK3588 agree with plain arithmetic",
          "[matmul][X3][X8][X9][X15]") {
    const Environment device("RKNPU_DEVICE", "sim");
    for (const auto type : types_of("rk3588"))
        for (uint32_t seed = 1; seed <= 12; ++seed)
            check(random_case(type, seed));
}

TEST_CASE("X10 X15 random shapes of every type of RK3576 agree with plain arithmetic",
          "[matmul][X10][X15]") {
    const Environment device("RKNPU_DEVICE", "sim");
    const Environment soc("RKNPU_SIM_SOC", "rk3576");
    for (const auto type : types_of("rk3576"))
        for (uint32_t seed = 100; seed < 106; ++seed) {
            auto test = random_case(type, seed);
            test.k_segment = 4096;
            check(test);
        }
}

TEST_CASE("X3 every layout of A, B and C gives the same product", "[matmul][X3]") {
    const Environment device("RKNPU_DEVICE", "sim");
    for (const auto type : types_of("rk3588")) {
        MatmulCase test;
        test.type = type;
        test.m = 9;
        test.k = 160;
        test.n = 128;
        const auto first = multiply(test);
        REQUIRE(!first.empty());
        for (const auto b : {RKNN_MM_LAYOUT_NORM, RKNN_MM_LAYOUT_NATIVE, RKNN_MM_LAYOUT_TP_NORM})
            for (const auto ac : {RKNN_MM_LAYOUT_NORM, RKNN_MM_LAYOUT_NATIVE}) {
                test.b_layout = b;
                test.ac_layout = ac;
                INFO(describe(test));
                CHECK(multiply(test) == first);
            }
    }
}

TEST_CASE("X4 a long K is cut into segments and summed", "[matmul][X4]") {
    const Environment device("RKNPU_DEVICE", "sim");
    for (const auto type : {RKNN_INT8_MM_INT8_TO_INT32, RKNN_FLOAT16_MM_FLOAT16_TO_FLOAT32,
                            RKNN_INT8_MM_INT8_TO_INT8, RKNN_INT4_MM_INT4_TO_INT16})
        for (const int32_t k : {8192, 8192 + 32, 10240, 20480}) {
            MatmulCase test;
            test.type = type;
            test.m = 3;
            test.k = k;
            test.n = 64;
            test.b_layout = RKNN_MM_LAYOUT_NATIVE;
            check(test);
            test.b_layout = RKNN_MM_LAYOUT_NORM;
            test.ac_layout = RKNN_MM_LAYOUT_NATIVE;
            test.core_mask = 3;
            check(test);
        }
    const Environment soc("RKNPU_SIM_SOC", "rk3576");
    MatmulCase test;
    test.k = 10240;
    test.b_layout = RKNN_MM_LAYOUT_NATIVE;
    test.k_segment = 4096;
    check(test);
}

TEST_CASE("more rows than one task takes are cut", "[matmul]") {
    const Environment device("RKNPU_DEVICE", "sim");
    for (const int32_t m : {961, 2100}) {
        MatmulCase test;
        test.m = m;
        test.k = 32;
        test.n = 32;
        test.ac_layout = RKNN_MM_LAYOUT_NATIVE;
        check(test);
    }
    // Few rows of a long K fit the convolution buffer.
    MatmulCase test;
    test.type = RKNN_FLOAT16_MM_FLOAT16_TO_FLOAT32;
    test.m = 70;
    test.k = 4096;
    test.n = 32;
    check(test);
}

TEST_CASE("X5 the conversion of B equals the permutation, split K included", "[matmul][X5]") {
    const Environment device("RKNPU_DEVICE", "sim");
    for (const int32_t k : {32, 96, 8192, 10240, 20480}) {
        constexpr int32_t kN = 64;
        auto info = info_of(RKNN_INT8_MM_INT8_TO_INT32, 1, k, kN);
        std::vector<int8_t> from(size_t(k) * kN);
        std::vector<int8_t> to(from.size());
        for (size_t i = 0; i < from.size(); ++i)
            from[i] = static_cast<int8_t>(i * 7 + i / 251);
        REQUIRE(rknn_B_normal_layout_to_native_layout(from.data(), to.data(), k, kN, &info) == 0);
        // [segment][N / 32][rows / 32][32][32], as the manual draws it.
        size_t at = 0;
        bool same = true;
        for (int32_t first = 0; first < k; first += 8192)
            for (int32_t n = 0; n < kN; n += 32)
                for (int32_t k0 = first; k0 < std::min(k, first + 8192); k0 += 32)
                    for (int32_t i = 0; i < 32; ++i)
                        for (int32_t j = 0; j < 32; ++j)
                            same = same && to[at++] == from[size_t(k0 + j) * kN + n + i];
        CHECK(same);
    }
    // int4: the even element is the high half of a byte.
    auto info = info_of(RKNN_INT4_MM_INT4_TO_INT16, 1, 32, 64);
    std::vector<uint8_t> from(32 * 64 / 2);
    std::vector<uint8_t> to(from.size());
    std::iota(from.begin(), from.end(), uint8_t{0});
    REQUIRE(rknn_B_normal_layout_to_native_layout(from.data(), to.data(), 32, 64, &info) == 0);
    const auto nibble = [](const std::vector<uint8_t>& bytes, size_t index) {
        return index % 2 == 0 ? bytes[index / 2] >> 4 : bytes[index / 2] & 0xf;
    };
    bool same = true;
    for (size_t n = 0; n < 64; ++n)
        for (size_t k = 0; k < 32; ++k)
            same = same && nibble(to, n * 32 + k) == nibble(from, k * 64 + n);
    CHECK(same);
    CHECK(rknn_B_normal_layout_to_native_layout(from.data(), to.data(), 33, 64, &info) ==
          RKNN_ERR_PARAM_INVALID);
    // Programs built for seven arguments pass a number here.
    CHECK(rknn_B_normal_layout_to_native_layout(from.data(), to.data(), 32, 64,
                                                reinterpret_cast<rknn_matmul_info*>(16)) ==
          RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("X6 X7 a call takes changed data over, B may stay bound", "[matmul][X6][X7]") {
    const Environment device("RKNPU_DEVICE", "sim");
    Context context(info_of(RKNN_INT8_MM_INT8_TO_INT32, 1, 32, 32));
    REQUIRE(context.code == RKNN_SUCC);
    auto* a = context.memory(context.attr.A.size);
    auto* b = context.memory(context.attr.B.size);
    auto* c = context.memory(context.attr.C.size);
    std::memset(b->virt_addr, 1, context.attr.B.size);
    REQUIRE(rknn_matmul_set_io_mem(context.handle, b, &context.attr.B) == RKNN_SUCC);
    REQUIRE(rknn_matmul_set_io_mem(context.handle, c, &context.attr.C) == RKNN_SUCC);
    for (int8_t value = 1; value < 4; ++value) {
        std::memset(a->virt_addr, value, context.attr.A.size);
        REQUIRE(rknn_matmul_set_io_mem(context.handle, a, &context.attr.A) == RKNN_SUCC);
        REQUIRE(rknn_matmul_run(context.handle) == RKNN_SUCC);
        CHECK(as<int32_t>(c)[31] == 32 * value);
    }
    auto* other = context.memory(context.attr.C.size);
    REQUIRE(rknn_matmul_set_io_mem(context.handle, other, &context.attr.C) == RKNN_SUCC);
    REQUIRE(rknn_matmul_run(context.handle) == RKNN_SUCC);
    CHECK(as<int32_t>(other)[0] == 96);
}

TEST_CASE("X8 numbers and zero points of scales are checked", "[matmul][X8]") {
    const Environment device("RKNPU_DEVICE", "sim");
    auto info = info_of(RKNN_INT8_MM_INT8_TO_FLOAT32, 2, 64, 32);
    info.B_quant_type = RKNN_QUANT_TYPE_PER_GROUP_SYM;
    info.group_size = 32;
    const Context context(info);
    REQUIRE(context.code == RKNN_SUCC);
    std::vector<float> scales(32 * 64 / 32, 0.5f);
    std::vector<int32_t> zeros(scales.size(), 0);
    rknn_quant_params params{};
    std::strcpy(params.name, "B");
    params.scale = scales.data();
    params.scale_len = static_cast<int32_t>(scales.size());
    CHECK(rknn_matmul_set_quant_params(context.handle, &params) == RKNN_SUCC);
    params.zp = zeros.data();
    params.zp_len = params.scale_len;
    CHECK(rknn_matmul_set_quant_params(context.handle, &params) == RKNN_SUCC);
    zeros[3] = 1;  // symmetric means that all are 0
    CHECK(rknn_matmul_set_quant_params(context.handle, &params) == RKNN_ERR_PARAM_INVALID);
    zeros[3] = 0;
    for (const int32_t length : {32, -1, 1 << 20, INT32_MAX}) {  // none of it is read
        params.scale_len = length;
        CHECK(rknn_matmul_set_quant_params(context.handle, &params) == RKNN_ERR_PARAM_INVALID);
    }
    params.scale_len = static_cast<int32_t>(scales.size());
    params.zp_len = INT32_MAX;
    CHECK(rknn_matmul_set_quant_params(context.handle, &params) == RKNN_ERR_PARAM_INVALID);
    params.zp_len = params.scale_len;
    scales[0] = 0.0f;
    CHECK(rknn_matmul_set_quant_params(context.handle, &params) == RKNN_ERR_PARAM_INVALID);
    std::strcpy(params.name, "D");
    CHECK(rknn_matmul_set_quant_params(context.handle, &params) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_matmul_set_quant_params(context.handle, nullptr) == RKNN_ERR_PARAM_INVALID);

    info.group_size = 33;
    CHECK(Context(info).code == RKNN_ERR_PARAM_INVALID);
    info = info_of(RKNN_INT8_MM_INT8_TO_INT32, 2, 64, 32);
    info.B_quant_type = RKNN_QUANT_TYPE_PER_GROUP_SYM;
    info.group_size = 32;
    CHECK(Context(info).code == RKNN_ERR_PARAM_INVALID);
    info.B_quant_type = 6;
    CHECK(Context(info).code == RKNN_ERR_PARAM_INVALID);
    info = info_of(RKNN_FLOAT16_MM_FLOAT16_TO_FLOAT32, 2, 64, 32);
    info.B_quant_type = RKNN_QUANT_TYPE_PER_CHANNEL_SYM;
    CHECK(Context(info).code == RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("X9 normalised scales of B times their factor are the scales", "[matmul][X9]") {
    const Environment device("RKNPU_DEVICE", "sim");
    auto info = info_of(RKNN_INT8_MM_INT8_TO_INT32, 2, 32, 32);
    info.B_quant_type = RKNN_QUANT_TYPE_PER_CHANNEL_SYM;
    const Context context(info);
    REQUIRE(context.code == RKNN_SUCC);
    std::vector<float> scales(32);
    for (size_t i = 0; i < scales.size(); ++i)
        scales[i] = 0.25f * static_cast<float>(i + 1);
    rknn_quant_params params{};
    std::strcpy(params.name, "B");
    params.scale = scales.data();
    params.scale_len = 32;
    REQUIRE(rknn_matmul_set_quant_params(context.handle, &params) == RKNN_SUCC);
    std::vector<float> got(32);
    params.scale = got.data();
    float factor = 0;
    REQUIRE(rknn_matmul_get_quant_params(context.handle, &params, &factor) == RKNN_SUCC);
    CHECK(factor == 8.0f);
    for (size_t i = 0; i < scales.size(); ++i)
        CHECK(got[i] * factor == scales[i]);
    params.scale_len = 31;
    CHECK(rknn_matmul_get_quant_params(context.handle, &params, &factor) == RKNN_ERR_PARAM_INVALID);
    const Context other(info_of(RKNN_INT8_MM_INT8_TO_INT8, 2, 32, 32));
    CHECK(rknn_matmul_get_quant_params(other.handle, &params, &factor) == RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("X10 types the chip does not take are refused", "[matmul][X10]") {
    const Environment device("RKNPU_DEVICE", "sim");
    for (const auto type : types_of("rk3576")) {
        const auto known = types_of("rk3588");
        const bool taken = std::find(known.begin(), known.end(), type) != known.end();
        CHECK(Context(info_of(type, 1, 64, 64)).code ==
              (taken ? RKNN_SUCC : RKNN_ERR_PARAM_INVALID));
    }
    for (const int type : {0, 13, 14, 16, -1})
        CHECK(Context(info_of(static_cast<rknn_matmul_type>(type), 1, 64, 64)).code ==
              RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("X11 X12 K and N have to be multiples, M may be anything", "[matmul][X11][X12]") {
    const Environment device("RKNPU_DEVICE", "sim");
    struct Row {
        rknn_matmul_type type;
        int32_t n;  // smallest
    };
    for (const Row row :
         {Row{RKNN_INT8_MM_INT8_TO_INT32, 32}, Row{RKNN_FLOAT16_MM_FLOAT16_TO_FLOAT32, 16},
          Row{RKNN_INT4_MM_INT4_TO_INT16, 64}}) {
        CHECK(Context(info_of(row.type, 1, 32, row.n)).code == RKNN_SUCC);
        CHECK(Context(info_of(row.type, 17, 32, row.n)).code == RKNN_SUCC);
        CHECK(Context(info_of(row.type, 1, 16, row.n)).code == RKNN_ERR_PARAM_INVALID);
        CHECK(Context(info_of(row.type, 1, 32, row.n / 2)).code == RKNN_ERR_PARAM_INVALID);
        CHECK(Context(info_of(row.type, 0, 32, row.n)).code == RKNN_ERR_PARAM_INVALID);
        CHECK(Context(info_of(row.type, -1, 32, row.n)).code == RKNN_ERR_PARAM_INVALID);
        CHECK(Context(info_of(row.type, INT32_MAX, 32, row.n)).code == RKNN_ERR_PARAM_INVALID);
        CHECK(Context(info_of(row.type, 1, INT32_MAX - 31, row.n)).code == RKNN_ERR_PARAM_INVALID);
    }
    const Environment soc("RKNPU_SIM_SOC", "rk3576");
    // Mixed types: B keeps to the rules of the type of A.
    CHECK(Context(info_of(RKNN_FLOAT16_MM_INT4_TO_FLOAT16, 1, 32, 16)).code == RKNN_SUCC);
    CHECK(Context(info_of(RKNN_INT8_MM_INT4_TO_INT32, 1, 32, 32)).code == RKNN_SUCC);
    CHECK(Context(info_of(RKNN_INT8_MM_INT4_TO_INT32, 1, 32, 16)).code == RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("X13 dynamic shapes: only those given at creation", "[matmul][X13]") {
    const Environment device("RKNPU_DEVICE", "sim");
    auto info = info_of(RKNN_INT8_MM_INT8_TO_INT32, 0, 0, 0);
    rknn_matmul_shape shapes[] = {{1, 32, 32}, {4, 32, 32}, {2, 64, 64}};
    rknn_matmul_io_attr attrs[3] = {};
    rknn_matmul_ctx context = 0;
    REQUIRE(rknn_matmul_create_dynamic_shape(&context, &info, 3, shapes, attrs) == RKNN_SUCC);
    CHECK(dims(attrs[1].A) == Dims{4, 32});
    CHECK(dims(attrs[2].B) == Dims{64, 64});
    auto* a = rknn_create_mem(context, 4096);
    auto* b = rknn_create_mem(context, 4096);
    auto* c = rknn_create_mem(context, 4096);
    std::memset(a->virt_addr, 1, 4096);
    std::memset(b->virt_addr, 2, 4096);
    for (const int i : {2, 0, 1, 2}) {
        REQUIRE(rknn_matmul_set_dynamic_shape(context, &shapes[i]) == RKNN_SUCC);
        CHECK(rknn_matmul_set_io_mem(context, a, &attrs[(i + 1) % 3].A) == RKNN_ERR_PARAM_INVALID);
        REQUIRE(rknn_matmul_set_io_mem(context, a, &attrs[i].A) == RKNN_SUCC);
        REQUIRE(rknn_matmul_set_io_mem(context, b, &attrs[i].B) == RKNN_SUCC);
        REQUIRE(rknn_matmul_set_io_mem(context, c, &attrs[i].C) == RKNN_SUCC);
        REQUIRE(rknn_matmul_run(context) == RKNN_SUCC);
        CHECK(as<int32_t>(c)[shapes[i].M * shapes[i].N - 1] == 2 * shapes[i].K);
    }
    rknn_matmul_shape other{3, 32, 32};
    CHECK(rknn_matmul_set_dynamic_shape(context, &other) == RKNN_ERR_PARAM_INVALID);
    for (auto* memory : {a, b, c})
        rknn_destroy_mem(context, memory);
    CHECK(rknn_matmul_destroy(context) == RKNN_SUCC);
    CHECK(rknn_matmul_destroy(context) == RKNN_ERR_CTX_INVALID);
    CHECK(rknn_matmul_create_dynamic_shape(&context, &info, 0, shapes, attrs) ==
          RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_matmul_create_dynamic_shape(&context, &info, 513, shapes, attrs) ==
          RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("X14 memory of one context in another: C of the first is A of the second",
          "[matmul][X14]") {
    const Environment device("RKNPU_DEVICE", "sim");
    Context first(info_of(RKNN_INT8_MM_INT8_TO_INT8, 2, 32, 64));
    Context second(info_of(RKNN_INT8_MM_INT8_TO_INT32, 2, 64, 32));
    auto* a = first.memory(first.attr.A.size);
    auto* b = first.memory(first.attr.B.size);
    auto* c = first.memory(first.attr.C.size);
    auto* b2 = second.memory(second.attr.B.size);
    auto* c2 = second.memory(second.attr.C.size);
    std::memset(a->virt_addr, 1, first.attr.A.size);
    std::memset(b->virt_addr, 1, first.attr.B.size);
    std::memset(b2->virt_addr, 1, second.attr.B.size);
    REQUIRE(rknn_matmul_set_io_mem(first.handle, a, &first.attr.A) == RKNN_SUCC);
    REQUIRE(rknn_matmul_set_io_mem(first.handle, b, &first.attr.B) == RKNN_SUCC);
    REQUIRE(rknn_matmul_set_io_mem(first.handle, c, &first.attr.C) == RKNN_SUCC);
    REQUIRE(rknn_matmul_run(first.handle) == RKNN_SUCC);
    REQUIRE(rknn_matmul_set_io_mem(second.handle, c, &second.attr.A) == RKNN_SUCC);
    REQUIRE(rknn_matmul_set_io_mem(second.handle, b2, &second.attr.B) == RKNN_SUCC);
    REQUIRE(rknn_matmul_set_io_mem(second.handle, c2, &second.attr.C) == RKNN_SUCC);
    REQUIRE(rknn_matmul_run(second.handle) == RKNN_SUCC);
    CHECK(as<int32_t>(c2)[0] == 32 * 64);
}

TEST_CASE("X16 every core mask gives the same bytes", "[matmul][X16]") {
    const Environment device("RKNPU_DEVICE", "sim");
    for (const auto type : types_of("rk3588")) {
        MatmulCase test;
        test.type = type;
        test.m = 5;
        test.k = 96;
        test.n = 192;
        test.ac_layout = RKNN_MM_LAYOUT_NATIVE;
        const auto first = multiply(test);
        REQUIRE(!first.empty());
        for (const uint32_t mask : {1u, 2u, 4u, 3u, 7u, 0xffffu}) {
            test.core_mask = mask;
            INFO(describe(test));
            CHECK(multiply(test) == first);
        }
        // One group of columns cannot be shared; it runs on one core.
        test.n = type == RKNN_INT4_MM_INT4_TO_INT16 ? 64 : 32;
        test.core_mask = 7;
        check(test);
    }
    const Context context(info_of(RKNN_INT8_MM_INT8_TO_INT32, 1, 32, 32));
    for (const int mask : {5, 6, 8, 0x10000})
        CHECK(rknn_matmul_set_core_mask(context.handle, static_cast<rknn_core_mask>(mask)) ==
              RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("M12 X17 another address space may be named", "[matmul][M12][X17]") {
    const Environment device("RKNPU_DEVICE", "sim");
    for (const int32_t domain : {0, 1, 15, -1, 0x7fffffff}) {
        auto info = info_of(RKNN_INT8_MM_INT8_TO_INT32, 1, 32, 32);
        info.iommu_domain_id = domain;
        CHECK(Context(info).code == RKNN_SUCC);
    }
}

TEST_CASE("ABI2 a program built with the 24-byte matmul structure works", "[matmul][abi]") {
    const Environment device("RKNPU_DEVICE", "sim");
    // 1.5.2: type is a rknn_tensor_type; 1.6.0: a rknn_matmul_type. Layouts are int32 in both.
    struct OldInfo {
        int32_t M, K, N, type, layout, perf_layout;
    };
    static_assert(sizeof(OldInfo) == 24);
    for (const int32_t type : {RKNN_TENSOR_FLOAT16, RKNN_TENSOR_INT8})
        for (const int32_t layout : {0, 1}) {
            // On the heap and of the exact size: a sanitizer sees every byte read behind it.
            const auto info = std::make_unique<OldInfo>(OldInfo{2, 64, 32, type, layout, layout});
            rknn_matmul_ctx context = 0;
            rknn_matmul_io_attr attr{};
            REQUIRE(rknn_matmul_create(&context, reinterpret_cast<rknn_matmul_info*>(info.get()),
                                       &attr) == RKNN_SUCC);
            CHECK(attr.A.n_dims == (layout == 0 ? 2u : 3u));
            CHECK(attr.B.n_dims == (layout == 0 ? 2u : 4u));
            CHECK(attr.C.type ==
                  (type == RKNN_TENSOR_INT8 ? RKNN_TENSOR_INT32 : RKNN_TENSOR_FLOAT32));
            CHECK(rknn_matmul_destroy(context) == RKNN_SUCC);
        }
}

TEST_CASE("wrong arguments of the matmul functions are refused", "[matmul]") {
    const Environment device("RKNPU_DEVICE", "sim");
    auto info = info_of(RKNN_INT8_MM_INT8_TO_INT32, 1, 32, 32);
    rknn_matmul_io_attr attr{};
    rknn_matmul_ctx handle = 0;
    CHECK(rknn_matmul_create(nullptr, &info, &attr) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_matmul_create(&handle, nullptr, &attr) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_matmul_create(&handle, &info, nullptr) == RKNN_ERR_PARAM_INVALID);
    CHECK(handle == 0);
    for (const auto& [b, ac] : {std::pair{3, 0}, {-1, 0}, {0, 2}, {0, -1}}) {
        auto wrong = info;
        wrong.B_layout = static_cast<int16_t>(b);
        wrong.AC_layout = static_cast<int16_t>(ac);
        CHECK(rknn_matmul_create(&handle, &wrong, &attr) == RKNN_ERR_PARAM_INVALID);
    }
    Context context(info);
    CHECK(rknn_matmul_run(context.handle) == RKNN_ERR_CTX_INVALID);  // nothing is bound
    auto* small = context.memory(16);
    CHECK(rknn_matmul_set_io_mem(context.handle, small, &context.attr.A) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_matmul_set_io_mem(context.handle, nullptr, &context.attr.A) ==
          RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_matmul_set_io_mem(context.handle, small, nullptr) == RKNN_ERR_PARAM_INVALID);
    small->size = UINT32_MAX;  // a claim, not the memory's size
    CHECK(rknn_matmul_set_io_mem(context.handle, small, &context.attr.A) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_matmul_run(12345) == RKNN_ERR_CTX_INVALID);
    // A context of the other kind.
    CHECK(rknn_run(context.handle, nullptr) == RKNN_ERR_CTX_INVALID);
}

TEST_CASE("strict mode refuses multiplications that the CPU would do", "[matmul][limits]") {
    const Environment device("RKNPU_DEVICE", "sim");
    const Environment strict("RKNPU_STRICT", "1");
    CHECK(Context(info_of(RKNN_INT8_MM_INT8_TO_INT32, 1, 32, 32)).code == RKNN_SUCC);
    const Environment soc("RKNPU_SIM_SOC", "rk3576");
    CHECK(Context(info_of(RKNN_INT8_MM_INT8_TO_INT32, 1, 32, 32)).code == RKNN_ERR_MODEL_INVALID);
}
