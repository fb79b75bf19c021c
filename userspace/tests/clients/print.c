/* SPDX-License-Identifier: MIT */
/* Every query, printed as the vendor's samples print it. */
#include <rknn_api.h>

#include <stdlib.h>
#include <string.h>

#include "clients.h"

static void print_attr(const rknn_tensor_attr* attr) {
    printf(
        "  index=%u, name=%s, n_dims=%u, dims=[%u, %u, %u, %u], n_elems=%u, size=%u, w_stride=%u, "
        "size_with_stride=%u, fmt=%s, type=%s, qnt_type=%s, zp=%d, scale=%f\n",
        attr->index, attr->name, attr->n_dims, attr->dims[0], attr->dims[1], attr->dims[2],
        attr->dims[3], attr->n_elems, attr->size, attr->w_stride, attr->size_with_stride,
        get_format_string(attr->fmt), get_type_string(attr->type),
        get_qnt_type_string(attr->qnt_type), attr->zp, (double)attr->scale);
}

static int print_tensors(rknn_context ctx, rknn_query_cmd cmd, uint32_t count) {
    uint32_t i;

    for (i = 0; i < count; ++i) {
        rknn_tensor_attr attr;
        memset(&attr, 0, sizeof(attr));
        attr.index = i;
        EXPECT(rknn_query(ctx, cmd, &attr, sizeof(attr)) == RKNN_SUCC);
        EXPECT(attr.index == i && attr.n_dims > 0 && attr.n_elems > 0);
        print_attr(&attr);
    }
    return 0;
}

static int print_ranges(rknn_context ctx, uint32_t count) {
    uint32_t i, set, dim;

    for (i = 0; i < count; ++i) {
        rknn_input_range* range = calloc(1, sizeof(*range));
        EXPECT(range != NULL);
        range->index = i;
        EXPECT(rknn_query(ctx, RKNN_QUERY_INPUT_DYNAMIC_RANGE, range, sizeof(*range)) == RKNN_SUCC);
        EXPECT(range->shape_number >= 1);
        for (set = 0; set < range->shape_number; ++set) {
            printf("  %s (%s):", range->name, get_format_string(range->fmt));
            for (dim = 0; dim < range->n_dims; ++dim)
                printf(" %u", range->dyn_range[set][dim]);
            printf("\n");
        }
        free(range);
    }
    return 0;
}

int print_client(const char* model) {
    rknn_context ctx = 0;
    rknn_input_output_num num;
    rknn_sdk_version version;
    rknn_mem_size sizes;
    rknn_custom_string string;
    rknn_perf_detail detail;
    rknn_perf_run run;
    rknn_tensor_mem memory;

    EXPECT(rknn_init(&ctx, (void*)model, 0, RKNN_FLAG_PRIOR_HIGH, NULL) == RKNN_SUCC);
    EXPECT(rknn_query(ctx, RKNN_QUERY_SDK_VERSION, &version, sizeof(version)) == RKNN_SUCC);
    printf("sdk version: %s driver version: %s\n", version.api_version, version.drv_version);
    EXPECT(rknn_query(ctx, RKNN_QUERY_IN_OUT_NUM, &num, sizeof(num)) == RKNN_SUCC);
    EXPECT(print_tensors(ctx, RKNN_QUERY_INPUT_ATTR, num.n_input) == 0);
    EXPECT(print_tensors(ctx, RKNN_QUERY_OUTPUT_ATTR, num.n_output) == 0);
    EXPECT(print_tensors(ctx, RKNN_QUERY_NATIVE_INPUT_ATTR, num.n_input) == 0);
    EXPECT(print_tensors(ctx, RKNN_QUERY_NATIVE_OUTPUT_ATTR, num.n_output) == 0);
    EXPECT(print_tensors(ctx, RKNN_QUERY_NATIVE_NHWC_INPUT_ATTR, num.n_input) == 0);
    EXPECT(print_tensors(ctx, RKNN_QUERY_NATIVE_NHWC_OUTPUT_ATTR, num.n_output) == 0);
    EXPECT(print_ranges(ctx, num.n_input) == 0);
    EXPECT(rknn_query(ctx, RKNN_QUERY_MEM_SIZE, &sizes, sizeof(sizes)) == RKNN_SUCC);
    printf("weights %u, internal %u, dma %llu, sram %u, free sram %u\n", sizes.total_weight_size,
           sizes.total_internal_size, (unsigned long long)sizes.total_dma_allocated_size,
           sizes.total_sram_size, sizes.free_sram_size);
    EXPECT(rknn_query(ctx, RKNN_QUERY_CUSTOM_STRING, &string, sizeof(string)) == RKNN_SUCC);
    printf("custom string: %s\n", string.string);
    /* Samples ask for the details whether they were collected or not, and print the pointer. */
    EXPECT(rknn_query(ctx, RKNN_QUERY_PERF_DETAIL, &detail, sizeof(detail)) == RKNN_SUCC);
    EXPECT(detail.perf_data != NULL && strlen(detail.perf_data) == detail.data_len);
    printf("%s", detail.perf_data);
    EXPECT(rknn_query(ctx, RKNN_QUERY_PERF_RUN, &run, sizeof(run)) == RKNN_SUCC);
    printf("last run: %lld us\n", (long long)run.run_duration);
    EXPECT(rknn_query(ctx, RKNN_QUERY_DEVICE_MEM_INFO, &memory, sizeof(memory)) == RKNN_SUCC);
    printf("model buffer: fd %d, %u bytes\n", memory.fd, memory.size);
    EXPECT(rknn_destroy(ctx) == RKNN_SUCC);
    return 0;
}
