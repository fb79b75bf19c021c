// SPDX-License-Identifier: MIT
// A multiplication is a convolution with a 1x1 window: rows of A are rows of a picture one pixel
// wide, K its channels, the columns of B the kernels.
#include "matmul/program.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/bytes.hpp"
#include "rknpu_regcmd/cbuf.hpp"
#include "rknpu_regcmd/regcmd_builder.hpp"

namespace rknpu::matmul {
namespace {

namespace rc = ::rknpu::compiler;

/// Rows per task: feature_grains of CNA.CONV_CON2 has ten bits.
constexpr uint32_t kMaxRows = 960;
/// Columns per task: DPU cubes have 13 bits for channels.
constexpr uint32_t kMaxColumns = 4096;
constexpr uint64_t kTopAddress = uint64_t{1} << 32;
constexpr uint32_t kClearAll = 0x1ffff;

/// As struct rknpu_task of the uAPI.
struct TaskRecord {
    uint32_t flags = 0;
    uint32_t op_idx = 0;
    uint32_t enable_mask = 0;
    uint32_t int_mask = 0;
    uint32_t int_clear = kClearAll;
    uint32_t int_status = 0;
    uint32_t regcfg_amount = 0;
    uint32_t regcfg_offset = 0;
    uint64_t regcmd_addr = 0;
};
static_assert(sizeof(TaskRecord) == 40);

/// Buffers of the builder's relocations.
constexpr uint32_t buffer_of(Operand operand) {
    return static_cast<uint32_t>(operand) + 1;
}

/// Part of the columns that one core computes.
struct Columns {
    uint32_t first;
    uint32_t count;
};

class Emitter {
 public:
    Emitter(Work work, const Shape& shape, uint32_t k_segment)
        : work_(work), shape_(shape), k_segment_(k_segment) {}

    rc::RegcmdBuilder& builder() { return builder_; }

    /// All tasks of one core.
    std::optional<std::string> emit(Columns columns) {
        for (uint32_t segment = 0; segment < segments(shape_.k, k_segment_); ++segment)
            for (uint32_t n = 0; n < columns.count; n += kMaxColumns) {
                const Columns part{columns.first + n, std::min(kMaxColumns, columns.count - n)};
                if (auto failed = emit(segment, part))
                    return failed;
            }
        return std::nullopt;
    }

 private:
    std::optional<std::string> emit(uint32_t segment, Columns columns) {
        const uint32_t rows_of_b = segment_rows(shape_.k, k_segment_, segment);
        const uint32_t width = bytes_of(work_);
        rc::ConvNeeds needs;
        needs.row_bytes = rc::buffer_row_bytes(1, rows_of_b, 0, precision());
        needs.input_height = needs.output_height = std::min(shape_.m, kMaxRows);
        needs.weight_bytes = columns.count * rows_of_b * width;
        needs.group_bytes = column_group(work_) * rows_of_b * width;
        const auto plan = rc::plan_conv(needs);
        if (!plan)
            return "a row of A and the columns of B it meets do not fit the convolution buffer";
        for (uint32_t m = 0; m < shape_.m; m += plan->output_rows) {
            auto task = make_task(segment, columns, m, std::min(plan->output_rows, shape_.m - m));
            task.banks = plan->banks;
            task.weights_loaded = plan->weights_fit && m != 0;
            if (auto failed = builder_.append(task, segment))
                return failed;
        }
        return std::nullopt;
    }

    rc::ConvTask make_task(uint32_t segment, Columns columns, uint32_t row, uint32_t rows) const {
        const uint32_t first = segment * k_segment_;
        const uint32_t depth = segment_rows(shape_.k, k_segment_, segment);
        const uint32_t width = bytes_of(work_);
        rc::ConvTask task;
        task.input_precision = precision();
        task.output_precision = work_ == Work::kInt8 ? rc::Precision::kInt32 : rc::Precision::kFp32;
        const uint32_t surface = shape_.m * rc::kAtomBytes;
        task.input = {{buffer_of(Operand::kA), first / lanes(work_) * surface + row * 16},
                      1,
                      rows,
                      depth,
                      1,
                      shape_.m};
        const uint32_t sums = segment * shape_.n * shape_.m * 4;
        task.output = {{buffer_of(Operand::kC), sums + columns.first / 4 * surface + row * 16},
                       1,
                       rows,
                       columns.count,
                       1,
                       shape_.m};
        task.weights = {buffer_of(Operand::kB), (first * shape_.n + columns.first * depth) * width};
        task.weight_bytes = columns.count * depth * width;
        return task;
    }

    rc::Precision precision() const {
        return work_ == Work::kInt8 ? rc::Precision::kInt8 : rc::Precision::kFp16;
    }

