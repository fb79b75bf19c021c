// SPDX-License-Identifier: MIT
#pragma once

#include <rknn_matmul_api.h>

#include <memory>
#include <mutex>
#include <span>

#include "api/object.hpp"
#include "matmul/matmul.hpp"

namespace rknpu::api {

/// What a rknn_matmul_ctx stands for. Every function locks.
class MatmulContext final : public Object {
 public:
    /// `shapes` are the ones the caller may choose from; `attrs` has one entry for each.
    static Result<std::shared_ptr<MatmulContext>> create(const rknn_matmul_info& info,
                                                         std::span<const rknn_matmul_shape> shapes,
                                                         std::span<rknn_matmul_io_attr> attrs);

    const std::shared_ptr<Device>& device() const override { return matmul_->device(); }

    Status set_io_memory(const rknn_tensor_mem* memory, const rknn_matmul_tensor_attr* attr);
    Status set_core_mask(uint32_t mask);
    Status set_quant_params(const rknn_quant_params& params);
    Status get_quant_params(rknn_quant_params& params, float& scale);
    Status set_dynamic_shape(const rknn_matmul_shape& shape);
    Status run();

 private:
    explicit MatmulContext(std::unique_ptr<matmul::Matmul> matmul) : matmul_(std::move(matmul)) {}

    std::mutex mutex_;  // protects what matmul_ points to
    std::unique_ptr<matmul::Matmul> matmul_;
};

/// rknn_B_normal_layout_to_native_layout().
Status convert_b_to_native(const void* input, void* output, int k, int n,
                           const rknn_matmul_info* info);

}  // namespace rknpu::api
