// SPDX-License-Identifier: MIT
#include "ppu.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "elements.hpp"
#include "fixed.hpp"

namespace npusim {
namespace {

uint32_t surfaces_of(const PpuDesc& ppu) {
    const uint32_t atom = atom_channels(ppu.precision);
    return (ppu.in_channels + atom - 1) / atom;
}

/// Calls element(inside, pixel) for each position of the window of one output pixel.
template <typename Element>
void for_each_in_window(const PpuDesc& ppu, uint32_t ox, uint32_t oy, Element element) {
    for (uint32_t ky = 0; ky < ppu.kernel_height; ++ky) {
        const int64_t y = int64_t{oy} * ppu.stride_y + ky - ppu.pad_top;
        for (uint32_t kx = 0; kx < ppu.kernel_width; ++kx) {
            const int64_t x = int64_t{ox} * ppu.stride_x + kx - ppu.pad_left;
            const bool inside = x >= 0 && y >= 0 && x < ppu.in_width && y < ppu.in_height;
            element(inside, static_cast<size_t>(inside ? y * ppu.in_width + x : 0));
        }
    }
}

template <typename T>
T combine(PoolMethod method, T a, T b) {
    switch (method) {
        case PoolMethod::kMax:
            return std::max(a, b);
        case PoolMethod::kMin:
            return std::min(a, b);
        default:
            return a + b;
    }
}

/// Start value of the running result.
template <typename T>
T neutral(PoolMethod method) {
    using Limits = std::numeric_limits<T>;
    switch (method) {
        case PoolMethod::kMax:
            return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
        case PoolMethod::kMin:
            return Limits::has_infinity ? Limits::infinity() : Limits::max();
        default:
            return T{0};
    }
}

// sum * recip_w >> 16, then * recip_h >> 16, rounded half to even once over both factors.
int64_t average(const PpuDesc& ppu, int64_t sum) {
    const int64_t reciprocal = int64_t{ppu.recip_width} * ppu.recip_height;
    return shift_even(sum * reciprocal, 32);
}

template <typename T>
void pool_int(const PpuDesc& ppu, const std::byte* input, std::byte* output) {
    constexpr uint32_t kLanes = kAtomBytes / sizeof(T);
    for (uint32_t oy = 0; oy < ppu.out_height; ++oy) {
        for (uint32_t ox = 0; ox < ppu.out_width; ++ox, output += kAtomBytes) {
            int64_t result[kLanes];
            std::fill(result, result + kLanes, neutral<int64_t>(ppu.method));
            for_each_in_window(ppu, ox, oy, [&](bool inside, size_t pixel) {
                T atom[kLanes];
                std::memcpy(atom, input + pixel * kAtomBytes, kAtomBytes);
                for (uint32_t l = 0; l < kLanes; ++l)
                    result[l] =
                        combine<int64_t>(ppu.method, result[l], inside ? atom[l] : ppu.pad_value);
            });
            T packed[kLanes];
            for (uint32_t l = 0; l < kLanes; ++l) {
                const int64_t value =
                    ppu.method == PoolMethod::kAverage ? average(ppu, result[l]) : result[l];
                packed[l] = static_cast<T>(saturate(value, 8 * sizeof(T)));
            }
            std::memcpy(output, packed, kAtomBytes);
        }
    }
}

/// The pad register holds an fp16 value in its low half for fp16 data.
void pool_half(const PpuDesc& ppu, const std::byte* input, std::byte* output) {
    constexpr uint32_t kLanes = 8;
    const float pad = half_to_float(static_cast<uint16_t>(ppu.pad_value));
    // 16-bit reciprocals are fp16 numbers here.
    const float reciprocal = half_to_float(static_cast<uint16_t>(ppu.recip_width)) *
                             half_to_float(static_cast<uint16_t>(ppu.recip_height));
    for (uint32_t oy = 0; oy < ppu.out_height; ++oy) {
        for (uint32_t ox = 0; ox < ppu.out_width; ++ox, output += kAtomBytes) {
            float result[kLanes];
            std::fill(result, result + kLanes, neutral<float>(ppu.method));
            for_each_in_window(ppu, ox, oy, [&](bool inside, size_t pixel) {
                for (uint32_t l = 0; l < kLanes; ++l) {
                    const float value =
                        inside ? load_float(input + pixel * kAtomBytes, l, Precision::kFp16) : pad;
                    result[l] = combine(ppu.method, result[l], value);
                }
            });
            for (uint32_t l = 0; l < kLanes; ++l) {
                const float value =
                    ppu.method == PoolMethod::kAverage ? result[l] * reciprocal : result[l];
                store(output + 2 * l, float_to_half(value));
            }
        }
    }
}

}  // namespace

bool PpuUnit::pool_surface(const PpuDesc& ppu, const std::byte* input, uint32_t surface,
                           Transfer& transfer) {
    const size_t row_bytes = size_t{ppu.out_width} * kAtomBytes;
    const auto output = scratch(output_, row_bytes * ppu.out_height);
    switch (ppu.precision) {
        case Precision::kInt8:
            pool_int<int8_t>(ppu, input, output.data());
            break;
        case Precision::kInt16:
            pool_int<int16_t>(ppu, input, output.data());
            break;
        default:
            pool_half(ppu, input, output.data());
            break;
    }
    const int64_t base = ppu.dst + surface * ppu.dst_surface;
    if (ppu.notch == 0)
        return transfer.write(base, output);
    const int64_t pitch = (int64_t{ppu.out_width} + ppu.notch) * kAtomBytes;
    for (uint32_t y = 0; y < ppu.out_height && transfer.ok(); ++y)
        transfer.write(base + y * pitch, output.subspan(y * row_bytes, row_bytes));
    return transfer.ok();
}

bool PpuUnit::run(const PpuDesc& ppu, Transfer& transfer) {
    const size_t row_bytes = size_t{ppu.in_width} * kAtomBytes;
    const auto input = scratch(input_, row_bytes * ppu.in_height);
    for (uint32_t s = 0; s < surfaces_of(ppu); ++s) {
        CubeDesc cube = ppu.src;
        const int64_t base = cube.base + s * cube.surface_pitch;
        cube.base = static_cast<uint32_t>(base);
        if (base >> 32 != 0 || !transfer.read_cube(cube, row_bytes, ppu.in_height, 1, input) ||
            !pool_surface(ppu, input.data(), s, transfer))
            return false;
    }
    return true;
}

bool PpuUnit::run(const PpuDesc& ppu, std::span<const std::byte> input, Transfer& transfer) {
    const size_t surface_bytes = size_t{ppu.in_width} * ppu.in_height * kAtomBytes;
    for (uint32_t s = 0; s < surfaces_of(ppu); ++s) {
        if (!pool_surface(ppu, input.data() + s * surface_bytes, s, transfer))
            return false;
    }
    return true;
}

}  // namespace npusim
