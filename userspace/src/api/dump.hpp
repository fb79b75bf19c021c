// SPDX-License-Identifier: MIT
// Tensor dumps of RKNN_LOG_LEVEL 5 and 6.
#pragma once

#include <string_view>

#include "runtime/runtime.hpp"

namespace rknpu::api {

/// True if tensors are to be dumped.
bool dumps_wanted();

/// Writes what `bytes` hold as FOLDER/NAME.npy, row major. FOLDER is RKNN_DUMP_DIR, by default
/// /userdata/dumps. RKNN_DUMP_QUANT=1 keeps the tensor's own type, otherwise it becomes float32. A
/// file that cannot be written is one warning per process.
void dump(std::string_view name, const ElementView& view, std::span<const std::byte> bytes,
          std::span<const int32_t> dims);

/// The tensors of the model's inputs, as the NPU gets them.
void dump_inputs(const Session& session);

/// The results of step `index` of the plan.
Status dump_step(Session& session, size_t index);

}  // namespace rknpu::api
