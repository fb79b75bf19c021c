// SPDX-License-Identifier: MIT
// Runs models on /dev/dri and on the NPU model inside the process and compares the bytes, and
// multiplies matrices on /dev/dri, there also on memory of others. Prints TAP. Models: RKNPU_MODELS
// (ours) and, where it exists, RKNPU_TEST_DATA (others'), or those named as arguments.
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "support/cpu_model.hpp"
#include "support/files.hpp"
#include "support/matmul_case.hpp"
#include "support/on_descriptors.hpp"
#include "support/other_file.hpp"
#include "support/run.hpp"

namespace {

using namespace rknpu::test;  // NOLINT: a program of its own

constexpr uint32_t kSeed = 20240607;
constexpr uint32_t kMasks[] = {0, 1, 2, 4, 3, 7};

class Tap {
 public:
    void result(bool good, const std::string& name) {
        std::printf("%sok %d %s\n", good ? "" : "not ", ++number_, name.c_str());
        std::fflush(stdout);
        failed_ = failed_ || !good;
    }
    void skip(const std::string& name, const char* why) {
        std::printf("ok %d %s # SKIP %s\n", ++number_, name.c_str(), why);
    }
    int finish() const {
        std::printf("1..%d\n", number_);
        return failed_ ? 1 : 0;
    }

 private:
    int number_ = 0;
    bool failed_ = false;
};

std::string file_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

void compare(Tap& tap, const std::string& path) {
    const auto name = file_name(path);
    const auto inputs = noise_inputs(path, "sim", kSeed);
    const auto expected = run_model(path, "sim", inputs);
    tap.result(expected.has_value(), name + ": runs in the process");
    if (!expected)
        return;
    for (const uint32_t mask : kMasks) {
        const auto got = run_model(path, "drm", inputs, mask);
        tap.result(got && *got == *expected,
                   name + ": same bytes on /dev/dri, core mask " + std::to_string(mask));
    }
    const auto later = run_model(path, "drm", inputs, 0, false, true);
    tap.result(later && *later == *expected, name + ": same bytes when waited for afterwards");
}

/// Multiplications on /dev/dri against plain arithmetic: every type, every mask, a split K.
void multiply_all(Tap& tap) {
    setenv("RKNPU_DEVICE", "drm", 1);
    for (const auto type : types_of("rk3588")) {
        for (uint32_t seed = 1; seed <= 2; ++seed) {
            const auto test = random_case(type, seed);
            tap.result(worst(multiply(test), expect(test)) <= 1.0, describe(test));
        }
    }
    for (const uint32_t mask : kMasks) {
        MatmulCase test;
        test.m = 3;
        test.k = 8224;
        test.n = 96;
        test.core_mask = mask;
        tap.result(worst(multiply(test), expect(test)) <= 1.0, describe(test));
    }
}

/// A descriptor of memory that this library has made. The object lives as long as the process: a
/// re-import has to find it.
int make_own(uint64_t size) {
    auto* memory = rknn_create_mem2(0, size, RKNN_MEM_FLAG_ALLOC_NO_CONTEXT);
    return memory == nullptr ? -1 : dup(memory->fd);
}

/// Two layers on the CPU with a tensor between them.
std::vector<std::byte> two_cpu_layers() {
    FileModel model;
    for (const char* name : {"in", "between", "out"})
        model.tensors.push_back({name, FileType::kFloat, {1, 4}});
    model.nodes = {{"Relu", "first", {0}, {1}}, {"Relu", "second", {1}, {2}}};
    model.inputs = {0};
    model.outputs = {2};
    return write_file(model);
}

/// Everything in memory that the library is given as descriptors.
void use_descriptors(Tap& tap) {
    const OtherFile other;
    const struct {
        const char* name;
        MakeMemory make;
    } kinds[] = {
        {"our own memory", make_own},
        {"another file's memory", [&](uint64_t size) { return other.make(size, false); }},
        {"another file's cached memory", [&](uint64_t size) { return other.make(size, true); }},
    };
    const auto path = models_dir() + "/digits/digits_int8_rk3588.rknn";
    const auto pixels = noise(28 * 28, kSeed);
    std::vector<float> input;
    for (const auto pixel : pixels)
        input.push_back(static_cast<float>(static_cast<uint8_t>(pixel)));
    const auto expected = run_model(path, "sim", {{pixels}}, 0, true);
    for (const auto& [name, make] : kinds) {
        const auto got = run_on_descriptors(read_all(path), input, make);
        tap.result(got && expected && *got == floats(expected->front()),
                   std::string("a model on the NPU in ") + name);
        const auto of_cpu = run_on_descriptors(two_cpu_layers(), {1, -2, 3, -4}, make);
        tap.result(of_cpu && *of_cpu == std::vector<float>{1, 0, 3, 0},
                   std::string("a model on the CPU in ") + name);
    }
}

std::vector<std::string> default_models() {
    std::vector<std::string> out{models_dir() + "/digits/digits_int8_rk3588.rknn"};
    const auto shared = shared_dir();
    if (shared.empty())
        return out;
    for (const char* name :
         {"/multiple_input/multiple_input_rk3588.rknn",
          "/multiple_input/multiple_input_rk3588_layout2.rknn", "/mnist/mnist_int8_rk3588.rknn"})
        out.push_back(shared + name);
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    Tap tap;
    std::vector<std::string> models(argv + 1, argv + argc);
    if (models.empty()) {
        models = default_models();
        multiply_all(tap);
        use_descriptors(tap);
    }
    for (const auto& path : models) {
        if (exists(path))
            compare(tap, path);
        else
            tap.skip(file_name(path), "the file is not there");
    }
    if (shared_dir().empty())
        tap.skip("models made by others", "RKNPU_TEST_DATA is not set or has no rknn folder");
    return tap.finish();
}
