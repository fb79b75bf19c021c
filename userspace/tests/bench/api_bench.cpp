// SPDX-License-Identifier: MIT
// Conversions of the runtime against memcpy of the bytes they write, and the time of rknn_init,
// both on this machine. Each figure is the best of several rounds.
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

template <typename Body>
double microseconds(Body&& body) {
    constexpr int kRounds = 30;
    double best = 1e12;
    for (int i = 0; i < kRounds; ++i) {
        const auto start = std::chrono::steady_clock::now();
        body();
        const auto time = std::chrono::steady_clock::now() - start;
        best = std::min(best, std::chrono::duration<double, std::micro>(time).count());
    }
    return best;
}

/// A conversion and memcpy take turns, so that both meet the same machine.
void compare(const char* name, const ElementView& from, const ElementView& to,
             const ChannelMap& map) {
    std::vector<std::byte> source(from.bytes());
    std::vector<std::byte> target(to.bytes());
    std::vector<std::byte> copy(to.bytes());
    for (size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<std::byte>(i * 7);
    Converter converter(from, to, map);
    double fast = 1e12;
    double plain = 1e12;
    for (int i = 0; i < 5; ++i) {
        fast = std::min(fast, microseconds([&] { converter.run(source, target); }));
        plain = std::min(
            plain, microseconds([&] { std::memcpy(copy.data(), target.data(), copy.size()); }));
    }
    std::printf("%-52s %8.1f us, memcpy of %7zu bytes %8.1f us: %5.1f %%\n", name, fast,
                copy.size(), plain, 100.0 * plain / fast);
}

void conversions() {
    constexpr uint32_t kSide = 640;
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
    compare("640x640x3 uint8, ties -> int8 packed", pixels, native(nhwc, 0.0078431f, -1), ties);
    const auto head = ImageLayout::native(1, 85, 80, 80, 6, 16);
    compare("1x85x80x80 int8 NC1HWC2 -> float32 NCHW", native(head, 0.07f, 3),
            {DataType::kFloat32, false, 1.0f, 0, ImageLayout::plain(1, 85, 80, 80)}, {});
}

void init(const char* name, std::vector<std::byte> file) {
    setenv("RKNPU_DEVICE", "sim", 1);
    if (file.empty()) {
        std::printf("rknn_init of %s: skipped, the file is not there\n", name);
        return;
    }
    rknn_context keep = 0;  // the device stays open
    if (rknn_init(&keep, file.data(), static_cast<uint32_t>(file.size()), 0, nullptr) != 0)
        std::exit(1);
    const double time = microseconds([&] {
        rknn_context context = 0;
        if (rknn_init(&context, file.data(), static_cast<uint32_t>(file.size()), 0, nullptr) != 0 ||
            rknn_destroy(context) != 0)
            std::exit(1);
    });
    rknn_destroy(keep);
    std::printf("rknn_init and rknn_destroy of %s, %.1f MB: %.1f ms\n", name,
                static_cast<double>(file.size()) / 1e6, time / 1000);
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
    init("mobilenet_v2", shared.empty() ? std::vector<std::byte>()
                                        : read_all(shared + "/mobilenet_v2/"
                                                            "mobilenet_v2_int8_rk3588.rknn"));
    return 0;
}
