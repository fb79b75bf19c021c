// SPDX-License-Identifier: MIT
// Input converter, look-up tables, compressed weights, refusals, failed transfers.
#include <cmath>

#include "engine_conv_case.hpp"
#include "engine_flying.hpp"

using namespace engine_test;
namespace cna = npuregs::cna;
namespace core = npuregs::core;
namespace dpu = npuregs::dpu;
namespace rdma = npuregs::dpu_rdma;

namespace {

/// A fixed small 3x3 convolution.
ConvCase small_conv(Machine& m, int channels, int image) {
    ConvCase c;
    c.image = image;
    c.input = golden::Cube<int>(image != 0 ? 16 : channels, 6, 10);
    c.shape.kernel_h = c.shape.kernel_w = 3;
    c.kernels = 24;
    c.out_channels = 32;
    c.out_h = 4;
    c.out_w = 8;
    fill_conv_data(m, c);
    return c;
}

size_t wrong_elements(const Machine& m, const ConvCase& c) {
    size_t wrong = 0;
    for (int oc = 0; oc < c.written_channels(); ++oc) {
        for (int y = 0; y < c.out_h; ++y) {
            for (int x = 0; x < c.out_w; ++x)
                wrong += m.get<int8_t>(c.out.at(oc, y, x)) != expected_int8(c, oc, y, x, 0) ? 1 : 0;
        }
    }
    return wrong;
}

/// Lane of compressed weights, written bit by bit. Mode 0x00 stores distances from the modal
/// value, 0x11 runs of it and signed distances.
class LaneWriter {
 public:
    explicit LaneWriter(unsigned mode) : mode_(mode) {}

    std::vector<uint8_t> encode(const std::vector<int8_t>& values, int8_t modal) {
        bits_.clear();
        for (size_t i = 0; i < values.size();) {
            const int delta = static_cast<int8_t>(values[i] - modal);
            if (mode_ == 0x11 && delta == 0) {
                i += put_run(values, i, modal);
                continue;
            }
            if (mode_ == 0)
                put_plain(delta);
            else
                put_signed(delta);
            ++i;
        }
        std::vector<uint8_t> lane(16 + (bits_.size() + 127) / 128 * 16);
        lane[0] = static_cast<uint8_t>(mode_);
        lane[1] = static_cast<uint8_t>(modal);
        lane[2] = modal < 0 ? 0xff : 0;
        for (unsigned i = 0; i < 4; ++i) {
            lane[4 + i] = static_cast<uint8_t>((2 * i + 1) << 4 | 2 * i);  // class = entry
            lane[8 + 2 * i] = static_cast<uint8_t>(kRuns[i]);
        }
        for (size_t i = 0; i < bits_.size(); ++i)
            lane[16 + i / 8] |= static_cast<uint8_t>(bits_[i] << i % 8);
        return lane;
    }

 private:
    static constexpr unsigned kRuns[4] = {4, 3, 1, 2};

    void put(unsigned value, unsigned count) {
        for (unsigned i = 0; i < count; ++i)
            bits_.push_back(value >> i & 1U);
    }
    void put_class(unsigned width) {
        constexpr unsigned kValue[8] = {0, 1, 7, 3, 6, 10, 18, 2};
        constexpr unsigned kLength[8] = {2, 2, 3, 3, 3, 4, 5, 5};
        put(kValue[width], kLength[width]);
    }
    static unsigned width_of(unsigned magnitude) {
        unsigned width = 0;
        for (; magnitude != 0; magnitude >>= 1)
            ++width;
        return width;
    }
    void put_plain(int delta) {
        const bool negative = delta < 0;
        const auto magnitude = static_cast<unsigned>(negative ? -delta - 1 : delta);
        const unsigned width = width_of(magnitude);
        put_class(width);
        put(negative ? 1 : 0, 1);
        if (width != 0)
            put(magnitude, width - 1);
    }
    void put_signed(int delta) {
        const bool negative = delta < 0;
        const auto magnitude = static_cast<unsigned>(negative ? -delta : delta);
        const unsigned width = std::min(7U, width_of(magnitude));
        put_class(width);
        put(negative ? 1 : 0, 1);
        put(magnitude & 0x7fU, width == 7 ? 7 : width - 1);
    }
    size_t put_run(const std::vector<int8_t>& values, size_t first, int8_t modal) {
        size_t length = 0;
        while (first + length < values.size() && length < 4 && values[first + length] == modal)
            ++length;
        constexpr unsigned kSelector[5] = {0, 2, 3, 1, 0};  // run length -> index in kRuns
        const unsigned selector = kSelector[length];
        put_class(0);
        for (unsigned i = 0; i < selector; ++i)
            put(1, 1);
        if (selector != 3)
            put(0, 1);
        return length;
    }

