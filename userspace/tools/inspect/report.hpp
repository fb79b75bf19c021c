// SPDX-License-Identifier: MIT
// What rknn-inspect says about a file, first as JSON; the tables are made from that.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph.hpp"
#include "model/reader.hpp"

namespace rknpu::tools {

using Json = nlohmann::ordered_json;

/// Parts of a report that can be asked for.
enum class Part { kTensors, kLayers, kTasks, kMemory, kPatches, kDisassembly, kLint };

/// Everything `parts` asks for about a model. "file", "container", "model", "inputs" and "outputs"
/// are always there.
Json model_report(const std::string& path, const Container& container, const JobGraph& graph,
                  const std::set<Part>& parts);

/// A dump that the driver made of a stopped job, with its commands disassembled. With a model the
/// task is named that the commands belong to. Null if the text is no such dump; lines that are not
/// known are kept under "other".
Json dump_report(std::string_view text, const JobGraph* model);

/// A trace of the NPU model (one JSON object per line) summed up by task and by job. Null if a line
/// is no such object.
Json trace_report(std::string_view text);

/// One line per command of [first, first + count) of the blob; relocated ones name their tensor.
std::vector<std::string> disassemble(const JobGraph& graph, size_t first, size_t count);

/// Text of one command. Only RK3588 has names for its registers.
std::string command_text(uint64_t word, std::string_view target);

/// Findings of the NPU model's lint about the tasks of a stream, in order: "task N (layer): ...".
/// Tasks inherit registers as on the chip.
std::vector<std::string> lint_stream(const JobGraph& graph, size_t stream);

/// The report as tables for people.
std::string render(const Json& report);

}  // namespace rknpu::tools
