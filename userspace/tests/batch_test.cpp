// SPDX-License-Identifier: MIT
// Files of rknn_batch_size: several pictures in every input and output.
#include <cstring>
#include <functional>
#include <numeric>
#include <span>

#include "core/bytes.hpp"
#include "model/batch.hpp"
#include "model/reader.hpp"
#include "runtime/session.hpp"
#include "support/networks.hpp"
#include "support/test_device.hpp"

using namespace rknpu;        // NOLINT: tests
using namespace rknpu::test;  // NOLINT

namespace {

using Codes = std::vector<int8_t>;

const std::vector<Size> kSizes = {{8, 8}, {24, 16}, {16, 8}};

/// Ways in which a file may say that it holds a batch.
struct BatchForm {
    const char* name;
    bool native, room;  ///< native dims are a batch; the file reserves room for all pictures
};
const BatchForm kBatchForms[] = {
    {"logical dims", false, false}, {"and sizes", false, true}, {"native dims, too", true, true}};

/// The file, which computes one picture, as one of rknn_batch_size.
std::vector<std::byte> with_batch(const std::vector<std::byte>& file, int32_t batch,
                                  const BatchForm& form) {
    return edit_model(file, [&](schema::ModelT& model) {
        for (auto& graph : model.graphs) {
            for (const auto* list : {&graph->inputs, &graph->outputs}) {
                for (const int32_t end : *list) {
                    auto& tensor = *graph->tensors[static_cast<size_t>(end)];
                    tensor.dims[0] = batch;
                    if (form.native && tensor.native_dims.size() == 5)
                        tensor.native_dims[0] = batch;
                    if (!form.room)
                        continue;
                    tensor.size *= static_cast<uint32_t>(batch);
                    tensor.offset = 0;
                    model.memory->arena_bytes =
                        std::max<uint64_t>(model.memory->arena_bytes, tensor.size);
                }
            }
        }
    });
}

JobGraph graph_of(const std::vector<std::byte>& file) {
    auto graph = read_model(std::make_shared<const std::vector<std::byte>>(file), {});
    INFO(graph.status().text());
    REQUIRE(graph.ok());
    return std::move(graph).value();
}

/// Gives every command that sets `offset` another value.
void change_commands(schema::ModelT& model, uint16_t offset,
                     const std::function<uint32_t(uint32_t)>& change) {
    for (const auto& tensor : model.graphs.front()->tensors) {
        if (tensor->kind != static_cast<uint8_t>(TensorKind::kRegcmd))
            continue;
        const auto bytes = std::as_writable_bytes(std::span(model.buffers[tensor->buffer]->data));
        for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
            const auto word = load<uint64_t>(bytes, at);
            if (static_cast<uint16_t>(word) == offset && word >> 48 != 0)
                store<uint32_t>(bytes, at + 2, change(static_cast<uint32_t>(word >> 16)));
        }
    }
}

Codes answer_pixels(const Net& net, std::vector<std::byte> pixels) {
    REQUIRE(net.set(pixels.data(), pixels.size(), RKNN_TENSOR_UINT8) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    return net.result<int8_t>(false);
}

/// What the pictures of a batch give one by one.
Codes one_by_one(const std::vector<std::byte>& file, const std::vector<std::byte>& pixels,
                 size_t batch) {
    const Net net(file);
    REQUIRE(net.code == RKNN_SUCC);
    Codes out;
    const auto bytes = static_cast<ptrdiff_t>(pixels.size() / batch);
    for (size_t i = 0; i < batch; ++i) {
        const auto from = pixels.begin() + static_cast<ptrdiff_t>(i) * bytes;
        const auto part = answer_pixels(net, {from, from + bytes});
        out.insert(out.end(), part.begin(), part.end());
    }
    return out;
}

}  // namespace

