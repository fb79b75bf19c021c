// SPDX-License-Identifier: MIT
#include "model/bson.hpp"

#include <string_view>

#include "core/bytes.hpp"

namespace rknpu {
namespace {

// Element types of bsonspec.org that the format uses.
constexpr uint8_t kDouble = 0x01, kString = 0x02, kDocument = 0x03, kArray = 0x04, kBinary = 0x05,
                  kBool = 0x08, kNull = 0x0a, kInt32 = 0x10, kInt64 = 0x12;
constexpr int kMaxDepth = 8;

struct Value {
    uint8_t type = kNull;
    int64_t integer = 0;
    double real = 0;
    std::string_view text;
    std::span<const std::byte> document;
};

/// Walks the elements of one document.
class Walker {
 public:
    explicit Walker(std::span<const std::byte> bytes) : bytes_(bytes) {
        if (bytes_.size() < 5)
            return;
        const auto length = load<int32_t>(bytes_, 0);
        if (length < 5 || static_cast<size_t>(length) > bytes_.size())
            return;
        bytes_ = bytes_.first(static_cast<size_t>(length));
        at_ = 4;
        good_ = true;
    }

    bool good() const { return good_; }

    /// False at the end of the document and on damage; good() tells which.
    bool next(std::string_view& name, Value& value) {
        if (!good_ || at_ >= bytes_.size())
            return fail();
        value = Value{};
        value.type = load<uint8_t>(bytes_, at_++);
        if (value.type == 0)
            return false;
        return read_name(name) && read_value(value);
    }

 private:
    bool fail() {
        good_ = false;
        return false;
    }

    bool take(size_t length, size_t& start) {
        if (!range_inside(at_, length, bytes_.size()))
            return fail();
        start = at_;
        at_ += length;
        return true;
    }

    bool read_name(std::string_view& name) {
        const size_t start = at_;
        while (at_ < bytes_.size() && bytes_[at_] != std::byte{0})
            ++at_;
        if (at_ >= bytes_.size())
            return fail();
        name = text(start, at_ - start);
        ++at_;
        return true;
    }

    bool read_value(Value& value) {
        size_t start = 0;
        switch (value.type) {
            case kDouble:
                if (!take(8, start))
                    return false;
                value.real = load<double>(bytes_, start);
                return true;
            case kString:
                return read_string(value);
            case kDocument:
            case kArray:
                return read_document(value);
            case kBinary:
                if (!take(4, start))
                    return false;
                return take(size_t{load<uint32_t>(bytes_, start)} + 1, start);
            case kBool:
                if (!take(1, start))
                    return false;
                value.integer = load<uint8_t>(bytes_, start);
                return true;
            case kInt32:
                if (!take(4, start))
                    return false;
                value.integer = load<int32_t>(bytes_, start);
                return true;
            case kInt64:
                if (!take(8, start))
                    return false;
                value.integer = load<int64_t>(bytes_, start);
                return true;
            case kNull:
                return true;
            default:
                return fail();
        }
    }

    bool read_string(Value& value) {
        size_t start = 0;
        if (!take(4, start))
            return false;
        const auto length = load<uint32_t>(bytes_, start);
        if (length == 0 || !take(length, start))
            return fail();
        value.text = text(start, length - 1);
        return true;
    }

    bool read_document(Value& value) {
        if (!range_inside(at_, 4, bytes_.size()))
            return fail();
        const auto length = load<uint32_t>(bytes_, at_);
        size_t start = 0;
        if (length < 5 || !take(length, start))
            return fail();
        value.document = bytes_.subspan(start, length);
        return true;
    }

    std::string_view text(size_t start, size_t length) const {
        return {reinterpret_cast<const char*>(bytes_.data()) + start, length};
    }

    std::span<const std::byte> bytes_;
    size_t at_ = 0;
    bool good_ = false;
};

/// Collects scalars out of nested arrays in order.
bool flatten(const Value& value, int depth, std::vector<double>& reals,
             std::vector<int64_t>& integers) {
    if (value.type != kArray) {
        const bool real = value.type == kDouble;
        reals.push_back(real ? value.real : static_cast<double>(value.integer));
        integers.push_back(real ? 0 : value.integer);
        return true;
    }
    if (depth >= kMaxDepth)
        return false;
    Walker walker(value.document);
    std::string_view name;
    Value element;
    while (walker.next(name, element)) {
        if (!flatten(element, depth + 1, reals, integers))
            return false;
    }
    return walker.good();
}

Result<bool> parse_one(std::string_view name, std::span<const std::byte> document,
                       Attributes& out) {
    Walker walker(document);
    std::string_view key;
    std::string_view dtype;
    Value value;
    Value element;
    while (walker.next(key, element)) {
        if (key == "dtype")
            dtype = element.text;
        else if (key == "value")
            value = element;
    }
    if (!walker.good())
        return Status{Error::kInvalidModel, "damaged value"};
    if (value.type == kString) {
        out.emplace(name, std::string(value.text));
        return true;
    }
    if (value.type == kNull || value.type == kDocument)
        return false;
    std::vector<double> reals;
    std::vector<int64_t> integers;
    if (!flatten(value, 0, reals, integers))
        return Status{Error::kInvalidModel, "damaged array"};
    if (dtype.starts_with('f'))
        out.emplace(name, std::vector<float>(reals.begin(), reals.end()));
    else
        out.emplace(name, std::move(integers));
    return true;
}

}  // namespace

Result<Attributes> parse_attributes(std::span<const std::byte> document) {
    Attributes out;
    // Nodes without attributes carry an empty vector or zeros.
    if (document.size() < 5 || load<int32_t>(document, 0) == 0)
        return out;
    Walker walker(document);
    std::string_view name;
    Value value;
    while (walker.next(name, value)) {
        if (value.type != kDocument)
            continue;
        if (auto done = parse_one(name, value.document, out); !done.ok())
            return Status::failure(Error::kInvalidModel, "attribute '{}': {}", name,
                                   done.status().text());
    }
    if (!walker.good())
        return Status{Error::kInvalidModel, "damaged attribute document"};
    return out;
}

}  // namespace rknpu
