/* SPDX-License-Identifier: MIT */
/* A model of several shapes, in the manner of the manual's samples for either interface. */
#include <rknn_api.h>

#include <stdlib.h>
#include <string.h>

#include "clients.h"

static uint8_t pixel(uint32_t at) {
    return (uint8_t)(at * 37 + at / 7);
}

static int choose(rknn_context ctx, const rknn_input_range* range, uint32_t set,
                  rknn_tensor_attr* current) {
    rknn_tensor_attr wanted;

    memset(&wanted, 0, sizeof(wanted));
    EXPECT(rknn_query(ctx, RKNN_QUERY_INPUT_ATTR, &wanted, sizeof(wanted)) == RKNN_SUCC);
    memcpy(wanted.dims, range->dyn_range[set], range->n_dims * sizeof(wanted.dims[0]));
    EXPECT(rknn_set_input_shapes(ctx, 1, &wanted) == RKNN_SUCC);
    memset(current, 0, sizeof(*current));
    EXPECT(rknn_query(ctx, RKNN_QUERY_CURRENT_INPUT_ATTR, current, sizeof(*current)) == RKNN_SUCC);
    EXPECT(memcmp(current->dims, wanted.dims, sizeof(current->dims)) == 0);
    return 0;
}

static int run_general(rknn_context ctx, const rknn_tensor_attr* attr, float** values,
                       uint32_t* count) {
    uint8_t* picture = malloc(attr->n_elems);
    rknn_input input;
    rknn_output output;
    uint32_t i;

    EXPECT(picture != NULL);
    for (i = 0; i < attr->n_elems; ++i)
        picture[i] = pixel(i);
    memset(&input, 0, sizeof(input));
    input.type = RKNN_TENSOR_UINT8;
    input.fmt = RKNN_TENSOR_NHWC;
    input.size = attr->n_elems;
    input.buf = picture;
    memset(&output, 0, sizeof(output));
    output.want_float = 1;
    EXPECT(rknn_inputs_set(ctx, 1, &input) == RKNN_SUCC);
    EXPECT(rknn_run(ctx, NULL) == RKNN_SUCC);
    EXPECT(rknn_outputs_get(ctx, 1, &output, NULL) == RKNN_SUCC);
    *count = output.size / (uint32_t)sizeof(float);
    *values = malloc(output.size);
    EXPECT(*values != NULL);
    memcpy(*values, output.buf, output.size);
    EXPECT(rknn_outputs_release(ctx, 1, &output) == RKNN_SUCC);
    free(picture);
    return 0;
}

static int run_zero_copy(rknn_context ctx, rknn_tensor_mem* in, rknn_tensor_mem* out,
                         const float* expected, uint32_t count) {
    rknn_tensor_attr input, output;
    uint32_t x, y, row;

    memset(&input, 0, sizeof(input));
    memset(&output, 0, sizeof(output));
    EXPECT(rknn_query(ctx, RKNN_QUERY_CURRENT_INPUT_ATTR, &input, sizeof(input)) == RKNN_SUCC);
    EXPECT(rknn_query(ctx, RKNN_QUERY_CURRENT_OUTPUT_ATTR, &output, sizeof(output)) == RKNN_SUCC);
    EXPECT(output.n_elems == count);
    input.type = RKNN_TENSOR_UINT8;
    output.type = RKNN_TENSOR_FLOAT32;
    row = input.dims[2] * input.dims[3];
    for (y = 0; y < input.dims[1]; ++y)
        for (x = 0; x < row; ++x)
            ((uint8_t*)in->virt_addr)[y * input.w_stride * input.dims[3] + x] = pixel(y * row + x);
    memset(out->virt_addr, 0xee, out->size);
    EXPECT(rknn_set_io_mem(ctx, in, &input) == RKNN_SUCC);
    EXPECT(rknn_set_io_mem(ctx, out, &output) == RKNN_SUCC);
    EXPECT(rknn_run(ctx, NULL) == RKNN_SUCC);
    EXPECT(memcmp(out->virt_addr, expected, count * sizeof(float)) == 0);
    return 0;
}

int shapes_client(const char* model) {
    rknn_input_range* range = calloc(1, sizeof(*range));
    rknn_context general = 0, bound = 0;
    rknn_tensor_mem *in, *out;
    rknn_tensor_attr attr;
    uint32_t set, i, dim, largest = 0, count;
    float* values;

    EXPECT(range != NULL);
    EXPECT(rknn_init(&general, (void*)model, 0, 0, NULL) == RKNN_SUCC);
    EXPECT(rknn_init(&bound, (void*)model, 0, 0, NULL) == RKNN_SUCC);
    EXPECT(rknn_query(bound, RKNN_QUERY_INPUT_DYNAMIC_RANGE, range, sizeof(*range)) == RKNN_SUCC);
    EXPECT(range->shape_number > 1 && range->n_dims == 4);
    /* Buffers for the largest shape, with rows padded to 16 pixels. */
    for (set = 0; set < range->shape_number; ++set) {
        uint32_t size = 1;
        for (dim = 0; dim < range->n_dims; ++dim)
            size *=
                dim == 2 ? (range->dyn_range[set][dim] + 15) / 16 * 16 : range->dyn_range[set][dim];
        largest = size > largest ? size : largest;
    }
    memset(&attr, 0, sizeof(attr));
    EXPECT(rknn_query(bound, RKNN_QUERY_OUTPUT_ATTR, &attr, sizeof(attr)) == RKNN_SUCC);
    in = rknn_create_mem(bound, largest);
    out = rknn_create_mem(bound, attr.n_elems * (uint32_t)sizeof(float));
    EXPECT(in != NULL && out != NULL);
    for (i = 0; i < 2 * range->shape_number; ++i) {
        set = i % range->shape_number;
        EXPECT(choose(general, range, set, &attr) == 0);
        EXPECT(run_general(general, &attr, &values, &count) == 0);
        EXPECT(choose(bound, range, set, &attr) == 0);
        EXPECT(run_zero_copy(bound, in, out, values, count) == 0);
        free(values);
    }
    EXPECT(rknn_destroy_mem(bound, in) == RKNN_SUCC);
    EXPECT(rknn_destroy_mem(bound, out) == RKNN_SUCC);
    EXPECT(rknn_destroy(bound) == RKNN_SUCC);
    EXPECT(rknn_destroy(general) == RKNN_SUCC);
    free(range);
    return 0;
}