TEST_CASE("B1 a batch lies one picture after the other", "[shapes][B1]") {
    auto model = one_node("Relu", {"", FileType::kInt8, {3, 4, 2, 2}, {3, 1, 2, 2, 16}, 0.5f, 3});
    const Net net(model);
    REQUIRE(net.code == RKNN_SUCC);
    CHECK(net.attr(RKNN_QUERY_INPUT_ATTR).n_elems == 3 * 16);
    CHECK(rknn_set_batch_core_num(net.handle, 3) == RKNN_SUCC);
    std::vector<int8_t> codes(48);
    std::iota(codes.begin(), codes.end(), int8_t{-20});
    REQUIRE(net.set(codes.data(), codes.size(), RKNN_TENSOR_INT8, RKNN_TENSOR_NCHW) == RKNN_SUCC);
    REQUIRE(net.run() == RKNN_SUCC);
    const auto got = net.result<int8_t>(false);
    for (size_t i = 0; i < codes.size(); ++i)
        CHECK(got[i] == std::max<int8_t>(codes[i], 3));
}

TEST_CASE("B1 B3 a file of rknn_batch_size gives what its pictures give one by one",
          "[shapes][B1][B3]") {
    const auto appended = [](const std::string& type) {
        return edit_model(network(kSizes[0]),
                          [&](schema::ModelT& model) { append_cpu_node(model, type); });
    };
    const std::pair<const char*, std::vector<std::byte>> files[] = {
        {"convolutions", network({8, 8})},
        {"rows that are no whole atoms", network({5, 7})},
        {"a layer on the CPU at the end", appended("Relu")},
        {"plain outputs", digits_file()}};
    for (const auto& [name, file] : files) {
        const auto info = Net(file).attr(RKNN_QUERY_INPUT_ATTR);
        for (const int32_t batch : {2, 3, 7}) {
            const auto count = static_cast<size_t>(batch);
            const auto pixels = noise(size_t{info.n_elems} * count, 11);
            const auto wanted = one_by_one(file, pixels, count);
            for (const auto& form : kBatchForms) {
                INFO(name << ", " << form.name << ", batch " << batch);
                const Net net(with_batch(file, batch, form));
                // Native dims of layers on the CPU do not tell what they compute.
                if (form.native && std::string_view(name) == "a layer on the CPU at the end")
                    continue;
                REQUIRE(net.code == RKNN_SUCC);
                const auto got = net.attr(RKNN_QUERY_INPUT_ATTR);
                CHECK(got.dims[0] == static_cast<uint32_t>(batch));
                CHECK(got.size == info.size * count);
                CHECK(net.attr(RKNN_QUERY_OUTPUT_ATTR).n_elems == wanted.size());
                for (const int cores : {3, 1, 2}) {
                    REQUIRE(rknn_set_batch_core_num(net.handle, cores) == RKNN_SUCC);
                    CHECK(answer_pixels(net, pixels) == wanted);
                }
                REQUIRE(rknn_set_core_mask(net.handle, RKNN_NPU_CORE_0_1_2) == RKNN_SUCC);
                CHECK(answer_pixels(net, pixels) == wanted);
            }
        }
    }
}

TEST_CASE("B1 B2 a batch in the caller's memory, in a copy of the context, in another shape",
          "[shapes][B1][B2]") {
    constexpr uint32_t kBatch = 4;
    const auto file = with_batch(network(kSizes[0]), kBatch, kBatchForms[0]);
    const auto pixels = noise(size_t{kBatch} * 3 * 8 * 8, 5);
    const auto wanted = one_by_one(network(kSizes[0]), pixels, kBatch);
    const Net first(file);
    rknn_context from = first.handle;
    rknn_context copy = 0;
    REQUIRE(rknn_dup_context(&from, &copy) == RKNN_SUCC);
    const Net second(copy);
    CHECK(answer_pixels(second, pixels) == wanted);
    CHECK(answer_pixels(first, pixels) == wanted);

    const Net bound(file);
    auto in = bound.attr(RKNN_QUERY_NATIVE_INPUT_ATTR);
    auto out = bound.attr(RKNN_QUERY_NATIVE_OUTPUT_ATTR);
    in.type = RKNN_TENSOR_UINT8;
    in.fmt = RKNN_TENSOR_NHWC;
    auto* in_memory = rknn_create_mem(bound.handle, in.size_with_stride);
    auto* out_memory = rknn_create_mem(bound.handle, out.size_with_stride);
    REQUIRE(in_memory != nullptr);
    REQUIRE(out_memory != nullptr);
    REQUIRE(rknn_set_io_mem(bound.handle, in_memory, &in) == RKNN_SUCC);
    out.fmt = RKNN_TENSOR_NCHW;
    REQUIRE(rknn_set_io_mem(bound.handle, out_memory, &out) == RKNN_SUCC);
    std::memcpy(in_memory->virt_addr, pixels.data(), pixels.size());
    REQUIRE(rknn_run(bound.handle, nullptr) == RKNN_SUCC);
    CHECK(std::memcmp(out_memory->virt_addr, wanted.data(), wanted.size()) == 0);
    rknn_destroy_mem(bound.handle, in_memory);
    rknn_destroy_mem(bound.handle, out_memory);

    const Net shapes(with_batch(dynamic_network(kSizes), 2, kBatchForms[0]));
    REQUIRE(shapes.code == RKNN_SUCC);
    for (const auto& size : kSizes) {
        auto attr = shapes.attr(RKNN_QUERY_INPUT_ATTR);
        attr.dims[1] = size.first;
        attr.dims[2] = size.second;
        REQUIRE(rknn_set_input_shapes(shapes.handle, 1, &attr) == RKNN_SUCC);
        const auto both = noise(size_t{2} * 3 * size.first * size.second, size.first);
        CHECK(answer_pixels(shapes, both) == one_by_one(network(size), both, 2));
    }
}

