// SPDX-License-Identifier: MIT
// Runs a compiled job on the NPU model's task engine, task by task, without a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "npusim/engine.hpp"
#include "reference.hpp"
#include "rknpu_compiler/lower.hpp"

namespace rknpu::compiler::testing {

class FlatMemory;

class JobRunner {
 public:
    /// The job must outlive the runner.
    explicit JobRunner(const Job& job, npusim::EngineOptions options = {});
    ~JobRunner();

    /// Executes the tasks of one stream (0 = one core; 1, 2 = two cores; 3..5 = three cores; the
    /// cores of one configuration take turns, node by node). Returns why it failed.
    std::optional<std::string> run(const std::vector<Map>& inputs, unsigned cores = 1);

    /// CHW values of a job tensor (an input, output or internal) after run().
    [[nodiscard]] Map read(size_t tensor) const;
    /// Memory bytes of a job tensor.
    [[nodiscard]] std::vector<int8_t> raw(size_t tensor) const;

 private:
    void write(size_t tensor, const Map& values);
    std::optional<std::string> run_task(size_t task);
    [[nodiscard]] uint32_t address(size_t tensor) const;

    const Job& job_;
    std::unique_ptr<FlatMemory> memory_;
    std::vector<uint32_t> constants_;  // device address per tensor, 0 = in the arena
    std::vector<uint64_t> words_;      // relocated
    npusim::TaskEngine engine_;
};

}  // namespace rknpu::compiler::testing
