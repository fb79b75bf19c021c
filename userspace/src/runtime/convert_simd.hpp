// SPDX-License-Identifier: MIT
// Loops for one instruction set each, chosen in convert_kernels.cpp. Those that return a number did
// so many elements (pixels) from the start; the caller does the rest.
#pragma once

#include "runtime/convert_kernels.hpp"

namespace rknpu {

#if defined(__x86_64__)
#define RKNPU_SIMD_X86
namespace avx2 {
size_t apply_words(const uint8_t* in, uint8_t* out, size_t count, const CodeMap& map);
size_t apply_lines(const uint8_t* in, uint8_t* out, size_t count, const CodeMap& map);
size_t apply_table(const uint8_t* in, uint8_t* out, size_t count, const CodeTable& table);
size_t spread_pixels(const uint8_t* in, uint8_t* out, size_t pixels, size_t channels, uint8_t fill);
size_t dequantise_row(const uint8_t* in, size_t count, std::byte* out, const Scaling& scaling);
}  // namespace avx2
namespace avx512 {
size_t apply_words(const uint8_t* in, uint8_t* out, size_t count, const CodeMap& map);
/// With byte permutations (VBMI). Does all elements.
void apply_tables(const uint8_t* in, uint8_t* out, size_t count, const CodeMap& map);
}  // namespace avx512
#elif defined(__aarch64__)
#define RKNPU_SIMD_NEON
namespace neon {
size_t apply_codes(const uint8_t* in, uint8_t* out, size_t count, const CodeMap& map);
size_t spread_pixels(const uint8_t* in, uint8_t* out, size_t pixels, size_t channels, uint8_t fill);
}  // namespace neon
#endif

}  // namespace rknpu
