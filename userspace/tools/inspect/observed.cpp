// SPDX-License-Identifier: MIT
// Dumps of the driver and traces of the NPU model.
#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "npuregs/regcmd.hpp"
#include "report.hpp"

namespace rknpu::tools {
namespace {

/// Cuts the first word off a line.
std::string_view next_word(std::string_view& line) {
    const size_t end = line.find(' ');
    const auto word = line.substr(0, end);
    line = end == std::string_view::npos ? std::string_view() : line.substr(end + 1);
    return word;
}

/// Decimal, or hexadecimal behind 0x.
std::optional<uint64_t> number(std::string_view text) {
    const bool hex = text.starts_with("0x");
    if (hex)
        text.remove_prefix(2);
    uint64_t value = 0;
    const auto end = text.data() + text.size();
    const auto got = std::from_chars(text.data(), end, value, hex ? 16 : 10);
    return got.ec == std::errc() && got.ptr == end && !text.empty() ? std::optional(value)
                                                                    : std::nullopt;
}

/// "word value word value ..." as an object; values that are no numbers stay text.
Json pairs(std::string_view line) {
    Json out = Json::object();
    while (!line.empty()) {
        const std::string key(next_word(line));
        const auto text = key == "name" ? std::exchange(line, {}) : next_word(line);
        if (const auto value = number(text))
            out[key] = *value;
        else
            out[key] = text;
    }
    return out;
}

/// The task of the model whose commands these are, relocated ones and jumps aside.
std::optional<size_t> find_task(const JobGraph& graph, const std::vector<uint64_t>& commands) {
    std::vector<bool> open(graph.regcmd.size(), false);
    for (const auto& item : graph.relocations)
        open[item.word] = true;
    for (const uint32_t word : graph.chain_words)
        open[word] = true;
    constexpr uint64_t kAllButValue = ~(uint64_t{0xffffffff} << 16);
    for (size_t t = 0; t < graph.tasks.size(); ++t) {
        const size_t first = graph.tasks[t].regcmd_addr / sizeof(uint64_t);
        const size_t body = graph.tasks[t].regcfg_amount;
        if (commands.size() < body || body == 0)
            continue;
        size_t same = 0;
        for (; same < body; ++same) {
            const uint64_t mask = open[first + same] ? kAllButValue : ~uint64_t{0};
            if (((commands[same] ^ graph.regcmd[first + same]) & mask) != 0)
                break;
        }
        if (same == body)
            return t;
    }
    return std::nullopt;
}

class Dump {
 public:
    explicit Dump(const JobGraph* model) : model_(model) {}

    void line(std::string_view text) {
        auto rest = text;
        const auto word = next_word(rest);
        if (word == "core") {
            cores_.push_back(Json::object());
            cores_.back()["core"] = number(next_word(rest)).value_or(0);
            cores_.back().update(pairs(rest));
        } else if (word == "commands") {
            finish_commands();
            streams_.push_back(pairs(rest));
        } else if (word == "command" && !streams_.empty()) {
            commands_.push_back(number(rest).value_or(0));
        } else if ((word == "tasks" || word == "batch") && !cores_.empty()) {
            cores_.back()[std::string(word)] = pairs(rest);
        } else if (word == "fault" && !cores_.empty()) {
            cores_.back()["fault"] = rest;
        } else if (word == "reg" && !cores_.empty()) {
            const auto offset = number(next_word(rest)).value_or(0);
            cores_.back()["registers"].push_back(npuregs::describe_write(
                static_cast<uint32_t>(offset), static_cast<uint32_t>(number(rest).value_or(0))));
        } else {
            other_.push_back(text);
        }
    }

    Json finish() {
        finish_commands();
        if (cores_.empty())
            return nullptr;
        return {{"dump", std::move(cores_)},
                {"streams", std::move(streams_)},
                {"other", std::move(other_)}};
    }

 private:
    void finish_commands() {
        if (streams_.empty() || commands_.empty())
            return;
        auto& stream = streams_.back();
        if (model_ != nullptr) {
            if (const auto task = find_task(*model_, commands_)) {
                const auto& node = model_->nodes[model_->tasks[*task].op_idx];
                stream["task"] = *task;
                stream["layer"] = node.name.empty() ? node.type : node.name;
            } else {
                stream["task"] = nullptr;
            }
        }
        auto& list = stream["commands"] = Json::array();
        for (size_t i = 0; i < commands_.size(); ++i)
            list.push_back(fmt::format(
                "{:6}  {:#018x}  {}", i, commands_[i],
                command_text(commands_[i], model_ == nullptr ? "rk3588" : model_->target)));
        commands_.clear();
    }

    const JobGraph* model_;
    std::vector<uint64_t> commands_;
    Json cores_ = Json::array();
    Json streams_ = Json::array();
    Json other_ = Json::array();
};

template <typename Use>
void each_line(std::string_view text, Use&& use) {
    while (!text.empty()) {
        const size_t end = text.find('\n');
        if (const auto line = text.substr(0, end); !line.empty())
            use(line);
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
}

}  // namespace

Json dump_report(std::string_view text, const JobGraph* model) {
    Dump dump(model);
    each_line(text, [&](std::string_view line) { dump.line(line); });
    return dump.finish();
}

Json trace_report(std::string_view text) {
    Json tasks = Json::array();
    Json jobs = Json::array();
    bool good = true;
    each_line(text, [&](std::string_view line) {
        const Json entry = Json::parse(line, nullptr, false);
        const auto type = entry.is_object() ? entry.value("type", "") : std::string();
        if (type == "task")
            tasks.push_back(entry);
        else if (type == "job")
            jobs.push_back(entry);
        else
            good = false;
    });
    if (!good || (tasks.empty() && jobs.empty()))
        return nullptr;
    return {{"trace", {{"tasks", std::move(tasks)}, {"jobs", std::move(jobs)}}}};
}

}  // namespace rknpu::tools
