// SPDX-License-Identifier: MIT
// Conversions of the runtime against memcpy, and the time of rknn_init, both on this machine.
#include <rknn_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/convert.hpp"
#include "support/cpu_model.hpp"
#include "support/files.hpp"

namespace {

using namespace rknpu;        // NOLINT: a program of its own
using namespace rknpu::test;  // NOLINT

constexpr int kRounds = 101;

template <typename Body>
double microseconds(Body&& body) {
    const auto start = std::chrono::steady_clock::now();
    body();
    const auto time = std::chrono::steady_clock::now() - start;
    return std::chrono::duration<double, std::micro>(time).count();
}

double median(std::vector<double> times) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

/// Two bodies take turns, so that both meet the same machine. Medians of both.
template <typename First, typename Second>
std::pair<double, double> pair_of(First&& first, Second&& second) {
    std::vector<double> one;
    std::vector<double> other;
    for (int i = 0; i < kRounds; ++i) {
        one.push_back(microseconds(first));
        other.push_back(microseconds(second));
    }
    return {median(std::move(one)), median(std::move(other))};
}

void compare(const char* name, const ElementView& from, const ElementView& to,
             const ChannelMap& map) {
    std::vector<std::byte> source(from.bytes());
    std::vector<std::byte> target(to.bytes());
    // Memory of its own: neither side finds in the cache what the other has just touched.
    const std::vector<std::byte> plain(std::max(source.size(), target.size()), std::byte{1});
    std::vector<std::byte> copy(plain.size());
    for (size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<std::byte>(i * 7);
    Converter converter(from, to, map);
    const auto [fast, memory] =
        pair_of([&] { converter.run(source, target); },
                [&] { std::memcpy(copy.data(), plain.data(), copy.size()); });
    std::printf("%-45s %7.1f us, memcpy of %7zu bytes %7.1f us: %5.1f %%\n", name, fast,
                copy.size(), memory, 100.0 * memory / fast);
}

void conversions() {
    constexpr uint32_t kSide = 640;
    std::printf(
        "conversions; 100 %% is a memcpy of as many bytes as the larger side has, one thread,\n"
        "medians of %d runs of both in turn:\n",
        kRounds);
    const auto nhwc = ImageLayout::nhwc(1, 3, kSide, kSide, kSide);
    const ElementView pixels{DataType::kUint8, false, 1.0f, 0, nhwc};
    const auto native = [](ImageLayout layout, float scale, int32_t zero) {
        return ElementView{DataType::kInt8, true, scale, zero, layout};
    };
    const auto atoms = ImageLayout::native(1, 3, kSide, kSide, 1, 16);
    const ChannelMap apart{{123.675f, 116.28f, 103.53f}, {58.395f, 57.12f, 57.375f}, {}};
    const ChannelMap alike{{0, 0, 0}, {255, 255, 255}, {}};
    const ChannelMap ties{{127.5f, 127.5f, 127.5f}, {127.5f, 127.5f, 127.5f}, {}};
    compare("640x640x3 uint8, mean/std -> int8 NC1HWC2", pixels, native(atoms, 0.0187f, -14),
            apart);
    compare("640x640x3 uint8, mean/std -> int8 packed", pixels, native(nhwc, 0.0187f, -14), apart);
    compare("640x640x3 uint8, 0/255 -> int8 packed", pixels, native(nhwc, 0.003922f, -128), alike);
    compare("640x640x3 uint8, 127.5/127.5 -> int8 packed", pixels, native(nhwc, 0.0078431f, -1),
            ties);
    const auto head = ImageLayout::native(1, 85, 80, 80, 6, 16);
    compare("1x85x80x80 int8 NC1HWC2 -> float32 NCHW", native(head, 0.07f, 3),
            {DataType::kFloat32, false, 1.0f, 0, ImageLayout::plain(1, 85, 80, 80)}, {});
}

void init(const char* name, const std::vector<std::byte>& file) {
    setenv("RKNPU_DEVICE", "sim", 1);
    if (file.empty()) {
        std::printf("rknn_init of %s: skipped, the file is not there\n", name);
        return;
    }
    std::vector<std::byte> bytes(file);
    const auto open = [&] {
        rknn_context context = 0;
        if (rknn_init(&context, bytes.data(), static_cast<uint32_t>(bytes.size()), 0, nullptr) != 0)
            std::exit(1);
        return context;
    };
    const rknn_context keep = open();  // the device stays open
    uint64_t sum = 0;
    std::vector<double> inits;
    std::vector<double> sums;
    for (int i = 0; i < kRounds; ++i) {
        rknn_context context = 0;
        inits.push_back(microseconds([&] { context = open(); }));
        rknn_destroy(context);
        sums.push_back(microseconds([&] {
            for (const auto byte : bytes)
                sum = sum * 31 + static_cast<uint64_t>(byte);
        }));
    }
    rknn_destroy(keep);
    const double time = median(std::move(inits));
    const double read = median(std::move(sums));
    std::printf(
        "rknn_init of %s, %.1f MB: %.2f ms (goal: below 20 ms; a byte-wise checksum of it: %.2f "
        "ms, %x)\n",
        name, static_cast<double>(file.size()) / 1e6, time / 1000, read / 1000,
        static_cast<unsigned>(sum & 0xff));
}

/// x + constant, 3 MB of constant.
std::vector<std::byte> three_megabytes() {
    constexpr int32_t kCount = 786432;
    FileModel model;
    model.tensors = {{"in", FileType::kFloat, {1, kCount}},
                     {"constant", FileType::kFloat, {1, kCount}},
                     {"out", FileType::kFloat, {1, kCount}}};
    model.tensors[1].data.resize(size_t{kCount} * 4);
    model.nodes = {{"Add", "add", {0, 1}, {2}}};
    model.inputs = {0};
    model.outputs = {2};
    return write_file(model);
}

}  // namespace

int main() {
    conversions();
    init("a file of 3 MB", three_megabytes());
    const auto shared = shared_dir();
    for (const char* name :
         {"mobilenet_v2/mobilenet_v2_int8_rk3588.rknn", "segmentation/pp_human_segv2_rk3588.rknn"})
        init(name, shared.empty() ? std::vector<std::byte>() : read_all(shared + "/" + name));
    return 0;
}
