// SPDX-License-Identifier: MIT
#include "decode.hpp"

namespace npusim {

std::optional<ExecError> decode_rk3576(const TaskRegs& regs, uint32_t enable_mask, TaskDesc& out) {
    out = TaskDesc{};
    (void)regs;
    Refusals refusals;
    refusals.refuse(npuregs::global::kOperationEnable, enable_mask,
                    "the RK3576 register map of this task is not known");
    return refusals.error();
}

}  // namespace npusim
