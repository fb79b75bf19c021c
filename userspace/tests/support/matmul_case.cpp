// SPDX-License-Identifier: MIT
#include "support/matmul_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <random>

namespace rknpu::test {
namespace {

enum class Element { kInt4, kInt8, kInt16, kInt32, kHalf, kBfloat, kFloat };

struct Types {
    Element a, b, c;
};

Types types_in(rknn_matmul_type type) {
    using enum Element;
    switch (type) {
        case RKNN_FLOAT16_MM_FLOAT16_TO_FLOAT32:
            return {kHalf, kHalf, kFloat};
        case RKNN_INT8_MM_INT8_TO_INT32:
            return {kInt8, kInt8, kInt32};
        case RKNN_INT8_MM_INT8_TO_INT8:
            return {kInt8, kInt8, kInt8};
        case RKNN_FLOAT16_MM_FLOAT16_TO_FLOAT16:
            return {kHalf, kHalf, kHalf};
        case RKNN_FLOAT16_MM_INT8_TO_FLOAT32:
            return {kHalf, kInt8, kFloat};
        case RKNN_FLOAT16_MM_INT8_TO_FLOAT16:
            return {kHalf, kInt8, kHalf};
        case RKNN_FLOAT16_MM_INT4_TO_FLOAT32:
            return {kHalf, kInt4, kFloat};
        case RKNN_FLOAT16_MM_INT4_TO_FLOAT16:
            return {kHalf, kInt4, kHalf};
        case RKNN_INT8_MM_INT8_TO_FLOAT32:
            return {kInt8, kInt8, kFloat};
        case RKNN_INT4_MM_INT4_TO_INT16:
            return {kInt4, kInt4, kInt16};
        case RKNN_INT8_MM_INT4_TO_INT32:
            return {kInt8, kInt4, kInt32};
        case RKNN_FLOAT16_MM_INT4_TO_BFLOAT16:
            return {kHalf, kInt4, kBfloat};
        case RKNN_INT8_MM_INT4_TO_FLOAT16:
            return {kInt8, kInt4, kHalf};
    }
    return {kInt8, kInt8, kInt32};
}

int bits(Element element) {
    switch (element) {
        case Element::kInt4:
            return 4;
        case Element::kInt8:
            return 8;
        case Element::kInt32:
        case Element::kFloat:
            return 32;
        default:
            return 16;
    }
}

bool per_channel(rknn_matmul_quant_type type) {
    return type == RKNN_QUANT_TYPE_PER_CHANNEL_SYM || type == RKNN_QUANT_TYPE_PER_CHANNEL_ASYM;
}
bool per_group(rknn_matmul_quant_type type) {
    return type == RKNN_QUANT_TYPE_PER_GROUP_SYM || type == RKNN_QUANT_TYPE_PER_GROUP_ASYM;
}
bool shifted(rknn_matmul_quant_type type) {
    return type % 2 != 0;
}

/// A and B as numbers, and how they are quantised.
struct Problem {
    std::vector<double> a, b;  // m x k, k x n: codes of integers, values of floats
    std::vector<uint16_t> a_half, b_half;
    float scale_a = 1, scale_c = 1;
    int32_t zero_a = 0, zero_c = 0;
    std::vector<float> scale_b{1.0f};
    std::vector<int32_t> zero_b{0};
};

/// Codes from -largest to largest. Small ones keep integer results of 8 bits from saturating alone.
void fill(Element element, size_t count, std::mt19937& random, std::vector<double>& values,
          std::vector<uint16_t>& halves) {
    values.resize(count);
    if (element != Element::kHalf) {
        const int largest = element == Element::kInt4 ? 7 : 127;
        for (auto& value : values)
            value = static_cast<int>(random() % (2 * largest + 2)) - largest - 1;
        return;
    }
    halves.resize(count);
    for (size_t i = 0; i < count; ++i) {
        // Exponents 2^-8 to 2^0, any mantissa and sign.
        const uint32_t word = random();
        halves[i] = static_cast<uint16_t>((word & 0x83ff) | (7 + (word >> 16) % 9) << 10);
        values[i] = half_to_double(halves[i]);
    }
}

Problem make(const MatmulCase& test) {
    std::mt19937 random(test.seed);
    const auto types = types_in(test.type);
    Problem out;
    fill(types.a, size_t(test.m) * test.k, random, out.a, out.a_half);
    fill(types.b, size_t(test.k) * test.n, random, out.b, out.b_half);
    const auto scale = [&random] { return 0.01f + static_cast<float>(random() % 1000) / 20000.0f; };
    const auto zero = [&random] { return static_cast<int32_t>(random() % 21) - 10; };
    if (types.b == Element::kHalf || types.a == Element::kInt4)
        return out;
    size_t count = 1;
    if (per_channel(test.b_quant))
        count = test.n;
    if (per_group(test.b_quant))
        count = size_t(test.n) * (test.k / test.group_size);
    out.scale_b.resize(count);
    out.zero_b.assign(count, 0);
    for (size_t i = 0; i < count; ++i) {
        out.scale_b[i] = scale();
        if (shifted(test.b_quant))
            out.zero_b[i] = zero();
    }
    if (types.a == Element::kInt8) {
        out.scale_a = scale();
        out.zero_a = shifted(test.ac_quant) ? zero() : 0;
    }
    if (types.c == Element::kInt8) {
        // The sum of k products of about 74 * 74 * scales fills the range of an int8.
        out.scale_c = 5500.0f * std::sqrt(static_cast<float>(test.k)) * 0.001f / 60.0f;
        out.zero_c = shifted(test.ac_quant) ? zero() : 0;
    }
    return out;
}

size_t quant_index(const MatmulCase& test, size_t count, int32_t k, int32_t n) {
    if (count == 1)
        return 0;
    if (per_channel(test.b_quant))
        return n;
    return size_t(n) * (test.k / test.group_size) + k / test.group_size;
}

double clamp_to(double value, double low, double high) {
    return std::clamp(std::nearbyint(value), low, high);
}

/// Place of element (row, column) of A or C.
size_t place_ac(const MatmulCase& test, Element element, int32_t columns, int32_t row,
                int32_t column) {
    if (test.ac_layout == RKNN_MM_LAYOUT_NORM)
        return size_t(row) * columns + column;
    const int32_t lanes = 128 / bits(element);
    return (size_t(column / lanes) * test.m + row) * lanes + column % lanes;
}

/// Place of B's element (k, n); the native layout as the manual words it.
size_t place_b(const MatmulCase& test, Element a, int32_t k, int32_t n) {
    if (test.b_layout == RKNN_MM_LAYOUT_NORM)
        return size_t(k) * test.n + n;
    if (test.b_layout == RKNN_MM_LAYOUT_TP_NORM)
        return size_t(n) * test.k + k;
    const int32_t group = a == Element::kHalf ? 16 : a == Element::kInt4 ? 64 : 32;
    const auto segment = static_cast<int32_t>(test.k_segment);
    const int32_t first = k / segment * segment;
    const int32_t blocks = std::min(segment, test.k - first) / 32;
    const size_t before = size_t(first) * test.n;
    return before + ((size_t(n / group) * blocks + (k - first) / 32) * group + n % group) * 32 +
           k % 32;
}

void put(std::byte* to, Element element, size_t index, double value, uint16_t half) {
    if (element == Element::kHalf) {
        std::memcpy(to + index * 2, &half, 2);
    } else if (element == Element::kInt8) {
        to[index] = static_cast<std::byte>(static_cast<int8_t>(value));
    } else {
        const auto code = static_cast<uint8_t>(static_cast<int8_t>(value) & 0xf);
        auto& byte = to[index / 2];
        byte = index % 2 == 0 ? (byte & std::byte{0x0f}) | static_cast<std::byte>(code << 4)
                              : (byte & std::byte{0xf0}) | static_cast<std::byte>(code);
    }
}

template <typename T>
double load(const std::byte* from, size_t index) {
    T value;
    std::memcpy(&value, from + index * sizeof(T), sizeof(T));
    return static_cast<double>(value);
}

double get(const std::byte* from, Element element, size_t index) {
    switch (element) {
        case Element::kInt8:
            return load<int8_t>(from, index);
        case Element::kInt16:
            return load<int16_t>(from, index);
        case Element::kInt32:
            return load<int32_t>(from, index);
        case Element::kFloat:
            return load<float>(from, index);
        case Element::kHalf:
            return half_to_double(static_cast<uint16_t>(load<uint16_t>(from, index)));
        default: {
            const uint32_t word = static_cast<uint32_t>(load<uint16_t>(from, index)) << 16;
            float value;
            std::memcpy(&value, &word, sizeof(value));
            return value;
        }
    }
}

/// The library's objects of one case.
class Session {
 public:
    ~Session() {
        for (auto* memory : memories_) {
            if (memory != nullptr)
                rknn_destroy_mem(context_, memory);
        }
        if (context_ != 0)
            rknn_matmul_destroy(context_);
    }

