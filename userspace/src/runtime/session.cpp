// SPDX-License-Identifier: MIT
#include "runtime/session.hpp"

#include <algorithm>
#include <bit>
#include <future>
#include <span>
#include <utility>

#include "core/bytes.hpp"
#include "core/log.hpp"

namespace rknpu {
namespace {

constexpr uint64_t kIoAlignment = 64;
constexpr uint64_t kTopAddress = uint64_t{1} << 32;

constexpr uint64_t with_value(uint64_t word, uint32_t value) {
    return (word & ~(uint64_t{0xffffffff} << 16)) | uint64_t{value} << 16;
}

/// Tensors have addresses of this multiple within weights and arena.
constexpr uint64_t kPartAlignment = 16;

Status too_small(std::string_view what, uint64_t has, uint64_t needs) {
    return Status::failure(Error::kInvalidArgument, "the {} memory has {} bytes, {} are needed",
                           what, has, needs);
}

Status no_view(std::string_view what) {
    return Status::failure(Error::kInvalidArgument,
                           "the memory of {} is a dma-buf that the CPU cannot map, but has to read "
                           "or write",
                           what);
}

/// The NPU's registers hold 32 bits of an address.
Status check_address(const Location& place, uint64_t size) {
    const uint64_t address = place.memory->device_address() + place.offset;
    return address + size <= kTopAddress
               ? Status()
               : Status::failure(Error::kNoMemory, "NPU memory at {:#x} is above 4 GiB", address);
}

/// Memory from outside for `needs` bytes, of which `size` may be used.
Status check_part(std::string_view what, const Location& place, uint64_t size, uint64_t needs) {
    if (size < needs)
        return too_small(what, size, needs);
    if ((place.memory->device_address() + place.offset) % kPartAlignment != 0)
        return Status::failure(Error::kInvalidArgument,
                               "the {} memory starts at {:#x}, a multiple of {} is needed", what,
                               place.memory->device_address() + place.offset, kPartAlignment);
    return check_address(place, needs);
}

}  // namespace

Session::Session(std::shared_ptr<const Program> program, const SessionOptions& options)
    : program_(std::move(program)), options_(options) {
    locations_.resize(program_->graph.tensors.size());
    input_changed_.assign(program_->graph.inputs.size(), true);
}

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Program> program,
                                                 const SessionOptions& options, Location weights) {
    std::unique_ptr<Session> session(new Session(std::move(program), options));
    const auto& graph = session->program_->graph;
    if (auto status = session->place_commands(); !status.ok())
        return status;
    if (weights.memory != nullptr) {
        if (auto s = session->place_own_constants(); !s.ok())
            return s;
        if (auto s = session->place_weights(std::move(weights)); !s.ok())
            return s;
    } else if (!options.weights_outside && graph.constants_size != 0) {
        Location own;
        if (auto s = session->allocate(graph.constants_size, false, own.memory); !s.ok())
            return s;
        if (auto s = session->fill_weights(std::move(own)); !s.ok())
            return s;
    }
    if (!options.internal_outside && graph.arena_size != 0) {
        MemoryRequest request;
        request.size = graph.arena_size;
        request.try_sram = options.internal_in_sram;
        request.iommu_domain = options.iommu_domain;
        auto memory = session->program_->device->allocate(request);
        if (!memory.ok())
            return memory.status();
        if (auto s = session->place_arena({std::move(memory).value(), 0}); !s.ok())
            return s;
    }
    if (auto status = session->cpu_steps_.prepare(graph); !status.ok())
        return status;
    session->set_cores(0);
    return session;
}

Status Session::allocate(uint64_t size, bool tasks, std::shared_ptr<DeviceMemory>& out) {
    MemoryRequest request;
    request.size = std::max<uint64_t>(size, 1);
    request.holds_tasks = tasks;
    request.iommu_domain = options_.iommu_domain;
    auto memory = program_->device->allocate(request);
    if (!memory.ok())
        return memory.status();
    out = std::move(memory).value();
    return {};
}

