// SPDX-License-Identifier: MIT
#include "api/context.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "api/core_mask.hpp"
#include "api/custom_ops.hpp"
#include "api/dump.hpp"
#include "core/bytes.hpp"
#include "core/log.hpp"
#include "runtime/limits.hpp"
#include "runtime/npu_input.hpp"
#include "runtime/report.hpp"

namespace rknpu::api {
namespace {

constexpr uint32_t kKnownFlags = 0x3ffff;

Status check_flags(uint32_t flags) {
    if ((flags & ~kKnownFlags) != 0)
        return Status::failure(Error::kInvalidArgument, "unknown flags {:#x}",
                               flags & ~kKnownFlags);
    if ((flags & RKNN_FLAG_SHARE_SRAM) != 0 && (flags & RKNN_FLAG_ENABLE_SRAM) == 0)
        return Status{Error::kInvalidArgument, "RKNN_FLAG_SHARE_SRAM needs RKNN_FLAG_ENABLE_SRAM"};
    return {};
}

/// Weights of a slave model are empty; the master's tensor of the same name has them. Constants
/// that the slave has and the master has not, or has otherwise, are its own.
Status share_weights(JobGraph& slave, const JobGraph& master) {
    constexpr uint64_t kAlignment = 64;
    slave.borrowed_size = align_up(master.constants_size, kAlignment);
    slave.constants_size = slave.borrowed_size;
    size_t shared = 0;
    for (auto& tensor : slave.tensors) {
        if (tensor.place != Place::kConstants)
            continue;
        const int32_t index = find_tensor(master, tensor.name);
        const auto* lender = index < 0 ? nullptr : &master.tensors[static_cast<size_t>(index)];
        const bool same = lender != nullptr && lender->place == Place::kConstants &&
                          lender->size >= tensor.size &&
                          (tensor.data.empty() || std::ranges::equal(tensor.data, lender->data));
        if (same) {
            tensor.offset = lender->offset;
            tensor.data = {};
            ++shared;
            continue;
        }
        if (tensor.data.empty() && tensor.kind == TensorKind::kConstant)
            return Status::failure(Error::kInvalidModel,
                                   "the model whose weights are shared has no weights for '{}'",
                                   tensor.name);
        tensor.offset = slave.constants_size;
        slave.constants_size += align_up(tensor.size, kAlignment);
    }
    return shared != 0
               ? Status()
               : Status(Error::kInvalidModel,
                        "the model whose weights are shared has nothing in common with this "
                        "one");
}

/// A model that borrows its weights has none: it would compute with zeros.
Status check_weights(const std::vector<JobGraph>& graphs) {
    for (const auto& graph : graphs) {
        for (const auto& tensor : graph.tensors) {
            if (tensor.place == Place::kConstants && tensor.kind == TensorKind::kConstant &&
                tensor.data.empty())
                return Status::failure(Error::kInvalidModel,
                                       "the file has no weights for '{}': it borrows those of "
                                       "another model. Load that one first and give its context "
                                       "with RKNN_FLAG_SHARE_WEIGHT_MEM",
                                       tensor.name);
        }
    }
    return {};
}

/// Dumps show inputs as the model wants them, so the host makes them then.
bool npu_converts() {
    const char* text = std::getenv("RKNPU_NPU_INPUT");
    return !dumps_wanted() && (text == nullptr || std::string_view(text) != "0");
}

}  // namespace

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

Result<std::shared_ptr<Context>> Context::create(const InitRequest& request) {
    if (auto status = check_flags(request.flags); !status.ok())
        return status;
    const bool share = (request.flags & RKNN_FLAG_SHARE_WEIGHT_MEM) != 0;
    if (share && request.weights_from == nullptr)
        return Status{Error::kInvalidArgument,
                      "RKNN_FLAG_SHARE_WEIGHT_MEM needs the master's context in rknn_init_extend"};
    // The file first: its faults are the more common ones, and it says which chip it is for.
    auto shapes = read_shapes(request.file, {});
    if (!shapes.ok())
        return shapes.status();
    auto& graphs = shapes.value();
    if (share && graphs.size() > 1)
        return Status{Error::kInvalidModel,
                      "models with several input shapes cannot share weights "
                      "(RKNN_FLAG_SHARE_WEIGHT_MEM)"};
    auto device = Device::open_default();
    if (!device.ok())
        return device.status();
    const auto& soc = device.value()->info().soc;
    if (graphs.front().target != soc)
        return Status::failure(Error::kPlatformMismatch,
                               "This rknn model is for {}, but current platform is {}. Convert the "
                               "model for {}.",
                               graphs.front().target, soc, soc);
    Location weights;
    if (share) {
        auto master = request.weights_from->lender();
        if (!master.ok())
            return master.status();
        if (auto s = share_weights(graphs.front(), master->program->graph); !s.ok())
            return s;
        weights = std::move(master->weights);
    } else if (auto s = check_weights(graphs); !s.ok()) {
        return s;
    }
    const size_t largest = largest_shape(graphs);
    std::vector<std::shared_ptr<const Program>> programs;
    for (auto& graph : graphs)
        programs.push_back(make_program(device.value(), std::move(graph)));
    std::shared_ptr<Context> context(new Context(std::move(programs), largest));
    if (auto status = context->start(request.flags, std::move(weights)); !status.ok())
        return status;
    return context;
}

/// Another thread may give this context other memory or shapes meanwhile.
Result<Context::Lender> Context::lender() {
    const std::lock_guard lock(mutex_);
    if (session_ == nullptr || session_->weights().memory == nullptr)
        return Status{Error::kInvalidArgument, "the master context has no weights"};
    if (shapes_.size() > 1)
        return Status{Error::kInvalidModel,
                      "a model with several input shapes cannot share its weights"};
    if (program_->graph.borrowed_size != 0)
        return Status{Error::kInvalidArgument,
                      "the master context has borrowed its weights itself: give the one that it "
                      "has them from"};
    return Lender{program_, session_->weights()};
}

Context::Context(std::vector<std::shared_ptr<const Program>> shapes, size_t chosen)
    : shape_(chosen), program_(shapes[chosen]) {
    for (auto& program : shapes)
        shapes_.emplace_back().program = std::move(program);
}

void Context::open_ports() {
    const auto& graph = program_->graph;
    inputs_.clear();
    outputs_.clear();
    for (const int32_t tensor : graph.inputs)
        inputs_.emplace_back().tensor = tensor;
    for (const int32_t tensor : graph.outputs)
        outputs_.emplace_back().tensor = tensor;
    input_given_.assign(inputs_.size(), false);
    previous_frame_ = 0;
    const bool npu = session_ != nullptr && npu_converts();
    for (size_t i = 0; i < inputs_.size() && npu; ++i) {
        inputs_[i].npu_words = npu_conversion(graph, inputs_[i].tensor, map_of(i));
        session_->patch_commands(inputs_[i].npu_words, false);
    }
}

Status Context::start(uint32_t flags, Location weights) {
    flags_ = flags;
    if ((flags & RKNN_FLAG_COLLECT_MODEL_INFO_ONLY) != 0) {
        open_ports();
        return {};
    }
    auto& shape = shapes_[shape_];
    if (auto status = open_shape(shape, options_of(flags), std::move(weights)); !status.ok())
        return status;
    session_ = shape.session;
    open_ports();
    if (auto status = report_cpu_nodes(program_->graph, device()->info().soc); !status.ok())
        return status;
    if (log_enabled(LogLevel::kDebug))
        log_memory_plan(*session_);
    return {};
}

Status Context::open_shape(Shape& shape, const SessionOptions& options, Location weights) {
    const auto& graph = shape.program->graph;
    auto session = Session::create(shape.program, options, std::move(weights));
    if (!session.ok())
        return session.status();
    shape.session = std::move(session).value();
    auto& steps = shape.session->cpu_steps();
    shape.custom_ops = std::make_unique<CustomOps>(device(), graph, steps);
    if (auto status = shape.custom_ops->add_plugins(); !status.ok())
        return status;
    if (auto status = steps.check_operators(); !status.ok())
        return status;
    if (!registered_.empty()) {
        if (auto status = shape.custom_ops->add(registered_); !status.ok())
            return status;
    }
    for (const uint32_t node : steps.waiting_nodes())
        log(LogLevel::kWarning,
            "operator '{}' of layer '{}' is not in this library: register it with "
            "rknn_register_custom_ops",
            graph.nodes[node].type, graph.nodes[node].name);
    if (dumps_wanted())
        shape.session->set_observer(
            [session = shape.session.get()](size_t step) { return dump_step(*session, step); });
    return {};
}

Context::~Context() {
    // Whatever is under way still uses the memory that goes away now: sessions wait for the NPU.
    // How it ended, be it with an exception, is of no use to anybody any more.
    if (pending_.valid())
        pending_.wait();
}

Result<std::shared_ptr<Context>> Context::duplicate() {
    const std::lock_guard lock(mutex_);
    if (session_ == nullptr)
        return Status{Error::kInvalidContext, "the context was made for queries only"};
    if (shapes_.size() > 1)
        return Status{Error::kInvalidModel,
                      "a model with several input shapes cannot be duplicated: load it again"};
    std::shared_ptr<Context> copy(new Context({program_}, 0));
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
    settle();
    session_->set_cores(wanted.value());
    return {};
}

Status Context::set_batch_core_num(int cores) {
    const std::lock_guard lock(mutex_);
    const auto limit = static_cast<int>(device()->info().cores);
    if (cores < 1 || cores > limit)
        return Status::failure(Error::kInvalidArgument, "core number {}, allowed are 1 to {}",
                               cores, limit);
    if (session_ == nullptr)
        return choose(style_);
    settle();
    session_->set_batch_cores(static_cast<uint32_t>(cores));
    return {};
}

Status Context::set_weight_memory(const rknn_tensor_mem* pointer) {
    const std::lock_guard lock(mutex_);
    if (session_ == nullptr)
        return choose(style_);
    auto memory = find_memory(pointer);
    if (!memory.ok())
        return memory.status();
    settle();
    const auto& object = *memory.value();
    return session_->set_weights({object.memory, object.offset}, object.size);
}

Status Context::set_internal_memory(const rknn_tensor_mem* pointer) {
    const std::lock_guard lock(mutex_);
    if (session_ == nullptr)
        return choose(style_);
    auto memory = find_memory(pointer);
    if (!memory.ok())
        return memory.status();
    settle();
    const auto& object = *memory.value();
    return session_->set_internal({object.memory, object.offset}, object.size);
}

Status Context::register_custom_ops(std::span<const rknn_custom_op> ops) {
    const std::lock_guard lock(mutex_);
    if (session_ == nullptr)
        return choose(style_);
    settle();
    if (auto status = shapes_[shape_].custom_ops->add(ops); !status.ok())
        return status;
    for (auto& shape : shapes_) {
        if (shape.session == nullptr || shape.session == session_)
            continue;
        if (auto status = shape.custom_ops->add(ops); !status.ok())
            return status;
    }
    registered_.insert(registered_.end(), ops.begin(), ops.end());
    return {};
}

}  // namespace rknpu::api
