// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compare.hpp"

namespace rknpu::tools {
namespace {

constexpr size_t kWidest = 72;

std::string label_of(const CompareRow& row) {
    const auto label = row.type.empty() ? row.tensor : fmt::format("[{}] {}", row.type, row.tensor);
    // The end of a long name tells more than its start.
    return label.size() <= kWidest
               ? label
               : label.substr(0, 20) + "..." + label.substr(label.size() - (kWidest - 23));
}

std::string cell(const std::optional<Distance>& value) {
    return value ? fmt::format("{:7.5f} | {:<10.5g}", value->cos, value->euc)
                 : fmt::format("{:<20}", "\\");
}

nlohmann::json json_of(const std::optional<Distance>& value) {
    return value ? nlohmann::json{{"cos", value->cos}, {"euc", value->euc}} : nlohmann::json();
}

nlohmann::json json_of(const CompareRow& row, bool layer) {
    nlohmann::json out{{"tensor", row.tensor}, {"entire", json_of(row.entire)}};
    if (layer) {
        out["type"] = row.type;
        out["target"] = row.target;
        out["single"] = json_of(row.single);
    }
    if (!row.note.empty())
        out["note"] = row.note;
    return out;
}

}  // namespace

std::string to_text(const CompareReport& report) {
    size_t width = 10;
    for (const auto* list : {&report.layers, &report.outputs}) {
        for (const auto& row : *list)
            width = std::max(width, label_of(row).size());
    }
    auto out = fmt::format(
        "# runtime_error: distance of each layer's output to 'golden', the float graph ({}).\n"
        "# entire: the layer in the model; errors of the layers before it add up.\n"
        "# single: the layer alone, on the golden values of its inputs.\n"
        "{:<{}}  {:<6}  {:<20}  {:<20}\n"
        "{:<{}}  {:<6}  {:<20}  {:<20}\n",
        report.executor == "own" ? "CPU operators of this project" : report.executor, "layer_name",
        width, "", "entire", "single", "", width, "target", "cos     | euc", "cos     | euc");
    const auto line = std::string(width + 52, '-') + "\n";
    out += line;
    for (const auto& row : report.layers)
        out += fmt::format("{:<{}}  {:<6}  {}  {}{}\n", label_of(row), width, row.target,
                           cell(row.entire), cell(row.single),
                           row.note.empty() ? "" : "  # " + row.note);
    out += line;
    for (const auto& row : report.outputs)
        out += fmt::format("{:<{}}  {:<6}  {}{}\n", label_of(row), width, "output",
                           cell(row.entire), row.note.empty() ? "" : "  # " + row.note);
    return out;
}

std::string to_json(const CompareOptions& options, const CompareReport& report) {
    nlohmann::json out{{"model", options.model},
                       {"onnx", options.onnx},
                       {"executor", report.executor},
                       {"layers", nlohmann::json::array()},
                       {"outputs", nlohmann::json::array()}};
    for (const auto& row : report.layers)
        out["layers"].push_back(json_of(row, true));
    for (const auto& row : report.outputs)
        out["outputs"].push_back(json_of(row, false));
    // Names come from the file: they may be no UTF-8.
    return out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace rknpu::tools