    bool open(const MatmulCase& test) {
        rknn_matmul_info info{};
        info.M = test.m;
        info.K = test.k;
        info.N = test.n;
        info.type = test.type;
        info.B_layout = static_cast<int16_t>(test.b_layout);
        info.B_quant_type = static_cast<int16_t>(test.b_quant);
        info.AC_layout = static_cast<int16_t>(test.ac_layout);
        info.AC_quant_type = static_cast<int16_t>(test.ac_quant);
        info.group_size = test.group_size;
        if (rknn_matmul_create(&context_, &info, &attr_) != RKNN_SUCC)
            return false;
        if (test.core_mask != 0 &&
            rknn_matmul_set_core_mask(context_, static_cast<rknn_core_mask>(test.core_mask)) != 0)
            return false;
        const rknn_matmul_tensor_attr* attrs[] = {&attr_.A, &attr_.B, &attr_.C};
        for (int i = 0; i < 3; ++i) {
            memories_[i] = rknn_create_mem(context_, attrs[i]->size);
            if (memories_[i] == nullptr)
                return false;
        }
        return true;
    }

    bool set_quant(const char* name, const float* scale, size_t scales, const int32_t* zero,
                   size_t zeros) {
        rknn_quant_params params{};
        std::snprintf(params.name, sizeof(params.name), "%s", name);
        params.scale = const_cast<float*>(scale);
        params.scale_len = static_cast<int32_t>(scales);
        params.zp = const_cast<int32_t*>(zero);
        params.zp_len = static_cast<int32_t>(zeros);
        return rknn_matmul_set_quant_params(context_, &params) == RKNN_SUCC;
    }

