// SPDX-License-Identifier: MIT
// Programs built against older headers: their structures are written out here, lie in memory of
// exactly their size, and are handed to the library of today.
#include <rknn_api.h>
#include <rknn_custom_op.h>

#include <cstddef>
#include <memory>

#include "support/fixture.hpp"

using namespace rknpu::test;  // NOLINT: tests

namespace {

#if defined(__arm__)
using OldContext = uint32_t;
#else
using OldContext = uint64_t;
#endif

/// Headers 1.5.2 and 1.6.0: the same but for what is said.
namespace v15 {

struct InOutNum {
    uint32_t n_input, n_output;
};

struct TensorAttr {  // without h_stride before 1.3.0
    uint32_t index;
    uint32_t n_dims;
    uint32_t dims[16];
    char name[256];
    uint32_t n_elems;
    uint32_t size;
    int32_t fmt;
    int32_t type;
    int32_t qnt_type;
    int8_t fl;
    int32_t zp;
    float scale;
    uint32_t w_stride;
    uint32_t size_with_stride;
    uint8_t pass_through;
    uint32_t h_stride;
};
static_assert(sizeof(TensorAttr) == 376);

struct MemSize {
    uint32_t total_weight_size;
    uint32_t total_internal_size;
    uint64_t total_dma_allocated_size;
    uint32_t total_sram_size;
    uint32_t free_sram_size;
    uint32_t reserved[10];
};
static_assert(sizeof(MemSize) == 64);

struct TensorMem {
    void* virt_addr;
    uint64_t phys_addr;
    int32_t fd;
    int32_t offset;
    uint32_t size;
    uint32_t flags;
    void* priv_data;
};

struct Input {
    uint32_t index;
    void* buf;
    uint32_t size;
    uint8_t pass_through;
    int32_t type;
    int32_t fmt;
};

struct Output {
    uint8_t want_float;
    uint8_t is_prealloc;
    uint32_t index;
    void* buf;
    uint32_t size;
};

/// No model_buffer_fd and model_buffer_flags yet: reserved bytes.
struct InitExtend {
    OldContext ctx;
    int32_t real_model_offset;
    uint32_t real_model_size;
    uint8_t reserved[120];
};
static_assert(sizeof(InitExtend) == sizeof(rknn_init_extend));

struct RunExtend {
    uint64_t frame_id;
    int32_t non_block;
    int32_t timeout_ms;
    int32_t fence_fd;
};

struct PerfRun {
    int64_t run_duration;
};

struct SdkVersion {
    char api_version[256];
    char drv_version[256];
};

struct CustomString {
    char string[1024];
};

}  // namespace v15

template <typename New, typename Old>
New* as(Old* old) {
    return reinterpret_cast<New*>(old);
}

template <typename Old>
std::unique_ptr<Old> query(rknn_context context, int command, uint32_t index = 0) {
    auto out = std::make_unique<Old>();
    std::memcpy(out.get(), &index, sizeof(index));
    REQUIRE(rknn_query(context, static_cast<rknn_query_cmd>(command), out.get(), sizeof(Old)) ==
            RKNN_SUCC);
    return out;
}

rknn_context open_digits(v15::InitExtend* extend = nullptr) {
    setenv("RKNPU_DEVICE", "sim", 1);
    rknn_context context = 0;
    auto path = digits_path();
    REQUIRE(rknn_init(&context, path.data(), 0, 0, as<rknn_init_extend>(extend)) == RKNN_SUCC);
    return context;
}

std::vector<float> today(const std::vector<std::byte>& pixels) {
    return Net(digits_file()).digit(pixels);
}

}  // namespace

TEST_CASE("ABI a program of 1.5.2: queries and the general interface", "[abi]") {
    v15::InitExtend extend{};
    const auto context = open_digits(&extend);
    const auto count = query<v15::InOutNum>(context, 0);
    CHECK(count->n_input == 1);
    CHECK(count->n_output == 1);
    const auto input = query<v15::TensorAttr>(context, 1);
    const auto output = query<v15::TensorAttr>(context, 2);
    CHECK(input->fmt == 1);  // NHWC
    CHECK(input->dims[1] == 28);
    CHECK(output->n_elems == 10);
    CHECK(query<v15::MemSize>(context, 6)->total_weight_size > 0);
    CHECK(query<v15::SdkVersion>(context, 5)->api_version[0] != '\0');
    CHECK(query<v15::CustomString>(context, 7)->string[1023] == '\0');
    auto pixels = digit_pixels();
    auto given = std::make_unique<v15::Input>(
        v15::Input{0, pixels.data(), static_cast<uint32_t>(pixels.size()), 0, 3, 1});
    REQUIRE(rknn_inputs_set(context, 1, as<rknn_input>(given.get())) == RKNN_SUCC);
    auto run = std::make_unique<v15::RunExtend>(v15::RunExtend{0, 0, 0, -1});
    REQUIRE(rknn_run(context, as<rknn_run_extend>(run.get())) == RKNN_SUCC);
    CHECK(run->frame_id == 1);
    auto got = std::make_unique<v15::Output>(v15::Output{1, 0, 0, nullptr, 0});
    REQUIRE(rknn_outputs_get(context, 1, as<rknn_output>(got.get()), nullptr) == RKNN_SUCC);
    REQUIRE(got->size == 40);
    const auto* start = static_cast<const float*>(got->buf);
    CHECK(std::vector<float>(start, start + 10) == today(pixels));
    CHECK(query<v15::PerfRun>(context, 4)->run_duration > 0);
    CHECK(rknn_outputs_release(context, 1, as<rknn_output>(got.get())) == RKNN_SUCC);
    CHECK(rknn_destroy(context) == RKNN_SUCC);
}

