// SPDX-License-Identifier: MIT
#include "model/reader.hpp"

#include <rknn_generated.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

#include "core/bytes.hpp"
#include "model/batch.hpp"
#include "model/bson.hpp"
#include "model/legacy.hpp"
#include "model/patches.hpp"

namespace rknpu {
namespace {

constexpr size_t kMaxRank = 16;
constexpr uint64_t kMaxElements = uint64_t{1} << 31;
constexpr uint64_t kMaxTensors = 1u << 20;
constexpr size_t kTaskBytes = sizeof(TaskRecord);
constexpr uint32_t kMaxTasks = 1u << 24;
constexpr uint32_t kMaxShapes = 512;  // RKNN_MAX_DYNAMIC_SHAPE_NUM of the C API

// Layout codes of a tensor.
constexpr uint8_t kLayoutNative = 64;
constexpr size_t kNativeRank = 5;

template <typename... Args>
Status bad(fmt::format_string<Args...> format, Args&&... args) {
    return Status{Error::kInvalidModel,
                  "Damaged .rknn file: " + fmt::format(format, std::forward<Args>(args)...) + "."};
}

std::string text(const flatbuffers::String* string) {
    return string == nullptr ? std::string() : string->str();
}

/// ONNX TensorProto data types.
std::optional<DataType> data_type(uint8_t code) {
    switch (code) {
        case 1:
            return DataType::kFloat32;
        case 0:  // old compilers leave the type of packed weights out
        case 2:
        case 13:
            return DataType::kUint8;
        case 3:
            return DataType::kInt8;
        case 4:
            return DataType::kUint16;
        case 5:
            return DataType::kInt16;
        case 6:
            return DataType::kInt32;
        case 7:
            return DataType::kInt64;
        case 9:
            return DataType::kBool;
        case 10:
            return DataType::kFloat16;
        case 12:
            return DataType::kUint32;
        case 16:
            return DataType::kBfloat16;
        default:
            return std::nullopt;
    }
}

bool copy_dims(const flatbuffers::Vector<int32_t>* from, std::vector<int32_t>& to) {
    if (from == nullptr)
        return true;
    if (from->size() > kMaxRank)
        return false;
    uint64_t product = 1;
    for (const int32_t dim : *from) {
        if (dim < 0)
            return false;
        to.push_back(dim);
        product *= std::max<uint64_t>(1, static_cast<uint64_t>(dim));
        if (product > kMaxElements)
            return false;
    }
    return true;
}

/// Native dims of weights list one block after the other; only those of features are used.
bool copy_native_dims(const schema::Tensor& from, GraphTensor& to) {
    const bool feature = from.layout() == kLayoutNative && from.native_dims() != nullptr &&
                         from.native_dims()->size() == kNativeRank;
    return !feature || copy_dims(from.native_dims(), to.native_dims);
}

/// Native features have five dims, N C1 H W C2. Lanes fill 16 bytes except in packed images.
Order order_of(uint8_t layout, const GraphTensor& tensor) {
    if (layout != kLayoutNative || tensor.native_dims.size() != kNativeRank ||
        tensor.dims.size() != 4)
        return Order::kPlain;
    const auto lanes = static_cast<unsigned>(tensor.native_dims[4]);
    const bool full = lanes * bits_of(tensor.type) == 128;
    const bool packed = !full && tensor.native_dims[1] == 1 && lanes >= 1 && lanes <= 4;
    return packed ? Order::kNhwc : Order::kNc1hwc2;
}

uint64_t native_bytes(const GraphTensor& tensor) {
    const auto& dims = tensor.order == Order::kPlain ? tensor.dims : tensor.native_dims;
    uint64_t count = 1;
    for (const int32_t dim : dims)
        count *= static_cast<uint64_t>(dim);
    return bytes_of(tensor.type, count);
}

class Reader {
 public:
    Reader(const schema::Model& model, const schema::Graph& source, JobGraph& graph)
        : model_(model), graph_(graph), source_(&source) {}