TEST_CASE("B1 the NPU converts the pictures of a batch as it converts one", "[shapes][B1]") {
    const auto single = edit_model(network(kSizes[0]), add_input_patches);
    const auto pixels = noise(size_t{3} * 3 * 8 * 8, 9);
    CHECK(answer_pixels(Net(with_batch(single, 3, kBatchForms[0])), pixels) ==
          one_by_one(network(kSizes[0]), pixels, 3));
}

TEST_CASE("B1 a batch that fits into no memory is refused", "[shapes][B1]") {
    Capture capture(LogLevel::kError);
    CHECK(Net(with_batch(network({256, 256}), 4096, kBatchForms[0])).code ==
          RKNN_ERR_MODEL_INVALID);
    CHECK_THAT(capture.text(), Catch::Contains("batch of 4096"));
}

TEST_CASE("B1 inputs and outputs of different numbers of pictures are refused", "[shapes][B1]") {
    Capture capture(LogLevel::kError);
    const auto odd = edit_model(network(kSizes[0]), [](schema::ModelT& model) {
        auto& graph = *model.graphs.front();
        graph.tensors[static_cast<size_t>(graph.inputs.front())]->dims[0] = 4;
        graph.tensors[static_cast<size_t>(graph.outputs.front())]->dims[0] = 3;
    });
    CHECK(Net(odd).code == RKNN_ERR_MODEL_INVALID);
    CHECK_THAT(capture.text(), Catch::Contains("inputs and outputs hold as many pictures"));
}

TEST_CASE("B1 the pictures of a batch do not multiply what a file holds without a limit",
          "[shapes][B1]") {
    // Half a megabyte of attributes, for 4096 pictures.
    FileModel large = one_node("Relu", {"", FileType::kFloat, {1, 4}});
    large.nodes[0].attributes = {{"many", std::vector<int64_t>(1u << 16, 1)}};
    std::vector<uint8_t> attributes;
    (void)edit_model(write_file(large), [&](schema::ModelT& model) {
        attributes = model.graphs.front()->nodes.front()->attributes;
    });
    const auto file = edit_model(network(kSizes[0]), [&](schema::ModelT& model) {
        append_cpu_node(model, "Relu");
        model.graphs.front()->nodes.back()->attributes = attributes;
    });
    CHECK(Net(with_batch(file, 3, kBatchForms[0])).code == RKNN_SUCC);
    Capture capture(LogLevel::kError);
    CHECK(Net(with_batch(file, 4096, kBatchForms[0])).code == RKNN_ERR_MODEL_INVALID);
    CHECK_THAT(capture.text(), Catch::Contains("batch of 4096: its commands and layers") &&
                                   Catch::Contains("smaller rknn_batch_size"));
}

