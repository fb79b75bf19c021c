// SPDX-License-Identifier: MIT
// Job -> .rknn. Structure and strings follow what vendor-compiled files hold; see
// Documentation/compiler.rst.
#include "rknpu_compiler/writer.hpp"

#include <rknn_generated.h>

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

namespace rknpu::compiler {

namespace {

namespace fb = flatbuffers;
using json = nlohmann::ordered_json;

constexpr uint64_t kLayout = 6;
constexpr int32_t kFormat = 6;
constexpr int32_t kCompilerVersion = 20302;  // generation of the format the file follows
constexpr char kCompiler[] = "rknn-make 0.1.0";
constexpr char kTarget[] = "rk3588";
constexpr uint32_t kDataAlign = 64;
constexpr size_t kHeaderBytes = 64;
constexpr uint32_t kClearAllInterrupts = 0x1ffff;

/// struct rknpu_task of the uAPI.
struct TaskBytes {
    uint32_t flags;
    uint32_t op_idx;
    uint32_t enable_mask;
    uint32_t int_mask;
    uint32_t int_clear;
    uint32_t int_status;
    uint32_t regcfg_amount;
    uint32_t regcfg_offset;
    uint64_t regcmd_addr;
};
static_assert(sizeof(TaskBytes) == 40);

template <typename T>
std::vector<std::byte> bytes_of(std::span<const T> values) {
    std::vector<std::byte> out(values.size_bytes());
    std::memcpy(out.data(), values.data(), out.size());
    return out;
}

std::vector<std::byte> task_blob(const Job& job) {
    std::vector<TaskBytes> records;
    for (const TaskRecord& task : job.commands.tasks()) {
        records.push_back({0, task.op_index, task.enable_mask, task.int_mask, kClearAllInterrupts,
                           0, task.amount, 0, task.offset});
    }
    return bytes_of<TaskBytes>(records);
}

/// The job's tensors plus the two that hold commands and task records.
std::vector<JobTensor> file_tensors(const Job& job) {
    std::vector<JobTensor> tensors = job.tensors;
    JobTensor regcmd;
    regcmd.name = "regcmd";
    regcmd.kind = TensorKind::kRegcmd;
    regcmd.layout = TensorLayout::kUndefined;
    regcmd.type = ElementType::kBlob;
    regcmd.data = bytes_of(job.commands.words());
    tensors.push_back(std::move(regcmd));
    JobTensor task;
    task.name = "task";
    task.kind = TensorKind::kTask;
    task.layout = TensorLayout::kUndefined;
    task.type = ElementType::kBlob;
    task.data = task_blob(job);
    tensors.push_back(std::move(task));
    return tensors;
}

class FileBuilder {
 public:
    explicit FileBuilder(const Job& job) : job_(job), tensors_(file_tensors(job)) {}

    /// `payload_bytes` goes into the root; the caller learns it from a first pass.
    std::vector<std::byte> build(uint32_t payload_bytes);

 private:
    fb::Offset<fb::Vector<fb::Offset<schema::Buffer>>> buffers();
    fb::Offset<schema::Tensor> tensor(const JobTensor& tensor, uint32_t buffer);
    fb::Offset<schema::Node> node(const JobNode& node);
    fb::Offset<schema::Normalisation> normalisation(const InputInfo& input);
    fb::Offset<fb::Vector<fb::Offset<schema::RelocationList>>> relocations();
    fb::Offset<schema::Graph> graph();
    [[nodiscard]] std::string description() const;
    [[nodiscard]] std::string request(const std::vector<int32_t>& tensors,
                                      const char* layout) const;
    [[nodiscard]] const JobTensor& at(int32_t index) const {
        return tensors_[static_cast<size_t>(index)];
    }

