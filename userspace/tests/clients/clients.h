/* SPDX-License-Identifier: MIT */
/*
 * Programs as others write them, in C and with nothing but the public headers. Each is what a
 * main() would hold; 0 is success, and whatever fails is printed with its place.
 */
#ifndef CLIENTS_H
#define CLIENTS_H

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EXPECT(condition)                                                          \
    do {                                                                           \
        if (!(condition)) {                                                        \
            fprintf(stderr, "%s:%d: wrong: %s\n", __FILE__, __LINE__, #condition); \
            return 1;                                                              \
        }                                                                          \
    } while (0)

/* A picture for the first input, and where the values of all outputs go, one after the other. */
typedef struct {
    const char* model;      /* path */
    const uint8_t* picture; /* RGB or grey, rows from top to bottom */
    uint32_t size;
    float* values;
    uint32_t count; /* in: room, out: values written */
} job;

/* How the general client asks: one of each for every call, so that all are tried. */
typedef struct {
    uint32_t flags;   /* of rknn_init() */
    int from_memory;  /* the model: 0 by path, 1 as a block that is freed after init */
    int want_float;   /* 0: the client turns codes into real values */
    int preallocated; /* outputs into the client's own buffers */
    int as_float;     /* the picture as FLOAT32 */
    int planes;       /* the picture as NCHW */
    int duplicate;    /* run on a duplicate whose source is gone */
    int odd;          /* buffers at odd addresses */
} general_options;
int general_client(job* work, const general_options* options);

typedef enum {
    OUTPUT_FLOAT_NCHW,  /* rknn_query(OUTPUT_ATTR), float32 */
    OUTPUT_OWN_NCHW,    /* the model's own type */
    OUTPUT_NATIVE,      /* NATIVE_OUTPUT_ATTR: NC1HWC2 where the model has it */
    OUTPUT_NATIVE_NHWC, /* NATIVE_NHWC_OUTPUT_ATTR */
} output_form;

typedef struct {
    uint32_t flags;
    output_form output;
    int own_weights; /* weights and internal tensors in memory of the client */
    int from_fd;     /* tensors wrapped a second time by their descriptor */
    int sync;        /* flush off, rknn_mem_sync() by the client */
    int non_block;   /* rknn_run() returns at once, rknn_wait() */
} zero_copy_options;
int zero_copy_client(job* work, const zero_copy_options* options);

/* Every query there is, printed as the vendor's samples print it. */
int print_client(const char* model);

/* Threads with a duplicate each, as thread pools of video programs do. */
int pool_client(const job* work, unsigned threads, unsigned rounds);

/* A x B with all layouts of a type; M, K and N as wanted. */
int matmul_client(int type, int m, int k, int n);
/* One context for several M, as language models use it. */
int matmul_shapes_client(int k, int n);

/* The model has a node of the type "Mystery", which doubles its input. */
int custom_op_client(const char* model);

/* A model of several shapes: each is run through both interfaces, which must agree. */
int shapes_client(const char* model);

/* Calls in the wrong order and with senseless arguments: the documented codes. */
int mistakes_client(const char* model);

#ifdef __cplusplus
}
#endif

#endif