    unsigned mode_;
    std::vector<unsigned> bits_;
};

void compress_weights(Machine& m, Task& t, size_t bytes, unsigned mode) {
    const uint32_t raw = t.get(cna::kDcompAddr0);
    const uint32_t packed = m.alloc(4 * bytes + 64 * 1024);
    uint32_t at = packed;
    for (uint32_t lane = 0; lane < 16; ++lane) {
        std::vector<int8_t> values;
        for (size_t group = lane; group < bytes / 4; group += 16) {
            for (size_t i = 0; i < 4; ++i)
                values.push_back(m.get<int8_t>(raw + group * 4 + i));
        }
        LaneWriter writer(mode);
        const auto stream =
            writer.encode(values, values.empty() ? int8_t{0} : values[values.size() / 2]);
        for (size_t i = 0; i < stream.size(); ++i)
            m.put<uint8_t>(at + i, stream[i]);
        t.set(cna::kDcompAmount0 + 4 * lane, static_cast<uint32_t>(stream.size() / 16 - 1));
        at += static_cast<uint32_t>((stream.size() + 63) / 64 * 64);
    }
    t.set(cna::kDcompAddr0, packed);
    t.set(cna::kDcompCtrl, 1);
}

std::string refusal(Machine& m, const Task& t, uint32_t mask) {
    const auto error = m.run(t, mask, false);
    REQUIRE(error);
    CHECK(error->kind == npusim::ExecError::Kind::kRefused);
    return error->text;
}

}  // namespace

TEST_CASE("compressed weights of both modes give the raw result") {
    const unsigned mode = GENERATE(0x00U, 0x11U);
    const auto count = static_cast<uint32_t>(case_count(20));
    for (uint32_t seed = 1; seed <= count; ++seed) {
        Machine m(1U << 18, seed);
        ConvCase c = small_conv(m, 16 * m.pick(1, 3), 0);
        for (int& w : c.weights)
            w = m.chance(50) ? 3 : m.pick(-128, 127);
        Task t;
        place_conv(m, c, t);
        compress_weights(m, t, c.weights.size(), mode);
        INFO("mode " << mode << " seed " << seed);
        m.run_both(t, c.records ? kMaskConvRdma : kMaskConv);
        REQUIRE(wrong_elements(m, c) == 0);
    }
}

TEST_CASE("a damaged compressed stream is refused") {
    Machine m(1U << 18);
    ConvCase c = small_conv(m, 16, 0);
    Task t;
    place_conv(m, c, t);
    compress_weights(m, t, c.weights.size(), 0x11);
    m.put<uint8_t>(t.get(cna::kDcompAddr0), 0x42);
    CHECK(refusal(m, t, c.records ? kMaskConvRdma : kMaskConv) ==
          "compressed weights: unknown lane mode");
    t.set(cna::kDcompAmount0 + 4 * 3, 0xffffffff);
    m.put<uint8_t>(t.get(cna::kDcompAddr0), 0x11);
    CHECK(refusal(m, t, c.records ? kMaskConvRdma : kMaskConv) ==
          "compressed weights: lane without a header");
}

TEST_CASE("the input converter turns unsigned pixels into int8") {
    // Settings of the two known producers: add first with scale 1, and multiply, shift, add.
    struct Setting {
        uint32_t con0;
        int scale, offset, shift;
        bool offset_first;
    };
    const Setting setting =
        GENERATE(Setting{0x2, 1, -128, 0, true}, Setting{14U << 4, 16384, -128, 14, false},
                 Setting{15U << 4, 32388, -128, 15, false});
    Machine m(1U << 18);
    ConvCase c = small_conv(m, 0, 3);
    Task t;
    place_conv(m, c, t);
    const uint32_t shifts = static_cast<uint32_t>(setting.shift) * 0x1041U;  // four 6-bit fields
    t.set(cna::kCvtCon0, (setting.con0 & 0xfU) | shifts << 4);
    for (uint32_t lane = 0; lane < 4; ++lane)
        t.set(cna::kCvtCon1 + 4 * lane, static_cast<uint32_t>(setting.scale) << 16 |
                                            (static_cast<uint32_t>(setting.offset) & 0xffffU));
    t.set(cna::kCvtCon5, 0xffff);
    for (int ch = 0; ch < 3; ++ch) {
        for (int y = 0; y < c.input.height; ++y) {
            for (int x = 0; x < c.input.width; ++x) {
                int& v = c.input.at(ch, y, x);
                const int64_t raw = v & 0xff;  // the bytes in memory, read as unsigned
                v = static_cast<int>(
                    golden::limit8(setting.offset_first
                                       ? (raw + setting.offset) * setting.scale
                                       : golden::divide_even(raw * setting.scale,
                                                             static_cast<unsigned>(setting.shift)) +
                                             setting.offset));
            }
        }
    }
    m.run_both(t, c.records ? kMaskConvRdma : kMaskConv);
    CHECK(wrong_elements(m, c) == 0);
}

