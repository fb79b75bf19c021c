// SPDX-License-Identifier: MIT
// rknn-run: run a model on pictures, arrays or raw bytes and show what it says.
#include <fcntl.h>
#include <fmt/format.h>
#include <rknn_api.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "input.hpp"
#include "model.hpp"
#include "npy.hpp"

namespace {

using namespace rknpu::tools;  // NOLINT: a program of its own

constexpr int kFailed = 1, kUsage = 2;
/// Outputs with more elements than this are summed up unless --top asks for more.
constexpr uint32_t kListLimit = 20000;

struct Options {
    std::string model;
    std::vector<std::string> inputs;
    std::string device;
    std::string raw_dir;
    std::string npy_dir;
    std::string labels;
    int top = 0;
    double loop = 0;
    uint32_t core_mask = 0;
    bool sram = false;
    bool perf = false;
    bool quiet = false;
};

/// Empty, or what is wrong with a number of seconds.
std::string check_seconds(const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool good = !text.empty() && *end == '\0' && std::isfinite(value) && value >= 0;
    return good ? "" : fmt::format("'{}' is no number of seconds", text);
}

/// Text on stdout. Whether all of it got there is asked once, by finish().
template <typename... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
    const auto text = fmt::format(format, std::forward<Args>(args)...);
    std::fwrite(text.data(), 1, text.size(), stdout);
}

/// Text on stderr. fmt::print() would throw when that is full or closed.
template <typename... Args>
void complain(fmt::format_string<Args...> format, Args&&... args) {
    const auto text = fmt::format(format, std::forward<Args>(args)...);
    std::fwrite(text.data(), 1, text.size(), stderr);
}

/// False if what was printed did not reach its file (a full disk, a closed pipe).
bool finish() {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)
        return true;
    complain("{}\n", cannot("standard output", "written"));
    return false;
}

/// The part of an output file's name that comes from the input.
std::string output_stem(const std::string& input) {
    return std::filesystem::path(input).stem().string();
}

/// False, with a message, when outputs of two of the inputs would go to one file.
bool check_output_names(const Options& options, size_t per_run) {
    if (options.raw_dir.empty() && options.npy_dir.empty())
        return true;
    std::map<std::string, std::string> seen;
    for (size_t i = 0; i < options.inputs.size(); i += per_run) {
        const auto& input = options.inputs[i];
        const auto [entry, fresh] = seen.try_emplace(output_stem(input), input);
        if (!fresh) {
            complain("the outputs for {} and {} would both be written to {}_0\n", entry->second,
                     input, entry->first);
            return false;
        }
    }
    return true;
}

int parse(int argc, char** argv, Options& options) {
    CLI::App app{"Run a .rknn model."};
    app.add_option("MODEL", options.model, "model file")->required();
    app.add_option("INPUT", options.inputs,
                   "PNG, JPEG, BMP, PGM or PPM picture, .npy array or raw bytes; for a model with "
                   "several inputs one after the other, in their order. The size of raw bytes "
                   "chooses their type: 1 byte an element is uint8 or bool, 2 float16, 4 float32, "
                   "8 int64")
        ->required();
    app.add_option("--device", options.device, "drm (/dev/dri) or sim (NPU model in the process)")
        ->check(CLI::IsMember({"drm", "sim"}));
    app.set_version_flag("--version", "rknn-run " RKNPU_VERSION);
    app.add_option("--top", options.top, "show the N largest values of the first output")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--labels", options.labels, "text file with one class name per line");
    app.add_option("--raw", options.raw_dir, "write outputs to DIR in the model's own type");
    app.add_option("--npy", options.npy_dir, "write outputs to DIR as float32 .npy files");
    app.add_option("--loop", options.loop, "repeat the inference for SECONDS")
        ->check(CLI::Validator(check_seconds, ""));
    app.add_option("--cores,--core-mask", options.core_mask,
                   "cores: 0 any, 1, 2, 4 one of them, 3 two, 7 three, 65535 all");
    app.add_flag("--sram", options.sram, "internal tensors in on-chip memory where it is free");
    app.add_flag("--perf", options.perf, "show the time of each layer");
    app.add_flag("-q,--quiet", options.quiet, "results only, no notes");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? -1 : kUsage;
    }
    return 0;
}

