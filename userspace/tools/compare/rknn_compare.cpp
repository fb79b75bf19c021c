// SPDX-License-Identifier: MIT
// rknn-compare: how far a .rknn model is from the float graph it was made of.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "compare.hpp"

namespace {

using namespace rknpu::tools;  // NOLINT: a program of its own

constexpr int kFailed = 1, kUsage = 2, kTooFar = 3;

struct Options {
    CompareOptions compare;
    std::string device;
    double least = -2;
    bool json = false;
};

int parse(int argc, char** argv, Options& options) {
    CLI::App app{"Compare a .rknn model with the ONNX graph it was made of, layer by layer."};
    auto& compare = options.compare;
    app.add_option("MODEL", compare.model, "model file")->required();
    app.add_option("--onnx", compare.onnx, "the float graph")->required();
    app.add_option("--inputs", compare.inputs,
                   "pictures, .npy arrays or raw bytes, one for each input of the model; noise "
                   "without them");
    app.add_option("--seed", compare.seed, "of the noise")->capture_default_str();
    app.add_option("--executor", compare.executor,
                   "who runs the graph: own (CPU operators of this project), onnxruntime (of "
                   "python3), auto (onnxruntime if it is installed)")
        ->check(CLI::IsMember({"auto", "own", "onnxruntime"}))
        ->capture_default_str();
    app.add_option("--device", options.device, "drm (/dev/dri) or sim (NPU model in the process)")
        ->check(CLI::IsMember({"drm", "sim"}));
    app.add_option("--min-cos", options.least,
                   "exit with 3 if the cosine of an output is below this");
    app.add_flag("--json", options.json, "one JSON document instead of the table");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? -1 : kUsage;
    }
    return 0;
}

/// False if an output is further away than wanted, or was not compared although that was asked for.
bool near_enough(const CompareReport& report, double least) {
    for (const auto& row : report.outputs) {
        if (least > -2 && !(row.entire && row.entire->cos >= least))
            return false;
    }
    return true;
}

int run(const Options& options) {
    if (!options.device.empty())
        setenv("RKNPU_DEVICE", options.device.c_str(), 1);
    std::string error;
    const auto report = compare(options.compare, error);
    if (!report) {
        std::fprintf(stderr, "%s\n", error.c_str());
        return kFailed;
    }
    const auto text = options.json ? to_json(options.compare, *report) + "\n" : to_text(*report);
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (std::fflush(stdout) != 0 || !written)
        return kFailed;
    return near_enough(*report, options.least) ? 0 : kTooFar;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    try {
        if (const int code = parse(argc, argv, options); code != 0)
            return code < 0 ? 0 : code;
        return run(options);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "rknn-compare: %s\n", error.what());
        return kFailed;
    }
}