TEST_CASE("random input converters equal the golden rules") {
    for (int i = 0; i < case_count(100); ++i) {
        Machine m(1U << 18, 900000 + static_cast<uint32_t>(i));
        ConvCase c = small_conv(m, 0, m.pick(1, 4));
        Task t;
        place_conv(m, c, t);
        const bool first = m.chance(50);
        const bool half_up = m.chance(30);
        const bool is_signed = m.chance(50);
        t.set(cna::kCvtCon0, (first ? 2U : 0U) | (half_up ? 4U : 0U) | (is_signed ? 8U : 0U));
        int64_t scale[4];
        int64_t offset[4];
        unsigned shift[4];
        for (uint32_t lane = 0; lane < 4; ++lane) {
            scale[lane] = m.pick(-32768, 32767);
            offset[lane] = m.pick(-300, 300);
            shift[lane] = static_cast<unsigned>(m.pick(0, 20));
            t.set(cna::kCvtCon0, t.get(cna::kCvtCon0) | shift[lane] << (4 + 6 * lane));
            t.set(cna::kCvtCon1 + 4 * lane, static_cast<uint32_t>(scale[lane]) << 16 |
                                                (static_cast<uint32_t>(offset[lane]) & 0xffffU));
        }
        const auto shifted = [&](int64_t v, unsigned by) {
            if (!half_up || by == 0)
                return golden::divide_even(v, by);
            return (v + (int64_t{1} << (by - 1))) >> by;
        };
        for (int ch = 0; ch < c.image; ++ch) {
            for (int k = 0; k < c.input.height * c.input.width; ++k) {
                int& v = c.input.at(ch, k / c.input.width, k % c.input.width);
                const int64_t raw = is_signed ? v : v & 0xff;
                v = static_cast<int>(
                    golden::limit8(first ? shifted((raw + offset[ch]) * scale[ch], shift[ch])
                                         : shifted(raw * scale[ch], shift[ch]) + offset[ch]));
            }
        }
        INFO("case " << i);
        m.run_both(t, c.records ? kMaskConvRdma : kMaskConv);
        REQUIRE(wrong_elements(m, c) == 0);
    }
}

