// SPDX-License-Identifier: MIT
// TaskEngine as the runner of a core.
#include "npusim/npu.hpp"

namespace npusim {

namespace {

class EngineRunner final : public TaskRunner {
 public:
    explicit EngineRunner(EngineOptions options) : engine_(options) {}

    std::optional<ExecError> run(const TaskRegs& regs, uint32_t enable_mask,
                                 DmaPort& dma) override {
        return engine_.run(regs, enable_mask, dma);
    }
    void write_lut(uint32_t offset, uint32_t value) override { engine_.write_lut(offset, value); }
    uint32_t read_lut() override { return engine_.read_lut(); }
    void reset() override { engine_.reset(); }
    const TaskWork& last_work() const override { return engine_.last_work(); }

 private:
    TaskEngine engine_;
};

}  // namespace

std::unique_ptr<TaskRunner> make_engine_runner(const SocConfig& soc, const NpuOptions& options) {
    EngineOptions engine;
    engine.reference_path = options.reference_path;
    engine.threads = options.threads_per_core;
    engine.map = soc.map.value_or(RegisterMap::kRk3588);
    return std::make_unique<EngineRunner>(engine);
}

}  // namespace npusim
