// SPDX-License-Identifier: MIT
// Makes seeds for npusim_fuzz out of a .rknn file: its first stream as one job, and task by task.
// Usage: npusim_fuzz_seeds MODEL.rknn DIR
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "../npusim/fuzz/input.hpp"
#include "model/reader.hpp"
#include "npuregs/regcmd.hpp"

namespace {

using namespace npusim_fuzz;  // NOLINT: one program
using rknpu::JobGraph;

constexpr size_t kTail = 4;       // words behind a task's registers
constexpr size_t kLongest = 255;  // words of a stream that the fuzzer reads raw

/// Gives tensors addresses: constants from 0 on, the arena behind them, both inside the memory.
void relocate(JobGraph& graph) {
    for (const rknpu::WordRelocation& r : graph.relocations) {
        const auto& tensor = graph.tensors[static_cast<size_t>(r.tensor)];
        const uint64_t arena = tensor.place == rknpu::Place::kArena ? graph.constants_size : 0;
        auto command = npuregs::Command::decode(graph.regcmd[r.word]);
        command.value = static_cast<uint32_t>((arena + tensor.offset + r.addend) % kStreams);
        graph.regcmd[r.word] = command.encode();
    }
}

class Seed {
 public:
    template <typename T>
    void put(T value) {
        const auto* bytes = reinterpret_cast<const char*>(&value);
        bytes_.append(bytes, sizeof(T));
    }
    /// Stream `index` of the seed, its tail leading to the next one.
    void put_task(const JobGraph& graph, const rknpu::TaskRecord& task, uint32_t index) {
        const size_t words = task.regcfg_amount + kTail;
        put<uint8_t>(0);  // raw words
        put(static_cast<uint8_t>(words));
        for (size_t i = 0; i < words; ++i) {
            auto command = npuregs::Command::decode(graph.regcmd[task.regcmd_addr / 8 + i]);
            const bool link = command.target == npuregs::kTargetPc &&
                              command.offset == npuregs::pc::kBaseAddress && command.value != 0;
            if (link)
                command.value = kStreams + (index + 1) * kStreamBytes;
            put(command.encode());
        }
    }
    [[nodiscard]] bool save(const std::string& path) const {
        std::ofstream file(path, std::ios::binary);
        file.write(bytes_.data(), static_cast<std::streamsize>(bytes_.size()));
        return file.good();
    }

 private:
    std::string bytes_;
};

uint32_t amount_of(const rknpu::TaskRecord& task) {
    return (task.regcfg_amount + 5) / 2 - 1;
}

bool write_seeds(const JobGraph& graph, const std::string& dir) {
    const uint32_t count = std::min(graph.stream_count[0], kMaxTasks);
    const auto task = [&](uint32_t i) { return graph.tasks[graph.stream_first[0] + i]; };
    Seed job;
    job.put<uint8_t>(kJob);
    job.put(static_cast<uint16_t>(count | 6U << 12));
    job.put(amount_of(task(0)));
    job.put<uint8_t>(0);
    job.put<uint8_t>(0);
    bool ok = true;
    for (uint32_t i = 0; i < count; ++i) {
        if (task(i).regcfg_amount + kTail > kLongest)
            break;
        job.put_task(graph, task(i), i);
        for (const uint8_t mode : {uint8_t{0}, uint8_t{kReference}}) {
            Seed single;
            single.put(mode);
            single.put_task(graph, task(i), i);
            ok &= single.save(dir + "/task" + std::to_string(i) + "_" + std::to_string(mode));
        }
    }
    return ok && job.save(dir + "/job");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s MODEL.rknn DIR\n", argv[0]);
        return 2;
    }
    auto file = rknpu::read_file(argv[1]);
    auto graph = file.ok() ? rknpu::read_model(file.value(), "rk3588")
                           : rknpu::Result<JobGraph>(file.status());
    if (!graph.ok()) {
        std::fprintf(stderr, "%s: %s\n", argv[1], graph.status().text().c_str());
        return 1;
    }
    relocate(graph.value());
    if (write_seeds(graph.value(), argv[2]))
        return 0;
    std::fprintf(stderr, "%s: cannot be written\n", argv[2]);
    return 1;
}
