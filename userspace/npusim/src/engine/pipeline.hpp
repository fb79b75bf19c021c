// SPDX-License-Identifier: MIT
// Drives one task: MAC array or memory -> DPU -> memory and/or PPU.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "conv.hpp"
#include "desc.hpp"
#include "dpu.hpp"
#include "lut.hpp"
#include "npusim/engine.hpp"
#include "ppu.hpp"
#include "transfer.hpp"
#include "worker_pool.hpp"

namespace npusim {

class Pipeline {
 public:
    Pipeline(bool reference_path, unsigned threads);

    /// Executes a checked task; settings the task keeps in memory are filled in on the way.
    [[nodiscard]] std::optional<ExecError> run(TaskDesc& task, DmaPort& dma);

    LutTables& lut() { return lut_; }

 private:
    struct Chunk;

    [[nodiscard]] ConvUnit* choose_conv(const ConvDesc& conv);
    [[nodiscard]] bool load_bs_config(DpuDesc& dpu);
    [[nodiscard]] bool run_dpu(TaskDesc& task, ConvUnit* conv);
    template <typename T>
    [[nodiscard]] bool run_domain(const TaskDesc& task, ConvUnit* conv, std::vector<T>& values,
                                  std::vector<T>& operand);
    /// The same on several threads; only for tasks that read nothing while they compute.
    template <typename T>
    [[nodiscard]] bool run_shared(const TaskDesc& task, ConvUnit& conv, std::vector<T>& values,
                                  std::vector<T>& operand);
    [[nodiscard]] bool worth_sharing(const TaskDesc& task) const;
    template <typename T>
    [[nodiscard]] bool run_chunk(const TaskDesc& task, const Chunk& chunk, T* values, T* operand);
    /// Arithmetic of the DPU on one chunk; touches neither memory nor members that change.
    template <typename T>
    void calculate(const DpuDesc& dpu, const Chunk& chunk, T* values, const T* operand) const;
    void fill_ow(const DpuDesc& dpu, uint32_t channel, std::span<int32_t> ow) const;

    template <typename T>
    [[nodiscard]] bool read_main(const DpuDesc& dpu, const Chunk& chunk, T* values);
    template <typename T>
    [[nodiscard]] bool read_operand(const DpuDesc& dpu, const Chunk& chunk, T* operand);
    template <typename T>
    [[nodiscard]] bool read_atoms(const DpuDesc& dpu, const Chunk& chunk, const CubeDesc& cube,
                                  int64_t surface, Precision precision, uint32_t lane, T* to);

    template <typename T>
    [[nodiscard]] bool emit(const TaskDesc& task, const Chunk& chunk, const T* values);
    /// Hands one packed surface part to the PPU and the write DMA.
    [[nodiscard]] bool deliver(const DpuDesc& dpu, uint32_t surface, const Chunk& chunk,
                               std::span<const std::byte> atoms);
    [[nodiscard]] bool write_surface(const DpuDesc& dpu, uint32_t surface, const Chunk& chunk,
                                     std::span<const std::byte> atoms);
    [[nodiscard]] bool write_transposed(const DpuDesc& dpu, uint32_t surface, const Chunk& chunk,
                                        std::span<const std::byte> atoms);
    [[nodiscard]] bool write_run(const DpuDesc& dpu, int64_t base, uint64_t index,
                                 std::span<const std::byte> atoms);

    bool reference_path_;
    std::unique_ptr<WorkerPool> pool_;  ///< none: one thread
    std::unique_ptr<ConvUnit> reference_, int8_, depthwise_, float_;
    PpuUnit ppu_;
    LutTables lut_;
    Transfer transfer_;
    ChannelOperands bs_, bn_;
    std::vector<int32_t> int_values_, int_operand_;
    std::vector<float> float_values_, float_operand_;
    std::vector<int32_t> ow_;
    std::vector<std::byte> atoms_, shared_atoms_, turned_, ppu_input_;
};

}  // namespace npusim
