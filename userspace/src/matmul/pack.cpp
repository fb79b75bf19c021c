// SPDX-License-Identifier: MIT
#include "matmul/pack.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/fp16.hpp"

namespace rknpu::matmul {
namespace {

struct Int8 {
    const std::byte* data;
    int32_t operator[](size_t index) const { return static_cast<int8_t>(data[index]); }
};

/// Two per byte, the even one in the high half.
struct Int4 {
    const std::byte* data;
    int32_t operator[](size_t index) const {
        const auto byte = static_cast<uint8_t>(data[index / 2]);
        const auto nibble = static_cast<uint8_t>(index % 2 == 0 ? byte & 0xf0 : byte << 4);
        return static_cast<int8_t>(nibble) >> 4;
    }
};

struct Half {
    const std::byte* data;
    uint16_t operator[](size_t index) const {
        uint16_t value;
        std::memcpy(&value, data + index * sizeof(value), sizeof(value));
        return value;
    }
};

/// Calls `body` with a reader of the elements of `type`.
template <typename Body>
void with_reader(DataType type, std::span<const std::byte> source, Body&& body) {
    if (type == DataType::kInt8)
        body(Int8{source.data()});
    else if (type == DataType::kInt4)
        body(Int4{source.data()});
    else
        body(Half{source.data()});
}

/// Place of A's element (m, k) in its layout.
struct PlaceA {
    Shape shape;
    bool native;
    uint32_t width;  // lanes of the native layout

    size_t operator()(uint32_t m, uint32_t k) const {
        if (!native)
            return size_t{m} * shape.k + k;
        return (size_t{k / width} * shape.m + m) * width + k % width;
    }
};

PlaceA place_a(const Spec& spec, const Shape& shape) {
    return {shape, spec.ac_layout == Layout::kNative, lanes(spec.kind->a)};
}

/// Place of B's element (k, n) in its layout.
struct PlaceB {
    Shape shape;
    Layout layout;
    uint32_t group;
    uint32_t k_segment;

