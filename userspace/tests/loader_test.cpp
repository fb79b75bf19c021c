// SPDX-License-Identifier: MIT
#include <catch2/catch.hpp>
#include <cstring>
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
    size_t payload = 0;
    std::memcpy(&payload, whole.data() + 16, sizeof(payload));
    const size_t step = std::max<size_t>(1, whole.size() / 997);
    for (size_t length = 0; length < whole.size(); length += length < 200 ? 1 : step) {
        const auto result = load({whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length)});
        // Behind the payload only the descriptive JSON is cut off.
        if (length < 64 + payload) {
            INFO("length " << length);
            REQUIRE_FALSE(result.ok());
            CHECK(result.status().error() == Error::kInvalidModel);
        }
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
