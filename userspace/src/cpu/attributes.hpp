// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "status.hpp"
#include "tensor.hpp"

namespace rknpu::cpu {

using AttributeValue = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>,
                                    std::vector<float>, std::vector<std::string>, Tensor>;

/// Named attributes of one node. Readers are lenient about form, never about range: one number is
/// accepted where a list is wanted and the other way round, an integer where a float is wanted.
class Attributes {
 public:
    void set(std::string_view name, AttributeValue value);
    bool has(std::string_view name) const { return find(name) != nullptr; }
    const AttributeValue* find(std::string_view name) const;
    std::size_t size() const { return values_.size(); }

    /// Each read() leaves `out` alone when the attribute is absent, and returns kInvalidAttribute
    /// when it is of a kind that cannot be read as the wanted one.
    Status read(std::string_view name, std::int64_t& out) const;
    Status read(std::string_view name, bool& out) const;
    Status read(std::string_view name, float& out) const;
    Status read(std::string_view name, std::string& out) const;
    Status read(std::string_view name, std::vector<std::int64_t>& out) const;
    Status read(std::string_view name, std::vector<float>& out) const;
    Status read(std::string_view name, std::vector<std::string>& out) const;
    /// Null when absent.
    Status read(std::string_view name, const Tensor*& out) const;

 private:
    std::map<std::string, AttributeValue, std::less<>> values_;
};

}  // namespace rknpu::cpu
