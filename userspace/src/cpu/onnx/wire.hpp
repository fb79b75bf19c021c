// SPDX-License-Identifier: MIT
// Reads serialised protocol buffer messages field by field (the published wire format). Enough for
// .onnx files, so that nothing has to be installed and every target can be built.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace rknpu::cpu::wire {

using Bytes = std::span<const std::byte>;

enum class Kind : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
    std::uint32_t number = 0;
    Kind kind = Kind::kVarint;
    std::uint64_t value = 0;  // of the numeric kinds, as stored
    Bytes bytes;              // of kBytes

    std::string text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

/// Fields of one message in the order of the file.
class Reader {
 public:
    explicit Reader(Bytes bytes) : bytes_(bytes) {}

    /// False at the end, and when the rest is no message.
    bool next(Field& field) {
        std::uint64_t tag = 0;
        if (bytes_.empty() || damaged_)
            return false;
        if (!varint(tag) || tag >> 3 == 0 || tag >> 32 != 0)
            return fail();
        field.number = static_cast<std::uint32_t>(tag >> 3);
        field.kind = static_cast<Kind>(tag & 7);
        field.bytes = {};
        switch (field.kind) {
            case Kind::kVarint:
                return varint(field.value) || fail();
            case Kind::kFixed64:
                return fixed<std::uint64_t>(field.value) || fail();
            case Kind::kFixed32:
                return fixed<std::uint32_t>(field.value) || fail();
            case Kind::kBytes:
                if (!varint(field.value) || field.value > bytes_.size())
                    return fail();
                field.bytes = take(static_cast<std::size_t>(field.value));
                return true;
        }
        return fail();  // groups, which no published message has
    }

    bool damaged() const { return damaged_; }

    bool varint(std::uint64_t& value) {
        value = 0;
        for (unsigned shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
            const auto byte = std::to_integer<std::uint64_t>(take(1)[0]);
            value |= (byte & 0x7f) << shift;
            if (byte < 0x80)
                return true;
        }
        return false;
    }

    template <typename T>
    bool fixed(std::uint64_t& value) {
        if (bytes_.size() < sizeof(T))
            return false;
        T stored;
        std::memcpy(&stored, take(sizeof(T)).data(), sizeof(T));
        value = stored;
        return true;
    }

    bool empty() const { return bytes_.empty(); }

 private:
    Bytes take(std::size_t count) {
        const auto out = bytes_.first(count);
        bytes_ = bytes_.subspan(count);
        return out;
    }
    bool fail() {
        damaged_ = true;
        return false;
    }

    Bytes bytes_;
    bool damaged_ = false;
};

/// Appends the numbers of a repeated field, packed or not: float and double have their own kinds,
/// integers are varints. False if they are stored in another way.
template <typename T>
bool append(const Field& field, std::vector<T>& to) {
    constexpr Kind kKind = std::is_same_v<T, float>    ? Kind::kFixed32
                           : std::is_same_v<T, double> ? Kind::kFixed64
                                                       : Kind::kVarint;
    const auto store = [&](std::uint64_t value) {
        if constexpr (std::is_floating_point_v<T>) {
            T number;
            std::memcpy(&number, &value, sizeof(T));  // little-endian, as the file
            to.push_back(number);
        } else {
            to.push_back(static_cast<T>(value));
        }
    };
    if (field.kind == kKind) {
        store(field.value);
        return true;
    }
    if (field.kind != Kind::kBytes)
        return false;
    if constexpr (std::is_floating_point_v<T>) {
        const std::size_t count = field.bytes.size() / sizeof(T);
        const std::size_t before = to.size();
        to.resize(before + count);
        if (count != 0)
            std::memcpy(to.data() + before, field.bytes.data(), count * sizeof(T));
        return field.bytes.size() % sizeof(T) == 0;
    } else {
        Reader packed(field.bytes);
        std::uint64_t value = 0;
        while (!packed.empty()) {
            if (!packed.varint(value))
                return false;
            store(value);
        }
        return true;
    }
}

}  // namespace rknpu::cpu::wire
