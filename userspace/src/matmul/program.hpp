// SPDX-License-Identifier: MIT
// The NPU's part of a multiplication: one job that writes the sum of every segment of K.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "matmul/pack.hpp"

namespace rknpu::matmul {

/// Bytes of the sums: per segment [N / 4][M][4] of int32 (int8 work) or float32 (float16 work).
constexpr uint64_t sum_bytes(const Shape& shape, uint32_t k_segment) {
    return uint64_t{segments(shape.k, k_segment)} * shape.m * shape.n * 4;
}

/// Commands and tasks in device memory for one shape and number of cores.
class Program {
 public:
    /// `cores` share the columns of B; fewer are used when there are not enough columns.
    /// Errors: kInvalidArgument when the shape does not fit the hardware, kNoMemory.
    static Result<std::unique_ptr<Program>> create(std::shared_ptr<Device> device, Work work,
                                                   const Shape& shape, uint32_t k_segment,
                                                   uint32_t cores);

    /// Device addresses of A (work form), B (work form) and the sums.
    Status bind(Operand operand, uint64_t address);

    /// One blocking job on the cores of `mask` (0 = any one core).
    Result<JobReport> run(uint32_t mask);

    uint32_t cores() const { return cores_; }

 private:
    struct Relocation {
        uint32_t word;
        uint32_t addend;
    };

    Program() = default;

    std::shared_ptr<Device> device_;
    std::unique_ptr<DeviceMemory> regcmd_;
    std::unique_ptr<DeviceMemory> tasks_;
    std::array<std::vector<Relocation>, 3> relocations_;  // per operand
    std::array<TaskRange, 3> ranges_{};                   // per core
    uint32_t cores_ = 1;
    uint64_t dirty_first_ = 0;  // bytes of regcmd_ to sync before the next run
    uint64_t dirty_last_ = 0;
};

}  // namespace rknpu::matmul
