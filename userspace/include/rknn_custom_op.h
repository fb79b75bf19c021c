/* SPDX-License-Identifier: MIT */
/* Operators that the caller computes, in place of or in addition to the library's own. */
#ifndef RKNN_CUSTOM_OP_H
#define RKNN_CUSTOM_OP_H

#include "rknn_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RKNN_CUSTOM_OP_MAX_STR_LEN 64
#define RKNN_CUSTOM_OP_MAX_VALUE_LEN 32
#define RKNN_CUSTOM_OP_EXPORT __attribute__((visibility("default")))

/* Result of init: use the library's own operator for this node. */
#define RKNN_WARNING_SKIP_CUSTOM_OP_COMPUTE (-14)

#ifdef __arm__
typedef uint32_t rknn_custom_op_interal_context;
#else
typedef uint64_t rknn_custom_op_interal_context;
#endif

typedef enum _rknn_target_type {
    RKNN_TARGET_TYPE_CPU = 1,
    RKNN_TARGET_TYPE_GPU = 2,
    RKNN_TARGET_TYPE_MAX
} rknn_target_type;

typedef struct _rknn_gpu_op_context {
    void* cl_context;
    void* cl_command_queue;
    void* cl_kernel;
} rknn_gpu_op_context;

typedef struct _rknn_custom_op_context {
    rknn_target_type target;
    rknn_custom_op_interal_context internal_ctx;
    rknn_gpu_op_context gpu_ctx;
    void* priv_data; /* the operator's own, one per node */
} rknn_custom_op_context;

/* An operand; its first element is at mem.virt_addr + mem.offset. */
typedef struct _rknn_custom_op_tensor {
    rknn_tensor_attr attr;
    rknn_tensor_mem mem;
} rknn_custom_op_tensor;

/* An attribute of a node; n_elems is 0 if the node has none of that name. */
typedef struct _rknn_custom_op_attr {
    char name[RKNN_MAX_NAME_LEN];
    rknn_tensor_type dtype;
    uint32_t n_elems;
    void* data;
} rknn_custom_op_attr;

typedef struct _rknn_custom_op {
    uint32_t version;
    rknn_target_type target;
    char op_type[RKNN_MAX_NAME_LEN];
    char cl_kernel_name[RKNN_MAX_NAME_LEN];
    char* cl_kernel_source; /* text, or a path when cl_source_size is 0 */
    uint64_t cl_source_size;
    char cl_build_options[RKNN_MAX_NAME_LEN];
    /* Once per node when registered; may be NULL. */
    int (*init)(rknn_custom_op_context* op_ctx, rknn_custom_op_tensor* inputs, uint32_t n_inputs,
                rknn_custom_op_tensor* outputs, uint32_t n_outputs);
    /* Before each compute; may be NULL. */
    int (*prepare)(rknn_custom_op_context* op_ctx, rknn_custom_op_tensor* inputs, uint32_t n_inputs,
                   rknn_custom_op_tensor* outputs, uint32_t n_outputs);
    /* Each run; operands are NCHW, float32 (or int64 where the model says so). */
    int (*compute)(rknn_custom_op_context* op_ctx, rknn_custom_op_tensor* inputs, uint32_t n_inputs,
                   rknn_custom_op_tensor* outputs, uint32_t n_outputs);
    /* Never called. */
    int (*compute_native)(rknn_custom_op_context* op_ctx, rknn_custom_op_tensor* inputs,
                          uint32_t n_inputs, rknn_custom_op_tensor* outputs, uint32_t n_outputs);
    /* Once per node with rknn_destroy(); may be NULL. */
    int (*destroy)(rknn_custom_op_context* op_ctx);
} rknn_custom_op;

/* What a plugin librkcst_*.so exports under the name get_rknn_custom_op. */
typedef rknn_custom_op* (*get_custom_op_func)(void);

/* After rknn_init(), before the first run. */
int rknn_register_custom_ops(rknn_context ctx, rknn_custom_op* op, uint32_t custom_op_num);

/* Inside the callbacks: attribute `name` of the node. */
void rknn_custom_op_get_op_attr(rknn_custom_op_context* op_ctx, const char* name,
                                rknn_custom_op_attr* op_attr);

#ifdef __cplusplus
}
#endif

#endif /* RKNN_CUSTOM_OP_H */
