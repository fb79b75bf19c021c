// SPDX-License-Identifier: MIT
// The C interface of matrix multiplications: arguments in, one call, a code out.
#include <rknn_matmul_api.h>

#include "api/edge.hpp"
#include "api/matmul_context.hpp"

using namespace rknpu;       // NOLINT: the C functions below are outside every namespace
using namespace rknpu::api;  // NOLINT

namespace {

template <typename Body>
int with_matmul(const char* function, rknn_matmul_ctx handle, Body&& body) {
    return guarded(function, [&]() -> Status {
        auto context = find_as<MatmulContext>(handle);
        return context.ok() ? body(*context.value()) : context.status();
    });
}

Status null_argument(const char* name) {
    return Status::failure(Error::kInvalidArgument, "{} is NULL", name);
}

Status create(rknn_matmul_ctx* ctx, const rknn_matmul_info* info, int count,
              const rknn_matmul_shape* shapes, rknn_matmul_io_attr* attrs) {
    for (const auto& [pointer, name] : {std::pair<const void*, const char*>{ctx, "ctx"},
                                        {info, "info"},
                                        {shapes, "shapes"},
                                        {attrs, "io_attr"}}) {
        if (pointer == nullptr)
            return null_argument(name);
    }
    if (count < 1 || count > RKNN_MAX_DYNAMIC_SHAPE_NUM)
        return Status::failure(Error::kInvalidArgument, "{} shapes, allowed are 1 to {}", count,
                               RKNN_MAX_DYNAMIC_SHAPE_NUM);
    const auto number = static_cast<size_t>(count);
    auto made = MatmulContext::create(*info, {shapes, number}, {attrs, number});
    if (!made.ok())
        return made.status();
    *ctx = static_cast<rknn_matmul_ctx>(register_object(std::move(made).value()));
    return {};
}

}  // namespace

extern "C" {

RKNN_EXPORT int rknn_matmul_create(rknn_matmul_ctx* ctx, rknn_matmul_info* info,
                                   rknn_matmul_io_attr* io_attr) {
    return guarded("rknn_matmul_create", [&]() -> Status {
        if (info == nullptr)
            return null_argument("info");
        const rknn_matmul_shape shape{info->M, info->K, info->N};
        return create(ctx, info, 1, &shape, io_attr);
    });
}

RKNN_EXPORT int rknn_matmul_create_dynamic_shape(rknn_matmul_ctx* ctx, rknn_matmul_info* info,
                                                 int shape_num, rknn_matmul_shape dynamic_shapes[],
                                                 rknn_matmul_io_attr io_attrs[]) {
    return guarded("rknn_matmul_create_dynamic_shape",
                   [&] { return create(ctx, info, shape_num, dynamic_shapes, io_attrs); });
}

/// The name that headers of version 2.0.0b0 had.
RKNN_EXPORT int rknn_matmul_create_dyn_shape(rknn_matmul_ctx* ctx, rknn_matmul_info* info,
                                             int shape_num, rknn_matmul_shape dynamic_shapes[],
                                             rknn_matmul_io_attr io_attrs[]) {
    return rknn_matmul_create_dynamic_shape(ctx, info, shape_num, dynamic_shapes, io_attrs);
}

RKNN_EXPORT int rknn_matmul_set_io_mem(rknn_matmul_ctx ctx, rknn_tensor_mem* mem,
                                       rknn_matmul_tensor_attr* attr) {
    return with_matmul("rknn_matmul_set_io_mem", ctx,
                       [&](MatmulContext& it) { return it.set_io_memory(mem, attr); });
}

RKNN_EXPORT int rknn_matmul_set_core_mask(rknn_matmul_ctx context, rknn_core_mask core_mask) {
    return with_matmul("rknn_matmul_set_core_mask", context, [&](MatmulContext& it) {
        return it.set_core_mask(static_cast<uint32_t>(core_mask));
    });
}

RKNN_EXPORT int rknn_matmul_set_quant_params(rknn_matmul_ctx context, rknn_quant_params* params) {
    return with_matmul("rknn_matmul_set_quant_params", context, [&](MatmulContext& it) {
        return params == nullptr ? null_argument("params") : it.set_quant_params(*params);
    });
}

RKNN_EXPORT int rknn_matmul_get_quant_params(rknn_matmul_ctx ctx, rknn_quant_params* params,
                                             float* scale) {
    return with_matmul("rknn_matmul_get_quant_params", ctx, [&](MatmulContext& it) {
        if (params == nullptr || scale == nullptr)
            return null_argument(params == nullptr ? "params" : "scale");
        return it.get_quant_params(*params, *scale);
    });
}

RKNN_EXPORT int rknn_matmul_set_dynamic_shape(rknn_matmul_ctx ctx, rknn_matmul_shape* shape) {
    return with_matmul("rknn_matmul_set_dynamic_shape", ctx, [&](MatmulContext& it) {
        return shape == nullptr ? null_argument("shape") : it.set_dynamic_shape(*shape);
    });
}

RKNN_EXPORT int rknn_matmul_run(rknn_matmul_ctx ctx) {
    return with_matmul("rknn_matmul_run", ctx, [](MatmulContext& it) { return it.run(); });
}

RKNN_EXPORT int rknn_matmul_destroy(rknn_matmul_ctx ctx) {
    return guarded("rknn_matmul_destroy", [&] {
        const auto context = find_as<MatmulContext>(ctx);
        return context.ok() ? drop_object(ctx) : context.status();
    });
}

RKNN_EXPORT int rknn_B_normal_layout_to_native_layout(void* B_input, void* B_output, int K, int N,
                                                      rknn_matmul_info* info) {
    return guarded("rknn_B_normal_layout_to_native_layout",
                   [&] { return convert_b_to_native(B_input, B_output, K, N, info); });
}

}  // extern "C"