Status Session::place_commands() {
    const auto& graph = program_->graph;
    const uint64_t size = graph.regcmd.size() * sizeof(uint64_t);
    if (auto status = allocate(size, false, regcmd_); !status.ok())
        return status;
    if (auto s = allocate(graph.tasks.size() * sizeof(TaskRecord), true, tasks_); !s.ok())
        return s;
    const uint64_t base = regcmd_->device_address();
    if (base + size > kTopAddress)
        return Status::failure(Error::kNoMemory, "NPU memory at {:#x} is above 4 GiB", base);
    std::ranges::copy(std::as_bytes(std::span(graph.regcmd)), regcmd_->bytes().begin());
    for (const uint32_t word : graph.chain_words) {
        const uint64_t offset = static_cast<uint32_t>(graph.regcmd[word] >> 16);
        store(regcmd_->bytes(), size_t{word} * 8,
              with_value(graph.regcmd[word], static_cast<uint32_t>(base + offset)));
    }
    for (size_t i = 0; i < graph.tasks.size(); ++i) {
        TaskRecord task = graph.tasks[i];
        task.regcmd_addr += base;
        store(tasks_->bytes(), i * sizeof(TaskRecord), task);
    }
    dirty_first_ = 0;
    dirty_last_ = size;
    return program_->device->sync(*tasks_, 0, graph.tasks.size() * sizeof(TaskRecord),
                                  SyncDirection::kToDevice);
}

Status Session::place_own_constants() {
    const auto& graph = program_->graph;
    if (graph.borrowed_size == 0 || graph.borrowed_size == graph.constants_size)
        return {};
    const uint64_t size = graph.constants_size - graph.borrowed_size;
    if (auto status = allocate(size, false, own_constants_); !status.ok())
        return status;
    const auto bytes = own_constants_->bytes();
    if (auto s = fill_constants(*program_, graph.borrowed_size, bytes); !s.ok())
        return s;
    return program_->device->sync(*own_constants_, 0, size, SyncDirection::kToDevice);
}

void Session::add_memory(std::set<const DeviceMemory*>& to) const {
    for (const auto& memory :
         {weights_.memory, own_constants_, regcmd_, tasks_, arena_.memory, inputs_, outputs_})
        to.insert(memory.get());
}

Status Session::set_weights(Location memory, uint64_t size) {
    const auto& graph = program_->graph;
    const uint64_t needs = graph.constants_size;
    // The file has not what it borrows.
    if (graph.borrowed_size != 0)
        return Status{Error::kInvalidArgument,
                      "the weights are those of another context (RKNN_FLAG_SHARE_WEIGHT_MEM): give "
                      "that one the memory"};
    if (auto status = check_part("weight", memory, size, needs); !status.ok())
        return status;
    const auto bytes = memory.memory->bytes();
    if (bytes.empty())
        return no_view("the weights");
    // Between constants, and behind those that are shorter than the NPU reads, are zeros: memory of
    // the caller may hold anything.
    std::ranges::fill(bytes.subspan(memory.offset, needs), std::byte{0});
    return fill_weights(std::move(memory));
}

Status Session::fill_weights(Location memory) {
    const uint64_t needs = program_->graph.constants_size;
    const auto part = memory.memory->bytes().subspan(memory.offset, needs);
    if (auto s = fill_constants(*program_, 0, part); !s.ok())
        return s;
    if (auto s =
            program_->device->sync(*memory.memory, memory.offset, needs, SyncDirection::kToDevice);
        !s.ok())
        return s;
    return place_weights(std::move(memory));
}

Status Session::place_weights(Location memory) {
    const auto& graph = program_->graph;
    const bool borrows = graph.borrowed_size != 0;
    const uint64_t used = borrows ? graph.borrowed_size : graph.constants_size;
    if (auto status = check_address(memory, used); !status.ok())
        return status;
    weights_ = std::move(memory);
    const auto& tensors = program_->graph.tensors;
    for (size_t i = 0; i < tensors.size(); ++i) {
        if (tensors[i].place != Place::kConstants)
            continue;
        const uint64_t offset = tensors[i].offset;
        const bool own = own_constants_ != nullptr && offset >= program_->graph.borrowed_size;
        locations_[i] = own ? Location{own_constants_, offset - program_->graph.borrowed_size}
                            : Location{weights_.memory, weights_.offset + offset};
        relocate(static_cast<int32_t>(i));
    }
    return {};
}

Status Session::share_memory(const Session& other) {
    if (other.weights_.memory != nullptr && other.weights_ != weights_) {
        if (auto status = place_weights(other.weights_); !status.ok())
            return status;
    }
    const bool same = other.arena_.memory == nullptr || other.arena_ == arena_;
    return same ? Status() : place_arena(other.arena_);
}

void Session::unbind() {
    for (const auto* list : {&program_->graph.inputs, &program_->graph.outputs}) {
        for (const int32_t tensor : *list) {
            const auto& memory = location(tensor).memory;
            if (memory == inputs_ || memory == outputs_)
                continue;
            locations_[static_cast<size_t>(tensor)] = {};
            for (uint32_t i = 0; i < parts_of(tensor); ++i)
                locations_[part_of(tensor, i)] = {};
        }
    }
}

