// SPDX-License-Identifier: MIT
#include "runtime/convert_simd.hpp"

#ifdef RKNPU_SIMD_NEON
#include <arm_neon.h>

namespace rknpu::neon {
namespace {

/// An index beyond a part's 64 entries gives 0, so the parts are combined by "or".
inline uint8x16_t look_up(uint8x16_t code, const CodeTable& table) {
    const uint8x16_t step = vdupq_n_u8(64);
    uint8x16_t sum = vqtbl4q_u8(vld1q_u8_x4(table.data()), code);
    for (size_t part = 64; part < 256; part += 64) {
        code = vsubq_u8(code, step);
        sum = vorrq_u8(sum, vqtbl4q_u8(vld1q_u8_x4(table.data() + part), code));
    }
    return sum;
}

}  // namespace

size_t apply_codes(const uint8_t* in, uint8_t* out, size_t count, const CodeMap& map) {
    size_t i = 0;
    switch (map.alike() ? 1 : map.channels()) {
        case 1:
            for (; i + 16 <= count; i += 16)
                vst1q_u8(out + i, look_up(vld1q_u8(in + i), map.table(0)));
            return i;
        case 2:
            for (; i + 32 <= count; i += 32) {
                uint8x16x2_t pixels = vld2q_u8(in + i);
                for (size_t c = 0; c < 2; ++c)
                    pixels.val[c] = look_up(pixels.val[c], map.table(c));
                vst2q_u8(out + i, pixels);
            }
            return i;
        case 3:
            for (; i + 48 <= count; i += 48) {
                uint8x16x3_t pixels = vld3q_u8(in + i);
                for (size_t c = 0; c < 3; ++c)
                    pixels.val[c] = look_up(pixels.val[c], map.table(c));
                vst3q_u8(out + i, pixels);
            }
            return i;
        default:
            for (; i + 64 <= count; i += 64) {
                uint8x16x4_t pixels = vld4q_u8(in + i);
                for (size_t c = 0; c < 4; ++c)
                    pixels.val[c] = look_up(pixels.val[c], map.table(c));
                vst4q_u8(out + i, pixels);
            }
            return i;
    }
}

size_t spread_pixels(const uint8_t* in, uint8_t* out, size_t pixels, size_t channels,
                     uint8_t fill) {
    // Four pixels of up to four bytes are in one load; an index beyond 15 gives 0.
    uint8_t indices[64];
    uint8_t filler[16];
    for (size_t i = 0; i < sizeof(indices); ++i) {
        const bool used = i % 16 < channels;
        indices[i] = static_cast<uint8_t>(used ? i / 16 * channels + i % 16 : 0xFF);
        filler[i % 16] = used ? 0 : fill;
    }
    const uint8x16x4_t index = vld1q_u8_x4(indices);
    const uint8x16_t rest = vld1q_u8(filler);
    size_t p = 0;
    for (; p + 4 <= pixels && (pixels - p) * channels >= 16; p += 4) {
        const uint8x16_t four = vld1q_u8(in + p * channels);
        for (size_t k = 0; k < 4; ++k)
            vst1q_u8(out + (p + k) * 16, vorrq_u8(vqtbl1q_u8(four, index.val[k]), rest));
    }
    return p;
}

}  // namespace rknpu::neon
#endif
