// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "report.hpp"

namespace rknpu::tools {
namespace {

/// JSON of anything in a file: texts there need not be UTF-8.
std::string json(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Names are the file's: nothing in them may steer a terminal.
void make_printable(Json& value) {
    if (value.is_string()) {
        auto& text = value.get_ref<std::string&>();
        std::replace_if(
            text.begin(), text.end(),
            [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
    } else if (value.is_structured()) {
        for (auto& item : value)
            make_printable(item);
    }
}

/// A value as it stands in a table; a dash for one that is not there.
std::string text(const Json& object, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (!object.is_object() || found == object.end() || found->is_null())
        return "-";
    if (found->is_string())
        return found->get<std::string>();
    if (found->is_number_float())
        return fmt::format("{:.7g}", found->get<double>());
    if (!found->is_array())
        return json(*found);
    std::string out;
    for (const auto& item : *found) {
        out += out.empty() ? "" : ",";
        out += item.is_number_float() ? fmt::format("{:.7g}", item.get<double>())
               : item.is_string()     ? item.get<std::string>()
                                      : json(item);
    }
    return "[" + out + "]";
}

std::string hex(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() || !found->is_number_unsigned()
               ? "-"
               : fmt::format("{:#x}", found->get<uint64_t>());
}

/// Columns as wide as their widest cell.
class Table {
 public:
    explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

    std::string print(const std::string& title) const {
        constexpr size_t kWidest = 48;
        std::vector<size_t> widths(rows_.front().size(), 0);
        for (const auto& row : rows_) {
            for (size_t i = 0; i < row.size(); ++i)
                widths[i] = std::max(widths[i], std::min(kWidest, row[i].size()));
        }
        std::string out = fmt::format("\n{} ({})\n", title, rows_.size() - 1);
        for (const auto& row : rows_) {
            std::string line = " ";
            for (size_t i = 0; i < row.size(); ++i)
                line += fmt::format(" {:<{}}", row[i], i + 1 == row.size() ? 0 : widths[i]);
            out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        }
        return out;
    }

 private:
    std::vector<std::vector<std::string>> rows_;
};

const Json kNothing = Json::array();

const Json& list(const Json& report, const char* key) {
    const auto found = report.find(key);
    return found == report.end() || !found->is_array() ? kNothing : *found;
}

std::string summary(const Json& report) {
    const auto& model = report["model"];
    std::string out =
        fmt::format("{}: layout {}, for {}, from {}, compiler {}\n", text(report, "file"),
                    text(report["container"], "layout"), text(model, "target"),
                    text(model, "source"), text(model, "compiler"));
    out += fmt::format(
        "  {} layers ({} on the CPU), {} tensors, {} commands, {} relocations, shapes: {}\n",
        text(model, "layers"), text(model, "cpu_layers"), text(model, "tensors"),
        text(model, "commands"), text(model, "relocations"), text(model, "shapes"));
    out += fmt::format("  weights {} bytes, internal tensors {} bytes\n",
                       text(model, "weight_bytes"), text(model, "arena_bytes"));
    if (model.value("batch", 1u) > 1)
        out += fmt::format("  {} pictures, for each of which the file's layers are there once\n",
                           text(model, "batch"));
    if (const auto custom = text(model, "custom_string"); !custom.empty())
        out += "  custom string: " + custom + "\n";
    for (const auto& stream : list(model, "streams"))
        out += fmt::format("  {} core(s), core {}: tasks {} from {}\n", text(stream, "cores"),
                           text(stream, "core"), text(stream, "tasks"), text(stream, "first_task"));
    return out;
}

std::string ends(const Json& report) {
    Table table(
        {"", "index", "name", "type", "dims", "layout", "native", "scale", "zero", "mean", "std"});
    for (const char* side : {"inputs", "outputs"}) {
        for (const auto& item : list(report, side))
            table.add({side == std::string_view("inputs") ? "in" : "out", text(item, "index"),
                       text(item, "name"), text(item, "type"), text(item, "dims"),
                       text(item, "layout"), text(item, "native_dims"), text(item, "scale"),
                       text(item, "zero_point"), text(item, "mean"), text(item, "std")});
    }
    return table.print("Inputs and outputs");
}

std::string tensors(const Json& report) {
    Table table({"index", "kind", "type", "dims", "layout", "native", "scale", "zero", "place",
                 "offset", "bytes", "name"});
    for (const auto& item : list(report, "tensors"))
        table.add({text(item, "index"), text(item, "kind"), text(item, "type"), text(item, "dims"),
                   text(item, "layout"), text(item, "native_dims"), text(item, "scale"),
                   text(item, "zero_point"), text(item, "place"), hex(item, "offset"),
                   text(item, "bytes"), text(item, "name")});
    return table.print("Tensors");
}

std::string layers(const Json& report) {
    Table table({"id", "type", "on", "inputs", "outputs", "tasks", "name"});
    for (const auto& item : list(report, "layers")) {
        auto name = text(item, "name");
        if (item.contains("attributes"))
            name += "  " + json(item["attributes"]);
        table.add({text(item, "id"), text(item, "type"), text(item, "engine"), text(item, "inputs"),
                   text(item, "outputs"), text(item, "tasks"), name});
    }
    return table.print("Layers");
}

std::string tasks(const Json& report) {
    Table table(
        {"index", "cores", "core", "layer", "commands", "offset", "next", "interrupt", "blocks"});
    for (const auto& item : list(report, "tasks"))
        table.add({text(item, "index"), text(item, "cores"), text(item, "core"),
                   text(item, "layer"), text(item, "commands"), hex(item, "offset"),
                   hex(item, "next"), hex(item, "interrupt"), text(item, "enable")});
    return table.print("Tasks");
}

std::string memory(const Json& report) {
    Table table({"start", "end", "layers", "kind", "tensor", "name"});
    for (const auto& item : list(report, "memory"))
        table.add({hex(item, "start"), hex(item, "end"),
                   text(item, "first_layer") + ".." + text(item, "last_layer"), text(item, "kind"),
                   text(item, "tensor"), text(item, "name")});
    return table.print("Memory plan");
}

std::string patches(const Json& report) {
    Table table({"tensor", "command", "value", "register"});
    for (const auto& item : list(report, "patches")) {
        for (const char* part : {"geometry", "converter"}) {
            for (const auto& word : list(item, part))
                table.add({text(item, "tensor"), text(word, "word"), hex(word, "value"),
                           text(word, "register")});
        }
    }
    return table.print("Input patches");
}

std::string disassembly(const Json& report) {
    std::string out = "\nCommands\n";
    for (const auto& task : list(report, "disassembly")) {
        out += fmt::format("  task {}, layer {}, from command {}{}\n", text(task, "task"),
                           text(task, "layer"), text(task, "word"),
                           task.contains("commands") ? "" : " (shown above)");
        for (const auto& line : list(task, "commands"))
            out += "    " + line.get<std::string>() + "\n";
    }
    return out;
}

std::string findings(const Json& report) {
    std::string out = fmt::format("\nLint ({})\n", list(report, "lint").size());
    for (const auto& line : list(report, "lint"))
        out += "  " + line.get<std::string>() + "\n";
    return out;
}

std::string dump(const Json& report) {
    std::string out;
    for (const auto& core : list(report, "dump")) {
        out += "core " + text(core, "core") + "\n";
        for (const auto& [key, value] : core.items()) {
            if (key != "core" && key != "registers")
                out += fmt::format("  {}: {}\n", key, text(core, key.c_str()));
        }
        for (const auto& line : list(core, "registers"))
            out += "  " + line.get<std::string>() + "\n";
    }
    for (const auto& stream : list(report, "streams")) {
        out += fmt::format("\nCommands of core {} at {}", text(stream, "core"),
                           hex(stream, "address"));
        if (stream.contains("layer"))
            out += fmt::format(": task {} of the model, layer {}", text(stream, "task"),
                               text(stream, "layer"));
        else if (stream.contains("task"))
            out += ": not of this model";
        out += "\n";
        for (const auto& line : list(stream, "commands"))
            out += "  " + line.get<std::string>() + "\n";
    }
    for (const auto& line : list(report, "other"))
        out += "unknown line: " + line.get<std::string>() + "\n";
    return out;
}

std::string trace(const Json& report) {
    Table tasks({"core", "job", "task", "blocks", "macs", "read", "written", "class", "cycles"});
    for (const auto& item : list(report["trace"], "tasks")) {
        const auto found = item.find("estimate");
        const Json& estimate = found == item.end() ? kNothing : *found;
        tasks.add({text(item, "core"), text(item, "job"), text(item, "task"), text(item, "enable"),
                   text(item, "macs"), text(item, "bytes_read"), text(item, "bytes_written"),
                   text(estimate, "class"), text(estimate, "cycles")});
    }
    Table jobs({"core", "job", "end", "done", "wanted", "read", "written", "text"});
    for (const auto& item : list(report["trace"], "jobs"))
        jobs.add({text(item, "core"), text(item, "job"), text(item, "end"),
                  text(item, "tasks_done"), text(item, "tasks_wanted"), text(item, "bytes_read"),
                  text(item, "bytes_written"), text(item, "text")});
    return tasks.print("Tasks") + jobs.print("Jobs");
}

}  // namespace

std::string render(const Json& whole) {
    Json report = whole;
    make_printable(report);
    if (report.contains("dump"))
        return dump(report);
    if (report.contains("trace"))
        return trace(report);
    struct Section {
        const char* key;
        std::string (*print)(const Json&);
    };
    constexpr Section kSections[] = {
        {"inputs", ends},   {"tensors", tensors}, {"layers", layers},           {"tasks", tasks},
        {"memory", memory}, {"patches", patches}, {"disassembly", disassembly}, {"lint", findings}};
    std::string out = summary(report);
    for (const auto& section : kSections) {
        if (report.contains(section.key))
            out += section.print(report);
    }
    return out;
}

}  // namespace rknpu::tools
