/* SPDX-License-Identifier: MIT */
/* The general interface in the manner of the detection samples: copy in, run, copy out. */
#include <rknn_api.h>

#include <stdlib.h>
#include <string.h>

#include "clients.h"

#define MAX_TENSORS 16

static unsigned char* load_model(const char* path, int* size) {
    FILE* file = fopen(path, "rb");
    unsigned char* data = NULL;
    long length;

    if (file == NULL)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) > 0) {
        data = malloc((size_t)length);
        rewind(file);
        if (data != NULL && fread(data, 1, (size_t)length, file) != (size_t)length) {
            free(data);
            data = NULL;
        }
        *size = (int)length;
    }
    fclose(file);
    return data;
}

static int open_model(rknn_context* ctx, const char* path, const general_options* options) {
    unsigned char* data;
    int size = 0;
    int ret;

    if (!options->from_memory)
        return rknn_init(ctx, (void*)path, 0, options->flags, NULL);
    data = load_model(path, &size);
    if (data == NULL)
        return -1;
    ret = rknn_init(ctx, data, (uint32_t)size, options->flags, NULL);
    memset(data, 0xee, (size_t)size);
    free(data);
    return ret;
}

/* The picture in the type and layout that the client hands over. */
static void* prepare(const job* work, const rknn_tensor_attr* attr, const general_options* options,
                     rknn_input* input) {
    const uint32_t height = attr->dims[1], width = attr->dims[2], channels = attr->dims[3];
    const size_t width_of_type = options->as_float ? sizeof(float) : 1;
    char* buffer = malloc(work->size * width_of_type + 1);
    char* start = buffer + options->odd;
    uint32_t pixel, channel;

    for (pixel = 0; buffer != NULL && pixel < height * width; ++pixel) {
        for (channel = 0; channel < channels; ++channel) {
            const uint8_t value = work->picture[pixel * channels + channel];
            const size_t to =
                options->planes ? channel * height * width + pixel : pixel * channels + channel;
            const float real = value;
            memcpy(start + to * width_of_type, options->as_float ? (const void*)&real : &value,
                   width_of_type);
        }
    }
    memset(input, 0, sizeof(*input));
    input->index = attr->index;
    input->type = options->as_float ? RKNN_TENSOR_FLOAT32 : RKNN_TENSOR_UINT8;
    input->fmt = options->planes ? RKNN_TENSOR_NCHW : RKNN_TENSOR_NHWC;
    input->size = (uint32_t)(work->size * width_of_type);
    input->buf = start;
    return buffer;
}

static float half_at(const void* data, uint32_t at) {
    uint16_t half;
    memcpy(&half, (const char*)data + at * sizeof(half), sizeof(half));
    const uint32_t exponent = half >> 10 & 0x1f, mantissa = half & 0x3ff;
    float value = (float)mantissa;
    int shift = -24;

    if (exponent != 0) {
        value += 1024;
        shift += (int)exponent - 1;
    }
    for (; shift < 0; ++shift)
        value /= 2;
    for (; shift > 0; --shift)
        value *= 2;
    return (half & 0x8000) != 0 ? -value : value;
}

static int append(job* work, uint32_t* used, const rknn_output* output,
                  const rknn_tensor_attr* attr) {
    uint32_t i;

    EXPECT(*used + attr->n_elems <= work->count);
    for (i = 0; i < attr->n_elems; ++i) {
        float* to = &work->values[(*used)++];
        if (output->want_float)
            memcpy(to, (const char*)output->buf + i * sizeof(float), sizeof(float));
        else if (attr->type == RKNN_TENSOR_INT8)
            *to = (float)(((const int8_t*)output->buf)[i] - attr->zp) * attr->scale;
        else if (attr->type == RKNN_TENSOR_FLOAT16)
            *to = half_at(output->buf, i);
        else
            EXPECT(!"type of an output");
    }
    return 0;
}

