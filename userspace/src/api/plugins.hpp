// SPDX-License-Identifier: MIT
#pragma once

#include <rknn_custom_op.h>

#include <vector>

namespace rknpu::api {

/// Custom operators of the plugins librkcst_*.so. RKNPU_OP_PLUGINS asks for them: 1 means the
/// folder /usr/lib/rknpu/op_plugins, anything else but 0 names a folder. Each folder is read once
/// per process; a plugin that cannot be loaded is a warning. Empty if none are asked for.
std::vector<rknn_custom_op> plugin_operators();

}  // namespace rknpu::api