Status Session::set_internal(Location memory, uint64_t size) {
    if (auto s = check_part("internal", memory, size, program_->graph.arena_size); !s.ok())
        return s;
    return place_arena(std::move(memory));
}

Status Session::place_arena(Location memory) {
    if (auto status = check_address(memory, program_->graph.arena_size); !status.ok())
        return status;
    arena_ = std::move(memory);
    const auto& tensors = program_->graph.tensors;
    for (size_t i = 0; i < tensors.size(); ++i) {
        const bool internal = tensors[i].place == Place::kArena &&
                              tensors[i].kind != TensorKind::kInput &&
                              tensors[i].kind != TensorKind::kOutput;
        if (!internal)
            continue;
        locations_[i] = {arena_.memory, arena_.offset + tensors[i].offset};
        relocate(static_cast<int32_t>(i));
    }
    return {};
}

void Session::relocate(int32_t tensor) {
    const auto& location = this->location(tensor);
    const uint64_t address = location.memory->device_address() + location.offset;
    const auto first = program_->relocation_start[static_cast<size_t>(tensor)];
    const auto last = program_->relocation_start[static_cast<size_t>(tensor) + 1];
    for (uint32_t i = first; i < last; ++i) {
        const auto& item = program_->relocations[i];
        const auto value = static_cast<uint32_t>(address + item.addend);
        set_command(item.word, with_value(program_->graph.regcmd[item.word], value));
    }
}

void Session::set_command(uint32_t index, uint64_t word) {
    const uint64_t at = uint64_t{index} * 8;
    if (load<uint64_t>(regcmd_->bytes(), at) == word)
        return;
    store(regcmd_->bytes(), at, word);
    const bool clean = dirty_first_ == dirty_last_;
    dirty_first_ = clean ? at : std::min(dirty_first_, at);
    dirty_last_ = clean ? at + 8 : std::max(dirty_last_, at + 8);
}

void Session::patch_commands(std::span<const WordPatch> words, bool on) {
    for (const auto& item : words) {
        const uint64_t own = program_->graph.regcmd[item.word];
        set_command(item.word, on ? with_value(own, item.value) : own);
    }
}

uint32_t Session::parts_of(int32_t tensor) const {
    const auto& graph = program_->graph;
    return graph.tensors[static_cast<size_t>(tensor)].first_part < 0 ? 0 : graph.batch;
}

size_t Session::part_of(int32_t tensor, uint32_t picture) const {
    const auto& info = program_->graph.tensors[static_cast<size_t>(tensor)];
    return static_cast<size_t>(info.first_part) + picture;
}

uint64_t Session::bytes_to_bind(const GraphTensor& tensor) {
    return tensor.kind == TensorKind::kInput ? view_of(tensor).bytes() : tensor.size;
}

uint64_t Session::bound_bytes(int32_t tensor) const {
    const auto& location = this->location(tensor);
    return std::min(program_->graph.tensors[static_cast<size_t>(tensor)].size,
                    location.memory->size() - location.offset);
}

Status Session::bind(int32_t tensor, Location location) {
    const auto& info = program_->graph.tensors[static_cast<size_t>(tensor)];
    if (!range_inside(location.offset, info.size, location.memory->size()))
        return Status::failure(
            Error::kInvalidArgument,
            "the memory for '{}' has {} bytes behind its offset, {} are needed", info.name,
            location.memory->size() - std::min(location.offset, location.memory->size()),
            info.size);
    if (auto status = check_address(location, info.size); !status.ok())
        return status;
    locations_[static_cast<size_t>(tensor)] = location;
    mark_input_changed(tensor);
    for (uint32_t i = 0; i < parts_of(tensor); ++i) {
        const auto part = part_of(tensor, i);
        locations_[part] = {location.memory,
                            location.offset + program_->graph.tensors[part].offset};
        relocate(static_cast<int32_t>(part));
    }
    relocate(tensor);
    return {};
}

