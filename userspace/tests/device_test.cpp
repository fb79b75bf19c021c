// SPDX-License-Identifier: MIT
// What the runtime asks of a device, and what it makes of a device's failures. These tests replace
// the device, so they link the library's objects instead of librknnrt.so.
#include <rknn_api.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "api/memory.hpp"
#include "support/test_device.hpp"

using namespace rknpu;        // NOLINT: tests
using namespace rknpu::test;  // NOLINT

namespace {

// A sanitizer has its own malloc().
[[maybe_unused]] std::atomic<uint64_t> allocations{0};
[[maybe_unused]] thread_local bool counting = false;
[[maybe_unused]] thread_local bool exhausted = false;  // no memory is left

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define RKNPU_COUNTS_ALLOCATIONS
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);

void* malloc(size_t size) {
    allocations += counting && !inside_device ? 1 : 0;
    return exhausted ? nullptr : __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
    allocations += counting && !inside_device ? 1 : 0;
    return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
    allocations += counting && !inside_device ? 1 : 0;
    return __libc_realloc(old, size);
}
}
#endif

namespace {

/// The digit model with bound native buffers: nothing is converted.
struct Native {
    explicit Native(uint32_t flags = 0) : net(digits_file(), flags) {
        REQUIRE(net.code == RKNN_SUCC);
        auto input = net.attr(RKNN_QUERY_NATIVE_INPUT_ATTR);
        auto output = net.attr(RKNN_QUERY_NATIVE_OUTPUT_ATTR);
        in = net.memory(input.size_with_stride);
        out = net.memory(output.size_with_stride * 4);
        REQUIRE(rknn_set_io_mem(net.handle, in, &input) == RKNN_SUCC);
        REQUIRE(rknn_set_io_mem(net.handle, out, &output) == RKNN_SUCC);
    }
    Net net;
    rknn_tensor_mem* in = nullptr;
    rknn_tensor_mem* out = nullptr;
};

std::string two_input_model() {
    const auto shared = shared_dir();
    const auto path = shared + "/multiple_input/multiple_input_rk3588.rknn";
    return !shared.empty() && exists(path) ? path : std::string();
}

}  // namespace