/// One name per line; nothing, with a message, if the file cannot be read.
std::optional<std::vector<std::string>> read_labels(const std::string& path) {
    std::vector<std::string> out;
    if (path.empty())
        return out;
    const auto bytes = read_bytes(path);
    if (!bytes) {
        complain("{}\n", cannot(path, "read"));
        return std::nullopt;
    }
    std::string line;
    for (const std::byte byte : *bytes) {
        if (byte == std::byte{'\n'})
            out.push_back(std::exchange(line, {}));
        else
            line += static_cast<char>(byte);
    }
    if (!line.empty())
        out.push_back(line);
    return out;
}

class Runner {
 public:
    Runner(const Options& options, Model& model, std::vector<std::string> labels)
        : options_(options), model_(model), labels_(std::move(labels)) {}

    /// One inference on inputs [first, first + inputs of the model). False on failure.
    bool run(size_t first) {
        if (!set_inputs(first) || !repeat() || !fetch())
            return false;
        show(options_.inputs[first]);
        save(first);
        return true;
    }

 private:
    bool set_inputs(size_t first) {
        const auto& attrs = model_.inputs();
        data_.clear();
        std::vector<rknn_input> inputs(attrs.size());
        for (size_t i = 0; i < attrs.size(); ++i) {
            const auto& path = options_.inputs[first + i];
            std::string error;
            auto data = load_input(path, attrs[i], error);
            if (!data) {
                complain("{}\n", error);
                return false;
            }
            if (!data->note.empty() && !options_.quiet)
                complain("{}: {}\n", path, data->note);
            data_.push_back(std::move(*data));
            inputs[i] = {static_cast<uint32_t>(i),
                         data_[i].bytes.data(),
                         static_cast<uint32_t>(data_[i].bytes.size()),
                         0,
                         data_[i].type,
                         data_[i].fmt};
        }
        return rknn_inputs_set(model_.context(), static_cast<uint32_t>(inputs.size()),
                               inputs.data()) == RKNN_SUCC;
    }

    bool repeat() {
        const auto start = std::chrono::steady_clock::now();
        size_t runs = 0;
        double seconds = 0;
        do {
            if (rknn_run(model_.context(), nullptr) != RKNN_SUCC)
                return false;
            ++runs;
            seconds =
                std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        } while (seconds < options_.loop);
        if (options_.loop > 0 && !options_.quiet)
            complain("{} inferences in {:.2f} s, {:.2f} ms each\n", runs, seconds,
                     1000 * seconds / static_cast<double>(runs));
        return true;
    }

    bool fetch() {
        std::vector<rknn_output> outputs(model_.outputs().size());
        for (uint32_t i = 0; i < outputs.size(); ++i) {
            outputs[i] = {};
            outputs[i].index = i;
            outputs[i].want_float = 1;
        }
        const auto count = static_cast<uint32_t>(outputs.size());
        if (rknn_outputs_get(model_.context(), count, outputs.data(), nullptr) != RKNN_SUCC)
            return false;
        results_.clear();
        for (const auto& output : outputs) {
            const auto* start = static_cast<const float*>(output.buf);
            results_.emplace_back(start, start + output.size / sizeof(float));
        }
        return rknn_outputs_release(model_.context(), count, outputs.data()) == RKNN_SUCC;
    }

    void show(const std::string& path) const {
        for (size_t i = 0; i < results_.size(); ++i) {
            const auto& attr = model_.outputs()[i];
            const bool map = attr.n_dims == 4 && attr.dims[2] * attr.dims[3] > 1;
            const bool list = options_.top > 0 ? i == 0 : !map && results_[i].size() <= kListLimit;
            if (list)
                show_top(path, i);
            else
                show_summary(path, i);
        }
        if (options_.perf)
            show_layers();
    }

