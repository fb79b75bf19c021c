// SPDX-License-Identifier: MIT
// rknn-inspect: what a .rknn file holds, what a stopped job was doing, what the NPU model has run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "model/reader.hpp"
#include "report.hpp"

namespace {

using namespace rknpu;         // NOLINT: a program of its own
using namespace rknpu::tools;  // NOLINT

constexpr int kFailed = 1, kUsage = 2;

struct Options {
    std::vector<std::string> files;
    std::string model;
    std::vector<std::string> parts;
    bool json = false;
    bool disassembly = false;
    bool lint = false;
};

const std::map<std::string, Part> kParts = {
    {"tensors", Part::kTensors}, {"layers", Part::kLayers},   {"tasks", Part::kTasks},
    {"memory", Part::kMemory},   {"patches", Part::kPatches}, {"disasm", Part::kDisassembly},
    {"lint", Part::kLint}};

int parse(int argc, char** argv, Options& options) {
    CLI::App app{
        "Show what is in .rknn files: tensors, layers, tasks, memory plan, register commands.\n"
        "Dumps of the driver (/sys/class/devcoredump/*/data) and job traces of the NPU model\n"
        "(rknpu-sim --trace) are recognised by their contents."};
    app.add_option("FILE", options.files, "model, dump or trace")->required();
    app.add_option("--only", options.parts,
                   "these tables only: tensors, layers, tasks, memory, patches, disasm, lint")
        ->delimiter(',')
        ->check(CLI::IsMember(kParts));
    app.add_flag("--disasm", options.disassembly, "register commands of each task as well");
    app.add_flag("--lint", options.lint,
                 "what looks wrong in the tasks; the exit status is 1 if anything does");
    app.add_flag("--json", options.json, "one JSON document per file, one per line");
    app.add_option("--model", options.model, "for a dump: the model to find its layer in");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? -1 : kUsage;
    }
    return 0;
}

std::set<Part> wanted(const Options& options) {
    std::set<Part> parts;
    for (const auto& name : options.parts)
        parts.insert(kParts.at(name));
    if (options.parts.empty())
        parts = {Part::kTensors, Part::kLayers, Part::kTasks, Part::kMemory, Part::kPatches};
    if (options.disassembly)
        parts.insert(Part::kDisassembly);
    if (options.lint)
        parts.insert(Part::kLint);
    return parts;
}

/// Files of sysfs tell no size, so this reads to the end. Empty if it cannot be read.
std::string contents_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Anything else is taken for a model, so that the reader says what is wrong with it.
bool is_observed(std::string_view text) {
    return text.starts_with("core ") || text.starts_with("{");
}

std::optional<Json> inspect(const std::string& path, const JobGraph* model,
                            const Options& options) {
    const auto fail = [&](const std::string& why) -> std::optional<Json> {
        fmt::print(stderr, "{}: {}\n", path, why);
        return std::nullopt;
    };
    if (const auto text = contents_of(path); is_observed(text)) {
        auto report = text.front() == '{' ? trace_report(text) : dump_report(text, model);
        if (report.is_null())
            return fail(text.front() == '{' ? "neither a model nor a job trace"
                                            : "neither a model nor a dump of the driver");
        return report;
    }
    auto file = read_file(path);
    if (!file.ok())
        return fail(file.status().text());
    const auto container = open_container(*file.value());
    if (!container.ok())
        return fail(container.status().text());
    const auto graph = read_model(file.value(), {});
    if (!graph.ok())
        return fail(graph.status().text());
    return model_report(path, container.value(), graph.value(), wanted(options));
}

/// False if the model cannot be read.
bool load_model(const std::string& path, std::optional<JobGraph>& model) {
    auto file = read_file(path);
    auto graph = file.ok() ? read_model(file.value(), {}) : Result<JobGraph>(file.status());
    if (!graph.ok()) {
        fmt::print(stderr, "{}: {}\n", path, graph.status().text());
        return false;
    }
    model = std::move(graph).value();
    return true;
}

void print(const Json& report, bool json) {
    const auto text =
        json ? report.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n" : render(report);
    std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    if (const int code = parse(argc, argv, options); code != 0)
        return code < 0 ? 0 : code;
    std::optional<JobGraph> model;
    if (!options.model.empty() && !load_model(options.model, model))
        return kFailed;
    int code = 0;
    for (const auto& path : options.files) {
        const auto report = inspect(path, model ? &*model : nullptr, options);
        if (report)
            print(*report, options.json);
        if (!report || (report->contains("lint") && !(*report)["lint"].empty()))
            code = kFailed;
    }
    return std::fflush(stdout) == 0 ? code : kFailed;
}
