// SPDX-License-Identifier: MIT
#include "api/context.hpp"

#include <cstdlib>
#include <string_view>

#include "api/core_mask.hpp"
#include "api/custom_ops.hpp"
#include "api/dump.hpp"
#include "core/log.hpp"
#include "runtime/limits.hpp"
#include "runtime/npu_input.hpp"
#include "runtime/report.hpp"

namespace rknpu::api {
namespace {

constexpr uint32_t kKnownFlags = 0x3ffff;

SessionOptions options_of(uint32_t flags) {
    SessionOptions options;
    const bool all_outside = (flags & RKNN_FLAG_MEM_ALLOC_OUTSIDE) != 0;
    options.weights_outside = all_outside;
    options.internal_outside = all_outside || (flags & RKNN_FLAG_INTERNAL_ALLOC_OUTSIDE) != 0;
    options.io_outside = all_outside;
    options.internal_in_sram = (flags & RKNN_FLAG_ENABLE_SRAM) != 0;
    options.per_node_jobs =
        (flags & RKNN_FLAG_COLLECT_PERF_MASK) != 0 || log_enabled(LogLevel::kLayers);
    options.flush_inputs = (flags & RKNN_FLAG_DISABLE_FLUSH_INPUT_MEM_CACHE) == 0;
    options.flush_outputs = (flags & RKNN_FLAG_DISABLE_FLUSH_OUTPUT_MEM_CACHE) == 0;
    // The driver runs higher numbers first, within -2 and 2.
    if ((flags & RKNN_FLAG_PRIOR_LOW) != 0)
        options.priority = -2;
    else if ((flags & RKNN_FLAG_PRIOR_MEDIUM) != 0)
        options.priority = -1;
    return options;
}

Status check_flags(uint32_t flags) {
    if ((flags & ~kKnownFlags) != 0)
        return Status::failure(Error::kInvalidArgument, "unknown flags {:#x}",
                               flags & ~kKnownFlags);
    if ((flags & RKNN_FLAG_SHARE_SRAM) != 0 && (flags & RKNN_FLAG_ENABLE_SRAM) == 0)
        return Status{Error::kInvalidArgument, "RKNN_FLAG_SHARE_SRAM needs RKNN_FLAG_ENABLE_SRAM"};
    return {};
}

/// Constants of a slave model are empty; the master's tensor of the same name has them.
Status share_weights(JobGraph& slave, const JobGraph& master) {
    for (auto& tensor : slave.tensors) {
        if (tensor.place != Place::kConstants)
            continue;
        const int32_t index = find_tensor(master, tensor.name);
        const bool fits = index >= 0 &&
                          master.tensors[static_cast<size_t>(index)].place == Place::kConstants &&
                          master.tensors[static_cast<size_t>(index)].size >= tensor.size;
        if (!fits)
            return Status::failure(Error::kInvalidModel,
                                   "the model whose weights are shared has no weights for '{}'",
                                   tensor.name);
        tensor.offset = master.tensors[static_cast<size_t>(index)].offset;
        tensor.data = {};
    }
    slave.constants_size = master.constants_size;
    return {};
}

/// Dumps show inputs as the model wants them, so the host makes them then.
bool npu_converts() {
    const char* text = std::getenv("RKNPU_NPU_INPUT");
    return !dumps_wanted() && (text == nullptr || std::string_view(text) != "0");
}

}  // namespace

Result<std::shared_ptr<Context>> Context::create(const InitRequest& request) {
    if (auto status = check_flags(request.flags); !status.ok())
        return status;
    const bool share = (request.flags & RKNN_FLAG_SHARE_WEIGHT_MEM) != 0;
    if (share && request.weights_from == nullptr)
        return Status{Error::kInvalidArgument,
                      "RKNN_FLAG_SHARE_WEIGHT_MEM needs the master's context in rknn_init_extend"};
    // The file first: its faults are the more common ones, and it says which chip it is for.
    auto graph = read_model(request.file, {});
    if (!graph.ok())
        return graph.status();
    const auto kind = default_device_kind();
    if (!kind.ok())
        return kind.status();
    auto device = Device::open(kind.value());
    if (!device.ok())
        return device.status();
    const auto& soc = device.value()->info().soc;
    if (graph->target != soc)
        return Status::failure(Error::kPlatformMismatch,
                               "This rknn model is for {}, but current platform is {}. Convert the "
                               "model for {}.",
                               graph->target, soc, soc);
    std::shared_ptr<DeviceMemory> weights;
    if (share) {
        const auto& master = *request.weights_from;
        weights = master.session_ == nullptr ? nullptr : master.session_->weights();
        if (weights == nullptr)
            return Status{Error::kInvalidArgument, "the master context has no weights"};
        if (auto s = share_weights(*graph, master.program_->graph); !s.ok())
            return s;
    }
    std::shared_ptr<Context> context(
        new Context(make_program(std::move(device).value(), std::move(graph).value())));
    if (auto status = context->start(request.flags, std::move(weights)); !status.ok())
        return status;
    return context;
}

Status Context::start(uint32_t flags, std::shared_ptr<DeviceMemory> weights) {
    flags_ = flags;
    const auto& graph = program_->graph;
    for (const int32_t tensor : graph.inputs)
        inputs_.emplace_back().tensor = tensor;
    for (const int32_t tensor : graph.outputs)
        outputs_.emplace_back().tensor = tensor;
    input_given_.assign(inputs_.size(), false);
    if ((flags & RKNN_FLAG_COLLECT_MODEL_INFO_ONLY) != 0)
        return {};
    auto session = Session::create(program_, options_of(flags), std::move(weights));
    if (!session.ok())
        return session.status();
    session_ = std::move(session).value();
    custom_ops_ = std::make_unique<CustomOps>(*device(), graph, session_->cpu_steps());
    if (auto status = custom_ops_->add_plugins(); !status.ok())
        return status;
    if (auto status = report_cpu_nodes(graph, device()->info().soc); !status.ok())
        return status;
    if (auto status = session_->cpu_steps().check_operators(); !status.ok())
        return status;
    for (const uint32_t node : session_->cpu_steps().waiting_nodes())
        log(LogLevel::kWarning,
            "operator '{}' of layer '{}' is not in this library: register it with "
            "rknn_register_custom_ops",
            graph.nodes[node].type, graph.nodes[node].name);
    if (log_enabled(LogLevel::kDebug))
        log_memory_plan(*session_);
    if (dumps_wanted())
        session_->set_observer([this](size_t step) { return dump_step(*session_, step); });
    for (size_t i = 0; i < inputs_.size() && npu_converts(); ++i)
        inputs_[i].npu_words = npu_conversion(graph, inputs_[i].tensor, map_of(i));
    return {};
}

Context::Context(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

Context::~Context() {
    // Whatever is under way still uses the memory that goes away now.
    [[maybe_unused]] const auto status = finish_pending();
}

Result<std::shared_ptr<Context>> Context::duplicate() {
    const std::lock_guard lock(mutex_);
    if (session_ == nullptr)
        return Status{Error::kInvalidContext, "the context was made for queries only"};
    std::shared_ptr<Context> copy(new Context(program_));
    // Weights are there already; memory from outside has to be given to each context.
    if (auto status = copy->start(flags_, session_->weights()); !status.ok())
        return status;
    return copy;
}

Status Context::choose(Style style) {
    if (session_ == nullptr)
        return Status{
            Error::kInvalidContext,
            "the context was made with RKNN_FLAG_COLLECT_MODEL_INFO_ONLY and only answers "
            "queries"};
    if (style_ != Style::kUndecided && style_ != style)
        return Status{
            Error::kInvalidContext,
            "context config invalid: rknn_inputs_set/rknn_outputs_get and rknn_set_io_mem "
            "cannot be mixed on one context"};
    style_ = style;
    return {};
}

Status Context::set_core_mask(uint32_t mask) {
    const std::lock_guard lock(mutex_);
    if (session_ == nullptr)
        return choose(style_);
    const auto wanted = check_core_mask(device()->info(), mask);
    if (!wanted.ok())
        return wanted.status();
    session_->set_cores(wanted.value());
    return {};
}

Status Context::set_batch_core_num(int cores) {
    const std::lock_guard lock(mutex_);
    const auto limit = static_cast<int>(device()->info().cores);
    if (cores < 1 || cores > limit)
        return Status::failure(Error::kInvalidArgument, "core number {}, allowed are 1 to {}",
                               cores, limit);
    return {};
}

Status Context::set_weight_memory(const rknn_tensor_mem* pointer) {
    const std::lock_guard lock(mutex_);
    if (session_ == nullptr)
        return choose(style_);
    auto memory = find_memory(pointer);
    if (!memory.ok())
        return memory.status();
    if (memory.value()->offset != 0)
        return Status{Error::kInvalidArgument, "weight memory must start at offset 0"};
    return session_->set_weights(memory.value()->memory);
}

Status Context::set_internal_memory(const rknn_tensor_mem* pointer) {
    const std::lock_guard lock(mutex_);
    if (session_ == nullptr)
        return choose(style_);
    auto memory = find_memory(pointer);
    if (!memory.ok())
        return memory.status();
    return session_->set_internal(memory.value()->memory, memory.value()->offset);
}

Status Context::register_custom_ops(std::span<const rknn_custom_op> ops) {
    const std::lock_guard lock(mutex_);
    if (session_ == nullptr)
        return choose(style_);
    return custom_ops_->add(ops);
}

}  // namespace rknpu::api