    Status read() {
        graph_.compiler = text(model_.compiler());
        graph_.source = text(model_.source());
        graph_.shape_mode = text(model_.shape_mode());
        graph_.description = text(model_.description());
        if (const auto* bytes = model_.custom_string(); bytes != nullptr)
            graph_.custom_string.assign(bytes->begin(), bytes->end());
        // A string of C: nothing counts behind the first zero.
        graph_.custom_string.resize(std::strlen(graph_.custom_string.c_str()));
        for (auto step : {&Reader::read_tensors, &Reader::read_nodes, &Reader::read_ends,
                          &Reader::read_normalisation, &Reader::read_commands}) {
            if (auto status = (this->*step)(); !status.ok())
                return status;
        }
        return {};
    }

 private:
    Status read_tensors() {
        const auto* list = source_->tensors();
        if (list == nullptr || list->size() == 0 || list->size() > kMaxTensors)
            return bad("it holds no tensors");
        buffers_ = model_.buffers() != nullptr && model_.buffers()->size() > 1
                       ? model_.buffers()
                       : model_.legacy_buffers();
        graph_.tensors.resize(list->size());
        for (uint32_t i = 0; i < list->size(); ++i) {
            if (auto status = read_tensor(*list->Get(i), graph_.tensors[i]); !status.ok())
                return status;
        }
        if (model_.memory() != nullptr)
            graph_.arena_size = std::max(graph_.arena_size, model_.memory()->arena_bytes());
        return {};
    }

    Status read_tensor(const schema::Tensor& from, GraphTensor& to) {
        to.name = text(from.name());
        const auto type = data_type(from.dtype());
        if (!type)
            return Status::failure(Error::kInvalidModel,
                                   "Tensor '{}' has the unknown data type {}.", to.name,
                                   from.dtype());
        to.type = *type;
        to.kind = static_cast<TensorKind>(from.kind());
        if (from.kind() > static_cast<uint8_t>(TensorKind::kTasks))
            return Status::failure(Error::kInvalidModel, "Tensor '{}' has the unknown kind {}.",
                                   to.name, from.kind());
        if (!copy_dims(from.dims(), to.dims) || !copy_native_dims(from, to))
            return bad("tensor '{}' has impossible dimensions", to.name);
        if (from.scale() != nullptr && from.scale()->size() > 0) {
            to.quantised = true;
            to.scale = from.scale()->Get(0);
            if (from.zero_point() != nullptr && from.zero_point()->size() > 0)
                to.zero_point = from.zero_point()->Get(0);
        }
        to.size = from.size();
        to.order = order_of(from.layout(), to);
        return place_tensor(from, to);
    }

    Status place_tensor(const schema::Tensor& from, GraphTensor& to) {
        if (from.buffer() != 0) {
            if (buffers_ == nullptr || from.buffer() >= buffers_->size())
                return bad("tensor '{}' uses buffer {}, which does not exist", to.name,
                           from.buffer());
            const auto* data = buffers_->Get(from.buffer())->data();
            if (data != nullptr)
                to.data = std::as_bytes(std::span(data->data(), data->size()));
            to.size = std::max<uint64_t>(to.size, to.data.size());
            to.place = Place::kHost;
            return {};
        }
        switch (to.kind) {
            case TensorKind::kInput:
            case TensorKind::kOutput:
            case TensorKind::kInternal:
                break;
            case TensorKind::kCpuConstant:
                to.place = Place::kHost;  // an empty constant
                return {};
            case TensorKind::kConstant:
                if (to.size != 0)
                    to.place = Place::kHost;  // weights that another model lends
                return {};
            default:
                return {};
        }
        // Work space of CPU steps of the original runtime: nothing is reserved for it.
        if (to.size < native_bytes(to) && to.kind == TensorKind::kInternal)
            return {};
        if (to.size < native_bytes(to))
            return bad("tensor '{}' needs {} bytes and reserves {}", to.name, native_bytes(to),
                       to.size);
        to.place = Place::kArena;
        to.offset = from.offset();
        graph_.arena_size = std::max(graph_.arena_size, to.offset + to.size);
        return {};
    }

