/* SPDX-License-Identifier: MIT */
/* Threads with a duplicate each and the cores in turn, as thread pools of video programs do. */
#include <pthread.h>
#include <rknn_api.h>

#include <stdlib.h>
#include <string.h>

#include "clients.h"

#define MAX_THREADS 16
#define MAX_VALUES 4096

typedef struct {
    rknn_context* first; /* NULL: this is the first */
    rknn_context ctx;
    const job* work;
    unsigned rounds;
    float expected[MAX_VALUES];
    int failed;
} worker;

static int infer(const worker* self, float* values) {
    rknn_input input;
    rknn_output output;

    memset(&input, 0, sizeof(input));
    memset(&output, 0, sizeof(output));
    input.type = RKNN_TENSOR_UINT8;
    input.fmt = RKNN_TENSOR_NHWC;
    input.size = self->work->size;
    input.buf = (void*)self->work->picture;
    output.want_float = 1;
    EXPECT(rknn_inputs_set(self->ctx, 1, &input) == RKNN_SUCC);
    EXPECT(rknn_run(self->ctx, NULL) == RKNN_SUCC);
    EXPECT(rknn_outputs_get(self->ctx, 1, &output, NULL) == RKNN_SUCC);
    EXPECT(output.size <= MAX_VALUES * sizeof(float));
    memcpy(values, output.buf, output.size);
    EXPECT(rknn_outputs_release(self->ctx, 1, &output) == RKNN_SUCC);
    return 0;
}

static void* work_thread(void* argument) {
    worker* self = argument;
    float values[MAX_VALUES];
    unsigned round;

    memset(values, 0, sizeof(values));
    for (round = 0; round < self->rounds && !self->failed; ++round) {
        self->failed = infer(self, values);
        self->failed |= memcmp(values, self->expected, sizeof(values)) != 0;
    }
    return NULL;
}

static int open_worker(worker* self, unsigned number) {
    static const rknn_core_mask masks[] = {RKNN_NPU_CORE_0, RKNN_NPU_CORE_1, RKNN_NPU_CORE_2};

    if (self->first == NULL)
        EXPECT(rknn_init(&self->ctx, (void*)self->work->model, 0, 0, NULL) == RKNN_SUCC);
    else
        EXPECT(rknn_dup_context(self->first, &self->ctx) == RKNN_SUCC);
    EXPECT(rknn_set_core_mask(self->ctx, masks[number % 3]) == RKNN_SUCC);
    return 0;
}

int pool_client(const job* work, unsigned threads, unsigned rounds) {
    worker* workers = calloc(MAX_THREADS, sizeof(*workers));
    pthread_t ids[MAX_THREADS];
    unsigned i;

    EXPECT(workers != NULL && threads <= MAX_THREADS);
    for (i = 0; i < threads; ++i) {
        workers[i].first = i == 0 ? NULL : &workers[0].ctx;
        workers[i].work = work;
        workers[i].rounds = rounds;
        EXPECT(open_worker(&workers[i], i) == 0);
    }
    EXPECT(infer(&workers[0], workers[0].expected) == 0);
    for (i = 0; i < threads; ++i) {
        memcpy(workers[i].expected, workers[0].expected, sizeof(workers[0].expected));
        EXPECT(pthread_create(&ids[i], NULL, work_thread, &workers[i]) == 0);
    }
    for (i = 0; i < threads; ++i)
        EXPECT(pthread_join(ids[i], NULL) == 0);
    for (i = 0; i < threads; ++i) {
        EXPECT(!workers[i].failed);
        EXPECT(rknn_destroy(workers[i].ctx) == RKNN_SUCC);
    }
    free(workers);
    return 0;
}