TEST_CASE("a run of the two-input demo is one SUBMIT and fewer than six MEM_SYNC", "[device]") {
    const auto path = two_input_model();
    if (path.empty()) {
        WARN("skipped: multiple_input_rk3588.rknn is not there (RKNPU_TEST_DATA)");
        return;
    }
    const Placed placed;
    auto& device = *placed.device;
    const Net net(read_all(path));
    REQUIRE(net.code == RKNN_SUCC);
    std::vector<std::vector<std::byte>> bytes;
    std::vector<rknn_input> inputs;
    uint64_t input_bytes = 0;
    for (uint32_t i = 0; i < 2; ++i) {
        const auto attr = net.attr(RKNN_QUERY_INPUT_ATTR, i);
        bytes.push_back(noise(attr.n_elems, i));
        input_bytes += net.attr(RKNN_QUERY_NATIVE_INPUT_ATTR, i).size_with_stride;
    }
    for (uint32_t i = 0; i < 2; ++i)
        inputs.push_back({i, bytes[i].data(), static_cast<uint32_t>(bytes[i].size()), 0,
                          RKNN_TENSOR_UINT8, RKNN_TENSOR_NHWC});
    rknn_output output{};
    output.want_float = 1;
    for (int i = 0; i < 3; ++i) {
        device.reset();
        REQUIRE(rknn_inputs_set(net.handle, 2, inputs.data()) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        REQUIRE(rknn_outputs_get(net.handle, 1, &output, nullptr) == RKNN_SUCC);
        REQUIRE(rknn_outputs_release(net.handle, 1, &output) == RKNN_SUCC);
        CHECK(device.submits == 1);
        // The first run also syncs the commands.
        CHECK(device.syncs <= (i == 0 ? 3 : 2));
        CHECK(device.syncs < 6);
        if (i > 0)
            CHECK(device.to_device <= input_bytes + 1024);
    }
    // Inputs that did not change are not synced again.
    device.reset();
    REQUIRE(net.run() == RKNN_SUCC);
    CHECK(device.to_device == 0);
}

TEST_CASE("syncs cover what changed and nothing else", "[device]") {
    const Placed placed;
    auto& device = *placed.device;
    Native native;
    REQUIRE(native.net.run() == RKNN_SUCC);
    device.reset();
    REQUIRE(native.net.run() == RKNN_SUCC);
    CHECK(device.submits == 1);
    CHECK(device.syncs == 2);
    CHECK(device.to_device <= native.in->size);
    CHECK(device.from_device <= native.out->size);
    // The same buffers once more change no command.
    auto input = native.net.attr(RKNN_QUERY_NATIVE_INPUT_ATTR);
    REQUIRE(rknn_set_io_mem(native.net.handle, native.in, &input) == RKNN_SUCC);
    device.reset();
    REQUIRE(native.net.run() == RKNN_SUCC);
    CHECK(device.syncs == 2);
}

TEST_CASE("S1 flags leave cache maintenance to the caller", "[device][S1]") {
    const Placed placed;
    auto& device = *placed.device;
    for (const uint32_t flags : {0u, uint32_t{RKNN_FLAG_DISABLE_FLUSH_INPUT_MEM_CACHE},
                                 uint32_t{RKNN_FLAG_DISABLE_FLUSH_OUTPUT_MEM_CACHE}}) {
        Native native(flags);
        REQUIRE(native.net.run() == RKNN_SUCC);
        device.reset();
        REQUIRE(native.net.run() == RKNN_SUCC);
        CHECK((device.to_device != 0) == (flags != RKNN_FLAG_DISABLE_FLUSH_INPUT_MEM_CACHE));
        CHECK((device.from_device != 0) == (flags != RKNN_FLAG_DISABLE_FLUSH_OUTPUT_MEM_CACHE));
    }
}

TEST_CASE("the runtime allocates nothing in a run in steady state", "[device]") {
#ifdef RKNPU_COUNTS_ALLOCATIONS
    const Placed placed;  // the model of the NPU may allocate
    const auto count = [](auto&& body) {
        allocations = 0;
        counting = true;
        body();
        counting = false;
        return allocations.load();
    };
    // The counter works.
    CHECK(count([] { std::free(std::malloc(1)); }) == 1);
    const auto pixels = digit_pixels();
    SECTION("native buffers") {
        Native native;
        REQUIRE(native.net.run() == RKNN_SUCC);
        int code = 0;
        CHECK(count([&] { code = native.net.run(); }) == 0);
        CHECK(code == RKNN_SUCC);
    }
    SECTION("buffers that are converted") {
        Net net(digits_file());
        auto input = net.attr(RKNN_QUERY_INPUT_ATTR);
        auto output = net.attr(RKNN_QUERY_OUTPUT_ATTR);
        input.type = RKNN_TENSOR_FLOAT32;
        output.type = RKNN_TENSOR_FLOAT32;
        auto* in = net.memory(input.n_elems * 4);
        auto* out = net.memory(output.n_elems * 4);
        REQUIRE(rknn_set_io_mem(net.handle, in, &input) == RKNN_SUCC);
        REQUIRE(rknn_set_io_mem(net.handle, out, &output) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        int code = 0;
        CHECK(count([&] { code = net.run(); }) == 0);
        CHECK(code == RKNN_SUCC);
    }
    SECTION("the general interface") {
        const Net net(digits_file());
        net.digit(pixels);
        rknn_input input{
            0, const_cast<std::byte*>(pixels.data()), 784, 0, RKNN_TENSOR_UINT8, RKNN_TENSOR_NHWC};
        rknn_output output{};
        output.want_float = 1;
        int code = 0;
        CHECK(count([&] {
                  code += rknn_inputs_set(net.handle, 1, &input);
                  code += rknn_run(net.handle, nullptr);
                  code += rknn_outputs_get(net.handle, 1, &output, nullptr);
                  code += rknn_outputs_release(net.handle, 1, &output);
              }) == 0);
        CHECK(code == RKNN_SUCC);
    }
#else
    WARN("skipped: a sanitizer has its own allocator");
#endif
}

TEST_CASE("E1 without any memory a call fails and no exception leaves it", "[device][E1]") {
#ifdef RKNPU_COUNTS_ALLOCATIONS
    Capture capture(LogLevel::kError);
    const Net net(digits_file());
    rknn_input input{0, nullptr, 0, 0, RKNN_TENSOR_UINT8, RKNN_TENSOR_NHWC};
    int code = 0;
    exhausted = true;
    code = rknn_inputs_set(net.handle, 1, &input);
    exhausted = false;
    CHECK(code == RKNN_ERR_MALLOC_FAIL);
    CHECK_THAT(capture.text(), Catch::Contains("out of memory"));
#else
    WARN("skipped: a sanitizer has its own allocator");
#endif
}

TEST_CASE("a run without waiting uses the device's fences", "[device][fence]") {
    const Placed placed;
    auto& device = *placed.device;
    const auto pixels = digit_pixels();
    const auto expected = Net(digits_file()).digit(pixels);
    for (const bool fences : {true, false}) {
        device.fences = fences;
        const Net net(digits_file());
        REQUIRE(net.set(pixels.data(), pixels.size(), RKNN_TENSOR_UINT8) == RKNN_SUCC);
        device.reset();
        rknn_run_extend extend{};
        extend.non_block = 1;
        extend.fence_fd = -1;
        REQUIRE(rknn_run(net.handle, &extend) == RKNN_SUCC);
        CHECK(rknn_wait(net.handle, &extend) == RKNN_SUCC);
        CHECK(extend.fence_fd == -1);
        CHECK(device.nonblocking == (fences ? 1 : 0));
        CHECK(net.result<float>(true) == expected);
        // Results without rknn_wait: fetching them waits.
        REQUIRE(rknn_run(net.handle, &extend) == RKNN_SUCC);
        CHECK(net.result<float>(true) == expected);
        CHECK(rknn_wait(net.handle, nullptr) == RKNN_SUCC);
        // Destroyed while the NPU works.
        REQUIRE(rknn_run(net.handle, &extend) == RKNN_SUCC);
    }
}

TEST_CASE("fences from outside: one comes out, one goes in", "[device][fence]") {
    const Placed placed;
    const auto pixels = digit_pixels();
    const auto expected = Net(digits_file()).digit(pixels);
    const Net first(digits_file(), RKNN_FLAG_FENCE_OUT_OUTSIDE);
    const Net second(digits_file(), RKNN_FLAG_FENCE_IN_OUTSIDE | RKNN_FLAG_FENCE_OUT_OUTSIDE);
    for (const auto* net : {&first, &second})
        REQUIRE(net->set(pixels.data(), pixels.size(), RKNN_TENSOR_UINT8) == RKNN_SUCC);
    rknn_run_extend extend{};
    extend.non_block = 1;
    extend.fence_fd = -1;
    REQUIRE(rknn_run(first.handle, &extend) == RKNN_SUCC);
    REQUIRE(extend.fence_fd >= 0);
    const int of_first = extend.fence_fd;
    REQUIRE(rknn_run(second.handle, &extend) == RKNN_SUCC);
    REQUIRE(extend.fence_fd >= 0);
    CHECK(extend.fence_fd != of_first);
    CHECK(placed.device->wait_fence(extend.fence_fd, 60000).ok());
    CHECK(placed.device->wait_fence(of_first, 0).ok());
    CHECK(second.result<float>(true) == expected);
    CHECK(first.result<float>(true) == expected);
    close(of_first);
    close(extend.fence_fd);
    // Errors.
    CHECK(rknn_run(first.handle, nullptr) == RKNN_ERR_PARAM_INVALID);
    extend.fence_fd = -1;
    CHECK(rknn_run(second.handle, &extend) == RKNN_ERR_PARAM_INVALID);
    extend.fence_fd = 9999;
    CHECK(rknn_run(second.handle, &extend) != RKNN_SUCC);
    placed.device->fences = false;
    CHECK(rknn_run(first.handle, &extend) == RKNN_ERR_PARAM_INVALID);
}

TEST_CASE("C3 operators that are split run on all cores of the mask, others on the first",
          "[device][C3]") {
    const Placed placed;
    auto& masks = placed.device->masks;
    const auto run = [&](const Net& net, uint32_t mask, uint32_t inputs) {
        std::vector<std::vector<std::byte>> bytes;
        std::vector<rknn_input> list;
        for (uint32_t i = 0; i < inputs; ++i)
            bytes.push_back(noise(net.attr(RKNN_QUERY_INPUT_ATTR, i).n_elems, i));
        for (uint32_t i = 0; i < inputs; ++i)
            list.push_back({i, bytes[i].data(), static_cast<uint32_t>(bytes[i].size()), 0,
                            RKNN_TENSOR_UINT8, RKNN_TENSOR_NHWC});
        REQUIRE(rknn_set_core_mask(net.handle, static_cast<rknn_core_mask>(mask)) == RKNN_SUCC);
        REQUIRE(rknn_inputs_set(net.handle, inputs, list.data()) == RKNN_SUCC);
        masks.clear();
        REQUIRE(net.run() == RKNN_SUCC);
        REQUIRE(!masks.empty());
        for (const uint32_t used : masks)
            CHECK((used == mask || used == (mask & -mask)));
        return std::count(masks.begin(), masks.end(), mask);
    };
    const Net small(digits_file());
    for (const uint32_t mask : {2u, 3u, 7u})
        run(small, mask, 1);
    const auto path = two_input_model();
    if (path.empty()) {
        WARN("skipped: multiple_input_rk3588.rknn is not there (RKNPU_TEST_DATA)");
        return;
    }
    const Net split(read_all(path));
    for (const uint32_t mask : {3u, 7u})
        CHECK(run(split, mask, 2) > 0);
}

namespace {

/// What must not grow while contexts come, work and go.
struct Held {
    size_t files = 0;
    uint64_t live_bytes = 0;
    size_t memories = 0;
    uint64_t next_address = 0;  // that the device gives out
};

Held held(Device& device) {
    Held out;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
        ++out.files;
    out.live_bytes = device.counters().live_bytes;
    out.memories = api::live_memories();
    MemoryRequest request;
    request.size = 4096;
    out.next_address = device.allocate(request).value()->device_address();
    return out;
}

/// The process may not grow by more than an allocator's slack. A sanitizer keeps what was freed.
class NoGrowth {
 public:
    explicit NoGrowth(Device& device)
        : device_(device), before_(held(device)), memory_(resident()) {}
    void check() const {
        const auto after = held(device_);
        CHECK(after.files == before_.files);
        CHECK(after.live_bytes == before_.live_bytes);
        CHECK(after.memories == before_.memories);
        CHECK(after.next_address == before_.next_address);
#ifdef RKNPU_COUNTS_ALLOCATIONS
        CHECK(resident() < memory_ + (4u << 20));
#endif
    }

 private:
    static size_t resident() {
        size_t total = 0;
        size_t pages = 0;
        std::ifstream("/proc/self/statm") >> total >> pages;
        return pages * 4096;
    }
    Device& device_;
    Held before_;
    [[maybe_unused]] size_t memory_;
};

}  // namespace

TEST_CASE("L7 contexts come and go without growth", "[device][L7]") {
    const bool whole = std::getenv("RKNPU_LONG_TESTS") != nullptr;
    const int cycles = whole ? 1000 : 40;
    setenv("RKNPU_DEVICE", "sim", 1);
    auto keep = Device::open(DeviceKind::kSim);
    REQUIRE(keep.ok());
    const auto file = digits_file();
    const auto pixels = digit_pixels();
    Net(file).digit(pixels);
    const NoGrowth growth(*keep.value());
    for (int i = 0; i < cycles; ++i)
        Net(file).digit(pixels);
    growth.check();
}

TEST_CASE("T4 ten duplicates run without growth", "[device][T4]") {
    const bool whole = std::getenv("RKNPU_LONG_TESTS") != nullptr;
    const int runs = whole ? 10000 : 30;
    const Net source(digits_file());
    const auto pixels = digit_pixels();
    const auto expected = source.digit(pixels);
    std::vector<std::unique_ptr<Net>> copies;
    for (int i = 0; i < 10; ++i) {
        rknn_context from = source.handle;
        rknn_context copy = 0;
        REQUIRE(rknn_dup_context(&from, &copy) == RKNN_SUCC);
        copies.push_back(std::make_unique<Net>(copy));
        CHECK(copies.back()->digit(pixels) == expected);
    }
    auto device = Device::open(DeviceKind::kSim);
    const auto allocations = device.value()->counters().allocations;
    const NoGrowth growth(*device.value());
    size_t wrong = 0;
    for (int i = 0; i < runs; ++i)
        for (const auto& copy : copies)
            wrong += copy->run() == RKNN_SUCC ? 0 : 1;
    CHECK(wrong == 0);
    growth.check();
    // The two above looked for a free address.
    CHECK(device.value()->counters().allocations == allocations + 2);
    CHECK(copies[7]->digit(pixels) == expected);
}

TEST_CASE("after fork a process has contexts of its own only", "[device][fork]") {
    const Net parent(digits_file());
    const auto pixels = digit_pixels();
    const auto expected = parent.digit(pixels);
    rknn_tensor_mem* memory = rknn_create_mem(parent.handle, 4096);
    REQUIRE(memory != nullptr);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        set_log_level(LogLevel::kError);
        int failed = 0;
        failed |= rknn_run(parent.handle, nullptr) == RKNN_ERR_CTX_INVALID ? 0 : 1;
        failed |= rknn_destroy(parent.handle) == RKNN_ERR_CTX_INVALID ? 0 : 2;
        failed |= rknn_destroy_mem(parent.handle, memory) == RKNN_ERR_PARAM_INVALID ? 0 : 4;
#ifndef __SANITIZE_THREAD__
        {
            const Net own(digits_file());
            failed |= own.code == RKNN_SUCC ? 0 : 8;
            failed |= own.code == RKNN_SUCC && own.digit(pixels) == expected ? 0 : 16;
        }
#endif
        _exit(failed);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
#ifdef __SANITIZE_THREAD__
    WARN("skipped in the child: contexts of its own, as TSan does not know threads after fork()");
#endif
    CHECK(parent.digit(pixels) == expected);
    CHECK(rknn_destroy_mem(parent.handle, memory) == RKNN_SUCC);
}

TEST_CASE("a process may be copied while another thread uses memory", "[device][fork]") {
    const Net net(digits_file());
    rknn_tensor_mem* memory = rknn_create_mem(net.handle, 4096);
    REQUIRE(memory != nullptr);
    std::atomic<bool> stop{false};
    std::thread busy([&] {
        while (!stop)
            rknn_mem_sync(net.handle, memory, RKNN_MEMORY_SYNC_TO_DEVICE);
    });
    int refused = 0;
    constexpr int kCopies = 50;
    for (int i = 0; i < kCopies; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            close(STDERR_FILENO);  // fifty times the same line
            alarm(20);  // a lock that nobody holds any more would be waited for without end
            _exit(rknn_destroy_mem(net.handle, memory) == RKNN_ERR_PARAM_INVALID ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        refused += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
    }
    stop = true;
    busy.join();
    CHECK(refused == kCopies);
    CHECK(rknn_destroy_mem(net.handle, memory) == RKNN_SUCC);
}

TEST_CASE("a process may be copied while another thread opens the device", "[device][fork]") {
#ifdef __arm__
    WARN("skipped: most runs hang in QEMU's user emulation, none does without it");
    return;
#endif
    std::atomic<bool> stop{false};
    std::thread busy([&] {
        while (!stop)
            [[maybe_unused]] const auto device = Device::open(DeviceKind::kSim);
    });
    int good = 0;
    constexpr int kCopies = 50;
    for (int i = 0; i < kCopies; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            _exit(Device::open(DeviceKind::kSim).ok() ? 0 : 1);
        }
        int status = 0;
        waitpid(child, &status, 0);
        good += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
    }
    stop = true;
    busy.join();
    CHECK(good == kCopies);
}

TEST_CASE("another chip to be modelled while contexts are open is refused with the cure",
          "[device]") {
    const auto file = [](const char* target) {
        auto model = one_node("Identity", {"", FileType::kFloat, {1, 2}});
        model.target = target;
        return write_file(model);
    };
    {
        const Net first(file("rk3588"));
        REQUIRE(first.code == RKNN_SUCC);
        const Environment soc("RKNPU_SIM_SOC", "rk3576");
        Capture capture(LogLevel::kError);
        CHECK(Net(file("rk3576")).code == RKNN_ERR_TARGET_PLATFORM_UNMATCH);
        CHECK_THAT(capture.text(), Catch::Contains("RKNPU_SIM_SOC asks for 'rk3576'") &&
                                       Catch::Contains("destroy them"));
    }
    const Environment soc("RKNPU_SIM_SOC", "rk3576");
    CHECK(Net(file("rk3576")).code == RKNN_SUCC);
}

TEST_CASE("foreign and stale pointers are refused", "[device]") {
    const Net net(digits_file());
    auto attr = net.attr(RKNN_QUERY_INPUT_ATTR);
    rknn_tensor_mem foreign{};
    CHECK(rknn_destroy_mem(net.handle, &foreign) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_set_io_mem(net.handle, &foreign, &attr) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_set_weight_mem(net.handle, &foreign) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_set_internal_mem(net.handle, nullptr) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_mem_sync(net.handle, &foreign, RKNN_MEMORY_SYNC_TO_DEVICE) ==
          RKNN_ERR_PARAM_INVALID);
    auto* memory = rknn_create_mem(net.handle, 4096);
    REQUIRE(rknn_set_io_mem(net.handle, memory, &attr) == RKNN_SUCC);
    // Bound memory lives on inside the context.
    CHECK(rknn_destroy_mem(net.handle, memory) == RKNN_SUCC);
    CHECK(rknn_destroy_mem(net.handle, memory) == RKNN_ERR_PARAM_INVALID);
    CHECK(rknn_set_io_mem(net.handle, memory, &attr) == RKNN_ERR_PARAM_INVALID);
}
