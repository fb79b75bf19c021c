// SPDX-License-Identifier: MIT
// rknn-make: network description + float weights -> int8 .rknn for RK3588.
#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "rknpu_compiler/network_json.hpp"
#include "rknpu_compiler/writer.hpp"

namespace {

using namespace rknpu::compiler;

int fail(const std::string& text) {
    std::fprintf(stderr, "rknn-make: %s\n", text.c_str());
    return 1;
}

struct FileCloser {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

Result<std::string> read_file(const std::filesystem::path& path) {
    const File file(std::fopen(path.c_str(), "rb"));
    if (!file) {
        return Error{"cannot read " + path.string() + ": " + std::strerror(errno)};
    }
    std::string text;
    std::array<char, 65536> chunk;
    size_t got = 0;
    while ((got = std::fread(chunk.data(), 1, chunk.size(), file.get())) > 0) {
        text.append(chunk.data(), got);
    }
    if (std::ferror(file.get()) != 0) {
        return Error{"cannot read " + path.string() + ": " + std::strerror(errno)};
    }
    return text;
}

std::optional<Error> write_file(const std::filesystem::path& path,
                                std::span<const std::byte> bytes) {
    File file(std::fopen(path.c_str(), "wb"));
    if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size() ||
        std::fclose(file.release()) != 0) {
        return Error{"cannot write " + path.string() + ": " + std::strerror(errno)};
    }
    return std::nullopt;
}

void print_summary(const Job& job, size_t file_bytes) {
    for (const JobNode& node : job.nodes) {
        if (node.on_npu) {
            std::printf("%-12s %-32s %u task(s)\n", node.type.c_str(), node.name.c_str(),
                        node.task_counts[0]);
        }
    }
    std::printf("%zu tasks, %zu command words, %u bytes of feature maps, file %zu bytes\n",
                job.commands.tasks().size(), job.commands.words().size(), job.arena_bytes,
                file_bytes);
}

int make(const std::filesystem::path& network, std::filesystem::path weights,
         const std::filesystem::path& output, const QuantizeOptions& options) {
    const auto description = read_file(network);
    if (!description) {
        return fail(description.error().text);
    }
    if (weights.empty()) {
        weights = network.parent_path() / weights_file_of(*description);
    }
    const auto floats = read_file(weights);
    if (!floats) {
        return fail(floats.error().text + "; name the file with --weights or in \"weights_file\"");
    }
    auto graph = parse_network(*description, std::as_bytes(std::span(*floats)));
    if (!graph) {
        return fail(network.string() + ": " + graph.error().text);
    }
    const auto quantized = quantize(std::move(*graph), options);
    if (!quantized) {
        return fail(network.string() + ": " + quantized.error().text);
    }
    const auto job = lower(*quantized);
    if (!job) {
        return fail(network.string() + ": " + job.error().text);
    }
    const std::vector<std::byte> file = write_rknn(*job);
    if (const auto error = write_file(output, file)) {
        return fail(error->text);
    }
    print_summary(*job, file.size());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"Compiles a small float network to an int8 .rknn file for RK3588."};
    std::filesystem::path network;
    std::filesystem::path weights;
    std::filesystem::path output;
    QuantizeOptions options;
    app.add_option("network", network, "network description (JSON)")->required();
    app.add_option("-o,--output", output, "file to write")->required();
    app.add_option("-w,--weights", weights, "float32 weights (default: as the description says)");
    app.add_flag("--weight-zero-points", options.weight_zero_points,
                 "asymmetric weights, one zero point per kernel");
    CLI11_PARSE(app, argc, argv);
    return make(network, weights, output, options);
}
