// SPDX-License-Identifier: MIT
#include "bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

#include "worker.hpp"

namespace rknpu::tools {
namespace {

using Clock = std::chrono::steady_clock;

double percentile(const std::vector<double>& sorted, double share) {
    const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
    return sorted[std::max<size_t>(rank, 1) - 1];
}

/// Runs of one thread: warm-up, a common start, then the runs that count.
struct Lane {
    std::unique_ptr<Worker> worker;
    std::vector<StageTimes> samples;
    bool failed = false;

    void measure(const BenchOptions& options, std::barrier<>& start, std::atomic<bool>& stop) {
        StageTimes times;
        for (uint32_t i = 0; i < options.warmup && !failed; ++i)
            failed = !worker->infer(times);
        start.arrive_and_wait();
        const auto begin = Clock::now();
        const auto over = [&] {
            return std::chrono::duration<double>(Clock::now() - begin).count() >= options.seconds;
        };
        while (!failed && !stop && (samples.size() < options.loops || !over())) {
            failed = !worker->infer(times);
            samples.push_back(times);
        }
        if (failed)
            stop = true;
    }
};

Distribution stage(const std::vector<Lane>& lanes, double (*of)(const StageTimes&)) {
    std::vector<double> all;
    for (const auto& lane : lanes)
        for (const auto& sample : lane.samples)
            all.push_back(of(sample));
    return distribution(std::move(all));
}

nlohmann::ordered_json to_json(const Distribution& d) {
    return {{"count", d.count}, {"min", d.min}, {"mean", d.mean}, {"median", d.median},
            {"p90", d.p90},     {"p95", d.p95}, {"p99", d.p99},   {"max", d.max}};
}

}  // namespace

Distribution distribution(std::vector<double> samples) {
    Distribution out;
    if (samples.empty())
        return out;
    std::sort(samples.begin(), samples.end());
    const size_t n = samples.size();
    out.count = n;
    out.min = samples.front();
    out.max = samples.back();
    out.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(n);
    out.median = (samples[(n - 1) / 2] + samples[n / 2]) / 2;
    out.p90 = percentile(samples, 0.90);
    out.p95 = percentile(samples, 0.95);
    out.p99 = percentile(samples, 0.99);
    return out;
}

std::optional<BenchResult> measure(const BenchOptions& options, Interface interface,
                                   std::string& error) {
    std::vector<Lane> lanes(std::max<uint32_t>(options.threads, 1));
    for (size_t i = 0; i < lanes.size(); ++i) {
        const uint32_t mask = options.cores.empty() ? 0 : options.cores[i % options.cores.size()];
        lanes[i].worker = i == 0 ? Worker::open(options, interface, mask, error)
                                 : lanes[0].worker->another(mask, error);
        if (lanes[i].worker == nullptr)
            return std::nullopt;
    }
    std::atomic<bool> stop = false;
    std::barrier<> start(static_cast<ptrdiff_t>(lanes.size() + 1));
    std::vector<std::thread> threads;
    for (auto& lane : lanes)
        threads.emplace_back([&] { lane.measure(options, start, stop); });
    start.arrive_and_wait();
    const auto begin = Clock::now();
    for (auto& thread : threads)
        thread.join();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (stop)
        return std::nullopt;
    BenchResult out;
    out.interface = interface;
    out.total = stage(lanes, [](const StageTimes& t) { return t.set + t.run + t.fetch; });
    out.run = stage(lanes, [](const StageTimes& t) { return t.run; });
    if (interface == Interface::kGeneral) {
        out.set = stage(lanes, [](const StageTimes& t) { return t.set; });
        out.fetch = stage(lanes, [](const StageTimes& t) { return t.fetch; });
    }
    out.per_second = seconds > 0 ? static_cast<double>(out.total.count) / seconds : 0;
    return out;
}

std::string_view interface_name(Interface interface) {
    return interface == Interface::kGeneral ? "general" : "zero-copy";
}

nlohmann::ordered_json to_json(const BenchOptions& options,
                               const std::vector<BenchResult>& results) {
    nlohmann::ordered_json out = {{"model", options.model},     {"threads", options.threads},
                                  {"warmup", options.warmup},   {"loops", options.loops},
                                  {"seconds", options.seconds}, {"cores", options.cores},
                                  {"unit", "microseconds"}};
    auto& list = out["results"] = nlohmann::ordered_json::array();
    for (const auto& result : results) {
        nlohmann::ordered_json entry = {{"interface", interface_name(result.interface)},
                                        {"per_second", result.per_second},
                                        {"total", to_json(result.total)},
                                        {"run", to_json(result.run)}};
        if (result.set.count != 0) {
            entry["set_inputs"] = to_json(result.set);
            entry["get_outputs"] = to_json(result.fetch);
        }
        list.push_back(std::move(entry));
    }
    return out;
}

std::string to_text(const std::vector<BenchResult>& results) {
    std::string out =
        fmt::format("{:<10} {:<12} {:>7} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "interface",
                    "part", "count", "median/us", "min", "p90", "p95", "p99", "max");
    const auto row = [&](std::string_view interface, const char* part, const Distribution& d) {
        if (d.count != 0)
            out += fmt::format(
                "{:<10} {:<12} {:>7} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f}\n",
                interface, part, d.count, d.median, d.min, d.p90, d.p95, d.p99, d.max);
    };
    for (const auto& result : results) {
        const auto name = interface_name(result.interface);
        row(name, "total", result.total);
        row(name, "set inputs", result.set);
        row(name, "run", result.run);
        row(name, "get outputs", result.fetch);
        out += fmt::format("{:<10} {:.2f} inferences per second\n", name, result.per_second);
    }
    return out;
}

}  // namespace rknpu::tools
