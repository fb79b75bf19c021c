// SPDX-License-Identifier: MIT
// rknn-make: network description + float weights -> int8 .rknn for RK3588.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "rknpu_compiler/network_json.hpp"
#include "rknpu_compiler/writer.hpp"

namespace {

using namespace rknpu::compiler;

int fail(const std::string& text) {
    std::fprintf(stderr, "rknn-make: %s\n", text.c_str());
    return 1;
}

Result<std::vector<std::byte>> read_file(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) {
        return Error{"cannot read " + path.string() + ": " + std::strerror(errno)};
    }
    const std::vector<char> chars{std::istreambuf_iterator<char>(stream), {}};
    std::vector<std::byte> bytes(chars.size());
    std::memcpy(bytes.data(), chars.data(), chars.size());
    return bytes;
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
    const std::string text(reinterpret_cast<const char*>(description->data()), description->size());
    if (weights.empty()) {
        weights = network.parent_path() / weights_file_of(text);
    }
    const auto floats = read_file(weights);
    if (!floats) {
        return fail(floats.error().text + "; name the file with --weights or in \"weights_file\"");
    }
    auto graph = parse_network(text, *floats);
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
    std::ofstream stream(output, std::ios::binary | std::ios::trunc);
    stream.write(reinterpret_cast<const char*>(file.data()),
                 static_cast<std::streamsize>(file.size()));
    stream.close();
    if (!stream) {
        return fail("cannot write " + output.string() + ": " + std::strerror(errno));
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
