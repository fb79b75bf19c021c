// SPDX-License-Identifier: MIT
// Registers -> TaskDesc. One decoder per register map.
#pragma once

#include <optional>
#include <string>

#include "desc.hpp"
#include "npusim/engine.hpp"

namespace npusim {

/// Collects the first refusal; later ones are dropped so that the text names the root cause.
class Refusals {
 public:
    /// `offset` and `value` name the register as the task wrote it.
    void refuse(uint32_t offset, uint32_t value, const std::string& reason);
    /// For register maps without a name table.
    void refuse_text(std::string text);
    void require(bool ok, uint32_t offset, uint32_t value, const char* reason) {
        if (!ok)
            refuse(offset, value, reason);
    }
    [[nodiscard]] bool any() const { return error_.has_value(); }
    [[nodiscard]] const std::optional<ExecError>& error() const { return error_; }

 private:
    std::optional<ExecError> error_;
};

/// Fills `out` from RK3588 registers; the refusal names register, value and reason.
[[nodiscard]] std::optional<ExecError> decode_rk3588(const TaskRegs& regs, uint32_t enable_mask,
                                                     TaskDesc& out);

/// The same for RK3576, as far as its register map is known.
[[nodiscard]] std::optional<ExecError> decode_rk3576(const TaskRegs& regs, uint32_t enable_mask,
                                                     TaskDesc& out);

/// Decoder of the given register map.
[[nodiscard]] std::optional<ExecError> decode_task(RegisterMap map, const TaskRegs& regs,
                                                   uint32_t enable_mask, TaskDesc& out);

/// Checks that hold for every register map: sizes agree between blocks and are bounded.
/// Registers are named by their RK3588 names.
void check_task(const TaskDesc& task, Refusals& refusals);

}  // namespace npusim
