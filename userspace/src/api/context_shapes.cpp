// SPDX-License-Identifier: MIT
// Models with several sets of input shapes: rknn_set_input_shapes, RKNN_QUERY_INPUT_DYNAMIC_RANGE.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "api/attr.hpp"
#include "api/context.hpp"
#include "api/custom_ops.hpp"
#include "core/log.hpp"

namespace rknpu::api {
namespace {

rknn_tensor_attr input_attr(const Program& program, size_t index) {
    const auto tensor = static_cast<size_t>(program.graph.inputs[index]);
    rknn_tensor_attr attr;
    fill_attr(program.graph.tensors[tensor], static_cast<uint32_t>(index), TensorView::kModelInput,
              attr);
    return attr;
}

std::string dims_text(const rknn_tensor_attr& attr) {
    const uint32_t rank = std::min<uint32_t>(attr.n_dims, RKNN_MAX_DIMS);
    return fmt::format("[{}]", fmt::join(attr.dims, attr.dims + rank, ","));
}

}  // namespace

/// The input that each item is for. Errors: kInvalidArgument unless there is one for each input.
Result<std::vector<size_t>> Context::inputs_of(std::span<const rknn_tensor_attr> given) const {
    std::vector<size_t> out;
    std::vector<bool> seen(inputs_.size(), false);
    for (size_t i = 0; i < given.size(); ++i) {
        const size_t index = index_of(given, i);
        if (index >= seen.size() || seen[index])
            return Status::failure(Error::kInvalidArgument,
                                   "shape {} is for input {}: the model has {} inputs, and each "
                                   "needs one shape",
                                   i, index, seen.size());
        seen[index] = true;
        out.push_back(index);
    }
    return out;
}

std::optional<size_t> Context::find_shape(std::span<const rknn_tensor_attr> given,
                                          std::span<const size_t> inputs) const {
    for (size_t s = 0; s < shapes_.size(); ++s) {
        bool same = true;
        for (size_t i = 0; i < given.size(); ++i) {
            const auto own = input_attr(*shapes_[s].program, inputs[i]);
            same = same && given[i].fmt == own.fmt && given[i].n_dims == own.n_dims &&
                   std::equal(own.dims, own.dims + own.n_dims, given[i].dims);
        }
        if (same)
            return s;
    }
    return std::nullopt;
}

/// "[1,8,8,3] [1,4]; [1,16,16,3] [1,8]" with the format: what the inputs can be together.
std::string Context::shapes_text() const {
    constexpr size_t kNamed = 16;
    std::string out;
    for (size_t s = 0; s < shapes_.size() && s < kNamed; ++s) {
        out += s == 0 ? "" : "; ";
        for (size_t i = 0; i < inputs_.size(); ++i)
            out += (i == 0 ? "" : " ") + dims_text(input_attr(*shapes_[s].program, i));
    }
    return shapes_.size() > kNamed ? fmt::format("{}; ... ({} in all)", out, shapes_.size()) : out;
}

Status Context::choose_shape(size_t index) {
    auto& shape = shapes_[index];
    if (shape.session == nullptr) {
        // Weights and internal tensors are those that are there: one shape runs at a time.
        auto options = options_of(flags_);
        options.weights_outside = options.internal_outside = true;
        Shape made{shape.program, nullptr, nullptr};
        if (auto status = open_shape(made, options, session_->weights()); !status.ok())
            return status;
        shape = std::move(made);
    }
    if (auto status = shape.session->share_memory(*session_); !status.ok())
        return status;
    shape.session->set_cores(session_->cores());
    shape.session->set_batch_cores(session_->batch_cores());
    // Buffers are bound to each shape anew; those of the one before need not stay.
    session_->unbind();
    session_ = shape.session;
    program_ = shape.program;
    shape_ = index;
    has_run_ = false;
    open_ports();
    return {};
}

Status Context::set_input_shapes(std::span<const rknn_tensor_attr> given) {
    const std::lock_guard lock(mutex_);
    if (session_ == nullptr)
        return choose(style_);
    if (given.size() != inputs_.size())
        return Status::failure(Error::kInvalidArgument,
                               "{} shapes are given, the model has {} inputs", given.size(),
                               inputs_.size());
    const auto inputs = inputs_of(given);
    if (!inputs.ok())
        return inputs.status();
    const auto found = find_shape(given, inputs.value());
    if (!found) {
        std::string text;
        for (const auto& attr : given)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", dims_text(attr),
                                get_format_string(attr.fmt));
        return Status::failure(Error::kFail, "the model has no shape {}; it has, in {}: {}", text,
                               get_format_string(input_attr(*program_, 0).fmt), shapes_text());
    }
    if (*found != shape_) {
        if (auto status = finish_pending(); !status.ok())
            log(LogLevel::kError, "the run before failed: {}", status.text());
        if (auto status = choose_shape(*found); !status.ok())
            return status;
    }
    shapes_chosen_ = true;
    return {};
}

Status Context::query_range(rknn_input_range& info) const {
    if (info.index >= inputs_.size())
        return Status::failure(Error::kInvalidArgument, "index {}, the model has {} inputs",
                               info.index, inputs_.size());
    const auto attr = input_attr(*program_, info.index);
    info.shape_number = static_cast<uint32_t>(shapes_.size());
    info.fmt = attr.fmt;
    info.n_dims = attr.n_dims;
    std::memcpy(info.name, attr.name, sizeof(info.name));
    std::memset(info.dyn_range, 0, sizeof(info.dyn_range));
    for (size_t s = 0; s < shapes_.size(); ++s) {
        const auto shape = input_attr(*shapes_[s].program, info.index);
        std::copy_n(shape.dims, shape.n_dims, info.dyn_range[s]);
    }
    return {};
}

}  // namespace rknpu::api