    Status copy_indices(const flatbuffers::Vector<int32_t>* from, std::vector<int32_t>& to,
                        std::string_view owner) {
        if (from == nullptr)
            return {};
        for (const int32_t index : *from) {
            if (index == -1 && absent_ >= 0) {
                to.push_back(absent_);
                continue;
            }
            if (index < 0 || static_cast<size_t>(index) >= graph_.tensors.size())
                return bad("{} uses tensor {} of {}", owner, index, graph_.tensors.size());
            to.push_back(index);
        }
        return {};
    }

    /// Layers on the CPU may lack an optional input in front of others: one tensor without a name
    /// stands for all of them.
    void name_absent(const schema::Node& node) {
        const auto* inputs = node.inputs();
        if (inputs == nullptr || std::find(inputs->begin(), inputs->end(), -1) == inputs->end())
            return;
        if (placeholder_ < 0) {
            placeholder_ = static_cast<int32_t>(graph_.tensors.size());
            graph_.tensors.emplace_back();
        }
        absent_ = placeholder_;
    }

    Status read_nodes() {
        const auto* list = source_->nodes();
        if (list == nullptr || list->size() == 0)
            return bad("it holds no nodes");
        graph_.nodes.resize(list->size());
        for (uint32_t i = 0; i < list->size(); ++i) {
            const auto& from = *list->Get(i);
            auto& to = graph_.nodes[i];
            to.type = text(from.type());
            to.name = text(from.name());
            to.on_npu = from.engine() == 2;
            if (from.engine() != 0 && from.engine() != 2)
                return Status::failure(Error::kInvalidModel,
                                       "Node '{}' runs on the unknown engine {}.", to.name,
                                       from.engine());
            if (!to.on_npu)
                name_absent(from);
            auto copied = copy_indices(from.inputs(), to.inputs, to.name);
            absent_ = -1;
            if (!copied.ok())
                return copied;
            if (auto s = copy_indices(from.outputs(), to.outputs, to.name); !s.ok())
                return s;
            if (from.attributes() != nullptr) {
                auto parsed = parse_attributes(
                    std::as_bytes(std::span(from.attributes()->data(), from.attributes()->size())));
                if (!parsed.ok())
                    return bad("node '{}': {}", to.name, parsed.status().text());
                to.attributes = std::move(parsed).value();
            }
            read_task_counts(from, to);
            if (from.traffic() != nullptr && from.traffic()->size() > 0)
                to.traffic_bytes = from.traffic()->Get(0);
        }
        return {};
    }

    /// Tasks that upload tables are counted apart in the first stream and together in the others,
    /// where the second list is 0.
    static void read_task_counts(const schema::Node& from, GraphNode& to) {
        for (const auto* counts : {from.task_counts(), from.lut_counts()}) {
            const auto streams =
                counts == nullptr ? 0 : std::min<uint32_t>(kStreams, counts->size());
            for (uint32_t s = 0; s < streams; ++s)
                to.task_count[s] += std::min(counts->Get(s), kMaxTasks);
        }
        if (from.lut_counts() != nullptr && from.lut_counts()->size() != 0)
            to.table_tasks = std::min(from.lut_counts()->Get(0), to.task_count[0]);
    }

    Status read_ends() {
        if (auto s = copy_indices(source_->inputs(), graph_.inputs, "the graph"); !s.ok())
            return s;
        if (auto s = copy_indices(source_->outputs(), graph_.outputs, "the graph"); !s.ok())
            return s;
        if (graph_.inputs.empty() || graph_.outputs.empty())
            return bad("it has no inputs or no outputs");
        return match_kinds();
    }

    /// What the lists name is bound to buffers of its own, by its kind the rest is not: both must
    /// agree, or commands would keep addresses of the file. What no list names is internal.
    Status match_kinds() {
        const auto is_end = [](const GraphTensor& tensor) {
            return tensor.kind == TensorKind::kInput || tensor.kind == TensorKind::kOutput;
        };
        std::vector<bool> listed(graph_.tensors.size(), false);
        for (const auto* list : {&graph_.inputs, &graph_.outputs}) {
            for (const int32_t index : *list) {
                const auto& tensor = graph_.tensors[static_cast<size_t>(index)];
                if (!is_end(tensor))
                    return bad("'{}' is listed as input or output, but is none", tensor.name);
                listed[static_cast<size_t>(index)] = true;
            }
        }
        for (size_t i = 0; i < listed.size(); ++i) {
            if (!listed[i] && is_end(graph_.tensors[i]))
                graph_.tensors[i].kind = TensorKind::kInternal;
        }
        return {};
    }