    size_t operator()(uint32_t k, uint32_t n) const {
        if (layout == Layout::kNormal)
            return size_t{k} * shape.n + n;
        if (layout == Layout::kTransposed)
            return size_t{n} * shape.k + k;
        const uint32_t first = k / k_segment * k_segment;
        const uint32_t rows = std::min(k_segment, shape.k - first);
        const size_t block = size_t{n / group} * (rows / kBlockK) + (k - first) / kBlockK;
        return size_t{first} * shape.n + (block * group + n % group) * kBlockK + k % kBlockK;
    }
};

PlaceB place_b(const Spec& spec, const Shape& shape) {
    return {shape, spec.b_layout, column_group(*spec.kind), spec.k_segment};
}

template <typename T, typename Value>
void fill_a(const Shape& shape, std::span<std::byte> target, Value&& value) {
    constexpr uint32_t kLanes = 16 / sizeof(T);
    std::byte* out = target.data();
    for (uint32_t k = 0; k < shape.k; k += kLanes)
        for (uint32_t m = 0; m < shape.m; ++m) {
            T atom[kLanes];
            for (uint32_t lane = 0; lane < kLanes; ++lane)
                atom[lane] = value(m, k + lane);
            std::memcpy(out, atom, sizeof(atom));
            out += sizeof(atom);
        }
}

/// Walks B in the order of the native layout with `group` columns.
template <typename Visit>
void walk_b(const Shape& shape, uint32_t k_segment, uint32_t group, Visit&& visit) {
    for (uint32_t first = 0; first < shape.k; first += k_segment) {
        const uint32_t end = std::min(shape.k, first + k_segment);
        for (uint32_t n = 0; n < shape.n; n += group)
            for (uint32_t k = first; k < end; k += kBlockK)
                for (uint32_t column = n; column < n + group; ++column)
                    for (uint32_t row = k; row < k + kBlockK; ++row)
                        visit(row, column);
    }
}

template <typename T, typename Value>
void fill_b(const Spec& spec, const Shape& shape, std::span<std::byte> target, Value&& value) {
    std::byte* out = target.data();
    walk_b(shape, spec.k_segment, sizeof(T) == 1 ? 32 : 16, [&](uint32_t k, uint32_t n) {
        const T element = value(k, n);
        std::memcpy(out, &element, sizeof(element));
        out += sizeof(element);
    });
}

/// Index into per-layer, per-channel or per-group values.
size_t parameter_index(size_t count, uint32_t k, uint32_t n, const Shape& shape, uint32_t group) {
    if (count <= 1)
        return 0;
    return count == shape.n || group == 0 ? n : size_t{n} * (shape.k / group) + k / group;
}

}  // namespace

Work work_of(const Spec& spec) {
    const bool real = spec.kind->a == DataType::kFloat16 || per_group(spec.b_quant);
    return real ? Work::kFloat16 : Work::kInt8;
}

bool is_work_form(const Spec& spec, Operand operand) {
    const DataType work = work_of(spec) == Work::kInt8 ? DataType::kInt8 : DataType::kFloat16;
    if (operand == Operand::kA)
        return spec.kind->a == work && spec.ac_layout == Layout::kNative;
    return spec.kind->b == work && spec.b_layout == Layout::kNative;
}

void pack_a(const Spec& spec, const Shape& shape, std::span<const std::byte> source, int32_t zero,
            std::span<std::byte> target) {
    const auto place = place_a(spec, shape);
    with_reader(spec.kind->a, source, [&](auto read) {
        if constexpr (std::is_same_v<decltype(read), Half>)
            fill_a<uint16_t>(shape, target,
                             [&](uint32_t m, uint32_t k) { return read[place(m, k)]; });
        else if (work_of(spec) == Work::kInt8)
            fill_a<int8_t>(shape, target, [&](uint32_t m, uint32_t k) {
                return static_cast<int8_t>(read[place(m, k)]);
            });
        else
            fill_a<uint16_t>(shape, target, [&](uint32_t m, uint32_t k) {
                return cpu::fp32_to_fp16(static_cast<float>(read[place(m, k)] - zero));
            });
    });
}

void pack_b(const Spec& spec, const Shape& shape, std::span<const std::byte> source,
            const Dequant& dequant, std::span<std::byte> target) {
    const auto place = place_b(spec, shape);
    with_reader(spec.kind->b, source, [&](auto read) {
        if constexpr (std::is_same_v<decltype(read), Half>) {
            fill_b<uint16_t>(spec, shape, target,
                             [&](uint32_t k, uint32_t n) { return read[place(k, n)]; });
        } else if (work_of(spec) == Work::kInt8) {
            fill_b<int8_t>(spec, shape, target, [&](uint32_t k, uint32_t n) {
                return static_cast<int8_t>(read[place(k, n)]);
            });
        } else {
            fill_b<uint16_t>(spec, shape, target, [&](uint32_t k, uint32_t n) {
                const auto index = [&](size_t count) {
                    return parameter_index(count, k, n, shape, dequant.group_size);
                };
                const int32_t zero =
                    dequant.zeros.empty() ? 0 : dequant.zeros[index(dequant.zeros.size())];
                const float scale =
                    dequant.scales.empty() ? 1.0f : dequant.scales[index(dequant.scales.size())];
                return cpu::fp32_to_fp16(static_cast<float>(read[place(k, n)] - zero) * scale);
            });
        }
    });
}

void sum_rows_of_a(const Spec& spec, const Shape& shape, std::span<const std::byte> source,
                   std::span<int32_t> sums) {
    const auto place = place_a(spec, shape);
    with_reader(spec.kind->a, source, [&](auto read) {
        for (uint32_t m = 0; m < shape.m; ++m) {
            int32_t sum = 0;
            for (uint32_t k = 0; k < shape.k; ++k)
                sum += read[place(m, k)];
            sums[m] = sum;
        }
    });
}

void sum_columns_of_b(const Spec& spec, const Shape& shape, std::span<const std::byte> source,
                      std::span<int32_t> sums) {
    std::fill(sums.begin(), sums.end(), 0);
    const auto place = place_b(spec, shape);
    with_reader(spec.kind->b, source, [&](auto read) {
        for (uint32_t k = 0; k < shape.k; ++k)
            for (uint32_t n = 0; n < shape.n; ++n)
                sums[n] += read[place(k, n)];
    });
}

void normal_to_native_b(const Spec& spec, const Shape& shape, std::span<const std::byte> source,
                        std::span<std::byte> target) {
    const auto place = [&](uint32_t k, uint32_t n) { return size_t{k} * shape.n + n; };
    size_t at = 0;
    const auto walk = [&](auto&& visit) {
        walk_b(shape, spec.k_segment, column_group(*spec.kind), visit);
    };
    if (spec.kind->b == DataType::kInt4) {
        const Int4 read{source.data()};
        walk([&](uint32_t k, uint32_t n) {
            const auto nibble = static_cast<uint8_t>(read[place(k, n)] & 0xf);
            auto& byte = target[at / 2];
            byte = at % 2 == 0 ? static_cast<std::byte>(nibble << 4)
                               : byte | static_cast<std::byte>(nibble);
            ++at;
        });
        return;
    }
    const size_t width = bits_of(spec.kind->b) / 8;
    walk([&](uint32_t k, uint32_t n) {
        std::memcpy(target.data() + at++ * width, source.data() + place(k, n) * width, width);
    });
}

}  // namespace rknpu::matmul
