// SPDX-License-Identifier: MIT
#include "support/files.hpp"

#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>

namespace rknpu::test {

bool exists(const std::string& path) {
    struct stat info {};
    return stat(path.c_str(), &info) == 0;
}

TempFolder::TempFolder() {
    // mkdtemp() replaces the last six characters, which must be these.
    auto name = (std::filesystem::temp_directory_path() / "rknpu-test-").string();
    name.append(6, 'X');
    path_ = mkdtemp(name.data()) != nullptr ? name : "";
}

TempFolder::~TempFolder() {
    std::error_code ignored;
    if (!path_.empty())
        std::filesystem::remove_all(path_, ignored);
}

std::string models_dir() {
    const char* from = std::getenv("RKNPU_MODELS");
    return from != nullptr ? from : RKNPU_SOURCE_MODELS;
}

std::string shared_dir() {
    const char* from = std::getenv("RKNPU_TEST_DATA");
    const std::string dir = from != nullptr ? from : RKNPU_SOURCE_SHARED;
    return exists(dir + "/rknn") ? dir + "/rknn" : std::string();
}

std::string shared_file(const std::string& name) {
    const auto shared = shared_dir();
    if (shared.empty() || !exists(shared + "/" + name)) {
        std::printf("skipped: no %s among the models of others (RKNPU_TEST_DATA)\n", name.c_str());
        return {};
    }
    return shared + "/" + name;
}

std::vector<std::byte> read_all(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                               &std::fclose);
    std::vector<std::byte> out;
    if (!file)
        return out;
    std::byte buffer[65536];
    size_t got = 0;
    while ((got = std::fread(buffer, 1, sizeof(buffer), file.get())) > 0)
        out.insert(out.end(), buffer, buffer + got);
    return out;
}

std::vector<std::byte> noise(size_t count, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<std::byte> out(count);
    for (auto& byte : out)
        byte = static_cast<std::byte>(random() >> 24);
    return out;
}

}  // namespace rknpu::test
