// SPDX-License-Identifier: MIT
// The C interface: each function checks its handle, hands over and maps the error.
#include <rknn_api.h>
#include <rknn_custom_op.h>

#include "api/context.hpp"
#include "api/custom_ops.hpp"
#include "api/edge.hpp"
#include "api/init.hpp"
#include "api/memory.hpp"
#include "api/object.hpp"

namespace {

using namespace rknpu;       // NOLINT: the whole file is the seam between the two worlds
using namespace rknpu::api;  // NOLINT

template <typename Body>
int with_context(const char* function, rknn_context handle, Body&& body) {
    return guarded(function, [&]() -> Status {
        auto context = find_as<Context>(handle);
        return context.ok() ? body(*context.value()) : context.status();
    });
}

Status null_argument(const char* name) {
    return Status::failure(Error::kInvalidArgument, "{} is NULL", name);
}

Result<std::shared_ptr<Device>> device_of(rknn_context handle, bool optional) {
    if (optional && handle == 0)
        return Device::open_default();
    auto object = find_object(handle);
    if (!object.ok())
        return object.status();
    return object.value()->device();
}

}  // namespace

extern "C" {

/// Found with `strings librknnrt.so | grep "librknnrt version"`.
RKNN_EXPORT extern const char kLibrknnrtVersion[];
const char kLibrknnrtVersion[] = "librknnrt version: 2.3.2 (rknpu " RKNPU_VERSION "@open)";

RKNN_EXPORT int rknn_init(rknn_context* context, void* model, uint32_t size, uint32_t flag,
                          rknn_init_extend* extend) {
    return guarded("rknn_init", [&] { return init_context(context, model, size, flag, extend); });
}

RKNN_EXPORT int rknn_dup_context(rknn_context* context_in, rknn_context* context_out) {
    if (context_in == nullptr || context_out == nullptr)
        return guarded("rknn_dup_context", [] { return null_argument("context"); });
    return with_context("rknn_dup_context", *context_in, [&](Context& context) -> Status {
        auto copy = context.duplicate();
        if (!copy.ok())
            return copy.status();
        *context_out = static_cast<rknn_context>(register_object(std::move(copy).value()));
        return {};
    });
}

RKNN_EXPORT int rknn_destroy(rknn_context context) {
    return guarded("rknn_destroy", [&] { return drop_object(context); });
}

RKNN_EXPORT int rknn_query(rknn_context context, rknn_query_cmd cmd, void* info, uint32_t size) {
    return with_context("rknn_query", context,
                        [&](Context& it) { return it.query(cmd, info, size); });
}

RKNN_EXPORT int rknn_inputs_set(rknn_context context, uint32_t n_inputs, rknn_input inputs[]) {
    return with_context("rknn_inputs_set", context, [&](Context& it) {
        return inputs == nullptr ? null_argument("inputs") : it.set_inputs({inputs, n_inputs});
    });
}

RKNN_EXPORT int rknn_set_batch_core_num(rknn_context context, int core_num) {
    return with_context("rknn_set_batch_core_num", context,
                        [&](Context& it) { return it.set_batch_core_num(core_num); });
}

RKNN_EXPORT int rknn_set_core_mask(rknn_context context, rknn_core_mask core_mask) {
    return with_context("rknn_set_core_mask", context, [&](Context& it) {
        return it.set_core_mask(static_cast<uint32_t>(core_mask));
    });
}

RKNN_EXPORT int rknn_run(rknn_context context, rknn_run_extend* extend) {
    return with_context("rknn_run", context, [&](Context& it) { return it.run(extend); });
}

RKNN_EXPORT int rknn_wait(rknn_context context, rknn_run_extend* extend) {
    return with_context("rknn_wait", context, [&](Context& it) { return it.wait(extend); });
}

RKNN_EXPORT int rknn_outputs_get(rknn_context context, uint32_t n_outputs, rknn_output outputs[],
                                 rknn_output_extend* extend) {
    return with_context("rknn_outputs_get", context, [&](Context& it) {
        return outputs == nullptr ? null_argument("outputs")
                                  : it.get_outputs({outputs, n_outputs},
                                                   extend == nullptr ? nullptr : &extend->frame_id);
    });
}

RKNN_EXPORT int rknn_outputs_release(rknn_context context, uint32_t n_ouputs,
                                     rknn_output outputs[]) {
    return with_context("rknn_outputs_release", context, [&](Context& it) {
        return outputs == nullptr ? null_argument("outputs")
                                  : it.release_outputs({outputs, n_ouputs});
    });
}

RKNN_EXPORT rknn_tensor_mem* rknn_create_mem_from_phys(rknn_context ctx, uint64_t phys_addr,
                                                       void* virt_addr, uint32_t size) {
    return guarded_memory("rknn_create_mem_from_phys", [&]() -> Result<rknn_tensor_mem*> {
        auto device = device_of(ctx, false);
        if (!device.ok())
            return device.status();
        return wrap_phys(device.value(), phys_addr, virt_addr, size);
    });
}

RKNN_EXPORT rknn_tensor_mem* rknn_create_mem_from_fd(rknn_context ctx, int32_t fd, void* virt_addr,
                                                     uint32_t size, int32_t offset) {
    return guarded_memory("rknn_create_mem_from_fd", [&]() -> Result<rknn_tensor_mem*> {
        auto device = device_of(ctx, false);
        if (!device.ok())
            return device.status();
        return wrap_fd(device.value(), fd, virt_addr, size, offset);
    });
}

RKNN_EXPORT rknn_tensor_mem* rknn_create_mem_from_mb_blk(rknn_context, void*, int32_t) {
    return guarded_memory("rknn_create_mem_from_mb_blk", []() -> Result<rknn_tensor_mem*> {
        return Status{Error::kFail, "media blocks are not available; use rknn_create_mem_from_fd"};
    });
}

RKNN_EXPORT rknn_tensor_mem* rknn_create_mem(rknn_context ctx, uint32_t size) {
    return guarded_memory("rknn_create_mem", [&]() -> Result<rknn_tensor_mem*> {
        auto device = device_of(ctx, false);
        if (!device.ok())
            return device.status();
        return create_memory(device.value(), size, RKNN_FLAG_MEMORY_CACHEABLE);
    });
}

RKNN_EXPORT rknn_tensor_mem* rknn_create_mem2(rknn_context ctx, uint64_t size,
                                              uint64_t alloc_flags) {
    return guarded_memory("rknn_create_mem2", [&]() -> Result<rknn_tensor_mem*> {
        auto device = device_of(ctx, (alloc_flags & RKNN_MEM_FLAG_ALLOC_NO_CONTEXT) != 0);
        if (!device.ok())
            return device.status();
        return create_memory(device.value(), size, alloc_flags);
    });
}

RKNN_EXPORT int rknn_destroy_mem(rknn_context, rknn_tensor_mem* mem) {
    return guarded("rknn_destroy_mem", [&] { return destroy_memory(mem); });
}

RKNN_EXPORT int rknn_set_weight_mem(rknn_context ctx, rknn_tensor_mem* mem) {
    return with_context("rknn_set_weight_mem", ctx,
                        [&](Context& it) { return it.set_weight_memory(mem); });
}

RKNN_EXPORT int rknn_set_internal_mem(rknn_context ctx, rknn_tensor_mem* mem) {
    return with_context("rknn_set_internal_mem", ctx,
                        [&](Context& it) { return it.set_internal_memory(mem); });
}

RKNN_EXPORT int rknn_set_io_mem(rknn_context ctx, rknn_tensor_mem* mem, rknn_tensor_attr* attr) {
    return with_context("rknn_set_io_mem", ctx,
                        [&](Context& it) { return it.set_io_memory(mem, attr); });
}

RKNN_EXPORT int rknn_set_input_shape(rknn_context ctx, rknn_tensor_attr*) {
    return with_context("rknn_set_input_shape", ctx, [](Context&) {
        return Status{Error::kInvalidArgument, "replaced by rknn_set_input_shapes"};
    });
}

RKNN_EXPORT int rknn_set_input_shapes(rknn_context ctx, uint32_t n_inputs,
                                      rknn_tensor_attr attr[]) {
    return with_context("rknn_set_input_shapes", ctx, [&](Context& it) {
        return attr == nullptr ? null_argument("attr") : it.set_input_shapes({attr, n_inputs});
    });
}

RKNN_EXPORT int rknn_mem_sync(rknn_context, rknn_tensor_mem* mem, rknn_mem_sync_mode mode) {
    return guarded("rknn_mem_sync", [&] { return sync_memory(mem, mode); });
}

RKNN_EXPORT int rknn_register_custom_ops(rknn_context ctx, rknn_custom_op* op,
                                         uint32_t custom_op_num) {
    return with_context("rknn_register_custom_ops", ctx, [&](Context& it) {
        return op == nullptr ? null_argument("op") : it.register_custom_ops({op, custom_op_num});
    });
}

RKNN_EXPORT void rknn_custom_op_get_op_attr(rknn_custom_op_context* op_ctx, const char* name,
                                            rknn_custom_op_attr* op_attr) {
    guarded("rknn_custom_op_get_op_attr", [&]() -> Status {
        get_custom_attribute(op_ctx, name, op_attr);
        return {};
    });
}

/// The name that headers of version 1.2.0 had.
RKNN_EXPORT int rknn_destory_mem(rknn_context ctx, rknn_tensor_mem* mem) {
    return rknn_destroy_mem(ctx, mem);
}

}  // extern "C"
