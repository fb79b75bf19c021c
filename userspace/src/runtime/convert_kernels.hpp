// SPDX-License-Identifier: MIT
// Inner loops of conversions between 8-bit codes, and from codes to float32. Each gives the bits of
// the plain arithmetic in convert_reference(), with every instruction set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rknpu {

/// Instructions that there are loops for.
enum class Simd : uint8_t { kNone, kNeon, kAvx2, kAvx512 };

/// Those that this machine has, kNone first and the fastest last.
std::span<const Simd> simd_of_this_machine();

/// Result of each of the 256 codes of an 8-bit type.
using CodeTable = std::array<uint8_t, 256>;

/// What the codes of both sides mean; they are signed or not.
struct Signs {
    bool source_signed = false;
    bool target_signed = true;
};

/// A straight line, factor * code + offset, in real numbers.
struct Line {
    double factor = 1.0;
    double offset = 0.0;
};

/// Codes to codes, for packed pixels of up to four channels: element i is of channel i % channels.
class CodeMap {
 public:
    CodeMap() = default;
    /// `lines` says which line each table follows, up to rounding; it only makes loops faster.
    CodeMap(std::vector<CodeTable> tables, std::span<const Line> lines, Signs signs);

    size_t channels() const { return tables_.size(); }
    const CodeTable& table(size_t channel) const { return tables_[channel]; }
    /// All channels have the same table.
    bool alike() const { return alike_; }

    /// Elements after which the lists below repeat: a multiple of 1, 2, 3, 4 and of 16.
    static constexpr size_t kPeriod = 48;

    /// All tables are ((code * 256 * factor >> 16) - less + more) >> shift in words, where both
    /// sums saturate, and so does the result. Codes and results are those of unsigned types: the
    /// top bit of signed ones is turned. Found and checked for all codes, as the form below.
    bool words() const { return words_; }
    int word_shift() const { return word_shift_; }
    const uint16_t* word_factors() const { return word_factors_.data(); }
    const uint16_t* less() const { return less_.data(); }
    const uint16_t* more() const { return more_.data(); }

    /// All tables are (code * factor + offset) >> shift, saturated.
    bool fixed() const { return fixed_; }
    int shift() const { return shift_; }
    Signs signs() const { return signs_; }
    /// Of each group of sixteen elements those at 0-3, 8-11, 4-7, 12-15, as AVX2 unpacks them.
    /// factors() has two words for each, factor >> 7 and factor & 127.
    const int16_t* factors() const { return factors_.data(); }
    const int32_t* offsets() const { return offsets_.data(); }

 private:
    void find_words(std::span<const Line> lines);
    void find_lines(std::span<const Line> lines);

    std::vector<CodeTable> tables_;
    Signs signs_;
    bool alike_ = false;
    bool words_ = false;
    int word_shift_ = 0;
    std::array<uint16_t, kPeriod> word_factors_{}, less_{}, more_{};
    bool fixed_ = false;
    int shift_ = 0;
    std::array<int16_t, 2 * kPeriod> factors_{};
    std::array<int32_t, kPeriod> offsets_{};
};

/// out[i] = result of in[i].
void apply_codes(const uint8_t* in, uint8_t* out, size_t count, const CodeMap& map, Simd simd);

/// Pixels of up to four packed channels -> pixels of sixteen lanes; lanes behind the channels get
/// `fill`.
void spread_pixels(const uint8_t* in, uint8_t* out, size_t pixels, size_t channels, uint8_t fill,
                   Simd simd);

/// Code c becomes (c - zero) * scale.
struct Scaling {
    bool source_signed = true;
    float zero = 0.0f;
    float scale = 1.0f;
};

/// Row of codes -> row of floats, which may lie anywhere.
void dequantise_row(const uint8_t* in, size_t count, std::byte* out, const Scaling& scaling,
                    Simd simd);

/// Pixels of sixteen codes -> `lanes` rows of `pixels` floats, `row` elements apart.
void dequantise_atoms(const uint8_t* in, size_t pixels, size_t lanes, std::byte* out, size_t row,
                      const Scaling& scaling, Simd simd);

}  // namespace rknpu