static int get_outputs(rknn_context ctx, job* work, const rknn_tensor_attr* attrs, uint32_t count,
                       const general_options* options) {
    rknn_output outputs[MAX_TENSORS];
    char* buffers[MAX_TENSORS];
    uint32_t i, used = 0;
    int failed = 0;

    memset(outputs, 0, sizeof(outputs));
    for (i = 0; i < count; ++i) {
        outputs[i].index = i;
        outputs[i].want_float = (uint8_t)options->want_float;
        if (options->preallocated) {
            outputs[i].is_prealloc = 1;
            outputs[i].size =
                options->want_float ? attrs[i].n_elems * (uint32_t)sizeof(float) : attrs[i].size;
            buffers[i] = malloc(outputs[i].size + 1);
            EXPECT(buffers[i] != NULL);
            outputs[i].buf = buffers[i] + options->odd;
        }
    }
    EXPECT(rknn_outputs_get(ctx, count, outputs, NULL) == RKNN_SUCC);
    for (i = 0; i < count; ++i)
        failed |= append(work, &used, &outputs[i], &attrs[i]);
    EXPECT(rknn_outputs_release(ctx, count, outputs) == RKNN_SUCC);
    for (i = 0; options->preallocated && i < count; ++i)
        free(buffers[i]);
    work->count = used;
    return failed;
}

int general_client(job* work, const general_options* options) {
    rknn_tensor_attr input_attrs[MAX_TENSORS], output_attrs[MAX_TENSORS];
    rknn_context ctx = 0, source;
    rknn_input_output_num io_num;
    rknn_sdk_version version;
    rknn_input input;
    void* buffer;
    uint32_t i;

    EXPECT(open_model(&ctx, work->model, options) >= 0);
    if (options->duplicate) {
        source = ctx;
        ctx = 0;
        EXPECT(rknn_dup_context(&source, &ctx) == RKNN_SUCC);
        EXPECT(rknn_destroy(source) == RKNN_SUCC);
    }
    EXPECT(rknn_query(ctx, RKNN_QUERY_SDK_VERSION, &version, sizeof(version)) >= 0);
    EXPECT(rknn_query(ctx, RKNN_QUERY_IN_OUT_NUM, &io_num, sizeof(io_num)) == RKNN_SUCC);
    EXPECT(io_num.n_input == 1 && io_num.n_output <= MAX_TENSORS);
    memset(input_attrs, 0, sizeof(input_attrs));
    memset(output_attrs, 0, sizeof(output_attrs));
    for (i = 0; i < io_num.n_input; ++i) {
        input_attrs[i].index = i;
        EXPECT(rknn_query(ctx, RKNN_QUERY_INPUT_ATTR, &input_attrs[i], sizeof(rknn_tensor_attr)) ==
               RKNN_SUCC);
    }
    for (i = 0; i < io_num.n_output; ++i) {
        output_attrs[i].index = i;
        EXPECT(rknn_query(ctx, RKNN_QUERY_OUTPUT_ATTR, &output_attrs[i],
                          sizeof(rknn_tensor_attr)) == RKNN_SUCC);
    }
    /* "width = dims[2]" is what every sample does for an NHWC input. */
    EXPECT(input_attrs[0].fmt == RKNN_TENSOR_NHWC && input_attrs[0].n_dims == 4);
    EXPECT(input_attrs[0].n_elems == work->size);
    buffer = prepare(work, &input_attrs[0], options, &input);
    EXPECT(buffer != NULL);
    EXPECT(rknn_inputs_set(ctx, io_num.n_input, &input) == RKNN_SUCC);
    free(buffer);
    EXPECT(rknn_run(ctx, NULL) == RKNN_SUCC);
    EXPECT(get_outputs(ctx, work, output_attrs, io_num.n_output, options) == 0);
    EXPECT(rknn_destroy(ctx) == RKNN_SUCC);
    return 0;
}
