/* SPDX-License-Identifier: MIT */
/* Calls in the wrong order and with senseless arguments: the documented codes, and no crash. */
#include <rknn_matmul_api.h>

#include <stdlib.h>
#include <string.h>

#include "clients.h"

typedef struct {
    rknn_context ctx;
    rknn_tensor_attr in, out;
    rknn_input input;
    rknn_output output;
} client;

static int open_client(client* c, const char* model) {
    memset(c, 0, sizeof(*c));
    EXPECT(rknn_init(&c->ctx, (void*)model, 0, 0, NULL) == RKNN_SUCC);
    EXPECT(rknn_query(c->ctx, RKNN_QUERY_INPUT_ATTR, &c->in, sizeof(c->in)) == RKNN_SUCC);
    EXPECT(rknn_query(c->ctx, RKNN_QUERY_OUTPUT_ATTR, &c->out, sizeof(c->out)) == RKNN_SUCC);
    c->input.type = RKNN_TENSOR_UINT8;
    c->input.fmt = RKNN_TENSOR_NHWC;
    c->input.size = c->in.n_elems;
    c->input.buf = calloc(1, c->in.n_elems);
    c->output.want_float = 1;
    EXPECT(c->input.buf != NULL);
    return 0;
}

static int close_client(client* c) {
    free(c->input.buf);
    EXPECT(rknn_destroy(c->ctx) == RKNN_SUCC);
    EXPECT(rknn_destroy(c->ctx) == RKNN_ERR_CTX_INVALID);
    return 0;
}

static int wrong_inits(const char* model) {
    rknn_context ctx = 77, other = 0;
    rknn_init_extend extend;
    char word[4] = "RKN";

    EXPECT(rknn_init(NULL, (void*)model, 0, 0, NULL) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_init(&ctx, NULL, 0, 0, NULL) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_init(&ctx, NULL, 1000, 0, NULL) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_init(&ctx, (void*)"", 0, 0, NULL) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_init(&ctx, (void*)"/", 0, 0, NULL) < 0);
    EXPECT(rknn_init(&ctx, (void*)"/dev/null", 0, 0, NULL) < 0);
    EXPECT(rknn_init(&ctx, (void*)"/dev/zero", 0, 0, NULL) < 0);
    EXPECT(rknn_init(&ctx, word, sizeof(word), 0, NULL) == RKNN_ERR_MODEL_INVALID);
    EXPECT(rknn_init(&ctx, (void*)model, 0, 0x40000000, NULL) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_init(&ctx, (void*)model, 0, RKNN_FLAG_SHARE_SRAM, NULL) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_init(&ctx, (void*)model, 0, RKNN_FLAG_SHARE_WEIGHT_MEM, NULL) ==
           RKNN_ERR_PARAM_INVALID);
    memset(&extend, 0, sizeof(extend));
    EXPECT(rknn_init(&ctx, (void*)model, 0, RKNN_FLAG_SHARE_WEIGHT_MEM, &extend) ==
           RKNN_ERR_CTX_INVALID);
    extend.real_model_offset = -1;
    EXPECT(rknn_init(&ctx, (void*)model, 0, 0, &extend) == RKNN_ERR_PARAM_INVALID);
    extend.real_model_offset = 0x7fffffff;
    EXPECT(rknn_init(&ctx, (void*)model, 0, 0, &extend) < 0);
    EXPECT(ctx == 77);
    EXPECT(rknn_dup_context(NULL, &other) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_dup_context(&ctx, NULL) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_dup_context(&ctx, &other) == RKNN_ERR_CTX_INVALID);
    EXPECT(rknn_destroy(0) == RKNN_ERR_CTX_INVALID);
    return 0;
}

static int wrong_order(const char* model) {
    client c;

    EXPECT(open_client(&c, model) == 0);
    EXPECT(rknn_wait(c.ctx, NULL) == RKNN_SUCC);
    EXPECT(rknn_run(c.ctx, NULL) == RKNN_ERR_INPUT_INVALID);
    EXPECT(rknn_outputs_get(c.ctx, 1, &c.output, NULL) == RKNN_ERR_OUTPUT_INVALID);
    EXPECT(rknn_outputs_release(c.ctx, 1, &c.output) == RKNN_SUCC); /* nothing to free */
    EXPECT(rknn_inputs_set(c.ctx, 1, &c.input) == RKNN_SUCC);
    EXPECT(rknn_outputs_get(c.ctx, 1, &c.output, NULL) == RKNN_ERR_OUTPUT_INVALID);
    EXPECT(rknn_inputs_set(c.ctx, 1, &c.input) == RKNN_SUCC); /* twice: the later one counts */
    EXPECT(rknn_run(c.ctx, NULL) == RKNN_SUCC);
    EXPECT(rknn_run(c.ctx, NULL) == RKNN_SUCC); /* again with the same input */
    EXPECT(rknn_outputs_get(c.ctx, 1, &c.output, NULL) == RKNN_SUCC);
    EXPECT(rknn_outputs_get(c.ctx, 1, &c.output, NULL) ==
           RKNN_SUCC); /* the first one leaks until destroy */
    EXPECT(rknn_outputs_release(c.ctx, 1, &c.output) == RKNN_SUCC);
    EXPECT(rknn_outputs_release(c.ctx, 1, &c.output) == RKNN_SUCC);
    EXPECT(close_client(&c) == 0);
    EXPECT(rknn_outputs_release(c.ctx, 1, &c.output) == RKNN_ERR_CTX_INVALID);
    return 0;
}

