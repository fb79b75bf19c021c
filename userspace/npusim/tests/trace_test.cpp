// SPDX-License-Identifier: MIT
// Trace lines and the time estimate against the SDK manual's table.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "npusim/time_model.hpp"
#include "npusim/trace.hpp"
#include "support.hpp"

using namespace npusim_test;

namespace {

/// Never asked: the estimate looks at registers and ranges only.
class NoDma final : public npusim::DmaPort {
 public:
    bool read(uint32_t, std::span<std::byte>) override { return false; }
    bool write(uint32_t, std::span<const std::byte>) override { return false; }
    std::span<std::byte> try_view(uint32_t, uint32_t, npusim::Access) override { return {}; }
    const npusim::DmaFault& fault() const override { return fault_; }

 private:
    npusim::DmaFault fault_;
};

struct Layer {
    const char* name;
    bool depthwise;
    uint32_t channels, kernels, kernel, out_size;
    uint64_t bytes;  // input, weights, bias (int32 per channel) and output
    uint64_t ddr_cycles, npu_cycles;
};

// MobileNet v2, int8, as printed in the SDK manual; 2-5, 52-56 are the table's row numbers.
const Layer kTable[] = {
    {"2 conv1", false, 16, 32, 3, 112, 224 * 224 * 3 + 9 * 16 * 32 + 128 + 112 * 112 * 32, 94150,
     112896},
    {"3 conv2_1/expand", false, 32, 32, 1, 112, 2 * 112 * 112 * 32 + 1024 + 128, 135965, 50176},
    {"4 conv2_1/dwise", true, 32, 1, 3, 112, 2 * 112 * 112 * 32 + 288 + 128, 135884, 112896},
    {"5 conv2_1/linear", false, 32, 16, 1, 112, 112 * 112 * (32 + 16) + 512 + 64, 101942, 50176},
    {"52 conv6_3/dwise", true, 960, 1, 3, 7, 2 * 49 * 960 + 9 * 960 + 3840, 18668, 8640},
    {"53 conv6_3/linear", false, 960, 320, 1, 7, 49 * (960 + 320) + 960 * 320 + 1280, 62983, 19200},
    {"54 conv6_4", false, 320, 1280, 1, 7, 49 * (320 + 1280) + 320 * 1280 + 5120, 84248, 25600},
    {"55 pool6", true, 1280, 1, 7, 1, 49 * 1280 + 49 * 1280 + 1280 + 5120, 23159, 15680},
    {"56 fc7", false, 1280, 1000, 1, 1, 1280 + 1280 * 1000 + 1000 + 4000, 218208, 20480},
};

}  // namespace

TEST_CASE("the estimate reproduces the manual's MobileNet table") {
    for (const Layer& layer : kTable) {
        INFO(layer.name);
        npusim::BlockRegs cna;
        npusim::BlockRegs none;
        cna.set(0x100c, layer.depthwise ? 3 : 0);
        cna.set(0x1024, layer.channels);
        cna.set(0x102c, layer.out_size * layer.out_size);
        cna.set(0x1038, layer.kernel << 24 | layer.kernel << 16 | layer.kernels);
        const npusim::TaskRegs regs{cna, none, none, none, none, none};
        npusim::TaskWork work;
        work.depthwise = layer.depthwise;
        NoDma dma;
        const npusim::TaskEvent event{.core = 0,
                                      .job = 1,
                                      .task = 0,
                                      .stream_iova = 0,
                                      .enable_mask = 0x1d,
                                      .regs = regs,
                                      .work = work,
                                      .ranges = {},
                                      .bytes_read = layer.bytes,
                                      .bytes_written = 0,
                                      .dma = dma};
        const npusim::TaskTime time = npusim::estimate(event, {});
        CHECK(time.compute_cycles == layer.npu_cycles);
        CHECK(static_cast<double>(time.memory_cycles) ==
              Approx(static_cast<double>(layer.ddr_cycles)).epsilon(0.06));
    }
}

TEST_CASE("a job leaves one line per task and one for its end") {
    std::vector<std::string> lines;
    npusim::TraceWriter trace([&](std::string_view line) { lines.emplace_back(line); }, {});
    npusim::TimeModel model;
    npusim::NpuOptions options;
    options.record_ranges = true;
    options.on_task = [&](const npusim::TaskEvent& event) { trace.task(event, model.add(event)); };
    Bench bench(options);
    bench.npu->set_job_handler([&](const npusim::JobResult& result) { trace.job(result); });
    bench.make_chain(Bench::kCode, {3, 4});
    bench.run(1, Bench::kCode, 2);
    REQUIRE(lines.size() == 3);
    const auto task = nlohmann::json::parse(lines[1]);
    CHECK(task["type"] == "task");
    CHECK(task["core"] == 1);
    CHECK(task["task"] == 1);
    CHECK(task["enable"] == "CNA|CORE|DPU");
    CHECK(task["registers"]["DPU.BS_ALU_CFG"] == "0x4");
    CHECK(task["registers"]["CNA.DATA_SIZE0"] == "0x40");
    bool found = false;
    for (const auto& range : task["dma"]) {
        if (range["access"] != "write")
            continue;
        found = true;
        CHECK(range["iova"] == "0x40110000");
        CHECK(range["size"] == 64);
        const std::vector<std::byte> expected(64, std::byte{4});
        char text[16];
        std::snprintf(text, sizeof(text), "0x%x", npusim::crc32(expected));
        CHECK(range["crc32"] == text);
    }
    CHECK(found);
    const auto job = nlohmann::json::parse(lines[2]);
    CHECK(job["end"] == "done");
    CHECK(job["tasks_done"] == 2);
    // Reading for the checksum leaves no trace in the accounts.
    CHECK(job["bytes_read"] == 2 * 96 + 2 * 64);
    REQUIRE(model.report().size() == 1);
    CHECK(model.report()[0].find("core 1 conv") != std::string::npos);
}

TEST_CASE("CRC-32 check value") {
    const char text[] = "123456789";
    CHECK(npusim::crc32(std::as_bytes(std::span(text, 9))) == 0xcbf43926);
}
