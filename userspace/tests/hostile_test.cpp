// SPDX-License-Identifier: MIT
// Files that lie: every number of a file is replaced by others. What the loader accepts must run
// inside the model's own buffers, whatever it computes. scripts/fuzz.sh searches further.
#include <cstring>
#include <random>

#include "cpu/operator.hpp"
#include "model/reader.hpp"
#include "support/edit_model.hpp"
#include "support/live_run.hpp"
#include "support/mutate_model.hpp"
#include "support/test_device.hpp"

using namespace rknpu;        // NOLINT: tests
using namespace rknpu::test;  // NOLINT

namespace {

struct Tally {
    size_t accepted = 0, refused = 0, tasks = 0;

    void graph(const JobGraph& graph) {
        ++accepted;
        const auto result = run_live(graph);
        tasks += result.tasks;
        INFO(result.escape);
        REQUIRE(result.escape.empty());
    }
    void file(std::vector<std::byte> bytes) {
        const auto shapes =
            read_shapes(std::make_shared<const std::vector<std::byte>>(std::move(bytes)), {});
        if (!shapes.ok()) {
            ++refused;
            REQUIRE_FALSE(shapes.status().text().empty());
            return;
        }
        for (const auto& one : shapes.value())
            graph(one);
    }
    /// A graph with something changed in it.
    void changed(JobGraph graph_) {
        graph_.input_patches.clear();
        if (validate(graph_).ok())
            graph(graph_);
        else
            ++refused;
    }
};

JobGraph load(const std::vector<std::byte>& file) {
    auto graph = read_model(std::make_shared<const std::vector<std::byte>>(file), {});
    INFO(graph.status().text());
    REQUIRE(graph.ok());
    return std::move(graph).value();
}

constexpr uint32_t kNumbers[] = {0,          1,          15,         0xff,       0xffff,
                                 0x00ffffff, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff};

constexpr uint64_t with_value(uint64_t word, uint32_t value) {
    return (word & ~(uint64_t{0xffffffff} << 16)) | uint64_t{value} << 16;
}

}  // namespace

TEST_CASE("hostile: an unchanged model runs all its tasks inside its buffers", "[hostile]") {
    const auto graph = load(digits_file());
    size_t all = 0;
    for (const auto count : graph.stream_count)
        all += count;
    const auto result = run_live(graph, uint64_t{1} << 30);
    CHECK(result.escape.empty());
    CHECK(result.tasks == all);
    CHECK(result.refused == 0);
}

TEST_CASE("hostile: the check of live runs sees an access outside", "[hostile]") {
    auto graph = load(digits_file());
    // What the loader would refuse: a surface pitch that leads far away.
    for (auto& word : graph.regcmd) {
        if (static_cast<uint16_t>(word) == 0x4024)
            word = with_value(word, 0x7ffffff0);
    }
    CHECK_FALSE(run_live(graph).escape.empty());
}

TEST_CASE("hostile: every word of the container's header", "[hostile]") {
    const auto whole = digits_file();
    uint64_t payload = 0;
    std::memcpy(&payload, whole.data() + 16, 8);
    Tally tally;
    for (const size_t at : {size_t{0}, size_t{4}, size_t{8}, size_t{12}, size_t{16}, size_t{20},
                            size_t{64}, size_t{68}, 64 + payload, 68 + payload}) {
        for (const uint32_t number : kNumbers) {
            auto bytes = whole;
            std::memcpy(bytes.data() + at, &number, sizeof(number));
            tally.file(std::move(bytes));
        }
    }
    CHECK(tally.refused > 50);
}