static int wrong_arguments(const char* model) {
    client c;
    rknn_input input;
    rknn_output output;
    uint32_t word = 1;

    EXPECT(open_client(&c, model) == 0);
    input = c.input;
    output = c.output;
    EXPECT(rknn_inputs_set(c.ctx, 0, &input) == RKNN_ERR_INPUT_INVALID);
    EXPECT(rknn_inputs_set(c.ctx, 1, NULL) == RKNN_ERR_PARAM_INVALID);
    input.size = c.in.n_elems - 1;
    EXPECT(rknn_inputs_set(c.ctx, 1, &input) == RKNN_ERR_INPUT_INVALID);
    input = c.input;
    input.type = RKNN_TENSOR_FLOAT32; /* "type" left 0: a buffer of bytes is too small for it */
    EXPECT(rknn_inputs_set(c.ctx, 1, &input) == RKNN_ERR_INPUT_INVALID);
    input = c.input;
    input.buf = NULL;
    EXPECT(rknn_inputs_set(c.ctx, 1, &input) == RKNN_ERR_INPUT_INVALID);
    EXPECT(rknn_inputs_set(c.ctx, 1, &c.input) == RKNN_SUCC);
    EXPECT(rknn_run(c.ctx, NULL) == RKNN_SUCC);
    EXPECT(rknn_outputs_get(c.ctx, 1, NULL, NULL) == RKNN_ERR_PARAM_INVALID);
    output.is_prealloc = 1;
    EXPECT(rknn_outputs_get(c.ctx, 1, &output, NULL) == RKNN_ERR_OUTPUT_INVALID);
    output.buf = &word;
    output.size = sizeof(word);
    EXPECT(rknn_outputs_get(c.ctx, 1, &output, NULL) == RKNN_ERR_OUTPUT_INVALID);
    EXPECT(word == 1);
    EXPECT(rknn_outputs_release(c.ctx, 1, NULL) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_query(c.ctx, RKNN_QUERY_IN_OUT_NUM, NULL, 8) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_query(c.ctx, RKNN_QUERY_IN_OUT_NUM, &word, 4) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_query(c.ctx, (rknn_query_cmd)99, &word, 4) == RKNN_ERR_PARAM_INVALID);
    c.in.index = 1;
    EXPECT(rknn_query(c.ctx, RKNN_QUERY_INPUT_ATTR, &c.in, sizeof(c.in)) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_set_core_mask(c.ctx, (rknn_core_mask)5) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_set_core_mask(c.ctx, RKNN_NPU_CORE_UNDEFINED) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_set_batch_core_num(c.ctx, 0) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_set_batch_core_num(c.ctx, 4) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_set_batch_core_num(c.ctx, 3) == RKNN_SUCC);
    EXPECT(rknn_set_input_shape(c.ctx, &c.in) < 0);
    EXPECT(rknn_set_input_shapes(c.ctx, 1, NULL) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_set_input_shapes(c.ctx, 0, &c.in) < 0);
    EXPECT(close_client(&c) == 0);
    return 0;
}

