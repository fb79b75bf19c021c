// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <random>

#include "model/reader.hpp"
#include "support/files.hpp"

using namespace rknpu;        // NOLINT: tests of this namespace
using namespace rknpu::test;  // NOLINT

namespace {

std::vector<std::byte> digits() {
    return read_all(models_dir() + "/digits/digits_int8_rk3588.rknn");
}

Result<JobGraph> load(std::vector<std::byte> bytes, std::string_view soc = "rk3588") {
    return read_model(std::make_shared<const std::vector<std::byte>>(std::move(bytes)), soc);
}

std::vector<std::byte> text(std::string_view characters) {
    const auto* start = reinterpret_cast<const std::byte*>(characters.data());
    return {start, start + characters.size()};
}

std::string refusal(std::vector<std::byte> bytes, Error expected = Error::kInvalidModel) {
    const auto result = load(std::move(bytes));
    REQUIRE_FALSE(result.ok());
    CHECK(result.status().error() == expected);
    return result.status().text();
}

}  // namespace

TEST_CASE("a model of our own loads into a consistent graph", "[loader]") {
    const auto result = load(digits());
    REQUIRE(result.ok());
    const auto& graph = result.value();
    CHECK(graph.target == "rk3588");
    CHECK(graph.inputs.size() == 1);
    CHECK(graph.outputs.size() == 1);
    CHECK(graph.stream_count[0] > 0);
    for (const auto& task : graph.tasks)
        CHECK((task.regcmd_addr / 8 + task.regcfg_amount + 4) <= graph.regcmd.size());
    for (const auto& item : graph.relocations)
        CHECK(item.word < graph.regcmd.size());
}

TEST_CASE("every truncation of a model is refused without harm", "[loader]") {
    const auto whole = digits();
    REQUIRE_FALSE(whole.empty());
    const size_t step = std::max<size_t>(1, whole.size() / 997);
    for (size_t length = 0; length < whole.size(); length += length < 200 ? 1 : step) {
        const auto result = load({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length)});
        INFO("length " << length);
        REQUIRE_FALSE(result.ok());
        CHECK(result.status().error() == Error::kInvalidModel);
    }
}

TEST_CASE("flipped bits give a model or an error, never a crash", "[loader]") {
    auto paths = std::vector{models_dir() + "/digits/digits_int8_rk3588.rknn"};
    if (const auto shared = shared_dir(); !shared.empty()) {
        paths.push_back(shared + "/multiple_input/multiple_input_rk3588.rknn");
        paths.push_back(shared + "/multiple_input/multiple_input_rk3588_layout2.rknn");
    }
    std::mt19937 random(7);
    size_t refused = 0;
    for (const auto& path : paths) {
        const auto whole = read_all(path);
        REQUIRE_FALSE(whole.empty());
        for (int round = 0; round < 400; ++round) {
            auto bytes = whole;
            const int flips = 1 + round % 4;
            for (int i = 0; i < flips; ++i)
                bytes[random() % bytes.size()] ^= static_cast<std::byte>(1u << random() % 8);
            refused += load(std::move(bytes)).ok() ? 0 : 1;
        }
    }
    CHECK(refused > 0);
}

TEST_CASE("words of the structure replaced by extremes never crash", "[loader]") {
    const auto whole = digits();
    for (size_t at = 64; at + 4 <= std::min<size_t>(whole.size(), 12000); at += 4) {
        for (const uint32_t value : {0u, 0x7fffffffu, 0xffffffffu, 0x80000000u}) {
            auto bytes = whole;
            std::memcpy(bytes.data() + at, &value, sizeof(value));
            (void)load(std::move(bytes));
        }
    }
    SUCCEED();
}

