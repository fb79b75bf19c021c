// SPDX-License-Identifier: MIT
// Turns task descriptions into chained register command streams. No file format in here: the
// compiler writes the result into a .rknn, the matmul API submits it directly.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npuregs/regcmd.hpp"
#include "npuregs/regs.hpp"
#include "rknpu_regcmd/task.hpp"

namespace rknpu::compiler {

/// Add the device address of `buffer` to the value of command `word`; it already holds `addend`.
struct Relocation {
    uint32_t word;
    uint32_t buffer;
    uint32_t addend;
};

/// What the kernel needs to start one task; fields as in struct rknpu_task of the uAPI.
struct TaskRecord {
    uint32_t op_index;
    uint32_t enable_mask;
    uint32_t int_mask;
    uint32_t amount;  ///< command words without the 4-word tail
    uint32_t offset;  ///< bytes from the start of the command buffer, multiple of 64
};

/// PC fetch amount of a stream with `body` words in front of its 4-word tail (unit: 2 words, less
/// 1).
[[nodiscard]] constexpr uint32_t fetch_amount(uint32_t body) {
    return (body + 5) / 2 - 1;
}

/// Every task carries the full register set of its blocks, so tasks run alone as well as chained.
class RegcmdBuilder {
 public:
    /// The next task starts a chain: no earlier task links to it. `cores` (1..3) is the number of
    /// cores that work on the same job.
    void begin_chain(uint32_t cores = 1);

    /// Appends one task and links the chain's previous one to it. Returns the reason when a size,
    /// pitch or count does not fit its register or the hardware; nothing is appended then.
    /// `op_index` is stored in the task record only.
    [[nodiscard]] std::optional<std::string> append(const ConvTask& task, uint32_t op_index);
    [[nodiscard]] std::optional<std::string> append(const ElementwiseTask& task, uint32_t op_index);
    [[nodiscard]] std::optional<std::string> append(const PoolTask& task, uint32_t op_index);

    /// PC.BASE_ADDRESS words hold byte offsets into this buffer; add its device address to the
    /// non-zero ones (link_words() lists them).
    [[nodiscard]] std::span<const uint64_t> words() const { return words_; }
    [[nodiscard]] std::span<const Relocation> relocations() const { return relocations_; }
    [[nodiscard]] std::span<const TaskRecord> tasks() const { return tasks_; }
    [[nodiscard]] std::span<const uint32_t> link_words() const { return links_; }

 private:
    struct FieldValue {
        npuregs::Field field;
        uint32_t value;
    };
    struct DpuShape;
    struct OperandReads;

    void write(uint16_t target, uint32_t offset, uint32_t value);
    void write(uint16_t target, uint32_t offset, std::initializer_list<FieldValue> fields);
    void write_address(uint16_t target, uint32_t offset, Address address);
    void fail(std::string text);
    [[nodiscard]] uint32_t field(uint32_t offset, npuregs::Field field, uint32_t value);

    [[nodiscard]] uint32_t conv_con1(const ConvTask& task) const;
    [[nodiscard]] uint32_t cbuf_con0(const ConvTask& task);
    void check(const ConvTask& task);
    void write_pointers(bool rdma);
    void write_cna_sizes(const ConvTask& task);
    void write_cna_input(const ConvTask& task);
    void write_cna_weights(const ConvTask& task);
    void write_core(const ConvTask& task);
    void write_dpu_output(const DpuShape& shape);
    void write_dpu_bias_scale(const DpuShape& shape, const OutputStage& stage);
    void write_dpu_elementwise(Precision precision, const OutputStage& stage);
    void write_dpu_convert(const DpuShape& shape, const OutputStage& stage);
    void write_dpu_rdma(const DpuShape& shape, const OutputStage& stage, const OperandReads& reads);
    void write_ppu(const PoolTask& task);
    void write_ppu_rdma(const PoolTask& task);

    [[nodiscard]] std::optional<std::string> finish(size_t start, uint32_t op_index,
                                                    uint32_t enable_mask, uint32_t int_mask);

    std::vector<uint64_t> words_;
    std::vector<Relocation> relocations_;
    std::vector<TaskRecord> tasks_;
    std::vector<uint32_t> links_;
    std::optional<uint32_t> tail_;  // first tail word of the chain's last task
    uint32_t cores_ = 1;
    std::string error_;  // first reason the task under construction is impossible
};

}  // namespace rknpu::compiler
