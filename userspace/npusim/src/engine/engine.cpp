// SPDX-License-Identifier: MIT
#include "npusim/engine.hpp"

#include "decode.hpp"
#include "pipeline.hpp"

namespace npusim {

struct TaskEngine::State {
    explicit State(EngineOptions engine_options)
        : options(engine_options),
          pipeline(engine_options.reference_path, engine_options.threads) {}

    EngineOptions options;
    Pipeline pipeline;
    TaskDesc task;
    TaskWork work;
};

namespace {

TaskWork measure(const TaskDesc& task) {
    TaskWork work;
    if (task.conv_enabled) {
        const ConvDesc& conv = task.conv;
        const uint64_t pixels = uint64_t{conv.out_width} * conv.out_height;
        const uint64_t window = uint64_t{conv.kernel_width} * conv.kernel_height;
        const uint64_t depth = conv.depthwise ? 1 : weight_lanes(conv);
        work.mac_elements = pixels * conv.out_channels;
        work.macs = work.mac_elements * window * depth;
        work.element_bits = precision_bits(conv.precision);
        work.depthwise = conv.depthwise;
    }
    if (task.dpu_enabled)
        work.dpu_elements = uint64_t{task.dpu.width} * task.dpu.height * task.dpu.channels;
    if (task.ppu_enabled) {
        const PpuDesc& ppu = task.ppu;
        work.ppu_elements = uint64_t{ppu.out_width} * ppu.out_height * ppu.in_channels *
                            ppu.kernel_width * ppu.kernel_height;
    }
    return work;
}

}  // namespace

TaskEngine::TaskEngine(EngineOptions options) : state_(std::make_unique<State>(options)) {}
TaskEngine::~TaskEngine() = default;
TaskEngine::TaskEngine(TaskEngine&&) noexcept = default;
TaskEngine& TaskEngine::operator=(TaskEngine&&) noexcept = default;

std::optional<ExecError> TaskEngine::run(const TaskRegs& regs, uint32_t enable_mask, DmaPort& dma) {
    if (auto refused = decode_task(state_->options.map, regs, enable_mask, state_->task))
        return refused;
    auto error = state_->pipeline.run(state_->task, dma);
    if (!error)
        state_->work = measure(state_->task);
    return error;
}

void TaskEngine::write_lut(uint32_t offset, uint32_t value) {
    if (offset == npuregs::dpu::kLutAccessCfg)
        state_->pipeline.lut().select(value);
    else if (offset == npuregs::dpu::kLutAccessData)
        state_->pipeline.lut().write(value);
}

uint32_t TaskEngine::read_lut() {
    return state_->pipeline.lut().read();
}

void TaskEngine::reset() {
    state_->pipeline.lut().reset();
    state_->work = TaskWork{};
}

const TaskWork& TaskEngine::last_work() const {
    return state_->work;
}

}  // namespace npusim
