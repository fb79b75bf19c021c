// SPDX-License-Identifier: MIT
// rknn-run as a program: mistakes of its user are told, and give a status that is not 0; what it
// computes on the way.
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "npy.hpp"
#include "support/files.hpp"

namespace {

struct Result {
    int status = 0;
    std::string text;  ///< stderr, and stdout unless the arguments send it elsewhere
};

/// RKNN_RUN with arguments for a shell.
Result run(const std::string& arguments, const std::string& environment = "") {
    const std::string command =
        "( " + environment + " RKNPU_DEVICE=sim '" RKNPU_RKNN_RUN "' " + arguments + " ) 2>&1";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"),
                                                               [](std::FILE*) { return 0; });
    REQUIRE(pipe);
    Result out;
    std::array<char, 4096> buffer;
    for (size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;)
        out.text.append(buffer.data(), got);
    const int status = pclose(pipe.get());
    out.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return out;
}

std::string digits() {
    return rknpu::test::models_dir() + "/digits";
}

std::string model() {
    return "'" + digits() + "/digits_int8_rk3588.rknn' ";
}

std::string picture() {
    return "'" + digits() + "/pictures/digit7_a.png' ";
}

}  // namespace

TEST_CASE("rknn-run takes no number that means nothing", "[tools]") {
    for (const char* option : {"--top -3", "--top x", "--loop -1", "--loop nan", "--loop inf",
                               "--loop 1x", "--loop ''", "--cores -1", "--device x"}) {
        const auto result = run(std::string(option) + " " + model() + picture());
        INFO(option << ": " << result.text);
        CHECK(result.status == 2);
        CHECK_FALSE(result.text.empty());
    }
    const auto good = run("--top 3 --loop 0.01 -q " + model() + picture());
    INFO(good.text);
    CHECK(good.status == 0);
}

TEST_CASE("rknn-run tells which of its files cannot be read", "[tools]") {
    const auto result = run("--labels /nowhere/labels " + model() + picture());
    CHECK(result.status == 1);
    CHECK(result.text == "/nowhere/labels: cannot be read: No such file or directory\n");
}

TEST_CASE("rknn-run fails when its output does not get out", "[tools]") {
    if (!std::filesystem::exists("/dev/full")) {
        WARN("skipped: this machine has no /dev/full");
        return;
    }
    const auto full = run(model() + picture() + " 3>&1 >/dev/full 2>&3");
    CHECK(full.status == 1);
    CHECK_THAT(full.text, Catch::Contains("No space left"));
    CHECK(run(model() + picture() + " >&-").status == 1);
    CHECK(run("--version >/dev/full").status == 1);
    CHECK(run(model() + picture() + " >/dev/full 2>/dev/full").status == 1);

    const rknpu::test::TempFolder temporary;
    const std::string folder = temporary.path();
    REQUIRE_FALSE(folder.empty());
    std::filesystem::create_symlink("/dev/full", folder + "/digit7_a_0.bin");
    std::filesystem::create_symlink("/dev/full", folder + "/digit7_a_0.npy");
    for (const char* option : {"--raw ", "--npy "}) {
        const auto result = run(option + folder + " " + model() + picture());
        INFO(result.text);
        CHECK(result.status == 1);
        CHECK_THAT(result.text, Catch::Contains("cannot be written: No space left"));
    }
    CHECK(run("--raw " + folder + "/digit7_a_0.bin/x " + model() + picture()).status == 1);
}

TEST_CASE("rknn-run does not write two outputs to one file", "[tools]") {
    const rknpu::test::TempFolder temporary;
    const std::string folder = temporary.path();
    REQUIRE_FALSE(folder.empty());
    const auto copy = folder + "/digit7_a.png ";
    std::filesystem::copy_file(digits() + "/pictures/digit7_a.png", folder + "/digit7_a.png");
    for (const char* option : {"--raw ", "--npy "}) {
        const auto result = run(option + folder + "/out " + model() + picture() + copy);
        INFO(result.text);
        CHECK(result.status == 2);
        CHECK_FALSE(std::filesystem::exists(folder + "/out"));
    }
    CHECK(run(model() + picture() + copy).status == 0);
}

TEST_CASE("rknn-run tells its version and how it takes raw bytes", "[tools]") {
    const auto version = run("--version");
    CHECK(version.status == 0);
    CHECK(version.text == "rknn-run " RKNPU_VERSION "\n");
    const auto help = run("--help");
    CHECK(help.status == 0);
    CHECK_THAT(help.text, Catch::Contains("float16"));
}

TEST_CASE("settings of the modelled NPU that mean nothing are refused", "[tools]") {
    const std::pair<const char*, std::vector<const char*>> wrong[] = {
        {"RKNPU_SIM_THREADS", {"abc", "-5", "0", "2x", "''", "99999999999"}},
        {"RKNPU_SIM_COHERENT", {"no", "2", "''"}},
    };
    for (const auto& [name, values] : wrong) {
        for (const char* value : values) {
            const auto result = run(model() + picture(), std::string(name) + "=" + value);
            INFO(value << ": " << result.text);
            CHECK(result.status == 1);
            CHECK_THAT(result.text, Catch::Contains(name));
        }
    }
    CHECK(run(model() + picture(), "RKNPU_SIM_THREADS=2 RKNPU_SIM_COHERENT=0").status == 0);
}

// The file's maker measured the range of each tensor on this photo (Documentation/hardware.rst), so
// the largest value of each tensor that is quantised anew must lie at the end of its range: an
// error in any layer, or in the way the photo is scaled, moves the maxima of all that follow.
TEST_CASE("segmentation fills the range that its maker measured in each layer",
          "[tools][models][shared]") {
    const auto file = rknpu::test::shared_file("segmentation/pp_human_segv2_rk3588.rknn");
    const auto photo = rknpu::test::shared_file("segmentation/test_image.jpg");
    if (file.empty() || photo.empty())
        return;
    const rknpu::test::TempFolder folder;
    const auto result = run("--quiet '" + file + "' '" + photo + "'",
                            "RKNN_LOG_LEVEL=5 RKNN_DUMP_QUANT=1 RKNN_DUMP_DIR=" + folder.path());
    REQUIRE(result.status == 0);
    size_t tensors = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
        const auto name = entry.path().filename().string();
        std::string error;
        const auto array = rknpu::tools::read_npy(entry.path().string(), error);
        INFO(name << ": " << error);
        REQUIRE(array.has_value());
        // These keep the range of what they read.
        if (array->descr != "|i1" || name.find("_Resize_") != std::string::npos ||
            name.find("_Concat_") != std::string::npos || name.starts_with("InputOperator"))
            continue;
        ++tensors;
        int largest = -128;
        size_t at_end = 0;
        for (const std::byte byte : array->data) {
            const int value = static_cast<int8_t>(byte);
            largest = std::max(largest, value);
            at_end += value == 127 ? 1 : 0;
        }
        // int8 arithmetic and the float network that was measured may differ by 2 % of the range.
        CHECK(largest >= 122);
        CHECK(at_end <= 12);
    }
    CHECK(tensors == 83);
}