TEST_CASE("hostile: every number of every tensor", "[hostile]") {
    const auto whole = digits_file();
    size_t count = 0;
    (void)edit_model(whole,
                     [&](schema::ModelT& model) { count = model.graphs[0]->tensors.size(); });
    using Set = void (*)(schema::TensorT&, uint32_t);
    constexpr Set kFields[] = {
        [](schema::TensorT& t, uint32_t v) { t.dtype = static_cast<uint8_t>(v); },
        [](schema::TensorT& t, uint32_t v) { t.layout = static_cast<uint8_t>(v); },
        [](schema::TensorT& t, uint32_t v) { t.kind = static_cast<uint8_t>(v % 12); },
        [](schema::TensorT& t, uint32_t v) { t.size = v; },
        [](schema::TensorT& t, uint32_t v) { t.offset = v; },
        [](schema::TensorT& t, uint32_t v) { t.buffer = v; },
        [](schema::TensorT& t, uint32_t v) {
            if (!t.dims.empty())
                t.dims[v % t.dims.size()] = static_cast<int32_t>(v);
        },
        [](schema::TensorT& t, uint32_t v) {
            if (!t.native_dims.empty())
                t.native_dims[v % t.native_dims.size()] = static_cast<int32_t>(v);
        },
        [](schema::TensorT& t, uint32_t v) { t.dims.resize(v % 20, 1); },
        [](schema::TensorT& t, uint32_t v) { t.scale.assign(v % 3, 0.0f); },
    };
    Tally tally;
    for (size_t i = 0; i < count; ++i)
        for (const auto set : kFields)
            for (const uint32_t number : kNumbers)
                tally.file(edit_model(whole, [&](schema::ModelT& model) {
                    set(*model.graphs[0]->tensors[i], number);
                }));
    CHECK(tally.refused > 100);
    CHECK(tally.accepted > 100);
}

TEST_CASE("hostile: every register command", "[hostile]") {
    const auto good = load(digits_file());
    Tally tally;
    for (size_t i = 0; i < good.regcmd.size(); ++i) {
        const uint64_t word = good.regcmd[i];
        const auto value = static_cast<uint32_t>(word >> 16);
        // Bits of sizes and steps, and one of the extremes in turn.
        for (const uint32_t to : {value + 1, value * 2, value + 0x10000, value ^ 0x10,
                                  kNumbers[i % std::size(kNumbers)]}) {
            if (to == value)
                continue;
            auto graph = good;
            graph.regcmd[i] = with_value(word, to);
            tally.changed(std::move(graph));
        }
        auto graph = good;
        graph.regcmd[i] = word ^ 4;  // another register
        tally.changed(std::move(graph));
    }
    CHECK(tally.refused > good.regcmd.size() / 4);
    CHECK(tally.accepted > good.regcmd.size() / 4);
    CHECK(tally.tasks > 1000);
}

TEST_CASE("hostile: blocks that do not exist are not enabled", "[hostile]") {
    const auto good = load(digits_file());
    for (const auto& task : good.tasks) {
        for (uint32_t bit = 7; bit < 32; ++bit) {
            auto graph = good;
            graph.regcmd[task.regcmd_addr / 8 + task.regcfg_amount + 3] |= uint64_t{1}
                                                                           << (16 + bit);
            CHECK_THAT(validate(graph).text(), Catch::Contains("that do not exist"));
        }
    }
}

TEST_CASE("hostile: every task record and every relocation", "[hostile]") {
    const auto good = load(digits_file());
    Tally tally;
    for (size_t i = 0; i < good.tasks.size(); ++i)
        for (const uint32_t number : kNumbers)
            for (const auto field :
                 {&TaskRecord::op_idx, &TaskRecord::enable_mask, &TaskRecord::int_mask,
                  &TaskRecord::regcfg_amount, &TaskRecord::regcfg_offset}) {
                auto graph = good;
                graph.tasks[i].*field = number;
                tally.changed(std::move(graph));
                graph = good;
                graph.tasks[i].regcmd_addr += static_cast<int32_t>(number);
                tally.changed(std::move(graph));
            }
    for (size_t i = 0; i < good.relocations.size(); ++i) {
        const auto& item = good.relocations[i];
        const auto size = good.tensors[static_cast<size_t>(item.tensor)].size;
        for (const uint64_t addend : {size - 1, size - 16, size, size / 2, uint64_t{0xffffffff}}) {
            auto graph = good;
            graph.relocations[i].addend = static_cast<uint32_t>(addend);
            tally.changed(std::move(graph));
        }
        for (size_t tensor = 0; tensor < good.tensors.size(); ++tensor) {
            auto graph = good;
            graph.relocations[i].tensor = static_cast<int32_t>(tensor);
            tally.changed(std::move(graph));
        }
        for (const uint32_t word : {item.word + 1, item.word - 1, 0u, 0xffffffffu}) {
            auto graph = good;
            graph.relocations[i].word = word;
            tally.changed(std::move(graph));
        }
    }
    CHECK(tally.refused > 100);
}

