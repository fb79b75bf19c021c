// SPDX-License-Identifier: MIT
#include "npusim/npu.hpp"

#include <chrono>
#include <utility>

#include "core.hpp"

namespace npusim {

struct Npu::Impl {
    SocConfig soc;
    NpuOptions options;
    SharedState shared;
    std::vector<std::unique_ptr<Core>> cores;
};

Npu::Npu(const SocConfig& soc, PhysicalMemory& memory, NpuOptions options)
    : impl_(std::make_unique<Impl>()) {
    impl_->soc = soc;
    impl_->options = std::move(options);
    for (unsigned i = 0; i < soc.cores && i < soc.mmu.size(); ++i) {
        auto runner = impl_->options.make_runner ? impl_->options.make_runner(i)
                                                 : make_engine_runner(impl_->soc, impl_->options);
        impl_->cores.push_back(std::make_unique<Core>(i, impl_->soc, memory, impl_->options,
                                                      impl_->shared, std::move(runner)));
    }
}

Npu::~Npu() = default;

const SocConfig& Npu::soc() const {
    return impl_->soc;
}

uint32_t Npu::read(unsigned core, uint32_t offset) {
    return core < impl_->cores.size() ? impl_->cores[core]->read(offset) : 0;
}

void Npu::write(unsigned core, uint32_t offset, uint32_t value) {
    if (core < impl_->cores.size())
        impl_->cores[core]->write(offset, value);
}

void Npu::set_irq_handler(std::function<void(unsigned core, bool level)> handler) {
    for (auto& core : impl_->cores)
        core->set_irq_handler(handler);
}

void Npu::set_job_handler(std::function<void(const JobResult&)> handler) {
    for (auto& core : impl_->cores)
        core->set_job_handler(handler);
}

bool Npu::irq_level(unsigned core) const {
    return core < impl_->cores.size() && impl_->cores[core]->irq_level();
}

void Npu::assert_reset(uint32_t core_mask, bool asserted) {
    for (size_t i = 0; i < impl_->cores.size(); ++i)
        if (core_mask >> i & 1U)
            impl_->cores[i]->set_reset(asserted);
}

void Npu::arm_fault(unsigned core, const FaultRule& rule, uint32_t jobs) {
    if (core < impl_->cores.size())
        impl_->cores[core]->arm_fault(rule, jobs);
}

void Npu::disarm_faults() {
    for (auto& core : impl_->cores)
        core->disarm_faults();
}

bool Npu::wait_idle(unsigned timeout_ms) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    for (auto& core : impl_->cores)
        if (!core->wait_idle(deadline))
            return false;
    return true;
}

void Npu::set_live_buffers(std::optional<std::vector<DmaRange>> buffers) {
    impl_->shared.set_live(buffers ? std::make_shared<const LiveBuffers>(*buffers) : nullptr);
}

uint64_t Npu::refused_count() const {
    return impl_->shared.refused;
}

uint64_t Npu::stray_count() const {
    return impl_->shared.stray;
}

CoreCounters Npu::counters(unsigned core) const {
    return core < impl_->cores.size() ? impl_->cores[core]->counters() : CoreCounters{};
}

std::vector<std::string> Npu::take_log() {
    return impl_->shared.take_log();
}

}  // namespace npusim
