// SPDX-License-Identifier: MIT
// Register command words (what the PC unit fetches) and their textual form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npuregs/regs.hpp"

namespace npuregs {

/// Blocks in the order of their offset windows.
enum class Block : uint8_t {
    kPc,
    kCna,
    kCore,
    kDpu,
    kDpuRdma,
    kPpu,
    kPpuRdma,
    kDdma,
    kSdma,
    kGlobal,
    kUnknown,
};

/// Target halves of a command word (bits 63:48).
inline constexpr uint16_t kTargetPc = 0x0101;
inline constexpr uint16_t kTargetCna = 0x0201;
inline constexpr uint16_t kTargetCore = 0x0801;
inline constexpr uint16_t kTargetDpu = 0x1001;
inline constexpr uint16_t kTargetDpuRdma = 0x2001;
inline constexpr uint16_t kTargetPpu = 0x4001;
inline constexpr uint16_t kTargetPpuRdma = 0x8001;
inline constexpr uint16_t kTargetSync = 0x0041;    ///< marker that precedes the op-enable word
inline constexpr uint16_t kTargetEnable = 0x0081;  ///< op-enable broadcast, offset 0x0008

/// One decoded 64-bit command word: 63:48 target, 47:16 value, 15:0 register offset.
struct Command {
    uint16_t target;
    uint16_t offset;
    uint32_t value;

    [[nodiscard]] static constexpr Command decode(uint64_t word) {
        return {static_cast<uint16_t>(word >> 48), static_cast<uint16_t>(word),
                static_cast<uint32_t>(word >> 16)};
    }
    [[nodiscard]] constexpr uint64_t encode() const {
        return static_cast<uint64_t>(target) << 48 | static_cast<uint64_t>(value) << 16 | offset;
    }
};

struct FieldInfo {
    std::string_view name;
    Field bits;
};

struct RegisterInfo {
    Block block;
    uint32_t offset;
    std::string_view name;
    std::span<const FieldInfo> fields;
};

/// Block whose window holds the offset; kUnknown outside all windows.
[[nodiscard]] Block block_of(uint32_t offset);

/// Block a register-write target selects; kUnknown for markers, padding and undefined values.
[[nodiscard]] Block block_of_target(uint16_t target);

/// Target half for register writes to a block; 0 for blocks the PC unit does not write.
[[nodiscard]] uint16_t target_of(Block block);

[[nodiscard]] std::string_view block_name(Block block);

/// Register at this offset or nullptr. The table lives for the whole program.
[[nodiscard]] const RegisterInfo* find_register(uint32_t offset);

/// Register by "BLOCK.NAME" (for example "CNA.CONV_CON1") or nullptr.
[[nodiscard]] const RegisterInfo* find_register(std::string_view qualified_name);

/// All registers in ascending offset order.
[[nodiscard]] std::span<const RegisterInfo> all_registers();

/// "CNA.CONV_CON1"; "0x1abc" for an offset without a register.
[[nodiscard]] std::string register_name(uint32_t offset);

/// "CNA.CONV_CON1=0x20000120 {GROUP_LINE_OFF=1 PROC_PRECISION=2 IN_PRECISION=2}".
/// Fields that are zero are left out; a single field as wide as the register is not repeated.
[[nodiscard]] std::string describe_write(uint32_t offset, uint32_t value);

/// Blocks of an op-enable mask: "CNA|CORE|DPU"; "none" for 0.
[[nodiscard]] std::string describe_enable_mask(uint32_t mask);

/// Text of one command word, any target.
[[nodiscard]] std::string disassemble(uint64_t word);

/// One line per word: "  12  0201_0000000b_104c  CNA.CVT_CON0=0xb {...}".
[[nodiscard]] std::vector<std::string> disassemble(std::span<const uint64_t> words);

}  // namespace npuregs
