// SPDX-License-Identifier: MIT
// Arithmetic of one NPU core: executes the task described by the selected register groups.
// Memory is touched only through DmaPort. Rules and their evidence: Documentation/hardware.rst.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "npusim/memory.hpp"

namespace npusim {

class DmaPort;

/// Register contents of one group of one block. Offsets are full offsets in the core window
/// (0x1070 is CNA.FEATURE_DATA_ADDR); only the low 9 bits select the word.
struct BlockRegs {
    static constexpr size_t kWords = 128;
    std::array<uint32_t, kWords> r{};

    [[nodiscard]] uint32_t operator[](uint32_t offset) const { return r[(offset >> 2) % kWords]; }
    void set(uint32_t offset, uint32_t value) { r[(offset >> 2) % kWords] = value; }
};

/// The six groups a task executes from. The references must stay valid during run().
struct TaskRegs {
    const BlockRegs& cna;
    const BlockRegs& core;
    const BlockRegs& dpu;
    const BlockRegs& dpu_rdma;
    const BlockRegs& ppu;
    const BlockRegs& ppu_rdma;
};

/// Bits of the op-enable mask (GLOBAL.OPERATION_ENABLE, also rknpu_task.enable_mask).
enum EnableBits : uint32_t {
    kEnableCna = 1U << 0,
    kEnableCore = 1U << 2,
    kEnableDpu = 1U << 3,
    kEnableDpuRdma = 1U << 4,
    kEnablePpu = 1U << 5,
    kEnablePpuRdma = 1U << 6,
};

/// Why a task did not complete.
struct ExecError {
    enum class Kind {
        kRefused,  ///< the model does not know this setting; text names register, value, reason
        kDma,      ///< a read or write failed; DmaPort::fault() holds the address
    };
    Kind kind;
    std::string text;
};

/// Register layout in front of the arithmetic.
enum class RegisterMap : uint8_t { kRk3588, kRk3576 };

struct EngineOptions {
    bool reference_path = false;  ///< plain loops (the oracle) instead of the blocked kernels
    /// Threads one task may use, the calling one included. Convolutions of four million products
    /// and more are shared unless they read a tensor beside; the bytes left in memory and the
    /// order of the accesses do not depend on it.
    unsigned threads = 1;
    RegisterMap map = RegisterMap::kRk3588;
};

/// Work done by the last successful run(), input of the time model.
struct TaskWork {
    uint64_t macs = 0;          ///< multiply-accumulates including padded lanes
    uint64_t mac_elements = 0;  ///< output elements of the MAC array
    uint64_t dpu_elements = 0;  ///< elements that passed the DPU
    uint64_t ppu_elements = 0;  ///< elements read by the pooling window
    uint32_t element_bits = 8;  ///< width of a MAC operand
    bool depthwise = false;
};

/// One per core, not thread safe. Keeps both LUT tables (they survive tasks, as on the chip) and
/// its scratch memory; a task that fits the scratch of an earlier one allocates nothing.
class TaskEngine {
 public:
    explicit TaskEngine(EngineOptions options);
    ~TaskEngine();
    TaskEngine(TaskEngine&&) noexcept;
    TaskEngine& operator=(TaskEngine&&) noexcept;
    TaskEngine(const TaskEngine&) = delete;
    TaskEngine& operator=(const TaskEngine&) = delete;

    /// Executes one task. `enable_mask` holds EnableBits. Nothing is written to memory when a
    /// setting is refused; after a kDma error part of the output may have been written.
    [[nodiscard]] std::optional<ExecError> run(const TaskRegs& regs, uint32_t enable_mask,
                                               DmaPort& dma);

    /// Every write to DPU.LUT_ACCESS_CFG (0x4100) and DPU.LUT_ACCESS_DATA (0x4104), in order, from
    /// the PC unit or the CPU: these two are not shadowed, they load the tables at once.
    void write_lut(uint32_t offset, uint32_t value);

    /// Value a read of DPU.LUT_ACCESS_DATA returns; advances the table address like the chip.
    [[nodiscard]] uint32_t read_lut();

    /// Core reset: clears tables and the LUT address.
    void reset();

    [[nodiscard]] const TaskWork& last_work() const;

 private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Things a job's author should know although the model computes the task: CBUF budget, entries,
/// alignment, size limits, registers that look forgotten. One readable line per finding.
[[nodiscard]] std::vector<std::string> lint_task(const TaskRegs& regs, uint32_t enable_mask,
                                                 RegisterMap map = RegisterMap::kRk3588);

/// Bytes [begin, end) that a task may touch; both may lie outside the 32-bit address space.
struct TaskReach {
    int64_t begin = 0;
    int64_t end = 0;
    Access access = Access::kRead;
};

/// Everything run() would read and write for these registers, as ranges that may be somewhat larger
/// than what is touched (steps between rows belong to them) but never smaller. The refusal is the
/// one run() would give; `out` is then empty.
[[nodiscard]] std::optional<ExecError> task_reach(const TaskRegs& regs, uint32_t enable_mask,
                                                  RegisterMap map, std::vector<TaskReach>& out);

}  // namespace npusim
