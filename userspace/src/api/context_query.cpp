// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <set>

#include "api/attr.hpp"
#include "api/context.hpp"
#include "api/custom_ops.hpp"
#include "api/version.hpp"
#include "runtime/report.hpp"

namespace rknpu::api {
namespace {

/// rknn_tensor_attr before 1.3.0 ended in front of h_stride, rknn_mem_size before 1.4.0 behind the
/// second member: programs built then pass these sizes and own no more memory.
constexpr uint32_t kOldAttrBytes = 372;
constexpr uint32_t kOldMemSizeBytes = 8;

Status too_small(const char* name, uint32_t given, size_t needed) {
    return Status::failure(Error::kInvalidArgument, "info size {} is smaller than {} ({} bytes)",
                           given, name, needed);
}

/// Copies as much of the answer as the caller's structure has.
template <typename T>
Status answer(const T& value, void* info, uint32_t size, uint32_t oldest, const char* name) {
    if (size < oldest)
        return too_small(name, size, sizeof(T));
    std::memcpy(info, &value, std::min<size_t>(size, sizeof(T)));
    return {};
}

bool is_attr_query(rknn_query_cmd command) {
    return command == RKNN_QUERY_INPUT_ATTR || command == RKNN_QUERY_OUTPUT_ATTR ||
           (command >= RKNN_QUERY_NATIVE_INPUT_ATTR &&
            command <= RKNN_QUERY_NATIVE_NHWC_OUTPUT_ATTR) ||
           (command >= RKNN_QUERY_CURRENT_INPUT_ATTR &&
            command <= RKNN_QUERY_CURRENT_NATIVE_OUTPUT_ATTR);
}

TensorView view_for(rknn_query_cmd command) {
    switch (command) {
        case RKNN_QUERY_OUTPUT_ATTR:
        case RKNN_QUERY_CURRENT_OUTPUT_ATTR:
            return TensorView::kModelOutput;
        case RKNN_QUERY_NATIVE_INPUT_ATTR:
        case RKNN_QUERY_NATIVE_OUTPUT_ATTR:
        case RKNN_QUERY_CURRENT_NATIVE_INPUT_ATTR:
        case RKNN_QUERY_CURRENT_NATIVE_OUTPUT_ATTR:
            return TensorView::kNative;
        case RKNN_QUERY_NATIVE_NHWC_INPUT_ATTR:
        case RKNN_QUERY_NATIVE_NHWC_OUTPUT_ATTR:
            return TensorView::kNativeNhwc;
        default:
            return TensorView::kModelInput;
    }
}

bool asks_for_output(rknn_query_cmd command) {
    return command == RKNN_QUERY_OUTPUT_ATTR || command == RKNN_QUERY_NATIVE_OUTPUT_ATTR ||
           command == RKNN_QUERY_NATIVE_NHWC_OUTPUT_ATTR ||
           command == RKNN_QUERY_CURRENT_OUTPUT_ATTR ||
           command == RKNN_QUERY_CURRENT_NATIVE_OUTPUT_ATTR;
}

}  // namespace

Status Context::query_attr(rknn_query_cmd command, rknn_tensor_attr& attr) const {
    const bool output = asks_for_output(command);
    const auto& ports = output ? outputs_ : inputs_;
    if (attr.index >= ports.size())
        return Status::failure(Error::kInvalidArgument, "index {}, the model has {} {}", attr.index,
                               ports.size(), output ? "outputs" : "inputs");
    if (command >= RKNN_QUERY_CURRENT_INPUT_ATTR && !shapes_chosen_)
        return Status{Error::kInvalidArgument,
                      "there is no current shape before rknn_set_input_shapes"};
    fill_attr(tensor_of(ports[attr.index]), attr.index, view_for(command), attr);
    return {};
}

/// All memory of the context, whichever shape it is for. Shapes share some of it.
uint64_t Context::dma_bytes() const {
    std::set<const DeviceMemory*> all;
    uint64_t total = 0;
    for (const auto& shape : shapes_) {
        if (shape.session == nullptr)
            continue;
        shape.session->add_memory(all);
        total += shape.custom_ops->dma_bytes();
    }
    for (const auto* ports : {&inputs_, &outputs_}) {
        for (const auto& port : *ports) {
            if (port.converted)
                all.insert(session_->location(port.tensor).memory.get());
        }
    }
    for (const auto* memory : all)
        total += memory == nullptr ? 0 : memory->size();
    return total;
}

Status Context::query_memory_size(rknn_mem_size& info) const {
    const auto& graph = program_->graph;
    info.total_weight_size = static_cast<uint32_t>(graph.constants_size);
    info.total_internal_size = static_cast<uint32_t>(graph.arena_size);
    info.total_dma_allocated_size = dma_bytes();
    const auto sram = device()->sram();
    info.total_sram_size = static_cast<uint32_t>(sram.total);
    info.free_sram_size = static_cast<uint32_t>(sram.free);
    return {};
}

Status Context::query_device_memory(rknn_tensor_mem& info) const {
    if (session_ == nullptr || session_->weights().memory == nullptr)
        return Status{Error::kInvalidArgument, "the model has no memory of its own"};
    const auto& [memory, offset] = session_->weights();
    info.virt_addr = memory->bytes().data();
    info.phys_addr = memory->device_address();
    info.fd = memory->fd();
    info.offset = static_cast<int32_t>(offset);
    info.size = static_cast<uint32_t>(memory->size() - offset);
    info.flags = RKNN_TENSOR_MEMORY_FLAGS_ALLOC_INSIDE;
    return {};
}

void Context::query_perf_detail(rknn_perf_detail& info) {
    if (session_ == nullptr || (flags_ & RKNN_FLAG_COLLECT_PERF_MASK) == 0)
        perf_text_ = "no details: the context was made without RKNN_FLAG_COLLECT_PERF_MASK\n";
    else if (!has_run_)
        perf_text_ = "no details: rknn_run was not called yet\n";
    else
        perf_text_ = layer_table(*session_);
    info.perf_data = perf_text_.data();
    info.data_len = perf_text_.size();
}

Status Context::query(rknn_query_cmd command, void* info, uint32_t size) {
    const std::lock_guard lock(mutex_);
    if (info == nullptr)
        return Status{Error::kInvalidArgument, "info is NULL"};
    if (is_attr_query(command)) {
        if (size < kOldAttrBytes)
            return too_small("rknn_tensor_attr", size, sizeof(rknn_tensor_attr));
        rknn_tensor_attr attr{};
        std::memcpy(&attr.index, info, sizeof(attr.index));
        if (auto status = query_attr(command, attr); !status.ok())
            return status;
        return answer(attr, info, size, kOldAttrBytes, "rknn_tensor_attr");
    }
    switch (command) {
        case RKNN_QUERY_IN_OUT_NUM: {
            const rknn_input_output_num num{static_cast<uint32_t>(inputs_.size()),
                                            static_cast<uint32_t>(outputs_.size())};
            return answer(num, info, size, sizeof(num), "rknn_input_output_num");
        }
        case RKNN_QUERY_PERF_DETAIL: {
            settle();
            rknn_perf_detail detail{};
            query_perf_detail(detail);
            return answer(detail, info, size, sizeof(detail), "rknn_perf_detail");
        }
        case RKNN_QUERY_PERF_RUN: {
            settle();
            rknn_perf_run run{};
            if (session_ != nullptr)
                run.run_duration =
                    std::chrono::duration_cast<std::chrono::microseconds>(session_->last_run())
                        .count();
            return answer(run, info, size, sizeof(run), "rknn_perf_run");
        }
        case RKNN_QUERY_SDK_VERSION: {
            rknn_sdk_version version{};
            copy_text(kApiVersion, version.api_version, sizeof(version.api_version));
            copy_text(device()->info().driver_version, version.drv_version,
                      sizeof(version.drv_version));
            return answer(version, info, size, sizeof(version), "rknn_sdk_version");
        }
        case RKNN_QUERY_MEM_SIZE: {
            settle();
            rknn_mem_size sizes{};
            if (auto status = query_memory_size(sizes); !status.ok())
                return status;
            return answer(sizes, info, size, kOldMemSizeBytes, "rknn_mem_size");
        }
        case RKNN_QUERY_CUSTOM_STRING: {
            rknn_custom_string custom{};
            copy_text(program_->graph.custom_string, custom.string, sizeof(custom.string));
            return answer(custom, info, size, sizeof(custom), "rknn_custom_string");
        }
        case RKNN_QUERY_DEVICE_MEM_INFO: {
            rknn_tensor_mem memory{};
            if (auto status = query_device_memory(memory); !status.ok())
                return status;
            return answer(memory, info, size, sizeof(memory), "rknn_tensor_mem");
        }
        case RKNN_QUERY_INPUT_DYNAMIC_RANGE: {
            if (size < sizeof(rknn_input_range))
                return too_small("rknn_input_range", size, sizeof(rknn_input_range));
            return query_range(*static_cast<rknn_input_range*>(info));
        }
        default:
            return Status::failure(Error::kInvalidArgument, "unknown query command {}",
                                   static_cast<int>(command));
    }
}

}  // namespace rknpu::api
