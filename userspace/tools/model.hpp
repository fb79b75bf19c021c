// SPDX-License-Identifier: MIT
#pragma once

#include <rknn_api.h>

#include <memory>
#include <string>
#include <vector>

namespace rknpu::tools {

/// A context of the C interface with its attributes, as every tool needs it.
class Model {
 public:
    ~Model();
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    /// Null on failure; the library has said why on stderr.
    static std::unique_ptr<Model> open(const std::string& path, uint32_t flags);

    /// A second context on the same model; null on failure.
    std::unique_ptr<Model> duplicate() const;

    rknn_context context() const { return context_; }
    const std::vector<rknn_tensor_attr>& inputs() const { return inputs_; }
    const std::vector<rknn_tensor_attr>& outputs() const { return outputs_; }

 private:
    Model() = default;
    bool query();

    rknn_context context_ = 0;
    std::vector<rknn_tensor_attr> inputs_;
    std::vector<rknn_tensor_attr> outputs_;
};

/// Sets RKNPU_DEVICE for this process if `device` is not empty.
void choose_device(const std::string& device);

/// "[1, 3, 224, 224]"
std::string shape_text(const rknn_tensor_attr& attr);

}  // namespace rknpu::tools
