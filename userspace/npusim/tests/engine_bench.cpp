// SPDX-License-Identifier: MIT
// Speed of the convolution paths on one thread. Prints GMAC/s per shape (whole tasks, requantised
// and written) and, where oneDNN was found at build time, the speed of its int8 matrix product of
// the same size in the same run. The first shape has goals: 10 GMAC/s, and a fifth of oneDNN's.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "engine_conv_case.hpp"

#ifdef NPUSIM_WITH_ONEDNN
#include <dlfcn.h>
#include <dnnl.h>
#endif

namespace {

using engine_test::ConvCase;
using engine_test::Machine;
using engine_test::Task;

constexpr double kGoal = 10;        // GMAC/s of the first shape
constexpr double kRatioGoal = 0.2;  // of the library's speed

struct Shape {
    const char* name;
    int size, in, out, kernel;
    bool depthwise;
};

constexpr Shape kShapes[] = {
    {"3x3 56x56 64->64", 56, 64, 64, 3, false},     {"3x3 28x28 128->128", 28, 128, 128, 3, false},
    {"3x3 14x14 256->256", 14, 256, 256, 3, false}, {"1x1 56x56 64->256", 56, 64, 256, 1, false},
    {"1x1 7x7 960->320", 7, 960, 320, 1, false},    {"dw 3x3 56x56 128", 56, 128, 128, 3, true},
};

/// Best time of several runs in seconds.
double best_time(const std::function<void()>& work) {
    double best = 1e9;
    double total = 0;
    for (int i = 0; i < 200 && total < 0.5; ++i) {
        const auto start = std::chrono::steady_clock::now();
        work();
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        best = std::min(best, taken.count());
        total += taken.count();
    }
    return best;
}

double engine_speed(const Shape& shape) {
    Machine machine(8U << 20);
    ConvCase c;
    c.input = golden::Cube<int>(shape.in, shape.size, shape.size);
    c.shape.depthwise = shape.depthwise;
    c.shape.kernel_h = c.shape.kernel_w = shape.kernel;
    c.shape.pad_top = c.shape.pad_left = shape.kernel / 2;
    c.kernels = shape.depthwise ? 1 : shape.out;
    c.out_channels = shape.out;
    c.out_h = c.out_w = shape.size;
    engine_test::fill_conv_data(machine, c);
    Task task;
    engine_test::place_conv(machine, c, task);
    const uint32_t mask = c.records ? engine_test::kMaskConvRdma : engine_test::kMaskConv;
    bool failed = false;
    const double seconds = best_time([&] { failed |= machine.run(task, mask, false).has_value(); });
    if (failed)
        std::printf("refused: %s\n", machine.run(task, mask, false)->text.c_str());
    return static_cast<double>(machine.fast().last_work().macs) / seconds / 1e9;
}

#ifdef NPUSIM_WITH_ONEDNN
/// One thread on both sides. The library's OpenMP is only there at run time.
void use_one_thread() {
    if (void* set = dlsym(RTLD_DEFAULT, "omp_set_num_threads"))
        reinterpret_cast<void (*)(int)>(set)(1);
}

double library_speed(const Shape& shape) {
    const dnnl_dim_t m = dnnl_dim_t{shape.size} * shape.size;
    const dnnl_dim_t n = shape.out;
    const dnnl_dim_t k = dnnl_dim_t{shape.in} * shape.kernel * shape.kernel;
    std::vector<uint8_t> a(static_cast<size_t>(m * k), 3);
    std::vector<int8_t> b(static_cast<size_t>(k * n), -2);
    std::vector<int32_t> c(static_cast<size_t>(m * n));
    const int32_t zero = 0;
    const double seconds = best_time([&] {
        dnnl_gemm_u8s8s32('N', 'N', 'F', m, n, k, 1.0F, a.data(), k, 0, b.data(), n, 0, 0.0F,
                          c.data(), n, &zero);
    });
    return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) / seconds / 1e9;
}
#endif

}  // namespace

TEST_CASE("speed of the convolution path") {
#ifdef NPUSIM_WITH_ONEDNN
    use_one_thread();
#endif
    for (const Shape& shape : kShapes) {
        const double engine = engine_speed(shape);
        const bool first = &shape == kShapes;
        CHECK(engine >= (first ? kGoal : 0.01));
        std::printf("%-20s engine %7.1f GMAC/s", shape.name, engine);
#ifdef NPUSIM_WITH_ONEDNN
        if (!shape.depthwise) {
            const double library = library_speed(shape);
            std::printf("  oneDNN int8 gemm %7.1f GMAC/s, ratio %.2f", library, engine / library);
            CHECK(engine / library >= (first ? kRatioGoal : 0));
        }
#endif
#ifndef NPUSIM_WITH_ONEDNN
        std::printf("  (built without oneDNN, Debian's libdnnl-dev: nothing to compare with)");
#endif
        std::printf("\n");
    }
}