TEST_CASE("ABI a program of 1.6.0: zero copy with its own structures", "[abi]") {
    const auto context = open_digits();
    auto input = query<v15::TensorAttr>(context, 8);
    auto output = query<v15::TensorAttr>(context, 9);
    input->type = 3;  // UINT8
    input->fmt = 1;   // NHWC
    output->type = 0;
    output->fmt = 0;
    auto* in = as<v15::TensorMem>(rknn_create_mem(context, input->size_with_stride));
    auto* out = as<v15::TensorMem>(rknn_create_mem(context, output->n_elems * 4));
    REQUIRE(in != nullptr);
    REQUIRE(out != nullptr);
    CHECK(in->size == input->size_with_stride);
    CHECK(in->flags == 1);
    CHECK(in->offset == 0);
    CHECK(in->fd >= 0);
    const auto pixels = digit_pixels();
    for (size_t row = 0; row < 28; ++row)  // the manual's programs keep to w_stride
        std::memcpy(static_cast<std::byte*>(in->virt_addr) + row * input->w_stride,
                    pixels.data() + row * 28, 28);
    REQUIRE(rknn_set_io_mem(context, as<rknn_tensor_mem>(in), as<rknn_tensor_attr>(input.get())) ==
            RKNN_SUCC);
    REQUIRE(rknn_set_io_mem(context, as<rknn_tensor_mem>(out),
                            as<rknn_tensor_attr>(output.get())) == RKNN_SUCC);
    REQUIRE(rknn_run(context, nullptr) == RKNN_SUCC);
    REQUIRE(rknn_mem_sync(context, as<rknn_tensor_mem>(out), RKNN_MEMORY_SYNC_FROM_DEVICE) ==
            RKNN_SUCC);
    const auto* start = static_cast<const float*>(out->virt_addr);
    CHECK(std::vector<float>(start, start + 10) == today(pixels));
    CHECK(rknn_destroy_mem(context, as<rknn_tensor_mem>(in)) == RKNN_SUCC);
    CHECK(rknn_destroy_mem(context, as<rknn_tensor_mem>(out)) == RKNN_SUCC);
    CHECK(rknn_destroy(context) == RKNN_SUCC);
}

TEST_CASE("ABI a program of 1.2.0: shorter attributes and sizes, the misspelt name", "[abi]") {
    struct Attr {  // ends in front of h_stride
        uint32_t index, n_dims, dims[16];
        char name[256];
        uint32_t n_elems, size;
        int32_t fmt, type, qnt_type;
        int8_t fl;
        int32_t zp;
        float scale;
        uint32_t w_stride, size_with_stride;
        uint8_t pass_through;
    };
    static_assert(sizeof(Attr) == 372);
    struct MemSize {
        uint32_t total_weight_size, total_internal_size;
    };
    const auto context = open_digits();
    const auto attr = query<Attr>(context, 1);
    CHECK(attr->n_elems == 28 * 28);
    CHECK(query<MemSize>(context, 6)->total_internal_size > 0);
    for (const uint32_t size : {0u, 7u})
        CHECK(rknn_query(context, RKNN_QUERY_MEM_SIZE, attr.get(), size) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_query(context, RKNN_QUERY_INPUT_ATTR, attr.get(), 371) == RKNN_ERR_PARAM_INVALID);
    // A structure of a later header is larger: the rest is not touched.
    struct Later {
        rknn_tensor_attr attr;
        uint32_t more;
    } later{};
    later.more = 77;
    CHECK(rknn_query(context, RKNN_QUERY_INPUT_ATTR, &later, sizeof(later)) == RKNN_SUCC);
    CHECK(later.more == 77);
    CHECK(rknn_destroy(context) == RKNN_SUCC);
}

TEST_CASE("ABI a custom operator built with 1.6.0", "[abi]") {
    struct Op {
        uint32_t version;
        int32_t target;
        char op_type[256];
        char cl_kernel_name[256];
        char* cl_kernel_source;
        uint64_t cl_source_size;
        char cl_build_options[256];
        void* init;
        void* prepare;
        int (*compute)(void*, rknn_custom_op_tensor*, uint32_t, rknn_custom_op_tensor*, uint32_t);
        void* compute_native;
        void* destroy;
    };
    static_assert(sizeof(Op) == sizeof(rknn_custom_op));
    auto op = std::make_unique<Op>();
    op->version = 1;
    op->target = 1;
    std::strcpy(op->op_type, "Old");
    op->compute = [](void*, rknn_custom_op_tensor* in, uint32_t, rknn_custom_op_tensor* out,
                     uint32_t) {
        std::memcpy(out[0].mem.virt_addr, in[0].mem.virt_addr, in[0].attr.size);
        return 0;
    };
    const Net net(one_node("Old", {"", FileType::kFloat, {1, 2}}));
    REQUIRE(rknn_register_custom_ops(net.handle, as<rknn_custom_op>(op.get()), 1) == RKNN_SUCC);
    const float values[] = {1, 2};
    REQUIRE(net.set(values, sizeof(values), RKNN_TENSOR_FLOAT32, RKNN_TENSOR_UNDEFINED) ==
            RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(net.result<float>(true) == std::vector<float>{1, 2});
}