TEST_CASE("files that are no model say what they are", "[loader]") {
    CHECK_THAT(refusal({}), Catch::Contains("does not start with the letters RKNN"));
    CHECK_THAT(refusal(text("CYPTRKNN and more")), Catch::Contains("Encrypted"));
    CHECK_THAT(refusal(text("RKNX0000 and more")), Catch::Contains("RKNN3"));
    CHECK_THAT(refusal(text("VPMN0000 and more")), Catch::Contains("rknn-toolkit"));
    CHECK_THAT(refusal(text(std::string_view("\x1c\0\0\0TFL3____", 12))),
               Catch::Contains("TensorFlow Lite"));
    CHECK_THAT(refusal(text(std::string_view("\x08\x07\x12\x07pytorch", 11))),
               Catch::Contains("ONNX"));
    CHECK_THAT(refusal(text("\x89PNG\r\n\x1a\n")), Catch::Contains("Invalid RKNN format"));
    auto bare = digits();
    bare.erase(bare.begin(), bare.begin() + 64);
    CHECK_THAT(refusal(bare), Catch::Contains("without its header"));
}

TEST_CASE("versions outside the known ones are named", "[loader]") {
    auto bytes = digits();
    bytes[8] = std::byte{7};
    CHECK_THAT(refusal(bytes), Catch::Contains("Invalid RKNN model version 0x7"));
    bytes[8] = std::byte{1};
    CHECK_THAT(refusal(bytes), Catch::Contains("older than 1.4"));
    bytes[8] = std::byte{4};
    bytes[9] = std::byte{0x10};
    CHECK_THAT(refusal(bytes), Catch::Contains("mini format"));
}

TEST_CASE("a model for another chip is refused with both names", "[loader]") {
    const auto result = load(digits(), "rk3576");
    REQUIRE_FALSE(result.ok());
    CHECK(result.status().error() == Error::kPlatformMismatch);
    CHECK_THAT(result.status().text(), Catch::Contains("rk3588") && Catch::Contains("rk3576"));
}

TEST_CASE("the files of others that must be refused are", "[loader][shared]") {
    const auto shared = shared_dir();
    if (shared.empty()) {
        WARN("skipped: no ../shared/data");
        return;
    }
    CHECK_THAT(refusal(read_all(shared + "/refuse/rv1103_mini.rknn")),
               Catch::Contains("mini format"));
    CHECK_THAT(refusal(read_all(shared + "/refuse/toolkit1_osnet.rknn")),
               Catch::Contains("older than 1.4"));
    CHECK_THAT(refusal(read_all(shared + "/multiple_input/mi_test.onnx")), Catch::Contains("ONNX"));
    refusal(read_all(shared + "/multiple_input/multiple_input_rk3576.rknn"),
            Error::kPlatformMismatch);
}

TEST_CASE("commands that leave the model's own buffers are refused", "[loader]") {
    auto result = load(digits());
    REQUIRE(result.ok());
    const auto good = std::move(result).value();
    REQUIRE_FALSE(good.relocations.empty());

    SECTION("an address that nothing relocates") {
        auto graph = good;
        const auto word = graph.relocations.back().word;
        graph.relocations.pop_back();
        graph.regcmd[word] |= uint64_t{0x12340000} << 16;
        CHECK_THAT(validate(graph).text(), Catch::Contains("address"));
    }
    SECTION("an addend behind its tensor") {
        auto graph = good;
        graph.relocations[0].addend = 0x7fffffff;
        CHECK_THAT(validate(graph).text(), Catch::Contains("points behind"));
    }
    SECTION("a relocation outside the commands") {
        auto graph = good;
        graph.relocations[0].word = static_cast<uint32_t>(graph.regcmd.size());
        CHECK_FALSE(validate(graph).ok());
    }
    SECTION("a jump out of the commands") {
        auto graph = good;
        REQUIRE_FALSE(graph.chain_words.empty());
        auto& word = graph.regcmd[graph.chain_words[0]];
        word = (word & ~(uint64_t{0xffffffff} << 16)) | uint64_t{0x0ffffff0} << 16;
        CHECK_THAT(validate(graph).text(), Catch::Contains("continues outside"));
    }
    SECTION("a command that steers the program counter") {
        auto graph = good;
        graph.regcmd[graph.tasks[0].regcmd_addr / 8] = uint64_t{0x0101} << 48 | 0x10;
        CHECK_THAT(validate(graph).text(), Catch::Contains("program counter"));
    }
    SECTION("a task behind the commands") {
        auto graph = good;
        graph.tasks[0].regcfg_amount = 1u << 30;
        CHECK_THAT(validate(graph).text(), Catch::Contains("outside the commands"));
    }
}

