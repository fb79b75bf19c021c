// SPDX-License-Identifier: MIT
#include "model.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace rknpu::tools {

Model::~Model() {
    if (context_ != 0)
        rknn_destroy(context_);
}

std::unique_ptr<Model> Model::open(const std::string& path, uint32_t flags) {
    std::unique_ptr<Model> model(new Model);
    std::string name(path);
    if (rknn_init(&model->context_, name.data(), 0, flags, nullptr) != RKNN_SUCC)
        return nullptr;
    return model->query() ? std::move(model) : nullptr;
}

std::unique_ptr<Model> Model::duplicate() const {
    std::unique_ptr<Model> copy(new Model);
    auto source = context_;
    if (rknn_dup_context(&source, &copy->context_) != RKNN_SUCC)
        return nullptr;
    return copy->query() ? std::move(copy) : nullptr;
}

bool Model::query() {
    rknn_input_output_num count{};
    if (rknn_query(context_, RKNN_QUERY_IN_OUT_NUM, &count, sizeof(count)) != RKNN_SUCC)
        return false;
    inputs_.resize(count.n_input);
    outputs_.resize(count.n_output);
    for (const bool input : {true, false}) {
        auto& list = input ? inputs_ : outputs_;
        for (uint32_t i = 0; i < list.size(); ++i) {
            list[i].index = i;
            const auto command = input ? RKNN_QUERY_INPUT_ATTR : RKNN_QUERY_OUTPUT_ATTR;
            if (rknn_query(context_, command, &list[i], sizeof(list[i])) != RKNN_SUCC)
                return false;
        }
    }
    return true;
}

void choose_device(const std::string& device) {
    if (!device.empty())
        setenv("RKNPU_DEVICE", device.c_str(), 1);
}

std::string shape_text(const rknn_tensor_attr& attr) {
    return fmt::format("[{}]", fmt::join(attr.dims, attr.dims + attr.n_dims, ", "));
}

}  // namespace rknpu::tools
