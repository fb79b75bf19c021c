// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "report.hpp"
#include "support/files.hpp"

using namespace rknpu;         // NOLINT: tests of these namespaces
using namespace rknpu::test;   // NOLINT
using namespace rknpu::tools;  // NOLINT

namespace {

const std::set<Part> kAll = {Part::kTensors, Part::kLayers,      Part::kTasks, Part::kMemory,
                             Part::kPatches, Part::kDisassembly, Part::kLint};

struct Loaded {
    std::shared_ptr<const std::vector<std::byte>> file;
    JobGraph graph;

    Json report(const std::set<Part>& parts = kAll) const {
        return model_report("model.rknn", open_container(*file).value(), graph, parts);
    }
};

Loaded load(const std::string& path) {
    Loaded out;
    out.file = std::make_shared<const std::vector<std::byte>>(read_all(path));
    auto graph = read_model(out.file, {});
    INFO(path << ": " << graph.status().text());
    REQUIRE(graph.ok());
    out.graph = std::move(graph).value();
    return out;
}

Loaded digits() {
    return load(models_dir() + "/digits/digits_int8_rk3588.rknn");
}

/// What the driver writes about a job that hangs in the first task, the model loaded at `base`.
std::string dump_of(const JobGraph& graph, size_t task, uint32_t base) {
    const auto& record = graph.tasks[task];
    const size_t first = record.regcmd_addr / 8;
    std::string out =
        "core 1 error -110 pid 42 name my demo\n"
        "tasks start 0 number 5 done 2\n"
        "batch regcmd 0x1000 amount 30 int_first 0x300 int_last 0x300 tasks 5\n"
        "reg 0x0010 0x00001000\nreg 0x0020 0x00000300\n";
    out += fmt::format("commands core 1 address {:#x}\n", base);
    std::vector<uint64_t> words(
        graph.regcmd.begin() + static_cast<ptrdiff_t>(first),
        graph.regcmd.begin() + static_cast<ptrdiff_t>(first + record.regcfg_amount + 4));
    for (const auto& item : graph.relocations) {
        if (item.word >= first && item.word < first + words.size())
            words[item.word - first] |= uint64_t{base + item.addend} << 16;
    }
    for (const uint64_t word : words)
        out += fmt::format("command {:#018x}\n", word);
    return out;
}

}  // namespace

TEST_CASE("a report counts what the file holds", "[inspect]") {
    const auto model = digits();
    const auto report = model.report();
    const auto& graph = model.graph;
    CHECK(report["container"]["layout"] == 6);
    CHECK(report["model"]["target"] == "rk3588");
    CHECK(report["tensors"].size() == graph.tensors.size());
    CHECK(report["layers"].size() == graph.nodes.size());
    CHECK(report["tasks"].size() == graph.tasks.size());
    REQUIRE(report["inputs"].size() == 1);
    CHECK(report["inputs"][0]["dims"] == Json({1, 1, 28, 28}));
    CHECK(report["inputs"][0]["mean"].size() == 1);
    for (const auto& entry : report["memory"])
        CHECK(entry["end"].get<uint64_t>() <= graph.arena_size);
    size_t lines = 0;
    for (const auto& task : report["disassembly"])
        lines += task.contains("commands") ? task["commands"].size() : 0;
    CHECK(lines >= graph.tasks[0].regcfg_amount + 4);
}

TEST_CASE("texts of a file cannot break or steer what is printed", "[inspect]") {
    auto model = digits();
    const std::string bad("\x1b[2J\xff\xfe\n", 7);
    model.graph.custom_string = bad;
    for (auto& tensor : model.graph.tensors)
        tensor.name = bad;
    for (auto& node : model.graph.nodes) {
        node.name = node.type = bad;
        node.attributes[bad] = bad;
    }
    const auto text = render(model.report());
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK_THAT(text, Catch::Contains("custom string: ?[2J"));
}

TEST_CASE("the disassembly names registers and the tensors they point at", "[inspect]") {
    const auto model = digits();
    const auto& item = model.graph.relocations.front();
    const auto lines = disassemble(model.graph, item.word, 1);
    REQUIRE(lines.size() == 1);
    const auto& tensor = model.graph.tensors[static_cast<size_t>(item.tensor)];
    CHECK_THAT(lines[0], Catch::Contains("-> " + tensor.name + " + "));
    CHECK_THAT(lines[0], Catch::Contains("ADDR"));
    // The register names are those of RK3588; another chip gets numbers.
    CHECK(command_text(0x0201'00000001'1020, "rk3588") != "CNA.0x1020=0x1");
    CHECK(command_text(0x0201'00000001'1020, "rk3576") == "CNA.0x1020=0x1");
}

