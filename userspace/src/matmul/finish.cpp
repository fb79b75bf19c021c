// SPDX-License-Identifier: MIT
#include "matmul/finish.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "cpu/fp16.hpp"

namespace rknpu::matmul {
namespace {

template <typename T>
T at(std::span<const std::byte> bytes, size_t index) {
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
}

/// The value of one element of C before type and zero point.
template <typename Sum>
class Reader {
 public:
    using Total = std::conditional_t<std::is_integral_v<Sum>, int64_t, float>;

    Reader(const Spec& spec, const Shape& shape, const FinishInput& input)
        : shape_(shape), input_(input), count_(segments(shape.k, spec.k_segment)) {}

    Total total(uint32_t m, uint32_t n) const {
        const size_t segment = size_t{shape_.m} * shape_.n;
        size_t index = (size_t{n / 4} * shape_.m + m) * 4 + n % 4;
        Total sum = 0;
        for (uint32_t s = 0; s < count_; ++s, index += segment)
            sum += at<Sum>(input_.sums, index);
        if constexpr (std::is_integral_v<Sum>)
            sum += correction(m, n);
        return sum;
    }

    double real(uint32_t m, uint32_t n) const {
        const auto sum = static_cast<double>(total(m, n));
        return input_.factors.empty() ? sum : sum * input_.factors[n];
    }

 private:
    int64_t correction(uint32_t m, uint32_t n) const {
        const auto& zeros = input_.zeros_b;
        const int64_t zero_b = zeros.empty() ? 0 : zeros[zeros.size() == 1 ? 0 : n];
        int64_t out = int64_t{input_.zero_a} * zero_b * shape_.k;
        if (!input_.column_sums.empty())
            out -= int64_t{input_.zero_a} * input_.column_sums[n];
        if (!input_.row_sums.empty())
            out -= zero_b * input_.row_sums[m];
        return out;
    }

    const Shape& shape_;
    const FinishInput& input_;
    uint32_t count_;
};

template <typename T>
T saturate(double value) {
    const double rounded = std::nearbyint(value);
    if (!(rounded > static_cast<double>(std::numeric_limits<T>::min())))
        return std::numeric_limits<T>::min();
    if (rounded >= static_cast<double>(std::numeric_limits<T>::max()))
        return std::numeric_limits<T>::max();
    return static_cast<T>(rounded);
}

template <typename Out, typename Make>
void write(const Spec& spec, const Shape& shape, std::span<std::byte> target, Make&& make) {
    const uint32_t width = lanes(spec.kind->c);
    const bool native = spec.ac_layout == Layout::kNative;
    for (uint32_t n = 0; n < shape.n; n += 4)
        for (uint32_t m = 0; m < shape.m; ++m) {
            Out values[4];
            for (uint32_t lane = 0; lane < 4; ++lane)
                values[lane] = make(m, n + lane);
            const size_t index = native ? (size_t{n / width} * shape.m + m) * width + n % width
                                        : size_t{m} * shape.n + n;
            std::memcpy(target.data() + index * sizeof(Out), values, sizeof(values));
        }
}

template <typename Sum>
void finish_from(const Spec& spec, const Shape& shape, const FinishInput& input,
                 std::span<std::byte> target) {
    const Reader<Sum> reader(spec, shape, input);
    const auto real = [&](uint32_t m, uint32_t n) { return reader.real(m, n); };
    switch (spec.kind->c) {
        case DataType::kInt8:
            return write<int8_t>(spec, shape, target, [&](uint32_t m, uint32_t n) {
                return saturate<int8_t>(std::nearbyint(real(m, n)) + input.zero_c);
            });
        case DataType::kInt16:
            return write<int16_t>(spec, shape, target, [&](uint32_t m, uint32_t n) {
                return saturate<int16_t>(real(m, n));
            });
        case DataType::kInt32:
            return write<int32_t>(spec, shape, target, [&](uint32_t m, uint32_t n) {
                return saturate<int32_t>(real(m, n));
            });
        case DataType::kFloat16:
            return write<uint16_t>(spec, shape, target, [&](uint32_t m, uint32_t n) {
                return cpu::fp32_to_fp16(static_cast<float>(real(m, n)));
            });
        case DataType::kBfloat16:
            return write<uint16_t>(spec, shape, target, [&](uint32_t m, uint32_t n) {
                return cpu::fp32_to_bf16(static_cast<float>(real(m, n)));
            });
        default:
            return write<float>(spec, shape, target, [&](uint32_t m, uint32_t n) {
                return static_cast<float>(real(m, n));
            });
    }
}

template <typename T>
using SumOf = std::conditional_t<sizeof(T) == 1, int32_t, float>;

/// One work element as a number of the sum's type.
template <typename T>
SumOf<T> load_work(std::span<const std::byte> bytes, size_t index) {
    if constexpr (sizeof(T) == 1)
        return at<T>(bytes, index);
    else
        return cpu::fp16_to_fp32(at<T>(bytes, index));
}

template <typename T>
void multiply(const Shape& shape, uint32_t k_segment, std::span<const std::byte> a,
              std::span<const std::byte> b, std::span<std::byte> sums) {
    constexpr uint32_t kLanes = 16 / sizeof(T);
    constexpr uint32_t kGroup = sizeof(T) == 1 ? 32 : 16;
    size_t out = 0;
    for (uint32_t first = 0; first < shape.k; first += k_segment) {
        const uint32_t rows = std::min(k_segment, shape.k - first);
        for (uint32_t n4 = 0; n4 < shape.n; n4 += 4)
            for (uint32_t m = 0; m < shape.m; ++m) {
                SumOf<T> sum[4] = {};
                for (uint32_t k = 0; k < rows; ++k) {
                    const uint32_t whole = first + k;
                    const auto x = load_work<T>(
                        a, (size_t{whole / kLanes} * shape.m + m) * kLanes + whole % kLanes);
                    const size_t block = size_t{n4 / kGroup} * (rows / kBlockK) + k / kBlockK;
                    size_t weight = size_t{first} * shape.n +
                                    (block * kGroup + n4 % kGroup) * kBlockK + k % kBlockK;
                    for (auto& lane : sum) {
                        lane += x * load_work<T>(b, weight);
                        weight += kBlockK;
                    }
                }
                std::memcpy(sums.data() + out, sum, sizeof(sum));
                out += sizeof(sum);
            }
    }
}

}  // namespace

void finish(const Spec& spec, const Shape& shape, const FinishInput& input,
            std::span<std::byte> target) {
    if (work_of(spec) == Work::kInt8)
        finish_from<int32_t>(spec, shape, input, target);
    else
        finish_from<float>(spec, shape, input, target);
}

void multiply_on_cpu(Work work, const Shape& shape, uint32_t k_segment,
                     std::span<const std::byte> a, std::span<const std::byte> b,
                     std::span<std::byte> sums) {
    if (work == Work::kInt8)
        multiply<int8_t>(shape, k_segment, a, b, sums);
    else
        multiply<uint16_t>(shape, k_segment, a, b, sums);
}

}  // namespace rknpu::matmul
