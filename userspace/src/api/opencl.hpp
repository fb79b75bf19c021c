// SPDX-License-Identifier: MIT
// OpenCL, as far as custom operators for the GPU need it. The library is looked for at run time.
#pragma once

#include <rknn_custom_op.h>

#include <memory>
#include <string>

#include "core/status.hpp"

namespace rknpu::api {

/// A kernel with the context and the queue it runs in.
class OpenClKernel {
 public:
    virtual ~OpenClKernel() = default;
    virtual rknn_gpu_op_context handles() const = 0;
};

/// Builds the operator's kernel: cl_kernel_source is a path when cl_source_size is 0, text
/// otherwise. Errors: kDeviceUnavailable without an OpenCL library or a GPU, kFail with the build
/// log.
Result<std::unique_ptr<OpenClKernel>> build_kernel(const rknn_custom_op& op);

}  // namespace rknpu::api
