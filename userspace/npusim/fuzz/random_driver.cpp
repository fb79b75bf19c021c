// SPDX-License-Identifier: MIT
// Runs the fuzz target without libFuzzer: on files given, or on random inputs.
// Usage: npusim_fuzz [SECONDS [SEED]] | npusim_fuzz FILE...
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kMaxInput = 4096;

bool is_number(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

int run_files(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        std::ifstream file(argv[i], std::ios::binary);
        if (!file) {
            std::fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 1;
        }
        const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
        std::vector<uint8_t> input(bytes.begin(), bytes.end());
        LLVMFuzzerTestOneInput(input.data(), input.size());
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && !is_number(argv[1]))
        return run_files(argc, argv);
    const auto seconds = std::chrono::seconds(argc > 1 ? std::atoi(argv[1]) : 10);
    std::mt19937_64 random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
    const auto end = std::chrono::steady_clock::now() + seconds;
    uint64_t runs = 0;
    std::vector<uint8_t> input;
    for (; std::chrono::steady_clock::now() < end; ++runs) {
        input.resize(random() % kMaxInput);
        for (uint8_t& byte : input)
            byte = static_cast<uint8_t>(random());
        // Kept so that a crash can be run again as a file.
        if (const char* path = std::getenv("NPUSIM_FUZZ_LAST"))
            std::ofstream(path, std::ios::binary)
                .write(reinterpret_cast<const char*>(input.data()),
                       static_cast<std::streamsize>(input.size()));
        LLVMFuzzerTestOneInput(input.data(), input.size());
    }
    std::printf("npusim_fuzz: %llu runs, none failed\n", static_cast<unsigned long long>(runs));
    return 0;
}
