// SPDX-License-Identifier: MIT
#include "npusim/trace.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "npuregs/regcmd.hpp"

namespace npusim {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxLintLines = 1000;
constexpr size_t kChunk = 4096;

std::string hex(uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

std::string_view end_name(JobEnd end) {
    switch (end) {
        case JobEnd::kDone:
            return "done";
        case JobEnd::kRefused:
            return "refused";
        case JobEnd::kDmaError:
            return "dma_error";
        case JobEnd::kHung:
            return "hung";
        case JobEnd::kAborted:
            return "aborted";
    }
    return "unknown";
}

struct BlockView {
    uint32_t enable;
    uint32_t base;
    const BlockRegs& regs;
};

Json registers_of(const TaskEvent& event) {
    const std::array<BlockView, 6> blocks = {{{kEnableCna, 0x1000, event.regs.cna},
                                              {kEnableCore, 0x3000, event.regs.core},
                                              {kEnableDpu, 0x4000, event.regs.dpu},
                                              {kEnableDpuRdma, 0x5000, event.regs.dpu_rdma},
                                              {kEnablePpu, 0x6000, event.regs.ppu},
                                              {kEnablePpuRdma, 0x7000, event.regs.ppu_rdma}}};
    Json out = Json::object();
    for (const BlockView& block : blocks) {
        if ((event.enable_mask & block.enable) == 0)
            continue;
        for (uint32_t i = 0; i < BlockRegs::kWords; ++i)
            if (const uint32_t value = block.regs.r[i])
                out[npuregs::register_name(block.base + 4 * i)] = hex(value);
    }
    return out;
}

Json checksum_of(const DmaRange& range, DmaPort& dma) {
    std::array<std::byte, kChunk> chunk;
    uint32_t crc = 0;
    for (uint64_t done = 0; done < range.size;) {
        const size_t n = std::min<uint64_t>(kChunk, range.size - done);
        const auto part = std::span(chunk).first(n);
        if (!dma.read(static_cast<uint32_t>(range.iova + done), part))
            return nullptr;
        crc = crc32(part, crc);
        done += n;
    }
    return hex(crc);
}

Json range_json(const DmaRange& range) {
    Json out = {{"iova", hex(range.iova)},
                {"size", range.size},
                {"access", range.access == Access::kRead ? "read" : "write"}};
    if (range.fetch)
        out["commands"] = true;
    return out;
}

constexpr std::array<uint32_t, 256> make_crc_table() {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < table.size(); ++i) {
        uint32_t c = i;
        for (int k = 0; k < 8; ++k)
            c = (c >> 1) ^ ((c & 1U) ? 0xedb88320U : 0U);
        table[i] = c;
    }
    return table;
}
constexpr auto kCrcTable = make_crc_table();

}  // namespace

uint32_t crc32(std::span<const std::byte> data, uint32_t seed) {
    uint32_t c = ~seed;
    for (const std::byte b : data)
        c = kCrcTable[(c ^ static_cast<uint32_t>(b)) & 0xffU] ^ (c >> 8);
    return ~c;
}

void TraceWriter::task(const TaskEvent& event, const TaskTime& time) {
    Json line = {{"type", "task"},
                 {"core", event.core},
                 {"job", event.job},
                 {"task", event.task},
                 {"stream", hex(event.stream_iova)},
                 {"enable", npuregs::describe_enable_mask(event.enable_mask)},
                 {"macs", event.work.macs},
                 {"bytes_read", event.bytes_read},
                 {"bytes_written", event.bytes_written},
                 {"estimate",
                  {{"class", task_class_name(time.kind)},
                   {"compute_cycles", time.compute_cycles},
                   {"memory_cycles", time.memory_cycles},
                   {"cycles", time.cycles()}}}};
    if (options_.registers)
        line["registers"] = registers_of(event);
    Json ranges = Json::array();
    for (const DmaRange& range : event.ranges) {
        Json entry = range_json(range);
        if (options_.checksums && range.access == Access::kWrite)
            entry["crc32"] = checksum_of(range, event.dma);
        ranges.push_back(std::move(entry));
    }
    if (!ranges.empty())
        line["dma"] = std::move(ranges);
    std::lock_guard lock(mutex_);
    sink_(line.dump());
}

void TraceWriter::job(const JobResult& result) {
    Json line = {{"type", "job"},
                 {"core", result.core},
                 {"job", result.number},
                 {"end", end_name(result.end)},
                 {"tasks_done", result.tasks_done},
                 {"tasks_wanted", result.tasks_wanted},
                 {"bytes_read", result.bytes_read},
                 {"bytes_written", result.bytes_written}};
    if (!result.text.empty())
        line["text"] = result.text;
    if (result.fault.kind != DmaFault::Kind::kNone)
        line["fault"] = {{"iova", hex(result.fault.iova)},
                         {"access", result.fault.access == Access::kRead ? "read" : "write"}};
    std::lock_guard lock(mutex_);
    sink_(line.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void LintWriter::task(const TaskEvent& event) {
    for (const std::string& finding : lint_task(event.regs, event.enable_mask, map_)) {
        std::lock_guard lock(mutex_);
        if (seen_.size() >= kMaxLintLines || !seen_.insert(finding).second)
            continue;
        sink_("lint: core " + std::to_string(event.core) + " job " + std::to_string(event.job) +
              " task " + std::to_string(event.task) + ": " + finding);
    }
}

}  // namespace npusim
