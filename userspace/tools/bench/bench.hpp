// SPDX-License-Identifier: MIT
// How fast a model runs: what rknn-bench measures.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace rknpu::tools {

enum class Interface { kGeneral, kZeroCopy };

struct BenchOptions {
    std::string model;
    std::vector<std::string> inputs;  ///< files for the inputs in order; empty = noise
    uint32_t warmup = 3;              ///< runs of each thread that do not count
    uint32_t loops = 10;              ///< runs of each thread that count
    double seconds = 0;               ///< > 0: as many runs as fit into this time, at least `loops`
    uint32_t threads = 1;             ///< one context each; all but the first are duplicates
    std::vector<uint32_t> cores;      ///< core mask of thread i is cores[i % size]; empty = any
    uint32_t flags = 0;               ///< of rknn_init
};

/// Order statistics of some durations, in microseconds.
struct Distribution {
    size_t count = 0;
    double min = 0, mean = 0, median = 0, p90 = 0, p95 = 0, p99 = 0, max = 0;
};

/// Percentiles are the smallest value that at least that share of the samples does not exceed; the
/// median of an even number is the mean of the middle two. All 0 without samples.
Distribution distribution(std::vector<double> samples);

struct BenchResult {
    Interface interface = Interface::kGeneral;
    Distribution total;            ///< one inference with its inputs and outputs
    Distribution set, run, fetch;  ///< parts; set and fetch are empty with zero copy
    double per_second = 0;         ///< inferences of all threads together
};

/// Measures one interface. Nothing on failure; the library has said why on stderr, `error` holds
/// what it could not know.
std::optional<BenchResult> measure(const BenchOptions& options, Interface interface,
                                   std::string& error);

std::string_view interface_name(Interface interface);
nlohmann::ordered_json to_json(const BenchOptions& options,
                               const std::vector<BenchResult>& results);
std::string to_text(const std::vector<BenchResult>& results);

}  // namespace rknpu::tools
