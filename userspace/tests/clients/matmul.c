/* SPDX-License-Identifier: MIT */
/* Multiplications in the manner of the manual's sample and of language models. */
#include <rknn_matmul_api.h>

#include <stdlib.h>
#include <string.h>

#include "clients.h"

typedef struct {
    rknn_matmul_ctx ctx;
    rknn_matmul_info info;
    rknn_matmul_io_attr io;
    rknn_tensor_mem *a, *b, *c;
    int8_t* left;  /* M x K, row by row */
    int8_t* right; /* K x N */
} product;

static int is_float(const product* p) {
    return p->info.type == RKNN_FLOAT16_MM_FLOAT16_TO_FLOAT32;
}

/* Small whole numbers are exact in float16. */
static uint16_t half_of(int value) {
    const uint16_t sign = value < 0 ? 0x8000 : 0;
    unsigned magnitude = (unsigned)abs(value), exponent = 15;

    if (magnitude == 0)
        return 0;
    while (magnitude >> (exponent - 14) != 0)
        ++exponent;
    return (uint16_t)(sign | exponent << 10 | ((magnitude << (25 - exponent)) & 0x3ff));
}

static void put(const product* p, void* to, size_t at, int8_t value) {
    if (is_float(p))
        ((uint16_t*)to)[at] = half_of(value);
    else
        ((int8_t*)to)[at] = value;
}

/* Where row and column of A or C lie: row by row, or in blocks of dims[2] columns. */
static size_t place_of(const product* p, const rknn_matmul_tensor_attr* attr, int row, int column,
                       int columns) {
    if (p->info.AC_layout == RKNN_MM_LAYOUT_NORM)
        return (size_t)row * (size_t)columns + (size_t)column;
    return ((size_t)column / attr->dims[2] * attr->dims[1] + (size_t)row) * attr->dims[2] +
           (size_t)column % attr->dims[2];
}

static int fill(product* p) {
    const int m = p->info.M, k = p->info.K, n = p->info.N;
    const size_t width = is_float(p) ? 2 : 1;
    char* plain = malloc((size_t)k * (size_t)n * width);
    int i, j;

    p->left = malloc((size_t)m * (size_t)k);
    p->right = malloc((size_t)k * (size_t)n);
    EXPECT(p->left != NULL && p->right != NULL && plain != NULL);
    for (i = 0; i < m * k; ++i)
        p->left[i] = (int8_t)(i % 13 - 6);
    for (i = 0; i < k * n; ++i)
        p->right[i] = (int8_t)(i * 7 % 11 - 5);
    memset(p->a->virt_addr, 0, p->a->size);
    for (i = 0; i < m; ++i)
        for (j = 0; j < k; ++j)
            put(p, p->a->virt_addr, place_of(p, &p->io.A, i, j, k), p->left[i * k + j]);
    for (i = 0; i < k; ++i)
        for (j = 0; j < n; ++j)
            put(p, plain,
                p->info.B_layout == RKNN_MM_LAYOUT_TP_NORM ? (size_t)(j * k + i)
                                                           : (size_t)(i * n + j),
                p->right[i * n + j]);
    if (p->info.B_layout == RKNN_MM_LAYOUT_NATIVE)
        EXPECT(rknn_B_normal_layout_to_native_layout(plain, p->b->virt_addr, k, n, &p->info) ==
               RKNN_SUCC);
    else
        memcpy(p->b->virt_addr, plain, p->b->size);
    free(plain);
    return 0;
}

static int compare(const product* p) {
    const int m = p->info.M, k = p->info.K, n = p->info.N;
    int i, j, x;

    for (i = 0; i < m; ++i) {
        for (j = 0; j < n; ++j) {
            const size_t at = place_of(p, &p->io.C, i, j, n);
            int32_t sum = 0;
            for (x = 0; x < k; ++x)
                sum += p->left[i * k + x] * p->right[x * n + j];
            if (is_float(p))
                EXPECT(((const float*)p->c->virt_addr)[at] == (float)sum);
            else
                EXPECT(((const int32_t*)p->c->virt_addr)[at] == sum);
        }
    }
    return 0;
}

