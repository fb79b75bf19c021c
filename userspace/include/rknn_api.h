/* SPDX-License-Identifier: MIT */
/*
 * C interface of librknnrt: load .rknn models and run them on a Rockchip NPU.
 *
 * Names, values and layouts are those of the interface that existing programs are built against
 * (versions 1.2.0 to 2.3.2), so that they compile and link unchanged. Every function returns
 * RKNN_SUCC or one of the negative RKNN_ERR_* codes, the memory functions a pointer or NULL.
 * With RKNN_LOG_LEVEL=0 or unset only errors are printed, to stderr, with their reason.
 */
#ifndef RKNN_API_H
#define RKNN_API_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of rknn_init(), combined with "or". */

/* Priority of the context's jobs. */
#define RKNN_FLAG_PRIOR_HIGH 0x00000000
#define RKNN_FLAG_PRIOR_MEDIUM 0x00000001
#define RKNN_FLAG_PRIOR_LOW 0x00000002
/* rknn_run() does not wait, rknn_outputs_get() returns the run before (the first time its own). */
#define RKNN_FLAG_ASYNC_MASK 0x00000004
/* Measure each layer for RKNN_QUERY_PERF_DETAIL; runs get slower. */
#define RKNN_FLAG_COLLECT_PERF_MASK 0x00000008
/* The caller provides weight, internal, input and output memory. */
#define RKNN_FLAG_MEM_ALLOC_OUTSIDE 0x00000010
/* The model has no weights of its own and uses those of rknn_init_extend.ctx. */
#define RKNN_FLAG_SHARE_WEIGHT_MEM 0x00000020
/* rknn_run_extend.fence_fd is a fence to wait for / receives the fence of the run. */
#define RKNN_FLAG_FENCE_IN_OUTSIDE 0x00000040
#define RKNN_FLAG_FENCE_OUT_OUTSIDE 0x00000080
/* Only queries work; nothing is allocated for runs. */
#define RKNN_FLAG_COLLECT_MODEL_INFO_ONLY 0x00000100
/* The caller provides internal memory only. */
#define RKNN_FLAG_INTERNAL_ALLOC_OUTSIDE 0x00000200
/* Layers that the NPU cannot run prefer the GPU to the CPU. */
#define RKNN_FLAG_EXECUTE_FALLBACK_PRIOR_DEVICE_GPU 0x00000400
/* Internal tensors in on-chip memory, as far as it is free. */
#define RKNN_FLAG_ENABLE_SRAM 0x00000800
/* Share on-chip memory with other contexts; needs RKNN_FLAG_ENABLE_SRAM. */
#define RKNN_FLAG_SHARE_SRAM 0x00001000
/* Leave the nice value of the process alone. */
#define RKNN_FLAG_DISABLE_PROC_HIGH_PRIORITY 0x00002000
/* The caller cares for the CPU caches of inputs / outputs with rknn_mem_sync(). */
#define RKNN_FLAG_DISABLE_FLUSH_INPUT_MEM_CACHE 0x00004000
#define RKNN_FLAG_DISABLE_FLUSH_OUTPUT_MEM_CACHE 0x00008000
/* The model lies in NPU memory, see rknn_init_extend, and stays there while the context lives. */
#define RKNN_FLAG_MODEL_BUFFER_ZERO_COPY 0x00010000
/* For rknn_create_mem2(): memory that belongs to no context. */
#define RKNN_MEM_FLAG_ALLOC_NO_CONTEXT 0x00020000

/* Results. */
#define RKNN_SUCC 0
#define RKNN_SUCCESS RKNN_SUCC
#define RKNN_ERR_FAIL (-1)
#define RKNN_ERR_TIMEOUT (-2)
#define RKNN_ERR_DEVICE_UNAVAILABLE (-3)
#define RKNN_ERR_MALLOC_FAIL (-4)
#define RKNN_ERR_PARAM_INVALID (-5)
#define RKNN_ERR_MODEL_INVALID (-6)
#define RKNN_ERR_CTX_INVALID (-7)
#define RKNN_ERR_INPUT_INVALID (-8)
#define RKNN_ERR_OUTPUT_INVALID (-9)
#define RKNN_ERR_DEVICE_UNMATCH (-10)
#define RKNN_ERR_INCOMPATILE_PRE_COMPILE_MODEL (-11)
#define RKNN_ERR_INCOMPATILE_OPTIMIZATION_LEVEL_VERSION (-12)
#define RKNN_ERR_TARGET_PLATFORM_UNMATCH (-13)

