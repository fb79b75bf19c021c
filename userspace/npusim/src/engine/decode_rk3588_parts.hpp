// SPDX-License-Identifier: MIT
#pragma once

#include "decode.hpp"

namespace npusim::rk3588 {

void decode_conv(const TaskRegs& regs, ConvDesc& conv, Refusals& no);
void decode_dpu(const TaskRegs& regs, DpuDesc& dpu, Refusals& no);
void decode_rdma(const TaskRegs& regs, bool enabled, DpuDesc& dpu, Refusals& no);
void decode_ppu(const TaskRegs& regs, bool rdma_enabled, PpuDesc& ppu, Refusals& no);

}  // namespace npusim::rk3588
