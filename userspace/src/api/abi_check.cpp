// SPDX-License-Identifier: MIT
// Sizes and offsets that programs built against other versions of the headers rely on.
#include <rknn_api.h>
#include <rknn_custom_op.h>
#include <rknn_matmul_api.h>

#include <cstddef>

namespace {

constexpr bool kLp64 = sizeof(void*) == 8;

template <typename T>
constexpr bool is(size_t lp64, size_t ilp32) {
    return sizeof(T) == (kLp64 ? lp64 : ilp32);
}

static_assert(is<rknn_input_output_num>(8, 8));
static_assert(is<rknn_tensor_attr>(376, 376));
static_assert(offsetof(rknn_tensor_attr, dims) == 8 && offsetof(rknn_tensor_attr, name) == 72);
static_assert(offsetof(rknn_tensor_attr, n_elems) == 328 && offsetof(rknn_tensor_attr, fmt) == 336);
static_assert(offsetof(rknn_tensor_attr, fl) == 348 && offsetof(rknn_tensor_attr, zp) == 352);
static_assert(offsetof(rknn_tensor_attr, w_stride) == 360);
static_assert(offsetof(rknn_tensor_attr, pass_through) == 368);
static_assert(offsetof(rknn_tensor_attr, h_stride) == 372);
static_assert(is<rknn_input_range>(33040, 33040));
static_assert(offsetof(rknn_input_range, dyn_range) == 268);
static_assert(is<rknn_perf_detail>(16, 16) && offsetof(rknn_perf_detail, data_len) == 8);
static_assert(is<rknn_perf_run>(8, 8) && is<rknn_sdk_version>(512, 512));
static_assert(is<rknn_mem_size>(64, 64) && offsetof(rknn_mem_size, reserved) == 24);
static_assert(is<rknn_custom_string>(1024, 1024));
static_assert(is<rknn_tensor_mem>(40, 40) && offsetof(rknn_tensor_mem, fd) == 16);
static_assert(offsetof(rknn_tensor_mem, priv_data) == 32);
static_assert(is<rknn_input>(32, 24) && is<rknn_output>(24, 16));
static_assert(offsetof(rknn_input, pass_through) == (kLp64 ? 20 : 12));
static_assert(offsetof(rknn_output, index) == 4);
static_assert(is<rknn_init_extend>(136, 132) && is<rknn_run_extend>(24, 24));
static_assert(is<rknn_output_extend>(8, 8));
static_assert(is<rknn_quant_params>(288, 272));
static_assert(is<rknn_matmul_tensor_attr>(332, 332) && is<rknn_matmul_io_attr>(996, 996));
static_assert(is<rknn_matmul_shape>(12, 12) && is<rknn_matmul_info>(64, 64));
static_assert(offsetof(rknn_matmul_info, iommu_domain_id) == 24);
static_assert(offsetof(rknn_matmul_info, group_size) == 28);
static_assert(is<rknn_gpu_op_context>(24, 12) && is<rknn_custom_op_context>(48, 24));
static_assert(is<rknn_custom_op_tensor>(416, 416) && is<rknn_custom_op_attr>(272, 268));
static_assert(is<rknn_custom_op>(832, 816));
static_assert(offsetof(rknn_custom_op, cl_kernel_source) == 520);
static_assert(offsetof(rknn_custom_op, init) == 792);
static_assert(offsetof(rknn_custom_op, destroy) == (kLp64 ? 824 : 808));

static_assert(RKNN_QUERY_CMD_MAX == 18 && RKNN_TENSOR_TYPE_MAX == 12);
static_assert(RKNN_TENSOR_QNT_MAX == 3 && RKNN_TENSOR_FORMAT_MAX == 4);
static_assert(RKNN_NPU_CORE_UNDEFINED == 0x10000 && RKNN_TENSOR_MEMORY_FLAGS_UNKNOWN == 4);
static_assert(RKNN_TARGET_TYPE_MAX == 3);
static_assert(sizeof(rknn_core_mask) == 4 && sizeof(rknn_tensor_type) == 4);

}  // namespace