/* Limits. */
#define RKNN_MAX_DIMS 16
#define RKNN_MAX_NUM_CHANNEL 15
#define RKNN_MAX_NAME_LEN 256
#define RKNN_MAX_DYNAMIC_SHAPE_NUM 512

/* A context; 0 is never one. */
#ifdef __arm__
typedef uint32_t rknn_context;
#else
typedef uint64_t rknn_context;
#endif

/* What rknn_query() is asked for; the comment names the structure. */
typedef enum _rknn_query_cmd {
    RKNN_QUERY_IN_OUT_NUM = 0,    /* rknn_input_output_num */
    RKNN_QUERY_INPUT_ATTR = 1,    /* rknn_tensor_attr, caller sets index */
    RKNN_QUERY_OUTPUT_ATTR = 2,   /* rknn_tensor_attr, caller sets index */
    RKNN_QUERY_PERF_DETAIL = 3,   /* rknn_perf_detail */
    RKNN_QUERY_PERF_RUN = 4,      /* rknn_perf_run */
    RKNN_QUERY_SDK_VERSION = 5,   /* rknn_sdk_version */
    RKNN_QUERY_MEM_SIZE = 6,      /* rknn_mem_size */
    RKNN_QUERY_CUSTOM_STRING = 7, /* rknn_custom_string */
    /* Layout and type the hardware works with. */
    RKNN_QUERY_NATIVE_INPUT_ATTR = 8,
    RKNN_QUERY_NATIVE_OUTPUT_ATTR = 9,
    RKNN_QUERY_NATIVE_NC1HWC2_INPUT_ATTR = 8,
    RKNN_QUERY_NATIVE_NC1HWC2_OUTPUT_ATTR = 9,
    RKNN_QUERY_NATIVE_NHWC_INPUT_ATTR = 10,
    RKNN_QUERY_NATIVE_NHWC_OUTPUT_ATTR = 11,
    RKNN_QUERY_DEVICE_MEM_INFO = 12,     /* rknn_tensor_mem: the model's buffer */
    RKNN_QUERY_INPUT_DYNAMIC_RANGE = 13, /* rknn_input_range, caller sets index */
    /* Of the shapes chosen with rknn_set_input_shapes(). */
    RKNN_QUERY_CURRENT_INPUT_ATTR = 14,
    RKNN_QUERY_CURRENT_OUTPUT_ATTR = 15,
    RKNN_QUERY_CURRENT_NATIVE_INPUT_ATTR = 16,
    RKNN_QUERY_CURRENT_NATIVE_OUTPUT_ATTR = 17,
    RKNN_QUERY_CMD_MAX
} rknn_query_cmd;

typedef enum _rknn_tensor_type {
    RKNN_TENSOR_FLOAT32 = 0,
    RKNN_TENSOR_FLOAT16,
    RKNN_TENSOR_INT8,
    RKNN_TENSOR_UINT8,
    RKNN_TENSOR_INT16,
    RKNN_TENSOR_UINT16,
    RKNN_TENSOR_INT32,
    RKNN_TENSOR_UINT32,
    RKNN_TENSOR_INT64,
    RKNN_TENSOR_BOOL,
    RKNN_TENSOR_INT4,
    RKNN_TENSOR_BFLOAT16,
    RKNN_TENSOR_TYPE_MAX
} rknn_tensor_type;

/* Name of a type for messages. */
static inline const char* get_type_string(rknn_tensor_type type) {
    switch (type) {
        case RKNN_TENSOR_FLOAT32:
            return "FP32";
        case RKNN_TENSOR_FLOAT16:
            return "FP16";
        case RKNN_TENSOR_INT8:
            return "INT8";
        case RKNN_TENSOR_UINT8:
            return "UINT8";
        case RKNN_TENSOR_INT16:
            return "INT16";
        case RKNN_TENSOR_UINT16:
            return "UINT16";
        case RKNN_TENSOR_INT32:
            return "INT32";
        case RKNN_TENSOR_UINT32:
            return "UINT32";
        case RKNN_TENSOR_INT64:
            return "INT64";
        case RKNN_TENSOR_BOOL:
            return "BOOL";
        case RKNN_TENSOR_INT4:
            return "INT4";
        case RKNN_TENSOR_BFLOAT16:
            return "BF16";
        default:
            return "UNKNOW";
    }
}