TEST_CASE("our compiler's model passes the lint and a spoilt one does not", "[inspect]") {
    auto model = digits();
    CHECK(model.report()["lint"].empty());
    bool changed = false;
    for (auto& word : model.graph.regcmd) {
        if (static_cast<uint16_t>(word) == 0x1040) {
            word &= ~(uint64_t{0xff} << 16);  // no CBUF banks at all
            changed = true;
        }
    }
    REQUIRE(changed);
    const auto lint = model.report()["lint"];
    REQUIRE_FALSE(lint.empty());
    CHECK_THAT(lint[0].get<std::string>(), Catch::Contains("CBUF bank"));
}

TEST_CASE("a dump of the driver leads to the layer it is about", "[inspect]") {
    const auto model = digits();
    const size_t last = model.graph.stream_count[0] - 1;
    for (const size_t task : {size_t{0}, last}) {
        const auto report = dump_report(dump_of(model.graph, task, 0x7f000000), &model.graph);
        REQUIRE(report.is_object());
        CHECK(report["dump"][0]["core"] == 1);
        CHECK(report["dump"][0]["error"] == "-110");
        CHECK(report["dump"][0]["name"] == "my demo");
        CHECK(report["dump"][0]["tasks"]["done"] == 2);
        CHECK(report["dump"][0]["registers"][1] == "PC.INTERRUPT_MASK=0x300 {DPU_1=1 DPU_0=1}");
        CHECK(report["streams"][0]["task"] == task);
        CHECK(report["streams"][0]["layer"] ==
              model.graph.nodes[model.graph.tasks[task].op_idx].name);
        CHECK_THAT(render(report), Catch::Contains("CNA."));
    }
}

TEST_CASE("a dump of another model is not taken for a layer", "[inspect]") {
    const auto model = digits();
    auto text = dump_of(model.graph, 0, 0x1000);
    text.replace(text.rfind("0x0201"), 6, "0x0801");
    const auto report = dump_report(text, &model.graph);
    REQUIRE(report["streams"][0].contains("task"));
    CHECK(report["streams"][0]["task"].is_null());
}

TEST_CASE("damaged dumps and traces give no report or say what they do not know", "[inspect]") {
    CHECK(dump_report("", nullptr).is_null());
    CHECK(dump_report("command 0x1\nreg 0x10", nullptr).is_null());
    const auto odd = dump_report("core x\nreg\ncommands\ncommand zzz\nsomething new\n", nullptr);
    REQUIRE(odd.is_object());
    CHECK(odd["other"][0] == "something new");
    CHECK_FALSE(render(odd).empty());
    CHECK(trace_report("").is_null());
    CHECK(trace_report("{").is_null());
    CHECK(trace_report("{\"type\":\"task\"}\n[1]\n").is_null());
    const auto bare = trace_report("{\"type\":\"task\",\"estimate\":3,\"macs\":\"x\"}\n");
    REQUIRE(bare.is_object());
    CHECK_FALSE(render(bare).empty());
}

TEST_CASE("a trace is summed up by task and job", "[inspect]") {
    const auto report = trace_report(
        "{\"type\":\"task\",\"core\":2,\"job\":7,\"task\":0,\"enable\":\"CNA|CORE|DPU\","
        "\"macs\":4096,\"estimate\":{\"class\":\"conv\",\"cycles\":12}}\n"
        "{\"type\":\"job\",\"core\":2,\"job\":7,\"end\":\"refused\",\"text\":\"why\"}\n");
    REQUIRE(report.is_object());
    CHECK(report["trace"]["tasks"].size() == 1);
    const auto text = render(report);
    CHECK_THAT(text, Catch::Contains("CNA|CORE|DPU") && Catch::Contains("4096") &&
                         Catch::Contains("refused") && Catch::Contains("why"));
}

TEST_CASE("the tables show every part that was asked for and no other", "[inspect]") {
    const auto model = digits();
    const auto all = render(model.report());
    for (const char* title : {"Inputs and outputs", "Tensors", "Layers", "Tasks", "Memory plan",
                              "Input patches", "Commands", "Lint"})
        CHECK_THAT(all, Catch::Contains(title));
    const auto few = render(model.report({Part::kLayers}));
    CHECK_THAT(few, Catch::Contains("Layers") && !Catch::Contains("Memory plan"));
}

TEST_CASE("real files of every layout and chip can be inspected", "[inspect][shared]") {
    const auto shared = shared_dir();
    if (shared.empty()) {
        WARN("skipped: no ../shared/data");
        return;
    }
    for (const char* name :
         {"mnist/mnist_int8_rk3588", "multiple_input/multiple_input_rk3588",
          "multiple_input/multiple_input_rk3588_layout2", "multiple_input/multiple_input_rk3576",
          "audio_fp16/sub_fix_add_out", "conv_fp16/conv_160_320_3x3_14x14_fp16_rk3588"}) {
        const auto model = load(shared + "/" + name + ".rknn");
        const auto report = model.report();
        INFO(name);
        CHECK(report["layers"].size() == model.graph.nodes.size());
        CHECK(report["patches"].size() == model.graph.input_patches.size());
        CHECK_FALSE(render(report).empty());
    }
}
