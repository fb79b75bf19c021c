/* SPDX-License-Identifier: MIT */
/* The interface without copies, in the manner of the manual's samples. */
#include <rknn_api.h>

#include <stdlib.h>
#include <string.h>

#include "clients.h"

#define MAX_TENSORS 16

typedef struct {
    rknn_context ctx;
    const zero_copy_options* options;
    rknn_input_output_num num;
    rknn_tensor_attr input, outputs[MAX_TENSORS];
    rknn_tensor_mem *weights, *internal, *in, *out[MAX_TENSORS];
    rknn_tensor_mem *in_view, *out_views[MAX_TENSORS];
} client;

static int outside_memory(client* c) {
    rknn_mem_size sizes;

    EXPECT(rknn_query(c->ctx, RKNN_QUERY_MEM_SIZE, &sizes, sizeof(sizes)) == RKNN_SUCC);
    c->weights = rknn_create_mem(c->ctx, sizes.total_weight_size);
    c->internal = rknn_create_mem(c->ctx, sizes.total_internal_size);
    EXPECT(c->weights != NULL && c->internal != NULL);
    EXPECT(rknn_set_weight_mem(c->ctx, c->weights) == RKNN_SUCC);
    EXPECT(rknn_set_internal_mem(c->ctx, c->internal) == RKNN_SUCC);
    return 0;
}

/* The memory itself, or a second object for it by its descriptor. */
static rknn_tensor_mem* view_of(client* c, rknn_tensor_mem* mem, rknn_tensor_mem** view) {
    if (!c->options->from_fd)
        return mem;
    *view = rknn_create_mem_from_fd(c->ctx, mem->fd, mem->virt_addr, mem->size, 0);
    return *view;
}

static int bind_input(client* c, const job* work) {
    const uint32_t width = 2, height = 1;
    rknn_tensor_mem* mem;
    uint32_t row, y;

    memset(&c->input, 0, sizeof(c->input));
    EXPECT(rknn_query(c->ctx, RKNN_QUERY_NATIVE_INPUT_ATTR, &c->input, sizeof(c->input)) ==
           RKNN_SUCC);
    if (c->input.fmt != RKNN_TENSOR_NHWC)
        EXPECT(rknn_query(c->ctx, RKNN_QUERY_INPUT_ATTR, &c->input, sizeof(c->input)) == RKNN_SUCC);
    c->input.type = RKNN_TENSOR_UINT8;
    c->input.fmt = RKNN_TENSOR_NHWC;
    c->in = rknn_create_mem(c->ctx, c->input.size_with_stride);
    EXPECT(c->in != NULL && c->in->virt_addr != NULL && c->in->fd >= 0);
    row = c->input.dims[width] * c->input.dims[3];
    EXPECT(work->size == row * c->input.dims[height]);
    for (y = 0; y < c->input.dims[height]; ++y)
        memcpy((char*)c->in->virt_addr + (size_t)y * c->input.w_stride * c->input.dims[3],
               work->picture + (size_t)y * row, row);
    mem = view_of(c, c->in, &c->in_view);
    EXPECT(mem != NULL);
    EXPECT(rknn_set_io_mem(c->ctx, mem, &c->input) == RKNN_SUCC);
    if (c->options->sync)
        EXPECT(rknn_mem_sync(c->ctx, mem, RKNN_MEMORY_SYNC_TO_DEVICE) == RKNN_SUCC);
    return 0;
}

static int bind_output(client* c, uint32_t index) {
    static const rknn_query_cmd commands[] = {
        RKNN_QUERY_OUTPUT_ATTR,
        RKNN_QUERY_OUTPUT_ATTR,
        RKNN_QUERY_NATIVE_OUTPUT_ATTR,
        RKNN_QUERY_NATIVE_NHWC_OUTPUT_ATTR,
    };
    rknn_tensor_attr* attr = &c->outputs[index];
    uint32_t size;
    rknn_tensor_mem* mem;

    attr->index = index;
    EXPECT(rknn_query(c->ctx, commands[c->options->output], attr, sizeof(*attr)) == RKNN_SUCC);
    size = attr->size_with_stride;
    if (c->options->output == OUTPUT_FLOAT_NCHW) {
        attr->type = RKNN_TENSOR_FLOAT32;
        size = attr->n_elems * (uint32_t)sizeof(float);
    }
    c->out[index] = rknn_create_mem(c->ctx, size);
    EXPECT(c->out[index] != NULL);
    mem = view_of(c, c->out[index], &c->out_views[index]);
    EXPECT(mem != NULL);
    EXPECT(rknn_set_io_mem(c->ctx, mem, attr) == RKNN_SUCC);
    return 0;
}

static float value_at(const rknn_tensor_attr* attr, const void* data, size_t at) {
    if (attr->type == RKNN_TENSOR_FLOAT32)
        return ((const float*)data)[at];
    if (attr->type == RKNN_TENSOR_INT8)
        return (float)(((const int8_t*)data)[at] - attr->zp) * attr->scale;
    fprintf(stderr, "an output of type %s\n", get_type_string(attr->type));
    abort();
}