TEST_CASE("B1 all shapes of a file share the room for their batches", "[shapes][B1]") {
    const auto one = graph_of(network(kSizes[0]));
    uint64_t room = uint64_t{1} << 20;
    auto first = one;
    REQUIRE(repeat_for_batch(first, 3, room).ok());
    CHECK(first.batch == 3);
    const uint64_t taken = (uint64_t{1} << 20) - room;
    CHECK(taken > 3 * one.regcmd.size() * sizeof(uint64_t));
    auto second = one;
    room = taken - 1;
    CHECK(repeat_for_batch(second, 3, room).error() == Error::kInvalidModel);
    CHECK(second.batch == 1);
    CHECK(second.regcmd.size() == one.regcmd.size());
    CHECK(room == taken - 1);
}

TEST_CASE("B1 layers on the CPU need no memory of their own for each picture", "[shapes][B1]") {
    const auto scratch = [](int32_t batch) {
        const auto file = edit_model(network(kSizes[1]),
                                     [](schema::ModelT& model) { append_cpu_node(model, "Relu"); });
        const auto graph = graph_of(with_batch(file, batch, kBatchForms[0]));
        REQUIRE(graph.batch == static_cast<uint32_t>(batch));
        CpuSteps steps;
        REQUIRE(steps.prepare(graph).ok());
        return steps.scratch_bytes();
    };
    CHECK(scratch(3) != 0);
    CHECK(scratch(3) == scratch(30));
}

TEST_CASE("B1 commands whose reach is not known are not taken for those of one picture",
          "[shapes][B1]") {
    const auto unknown = edit_model(network(kSizes[0]), [](schema::ModelT& model) {
        // The bias is added by an operation of the DPU that does not exist.
        change_commands(model, 0x4040, [](uint32_t) { return 3u << 16; });
    });
    CHECK_FALSE(graph_of(unknown).reach_is_known);
    CHECK(graph_of(with_batch(network(kSizes[0]), 3, kBatchForms[2])).batch == 3);
    CHECK(graph_of(with_batch(unknown, 3, kBatchForms[2])).batch == 1);
    // Here the native dims say it.
    CHECK(graph_of(with_batch(unknown, 3, kBatchForms[0])).batch == 3);
}

TEST_CASE("B1 a file whose commands compute all pictures is left as it is", "[shapes][B1]") {
    // Native dims of three pictures, inside the model as well.
    const auto whole =
        edit_model(with_batch(network(kSizes[0]), 3, kBatchForms[2]), [](schema::ModelT& model) {
            for (auto& tensor : model.graphs.front()->tensors) {
                if (tensor->kind == static_cast<uint8_t>(TensorKind::kInternal) &&
                    tensor->native_dims.size() == 5) {
                    tensor->dims[0] = tensor->native_dims[0] = 3;
                    tensor->size *= 3;
                    model.memory->arena_bytes += tensor->size;
                }
            }
        });
    CHECK(graph_of(whole).batch == 1);
}

TEST_CASE("B1 a session that is unbound forgets the pictures, too", "[shapes][B1]") {
    const auto device = Device::open(DeviceKind::kSim);
    REQUIRE(device.ok());
    const auto program =
        make_program(device.value(), graph_of(with_batch(network(kSizes[0]), 3, kBatchForms[0])));
    auto session = Session::create(program, {}, {});
    REQUIRE(session.ok());
    const auto& graph = program->graph;
    const int32_t input = graph.inputs.front();
    const auto& info = graph.tensors[static_cast<size_t>(input)];
    MemoryRequest request;
    request.size = info.size;
    std::shared_ptr<DeviceMemory> memory = device.value()->allocate(request).value();
    REQUIRE(session.value()->bind(input, {memory, 0}).ok());
    for (int32_t part = info.first_part; part < info.first_part + 3; ++part)
        CHECK(session.value()->bound(part));
    session.value()->unbind();
    CHECK_FALSE(session.value()->bound(input));
    for (int32_t part = info.first_part; part < info.first_part + 3; ++part)
        CHECK_FALSE(session.value()->bound(part));
    CHECK(memory.use_count() == 1);
}

TEST_CASE("B1 a proven batch that is too large is refused, not computed in part", "[shapes][B1]") {
    Capture capture(LogLevel::kError);
    CHECK(Net(with_batch(network({160, 128}), 4096, kBatchForms[2])).code ==
          RKNN_ERR_MODEL_INVALID);
    CHECK_THAT(capture.text(), Catch::Contains("batch of 4096"));
}
