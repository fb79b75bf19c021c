// SPDX-License-Identifier: MIT
#include "golden.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "cpu/convert.hpp"
#include "cpu/onnx/onnx_model.hpp"
#include "npy.hpp"
#include "onnxruntime.hpp"

namespace rknpu::tools {
namespace {

int64_t count_of(const std::vector<int64_t>& dims) {
    return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

/// The graph's dims where it has them, else the model's: graphs leave the batch open.
std::vector<int64_t> dims_of(const cpu::OnnxValue& value, const GoldenInput& input) {
    const bool known =
        std::all_of(value.dims.begin(), value.dims.end(), [](int64_t dim) { return dim >= 0; });
    return known ? value.dims : input.dims;
}

/// For each input of the graph the one of the model that belongs to it; empty, with the reason, if
/// there is none.
std::vector<const GoldenInput*> match(const cpu::OnnxModel& model,
                                      const std::vector<GoldenInput>& inputs, std::string& error) {
    std::vector<const GoldenInput*> out;
    if (model.inputs.size() != inputs.size()) {
        error = fmt::format("the graph has {} inputs, the model {}", model.inputs.size(),
                            inputs.size());
        return out;
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
        const auto& wanted = model.inputs[i];
        const auto found =
            std::find_if(inputs.begin(), inputs.end(),
                         [&](const GoldenInput& input) { return input.name == wanted.name; });
        const auto& input = found == inputs.end() ? inputs[i] : *found;
        if (count_of(dims_of(wanted, input)) != static_cast<int64_t>(input.values.size())) {
            error =
                fmt::format("input '{}' of the graph is [{}], '{}' of the model [{}]", wanted.name,
                            fmt::join(wanted.dims, ","), input.name, fmt::join(input.dims, ","));
            return {};
        }
        out.push_back(&input);
    }
    return out;
}

std::optional<std::vector<float>> floats_of(const cpu::TensorView& view) {
    cpu::TensorInfo info = view;
    info.dtype = cpu::DType::kF32;
    info.quant.reset();
    cpu::Tensor tensor;
    if (!cpu::Tensor::create(info, tensor).ok() || !cpu::convert(view, tensor.mut_view()).ok())
        return std::nullopt;
    const auto converted = tensor.view();
    const auto values = converted.as<float>();
    return std::vector<float>(values.begin(), values.end());
}

cpu::Status give_input(const cpu::OnnxValue& value, const GoldenInput& input,
                       cpu::OnnxTensors& values) {
    const auto dims = cpu::Dims::from(std::span<const int64_t>(dims_of(value, input)));
    if (!dims)
        return {cpu::StatusCode::kInvalidShape, "too many dimensions"};
    cpu::Tensor real;
    RKNPU_CPU_TRY(cpu::Tensor::create({cpu::DType::kF32, *dims, {}},
                                      std::as_bytes(std::span(input.values)), real));
    cpu::Tensor typed;
    RKNPU_CPU_TRY(cpu::Tensor::create({value.dtype, *dims, {}}, typed));
    RKNPU_CPU_TRY(cpu::convert(real.view(), typed.mut_view()));
    values.insert_or_assign(value.name, std::move(typed));
    return {};
}

std::optional<Golden> run_own(const cpu::OnnxModel& model,
                              const std::vector<const GoldenInput*>& inputs, std::string& error) {
    cpu::OnnxTensors values;
    cpu::Status status;
    for (size_t i = 0; i < inputs.size() && status.ok(); ++i)
        status = give_input(model.inputs[i], *inputs[i], values);
    if (status.ok())
        status = cpu::run_onnx(model, {}, values);
    if (!status.ok()) {
        error = status.text();
        return std::nullopt;
    }
    Golden out;
    out.executor = "own";
    for (const auto& [name, tensor] : values) {
        if (auto floats = floats_of(tensor.view()))
            out.tensors.emplace(name, std::move(*floats));
    }
    return out;
}

}  // namespace

std::optional<Golden> run_golden(const std::string& path, const std::vector<GoldenInput>& inputs,
                                 const std::string& executor, std::string& error) {
    const auto fail = [&] {
        error = fmt::format("{}: {}", path, error);
        return std::nullopt;
    };
    const auto bytes = read_bytes(path);
    if (!bytes) {
        error = cannot(path, "read");
        return std::nullopt;
    }
    cpu::OnnxModel model;
    if (const auto status = cpu::parse_onnx_model(*bytes, model); !status.ok()) {
        error = status.text();
        return fail();
    }
    const auto matched = match(model, inputs, error);
    if (matched.empty())
        return fail();
    std::optional<Golden> out;
    if (executor == "onnxruntime" || (executor == "auto" && has_onnxruntime())) {
        std::vector<OnnxruntimeInput> given;
        for (size_t i = 0; i < matched.size(); ++i)
            given.push_back(
                {model.inputs[i].name, dims_of(model.inputs[i], *matched[i]), matched[i]->values});
        out = run_onnxruntime(*bytes, given, error);
    } else {
        out = run_own(model, matched, error);
    }
    if (!out)
        return fail();
    for (const auto& output : model.outputs)
        out->outputs.push_back(output.name);
    return out;
}

}  // namespace rknpu::tools
