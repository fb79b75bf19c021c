// SPDX-License-Identifier: MIT
// Runs a fuzz target without libFuzzer: on files given, on random inputs, or on random changes of
// files.
// Usage: PROGRAM [SECONDS [SEED [FILE...]]] | PROGRAM FILE...
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
/// Targets that know how their inputs are built have one.
extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                                                size_t most, unsigned seed);

namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kMaxInput = 4096;   // of inputs that are made of nothing
constexpr size_t kMaxGrowth = 4096;  // of changed files
constexpr uint32_t kMaxChanges = 6;

std::mt19937_64& lots() {
    static std::mt19937_64 random;
    return random;
}

bool is_number(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

/// False, after a message, if the file cannot be read.
bool read(const char* path, Bytes& to) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        std::fprintf(stderr, "%s: cannot be read\n", path);
        return false;
    }
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    to.assign(bytes.begin(), bytes.end());
    return true;
}

int run_files(int argc, char** argv) {
    Bytes input;
    for (int i = 1; i < argc; ++i) {
        if (!read(argv[i], input))
            return 1;
        LLVMFuzzerTestOneInput(input.data(), input.size());
    }
    return 0;
}

Bytes random_input() {
    Bytes input(lots()() % kMaxInput);
    for (uint8_t& byte : input)
        byte = static_cast<uint8_t>(lots()());
    return input;
}

}  // namespace

/// libFuzzer's name for changes anywhere.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t) {
    for (uint32_t n = 1 + lots()() % kMaxChanges; n != 0 && size != 0; --n)
        data[lots()() % size] ^= static_cast<uint8_t>(1U << lots()() % 8);
    return size;
}

namespace {

Bytes changed(const Bytes& seed) {
    Bytes input = seed;
    for (uint32_t n = 1 + lots()() % kMaxChanges; n != 0; --n) {
        const size_t size = input.size();
        input.resize(size + kMaxGrowth);
        const bool custom = LLVMFuzzerCustomMutator != nullptr;
        input.resize(custom ? LLVMFuzzerCustomMutator(input.data(), size, input.size(),
                                                      static_cast<unsigned>(lots()()))
                            : LLVMFuzzerMutate(input.data(), size, input.size()));
    }
    return input;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && !is_number(argv[1]))
        return run_files(argc, argv);
    const auto seconds = std::chrono::seconds(argc > 1 ? std::atoi(argv[1]) : 10);
    lots().seed(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
    std::vector<Bytes> seeds;
    for (int i = 3; i < argc; ++i) {
        if (!read(argv[i], seeds.emplace_back()))
            return 1;
    }
    const auto end = std::chrono::steady_clock::now() + seconds;
    uint64_t runs = 0;
    for (; std::chrono::steady_clock::now() < end; ++runs) {
        const Bytes input =
            seeds.empty() ? random_input() : changed(seeds[lots()() % seeds.size()]);
        // Kept so that a crash can be run again as a file.
        if (const char* path = std::getenv("RKNPU_FUZZ_LAST"))
            std::ofstream(path, std::ios::binary)
                .write(reinterpret_cast<const char*>(input.data()),
                       static_cast<std::streamsize>(input.size()));
        LLVMFuzzerTestOneInput(input.data(), input.size());
    }
    std::printf("%llu runs, none failed\n", static_cast<unsigned long long>(runs));
    return 0;
}
