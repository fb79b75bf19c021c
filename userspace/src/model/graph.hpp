// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/bytes.hpp"
#include "core/types.hpp"

namespace rknpu {

/// Role of a tensor, numbered as in the file.
enum class TensorKind : uint8_t {
    kNone = 0,
    kInput = 1,
    kOutput = 2,
    kInternal = 3,
    kConstant = 4,  ///< in the layout the hardware reads
    kCpuConstant = 5,
    kLutTarget = 6,       ///< a table upload writes one pixel here
    kTaskRegcmd = 7,      ///< layouts 1 and 2: commands of one task
    kHelperConstant = 8,  ///< constant of an operator the compiler lowered
    kRegcmd = 9,
    kTasks = 10,
};

/// The most working memory that a model may want.
constexpr uint64_t kLargestArena = uint64_t{3} << 30;

/// Pixels from one surface to the next: multiples of four, except for single ones. Sizes of tensors
/// in the vendor's files show it.
constexpr uint64_t surface_pitch(uint64_t pixels) {
    return pixels == 1 ? 1 : align_up(pixels, 4);
}

/// Where a tensor lives at run time.
enum class Place : uint8_t {
    kNowhere,
    kArena,      ///< offset into the arena
    kConstants,  ///< offset into the constants buffer, contents in `data`
    kHost,       ///< constant for CPU steps only, contents in `data`
};

struct GraphTensor {
    std::string name;
    DataType type = DataType::kInt8;
    TensorKind kind = TensorKind::kNone;
    Order order = Order::kPlain;
    std::vector<int32_t> dims;         ///< logical: NCHW, or the model's own order
    std::vector<int32_t> native_dims;  ///< kNc1hwc2: N C1 H W C2; kNhwc: N 1 H W C
    bool quantised = false;
    float scale = 1.0f;
    int32_t zero_point = 0;
    uint64_t size = 0;  ///< bytes reserved; the hardware may write all of them
    Place place = Place::kNowhere;
    uint64_t offset = 0;
    std::span<const std::byte> data;  ///< contents of a constant
    /// kNhwc inputs: pixels from one row to the next as the register commands expect it.
    uint32_t row_stride = 0;
    /// Graphs of several pictures: this is one picture of that input or output, `offset` bytes
    /// behind its start.
    int32_t part_of = -1;
    int32_t first_part = -1;  ///< the part of an input or output that is its first picture

    uint64_t elements() const;
};

/// Attribute values as the file stores them.
using Attribute = std::variant<std::vector<int64_t>, std::vector<float>, std::string>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

/// Streams: {1 core}, {2 cores: first, second}, {3 cores: first, second, third}.
constexpr size_t kStreams = 6;

struct GraphNode {
    std::string type;
    std::string name;
    bool on_npu = false;
    std::vector<int32_t> inputs;
    std::vector<int32_t> outputs;
    Attributes attributes;
    std::array<uint32_t, kStreams> first_task{};
    std::array<uint32_t, kStreams> task_count{};
    uint32_t table_tasks = 0;    ///< of those of the first stream: uploads of tables
    uint64_t traffic_bytes = 0;  ///< the compiler's estimate, 0 = none
    uint32_t picture = 0;        ///< of the batch
};

/// (x - mean) / scale per channel, source channel order[c].
struct Normalisation {
    std::vector<float> mean;
    std::vector<float> scale;
    std::vector<uint32_t> order;
};

/// The 32-bit value of command `word` is `addend` bytes into `tensor`.
struct WordRelocation {
    uint32_t word;
    int32_t tensor;
    uint32_t addend;
};

/// One task as the driver and the hardware read it (struct rknpu_task of the uapi).
struct TaskRecord {
    uint32_t flags = 0;
    uint32_t op_idx = 0;
    uint32_t enable_mask = 0;
    uint32_t int_mask = 0;
    uint32_t int_clear = 0;
    uint32_t int_status = 0;
    uint32_t regcfg_amount = 0;  ///< words without the four of the tail
    uint32_t regcfg_offset = 0;
    uint64_t regcmd_addr = 0;  ///< in the graph: bytes into the command blob
};
static_assert(sizeof(TaskRecord) == 40);

/// One register command of the first consumer of an input, with the value it has for the input as
/// the file describes it.
struct WordPatch {
    uint32_t word;
    uint32_t value;
};

/// The commands a runtime may change so that the NPU reads an input in another form: rows of
/// another length, or unsigned bytes that its input converter normalises and quantises. One per
/// task that sets them; together they reach every task that reads the input and no other. Which
/// register a word sets is in the command itself.
struct InputPatch {
    int32_t tensor;
    std::vector<WordPatch> geometry;
    std::vector<WordPatch> converter;
};

/// A model ready to be placed into device memory. Filled by the .rknn reader, by the compiler and
/// by the matmul API alike; complete and consistent once validate() has accepted it.
struct JobGraph {
    std::string target;       ///< "rk3588"
    std::string compiler;     ///< version text
    std::string source;       ///< framework of the original
    std::string description;  ///< a Python dictionary for people: inputs, outputs, quantisation
    std::string custom_string;
    std::string shape_mode;
    uint32_t layout = 0;  ///< of the container, 0 = not from a file

    std::vector<GraphTensor> tensors;
    std::vector<GraphNode> nodes;
    std::vector<int32_t> inputs;
    std::vector<int32_t> outputs;
    std::vector<Normalisation> normalisation;  ///< per input, may be shorter

    std::vector<uint64_t> regcmd;
    std::vector<TaskRecord> tasks;
    std::vector<WordRelocation> relocations;
    std::vector<uint32_t> chain_words;      ///< commands that hold an offset into the blob itself
    std::vector<InputPatch> input_patches;  ///< only those whose commands are what they claim
    std::array<uint32_t, kStreams> stream_first{};
    std::array<uint32_t, kStreams> stream_count{};

    /// It is known of every task which memory it touches: validate() has found each inside the
    /// model's own buffers.
    bool reach_is_known = false;

    uint32_t batch = 1;  ///< pictures of a file of rknn_batch_size
    /// Sets of internal tensors: pictures whose numbers differ modulo this may be computed at the
    /// same time.
    uint32_t lanes = 1;

    uint64_t arena_size = 0;
    uint64_t constants_size = 0;
    /// First bytes of the constants that lie in another model's buffer; only those behind them are
    /// this model's own.
    uint64_t borrowed_size = 0;
    /// Files with several shapes have one constants buffer for all: what the other shapes need in
    /// it, by offset.
    std::vector<std::pair<uint64_t, std::span<const std::byte>>> more_constants;

    std::shared_ptr<const std::vector<std::byte>> storage;  ///< keeps the spans alive
};

/// Index of the tensor called `name`, -1 if there is none.
int32_t find_tensor(const JobGraph& graph, std::string_view name);

}  // namespace rknpu