    Status read_normalisation() {
        const auto* list = source_->normalisation();
        for (uint32_t i = 0; list != nullptr && i < list->size() && i < graph_.inputs.size(); ++i) {
            const auto& from = *list->Get(i);
            auto& to = graph_.normalisation.emplace_back();
            if (from.mean() != nullptr)
                to.mean.assign(from.mean()->begin(), from.mean()->end());
            if (from.scale() != nullptr)
                to.scale.assign(from.scale()->begin(), from.scale()->end());
            if (from.order() != nullptr)
                to.order.assign(from.order()->begin(), from.order()->end());
        }
        return {};
    }

    Status read_commands() {
        const GraphTensor* regcmd = nullptr;
        const GraphTensor* task = nullptr;
        for (const auto& tensor : graph_.tensors) {
            if (tensor.kind == TensorKind::kRegcmd)
                regcmd = &tensor;
            else if (tensor.kind == TensorKind::kTasks)
                task = &tensor;
        }
        if (regcmd == nullptr || task == nullptr)
            return read_legacy_commands(*source_, graph_);
        if (regcmd->data.size() % sizeof(uint64_t) != 0 || task->data.size() % kTaskBytes != 0)
            return bad("the command or task blob has an odd length");
        graph_.regcmd.resize(regcmd->data.size() / sizeof(uint64_t));
        std::ranges::copy(regcmd->data, std::as_writable_bytes(std::span(graph_.regcmd)).begin());
        graph_.tasks.resize(task->data.size() / kTaskBytes);
        std::ranges::copy(task->data, std::as_writable_bytes(std::span(graph_.tasks)).begin());
        if (auto status = read_relocations(); !status.ok())
            return status;
        read_input_patches(*source_, graph_);
        return {};
    }

    Status read_relocations() {
        const auto* list = source_->relocations();
        if (list == nullptr)
            return {};
        std::unordered_map<std::string_view, int32_t> index;
        for (size_t i = 0; i < graph_.tensors.size(); ++i)
            index.emplace(graph_.tensors[i].name, static_cast<int32_t>(i));
        for (const auto* entry : *list) {
            const auto name = text(entry->tensor());
            const auto found = index.find(name);
            if (found == index.end())
                return bad("relocations name the unknown tensor '{}'", name);
            if (entry->entries() == nullptr)
                continue;
            for (const auto* item : *entry->entries()) {
                if (item->addend() < 0)
                    return bad("a relocation points in front of tensor '{}'", name);
                graph_.relocations.push_back(
                    {item->word(), found->second, static_cast<uint32_t>(item->addend())});
            }
        }
        return {};
    }