    Work work_;
    Shape shape_;
    uint32_t k_segment_;
    rc::RegcmdBuilder builder_;
};

constexpr uint64_t with_value(uint64_t word, uint32_t value) {
    return (word & ~(uint64_t{0xffffffff} << 16)) | uint64_t{value} << 16;
}

void store_tasks(std::span<std::byte> to, std::span<const rc::TaskRecord> tasks, uint64_t base) {
    for (size_t i = 0; i < tasks.size(); ++i) {
        TaskRecord record;
        record.op_idx = tasks[i].op_index;
        record.enable_mask = tasks[i].enable_mask;
        record.int_mask = tasks[i].int_mask;
        record.regcfg_amount = tasks[i].amount;
        record.regcmd_addr = base + tasks[i].offset;
        store(to, i * sizeof(record), record);
    }
}

void store_words(std::span<std::byte> to, const rc::RegcmdBuilder& builder, uint64_t base) {
    std::memcpy(to.data(), builder.words().data(), builder.words().size_bytes());
    for (const uint32_t word : builder.link_words()) {
        const uint64_t offset = static_cast<uint32_t>(builder.words()[word] >> 16);
        store(to, size_t{word} * 8,
              with_value(builder.words()[word], static_cast<uint32_t>(base + offset)));
    }
}

}  // namespace

Result<std::unique_ptr<Program>> Program::create(std::shared_ptr<Device> device, Work work,
                                                 const Shape& shape, uint32_t k_segment,
                                                 uint32_t cores) {
    std::unique_ptr<Program> program(new Program);
    Emitter emitter(work, shape, k_segment);
    auto& builder = emitter.builder();
    const uint32_t groups = shape.n / column_group(work);
    program->cores_ = std::clamp(cores, 1u, std::min(groups, 3u));
    for (uint32_t core = 0; core < program->cores_; ++core) {
        const uint32_t first = groups * core / program->cores_ * column_group(work);
        const uint32_t end = groups * (core + 1) / program->cores_ * column_group(work);
        const auto start = static_cast<uint32_t>(builder.tasks().size());
        builder.begin_chain(program->cores_);
        if (auto failed = emitter.emit({first, end - first}))
            return Status::failure(Error::kInvalidArgument, "{} x {} x {}: {}", shape.m, shape.k,
                                   shape.n, *failed);
        program->ranges_[core] = {start, static_cast<uint32_t>(builder.tasks().size()) - start};
    }
    for (const auto& item : builder.relocations())
        program->relocations_[item.buffer - 1].push_back({item.word, item.addend});

    MemoryRequest request;
    request.size = builder.words().size_bytes();
    auto regcmd = device->allocate(request);
    if (!regcmd.ok())
        return regcmd.status();
    request.size = builder.tasks().size() * sizeof(TaskRecord);
    request.holds_tasks = true;
    auto tasks = device->allocate(request);
    if (!tasks.ok())
        return tasks.status();
    const uint64_t base = regcmd.value()->device_address();
    if (base + builder.words().size_bytes() > kTopAddress)
        return Status::failure(Error::kNoMemory, "NPU memory at {:#x} is above 4 GiB", base);
    store_words(regcmd.value()->bytes(), builder, base);
    store_tasks(tasks.value()->bytes(), builder.tasks(), base);
    if (auto status = device->sync(*tasks.value(), 0, request.size, SyncDirection::kToDevice);
        !status.ok())
        return status;
    program->regcmd_ = std::move(regcmd).value();
    program->dirty_last_ = builder.words().size_bytes();
    program->tasks_ = std::move(tasks).value();
    program->device_ = std::move(device);
    return program;
}

Status Program::bind(Operand operand, uint64_t address) {
    if (address >= kTopAddress)
        return Status::failure(Error::kNoMemory, "NPU memory at {:#x} is above 4 GiB", address);
    const auto bytes = regcmd_->bytes();
    for (const auto& item : relocations_[static_cast<size_t>(operand)]) {
        const size_t at = size_t{item.word} * 8;
        const auto before = load<uint64_t>(bytes, at);
        const uint64_t after = with_value(before, static_cast<uint32_t>(address + item.addend));
        if (before == after)
            continue;
        store(bytes, at, after);
        dirty_first_ = dirty_first_ == dirty_last_ ? at : std::min<uint64_t>(dirty_first_, at);
        dirty_last_ = std::max<uint64_t>(dirty_last_, at + 8);
    }
    return {};
}

Result<JobReport> Program::run(uint32_t mask) {
    if (dirty_first_ != dirty_last_) {
        if (auto status = device_->sync(*regcmd_, dirty_first_, dirty_last_ - dirty_first_,
                                        SyncDirection::kToDevice);
            !status.ok())
            return status;
        dirty_first_ = dirty_last_ = 0;
    }
    Job job;
    job.tasks = tasks_.get();
    if (cores_ == 1) {
        job.core_mask = std::popcount(mask) > 1 ? mask & -mask : mask;
        job.ranges[0] = job.ranges[1] = job.ranges[2] = ranges_[0];
    } else {
        // The driver looks at entries 0 and 1 for two cores, at 2, 3 and 4 for three.
        job.core_mask = cores_ == 2 ? 3 : 7;
        for (uint32_t core = 0; core < cores_; ++core)
            job.ranges[(cores_ == 2 ? 0 : 2) + core] = ranges_[core];
    }
    return device_->run(job);
}

}  // namespace rknpu::matmul
