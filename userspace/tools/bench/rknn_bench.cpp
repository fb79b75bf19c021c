// SPDX-License-Identifier: MIT
// rknn-bench: how long an inference takes.
#include <fmt/format.h>
#include <rknn_api.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "bench.hpp"
#include "model.hpp"

namespace {

using namespace rknpu::tools;  // NOLINT: a program of its own

constexpr int kFailed = 1, kUsage = 2;

struct Options {
    BenchOptions bench;
    std::string api = "both";
    std::string device;
    bool sram = false;
    bool json = false;
};

int parse(int argc, char** argv, Options& options) {
    CLI::App app{"Measure how long a .rknn model takes."};
    auto& bench = options.bench;
    app.add_option("MODEL", bench.model, "model file")->required();
    app.add_option("INPUT", bench.inputs,
                   "pictures, .npy arrays or raw bytes for the model's inputs (general interface); "
                   "noise without them");
    app.add_option("--api", options.api, "general, zero-copy or both")
        ->check(CLI::IsMember({"general", "zero-copy", "both"}));
    app.add_option("--device", options.device, "drm (/dev/dri) or sim (NPU model in the process)")
        ->check(CLI::IsMember({"drm", "sim"}));
    app.add_option("--warmup", bench.warmup, "runs of each thread before measuring")
        ->capture_default_str();
    app.add_option("--loops", bench.loops, "runs of each thread to measure")
        ->check(CLI::Range(1u, 100000000u))
        ->capture_default_str();
    app.add_option("--seconds", bench.seconds, "go on for at least SECONDS");
    app.add_option("--threads", bench.threads, "threads, each with a context of its own")
        ->check(CLI::Range(1u, 256u))
        ->capture_default_str();
    app.add_option("--cores", bench.cores,
                   "core mask, or one per thread with commas: 0 any, 1, 2, 4 one core, 3 two, "
                   "7 three, 65535 all")
        ->delimiter(',');
    app.add_flag("--sram", options.sram, "internal tensors in on-chip memory where it is free");
    app.add_flag("--json", options.json, "one JSON document instead of the table");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? -1 : kUsage;
    }
    bench.flags = options.sram ? RKNN_FLAG_ENABLE_SRAM : 0;
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    if (const int code = parse(argc, argv, options); code != 0)
        return code < 0 ? 0 : code;
    choose_device(options.device);
    std::vector<BenchResult> results;
    for (const auto interface : {Interface::kGeneral, Interface::kZeroCopy}) {
        if (options.api != "both" && options.api != interface_name(interface))
            continue;
        std::string error;
        const auto result = measure(options.bench, interface, error);
        if (!result) {
            if (!error.empty())
                fmt::print(stderr, "{}\n", error);
            return kFailed;
        }
        results.push_back(*result);
    }
    if (options.json)
        fmt::print("{}\n", to_json(options.bench, results).dump());
    else
        fmt::print("{}", to_text(results));
    return std::fflush(stdout) == 0 ? 0 : kFailed;
}