Status Session::bind_rest() {
    const auto& graph = program_->graph;
    for (const bool input : {true, false}) {
        const auto& list = input ? graph.inputs : graph.outputs;
        uint64_t size = 0;
        for (const int32_t tensor : list) {
            if (!bound(tensor))
                size =
                    align_up(size, kIoAlignment) + graph.tensors[static_cast<size_t>(tensor)].size;
        }
        if (size == 0)
            continue;
        auto& memory = input ? inputs_ : outputs_;
        if (auto status = allocate(size, false, memory); !status.ok())
            return status;
        uint64_t offset = 0;
        for (const int32_t tensor : list) {
            if (bound(tensor))
                continue;
            offset = align_up(offset, kIoAlignment);
            if (auto status = bind(tensor, {memory, offset}); !status.ok())
                return status;
            offset += graph.tensors[static_cast<size_t>(tensor)].size;
        }
    }
    return {};
}

std::span<std::byte> Session::bytes(int32_t tensor) const {
    const auto& location = this->location(tensor);
    if (location.memory == nullptr || location.memory->bytes().empty())
        return {};
    return location.memory->bytes().subspan(location.offset, bound_bytes(tensor));
}

void Session::mark_input_changed(int32_t tensor) {
    const auto& inputs = program_->graph.inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i] == tensor)
            input_changed_[i] = true;
    }
}

void Session::set_cores(uint32_t mask) {
    core_mask_ = mask;
    const auto cores = static_cast<uint32_t>(std::max(1, std::popcount(mask)));
    plan_ = make_plan(program_->graph, cores, options_.per_node_jobs);
    times_.assign(plan_.size(), {});
}

Status Session::check_ready() const {
    const auto missing = [](std::string_view what, std::string_view cure) {
        return Status::failure(Error::kInvalidContext, "the context has no {}: call {} first", what,
                               cure);
    };
    const auto& graph = program_->graph;
    if (graph.constants_size != 0 && weights_.memory == nullptr)
        return missing("weight memory", "rknn_set_weight_mem");
    if (graph.arena_size != 0 && arena_.memory == nullptr)
        return missing("internal memory", "rknn_set_internal_mem");
    for (const auto* list : {&graph.inputs, &graph.outputs}) {
        for (const int32_t tensor : *list) {
            if (!bound(tensor))
                return missing(
                    fmt::format("memory for '{}'", graph.tensors[static_cast<size_t>(tensor)].name),
                    "rknn_set_io_mem");
        }
    }
    return cpu_steps_.check_registered();
}

Status Session::sync_commands() {
    if (dirty_first_ == dirty_last_)
        return {};
    auto status = program_->device->sync(*regcmd_, dirty_first_, dirty_last_ - dirty_first_,
                                         SyncDirection::kToDevice);
    dirty_first_ = dirty_last_ = 0;
    return status;
}

Status Session::sync_tensor(int32_t tensor, SyncDirection direction) {
    const auto& location = this->location(tensor);
    return program_->device->sync(*location.memory, location.offset, bound_bytes(tensor),
                                  direction);
}

/// Changed tensors that stand side by side in the session's own buffer share one call.
Status Session::sync_inputs() {
    const auto& inputs = program_->graph.inputs;
    uint64_t first = 0;
    uint64_t last = 0;  // 0: nothing is waiting
    const auto flush = [&]() -> Status {
        const uint64_t end = std::exchange(last, 0);
        return end == 0
                   ? Status()
                   : program_->device->sync(*inputs_, first, end - first, SyncDirection::kToDevice);
    };
    for (size_t i = 0; i < inputs.size(); ++i) {
        const auto& location = this->location(inputs[i]);
        const bool own = location.memory == inputs_;
        if (!program_->npu_reads_or_writes(inputs[i]) || !options_.flush_inputs)
            continue;
        if (!own) {
            if (auto s = sync_tensor(inputs[i], SyncDirection::kToDevice); !s.ok())
                return s;
            continue;
        }
        if (!input_changed_[i]) {
            if (auto s = flush(); !s.ok())
                return s;
            continue;
        }
        input_changed_[i] = false;
        if (last == 0)
            first = location.offset;
        last = location.offset + program_->graph.tensors[static_cast<size_t>(inputs[i])].size;
    }
    return flush();
}

Status Session::sync_outputs() {
    if (!options_.flush_outputs)
        return {};
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    for (const int32_t tensor : program_->graph.outputs) {
        const auto& location = this->location(tensor);
        if (!program_->npu_reads_or_writes(tensor))
            continue;
        if (location.memory != outputs_) {
            if (auto s = sync_tensor(tensor, SyncDirection::kFromDevice); !s.ok())
                return s;
            continue;
        }
        first = std::min(first, location.offset);
        last = std::max(
            last, location.offset + program_->graph.tensors[static_cast<size_t>(tensor)].size);
    }
    return last == 0
               ? Status()
               : program_->device->sync(*outputs_, first, last - first, SyncDirection::kFromDevice);
}

