// SPDX-License-Identifier: MIT
#include "support/live_run.hpp"

#include <npusim/memory.hpp>
#include <npusim/regfile.hpp>

#include <algorithm>
#include <span>
#include <vector>

#include "../npusim/fuzz/bounded_runner.hpp"
#include "core/bytes.hpp"
#include "pc.hpp"

namespace rknpu::test {
namespace {

constexpr uint64_t kMost = uint64_t{64} << 20;
constexpr uint64_t kFirst = uint64_t{1} << 20;
constexpr uint64_t kPage = 4096;
constexpr size_t kTailWords = 4;

class Live {
 public:
    explicit Live(const JobGraph& graph) : graph_(graph), words_(graph.regcmd) {}

    bool place() {
        uint64_t total = graph_.constants_size + graph_.arena_size;
        for (const auto& tensor : graph_.tensors)
            total += is_end(tensor) ? tensor.size : 0;
        if (total > kMost)
            return false;
        const auto constants = add(graph_.constants_size);
        for (const auto& tensor : graph_.tensors) {
            if (tensor.place == Place::kConstants && !tensor.data.empty())
                fill(buffers_.back(), tensor.offset, tensor.data);
        }
        for (const auto& [offset, data] : graph_.more_constants)
            fill(buffers_.back(), offset, data);
        const auto arena = add(graph_.arena_size);
        std::vector<uint64_t> addresses(graph_.tensors.size(), 0);
        for (size_t i = 0; i < addresses.size(); ++i) {
            const auto& tensor = graph_.tensors[i];
            if (tensor.place == Place::kConstants)
                addresses[i] = constants + tensor.offset;
            else if (tensor.place == Place::kArena)
                addresses[i] = is_end(tensor) ? add(tensor.size) : arena + tensor.offset;
        }
        for (const auto& item : graph_.relocations) {
            const uint64_t value = addresses[static_cast<size_t>(item.tensor)] + item.addend;
            words_[item.word] =
                (words_[item.word] & ~(uint64_t{0xffffffff} << 16)) | (value & 0xffffffff) << 16;
        }
        return true;
    }

    LiveResult run(uint64_t most_work) {
        const auto& soc =
            graph_.target == "rk3576" ? npusim::SocConfig::rk3576() : npusim::SocConfig::rk3588();
        LiveResult result;
        npusim_fuzz::BoundedRunner runner(soc, false, most_work);
        const auto dma = npusim::make_direct_dma(ram_);
        for (size_t stream = 0; stream < kStreams && result.escape.empty(); ++stream) {
            auto registers = at_start();
            const size_t first = graph_.stream_first[stream];
            uint32_t stopped = UINT32_MAX;  // the layer whose job has ended early
            for (size_t i = first; i < first + graph_.stream_count[stream]; ++i) {
                if (graph_.tasks[i].op_idx == stopped ||
                    run_task(i, soc, registers, runner, *dma, result))
                    continue;
                stopped = graph_.tasks[i].op_idx;
                registers = at_start();
            }
        }
        return result;
    }

 private:
    static bool is_end(const GraphTensor& tensor) {
        return tensor.place == Place::kArena &&
               (tensor.kind == TensorKind::kInput || tensor.kind == TensorKind::kOutput);
    }

    static void fill(std::vector<std::byte>& to, uint64_t offset, std::span<const std::byte> data) {
        if (range_inside(offset, data.size(), to.size()))
            std::copy(data.begin(), data.end(), to.begin() + static_cast<ptrdiff_t>(offset));
    }

    uint64_t add(uint64_t size) {
        const uint64_t address = next_;
        auto& buffer = buffers_.emplace_back(size);
        if (size != 0 && !ram_.add(address, buffer))
            std::abort();
        next_ = align_up(address + size, kPage) + kFirst;
        return address;
    }

    /// Registers as the driver leaves them before a job.
    static npusim::RegFile at_start() {
        npusim::RegFile registers;
        for (const auto block : {npusim::BlockId::kCna, npusim::BlockId::kCore})
            registers.block(block).write(4, 0xe);
        return registers;
    }

    /// False if the task ends its job: the NPU refuses it.
    bool run_task(size_t index, const npusim::SocConfig& soc, npusim::RegFile& registers,
                  npusim::TaskRunner& runner, npusim::DmaPort& dma, LiveResult& result) {
        const auto& task = graph_.tasks[index];
        const auto words = std::span<const uint64_t>(words_).subspan(
            task.regcmd_addr / sizeof(uint64_t), task.regcfg_amount + kTailWords);
        const auto end = npusim::apply_stream(words, soc, registers, runner);
        if (!end.error.empty() || !registers.check_start(end.enable_mask).empty()) {
            ++result.refused;
            return false;
        }
        const auto error = runner.run(registers.active(), end.enable_mask, dma);
        registers.advance(end.enable_mask);
        if (!error) {
            ++result.tasks;
            return true;
        }
        if (error->kind != npusim::ExecError::Kind::kDma) {
            ++result.refused;
            return error->text == npusim_fuzz::kTooLong;
        }
        if (result.escape.empty())
            result.escape = "task " + std::to_string(index) + ": " + error->text;
        return true;
    }

    const JobGraph& graph_;
    std::vector<uint64_t> words_;
    std::vector<std::vector<std::byte>> buffers_;
    npusim::RamMemory ram_;
    uint64_t next_ = kFirst;
};

}  // namespace

LiveResult run_live(const JobGraph& graph, uint64_t most_work) {
    Live live(graph);
    return live.place() ? live.run(most_work) : LiveResult{};
}

}  // namespace rknpu::test
