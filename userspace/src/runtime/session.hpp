// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "core/unique_fd.hpp"
#include "runtime/cpu_step.hpp"
#include "runtime/plan.hpp"
#include "runtime/program.hpp"

namespace rknpu {

struct SessionOptions {
    bool weights_outside = false;   ///< set_weights() comes before the first run
    bool internal_outside = false;  ///< set_internal() comes before the first run
    bool io_outside = false;        ///< every input and output is bound before the first run
    bool internal_in_sram = false;
    bool per_node_jobs = false;  ///< one job per layer, to measure them
    bool flush_inputs = true;
    bool flush_outputs = true;
    uint32_t priority = 0;
    int32_t iommu_domain = 0;
};

/// Memory of a tensor, or a part of it.
struct Location {
    std::shared_ptr<DeviceMemory> memory;
    uint64_t offset = 0;
    bool operator==(const Location&) const = default;
};

/// What one step of the last run cost.
struct StepTime {
    std::chrono::nanoseconds wall{0};
    uint64_t hw_ns = 0;
};

/// One model placed into device memory and able to run. Not thread safe: its owner locks.
class Session {
 public:
    /// `weights` may come from another session on the same program; without memory = allocate.
    static Result<std::unique_ptr<Session>> create(std::shared_ptr<const Program> program,
                                                   const SessionOptions& options, Location weights);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const Program& program() const { return *program_; }
    const Location& weights() const { return weights_; }
    const Location& internal() const { return arena_; }
    /// Adds the memory that the session has, except what is bound.
    void add_memory(std::set<const DeviceMemory*>& to) const;
    CpuSteps& cpu_steps() { return cpu_steps_; }

    /// The runtime fills the memory, of which `size` bytes may be used, with the model's weights.
    /// Errors: kInvalidArgument if too small, if the CPU has no view of it, or if the session
    /// borrows its weights.
    Status set_weights(Location memory, uint64_t size);
    Status set_internal(Location memory, uint64_t size);
    /// The same memory as another session on a program of the same model (another of its shapes),
    /// which does not run at the same time.
    Status share_memory(const Session& other);
    /// Forgets buffers that the caller has bound.
    void unbind();

    /// Bytes a buffer needs to be bound: an input is read as far as its elements go, an output may
    /// be written with all the channels that the hardware aligns to.
    static uint64_t bytes_to_bind(const GraphTensor& tensor);

    /// Makes the NPU read or write tensor `tensor` (an input or output) at `location`.
    Status bind(int32_t tensor, Location location);
    /// Allocates inputs and outputs that are not bound yet.
    Status bind_rest();
    /// True once bound or allocated.
    bool bound(int32_t tensor) const {
        return locations_[static_cast<size_t>(tensor)].memory != nullptr;
    }

    /// The CPU's view of a tensor in arena, inputs or outputs.
    std::span<std::byte> bytes(int32_t tensor) const;
    const Location& location(int32_t tensor) const {
        return locations_[static_cast<size_t>(tensor)];
    }

    /// Says that the CPU has changed an input.
    void mark_input_changed(int32_t tensor);

    /// Gives commands other values than the file's (npu_conversion()), or those back.
    void patch_commands(std::span<const WordPatch> words, bool on);

    /// Core mask as in rknn_set_core_mask, already checked: 0, 1, 2, 4, 3 or 7.
    void set_cores(uint32_t mask);
    uint32_t cores() const { return core_mask_; }

    /// How many pictures of a batch are computed at the same time, if the model allows it.
    void set_batch_cores(uint32_t cores) { batch_cores_ = cores; }
    uint32_t batch_cores() const { return batch_cores_; }

    /// One inference. Errors: kFail, kTimeout, kInvalidContext when memory is missing.
    Status run();

    /// The same in pieces, to look at tensors between the steps: begin_run(), then run_step(i) for
    /// the steps of plan(). Contents the caller reads or changes need sync_tensor().
    Status begin_run();
    Status run_step(size_t index);
    Status sync_tensor(int32_t tensor, SyncDirection direction);

    /// Called by run() after each step with its index in plan().
    void set_observer(std::function<Status(size_t)> observer) { observer_ = std::move(observer); }

    /// True if start() is possible: the NPU does every step, and the device has fences.
    bool can_start() const;
    /// Hands all jobs of an inference to the device and returns. `in_fence` (-1: none) is waited
    /// for by the device. The result is the descriptor of a fence that this session keeps until
    /// finish(). Errors: as run().
    Result<int> start(int in_fence);
    /// Waits until the inference that start() began has ended, well or not. Errors: kTimeout after
    /// `timeout_ms`; it goes on then.
    Status wait_started(int timeout_ms) const;
    /// Waits for its end, makes the outputs visible, and says how it ended.
    Status finish();

    const std::vector<PlanStep>& plan() const { return plan_; }
    const std::vector<StepTime>& step_times() const { return times_; }
    std::chrono::nanoseconds last_run() const { return last_run_; }

 private:
    Session(std::shared_ptr<const Program> program, const SessionOptions& options);

    Status allocate(uint64_t size, bool tasks, std::shared_ptr<DeviceMemory>& out);
    Status place_commands();
    Status place_own_constants();
    Status fill_weights(Location memory);
    Status place_weights(Location memory);
    Status place_arena(Location memory);
    void relocate(int32_t tensor);
    /// Pictures of an input or output that are tensors of their own, and where in the list.
    uint32_t parts_of(int32_t tensor) const;
    size_t part_of(int32_t tensor, uint32_t picture) const;
    uint32_t workers() const;
    Status run_steps();
    Status run_pictures(uint32_t worker, uint32_t workers);
    void set_command(uint32_t index, uint64_t word);
    Status sync_commands();
    Status sync_inputs();
    Status sync_outputs();
    uint64_t bound_bytes(int32_t tensor) const;
    Status check_ready() const;
    Status check_views(const GraphNode& node) const;
    Job make_job(const PlanStep& step) const;
    Status job_failed(const PlanStep& step, const Status& status) const;
    Status run_npu(const PlanStep& step, StepTime& time);
    Status run_cpu(const PlanStep& step);

    std::shared_ptr<const Program> program_;
    SessionOptions options_;
    Location weights_;
    std::shared_ptr<DeviceMemory> own_constants_;  // behind JobGraph::borrowed_size
    std::shared_ptr<DeviceMemory> regcmd_;
    std::shared_ptr<DeviceMemory> tasks_;
    Location arena_;
    std::shared_ptr<DeviceMemory> inputs_;
    std::shared_ptr<DeviceMemory> outputs_;
    std::vector<Location> locations_;  // per tensor
    std::vector<bool> input_changed_;  // per input
    uint64_t dirty_first_ = 0;         // bytes of regcmd_ to sync before the next run
    uint64_t dirty_last_ = 0;
    uint32_t core_mask_ = 0;
    uint32_t batch_cores_ = UINT32_MAX;
    std::vector<PlanStep> plan_;
    std::vector<StepTime> times_;
    std::chrono::nanoseconds last_run_{0};
    std::function<Status(size_t)> observer_;
    UniqueFd fence_;  // of the inference that start() began
    std::chrono::steady_clock::time_point started_;
    CpuSteps cpu_steps_;
};

}  // namespace rknpu