typedef enum _rknn_tensor_qnt_type {
    RKNN_TENSOR_QNT_NONE = 0,
    RKNN_TENSOR_QNT_DFP,               /* real = code / 2^fl */
    RKNN_TENSOR_QNT_AFFINE_ASYMMETRIC, /* real = scale * (code - zp) */
    RKNN_TENSOR_QNT_MAX
} rknn_tensor_qnt_type;

static inline const char* get_qnt_type_string(rknn_tensor_qnt_type type) {
    switch (type) {
        case RKNN_TENSOR_QNT_NONE:
            return "NONE";
        case RKNN_TENSOR_QNT_DFP:
            return "DFP";
        case RKNN_TENSOR_QNT_AFFINE_ASYMMETRIC:
            return "AFFINE";
        default:
            return "UNKNOW";
    }
}

typedef enum _rknn_tensor_format {
    RKNN_TENSOR_NCHW = 0,
    RKNN_TENSOR_NHWC,
    RKNN_TENSOR_NC1HWC2, /* element (n, c, h, w) at [n][c / C2][h][w][c % C2] */
    RKNN_TENSOR_UNDEFINED,
    RKNN_TENSOR_FORMAT_MAX
} rknn_tensor_format;

static inline const char* get_format_string(rknn_tensor_format fmt) {
    switch (fmt) {
        case RKNN_TENSOR_NCHW:
            return "NCHW";
        case RKNN_TENSOR_NHWC:
            return "NHWC";
        case RKNN_TENSOR_NC1HWC2:
            return "NC1HWC2";
        case RKNN_TENSOR_UNDEFINED:
            return "UNDEFINED";
        default:
            return "UNKNOW";
    }
}

/* Cores a context may use. */
typedef enum _rknn_core_mask {
    RKNN_NPU_CORE_AUTO = 0, /* any idle core, chosen for each run */
    RKNN_NPU_CORE_0 = 1,
    RKNN_NPU_CORE_1 = 2,
    RKNN_NPU_CORE_2 = 4,
    RKNN_NPU_CORE_0_1 = RKNN_NPU_CORE_0 | RKNN_NPU_CORE_1,
    RKNN_NPU_CORE_0_1_2 = RKNN_NPU_CORE_0_1 | RKNN_NPU_CORE_2,
    RKNN_NPU_CORE_ALL = 0xffff, /* as many as the chip has */
    RKNN_NPU_CORE_UNDEFINED
} rknn_core_mask;

typedef struct _rknn_input_output_num {
    uint32_t n_input;
    uint32_t n_output;
} rknn_input_output_num;

typedef struct _rknn_tensor_attr {
    uint32_t index; /* of the input or output */
    uint32_t n_dims;
    uint32_t dims[RKNN_MAX_DIMS]; /* unused entries are 0 */
    char name[RKNN_MAX_NAME_LEN];
    uint32_t n_elems;
    uint32_t size; /* bytes: n_elems times the width of type */
    rknn_tensor_format fmt;
    rknn_tensor_type type;
    rknn_tensor_qnt_type qnt_type;
    int8_t fl;                 /* QNT_DFP */
    int32_t zp;                /* QNT_AFFINE_ASYMMETRIC */
    float scale;               /* QNT_AFFINE_ASYMMETRIC */
    uint32_t w_stride;         /* pixels from row to row, 0 = width; read only */
    uint32_t size_with_stride; /* bytes with w_stride */
    uint8_t pass_through;      /* rknn_set_io_mem(): 1 = the memory holds native data */
    uint32_t h_stride;         /* rows from batch to batch, 0 = height; written by the caller */
} rknn_tensor_attr;

