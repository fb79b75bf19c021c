// SPDX-License-Identifier: MIT
// Sizes, offsets and values that programs built against other versions of the headers rely on:
// every structure and enumeration of the interface, for LP64 and for ILP32 of 32-bit ARM.
#include <rknn_api.h>
#include <rknn_custom_op.h>
#include <rknn_matmul_api.h>

#include <cstddef>

namespace {

constexpr bool kLp64 = sizeof(void*) == 8;

template <typename T>
constexpr bool is(size_t size64, size_t align64, size_t size32, size_t align32) {
    return sizeof(T) == (kLp64 ? size64 : size32) && alignof(T) == (kLp64 ? align64 : align32);
}

#define RKNPU_AT(type, member, lp64, ilp32) \
    static_assert(offsetof(type, member) == (kLp64 ? (lp64) : (ilp32)))

static_assert(is<rknn_input_output_num>(8, 4, 8, 4));
RKNPU_AT(rknn_input_output_num, n_input, 0, 0);
RKNPU_AT(rknn_input_output_num, n_output, 4, 4);

static_assert(is<rknn_tensor_attr>(376, 4, 376, 4));
RKNPU_AT(rknn_tensor_attr, index, 0, 0);
RKNPU_AT(rknn_tensor_attr, n_dims, 4, 4);
RKNPU_AT(rknn_tensor_attr, dims, 8, 8);
RKNPU_AT(rknn_tensor_attr, name, 72, 72);
RKNPU_AT(rknn_tensor_attr, n_elems, 328, 328);
RKNPU_AT(rknn_tensor_attr, size, 332, 332);
RKNPU_AT(rknn_tensor_attr, fmt, 336, 336);
RKNPU_AT(rknn_tensor_attr, type, 340, 340);
RKNPU_AT(rknn_tensor_attr, qnt_type, 344, 344);
RKNPU_AT(rknn_tensor_attr, fl, 348, 348);
RKNPU_AT(rknn_tensor_attr, zp, 352, 352);
RKNPU_AT(rknn_tensor_attr, scale, 356, 356);
RKNPU_AT(rknn_tensor_attr, w_stride, 360, 360);
RKNPU_AT(rknn_tensor_attr, size_with_stride, 364, 364);
RKNPU_AT(rknn_tensor_attr, pass_through, 368, 368);
RKNPU_AT(rknn_tensor_attr, h_stride, 372, 372);

static_assert(is<rknn_input_range>(33040, 4, 33040, 4));
RKNPU_AT(rknn_input_range, index, 0, 0);
RKNPU_AT(rknn_input_range, shape_number, 4, 4);
RKNPU_AT(rknn_input_range, fmt, 8, 8);
RKNPU_AT(rknn_input_range, name, 12, 12);
RKNPU_AT(rknn_input_range, dyn_range, 268, 268);
RKNPU_AT(rknn_input_range, n_dims, 33036, 33036);

static_assert(is<rknn_perf_detail>(16, 8, 16, 8));
RKNPU_AT(rknn_perf_detail, perf_data, 0, 0);
RKNPU_AT(rknn_perf_detail, data_len, 8, 8);

static_assert(is<rknn_perf_run>(8, 8, 8, 8));
RKNPU_AT(rknn_perf_run, run_duration, 0, 0);

static_assert(is<rknn_sdk_version>(512, 1, 512, 1));
RKNPU_AT(rknn_sdk_version, api_version, 0, 0);
RKNPU_AT(rknn_sdk_version, drv_version, 256, 256);

static_assert(is<rknn_mem_size>(64, 8, 64, 8));
RKNPU_AT(rknn_mem_size, total_weight_size, 0, 0);
RKNPU_AT(rknn_mem_size, total_internal_size, 4, 4);
RKNPU_AT(rknn_mem_size, total_dma_allocated_size, 8, 8);
RKNPU_AT(rknn_mem_size, total_sram_size, 16, 16);
RKNPU_AT(rknn_mem_size, free_sram_size, 20, 20);
RKNPU_AT(rknn_mem_size, reserved, 24, 24);

static_assert(is<rknn_custom_string>(1024, 1, 1024, 1));
RKNPU_AT(rknn_custom_string, string, 0, 0);

static_assert(is<rknn_tensor_mem>(40, 8, 40, 8));
RKNPU_AT(rknn_tensor_mem, virt_addr, 0, 0);
RKNPU_AT(rknn_tensor_mem, phys_addr, 8, 8);
RKNPU_AT(rknn_tensor_mem, fd, 16, 16);
RKNPU_AT(rknn_tensor_mem, offset, 20, 20);
RKNPU_AT(rknn_tensor_mem, size, 24, 24);
RKNPU_AT(rknn_tensor_mem, flags, 28, 28);
RKNPU_AT(rknn_tensor_mem, priv_data, 32, 32);

static_assert(is<rknn_input>(32, 8, 24, 4));
RKNPU_AT(rknn_input, index, 0, 0);
RKNPU_AT(rknn_input, buf, 8, 4);
RKNPU_AT(rknn_input, size, 16, 8);
RKNPU_AT(rknn_input, pass_through, 20, 12);
RKNPU_AT(rknn_input, type, 24, 16);
RKNPU_AT(rknn_input, fmt, 28, 20);

static_assert(is<rknn_output>(24, 8, 16, 4));
RKNPU_AT(rknn_output, want_float, 0, 0);
RKNPU_AT(rknn_output, is_prealloc, 1, 1);
RKNPU_AT(rknn_output, index, 4, 4);
RKNPU_AT(rknn_output, buf, 8, 8);
RKNPU_AT(rknn_output, size, 16, 12);

static_assert(is<rknn_init_extend>(136, 8, 132, 4));
RKNPU_AT(rknn_init_extend, ctx, 0, 0);
RKNPU_AT(rknn_init_extend, real_model_offset, 8, 4);
RKNPU_AT(rknn_init_extend, real_model_size, 12, 8);
RKNPU_AT(rknn_init_extend, model_buffer_fd, 16, 12);
RKNPU_AT(rknn_init_extend, model_buffer_flags, 20, 16);
RKNPU_AT(rknn_init_extend, reserved, 24, 20);

static_assert(is<rknn_run_extend>(24, 8, 24, 8));
RKNPU_AT(rknn_run_extend, frame_id, 0, 0);
RKNPU_AT(rknn_run_extend, non_block, 8, 8);
RKNPU_AT(rknn_run_extend, timeout_ms, 12, 12);
RKNPU_AT(rknn_run_extend, fence_fd, 16, 16);

static_assert(is<rknn_output_extend>(8, 8, 8, 8));
RKNPU_AT(rknn_output_extend, frame_id, 0, 0);

static_assert(is<rknn_quant_params>(288, 8, 272, 4));
RKNPU_AT(rknn_quant_params, name, 0, 0);
RKNPU_AT(rknn_quant_params, scale, 256, 256);
RKNPU_AT(rknn_quant_params, scale_len, 264, 260);
RKNPU_AT(rknn_quant_params, zp, 272, 264);
RKNPU_AT(rknn_quant_params, zp_len, 280, 268);

static_assert(is<rknn_matmul_tensor_attr>(332, 4, 332, 4));
RKNPU_AT(rknn_matmul_tensor_attr, name, 0, 0);
RKNPU_AT(rknn_matmul_tensor_attr, n_dims, 256, 256);
RKNPU_AT(rknn_matmul_tensor_attr, dims, 260, 260);
RKNPU_AT(rknn_matmul_tensor_attr, size, 324, 324);
RKNPU_AT(rknn_matmul_tensor_attr, type, 328, 328);

static_assert(is<rknn_matmul_io_attr>(996, 4, 996, 4));
RKNPU_AT(rknn_matmul_io_attr, A, 0, 0);
RKNPU_AT(rknn_matmul_io_attr, B, 332, 332);
RKNPU_AT(rknn_matmul_io_attr, C, 664, 664);

static_assert(is<rknn_matmul_shape>(12, 4, 12, 4));
RKNPU_AT(rknn_matmul_shape, M, 0, 0);
RKNPU_AT(rknn_matmul_shape, K, 4, 4);
RKNPU_AT(rknn_matmul_shape, N, 8, 8);

static_assert(is<rknn_matmul_info>(64, 4, 64, 4));
RKNPU_AT(rknn_matmul_info, M, 0, 0);
RKNPU_AT(rknn_matmul_info, K, 4, 4);
RKNPU_AT(rknn_matmul_info, N, 8, 8);
RKNPU_AT(rknn_matmul_info, type, 12, 12);
RKNPU_AT(rknn_matmul_info, B_layout, 16, 16);
RKNPU_AT(rknn_matmul_info, B_quant_type, 18, 18);
RKNPU_AT(rknn_matmul_info, AC_layout, 20, 20);
RKNPU_AT(rknn_matmul_info, AC_quant_type, 22, 22);
RKNPU_AT(rknn_matmul_info, iommu_domain_id, 24, 24);
RKNPU_AT(rknn_matmul_info, group_size, 28, 28);
RKNPU_AT(rknn_matmul_info, reserved, 30, 30);

static_assert(is<rknn_gpu_op_context>(24, 8, 12, 4));
RKNPU_AT(rknn_gpu_op_context, cl_context, 0, 0);
RKNPU_AT(rknn_gpu_op_context, cl_command_queue, 8, 4);
RKNPU_AT(rknn_gpu_op_context, cl_kernel, 16, 8);

static_assert(is<rknn_custom_op_context>(48, 8, 24, 4));
RKNPU_AT(rknn_custom_op_context, target, 0, 0);
RKNPU_AT(rknn_custom_op_context, internal_ctx, 8, 4);
RKNPU_AT(rknn_custom_op_context, gpu_ctx, 16, 8);
RKNPU_AT(rknn_custom_op_context, priv_data, 40, 20);

static_assert(is<rknn_custom_op_tensor>(416, 8, 416, 8));
RKNPU_AT(rknn_custom_op_tensor, attr, 0, 0);
RKNPU_AT(rknn_custom_op_tensor, mem, 376, 376);

static_assert(is<rknn_custom_op_attr>(272, 8, 268, 4));
RKNPU_AT(rknn_custom_op_attr, name, 0, 0);
RKNPU_AT(rknn_custom_op_attr, dtype, 256, 256);
RKNPU_AT(rknn_custom_op_attr, n_elems, 260, 260);
RKNPU_AT(rknn_custom_op_attr, data, 264, 264);

static_assert(is<rknn_custom_op>(832, 8, 816, 8));
RKNPU_AT(rknn_custom_op, version, 0, 0);
RKNPU_AT(rknn_custom_op, target, 4, 4);
RKNPU_AT(rknn_custom_op, op_type, 8, 8);
RKNPU_AT(rknn_custom_op, cl_kernel_name, 264, 264);
RKNPU_AT(rknn_custom_op, cl_kernel_source, 520, 520);
RKNPU_AT(rknn_custom_op, cl_source_size, 528, 528);
RKNPU_AT(rknn_custom_op, cl_build_options, 536, 536);
RKNPU_AT(rknn_custom_op, init, 792, 792);
RKNPU_AT(rknn_custom_op, prepare, 800, 796);
RKNPU_AT(rknn_custom_op, compute, 808, 800);
RKNPU_AT(rknn_custom_op, compute_native, 816, 804);
RKNPU_AT(rknn_custom_op, destroy, 824, 808);

#if defined(__arm__)
static_assert(sizeof(rknn_context) == 4 && sizeof(rknn_custom_op_interal_context) == 4);
#else
static_assert(sizeof(rknn_context) == 8 && sizeof(rknn_custom_op_interal_context) == 8);
#endif
static_assert(sizeof(rknn_matmul_ctx) == sizeof(rknn_context));

static_assert(sizeof(rknn_tensor_type) == 4);
static_assert(RKNN_TENSOR_FLOAT32 == 0);
static_assert(RKNN_TENSOR_FLOAT16 == 1);
static_assert(RKNN_TENSOR_INT8 == 2);
static_assert(RKNN_TENSOR_UINT8 == 3);
static_assert(RKNN_TENSOR_INT16 == 4);
static_assert(RKNN_TENSOR_UINT16 == 5);
static_assert(RKNN_TENSOR_INT32 == 6);
static_assert(RKNN_TENSOR_UINT32 == 7);
static_assert(RKNN_TENSOR_INT64 == 8);
static_assert(RKNN_TENSOR_BOOL == 9);
static_assert(RKNN_TENSOR_INT4 == 10);
static_assert(RKNN_TENSOR_BFLOAT16 == 11);
static_assert(RKNN_TENSOR_TYPE_MAX == 12);

static_assert(sizeof(rknn_tensor_qnt_type) == 4);
static_assert(RKNN_TENSOR_QNT_NONE == 0);
static_assert(RKNN_TENSOR_QNT_DFP == 1);
static_assert(RKNN_TENSOR_QNT_AFFINE_ASYMMETRIC == 2);
static_assert(RKNN_TENSOR_QNT_MAX == 3);

static_assert(sizeof(rknn_tensor_format) == 4);
static_assert(RKNN_TENSOR_NCHW == 0);
static_assert(RKNN_TENSOR_NHWC == 1);
static_assert(RKNN_TENSOR_NC1HWC2 == 2);
static_assert(RKNN_TENSOR_UNDEFINED == 3);
static_assert(RKNN_TENSOR_FORMAT_MAX == 4);

static_assert(sizeof(rknn_core_mask) == 4);
static_assert(RKNN_NPU_CORE_AUTO == 0);
static_assert(RKNN_NPU_CORE_0 == 1);
static_assert(RKNN_NPU_CORE_1 == 2);
static_assert(RKNN_NPU_CORE_2 == 4);
static_assert(RKNN_NPU_CORE_0_1 == 3);
static_assert(RKNN_NPU_CORE_0_1_2 == 7);
static_assert(RKNN_NPU_CORE_ALL == 0xffff);
static_assert(RKNN_NPU_CORE_UNDEFINED == 0x10000);

static_assert(sizeof(rknn_query_cmd) == 4);
static_assert(RKNN_QUERY_IN_OUT_NUM == 0);
static_assert(RKNN_QUERY_INPUT_ATTR == 1);
static_assert(RKNN_QUERY_OUTPUT_ATTR == 2);
static_assert(RKNN_QUERY_PERF_DETAIL == 3);
static_assert(RKNN_QUERY_PERF_RUN == 4);
static_assert(RKNN_QUERY_SDK_VERSION == 5);
static_assert(RKNN_QUERY_MEM_SIZE == 6);
static_assert(RKNN_QUERY_CUSTOM_STRING == 7);
static_assert(RKNN_QUERY_NATIVE_INPUT_ATTR == 8);
static_assert(RKNN_QUERY_NATIVE_OUTPUT_ATTR == 9);
static_assert(RKNN_QUERY_NATIVE_NC1HWC2_INPUT_ATTR == 8);
static_assert(RKNN_QUERY_NATIVE_NC1HWC2_OUTPUT_ATTR == 9);
static_assert(RKNN_QUERY_NATIVE_NHWC_INPUT_ATTR == 10);
static_assert(RKNN_QUERY_NATIVE_NHWC_OUTPUT_ATTR == 11);
static_assert(RKNN_QUERY_DEVICE_MEM_INFO == 12);
static_assert(RKNN_QUERY_INPUT_DYNAMIC_RANGE == 13);
static_assert(RKNN_QUERY_CURRENT_INPUT_ATTR == 14);
static_assert(RKNN_QUERY_CURRENT_OUTPUT_ATTR == 15);
static_assert(RKNN_QUERY_CURRENT_NATIVE_INPUT_ATTR == 16);
static_assert(RKNN_QUERY_CURRENT_NATIVE_OUTPUT_ATTR == 17);
static_assert(RKNN_QUERY_CMD_MAX == 18);

static_assert(sizeof(rknn_tensor_mem_flags) == 4);
static_assert(RKNN_TENSOR_MEMORY_FLAGS_ALLOC_INSIDE == 1);
static_assert(RKNN_TENSOR_MEMORY_FLAGS_FROM_FD == 2);
static_assert(RKNN_TENSOR_MEMORY_FLAGS_FROM_PHYS == 3);
static_assert(RKNN_TENSOR_MEMORY_FLAGS_UNKNOWN == 4);

static_assert(sizeof(rknn_mem_alloc_flags) == 4);
static_assert(RKNN_FLAG_MEMORY_FLAGS_DEFAULT == 0);
static_assert(RKNN_FLAG_MEMORY_CACHEABLE == 1);
static_assert(RKNN_FLAG_MEMORY_NON_CACHEABLE == 2);
static_assert(RKNN_FLAG_MEMORY_TRY_ALLOC_SRAM == 4);

static_assert(sizeof(rknn_mem_sync_mode) == 4);
static_assert(RKNN_MEMORY_SYNC_TO_DEVICE == 1);
static_assert(RKNN_MEMORY_SYNC_FROM_DEVICE == 2);
static_assert(RKNN_MEMORY_SYNC_BIDIRECTIONAL == 3);

static_assert(sizeof(rknn_matmul_quant_type) == 4);
static_assert(RKNN_QUANT_TYPE_PER_LAYER_SYM == 0);
static_assert(RKNN_QUANT_TYPE_PER_LAYER_ASYM == 1);
static_assert(RKNN_QUANT_TYPE_PER_CHANNEL_SYM == 2);
static_assert(RKNN_QUANT_TYPE_PER_CHANNEL_ASYM == 3);
static_assert(RKNN_QUANT_TYPE_PER_GROUP_SYM == 4);
static_assert(RKNN_QUANT_TYPE_PER_GROUP_ASYM == 5);

static_assert(sizeof(rknn_matmul_type) == 4);
static_assert(RKNN_FLOAT16_MM_FLOAT16_TO_FLOAT32 == 1);
static_assert(RKNN_INT8_MM_INT8_TO_INT32 == 2);
static_assert(RKNN_INT8_MM_INT8_TO_INT8 == 3);
static_assert(RKNN_FLOAT16_MM_FLOAT16_TO_FLOAT16 == 4);
static_assert(RKNN_FLOAT16_MM_INT8_TO_FLOAT32 == 5);
static_assert(RKNN_FLOAT16_MM_INT8_TO_FLOAT16 == 6);
static_assert(RKNN_FLOAT16_MM_INT4_TO_FLOAT32 == 7);
static_assert(RKNN_FLOAT16_MM_INT4_TO_FLOAT16 == 8);
static_assert(RKNN_INT8_MM_INT8_TO_FLOAT32 == 9);
static_assert(RKNN_INT4_MM_INT4_TO_INT16 == 10);
static_assert(RKNN_INT8_MM_INT4_TO_INT32 == 11);
static_assert(RKNN_FLOAT16_MM_INT4_TO_BFLOAT16 == 12);
static_assert(RKNN_INT8_MM_INT4_TO_FLOAT16 == 15);

static_assert(sizeof(rknn_matmul_layout) == 4);
static_assert(RKNN_MM_LAYOUT_NORM == 0);
static_assert(RKNN_MM_LAYOUT_NATIVE == 1);
static_assert(RKNN_MM_LAYOUT_TP_NORM == 2);

static_assert(sizeof(rknn_target_type) == 4);
static_assert(RKNN_TARGET_TYPE_CPU == 1);
static_assert(RKNN_TARGET_TYPE_GPU == 2);
static_assert(RKNN_TARGET_TYPE_MAX == 3);

static_assert(RKNN_SUCC == 0);
static_assert(RKNN_SUCCESS == 0);
static_assert(RKNN_ERR_FAIL == -1);
static_assert(RKNN_ERR_TIMEOUT == -2);
static_assert(RKNN_ERR_DEVICE_UNAVAILABLE == -3);
static_assert(RKNN_ERR_MALLOC_FAIL == -4);
static_assert(RKNN_ERR_PARAM_INVALID == -5);
static_assert(RKNN_ERR_MODEL_INVALID == -6);
static_assert(RKNN_ERR_CTX_INVALID == -7);
static_assert(RKNN_ERR_INPUT_INVALID == -8);
static_assert(RKNN_ERR_OUTPUT_INVALID == -9);
static_assert(RKNN_ERR_DEVICE_UNMATCH == -10);
static_assert(RKNN_ERR_INCOMPATILE_PRE_COMPILE_MODEL == -11);
static_assert(RKNN_ERR_INCOMPATILE_OPTIMIZATION_LEVEL_VERSION == -12);
static_assert(RKNN_ERR_TARGET_PLATFORM_UNMATCH == -13);
static_assert(RKNN_WARNING_SKIP_CUSTOM_OP_COMPUTE == -14);

static_assert(RKNN_FLAG_PRIOR_HIGH == 0x0);
static_assert(RKNN_FLAG_PRIOR_MEDIUM == 0x1);
static_assert(RKNN_FLAG_PRIOR_LOW == 0x2);
static_assert(RKNN_FLAG_ASYNC_MASK == 0x4);
static_assert(RKNN_FLAG_COLLECT_PERF_MASK == 0x8);
static_assert(RKNN_FLAG_MEM_ALLOC_OUTSIDE == 0x10);
static_assert(RKNN_FLAG_SHARE_WEIGHT_MEM == 0x20);
static_assert(RKNN_FLAG_FENCE_IN_OUTSIDE == 0x40);
static_assert(RKNN_FLAG_FENCE_OUT_OUTSIDE == 0x80);
static_assert(RKNN_FLAG_COLLECT_MODEL_INFO_ONLY == 0x100);
static_assert(RKNN_FLAG_INTERNAL_ALLOC_OUTSIDE == 0x200);
static_assert(RKNN_FLAG_EXECUTE_FALLBACK_PRIOR_DEVICE_GPU == 0x400);
static_assert(RKNN_FLAG_ENABLE_SRAM == 0x800);
static_assert(RKNN_FLAG_SHARE_SRAM == 0x1000);
static_assert(RKNN_FLAG_DISABLE_PROC_HIGH_PRIORITY == 0x2000);
static_assert(RKNN_FLAG_DISABLE_FLUSH_INPUT_MEM_CACHE == 0x4000);
static_assert(RKNN_FLAG_DISABLE_FLUSH_OUTPUT_MEM_CACHE == 0x8000);
static_assert(RKNN_FLAG_MODEL_BUFFER_ZERO_COPY == 0x10000);
static_assert(RKNN_MEM_FLAG_ALLOC_NO_CONTEXT == 0x20000);
static_assert(RKNN_MAX_DIMS == 16 && RKNN_MAX_NUM_CHANNEL == 15 && RKNN_MAX_NAME_LEN == 256);
static_assert(RKNN_MAX_DYNAMIC_SHAPE_NUM == 512);

}  // namespace