TEST_CASE("addresses are checked by the register map of the model's chip", "[loader]") {
    auto result = load(digits());
    REQUIRE(result.ok());
    auto graph = std::move(result).value();
    graph.target = "rk3576";
    // The same commands mean other things there: 0x1070 and 0x4020 take no address.
    CHECK_THAT(validate(graph).text(), Catch::Contains("takes no address"));
    for (auto& word : graph.regcmd) {
        const auto offset = static_cast<uint16_t>(word);
        if (offset == 0x1070 || offset == 0x4020)
            word = (word & ~uint64_t{0xffff}) | (offset == 0x1070 ? 0x1088 : 0x4018);
        else if (offset == 0x1088 || offset == 0x4018 || offset == 0x502c)
            word = 0;
    }
    // What is left to complain about are registers that the other chip wants as well.
    REQUIRE_THAT(validate(graph).text(), Catch::Contains("does not set"));
    for (const uint16_t wanted : {0x1088, 0x4018}) {
        auto bad = graph;
        std::erase_if(bad.relocations, [&](const WordRelocation& item) {
            return static_cast<uint16_t>(bad.regcmd[item.word]) == wanted;
        });
        REQUIRE(bad.relocations.size() < graph.relocations.size());
        for (auto& word : bad.regcmd) {
            if (static_cast<uint16_t>(word) == wanted)
                word |= uint64_t{0x1000} << 16;
        }
        CHECK_THAT(validate(bad).text(), Catch::Contains("of its own"));
    }
}

TEST_CASE("models of RK3576 load with their packed images' row pitch", "[loader][shared]") {
    const auto shared = shared_dir();
    if (shared.empty()) {
        WARN("skipped: no ../shared/data");
        return;
    }
    for (const char* name : {"multiple_input/multiple_input", "segmentation/pp_human_segv2"}) {
        const auto result = load(read_all(shared + "/" + name + "_rk3576.rknn"), "rk3576");
        INFO(name << ": " << result.status().text());
        REQUIRE(result.ok());
        const auto& graph = result.value();
        CHECK(graph.stream_count[0] > 0);
        CHECK(graph.stream_count[3] == 0);
        for (const int32_t input : graph.inputs) {
            const auto& tensor = graph.tensors[static_cast<size_t>(input)];
            const auto pixel = static_cast<uint64_t>(tensor.native_dims[4]);
            CHECK(tensor.row_stride >= static_cast<uint32_t>(tensor.native_dims[3]));
            CHECK(pixel * tensor.row_stride * static_cast<uint64_t>(tensor.native_dims[2]) <=
                  tensor.size);
        }
    }
}

TEST_CASE("input patches are taken over only where they fit their commands", "[loader][shared]") {
    const auto shared = shared_dir();
    if (shared.empty()) {
        WARN("skipped: no ../shared/data");
        return;
    }
    const auto whole = read_all(shared + "/mobilenet_v2/mobilenet_v2_int8_rk3588.rknn");
    const auto result = load(whole);
    REQUIRE(result.ok());
    const auto& graph = result.value();
    REQUIRE_FALSE(graph.input_patches.empty());
    for (const auto& patch : graph.input_patches) {
        CHECK(patch.tensor == graph.inputs.front());
        CHECK(patch.geometry.size() == 6);
        CHECK(patch.converter.size() == 8);
        for (const auto& item : patch.converter)
            CHECK(static_cast<uint32_t>(graph.regcmd[item.word] >> 16) == item.value);
    }
    // Registers of another chip stand elsewhere: its tables do not fit.
    const auto other = load(read_all(shared + "/multiple_input/multiple_input_rk3576.rknn"), "");
    REQUIRE(other.ok());
    CHECK(other.value().input_patches.empty());
}

