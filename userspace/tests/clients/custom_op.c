/* SPDX-License-Identifier: MIT */
/* An operator of the client's own, in the manner of the manual's sample. */
#include <rknn_custom_op.h>

#include <stdlib.h>
#include <string.h>

#include "clients.h"

static int live;

static float* values_of(const rknn_custom_op_tensor* tensor) {
    return (float*)((unsigned char*)tensor->mem.virt_addr + tensor->mem.offset);
}

static int mystery_init(rknn_custom_op_context* op_ctx, rknn_custom_op_tensor* inputs,
                        uint32_t n_inputs, rknn_custom_op_tensor* outputs, uint32_t n_outputs) {
    rknn_custom_op_attr attr;

    (void)inputs;
    (void)outputs;
    EXPECT(n_inputs == 1 && n_outputs == 1);
    memset(&attr, 0xee, sizeof(attr));
    rknn_custom_op_get_op_attr(op_ctx, "no such attribute", &attr);
    EXPECT(attr.n_elems == 0);
    op_ctx->priv_data = malloc(sizeof(float));
    EXPECT(op_ctx->priv_data != NULL);
    *(float*)op_ctx->priv_data = 2;
    ++live;
    return 0;
}

static int mystery_compute(rknn_custom_op_context* op_ctx, rknn_custom_op_tensor* inputs,
                           uint32_t n_inputs, rknn_custom_op_tensor* outputs, uint32_t n_outputs) {
    const float factor = *(const float*)op_ctx->priv_data;
    uint32_t i;

    EXPECT(n_inputs == 1 && n_outputs == 1);
    EXPECT(inputs[0].attr.type == RKNN_TENSOR_FLOAT32);
    EXPECT(inputs[0].attr.n_elems == outputs[0].attr.n_elems);
    for (i = 0; i < inputs[0].attr.n_elems; ++i)
        values_of(&outputs[0])[i] = factor * values_of(&inputs[0])[i];
    return 0;
}

static int mystery_destroy(rknn_custom_op_context* op_ctx) {
    free(op_ctx->priv_data);
    --live;
    return 0;
}

int custom_op_client(const char* model) {
    rknn_context ctx = 0;
    rknn_tensor_attr attr;
    rknn_custom_op* op = calloc(1, sizeof(*op));
    rknn_input input;
    rknn_output output;
    float values[64];
    uint32_t i;

    EXPECT(rknn_init(&ctx, (void*)model, 0, 0, NULL) == RKNN_SUCC);
    EXPECT(op != NULL);
    op->version = 1;
    op->target = RKNN_TARGET_TYPE_CPU;
    strncpy(op->op_type, "Mystery", RKNN_MAX_NAME_LEN - 1);
    op->init = mystery_init;
    op->compute = mystery_compute;
    op->destroy = mystery_destroy;
    EXPECT(rknn_register_custom_ops(ctx, op, 1) == RKNN_SUCC);
    free(op); /* the registration has its own copy */
    memset(&attr, 0, sizeof(attr));
    EXPECT(rknn_query(ctx, RKNN_QUERY_INPUT_ATTR, &attr, sizeof(attr)) == RKNN_SUCC);
    EXPECT(attr.n_elems <= 64);
    for (i = 0; i < attr.n_elems; ++i)
        values[i] = (float)i + 0.5f;
    memset(&input, 0, sizeof(input));
    input.type = RKNN_TENSOR_FLOAT32;
    input.fmt = attr.fmt;
    input.size = attr.n_elems * (uint32_t)sizeof(float);
    input.buf = values;
    memset(&output, 0, sizeof(output));
    output.want_float = 1;
    EXPECT(rknn_inputs_set(ctx, 1, &input) == RKNN_SUCC);
    EXPECT(rknn_run(ctx, NULL) == RKNN_SUCC);
    EXPECT(rknn_outputs_get(ctx, 1, &output, NULL) == RKNN_SUCC);
    for (i = 0; i < attr.n_elems; ++i)
        EXPECT(((const float*)output.buf)[i] == 2 * values[i]);
    EXPECT(rknn_outputs_release(ctx, 1, &output) == RKNN_SUCC);
    EXPECT(live == 1);
    EXPECT(rknn_destroy(ctx) == RKNN_SUCC);
    EXPECT(live == 0);
    return 0;
}
