// SPDX-License-Identifier: MIT
#include "npusim/fault_plan.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace npusim {

namespace {

struct KindName {
    FaultKind kind;
    std::string_view name;
    std::string_view number;
    bool needs_value;
};

constexpr std::array<KindName, 10> kKinds = {{
    {FaultKind::kHang, "hang", "K1", false},
    {FaultKind::kLate, "late", "K2", true},
    {FaultKind::kDropIrq, "drop-irq", "K3", false},
    {FaultKind::kSpuriousIrq, "spurious-irq", "K4", false},
    {FaultKind::kWrongStatus, "wrong-status", "K5", true},
    {FaultKind::kPageFault, "page-fault", "K6", true},
    {FaultKind::kPoison, "poison", "K7", false},
    {FaultKind::kLow4G, "low-4g", "K15", false},
    {FaultKind::kBusError, "bus-error", "bus", true},
    {FaultKind::kDelay, "delay", "jitter", true},
}};

constexpr uint64_t kUsPerMs = 1000;
constexpr uint64_t kMaxDelayUs = 3600ULL * 1000 * 1000;  // one hour

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r");
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool parse_u64(std::string_view text, uint64_t& out) {
    int base = 10;
    if (text.starts_with("0x") || text.starts_with("0X")) {
        base = 16;
        text.remove_prefix(2);
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
    return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

bool parse_probability(std::string_view text, double& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc{} && end == text.data() + text.size() && out >= 0.0 && out <= 1.0;
}

bool parse_jobs(std::string_view text, FaultRule& rule) {
    if (text == "any") {
        rule.first_job = 1;
        rule.last_job = UINT64_MAX;
        return true;
    }
    const auto dash = text.find('-');
    if (dash == std::string_view::npos)
        return parse_u64(text, rule.first_job) && (rule.last_job = rule.first_job) != 0;
    return parse_u64(text.substr(0, dash), rule.first_job) &&
           parse_u64(text.substr(dash + 1), rule.last_job) && rule.first_job != 0 &&
           rule.first_job <= rule.last_job;
}

std::string parse_key(std::string_view key, std::string_view value, FaultRule& rule,
                      bool& has_value) {
    uint64_t number = 0;
    if (key == "core" && value == "any") {
        rule.core.reset();
        return {};
    }
    if (key == "core" && parse_u64(value, number) && number < 3) {
        rule.core = static_cast<unsigned>(number);
        return {};
    }
    if (key == "job" && parse_jobs(value, rule))
        return {};
    if (key == "value" && parse_u64(value, rule.value)) {
        has_value = true;
        return {};
    }
    if (key == "p" && parse_probability(value, rule.probability))
        return {};
    return "bad '" + std::string(key) + "=" + std::string(value) +
           "'; known: core=0..2|any, job=N|N-M|any, value=N, p=0..1";
}

const KindName* find_kind(std::string_view text) {
    for (const KindName& entry : kKinds)
        if (text == entry.name || text == entry.number)
            return &entry;
    return nullptr;
}

std::string kind_list() {
    std::string list;
    for (const KindName& entry : kKinds)
        list += (list.empty() ? "" : ", ") + std::string(entry.name);
    return list;
}

/// SplitMix64: one well-mixed word per input, the same on every machine.
uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

}  // namespace

void apply_fault(const FaultRule& rule, uint64_t random, JobFaults& faults) {
    const auto value = static_cast<uint32_t>(rule.value);
    switch (rule.kind) {
        case FaultKind::kHang:
            faults.hang_after = value;
            break;
        case FaultKind::kLate:
            faults.delay_us += rule.value * kUsPerMs;
            break;
        case FaultKind::kDropIrq:
            faults.drop_irq = true;
            break;
        case FaultKind::kSpuriousIrq:
            faults.spurious_irq = true;
            break;
        case FaultKind::kWrongStatus:
            faults.wrong_status = value;
            break;
        case FaultKind::kPageFault:
            faults.fault_page = value & ~0xfffU;
            break;
        case FaultKind::kPoison:
            faults.poison = true;
            break;
        case FaultKind::kLow4G:
            faults.low_4g = true;
            break;
        case FaultKind::kBusError:
            faults.bus_page = value & ~0xfffU;
            break;
        case FaultKind::kDelay:
            faults.delay_us += random % (rule.value + 1);
            break;
    }
}

std::string FaultPlan::add(std::string_view text) {
    text = trim(text);
    const auto colon = text.find(':');
    const std::string_view name = trim(text.substr(0, colon));
    const KindName* kind = find_kind(name);
    if (!kind)
        return "unknown fault '" + std::string(name) + "'; known: " + kind_list();
    FaultRule rule;
    rule.kind = kind->kind;
    bool has_value = false;
    std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
    while (!rest.empty()) {
        const auto comma = rest.find(',');
        const std::string_view item = trim(rest.substr(0, comma));
        rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
        const auto equals = item.find('=');
        if (equals == std::string_view::npos)
            return "'" + std::string(item) + "' is not key=value";
        const std::string error =
            parse_key(item.substr(0, equals), item.substr(equals + 1), rule, has_value);
        if (!error.empty())
            return error;
    }
    if (kind->needs_value && !has_value)
        return "fault '" + std::string(kind->name) + "' needs value=N";
    const uint64_t limit = rule.kind == FaultKind::kLate    ? kMaxDelayUs / kUsPerMs
                           : rule.kind == FaultKind::kDelay ? kMaxDelayUs
                                                            : UINT32_MAX;
    if (rule.value > limit)
        return "value " + std::to_string(rule.value) + " is above " + std::to_string(limit);
    rules_.push_back(rule);
    return {};
}

std::string FaultPlan::add_lines(std::string_view text) {
    FaultPlan parsed = *this;
    for (unsigned number = 1; !text.empty(); ++number) {
        const auto end = text.find('\n');
        std::string_view line = text.substr(0, end);
        text = end == std::string_view::npos ? "" : text.substr(end + 1);
        line = trim(line.substr(0, line.find('#')));
        if (line.empty())
            continue;
        std::string error;
        if (line.starts_with("seed="))
            error = parse_u64(line.substr(5), parsed.seed_) ? "" : "bad seed";
        else
            error = parsed.add(line);
        if (!error.empty())
            return "line " + std::to_string(number) + ": " + error;
    }
    *this = std::move(parsed);
    return {};
}

uint64_t FaultPlan::draw(unsigned core, uint64_t job, uint64_t index) const {
    return mix(mix(mix(mix(seed_) ^ job) ^ core) ^ index);
}

JobFaults FaultPlan::for_job(unsigned core, uint64_t job) const {
    JobFaults faults;
    for (size_t i = 0; i < rules_.size(); ++i) {
        const FaultRule& rule = rules_[i];
        if ((rule.core && *rule.core != core) || job < rule.first_job || job > rule.last_job)
            continue;
        // 53 bits make a uniform double in [0, 1).
        const double chance = static_cast<double>(draw(core, job, 2 * i) >> 11) * 0x1.0p-53;
        if (chance < rule.probability)
            apply_fault(rule, draw(core, job, 2 * i + 1), faults);
    }
    return faults;
}

}  // namespace npusim