TEST_CASE("a task that would leave the model's own buffers is refused", "[loader]") {
    auto result = load(digits());
    REQUIRE(result.ok());
    const auto good = std::move(result).value();
    const auto value = [](uint64_t word) { return static_cast<uint32_t>(word >> 16); };
    const auto set = [](uint64_t& word, uint32_t to) {
        word = (word & ~(uint64_t{0xffffffff} << 16)) | uint64_t{to} << 16;
    };
    struct Change {
        uint16_t register_offset;
        uint32_t mask, to;
    };
    // Sizes, pitches and steps that carry reads and writes far away.
    const Change changes[] = {{0x107c, 0x0fffffff, 0x00800000},   // CNA line stride
                              {0x4024, 0xfffffff0, 0x7ffffff0},   // DPU surface stride
                              {0x4038, 0x1fff1fff, 0x1fff1fff}};  // DPU pixels after a row
    for (const auto& change : changes) {
        auto graph = good;
        size_t changed = 0;
        for (auto& word : graph.regcmd) {
            if (static_cast<uint16_t>(word) != change.register_offset)
                continue;
            set(word, (value(word) & ~change.mask) | change.to);
            ++changed;
        }
        INFO("register " << change.register_offset);
        REQUIRE(changed > 0);
        CHECK_THAT(validate(graph).text(), Catch::Contains("outside the model's own buffers"));
    }
}

TEST_CASE("an operator may not rely on what others have left in the registers", "[loader]") {
    auto result = load(digits());
    REQUIRE(result.ok());
    for (const uint16_t left_out : {0x1020, 0x4024, 0x5018}) {
        auto graph = result.value();
        size_t changed = 0;
        for (auto& word : graph.regcmd) {
            if (static_cast<uint16_t>(word) == left_out && (word >> 48) != 0) {
                word = 0;
                ++changed;
            }
        }
        std::erase_if(graph.relocations,
                      [&](const WordRelocation& item) { return graph.regcmd[item.word] == 0; });
        INFO("register " << left_out);
        REQUIRE(changed > 0);
        CHECK_THAT(validate(graph).text(), Catch::Contains("does not set"));
    }
}

TEST_CASE("tasks may not fetch, enable or address more than they say", "[loader]") {
    auto result = load(digits());
    REQUIRE(result.ok());
    const auto good = std::move(result).value();
    REQUIRE_FALSE(good.chain_words.empty());
    SECTION("a fetch behind the next task") {
        auto graph = good;
        graph.regcmd[graph.chain_words[0] + 1] |= uint64_t{0xffff} << 16;
        CHECK_THAT(validate(graph).text(), Catch::Contains("fetches more"));
    }
    SECTION("a jump into the middle of a task") {
        auto graph = good;
        auto& word = graph.regcmd[graph.chain_words[0]];
        word += uint64_t{16} << 16;
        CHECK_THAT(validate(graph).text(), Catch::Contains("continues outside"));
    }
    SECTION("a register write in the tail") {
        auto graph = good;
        const auto& task = graph.tasks[0];
        graph.regcmd[task.regcmd_addr / 8 + task.regcfg_amount] =
            uint64_t{0x1001} << 48 | uint64_t{0x1000} << 16 | 0x4020;
        CHECK_THAT(validate(graph).text(), Catch::Contains("at its end"));
    }
    SECTION("a task around another one's end") {
        auto graph = good;
        REQUIRE(graph.tasks.size() > 1);
        const auto second = graph.tasks[1];
        graph.tasks[0].regcfg_amount = static_cast<uint32_t>(
            (second.regcmd_addr - graph.tasks[0].regcmd_addr) / 8 + second.regcfg_amount);
        CHECK_FALSE(validate(graph).ok());
    }
    SECTION("a command for several blocks") {
        auto graph = good;
        graph.regcmd[graph.tasks[0].regcmd_addr / 8] = uint64_t{0x3001} << 48 | 0x4010;
        CHECK_THAT(validate(graph).text(), Catch::Contains("of the block"));
    }
}

TEST_CASE("real files of both chips stay inside their buffers", "[loader][shared]") {
    const auto shared = shared_dir();
    if (shared.empty()) {
        WARN("skipped: no ../shared/data");
        return;
    }
    size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(shared)) {
        if (entry.path().extension() != ".rknn" ||
            entry.path().parent_path().filename() == "refuse")
            continue;
        const auto loaded = load(read_all(entry.path().string()), "");
        INFO(entry.path().filename() << ": " << loaded.status().text());
        CHECK(loaded.ok());
        ++files;
    }
    CHECK(files >= 20);
}