    const Job& job_;
    std::vector<JobTensor> tensors_;
    fb::FlatBufferBuilder fbb_;
    uint64_t constant_bytes_ = 0;
};

fb::Offset<fb::Vector<fb::Offset<schema::Buffer>>> FileBuilder::buffers() {
    std::vector<fb::Offset<schema::Buffer>> out;
    out.push_back(schema::CreateBuffer(fbb_));  // index 0 means "no data"
    for (const JobTensor& tensor : tensors_) {
        if (tensor.data.empty()) {
            continue;
        }
        fbb_.ForceVectorAlignment(tensor.data.size(), 1, kDataAlign);
        uint8_t* copy = nullptr;
        const auto data = fbb_.CreateUninitializedVector<uint8_t>(tensor.data.size(), &copy);
        std::memcpy(copy, tensor.data.data(), tensor.data.size());
        out.push_back(schema::CreateBuffer(fbb_, data));
        constant_bytes_ += (tensor.data.size() + kDataAlign - 1) / kDataAlign * kDataAlign;
    }
    return fbb_.CreateVector(out);
}

fb::Offset<schema::Tensor> FileBuilder::tensor(const JobTensor& t, uint32_t buffer) {
    const auto native = fbb_.CreateVector(t.native_dims);
    const auto dims = fbb_.CreateVector(t.dims);
    const auto name = fbb_.CreateString(t.name);
    const auto method = fbb_.CreateString(t.quantized ? "layer" : "");
    const auto type = fbb_.CreateString(t.quantized ? "int8" : "");
    fb::Offset<fb::Vector<float>> min;
    fb::Offset<fb::Vector<float>> max;
    fb::Offset<fb::Vector<float>> scale;
    fb::Offset<fb::Vector<int32_t>> zero_point;
    fb::Offset<fb::Vector<int32_t>> pad;
    if (t.quantized) {
        min = fbb_.CreateVector(std::vector<float>{t.range.min});
        max = fbb_.CreateVector(std::vector<float>{t.range.max});
        scale = fbb_.CreateVector(std::vector<float>{t.quant.scale});
        zero_point = fbb_.CreateVector(std::vector<int32_t>{t.quant.zero_point});
        if (t.kind == TensorKind::kInput) {
            pad = fbb_.CreateVector(std::vector<int32_t>{t.quant.zero_point});
        }
    }
    schema::TensorBuilder builder(fbb_);
    builder.add_dtype(static_cast<uint8_t>(t.name.empty() ? ElementType{} : t.type));
    builder.add_layout(static_cast<uint8_t>(t.layout));
    builder.add_kind(t.name.empty() ? 0 : static_cast<uint8_t>(t.kind));
    builder.add_native_dims(native);
    builder.add_dims(dims);
    builder.add_name(name);
    builder.add_quant_method(method);
    builder.add_quant_type(type);
    if (t.quantized) {
        builder.add_min(min);
        builder.add_max(max);
        builder.add_scale(scale);
        builder.add_zero_point(zero_point);
    }
    builder.add_size(t.size);
    builder.add_offset(t.offset);
    builder.add_buffer(buffer);
    if (!pad.IsNull()) {
        builder.add_pad_value(pad);
    }
    return builder.Finish();
}

fb::Offset<schema::Node> FileBuilder::node(const JobNode& n) {
    const auto type = fbb_.CreateString(n.type);
    const auto name = fbb_.CreateString(n.name);
    const auto inputs = fbb_.CreateVector(n.inputs);
    const auto outputs = fbb_.CreateVector(n.outputs);
    const auto attributes = fbb_.CreateVector(std::vector<uint8_t>{});
    const auto counts = fbb_.CreateVector(n.task_counts.data(), n.task_counts.size());
    const auto luts = fbb_.CreateVector(std::vector<uint32_t>(kStreams));
    constexpr uint8_t kNpu = 2;
    schema::NodeBuilder builder(fbb_);
    builder.add_type(type);
    builder.add_name(name);
    builder.add_engine(n.on_npu ? kNpu : 0);
    builder.add_inputs(inputs);
    builder.add_outputs(outputs);
    builder.add_attributes(attributes);
    builder.add_task_counts(counts);
    builder.add_lut_counts(luts);
    return builder.Finish();
}

fb::Offset<schema::Normalisation> FileBuilder::normalisation(const InputInfo& input) {
    const size_t channels = input.mean.size();
    std::vector<uint32_t> order(channels);
    for (uint32_t c = 0; c < channels; c++) {
        order[c] = c;
    }
    const auto mean = fbb_.CreateVector(input.mean);
    const auto scale = fbb_.CreateVector(input.std);
    const auto positions = fbb_.CreateVector(order);
    return schema::CreateNormalisation(fbb_, mean, scale, positions);
}

fb::Offset<fb::Vector<fb::Offset<schema::RelocationList>>> FileBuilder::relocations() {
    std::map<uint32_t, std::vector<schema::Relocation>> lists;
    for (const Relocation& r : job_.commands.relocations()) {
        lists[r.buffer].emplace_back(static_cast<int32_t>(r.addend), r.word);
    }
    std::vector<fb::Offset<schema::RelocationList>> out;
    for (const auto& [buffer, entries] : lists) {
        const auto name = fbb_.CreateString(tensors_[buffer].name);
        const auto list = fbb_.CreateVectorOfStructs(entries);
        out.push_back(schema::CreateRelocationList(fbb_, name, list));
    }
    return fbb_.CreateVector(out);
}

fb::Offset<schema::Graph> FileBuilder::graph() {
    std::vector<fb::Offset<schema::Tensor>> tensors;
    uint32_t next_buffer = 1;
    for (const JobTensor& t : tensors_) {
        tensors.push_back(tensor(t, t.data.empty() ? 0 : next_buffer++));
    }
    std::vector<fb::Offset<schema::Node>> nodes;
    for (const JobNode& n : job_.nodes) {
        nodes.push_back(node(n));
    }
    std::vector<fb::Offset<schema::Normalisation>> normalisations;
    for (const InputInfo& input : job_.normalisation) {
        normalisations.push_back(normalisation(input));
    }
    std::vector<fb::Offset<schema::OutputReady>> ready;
    uint32_t single_core_tasks = 0;
    for (const JobNode& n : job_.nodes) {
        single_core_tasks += n.task_counts[0];
    }
    for (const int32_t output : job_.outputs) {
        const auto name = fbb_.CreateString(at(output).name);
        ready.push_back(schema::CreateOutputReady(fbb_, name, single_core_tasks));
    }
    const std::vector<uint32_t> first_tasks{0, 0, job_.first_task[0], job_.first_task[1],
                                            job_.first_task[2]};
    const auto tensor_vector = fbb_.CreateVector(tensors);
    const auto node_vector = fbb_.CreateVector(nodes);
    const auto inputs = fbb_.CreateVector(job_.inputs);
    const auto outputs = fbb_.CreateVector(job_.outputs);
    const auto normalisation_vector = fbb_.CreateVector(normalisations);
    const auto relocation_vector = relocations();
    const auto first = fbb_.CreateVector(first_tasks);
    const auto ready_vector = fbb_.CreateVector(ready);
    schema::GraphBuilder builder(fbb_);
    builder.add_tensors(tensor_vector);
    builder.add_nodes(node_vector);
    builder.add_inputs(inputs);
    builder.add_outputs(outputs);
    builder.add_normalisation(normalisation_vector);
    builder.add_relocations(relocation_vector);
    builder.add_core_first_task(first);
    builder.add_output_ready(ready_vector);
    return builder.Finish();
}

/// For people: shapes, normalisation and ranges of inputs and outputs.
std::string FileBuilder::description() const {
    json attributes = json::object();
    json ranges = json::object();
    for (size_t i = 0; i < job_.inputs.size(); i++) {
        const JobTensor& t = at(job_.inputs[i]);
        attributes[t.name] = {{"idx", i},
                              {"shape", t.dims},
                              {"layout", "nchw"},
                              {"is_output", false},
                              {"mean", job_.normalisation[i].mean},
                              {"std", job_.normalisation[i].std}};
        ranges[t.name] = {{"min", t.range.min}, {"max", t.range.max}};
    }
    for (size_t i = 0; i < job_.outputs.size(); i++) {
        const JobTensor& t = at(job_.outputs[i]);
        attributes[t.name] = {
            {"is_output", true}, {"idx", i}, {"shape", t.dims}, {"layout", "nchw"}};
        ranges[t.name] = {{"min", t.range.min}, {"max", t.range.max}};
    }
    return json{{"attrs", attributes}, {"quant_tab", ranges}}.dump();
}

std::string FileBuilder::request(const std::vector<int32_t>& tensors, const char* layout) const {
    json out = json::object();
    for (const int32_t index : tensors) {
        out[at(index).name] = {{"dtype", "int8"}, {"layout", layout}};
    }
    return out.dump();
}

std::vector<std::byte> FileBuilder::build(uint32_t payload_bytes) {
    const auto buffer_vector = buffers();
    const auto graphs = fbb_.CreateVector(std::vector<fb::Offset<schema::Graph>>{graph()});
    const auto generator = fbb_.CreateString("RKNPU v2");
    const auto text = fbb_.CreateString(description());
    const auto compiler = fbb_.CreateString(kCompiler);
    const auto target = fbb_.CreateString(kTarget);
    const auto source = fbb_.CreateString("rknn-make");
    const auto input_request = fbb_.CreateString(request(job_.inputs, "NHWC"));
    const auto output_request = fbb_.CreateString(request(job_.outputs, "NCHW"));
    const auto zero = fbb_.CreateString("0");
    const auto shape_mode = fbb_.CreateString("static_shape");
    const auto memory = schema::CreateMemoryPlan(fbb_, constant_bytes_, uint64_t{job_.arena_bytes});
    schema::ModelBuilder builder(fbb_);
    builder.add_format(kFormat);
    builder.add_generator(generator);
    builder.add_graphs(graphs);
    builder.add_description(text);
    builder.add_compiler_version(kCompilerVersion);
    builder.add_compiler(compiler);
    builder.add_target(target);
    builder.add_source(source);
    builder.add_slot10(2);
    builder.add_input_request(input_request);
    builder.add_output_request(output_request);
    builder.add_slot14(zero);
    builder.add_shape_mode(shape_mode);
    builder.add_memory(memory);
    builder.add_buffers(buffer_vector);
    builder.add_payload_bytes(payload_bytes);
    schema::FinishModelBuffer(fbb_, builder.Finish());
    return bytes_of(std::span<const uint8_t>(fbb_.GetBufferPointer(), fbb_.GetSize()));
}

/// Describes inputs and outputs; readers find nothing in it that the FlatBuffer does not hold.
std::string trailer(const Job& job) {
    json connection = json::array();
    json graph = json::array();
    json tensors = json::array();
    const auto add = [&](const std::vector<int32_t>& indices, const char* side) {
        for (size_t i = 0; i < indices.size(); i++) {
            const JobTensor& t = job.tensors[static_cast<size_t>(indices[i])];
            const size_t id = tensors.size();
            connection.push_back({{"left", side},
                                  {"left_tensor_id", i},
                                  {"node_id", 0},
                                  {"right_tensor", {{"tensor_id", id}, {"type", "norm_tensor"}}}});
            graph.push_back({{"left", side},
                             {"left_tensor_id", i},
                             {"right", "norm_tensor"},
                             {"right_tensor_id", id}});
            tensors.push_back(
                {{"dim_num", t.dims.size()},
                 {"dtype", {{"qnt_method", "layer"}, {"qnt_type", "int8"}, {"vx_type", "int8"}}},
                 {"size", t.dims},
                 {"tensor_id", id},
                 {"url", t.name}});
        }
    };
    add(job.inputs, "input");
    add(job.outputs, "output");
    const json node = {{"input_num", job.inputs.size()},
                       {"lid", "npu_network_bin_graph"},
                       {"name", "nnbg"},
                       {"nn", {{"nbg", {{"type", "RKNN_OP_NNBG"}}}}},
                       {"op", "RKNN_OP_NNBG"},
                       {"output_num", job.outputs.size()},
                       {"uid", 0}};
    return json{{"connection", connection},
                {"const_tensor", json::array()},
                {"graph", graph},
                {"input_num", job.inputs.size()},
                {"name", job.name},
                {"network_platform", "rknn-make"},
                {"node_num", 1},
                {"nodes", json::array({node})},
                {"norm_tensor", tensors},
                {"norm_tensor_num", tensors.size()},
                {"ori_network_platform", "rknn-make"},
                {"output_num", job.outputs.size()},
                {"target_platform", json::array({kTarget})},
                {"version", kCompiler},
                {"virtual_tensor", json::array()}}
        .dump();
}

void append(std::vector<std::byte>& out, const void* data, size_t size) {
    const size_t at = out.size();
    out.resize(at + size);
    std::memcpy(out.data() + at, data, size);
}

}  // namespace

std::vector<std::byte> write_rknn(const Job& job) {
    const auto size = static_cast<uint32_t>(FileBuilder(job).build(1).size());
    const std::vector<std::byte> payload = FileBuilder(job).build(size);
    const std::string json_text = trailer(job);

    std::vector<std::byte> file;
    const char magic[8] = {'R', 'K', 'N', 'N'};
    const uint64_t payload_size = payload.size();
    const uint64_t json_size = json_text.size();
    append(file, magic, sizeof(magic));
    append(file, &kLayout, sizeof(kLayout));
    append(file, &payload_size, sizeof(payload_size));
    file.resize(kHeaderBytes);
    append(file, payload.data(), payload.size());
    append(file, &json_size, sizeof(json_size));
    append(file, json_text.data(), json_text.size());
    return file;
}

}  // namespace rknpu::compiler