/* Shapes an input may take: set i is dyn_range[i][0 .. n_dims). */
typedef struct _rknn_input_range {
    uint32_t index;
    uint32_t shape_number;
    rknn_tensor_format fmt;
    char name[RKNN_MAX_NAME_LEN];
    uint32_t dyn_range[RKNN_MAX_DYNAMIC_SHAPE_NUM][RKNN_MAX_DIMS];
    uint32_t n_dims;
} rknn_input_range;

/* Table of layers; the text belongs to the context and lives until its next query or run. */
typedef struct _rknn_perf_detail {
    char* perf_data;
    uint64_t data_len;
} rknn_perf_detail;

typedef struct _rknn_perf_run {
    int64_t run_duration; /* microseconds of the last rknn_run() */
} rknn_perf_run;

typedef struct _rknn_sdk_version {
    char api_version[256];
    char drv_version[256];
} rknn_sdk_version;

typedef struct _rknn_mem_size {
    uint32_t total_weight_size;
    uint32_t total_internal_size; /* without inputs and outputs */
    uint64_t total_dma_allocated_size;
    uint32_t total_sram_size; /* on-chip memory of the NPU, all of it */
    uint32_t free_sram_size;
    uint32_t reserved[10];
} rknn_mem_size;

typedef struct _rknn_custom_string {
    char string[1024];
} rknn_custom_string;

typedef enum _rknn_tensor_mem_flags {
    RKNN_TENSOR_MEMORY_FLAGS_ALLOC_INSIDE = 1,
    RKNN_TENSOR_MEMORY_FLAGS_FROM_FD = 2,
    RKNN_TENSOR_MEMORY_FLAGS_FROM_PHYS = 3,
    RKNN_TENSOR_MEMORY_FLAGS_UNKNOWN
} rknn_tensor_mem_flags;

/* Flags of rknn_create_mem2(). */
typedef enum _rknn_mem_alloc_flags {
    RKNN_FLAG_MEMORY_FLAGS_DEFAULT = 0, /* cacheable */
    RKNN_FLAG_MEMORY_CACHEABLE = 1,
    RKNN_FLAG_MEMORY_NON_CACHEABLE = 2,
    RKNN_FLAG_MEMORY_TRY_ALLOC_SRAM = 4
} rknn_mem_alloc_flags;

typedef enum _rknn_mem_sync_mode {
    RKNN_MEMORY_SYNC_TO_DEVICE = 1,   /* after the CPU wrote */
    RKNN_MEMORY_SYNC_FROM_DEVICE = 2, /* before the CPU reads */
    RKNN_MEMORY_SYNC_BIDIRECTIONAL = RKNN_MEMORY_SYNC_TO_DEVICE | RKNN_MEMORY_SYNC_FROM_DEVICE
} rknn_mem_sync_mode;

/* Memory that CPU and NPU see. The tensor starts at virt_addr + offset. */
typedef struct _rknn_tensor_memory {
    void* virt_addr;
    uint64_t phys_addr; /* as the NPU addresses it */
    int32_t fd;         /* -1 if it has none */
    int32_t offset;
    uint32_t size;
    uint32_t flags; /* rknn_tensor_mem_flags */
    void* priv_data;
} rknn_tensor_mem;

typedef struct _rknn_input {
    uint32_t index;
    void* buf;
    uint32_t size;
    uint8_t pass_through; /* 1: buf holds what the model input takes, nothing is converted */
    rknn_tensor_type type;
    rknn_tensor_format fmt;
} rknn_input;

typedef struct _rknn_output {
    uint8_t want_float;  /* 1: float32, otherwise the model's own type; NCHW */
    uint8_t is_prealloc; /* 1: buf and size are the caller's */
    uint32_t index;
    void* buf;
    uint32_t size;
} rknn_output;

typedef struct _rknn_init_extend {
    rknn_context ctx;          /* whose weights to use, RKNN_FLAG_SHARE_WEIGHT_MEM */
    int32_t real_model_offset; /* where the model lies in the file */
    uint32_t real_model_size;  /* 0 = to the end of the file */
    int32_t model_buffer_fd;   /* RKNN_FLAG_MODEL_BUFFER_ZERO_COPY */
    uint32_t model_buffer_flags;
    uint8_t reserved[112];
} rknn_init_extend;