    void show_top(const std::string& path, size_t output) const {
        const auto& values = results_[output];
        const size_t wanted = options_.top > 0 ? static_cast<size_t>(options_.top) : 5;
        const size_t count = std::min(wanted, values.size());
        std::vector<uint32_t> order(values.size());
        std::iota(order.begin(), order.end(), 0);
        std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(count), order.end(),
                          [&](uint32_t a, uint32_t b) {
                              return values[a] != values[b] ? values[a] > values[b] : a < b;
                          });
        std::string line;
        for (size_t i = 0; i < count; ++i) {
            line += fmt::format("{}{} {:g}", i == 0 ? "" : ", ", order[i], values[order[i]]);
            if (order[i] < labels_.size())
                line += fmt::format(" ({})", labels_[order[i]]);
        }
        print("{}: {}\n", path, line);
    }

    void show_summary(const std::string& path, size_t output) const {
        const auto& values = results_[output];
        const auto& attr = model_.outputs()[output];
        const auto [low, high] = std::minmax_element(values.begin(), values.end());
        const double sum = std::accumulate(values.begin(), values.end(), 0.0);
        print("{}: output {} '{}' {}: min {:g}, max {:g}, mean {:g}\n", path, output, attr.name,
              shape_text(attr), values.empty() ? 0 : *low, values.empty() ? 0 : *high,
              values.empty() ? 0 : sum / static_cast<double>(values.size()));
    }

    void show_layers() const {
        rknn_perf_detail detail{};
        if (rknn_query(model_.context(), RKNN_QUERY_PERF_DETAIL, &detail, sizeof(detail)) ==
            RKNN_SUCC)
            print("{}", detail.perf_data);
    }

    void save(size_t first) {
        const auto stem = output_stem(options_.inputs[first]);
        for (uint32_t i = 0; i < results_.size(); ++i) {
            const auto name = fmt::format("{}_{}", stem, i);
            const auto& attr = model_.outputs()[i];
            if (!options_.npy_dir.empty())
                written(options_.npy_dir, name + ".npy", [&](const std::string& path) {
                    return write_npy(path, "<f4", {attr.dims, attr.n_dims},
                                     std::as_bytes(std::span(results_[i])));
                });
            if (!options_.raw_dir.empty())
                written(options_.raw_dir, name + ".bin",
                        [&](const std::string& path) { return save_raw(path, i); });
        }
    }

    bool save_raw(const std::string& path, uint32_t index) const {
        rknn_output output{};
        output.index = index;
        if (rknn_outputs_get(model_.context(), 1, &output, nullptr) != RKNN_SUCC) {
            errno = EIO;
            return false;
        }
        const bool good =
            write_bytes(path, {static_cast<const std::byte*>(output.buf), output.size});
        const int reason = errno;
        rknn_outputs_release(model_.context(), 1, &output);
        errno = reason;
        return good;
    }

    template <typename Write>
    void written(const std::string& dir, const std::string& name, Write&& write) {
        std::error_code error;
        std::filesystem::create_directories(dir, error);
        const auto path = (std::filesystem::path(dir) / name).string();
        if (!write(path)) {
            complain("{}\n", cannot(path, "written"));
            failed_ = true;
        }
    }

 public:
    bool failed() const { return failed_; }

 private:
    const Options& options_;
    Model& model_;
    std::vector<std::string> labels_;
    std::vector<InputData> data_;
    std::vector<std::vector<float>> results_;
    bool failed_ = false;
};

int run(const Options& options) {
    auto labels = read_labels(options.labels);
    if (!labels)
        return kFailed;
    choose_device(options.device);
    uint32_t flags = options.sram ? RKNN_FLAG_ENABLE_SRAM : 0;
    flags |= options.perf ? RKNN_FLAG_COLLECT_PERF_MASK : 0;
    auto model = Model::open(options.model, flags);
    if (!model)
        return kFailed;
    const size_t per_run = model->inputs().size();
    if (options.inputs.size() % per_run != 0) {
        complain("the model has {} inputs, {} files are given\n", per_run, options.inputs.size());
        return kUsage;
    }
    if (!check_output_names(options, per_run))
        return kUsage;
    if (options.core_mask != 0 &&
        rknn_set_core_mask(model->context(), static_cast<rknn_core_mask>(options.core_mask)) !=
            RKNN_SUCC)
        return kFailed;
    Runner runner(options, *model, std::move(*labels));
    for (size_t first = 0; first < options.inputs.size(); first += per_run) {
        if (!runner.run(first))
            return kFailed;
    }
    return finish() && !runner.failed() ? 0 : kFailed;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    // The next file that is opened would take the number of a closed stdout.
    if (::fcntl(STDOUT_FILENO, F_GETFD) < 0) {
        complain("{}\n", cannot("standard output", "written"));
        return kFailed;
    }
    try {
        if (const int code = parse(argc, argv, options); code != 0)
            return code > 0 ? code : finish() ? 0 : kFailed;
        return run(options);
    } catch (const std::exception& error) {
        complain("rknn-run: {}\n", error.what());
        return kFailed;
    }
}
