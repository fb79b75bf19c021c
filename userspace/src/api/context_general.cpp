// SPDX-License-Identifier: MIT
// The interface that copies and converts: rknn_inputs_set, rknn_outputs_get.
#include <algorithm>
#include <cstring>

#include "api/attr.hpp"
#include "api/context.hpp"
#include "core/log.hpp"

namespace rknpu::api {
namespace {

/// What rknn_input.type may be for a model input of that type.
bool convertible(DataType from, const GraphTensor& to) {
    if (from == to.type)
        return true;
    switch (to.type) {
        case DataType::kInt8:
        case DataType::kUint8:
            return from == DataType::kUint8 || from == DataType::kInt8 ||
                   from == DataType::kFloat32 || from == DataType::kFloat16;
        case DataType::kFloat16:
        case DataType::kFloat32:
        case DataType::kBfloat16:
            return from == DataType::kUint8 || from == DataType::kFloat32 ||
                   from == DataType::kFloat16 || from == DataType::kInt8;
        default:
            return false;
    }
}

}  // namespace

ChannelMap Context::map_of(size_t input) const {
    return channel_map(program_->graph, input);
}

Status Context::check_input(const rknn_input& input, uint32_t index) const {
    if (index >= inputs_.size())
        return Status::failure(Error::kInvalidInput, "input index {}, the model has {} inputs",
                               index, inputs_.size());
    const auto& tensor = tensor_of(inputs_[index]);
    if (input.buf == nullptr)
        return Status::failure(Error::kInvalidInput, "input {} ('{}') has no buffer", index,
                               tensor.name);
    uint64_t needs = view_of(tensor).bytes();
    if (input.pass_through == 0) {
        const auto type = from_public(input.type);
        if (!type || !convertible(*type, tensor))
            return Status::failure(
                Error::kInvalidInput,
                "input {} ('{}') is given as {}, which cannot become the model's "
                "{}",
                index, tensor.name, get_type_string(input.type), to_string(tensor.type));
        if (static_cast<uint32_t>(input.fmt) >= RKNN_TENSOR_FORMAT_MAX ||
            (input.fmt == RKNN_TENSOR_NC1HWC2 && tensor.dims.size() == 4))
            return Status::failure(Error::kInvalidInput,
                                   "input {} ('{}') has the format {}; NHWC or NCHW is needed",
                                   index, tensor.name, get_format_string(input.fmt));
        needs = bytes_of(*type, tensor.elements());
    }
    if (input.size < needs)
        return Status::failure(
            Error::kInvalidInput,
            "param input size({}) < model input size({}) of input {} ('{}'), type "
            "{}",
            input.size, needs, index, tensor.name,
            input.pass_through != 0 ? "of the model" : get_type_string(input.type));
    return {};
}

void Context::convert_on_npu(Port& port, bool on) {
    if (port.on_npu != on)
        session_->patch_commands(port.npu_words, on);
    port.on_npu = on;
}

Status Context::take_input(const rknn_input& input, uint32_t index) {
    auto& port = inputs_[index];
    const auto& tensor = tensor_of(port);
    const std::span source(static_cast<const std::byte*>(input.buf), input.size);
    const auto target = session_->bytes(port.tensor);
    auto native = view_of(tensor);
    convert_on_npu(port, input.pass_through == 0 && input.type == RKNN_TENSOR_UINT8 &&
                             !port.npu_words.empty());
    if (port.on_npu) {
        native.type = DataType::kUint8;
        native.quantised = false;
    }
    if (input.pass_through != 0) {
        std::memcpy(target.data(), source.data(), native.bytes());
    } else {
        auto& last = port.last;
        if (!last || last->type != input.type || last->format != input.fmt) {
            const auto type = *from_public(input.type);
            // Codes of the model's own type are past normalisation.
            const bool codes = type == tensor.type && tensor.type != DataType::kFloat32 &&
                               tensor.type != DataType::kFloat16;
            last.emplace(
                LastConversion{input.type, input.fmt,
                               Converter(*user_view(tensor, type, input.fmt), native,
                                         codes || port.on_npu ? ChannelMap() : map_of(index))});
        }
        last->converter.run(source, target);
    }
    session_->mark_input_changed(port.tensor);
    input_given_[index] = true;
    return {};
}

Status Context::set_inputs(std::span<const rknn_input> inputs) {
    const std::lock_guard lock(mutex_);
    if (auto status = choose(Style::kGeneral); !status.ok())
        return status;
    if (inputs.size() != inputs_.size())
        return Status::failure(Error::kInvalidInput, "{} inputs are given, the model has {}",
                               inputs.size(), inputs_.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (auto status = check_input(inputs[i], index_of(inputs, i)); !status.ok())
            return status;
    }
    settle();
    if (auto status = session_->bind_rest(); !status.ok())
        return status;
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (auto status = take_input(inputs[i], index_of(inputs, i)); !status.ok())
            return status;
    }
    return {};
}