typedef struct _rknn_run_extend {
    uint64_t frame_id; /* receives the number of the run */
    int32_t non_block; /* 1: return at once, see rknn_wait() */
    int32_t timeout_ms;
    int32_t fence_fd;
} rknn_run_extend;

typedef struct _rknn_output_extend {
    uint64_t frame_id; /* receives the number of the run the outputs belong to */
} rknn_output_extend;

/*
 * Loads a model and makes a context. With size 0 `model` is a path, otherwise the model itself,
 * which may be freed when the call returns. `extend` may be NULL. On failure *context is unchanged.
 */
int rknn_init(rknn_context* context, void* model, uint32_t size, uint32_t flag,
              rknn_init_extend* extend);

/* A further context on the same model; weights are shared, everything else is its own. */
int rknn_dup_context(rknn_context* context_in, rknn_context* context_out);

/* Frees a context. Memory objects of the caller stay valid until rknn_destroy_mem(). */
int rknn_destroy(rknn_context context);

/* Fills the structure that belongs to `cmd`; `size` is the size the caller knows it with. */
int rknn_query(rknn_context context, rknn_query_cmd cmd, void* info, uint32_t size);

/* Copies and converts inputs: type, layout, mean and scale, quantisation. */
int rknn_inputs_set(rknn_context context, uint32_t n_inputs, rknn_input inputs[]);

/* Cores for models with a batch size above 1. */
int rknn_set_batch_core_num(rknn_context context, int core_num);

int rknn_set_core_mask(rknn_context context, rknn_core_mask core_mask);

/* One inference. `extend` may be NULL. */
int rknn_run(rknn_context context, rknn_run_extend* extend);

/* Waits for the end of a run with non_block 1. */
int rknn_wait(rknn_context context, rknn_run_extend* extend);

int rknn_outputs_get(rknn_context context, uint32_t n_outputs, rknn_output outputs[],
                     rknn_output_extend* extend);

/* Frees what rknn_outputs_get() allocated. */
int rknn_outputs_release(rknn_context context, uint32_t n_ouputs, rknn_output outputs[]);

/* Memory of the caller, known by its address for the NPU. */
rknn_tensor_mem* rknn_create_mem_from_phys(rknn_context ctx, uint64_t phys_addr, void* virt_addr,
                                           uint32_t size);

/* A dma-buf of the caller; `virt_addr` is where its first byte is mapped. */
rknn_tensor_mem* rknn_create_mem_from_fd(rknn_context ctx, int32_t fd, void* virt_addr,
                                         uint32_t size, int32_t offset);

/* Media blocks of the vendor's multimedia library; not available, returns NULL. */
rknn_tensor_mem* rknn_create_mem_from_mb_blk(rknn_context ctx, void* mb_blk, int32_t offset);

rknn_tensor_mem* rknn_create_mem(rknn_context ctx, uint32_t size);

/* With rknn_mem_alloc_flags; with RKNN_MEM_FLAG_ALLOC_NO_CONTEXT ctx may be 0. */
rknn_tensor_mem* rknn_create_mem2(rknn_context ctx, uint64_t size, uint64_t alloc_flags);

int rknn_destroy_mem(rknn_context ctx, rknn_tensor_mem* mem);

/* Memory for the weights, which the library fills. */
int rknn_set_weight_mem(rknn_context ctx, rknn_tensor_mem* mem);

/* Memory for intermediate tensors; contexts that never run at the same time may share it. */
int rknn_set_internal_mem(rknn_context ctx, rknn_tensor_mem* mem);

/* Binds an input or output; `attr` comes from a query, type and fmt may be changed. */
int rknn_set_io_mem(rknn_context ctx, rknn_tensor_mem* mem, rknn_tensor_attr* attr);

/* Replaced by rknn_set_input_shapes(); fails. */
int rknn_set_input_shape(rknn_context ctx, rknn_tensor_attr* attr);

/* Chooses one of the shape sets of the model; all inputs at once. */
int rknn_set_input_shapes(rknn_context ctx, uint32_t n_inputs, rknn_tensor_attr attr[]);

/* Cache maintenance of mem; context may be 0. */
int rknn_mem_sync(rknn_context context, rknn_tensor_mem* mem, rknn_mem_sync_mode mode);

#ifdef __cplusplus
}
#endif

#endif /* RKNN_API_H */
