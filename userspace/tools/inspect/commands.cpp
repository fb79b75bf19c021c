// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <unordered_map>

#include "npuregs/regcmd.hpp"
#include "npusim/engine.hpp"
#include "npusim/regfile.hpp"
#include "report.hpp"

namespace rknpu::tools {
namespace {

constexpr uint32_t kPointer = 0x4;  // S_POINTER of each block
constexpr uint32_t kDriversPointer = 0xe;

bool is_marker(uint16_t target) {
    return target == 0 || target == npuregs::kTargetSync || target == npuregs::kTargetEnable;
}

npusim::RegisterMap map_of(std::string_view target) {
    return target == "rk3576" ? npusim::RegisterMap::kRk3576 : npusim::RegisterMap::kRk3588;
}

/// Findings about the same setting of many tasks are one line with their number.
class Findings {
 public:
    void add(size_t task, const std::string& layer, const std::string& text) {
        const auto [found, fresh] = index_.emplace(layer + "\n" + text, lines_.size());
        if (fresh)
            lines_.push_back({task, layer, text, 0});
        ++lines_[found->second].count;
    }
    std::vector<std::string> take() const {
        std::vector<std::string> out;
        for (const auto& line : lines_)
            out.push_back(
                fmt::format("task {} ({}): {}{}", line.task, line.layer, line.text,
                            line.count == 1 ? "" : fmt::format(" [{} tasks]", line.count)));
        return out;
    }

 private:
    struct Line {
        size_t task;
        std::string layer, text;
        size_t count;
    };
    std::vector<Line> lines_;
    std::unordered_map<std::string, size_t> index_;
};

}  // namespace

std::string command_text(uint64_t word, std::string_view target) {
    const auto command = npuregs::Command::decode(word);
    if (target == "rk3588" || is_marker(command.target) || command.target == npuregs::kTargetPc)
        return npuregs::disassemble(word);
    const auto block = npuregs::block_of_target(command.target);
    return fmt::format("{}.{:#06x}={:#x}", npuregs::block_name(block), command.offset,
                       command.value);
}

std::vector<std::string> disassemble(const JobGraph& graph, size_t first, size_t count) {
    std::unordered_map<uint32_t, const WordRelocation*> relocated;
    for (const auto& item : graph.relocations) {
        if (item.word >= first && item.word < first + count)
            relocated.emplace(item.word, &item);
    }
    std::vector<std::string> out;
    for (size_t i = first; i < first + count && i < graph.regcmd.size(); ++i) {
        const auto command = npuregs::Command::decode(graph.regcmd[i]);
        auto line = fmt::format("{:6}  {:04x}_{:08x}_{:04x}  {}", i, command.target, command.value,
                                command.offset, command_text(graph.regcmd[i], graph.target));
        if (const auto found = relocated.find(static_cast<uint32_t>(i)); found != relocated.end())
            line += fmt::format("  -> {} + {}",
                                graph.tensors[static_cast<size_t>(found->second->tensor)].name,
                                found->second->addend);
        out.push_back(std::move(line));
    }
    return out;
}

std::vector<std::string> lint_stream(const JobGraph& graph, size_t stream) {
    npusim::RegFile registers;
    // As the driver leaves them in front of a job; streams set the pointers of the other blocks.
    for (const auto block : {npusim::BlockId::kCna, npusim::BlockId::kCore})
        registers.block(block).write(kPointer, kDriversPointer);
    Findings findings;
    const size_t first = graph.stream_first[stream];
    for (size_t i = first; i < first + graph.stream_count[stream]; ++i) {
        const auto& task = graph.tasks[i];
        const size_t start = task.regcmd_addr / sizeof(uint64_t);
        for (size_t w = start; w < start + task.regcfg_amount; ++w) {
            const auto command = npuregs::Command::decode(graph.regcmd[w]);
            const auto block = npusim::RegFile::block_at(command.offset);
            if (is_marker(command.target) || !block)
                continue;
            registers.block(*block).write(command.offset & 0xfffU, command.value);
        }
        const auto& node = graph.nodes[task.op_idx];
        const auto& layer = node.name.empty() ? node.type : node.name;
        for (const auto& text :
             npusim::lint_task(registers.active(), task.enable_mask, map_of(graph.target)))
            findings.add(i, layer, text);
        registers.advance(task.enable_mask);
    }
    return findings.take();
}

}  // namespace rknpu::tools
