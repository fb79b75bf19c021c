// SPDX-License-Identifier: MIT
// What the DPU's registers need to know about a task, whatever feeds it.
#pragma once

#include "rknpu_regcmd/regcmd_builder.hpp"

namespace rknpu::compiler {

struct RegcmdBuilder::DpuShape {
    Precision input;  ///< of the MAC array or of the main tensor
    Precision output;
    Feature destination;
    uint32_t aligned_channels;  ///< computed, at least destination.channels
    uint32_t group_surfaces;    ///< surfaces written per group of channels
    bool depthwise;
    bool flying;  ///< main data comes from memory instead of the MAC array

    static DpuShape of(const ConvTask& task);
    static DpuShape of(const ElementwiseTask& task);
};

/// Where the main and the second read engine of DPU_RDMA start and how they move on.
struct RegcmdBuilder::OperandReads {
    Address main;
    uint32_t main_row_notch = 0;    ///< atoms
    uint32_t main_plane_notch = 0;  ///< bytes
    Address second;
    uint32_t second_row_notch = 0;    ///< atoms
    uint32_t second_plane_notch = 0;  ///< bytes
    uint32_t second_plane_pitch = 0;  ///< bytes
    bool combined = false;  ///< both engines alternate over the surfaces of the second tensor

    static OperandReads of(const ConvTask& task);
    static OperandReads of(const ElementwiseTask& task);
};

}  // namespace rknpu::compiler
