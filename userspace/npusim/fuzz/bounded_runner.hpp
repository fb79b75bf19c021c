// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "decode.hpp"
#include "npusim/npu.hpp"

namespace npusim_fuzz {

// Work above this, in multiplications, is refused before it runs: it would only slow the search
// down.
inline constexpr uint64_t kMaxWork = 1U << 20;

/// What the runner says to them.
inline constexpr const char* kTooLong = "too long for the fuzzer";

inline uint64_t work_of(const npusim::TaskDesc& task) {
    uint64_t work = 0;
    if (task.conv_enabled) {
        const npusim::ConvDesc& c = task.conv;
        const uint64_t window = uint64_t{c.kernel_width} * c.kernel_height;
        work += uint64_t{c.out_width} * c.out_height * c.out_channels * window *
                (c.depthwise ? 1 : c.channels);
        work += uint64_t{c.width} * c.height * c.channels + c.channels * window * c.kernels;
    }
    if (task.dpu_enabled)
        work += uint64_t{task.dpu.width} * task.dpu.height * task.dpu.channels;
    if (task.ppu_enabled) {
        const npusim::PpuDesc& p = task.ppu;
        work += uint64_t{p.out_width} * p.out_height * p.in_channels * p.kernel_width *
                    p.kernel_height +
                uint64_t{p.in_width} * p.in_height;
    }
    return work;
}

/// The engine, but for tasks that would take long.
class BoundedRunner final : public npusim::TaskRunner {
 public:
    BoundedRunner(const npusim::SocConfig& soc, bool reference, uint64_t most = kMaxWork)
        : map_(*soc.map), most_(most) {
        npusim::NpuOptions options;
        options.reference_path = reference;
        engine_ = npusim::make_engine_runner(soc, options);
    }
    std::optional<npusim::ExecError> run(const npusim::TaskRegs& regs, uint32_t mask,
                                         npusim::DmaPort& dma) override {
        // Lint must survive whatever the engine does.
        (void)npusim::lint_task(regs, mask, map_);
        npusim::TaskDesc task;
        if (!npusim::decode_task(map_, regs, mask, task) && work_of(task) > most_)
            return npusim::ExecError{npusim::ExecError::Kind::kRefused, kTooLong};
        return engine_->run(regs, mask, dma);
    }
    void write_lut(uint32_t offset, uint32_t value) override { engine_->write_lut(offset, value); }
    uint32_t read_lut() override { return engine_->read_lut(); }
    void reset() override { engine_->reset(); }
    const npusim::TaskWork& last_work() const override { return engine_->last_work(); }

 private:
    npusim::RegisterMap map_;
    uint64_t most_;
    std::unique_ptr<npusim::TaskRunner> engine_;
};

}  // namespace npusim_fuzz