    bool bind() {
        return rknn_matmul_set_io_mem(context_, memories_[0], &attr_.A) == RKNN_SUCC &&
               rknn_matmul_set_io_mem(context_, memories_[1], &attr_.B) == RKNN_SUCC &&
               rknn_matmul_set_io_mem(context_, memories_[2], &attr_.C) == RKNN_SUCC;
    }

    bool run() { return rknn_matmul_run(context_) == RKNN_SUCC; }

    std::byte* bytes(int operand) { return static_cast<std::byte*>(memories_[operand]->virt_addr); }

 private:
    rknn_matmul_ctx context_ = 0;
    rknn_matmul_io_attr attr_{};
    rknn_tensor_mem* memories_[3] = {};
};

}  // namespace

double half_to_double(uint16_t half) {
    const int exponent = half >> 10 & 0x1f;
    const double mantissa = half & 0x3ff;
    const double sign = (half & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == 31)
        return mantissa != 0 ? std::nan("") : sign * INFINITY;
    if (exponent == 0)
        return sign * std::ldexp(mantissa, -24);
    return sign * std::ldexp(1024.0 + mantissa, exponent - 25);
}

std::string describe(const MatmulCase& test) {
    return std::string(get_matmul_type_string(test.type)) + " " + std::to_string(test.m) + "x" +
           std::to_string(test.k) + "x" + std::to_string(test.n) + " B layout " +
           std::to_string(test.b_layout) + " AC layout " + std::to_string(test.ac_layout) +
           " B quant " + std::to_string(test.b_quant) + " AC quant " +
           std::to_string(test.ac_quant) + " group " + std::to_string(test.group_size) + " mask " +
           std::to_string(test.core_mask) + " seed " + std::to_string(test.seed);
}

Expected expect(const MatmulCase& test) {
    const auto types = types_in(test.type);
    const auto problem = make(test);
    const float largest = *std::max_element(problem.scale_b.begin(), problem.scale_b.end());
    const bool channel = per_channel(test.b_quant);
    Expected out;
    for (int32_t m = 0; m < test.m; ++m)
        for (int32_t n = 0; n < test.n; ++n) {
            double sum = 0;
            double magnitude = 0;
            for (int32_t k = 0; k < test.k; ++k) {
                const size_t index = quant_index(test, problem.scale_b.size(), k, n);
                double product = (problem.a[size_t(m) * test.k + k] - problem.zero_a) *
                                 (problem.b[size_t(k) * test.n + n] - problem.zero_b[index]);
                if (types.c != Element::kInt32 && types.c != Element::kInt16)
                    product *= double(problem.scale_a) * problem.scale_b[index];
                sum += product;
                magnitude += std::abs(product);
            }
            double tolerance = 0;
            switch (types.c) {
                case Element::kInt32:
                    if (channel)
                        sum *= double(problem.scale_b[n]) / largest;
                    // Scales are float: a result halfway between integers may go either way.
                    tolerance = channel ? std::max(1.0, std::abs(sum) * 1e-6) : 0.0;
                    sum = clamp_to(sum, INT32_MIN, INT32_MAX);
                    break;
                case Element::kInt16:
                    sum = clamp_to(sum, INT16_MIN, INT16_MAX);
                    break;
                case Element::kInt8: {
                    const double exact = sum / problem.scale_c;
                    const double fraction = std::abs(exact - std::floor(exact) - 0.5);
                    tolerance = fraction < 1e-4 ? 1.0 : 0.0;
                    sum = clamp_to(std::nearbyint(exact) + problem.zero_c, -128, 127);
                    break;
                }
                default:
                    tolerance = magnitude * 1e-6 * std::sqrt(double(test.k));
                    if (per_group(test.b_quant))
                        tolerance += magnitude * 0x1p-11;
                    tolerance += std::abs(sum) * (types.c == Element::kHalf     ? 0x1p-11
                                                  : types.c == Element::kBfloat ? 0x1p-8
                                                                                : 0x1p-23);
                    if (types.c == Element::kHalf && std::abs(sum) > 65504)
                        sum = std::copysign(INFINITY, sum);
            }
            out.values.push_back(sum);
            out.tolerance.push_back(tolerance);
        }
    return out;
}

std::vector<double> multiply(const MatmulCase& test) {
    const auto types = types_in(test.type);
    const auto problem = make(test);
    Session session;
    if (!session.open(test))
        return {};
    for (int32_t m = 0; m < test.m; ++m)
        for (int32_t k = 0; k < test.k; ++k) {
            const size_t from = size_t(m) * test.k + k;
            put(session.bytes(0), types.a, place_ac(test, types.a, test.k, m, k), problem.a[from],
                problem.a_half.empty() ? 0 : problem.a_half[from]);
        }
    for (int32_t k = 0; k < test.k; ++k)
        for (int32_t n = 0; n < test.n; ++n) {
            const size_t from = size_t(k) * test.n + n;
            put(session.bytes(1), types.b, place_b(test, types.a, k, n), problem.b[from],
                problem.b_half.empty() ? 0 : problem.b_half[from]);
        }
    const bool scaled_b = types.b != Element::kHalf && types.a != Element::kInt4;
    if (scaled_b && !session.set_quant("B", problem.scale_b.data(), problem.scale_b.size(),
                                       problem.zero_b.data(), problem.zero_b.size()))
        return {};
    if (types.a == Element::kInt8 &&
        !session.set_quant("A", &problem.scale_a, 1, &problem.zero_a, 1))
        return {};
    if (types.c == Element::kInt8 &&
        !session.set_quant("C", &problem.scale_c, 1, &problem.zero_c, 1))
        return {};
    if (!session.bind() || !session.run())
        return {};
    std::vector<double> out;
    for (int32_t m = 0; m < test.m; ++m)
        for (int32_t n = 0; n < test.n; ++n)
            out.push_back(get(session.bytes(2), types.c, place_ac(test, types.c, test.n, m, n)));
    return out;
}

double worst(const std::vector<double>& got, const Expected& expected) {
    if (got.size() != expected.values.size())
        return INFINITY;
    double out = 0;
    for (size_t i = 0; i < got.size(); ++i) {
        const double error =
            got[i] == expected.values[i] ? 0.0 : std::abs(got[i] - expected.values[i]);
        if (error == 0.0)
            continue;
        if (!(error <= expected.tolerance[i]))
            return expected.tolerance[i] == 0.0 || std::isnan(error)
                       ? INFINITY
                       : error / expected.tolerance[i];
        out = std::max(out, error / expected.tolerance[i]);
    }
    return out;
}

MatmulCase random_case(rknn_matmul_type type, uint32_t seed) {
    std::mt19937 random(seed * 2654435761u + static_cast<uint32_t>(type));
    const auto types = types_in(type);
    const int32_t group = types.a == Element::kHalf ? 16 : types.a == Element::kInt4 ? 64 : 32;
    MatmulCase out;
    out.type = type;
    out.m = random() % 3 == 0 ? 1 : 1 + static_cast<int32_t>(random() % 40);
    out.k = 32 * (1 + static_cast<int32_t>(random() % 10));
    out.n = group * (1 + static_cast<int32_t>(random() % 6));
    out.b_layout = static_cast<rknn_matmul_layout>(random() % 3);
    out.ac_layout = static_cast<rknn_matmul_layout>(random() % 2);
    const bool scales = types.b != Element::kHalf && types.a != Element::kInt4;
    const bool real =
        types.c == Element::kFloat || types.c == Element::kHalf || types.c == Element::kBfloat;
    if (scales)
        out.b_quant = static_cast<rknn_matmul_quant_type>(random() % (real ? 6 : 4));
    if (scales && types.a == Element::kInt8)
        out.ac_quant = static_cast<rknn_matmul_quant_type>(random() % 2);
    if (out.b_quant >= RKNN_QUANT_TYPE_PER_GROUP_SYM)
        out.group_size = out.k % 64 == 0 && random() % 2 == 0 ? 64 : 32;
    constexpr uint32_t kMasks[] = {0, 1, 2, 3};
    out.core_mask = kMasks[random() % 4];
    out.seed = seed;
    return out;
}

std::vector<rknn_matmul_type> types_of(const std::string& soc) {
    std::vector<rknn_matmul_type> out{
        RKNN_FLOAT16_MM_FLOAT16_TO_FLOAT32, RKNN_INT8_MM_INT8_TO_INT32,
        RKNN_INT8_MM_INT8_TO_INT8,          RKNN_FLOAT16_MM_FLOAT16_TO_FLOAT16,
        RKNN_INT8_MM_INT8_TO_FLOAT32,       RKNN_INT4_MM_INT4_TO_INT16};
    if (soc == "rk3576")
        out.insert(out.end(), {RKNN_FLOAT16_MM_INT8_TO_FLOAT32, RKNN_FLOAT16_MM_INT8_TO_FLOAT16,
                               RKNN_FLOAT16_MM_INT4_TO_FLOAT32, RKNN_FLOAT16_MM_INT4_TO_FLOAT16,
                               RKNN_INT8_MM_INT4_TO_INT32, RKNN_FLOAT16_MM_INT4_TO_BFLOAT16,
                               RKNN_INT8_MM_INT4_TO_FLOAT16});
    return out;
}

}  // namespace rknpu::test