TEST_CASE("look-up tables interpolate, choose by range and extrapolate") {
    Machine m(1U << 16);
    std::vector<int> le(513);
    std::vector<int> lo(513);
    for (int i = 0; i < 513; ++i) {
        le[static_cast<size_t>(i)] = m.pick(-32768, 32767);
        lo[static_cast<size_t>(i)] = m.pick(-32768, 32767);
    }
    for (npusim::TaskEngine* engine : {&m.fast(), &m.reference()}) {
        engine->write_lut(dpu::kLutAccessCfg, 0x20000);
        for (int v : le)
            engine->write_lut(dpu::kLutAccessData, static_cast<uint32_t>(v) & 0xffffU);
        engine->write_lut(dpu::kLutAccessCfg, 0x30000);
        for (int v : lo)
            engine->write_lut(dpu::kLutAccessData, static_cast<uint32_t>(v) & 0xffffU);
        engine->write_lut(dpu::kLutAccessCfg, 0x10000 | 7);
        CHECK(engine->read_lut() == (static_cast<uint32_t>(lo[7]) & 0xffffU));
        CHECK(engine->read_lut() == (static_cast<uint32_t>(lo[8]) & 0xffffU));
    }
    constexpr int kPixels = 40;
    const uint32_t from = m.alloc(kPixels * 16);
    const uint32_t to = m.alloc(kPixels * 16);
    std::vector<int> inputs;
    for (uint32_t i = 0; i < kPixels * 8; ++i) {
        inputs.push_back(m.pick(-25000, 25000));
        m.put<int16_t>(from + 2 * i, static_cast<int16_t>(inputs.back()));
    }
    Task t = lookup_row(Precision::kInt16, Precision::kInt16, kPixels, from, to);
    // Vendor sigmoid layout: LE [-16384, 0), LO [0, 16384), steps of 32; LO beyond the end.
    t.set(dpu::kLutCfg, 0x68);
    t.set(dpu::kLutInfo, 0x050500);
    t.set(dpu::kLutLeStart, static_cast<uint32_t>(-16384));
    t.set(dpu::kLutLoEnd, 16384);
    t.set(dpu::kLutLoSlopeScale, 0x40320000);
    t.set(dpu::kLutLoSlopeShift, 0x1a0);
    m.run_both(t, kMaskFlying);
    size_t wrong = 0;
    for (uint32_t i = 0; i < inputs.size(); ++i) {
        const int x = inputs[i];
        int64_t want = 0;
        if (x < -16384) {
            want = le[0];  // slope 0: clamped
        } else if (x >= 16384) {
            want = lo[512] + golden::divide_even(int64_t{x - 16384} * 0x4032, 13);
        } else {
            const std::vector<int>& table = x < 0 ? le : lo;
            const int distance = x < 0 ? x + 16384 : x;
            const auto index = static_cast<size_t>(distance / 32);
            const int64_t rise = int64_t{table[index + 1]} - table[index];
            want = table[index] + golden::divide_even(rise * (distance % 32), 5);
        }
        want = golden::limit(want, -32768, 32767);
        wrong += m.get<int16_t>(to + 2 * i) != want ? 1 : 0;
    }
    CHECK(wrong == 0);
    m.fast().reset();
    m.fast().write_lut(dpu::kLutAccessCfg, 0x10000);
    CHECK(m.fast().read_lut() == 0);
}

TEST_CASE("a refusal names register, value and reason") {
    Machine m(1U << 18);
    ConvCase c = small_conv(m, 32, 0);
    Task good;
    place_conv(m, c, good);
    const uint32_t mask = c.records ? kMaskConvRdma : kMaskConv;
    REQUIRE_FALSE(m.run(good, mask, false));
    Task t = good;
    t.set(cna::kConvCon1, cna::kConvCon1ConvMode, 5);
    CHECK(refusal(m, t, mask).find("CNA.CONV_CON1=0x") == 0);
    CHECK(refusal(m, t, mask).find("CONV_MODE must be 0 (direct) or 3 (depthwise)") !=
          std::string::npos);
    t = good;
    t.set(dpu::kFeatureModeCfg, dpu::kFeatureModeCfgRgpType, 2);
    CHECK(refusal(m, t, mask).find("DPU.FEATURE_MODE_CFG=0x") == 0);
    t = good;
    t.set(cna::kDataSize3, 1);
    CHECK(refusal(m, t, mask) ==
          "CNA.DATA_SIZE3=0x1 {DATAOUT_ATOMICS=1}: DATAOUT_ATOMICS is not output width * height");
    CHECK(refusal(m, good, npusim::kEnableCna).find("GLOBAL.OPERATION_ENABLE=0x1") == 0);
    CHECK(refusal(m, good, 0).find("no block that writes memory is enabled") != std::string::npos);
    CHECK(refusal(m, good, kMaskPool).find("PPU.") == 0);
}

TEST_CASE("failed transfers are reported as such and leave the engine usable") {
    Machine m(1U << 18);
    ConvCase c = small_conv(m, 32, 0);
    Task good;
    place_conv(m, c, good);
    const uint32_t mask = c.records ? kMaskConvRdma : kMaskConv;
    for (const uint32_t reg : {cna::kFeatureDataAddr, cna::kDcompAddr0, dpu::kDstBaseAddr}) {
        for (const uint32_t address : {0x80000000U, 0xffffffc0U, 0U}) {
            Task t = good;
            t.set(reg, address);
            const auto error = m.run(t, mask, false);
            INFO(npuregs::register_name(reg) << " at " << address);
            REQUIRE(error);
            CHECK(error->kind == npusim::ExecError::Kind::kDma);
        }
    }
    m.run_both(good, mask);
    CHECK(wrong_elements(m, c) == 0);
}