Status Session::run_npu(const PlanStep& step, StepTime& time) {
    auto report = program_->device->run(make_job(step));
    if (!report.ok())
        return job_failed(step, report.status());
    time.hw_ns = report->hw_time_ns;
    return {};
}

/// The NPU works in any memory, the CPU only where it has a view.
Status Session::check_views(const GraphNode& node) const {
    for (const auto* list : {&node.inputs, &node.outputs}) {
        for (const int32_t tensor : *list) {
            if (tensor >= 0 && bound(tensor) && location(tensor).memory->bytes().empty())
                return no_view(fmt::format(
                    "'{}', which the layer '{}' on the CPU uses,",
                    program_->graph.tensors[static_cast<size_t>(tensor)].name, node.name));
        }
    }
    return {};
}

Status Session::run_cpu(const PlanStep& step) {
    const auto& node = program_->graph.nodes[step.first_node];
    if (auto status = check_views(node); !status.ok())
        return status;
    for (const int32_t input : node.inputs) {
        const bool written_by_npu =
            program_->npu_reads_or_writes(input) && bound(input) &&
            program_->graph.tensors[static_cast<size_t>(input)].place == Place::kArena;
        if (written_by_npu) {
            if (auto s = sync_tensor(input, SyncDirection::kFromDevice); !s.ok())
                return s;
        }
    }
    const auto bytes_of_tensor = [this](int32_t tensor) { return bytes(tensor); };
    if (auto status = cpu_steps_.run(step.first_node, bytes_of_tensor); !status.ok())
        return status;
    for (const int32_t output : node.outputs) {
        // In memory of the caller, who may call rknn_mem_sync(FROM_DEVICE) next: that drops what is
        // still in the cache.
        const bool callers =
            program_->graph.tensors[static_cast<size_t>(output)].kind == TensorKind::kOutput &&
            location(output).memory != outputs_;
        if (callers || program_->npu_reads_or_writes(output)) {
            if (auto s = sync_tensor(output, SyncDirection::kToDevice); !s.ok())
                return s;
        }
    }
    return {};
}

Status Session::begin_run() {
    if (auto status = check_ready(); !status.ok())
        return status;
    if (auto status = sync_commands(); !status.ok())
        return status;
    return sync_inputs();
}

Status Session::run_step(size_t index) {
    const auto start = std::chrono::steady_clock::now();
    const auto& step = plan_[index];
    times_[index].hw_ns = 0;
    if (auto s = step.on_npu ? run_npu(step, times_[index]) : run_cpu(step); !s.ok())
        return s;
    times_[index].wall = std::chrono::steady_clock::now() - start;
    return {};
}

/// Observers and custom operators are the caller's: they are called from one thread.
uint32_t Session::workers() const {
    const uint32_t cores = std::min(program_->device->info().cores, batch_cores_);
    const bool alone = observer_ || options_.per_node_jobs || cpu_steps_.has_kernels();
    return alone ? 1 : std::min(program_->graph.lanes, cores);
}

Status Session::run_pictures(uint32_t worker, uint32_t workers) {
    const auto& graph = program_->graph;
    for (size_t i = 0; i < plan_.size(); ++i) {
        const uint32_t lane = graph.nodes[plan_[i].first_node].picture % graph.lanes;
        if (lane % workers != worker)
            continue;
        if (auto status = run_step(i); !status.ok())
            return status;
    }
    return {};
}

Status Session::run_steps() {
    const uint32_t count = workers();
    if (count > 1) {
        std::vector<std::future<Status>> others;
        for (uint32_t worker = 1; worker < count; ++worker)
            others.push_back(
                std::async(std::launch::async, [=, this] { return run_pictures(worker, count); }));
        auto status = run_pictures(0, count);
        for (auto& other : others) {
            if (auto its = other.get(); status.ok())
                status = its;
        }
        return status;
    }
    for (size_t i = 0; i < plan_.size(); ++i) {
        if (auto status = run_step(i); !status.ok())
            return status;
        if (observer_) {
            if (auto status = observer_(i); !status.ok())
                return status;
        }
    }
    return {};
}

Status Session::run() {
    const auto start = std::chrono::steady_clock::now();
    if (auto status = begin_run(); !status.ok())
        return status;
    if (auto status = run_steps(); !status.ok())
        return status;
    if (auto status = sync_outputs(); !status.ok())
        return status;
    last_run_ = std::chrono::steady_clock::now() - start;
    return {};
}

}  // namespace rknpu
