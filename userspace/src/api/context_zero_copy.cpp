// SPDX-License-Identifier: MIT
// The interface without copies: rknn_set_io_mem, and the conversions it still may need.
#include "api/attr.hpp"
#include "api/context.hpp"
#include "core/log.hpp"

namespace rknpu::api {
namespace {

bool is_native(const GraphTensor& tensor, const ElementView& view) {
    const auto native = view_of(tensor);
    return view.type == native.type && view.layout == native.layout;
}

}  // namespace

Context::Port* Context::find_port(const rknn_tensor_attr& attr, bool& is_input) {
    const std::string_view name(attr.name, strnlen(attr.name, sizeof(attr.name)));
    for (auto* ports : {&inputs_, &outputs_}) {
        is_input = ports == &inputs_;
        if (attr.index < ports->size() && tensor_of((*ports)[attr.index]).name == name)
            return &(*ports)[attr.index];
    }
    return nullptr;
}

Status Context::bind_converted(Port& port, std::shared_ptr<Memory> memory, Converter converter) {
    const auto& tensor = tensor_of(port);
    const auto bytes = memory->bytes();
    const bool input = tensor.kind == TensorKind::kInput;
    const auto& view = input ? converter.from() : converter.to();
    if (bytes.size() < view.bytes())
        return Status::failure(Error::kInvalidArgument,
                               "the memory for '{}' has {} bytes, {} are needed", tensor.name,
                               bytes.size(), view.bytes());
    // The NPU works on a buffer of the context. Whatever fails leaves the binding before.
    MemoryRequest request;
    request.size = tensor.size;
    auto own = device()->allocate(request);
    if (!own.ok())
        return own.status();
    if (auto s = session_->bind(port.tensor, {std::move(own).value(), 0}); !s.ok())
        return s;
    port.direct.reset();
    port.converted = Converted{std::move(memory), std::move(converter)};
    return {};
}

Status Context::bind_input(Port& port, std::shared_ptr<Memory> memory,
                           const rknn_tensor_attr& attr) {
    const auto& tensor = tensor_of(port);
    const auto type = from_public(attr.type);
    if (!type || attr.fmt >= RKNN_TENSOR_FORMAT_MAX)
        return Status::failure(Error::kInvalidArgument, "'{}' has the type {} and format {}",
                               tensor.name, static_cast<int>(attr.type),
                               static_cast<int>(attr.fmt));
    const auto native = view_of(tensor);
    auto view = user_view(tensor, *type, attr.fmt);
    // Memory that has room for it keeps to the row pitch of a packed image, as w_stride tells.
    const bool pitched = native.layout.order == Order::kNhwc && attr.fmt == RKNN_TENSOR_NHWC &&
                         memory->size >= bytes_of(*type, native.layout.storage());
    // Codes of the model's own type are past normalisation.
    const auto index = static_cast<size_t>(&port - inputs_.data());
    const bool real = tensor.type == DataType::kFloat16 || tensor.type == DataType::kFloat32;
    const auto map = *type != tensor.type || real ? map_of(index) : ChannelMap();
    const bool same = attr.pass_through != 0 || map.empty();
    const bool packed = pitched && same && *type == tensor.type;
    const bool unsigned_bytes = pitched && *type == DataType::kUint8 && attr.pass_through == 0;
    const bool on_npu = unsigned_bytes && !port.npu_words.empty() && memory->size >= tensor.size;
    if (view && (unsigned_bytes || (pitched && *type == tensor.type)))
        view->layout = native.layout;
    if (attr.pass_through != 0 || packed || on_npu || (view && same && is_native(tensor, *view))) {
        if (memory->size < native.bytes())
            return Status::failure(Error::kInvalidArgument,
                                   "the memory for input '{}' has {} bytes, {} are needed",
                                   tensor.name, memory->size, native.bytes());
        const Location place{memory->memory, memory->offset};
        if (auto status = session_->bind(port.tensor, place); !status.ok())
            return status;
        convert_on_npu(port, on_npu);
        port.converted.reset();
        port.direct = std::move(memory);
        return {};
    }
    if (!view)
        return Status::failure(Error::kInvalidArgument,
                               "input '{}' cannot be given as {} {}; its native form is {} {}",
                               tensor.name, get_type_string(attr.type), get_format_string(attr.fmt),
                               to_string(tensor.type), to_string(tensor.order));
    auto status = bind_converted(port, std::move(memory), Converter(*view, native, map));
    if (status.ok())
        convert_on_npu(port, false);
    return status;
}

Status Context::bind_output(Port& port, std::shared_ptr<Memory> memory,
                            const rknn_tensor_attr& attr) {
    const auto& tensor = tensor_of(port);
    const auto type = from_public(attr.type);
    const bool known = type && (*type == DataType::kFloat32 || *type == tensor.type);
    const auto view = known ? user_view(tensor, *type, attr.fmt) : std::nullopt;
    if (!view)
        return Status::failure(
            Error::kInvalidArgument,
            "output '{}' cannot be written as {} {}; float32 or {} in NCHW, NHWC "
            "or the native format can",
            tensor.name, get_type_string(attr.type), get_format_string(attr.fmt),
            to_string(tensor.type));
    // The hardware may write more channels than the tensor has.
    const bool direct = is_native(tensor, *view) && memory->size >= Session::bytes_to_bind(tensor);
    if (!direct)
        return bind_converted(port, std::move(memory), Converter(view_of(tensor), *view, {}));
    const Location place{memory->memory, memory->offset};
    if (auto status = session_->bind(port.tensor, place); !status.ok())
        return status;
    port.converted.reset();
    port.direct = std::move(memory);
    return {};
}

Status Context::set_io_memory(const rknn_tensor_mem* pointer, const rknn_tensor_attr* attr) {
    const std::lock_guard lock(mutex_);
    auto memory = find_memory(pointer);
    if (!memory.ok())
        return memory.status();
    if (attr == nullptr)
        return Status{Error::kInvalidArgument, "attr is NULL"};
    if (auto status = choose(Style::kZeroCopy); !status.ok())
        return status;
    if (auto status = finish_pending(); !status.ok())
        log(LogLevel::kError, "the run before failed: {}", status.text());
    bool is_input = false;
    Port* port = find_port(*attr, is_input);
    if (port == nullptr)
        return Status::failure(Error::kInvalidArgument,
                               "the model has no input or output {} called '{}'", attr->index,
                               std::string_view(attr->name, strnlen(attr->name, 256)));
    return is_input ? bind_input(*port, std::move(memory).value(), *attr)
                    : bind_output(*port, std::move(memory).value(), *attr);
}

void Context::convert_bound_inputs() {
    for (auto& port : inputs_) {
        if (!port.converted)
            continue;
        port.converted->converter.run(port.converted->memory->bytes(),
                                      session_->bytes(port.tensor));
        session_->mark_input_changed(port.tensor);
    }
}

Status Context::convert_bound_outputs() {
    for (auto& port : outputs_) {
        if (!port.converted)
            continue;
        const auto& memory = *port.converted->memory;
        auto& converter = port.converted->converter;
        converter.run(session_->bytes(port.tensor), memory.bytes());
        // Written by the CPU: a caller who now calls rknn_mem_sync(FROM_DEVICE) would drop it.
        if (auto status = device()->sync(*memory.memory, memory.offset, converter.to().bytes(),
                                         SyncDirection::kToDevice);
            !status.ok())
            return status;
    }
    return {};
}

}  // namespace rknpu::api
