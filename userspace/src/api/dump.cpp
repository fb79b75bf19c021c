// SPDX-License-Identifier: MIT
#include "api/dump.hpp"

#include <fmt/ranges.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "core/log.hpp"

namespace rknpu::api {
namespace {

const char* code_of(DataType type) {
    switch (type) {
        case DataType::kFloat32:
            return "<f4";
        case DataType::kFloat16:
            return "<f2";
        case DataType::kInt8:
            return "|i1";
        case DataType::kInt16:
            return "<i2";
        case DataType::kUint16:
        case DataType::kBfloat16:
            return "<u2";
        case DataType::kInt32:
            return "<i4";
        case DataType::kUint32:
            return "<u4";
        case DataType::kInt64:
            return "<i8";
        case DataType::kBool:
            return "|b1";
        default:
            return "|u1";
    }
}

/// Version 1.0 of the .npy format: magic, length, a Python dictionary padded to 64 bytes.
std::string header(DataType type, std::span<const int32_t> dims) {
    std::string text =
        fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", code_of(type),
                    fmt::join(dims, ", "), dims.size() == 1 ? "," : "");
    constexpr size_t kPrefix = 10;
    text.resize((kPrefix + text.size() + 1 + 63) / 64 * 64 - kPrefix - 1, ' ');
    text += '\n';
    std::string out("\x93NUMPY\x01\x00", 8);
    out += static_cast<char>(text.size() & 0xff);
    out += static_cast<char>(text.size() >> 8);
    return out + text;
}

/// Names of tensors and nodes hold anything.
std::string file_name(std::string_view name) {
    std::string out(name);
    for (char& c : out) {
        const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                           (c >= 'a' && c <= 'z') || c == '-' || c == '_' || c == '.';
        if (!plain)
            c = '_';
    }
    return out.substr(0, 200);
}

std::string folder() {
    const char* text = std::getenv("RKNN_DUMP_DIR");
    return text == nullptr || *text == '\0' ? "/userdata/dumps" : text;
}

bool keeps_type() {
    const char* text = std::getenv("RKNN_DUMP_QUANT");
    return text != nullptr && std::strcmp(text, "1") == 0;
}

void write(const std::string& path, const std::string& head, std::span<const std::byte> data) {
    static std::atomic<bool> complained{false};
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"),
                                                               std::fclose);
    const bool written = file != nullptr &&
                         std::fwrite(head.data(), 1, head.size(), file.get()) == head.size() &&
                         std::fwrite(data.data(), 1, data.size(), file.get()) == data.size();
    if (!written && !complained.exchange(true))
        log(LogLevel::kWarning, "cannot write {}: {}; RKNN_DUMP_DIR names another folder", path,
            std::strerror(errno));
}

const GraphTensor& tensor_of(const Session& session, int32_t index) {
    return session.program().graph.tensors[static_cast<size_t>(index)];
}

void dump_tensor(const Session& session, const std::string& name, int32_t index) {
    const auto& tensor = tensor_of(session, index);
    const auto bytes = session.bytes(index);
    const auto view = view_of(tensor);
    if (bytes.size() >= view.bytes())
        dump(name, view, bytes, tensor.dims);
}

}  // namespace

bool dumps_wanted() {
    return log_enabled(LogLevel::kDump);
}

void dump(std::string_view name, const ElementView& view, std::span<const std::byte> bytes,
          std::span<const int32_t> dims) {
    const auto& layout = view.layout;
    ElementView to = view;
    to.layout = ImageLayout::plain(layout.n, layout.c, layout.h, layout.w);
    if (!keeps_type() && view.type != DataType::kInt64) {
        to.type = DataType::kFloat32;
        to.quantised = false;
    }
    std::vector<std::byte> data(to.bytes());
    convert(view, bytes, to, data, {});
    const auto directory = folder();
    mkdir(directory.c_str(), 0777);
    write(directory + "/" + file_name(name) + ".npy", header(to.type, dims), data);
}

void dump_inputs(const Session& session) {
    const auto& inputs = session.program().graph.inputs;
    for (size_t i = 0; i < inputs.size(); ++i)
        dump_tensor(session,
                    fmt::format("InputOperator_{}_{}", tensor_of(session, inputs[i]).name, i),
                    inputs[i]);
}

Status dump_step(Session& session, size_t index) {
    const auto& graph = session.program().graph;
    const auto& step = session.plan()[index];
    const auto& node = graph.nodes[step.last_node];
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        const int32_t tensor = node.outputs[i];
        if (!session.bound(tensor))
            continue;
        if (step.on_npu) {
            if (auto s = session.sync_tensor(tensor, SyncDirection::kFromDevice); !s.ok())
                return s;
        }
        const bool output = tensor_of(session, tensor).kind == TensorKind::kOutput;
        dump_tensor(session, fmt::format("{:03}_{}_{}_{}", step.last_node, node.type, node.name, i),
                    tensor);
        if (output)
            dump_tensor(session, fmt::format("OutputOperator_{}", tensor_of(session, tensor).name),
                        tensor);
    }
    return {};
}

}  // namespace rknpu::api