/* Where element (channel, row, column) lies, from the dims that the query gave. */
static size_t place_of(const rknn_tensor_attr* attr, uint32_t c, uint32_t y, uint32_t x) {
    const uint32_t* dims = attr->dims;

    if (attr->fmt == RKNN_TENSOR_NC1HWC2)
        return (((size_t)(c / dims[4]) * dims[2] + y) * dims[3] + x) * dims[4] + c % dims[4];
    if (attr->fmt == RKNN_TENSOR_NHWC) {
        const uint32_t pitch = attr->w_stride != 0 ? attr->w_stride : dims[2];
        return ((size_t)y * pitch + x) * dims[3] + c;
    }
    return ((size_t)c * dims[2] + y) * dims[3] + x;
}

static int read_output(client* c, uint32_t index, job* work, uint32_t* used) {
    const rknn_tensor_attr* attr = &c->outputs[index];
    const void* data = c->out[index]->virt_addr;
    rknn_tensor_attr plain;
    uint32_t i, y, x;

    memset(&plain, 0, sizeof(plain));
    plain.index = index;
    EXPECT(rknn_query(c->ctx, RKNN_QUERY_OUTPUT_ATTR, &plain, sizeof(plain)) == RKNN_SUCC);
    EXPECT(*used + plain.n_elems <= work->count);
    if (plain.n_dims != 4) {
        for (i = 0; i < plain.n_elems; ++i)
            work->values[(*used)++] = value_at(attr, data, i);
        return 0;
    }
    for (i = 0; i < plain.dims[1]; ++i)
        for (y = 0; y < plain.dims[2]; ++y)
            for (x = 0; x < plain.dims[3]; ++x)
                work->values[(*used)++] = value_at(attr, data, place_of(attr, i, y, x));
    return 0;
}

static int run(client* c) {
    rknn_run_extend extend;

    if (!c->options->non_block)
        return rknn_run(c->ctx, NULL);
    memset(&extend, 0, sizeof(extend));
    extend.non_block = 1;
    extend.fence_fd = -1;
    EXPECT(rknn_run(c->ctx, &extend) == RKNN_SUCC);
    EXPECT(extend.frame_id != 0);
    return rknn_wait(c->ctx, &extend);
}

static int close_client(client* c) {
    uint32_t i;

    for (i = 0; i < c->num.n_output; ++i) {
        if (c->out_views[i] != NULL)
            EXPECT(rknn_destroy_mem(c->ctx, c->out_views[i]) == RKNN_SUCC);
        EXPECT(rknn_destroy_mem(c->ctx, c->out[i]) == RKNN_SUCC);
    }
    if (c->in_view != NULL)
        EXPECT(rknn_destroy_mem(c->ctx, c->in_view) == RKNN_SUCC);
    EXPECT(rknn_destroy_mem(c->ctx, c->in) == RKNN_SUCC);
    if (c->weights != NULL) {
        EXPECT(rknn_destroy_mem(c->ctx, c->weights) == RKNN_SUCC);
        EXPECT(rknn_destroy_mem(c->ctx, c->internal) == RKNN_SUCC);
    }
    EXPECT(rknn_destroy(c->ctx) == RKNN_SUCC);
    return 0;
}

int zero_copy_client(job* work, const zero_copy_options* options) {
    uint32_t flags = options->flags, i, used = 0;
    client* c = calloc(1, sizeof(*c));

    EXPECT(c != NULL);
    c->options = options;
    if (options->own_weights)
        flags |= RKNN_FLAG_MEM_ALLOC_OUTSIDE;
    if (options->sync)
        flags |= RKNN_FLAG_DISABLE_FLUSH_INPUT_MEM_CACHE | RKNN_FLAG_DISABLE_FLUSH_OUTPUT_MEM_CACHE;
    EXPECT(rknn_init(&c->ctx, (void*)work->model, 0, flags, NULL) == RKNN_SUCC);
    EXPECT(rknn_query(c->ctx, RKNN_QUERY_IN_OUT_NUM, &c->num, sizeof(c->num)) == RKNN_SUCC);
    EXPECT(c->num.n_output <= MAX_TENSORS);
    if (options->own_weights)
        EXPECT(outside_memory(c) == 0);
    EXPECT(bind_input(c, work) == 0);
    for (i = 0; i < c->num.n_output; ++i)
        EXPECT(bind_output(c, i) == 0);
    EXPECT(run(c) == RKNN_SUCC);
    for (i = 0; i < c->num.n_output; ++i) {
        if (options->sync)
            EXPECT(rknn_mem_sync(c->ctx, c->out[i], RKNN_MEMORY_SYNC_FROM_DEVICE) == RKNN_SUCC);
        EXPECT(read_output(c, i, work, &used) == 0);
    }
    work->count = used;
    EXPECT(close_client(c) == 0);
    free(c);
    return 0;
}
