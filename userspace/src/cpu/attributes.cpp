// SPDX-License-Identifier: MIT
#include "attributes.hpp"

#include <utility>

namespace rknpu::cpu {

namespace {

Status wrong_kind(std::string_view name, std::string_view wanted) {
    return {StatusCode::kInvalidAttribute, cat("attribute '", name, "' is not ", wanted)};
}

}  // namespace

void Attributes::set(std::string_view name, AttributeValue value) {
    values_.insert_or_assign(std::string(name), std::move(value));
}

const AttributeValue* Attributes::find(std::string_view name) const {
    const auto it = values_.find(name);
    return it == values_.end() ? nullptr : &it->second;
}

Status Attributes::read(std::string_view name, std::int64_t& out) const {
    const AttributeValue* value = find(name);
    if (value == nullptr)
        return {};
    if (const auto* i = std::get_if<std::int64_t>(value)) {
        out = *i;
        return {};
    }
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(value);
        list && list->size() == 1) {
        out = list->front();
        return {};
    }
    return wrong_kind(name, "an integer");
}

Status Attributes::read(std::string_view name, bool& out) const {
    std::int64_t value = out ? 1 : 0;
    RKNPU_CPU_TRY(read(name, value));
    out = value != 0;
    return {};
}

Status Attributes::read(std::string_view name, float& out) const {
    const AttributeValue* value = find(name);
    if (value == nullptr)
        return {};
    if (const auto* f = std::get_if<float>(value)) {
        out = *f;
        return {};
    }
    if (const auto* list = std::get_if<std::vector<float>>(value); list && list->size() == 1) {
        out = list->front();
        return {};
    }
    std::int64_t integer = 0;
    if (!read(name, integer).ok())
        return wrong_kind(name, "a number");
    out = static_cast<float>(integer);
    return {};
}

Status Attributes::read(std::string_view name, std::string& out) const {
    const AttributeValue* value = find(name);
    if (value == nullptr)
        return {};
    if (const auto* s = std::get_if<std::string>(value)) {
        out = *s;
        return {};
    }
    return wrong_kind(name, "a string");
}

Status Attributes::read(std::string_view name, std::vector<std::int64_t>& out) const {
    const AttributeValue* value = find(name);
    if (value == nullptr)
        return {};
    if (const auto* list = std::get_if<std::vector<std::int64_t>>(value)) {
        out = *list;
        return {};
    }
    if (const auto* i = std::get_if<std::int64_t>(value)) {
        out.assign(1, *i);
        return {};
    }
    return wrong_kind(name, "a list of integers");
}

Status Attributes::read(std::string_view name, std::vector<float>& out) const {
    const AttributeValue* value = find(name);
    if (value == nullptr)
        return {};
    if (const auto* list = std::get_if<std::vector<float>>(value)) {
        out = *list;
        return {};
    }
    if (const auto* ints = std::get_if<std::vector<std::int64_t>>(value)) {
        out.assign(ints->begin(), ints->end());
        return {};
    }
    float single = 0;
    if (!read(name, single).ok())
        return wrong_kind(name, "a list of numbers");
    out.assign(1, single);
    return {};
}

Status Attributes::read(std::string_view name, std::vector<std::string>& out) const {
    const AttributeValue* value = find(name);
    if (value == nullptr)
        return {};
    if (const auto* list = std::get_if<std::vector<std::string>>(value)) {
        out = *list;
        return {};
    }
    if (const auto* s = std::get_if<std::string>(value)) {
        out.assign(1, *s);
        return {};
    }
    return wrong_kind(name, "a list of strings");
}

Status Attributes::read(std::string_view name, const Tensor*& out) const {
    const AttributeValue* value = find(name);
    if (value == nullptr) {
        out = nullptr;
        return {};
    }
    if (const auto* t = std::get_if<Tensor>(value)) {
        out = t;
        return {};
    }
    return wrong_kind(name, "a tensor");
}

}  // namespace rknpu::cpu