    const schema::Model& model_;
    JobGraph& graph_;
    const schema::Graph* source_;
    int32_t placeholder_ = -1;  // of absent inputs, once there are some
    int32_t absent_ = -1;       // the same while a layer is read that may use it
    const flatbuffers::Vector<flatbuffers::Offset<schema::Buffer>>* buffers_ = nullptr;
};

}  // namespace

uint64_t GraphTensor::elements() const {
    return std::accumulate(dims.begin(), dims.end(), uint64_t{1},
                           [](uint64_t product, int32_t dim) { return product * dim; });
}

int32_t find_tensor(const JobGraph& graph, std::string_view name) {
    const auto found = std::find_if(graph.tensors.begin(), graph.tensors.end(),
                                    [&](const GraphTensor& t) { return t.name == name; });
    return found == graph.tensors.end() ? -1 : static_cast<int32_t>(found - graph.tensors.begin());
}

namespace {

/// The graph of several pictures that the commands compute one by one.
/// `proven` tells whether they do; `room` as in repeat_for_batch().
Result<JobGraph> read_batch(const JobGraph& graph, const Batch& batch, bool& proven,
                            uint64_t& room) {
    const auto read = [&](bool all) -> Result<JobGraph> {
        JobGraph one = graph;
        keep_one_picture(one, batch.pictures, all);
        if (auto status = validate(one); !status.ok())
            return status;
        proven = proven || one.reach_is_known;
        if (!proven)
            return bad("nothing shows that its commands compute one picture of {}", batch.pictures);
        if (auto status = repeat_for_batch(one, batch.pictures, room); !status.ok())
            return status;
        return one;
    };
    // Whether a file reserves room for all pictures or for one is not known. Only in a part of it
    // do commands prove by their reach that they are those of one.
    auto several = read(true);
    return several.ok() || !batch.certain ? std::move(several) : read(false);
}

/// One graph of the file, complete and checked.
Result<JobGraph> read_graph(const schema::Model& model, const schema::Graph& source,
                            const Container& container,
                            const std::shared_ptr<const std::vector<std::byte>>& storage,
                            uint64_t& batch_room) {
    JobGraph graph;
    graph.layout = static_cast<uint8_t>(container.version);
    graph.storage = storage;
    graph.target = text(model.target());
    if (auto status = Reader(model, source, graph).read(); !status.ok())
        return status;
    // Commands for a chip whose registers are not known cannot be judged.
    if (!graph.tasks.empty() && !knows_chip(graph.target))
        return Status::failure(Error::kPlatformMismatch,
                               "This rknn model is for '{}', whose registers this library does not "
                               "know. Convert the model for rk3588 or rk3576.",
                               graph.target);
    if (const auto batch = batch_of(graph); batch.pictures > 1) {
        bool proven = batch.certain;
        auto several = read_batch(graph, batch, proven, batch_room);
        if (several.ok() || proven)
            return several;
    }
    if (auto status = validate(graph); !status.ok())
        return status;
    return graph;
}

/// Programs choose a shape by its inputs' dims only: all else must be the same in every shape.
Status check_same_interface(const JobGraph& first, const JobGraph& other) {
    for (const auto member : {&JobGraph::inputs, &JobGraph::outputs}) {
        const auto& a = first.*member;
        const auto& b = other.*member;
        if (a.size() != b.size())
            return bad("its shapes have {} and {} inputs or outputs", a.size(), b.size());
        for (size_t i = 0; i < a.size(); ++i) {
            const auto& x = first.tensors[static_cast<size_t>(a[i])];
            const auto& y = other.tensors[static_cast<size_t>(b[i])];
            if (x.name != y.name || x.type != y.type || x.dims.size() != y.dims.size())
                return bad("tensor '{}' is another one in one of the shapes", x.name);
        }
    }
    return {};
}

/// Gives every shape the same constants buffer, where a constant that several use is there once,
/// and the arena of the largest, so that both can stay when another shape is chosen.
void join_memory(std::vector<JobGraph>& shapes) {
    uint64_t arena = 0;
    for (const auto& graph : shapes)
        arena = std::max(arena, graph.arena_size);
    for (auto& graph : shapes)
        graph.arena_size = arena;
    constexpr uint64_t kAlignment = 64;
    std::map<std::pair<const std::byte*, uint64_t>, uint64_t> places;
    uint64_t next = 0;
    for (auto& graph : shapes) {
        for (auto& tensor : graph.tensors) {
            if (tensor.place != Place::kConstants)
                continue;
            const auto key = std::pair(tensor.data.data(), tensor.size);
            const auto found = places.find(key);
            if (!tensor.data.empty() && found != places.end()) {
                tensor.offset = found->second;
                continue;
            }
            tensor.offset = next;
            if (!tensor.data.empty())
                places.emplace(key, next);
            next += align_up(tensor.size, kAlignment);
        }
    }
    for (auto& graph : shapes) {
        graph.constants_size = next;
        std::set<uint64_t> own;
        for (const auto& tensor : graph.tensors) {
            if (tensor.place == Place::kConstants)
                own.insert(tensor.offset);
        }
        for (const auto& other : shapes) {
            for (const auto& tensor : other.tensors) {
                if (tensor.place == Place::kConstants && !tensor.data.empty() &&
                    own.insert(tensor.offset).second)
                    graph.more_constants.emplace_back(tensor.offset, tensor.data);
            }
        }
    }
}

}  // namespace

namespace {

/// The payload, verified, and the bytes that hold it.
struct Parsed {
    Container container;
    std::shared_ptr<const std::vector<std::byte>> storage;
    const schema::Model* model = nullptr;
};

Result<Parsed> parse(std::shared_ptr<const std::vector<std::byte>> file) {
    auto container = open_container(*file);
    if (!container.ok())
        return container.status();
    // The verifier wants the alignment the writer used; a file at an odd address gets a copy.
    const auto payload = container->payload;
    Parsed out{container.value(), std::move(file), nullptr};
    const auto* start = reinterpret_cast<const uint8_t*>(payload.data());
    if (reinterpret_cast<uintptr_t>(start) % 8 != 0) {
        auto copy = std::make_shared<std::vector<std::byte>>(payload.begin(), payload.end());
        start = reinterpret_cast<const uint8_t*>(copy->data());
        out.storage = std::move(copy);
    }
    constexpr flatbuffers::uoffset_t kMaxTables = 1u << 22;
    flatbuffers::Verifier verifier(start, payload.size(), 32, kMaxTables);
    if (!schema::VerifyModelBuffer(verifier))
        return bad("its structure does not verify");
    out.model = schema::GetModel(start);
    return out;
}

}  // namespace

Result<std::string> read_target(std::shared_ptr<const std::vector<std::byte>> file) {
    const auto parsed = parse(std::move(file));
    if (!parsed.ok())
        return parsed.status();
    return text(parsed.value().model->target());
}

bool knows_chip(std::string_view target) {
    return target == "rk3588" || target == "rk3576";
}

Result<std::vector<JobGraph>> read_shapes(std::shared_ptr<const std::vector<std::byte>> file,
                                          std::string_view soc) {
    const auto parsed = parse(std::move(file));
    if (!parsed.ok())
        return parsed.status();
    const auto* model = parsed.value().model;
    const auto target = text(model->target());
    if (!soc.empty() && target != soc)
        return Status::failure(Error::kPlatformMismatch,
                               "This rknn model is for '{}', but the platform is '{}'. Convert the "
                               "model for {}.",
                               target, soc, soc);
    if (model->graphs() == nullptr || model->graphs()->size() == 0)
        return bad("it holds no graph");
    if (model->graphs()->size() > kMaxShapes)
        return Status::failure(Error::kInvalidModel,
                               "The model holds {} shapes, at most {} can be.",
                               model->graphs()->size(), kMaxShapes);
    std::vector<JobGraph> shapes;
    uint64_t batch_room = kBatchRoom;
    for (const auto* source : *model->graphs()) {
        auto graph = read_graph(*model, *source, parsed.value().container, parsed.value().storage,
                                batch_room);
        if (!graph.ok())
            return graph.status();
        shapes.push_back(std::move(graph).value());
        if (auto status = check_same_interface(shapes.front(), shapes.back()); !status.ok())
            return status;
    }
    if (shapes.size() > 1)
        join_memory(shapes);
    return shapes;
}

size_t largest_shape(const std::vector<JobGraph>& shapes) {
    const auto elements = [](const JobGraph& graph) {
        return std::accumulate(graph.inputs.begin(), graph.inputs.end(), uint64_t{0},
                               [&](uint64_t sum, int32_t input) {
                                   return sum +
                                          graph.tensors[static_cast<size_t>(input)].elements();
                               });
    };
    const auto found = std::max_element(
        shapes.begin(), shapes.end(),
        [&](const JobGraph& a, const JobGraph& b) { return elements(a) < elements(b); });
    return static_cast<size_t>(found - shapes.begin());
}

Result<JobGraph> read_model(std::shared_ptr<const std::vector<std::byte>> file,
                            std::string_view soc) {
    auto shapes = read_shapes(std::move(file), soc);
    if (!shapes.ok())
        return shapes.status();
    return std::move(shapes.value()[largest_shape(shapes.value())]);
}

}  // namespace rknpu
