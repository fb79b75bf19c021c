// SPDX-License-Identifier: MIT
#pragma once

#include <rknn_custom_op.h>

#include <memory>
#include <set>
#include <span>
#include <string>

#include "core/status.hpp"
#include "device/device.hpp"
#include "runtime/cpu_step.hpp"

namespace rknpu::api {

/// Operators the caller has registered on a context.
class CustomOps {
 public:
    CustomOps(std::shared_ptr<Device> device, const JobGraph& graph, CpuSteps& steps)
        : device_(std::move(device)), graph_(graph), steps_(steps) {}

    /// Those of the plugins whose type the model has.
    Status add_plugins();

    /// Calls each operator's init for the nodes of its type, which may leave a node to the library.
    /// All or none: after an error the context computes as before.
    Status add(std::span<const rknn_custom_op> ops);

    /// Memory of the operands.
    uint64_t dma_bytes() const { return dma_bytes_; }

 private:
    std::shared_ptr<Device> device_;
    const JobGraph& graph_;
    CpuSteps& steps_;
    std::set<std::string> types_;
    uint64_t dma_bytes_ = 0;
};

/// Attribute `name` of the node a callback is called for; n_elems 0 if there is none.
void get_custom_attribute(const rknn_custom_op_context* context, const char* name,
                          rknn_custom_op_attr* attr);

}  // namespace rknpu::api