ElementView Context::output_view(const GraphTensor& tensor, bool want_float) const {
    return *user_view(tensor, want_float ? DataType::kFloat32 : tensor.type, RKNN_TENSOR_NCHW);
}

Status Context::check_output(const rknn_output& output, uint32_t index) const {
    if (index >= outputs_.size())
        return Status::failure(Error::kInvalidOutput, "output index {}, the model has {} outputs",
                               index, outputs_.size());
    if (output.is_prealloc == 0)
        return {};
    const auto& tensor = tensor_of(outputs_[index]);
    const uint64_t needs = output_view(tensor, output.want_float != 0).bytes();
    if (output.buf == nullptr || output.size < needs)
        return Status::failure(Error::kInvalidOutput,
                               "output {} ('{}'): the buffer has {} bytes, {} are needed", index,
                               tensor.name, output.buf == nullptr ? 0 : output.size, needs);
    return {};
}

/// A buffer that the caller gives back with rknn_outputs_release(); returned ones are used again.
std::byte* Context::lend(size_t bytes) {
    for (auto& buffer : buffers_) {
        if (!buffer.lent && buffer.bytes.size() == bytes) {
            buffer.lent = true;
            return buffer.bytes.data();
        }
    }
    auto& buffer = buffers_.emplace_back();
    buffer.bytes.resize(bytes);
    buffer.lent = true;
    return buffer.bytes.data();
}

Status Context::give_output(rknn_output& output, uint32_t index) {
    auto& port = outputs_[index];
    const auto& tensor = tensor_of(port);
    const auto type = output.want_float != 0 ? RKNN_TENSOR_FLOAT32 : to_public(tensor.type);
    if (!port.last || port.last->type != type)
        port.last.emplace(LastConversion{
            type, RKNN_TENSOR_NCHW,
            Converter(view_of(tensor), output_view(tensor, output.want_float != 0), {})});
    const auto& view = port.last->converter.to();
    if (output.is_prealloc == 0)
        output.buf = lend(view.bytes());
    output.size = static_cast<uint32_t>(view.bytes());
    const std::span<const std::byte> source =
        previous_frame_ != 0 ? port.previous : session_->bytes(port.tensor);
    port.last->converter.run(source, std::span(static_cast<std::byte*>(output.buf), view.bytes()));
    return {};
}

Status Context::get_outputs(std::span<rknn_output> outputs, uint64_t* frame) {
    const std::lock_guard lock(mutex_);
    if (auto status = choose(Style::kGeneral); !status.ok())
        return status;
    if (previous_frame_ == 0) {
        if (auto status = finish_pending(); !status.ok())
            return status;
        if (!has_run_)
            return Status{Error::kInvalidOutput, "there are no outputs before rknn_run"};
    }
    if (outputs.size() > outputs_.size())
        return Status::failure(Error::kInvalidOutput, "{} outputs are wanted, the model has {}",
                               outputs.size(), outputs_.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (auto status = check_output(outputs[i], index_of(outputs, i)); !status.ok())
            return status;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (auto status = give_output(outputs[i], index_of(outputs, i)); !status.ok())
            return status;
    }
    if (frame != nullptr)
        *frame = previous_frame_ != 0 ? previous_frame_ : frame_;
    return {};
}

Status Context::release_outputs(std::span<rknn_output> outputs) {
    const std::lock_guard lock(mutex_);
    if (outputs.size() > outputs_.size())
        return Status::failure(Error::kInvalidOutput, "{} outputs are given back, the model has {}",
                               outputs.size(), outputs_.size());
    for (auto& output : outputs) {
        if (output.is_prealloc != 0)
            continue;
        for (auto& buffer : buffers_) {
            if (buffer.lent && buffer.bytes.data() == output.buf) {
                buffer.lent = false;
                output.buf = nullptr;
            }
        }
    }
    return {};
}

}  // namespace rknpu::api
