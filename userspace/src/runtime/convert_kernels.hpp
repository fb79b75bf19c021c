// SPDX-License-Identifier: MIT
// Inner loops of conversions between 8-bit codes, and from codes to float32. Each gives the bits of
// the plain arithmetic in convert_reference().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace rknpu {

/// Result of each of the 256 codes of an 8-bit type.
using CodeTable = std::array<uint8_t, 256>;

/// round(code * factor + offset), saturated: a table that is a straight line.
struct Line {
    float factor = 1.0f;
    float offset = 0.0f;
};

/// What the codes of both sides mean; they are signed or not.
struct Signs {
    bool source_signed = false;
    bool target_signed = true;
};

/// `guess`, moved by a few units in the last place until it gives exactly the table. Nothing if
/// none does, as with tables that have a tie at every second code.
std::optional<Line> fit_line(const CodeTable& table, Line guess, Signs signs);

/// Elements after which the factors and offsets below repeat; a multiple of 1, 2, 3 and 4.
inline constexpr size_t kPeriod = 96;

/// out[i] = line i % kPeriod applied to in[i].
void apply_lines(const uint8_t* in, uint8_t* out, size_t count, const float* factors,
                 const float* offsets, Signs signs);

/// out[i] = table[in[i]].
void apply_table(const uint8_t* in, uint8_t* out, size_t count, const CodeTable& table);

/// out[i] = tables[i % channels][in[i]], `channels` up to 4.
void apply_tables(const uint8_t* in, uint8_t* out, size_t count, const CodeTable* tables,
                  size_t channels);

/// Pixels of three or four packed channels -> pixels of sixteen lanes; lanes behind the channels
/// get `fill`.
void spread_pixels(const uint8_t* in, uint8_t* out, size_t pixels, size_t channels, uint8_t fill);

/// Code c becomes (c - zero) * scale.
struct Scaling {
    bool source_signed = true;
    float zero = 0.0f;
    float scale = 1.0f;
};

/// Pixels of sixteen codes -> `lanes` rows of `pixels` floats, `row` elements apart.
void dequantise_atoms(const uint8_t* in, size_t pixels, size_t lanes, float* out, size_t row,
                      const Scaling& scaling);

/// Row of codes -> row of floats.
void dequantise_row(const uint8_t* in, size_t count, float* out, const Scaling& scaling);

}  // namespace rknpu