TEST_CASE("hostile: several changes at once, in all kinds of files", "[hostile]") {
    std::vector<std::vector<std::byte>> seeds = {
        digits_file(), edit_model(digits_file(), [](schema::ModelT& m) { add_input_patches(m); }),
        write_file(
            one_node("Softmax", {"", FileType::kInt8, {1, 8, 2, 2}, {1, 1, 2, 2, 16}, 1, 0}))};
    if (const auto shared = shared_dir(); !shared.empty()) {
        for (const char* name :
             {"multiple_input/multiple_input_rk3588.rknn",
              "multiple_input/multiple_input_rk3588_layout2.rknn",
              "multiple_input/multiple_input_rk3576.rknn", "audio_fp16/sub_after_f2_conv.rknn"})
            seeds.push_back(read_all(shared + "/" + name));
    } else {
        WARN("without files of others: no ../shared/data");
    }
    Tally tally;
    std::mt19937 random(5);
    for (const auto& seed : seeds)
        for (int round = 0; round < 250; ++round)
            tally.file(edit_model(seed, [&](schema::ModelT& model) {
                for (int i = 0; i <= round % 3; ++i)
                    mutate_model(model, random);
            }));
    CHECK(tally.refused > 100);
    CHECK(tally.accepted > 100);
}

TEST_CASE("hostile: operands that do not fit a CPU operator give an error", "[hostile]") {
    const FileTensor kinds[] = {{"", FileType::kFloat, {}},
                                {"", FileType::kFloat, {0}},
                                {"", FileType::kInt64, {3}},
                                {"", FileType::kInt8, {1, 20, 2, 2}, {1, 2, 2, 2, 16}, 0.5f, -1},
                                {"", FileType::kHalf, {2, 1, 3}}};
    size_t failed = 0;
    size_t count = 0;
    for (const auto type : cpu::operator_types())
        for (size_t operands = 1; operands <= 3; ++operands)
            for (size_t kind = 0; kind < std::size(kinds); ++kind) {
                FileModel model;
                model.nodes = {{std::string(type), "node", {}, {}}};
                for (size_t i = 0; i <= operands; ++i) {
                    auto tensor = kinds[(kind + i * i) % std::size(kinds)];
                    const bool end = i == 0 || i == operands;
                    if (end && (tensor.dims.empty() || tensor.dims[0] == 0))
                        tensor = kinds[3 + kind % 2];  // ends of a graph hold something
                    tensor.name = "t" + std::to_string(i);
                    model.tensors.push_back(tensor);
                    auto& node = model.nodes.front();
                    (i == operands ? node.outputs : node.inputs).push_back(static_cast<int32_t>(i));
                }
                model.inputs = {0};
                model.outputs = {static_cast<int32_t>(operands)};
                INFO(type << ", " << operands << " operands, kind " << kind);
                Capture quiet(LogLevel::kError);
                const Net net(model);
                ++count;
                if (net.code != RKNN_SUCC) {
                    ++failed;
                    continue;
                }
                const auto attr = net.attr(RKNN_QUERY_INPUT_ATTR);
                const std::vector<std::byte> bytes(size_t{attr.n_elems} * 8);
                REQUIRE(net.set(bytes.data(), bytes.size(), attr.type, attr.fmt) == RKNN_SUCC);
                failed += net.run() == RKNN_SUCC ? 0 : 1;
            }
    CHECK(failed > count / 3);
}