static int wrong_memory(const char* model) {
    rknn_tensor_mem *mem, *small;
    rknn_tensor_mem foreign;
    client c;

    EXPECT(open_client(&c, model) == 0);
    memset(&foreign, 0, sizeof(foreign));
    EXPECT(rknn_create_mem(c.ctx, 0) == NULL);
    EXPECT(rknn_create_mem2(c.ctx, (uint64_t)1 << 40, 0) == NULL);
    EXPECT(rknn_create_mem2(0, 4096, 0) == NULL);
    EXPECT(rknn_create_mem_from_fd(c.ctx, -1, NULL, 4096, 0) == NULL);
    EXPECT(rknn_create_mem_from_fd(c.ctx, 0, NULL, 4096, 0) == NULL);
    EXPECT(rknn_create_mem_from_phys(c.ctx, 0, NULL, 4096) == NULL);
    EXPECT(rknn_create_mem_from_mb_blk(c.ctx, &foreign, 0) == NULL);
    mem = rknn_create_mem(c.ctx, c.in.size_with_stride);
    small = rknn_create_mem(c.ctx, 1);
    EXPECT(mem != NULL && small != NULL);
    EXPECT(rknn_create_mem_from_fd(c.ctx, mem->fd, mem->virt_addr, 0xffffffff, 0) == NULL);
    EXPECT(rknn_create_mem_from_fd(c.ctx, mem->fd, mem->virt_addr, 1, 0x7fffffff) == NULL);
    EXPECT(rknn_create_mem_from_fd(c.ctx, mem->fd, mem->virt_addr, 1, -4) == NULL);
    EXPECT(rknn_set_io_mem(c.ctx, NULL, &c.in) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_set_io_mem(c.ctx, &foreign, &c.in) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_set_io_mem(c.ctx, mem, NULL) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_set_weight_mem(c.ctx, NULL) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_set_weight_mem(c.ctx, small) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_set_internal_mem(c.ctx, small) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_mem_sync(c.ctx, NULL, RKNN_MEMORY_SYNC_TO_DEVICE) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_mem_sync(c.ctx, mem, (rknn_mem_sync_mode)4) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_mem_sync(c.ctx, mem, (rknn_mem_sync_mode)0) == RKNN_ERR_PARAM_INVALID);
    c.in.type = RKNN_TENSOR_UINT8;
    EXPECT(rknn_set_io_mem(c.ctx, small, &c.in) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_set_io_mem(c.ctx, mem, &c.in) == RKNN_SUCC);
    EXPECT(rknn_inputs_set(c.ctx, 1, &c.input) == RKNN_ERR_CTX_INVALID); /* not both interfaces */
    EXPECT(rknn_destroy_mem(c.ctx, &foreign) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_destroy_mem(c.ctx, small) == RKNN_SUCC);
    EXPECT(rknn_destroy_mem(c.ctx, NULL) == RKNN_ERR_PARAM_INVALID);
    EXPECT(close_client(&c) == 0);
    EXPECT(rknn_destroy_mem(c.ctx, mem) == RKNN_SUCC); /* later than its context */
    return 0;
}

static int wrong_kind_of_context(const char* model) {
    rknn_matmul_info info;
    rknn_matmul_io_attr io;
    rknn_matmul_shape shape;
    rknn_matmul_ctx product = 0;
    rknn_input_output_num num;
    client c;

    memset(&info, 0, sizeof(info));
    info.M = 1;
    info.K = 32;
    info.N = 33; /* no multiple of 32 */
    info.type = RKNN_INT8_MM_INT8_TO_INT32;
    EXPECT(rknn_matmul_create(NULL, &info, &io) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_matmul_create(&product, NULL, &io) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_matmul_create(&product, &info, NULL) == RKNN_ERR_PARAM_INVALID);
    EXPECT(rknn_matmul_create(&product, &info, &io) == RKNN_ERR_PARAM_INVALID);
    EXPECT(product == 0);
    info.N = 32;
    EXPECT(rknn_matmul_create(&product, &info, &io) == RKNN_SUCC);
    EXPECT(rknn_matmul_run(product) < 0); /* nothing is bound */
    EXPECT(rknn_run(product, NULL) == RKNN_ERR_CTX_INVALID);
    EXPECT(rknn_query(product, RKNN_QUERY_IN_OUT_NUM, &num, sizeof(num)) == RKNN_ERR_CTX_INVALID);
    EXPECT(open_client(&c, model) == 0);
    EXPECT(rknn_matmul_run(c.ctx) == RKNN_ERR_CTX_INVALID);
    memset(&shape, 0, sizeof(shape));
    EXPECT(rknn_matmul_set_dynamic_shape(c.ctx, &shape) == RKNN_ERR_CTX_INVALID);
    EXPECT(rknn_matmul_set_dynamic_shape(product, &shape) < 0);
    EXPECT(close_client(&c) == 0);
    EXPECT(rknn_matmul_destroy(product) == RKNN_SUCC);
    EXPECT(rknn_matmul_destroy(product) == RKNN_ERR_CTX_INVALID);
    return 0;
}

int mistakes_client(const char* model) {
    return wrong_inits(model) || wrong_order(model) || wrong_arguments(model) ||
           wrong_memory(model) || wrong_kind_of_context(model);
}