static int multiply(product* p) {
    EXPECT(rknn_matmul_create(&p->ctx, &p->info, &p->io) == RKNN_SUCC);
    EXPECT(strcmp(p->io.A.name, "A") == 0 && strcmp(p->io.C.name, "C") == 0);
    p->a = rknn_create_mem(p->ctx, p->io.A.size);
    p->b = rknn_create_mem(p->ctx, p->io.B.size);
    p->c = rknn_create_mem(p->ctx, p->io.C.size);
    EXPECT(p->a != NULL && p->b != NULL && p->c != NULL);
    EXPECT(fill(p) == 0);
    EXPECT(rknn_matmul_set_core_mask(p->ctx, RKNN_NPU_CORE_0) == RKNN_SUCC);
    EXPECT(rknn_matmul_set_io_mem(p->ctx, p->a, &p->io.A) == RKNN_SUCC);
    EXPECT(rknn_matmul_set_io_mem(p->ctx, p->b, &p->io.B) == RKNN_SUCC);
    EXPECT(rknn_matmul_set_io_mem(p->ctx, p->c, &p->io.C) == RKNN_SUCC);
    EXPECT(rknn_matmul_run(p->ctx) == RKNN_SUCC);
    EXPECT(compare(p) == 0);
    EXPECT(rknn_destroy_mem(p->ctx, p->a) == RKNN_SUCC);
    EXPECT(rknn_destroy_mem(p->ctx, p->b) == RKNN_SUCC);
    EXPECT(rknn_destroy_mem(p->ctx, p->c) == RKNN_SUCC);
    EXPECT(rknn_matmul_destroy(p->ctx) == RKNN_SUCC);
    free(p->left);
    free(p->right);
    return 0;
}

int matmul_client(int type, int m, int k, int n) {
    int b_layout, ac_layout;

    for (b_layout = RKNN_MM_LAYOUT_NORM; b_layout <= RKNN_MM_LAYOUT_TP_NORM; ++b_layout) {
        for (ac_layout = RKNN_MM_LAYOUT_NORM; ac_layout <= RKNN_MM_LAYOUT_NATIVE; ++ac_layout) {
            product p;
            memset(&p, 0, sizeof(p));
            p.info.M = m;
            p.info.K = k;
            p.info.N = n;
            p.info.type = (rknn_matmul_type)type;
            p.info.B_layout = (int16_t)b_layout;
            p.info.AC_layout = (int16_t)ac_layout;
            EXPECT(multiply(&p) == 0);
        }
    }
    return 0;
}

/* Prompts of several lengths: the largest shape sizes the buffers, B stays bound. */
int matmul_shapes_client(int k, int n) {
    enum { COUNT = 3 };
    rknn_matmul_shape shapes[COUNT];
    rknn_matmul_io_attr io[COUNT];
    rknn_tensor_mem *a, *b, *c;
    rknn_matmul_ctx ctx = 0;
    rknn_matmul_info info;
    int i, x;

    memset(&info, 0, sizeof(info));
    memset(io, 0, sizeof(io));
    info.type = RKNN_INT8_MM_INT8_TO_INT32;
    for (i = 0; i < COUNT; ++i) {
        shapes[i].M = 1 << (2 * i);
        shapes[i].K = k;
        shapes[i].N = n;
    }
    EXPECT(rknn_matmul_create_dynamic_shape(&ctx, &info, COUNT, shapes, io) == RKNN_SUCC);
    a = rknn_create_mem(ctx, io[COUNT - 1].A.size);
    b = rknn_create_mem(ctx, io[COUNT - 1].B.size);
    c = rknn_create_mem(ctx, io[COUNT - 1].C.size);
    EXPECT(a != NULL && b != NULL && c != NULL);
    memset(a->virt_addr, 2, a->size);
    memset(b->virt_addr, 3, b->size);
    for (i = COUNT - 1; i >= 0; --i) {
        EXPECT(rknn_matmul_set_dynamic_shape(ctx, &shapes[i]) == RKNN_SUCC);
        EXPECT(rknn_matmul_set_io_mem(ctx, a, &io[i].A) == RKNN_SUCC);
        EXPECT(rknn_matmul_set_io_mem(ctx, b, &io[i].B) == RKNN_SUCC);
        EXPECT(rknn_matmul_set_io_mem(ctx, c, &io[i].C) == RKNN_SUCC);
        memset(c->virt_addr, 0, c->size);
        EXPECT(rknn_matmul_run(ctx) == RKNN_SUCC);
        for (x = 0; x < shapes[i].M * n; ++x)
            EXPECT(((const int32_t*)c->virt_addr)[x] == 6 * k);
    }
    EXPECT(rknn_destroy_mem(ctx, a) == RKNN_SUCC);
    EXPECT(rknn_destroy_mem(ctx, b) == RKNN_SUCC);
    EXPECT(rknn_destroy_mem(ctx, c) == RKNN_SUCC);
    EXPECT(rknn_matmul_destroy(ctx) == RKNN_SUCC);
    return 0;
}
