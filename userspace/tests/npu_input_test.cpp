// SPDX-License-Identifier: MIT
// Inputs of unsigned bytes that the NPU converts: the same results as when the host does.
#include <functional>

#include "model/reader.hpp"
#include "runtime/npu_input.hpp"
#include "runtime/program.hpp"
#include "support/edit_model.hpp"
#include "support/test_device.hpp"

using namespace rknpu;        // NOLINT: tests
using namespace rknpu::test;  // NOLINT

namespace {

using Edit = std::function<void(schema::ModelT&)>;

/// The digit model (codes are bytes minus 128) with patch tables.
std::vector<std::byte> patched(const Edit& more = {}) {
    return edit_model(digits_file(), [&](schema::ModelT& model) {
        add_input_patches(model);
        if (more)
            more(model);
    });
}

Edit normalise(float mean, float scale) {
    return [=](schema::ModelT& model) {
        auto& list = model.graphs.front()->normalisation;
        list.front()->mean = {mean};
        list.front()->scale = {scale};
    };
}

JobGraph load(const std::vector<std::byte>& file) {
    auto graph = read_model(std::make_shared<const std::vector<std::byte>>(file), {});
    INFO(graph.status().text());
    REQUIRE(graph.ok());
    return std::move(graph).value();
}

std::vector<WordPatch> words_of(const JobGraph& graph, size_t input = 0) {
    return npu_conversion(graph, graph.inputs[input], channel_map(graph, input));
}

/// Outputs for uint8 inputs, converted by the NPU where that is possible, or by the host.
std::vector<std::vector<int8_t>> outputs(const std::vector<std::byte>& file, bool npu,
                                         bool zero_copy, uint32_t core_mask = 0) {
    const Environment choice("RKNPU_NPU_INPUT", npu ? "1" : "0");
    Net net(file);
    REQUIRE(net.code == RKNN_SUCC);
    REQUIRE(rknn_set_core_mask(net.handle, static_cast<rknn_core_mask>(core_mask)) == RKNN_SUCC);
    rknn_input_output_num count{};
    REQUIRE(rknn_query(net.handle, RKNN_QUERY_IN_OUT_NUM, &count, sizeof(count)) == RKNN_SUCC);
    std::vector<std::vector<std::byte>> pixels;
    std::vector<rknn_input> inputs;
    for (uint32_t i = 0; i < count.n_input; ++i) {
        auto attr = net.attr(RKNN_QUERY_INPUT_ATTR, i);
        pixels.push_back(noise(attr.n_elems, 7 + i));
        inputs.push_back(
            {i, pixels.back().data(), attr.n_elems, 0, RKNN_TENSOR_UINT8, RKNN_TENSOR_NHWC});
        if (!zero_copy)
            continue;
        attr.type = RKNN_TENSOR_UINT8;
        auto* memory = net.memory(attr.size_with_stride);
        const uint32_t row = attr.dims[2] * attr.dims[3];
        for (uint32_t y = 0; y < attr.dims[1]; ++y)
            std::memcpy(
                static_cast<std::byte*>(memory->virt_addr) + y * attr.w_stride * attr.dims[3],
                pixels.back().data() + y * row, row);
        REQUIRE(rknn_set_io_mem(net.handle, memory, &attr) == RKNN_SUCC);
    }
    std::vector<std::vector<int8_t>> out;
    if (!zero_copy) {
        REQUIRE(rknn_inputs_set(net.handle, count.n_input, inputs.data()) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        for (uint32_t i = 0; i < count.n_output; ++i)
            out.push_back(net.result<int8_t>(false, i));
        return out;
    }
    std::vector<rknn_tensor_mem*> memories;
    for (uint32_t i = 0; i < count.n_output; ++i) {
        auto attr = net.attr(RKNN_QUERY_OUTPUT_ATTR, i);
        memories.push_back(net.memory(attr.size_with_stride));
        REQUIRE(rknn_set_io_mem(net.handle, memories.back(), &attr) == RKNN_SUCC);
    }
    REQUIRE(net.run() == RKNN_SUCC);
    for (uint32_t i = 0; i < count.n_output; ++i) {
        const auto* start = static_cast<const int8_t*>(memories[i]->virt_addr);
        out.emplace_back(start, start + net.attr(RKNN_QUERY_OUTPUT_ATTR, i).size);
    }
    return out;
}

void check_both_ways(const std::vector<std::byte>& file) {
    const auto host = outputs(file, false, false);
    for (const bool zero_copy : {false, true})
        for (const uint32_t mask : {0u, 3u, 7u}) {
            INFO("zero copy " << zero_copy << ", core mask " << mask);
            CHECK((outputs(file, true, zero_copy, mask) == host));
            CHECK((outputs(file, false, zero_copy, mask) == host));
        }
}

}  // namespace

TEST_CASE("Z3 the NPU converts bytes to the codes that the host would make", "[npu-input][Z3]") {
    struct Case {
        const char* what;
        float mean, scale;
        bool npu;
    };
    const Case cases[] = {{"codes are bytes minus 128", 0, 255, true},
                          {"offset by a whole mean", 10, 255, true},
                          {"twice the byte, saturated", 0, 127.5f, true},
                          {"half the byte needs rounding", 0, 510, false},
                          {"ties of half a mean need rounding", 127.5f, 255, false},
                          {"negative factor", 0, -255, false},
                          {"everything saturates", 1e6f, 255, false}};
    for (const auto& item : cases) {
        INFO(item.what);
        const auto file = patched(normalise(item.mean, item.scale));
        const auto words = words_of(load(file));
        CHECK(words.empty() != item.npu);
        check_both_ways(file);
    }
}

TEST_CASE("Z3 bytes for the NPU are read where they are, others through a buffer",
          "[npu-input][Z3]") {
    const Placed placed;
    const auto cost = [&](bool npu) {
        const Environment choice("RKNPU_NPU_INPUT", npu ? "1" : "0");
        Net net(patched());
        auto attr = net.attr(RKNN_QUERY_INPUT_ATTR);
        attr.type = RKNN_TENSOR_UINT8;
        auto* memory = net.memory(attr.size_with_stride);
        const auto before = placed.device->counters().live_bytes;
        REQUIRE(rknn_set_io_mem(net.handle, memory, &attr) == RKNN_SUCC);
        return placed.device->counters().live_bytes - before;
    };
    CHECK(cost(true) == 0);
    CHECK(cost(false) > 0);
}

TEST_CASE("G2 the converter follows the type of each input that is set", "[npu-input][G2]") {
    const auto pixels = digit_pixels();
    std::vector<float> values(pixels.size());
    std::vector<std::byte> codes(pixels.size());
    for (size_t i = 0; i < pixels.size(); ++i) {
        values[i] = static_cast<float>(std::to_integer<int>(pixels[i]));
        codes[i] = pixels[i] ^ std::byte{0x80};
    }
    const auto expected = Net(digits_file()).digit(pixels);
    const Net net(patched());
    for (int round = 0; round < 2; ++round) {
        CHECK(net.digit(pixels) == expected);
        REQUIRE(net.set(values.data(), values.size() * 4, RKNN_TENSOR_FLOAT32) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        CHECK(net.result<float>(true) == expected);
        CHECK(net.digit(pixels) == expected);
        REQUIRE(net.set(codes.data(), codes.size(), RKNN_TENSOR_INT8) == RKNN_SUCC);
        REQUIRE(net.run() == RKNN_SUCC);
        CHECK(net.result<float>(true) == expected);
    }
}

TEST_CASE("tables that miss a reader of the input, or reach another task, are not used",
          "[npu-input]") {
    REQUIRE_FALSE(load(patched()).input_patches.empty());
    const auto convert = [](schema::ModelT& model) -> schema::ConvertPatchesT& {
        return *model.graphs.front()->convert_patches.front();
    };
    const std::pair<const char*, Edit> cases[] = {
        {"no table for one of the streams",
         [&](schema::ModelT& model) {
             convert(model).streams.front() = std::make_unique<schema::ConvertPatchT>();
         }},
        {"a command of another task",
         [&](schema::ModelT& model) {
             auto& patch = *convert(model).streams.front();
             const auto commands = rknpu::read_model(
                 std::make_shared<const std::vector<std::byte>>(digits_file()), {});
             const auto& words = commands.value().regcmd;
             uint32_t last = 0;
             for (uint32_t i = 0; i < words.size(); ++i)
                 last = static_cast<uint16_t>(words[i]) == 0x104c ? i : last;
             REQUIRE(last != patch.cvt_con0->word());
             patch.cvt_con0 = std::make_unique<schema::Patch>(0, last);
         }},
        {"a command of another register",
         [&](schema::ModelT& model) {
             auto& patch = *convert(model).streams.front();
             patch.cvt_con0 = std::make_unique<schema::Patch>(0, patch.cvt_con1->word());
         }},
        {"a command outside the blob",
         [&](schema::ModelT& model) {
             convert(model).streams.front()->cvt_con2 =
                 std::make_unique<schema::Patch>(0, 0xffffffffu);
         }},
        {"lists of different lengths",
         [&](schema::ModelT& model) { convert(model).streams.pop_back(); }},
        {"another input's name", [&](schema::ModelT& model) { convert(model).input = "nobody"; }},
    };
    for (const auto& [what, edit] : cases) {
        INFO(what);
        const auto file = patched(edit);
        CHECK(load(file).input_patches.empty());
        CHECK((outputs(file, true, false) == outputs(digits_file(), false, false)));
    }
}

TEST_CASE("an input that a layer on the CPU reads as well stays with the host", "[npu-input]") {
    auto graph = load(patched());
    REQUIRE_FALSE(words_of(graph).empty());
    graph.nodes.push_back({"Relu", "watcher", false, {graph.inputs.front()}, {}, {}, {}, {}});
    CHECK(words_of(graph).empty());
}

TEST_CASE("real files: the NPU's conversion agrees with the host's", "[npu-input][shared]") {
    const auto shared = shared_dir();
    if (shared.empty()) {
        WARN("skipped: no ../shared/data");
        return;
    }
    struct Case {
        const char* name;
        size_t inputs;  // that the NPU can convert
    };
    for (const auto& item : {Case{"multiple_input/multiple_input_rk3588.rknn", 2},
                             Case{"mobilenet_v2/mobilenet_v2_int8_rk3588.rknn", 0}}) {
        INFO(item.name);
        const auto file = read_all(shared + "/" + item.name);
        const auto graph = load(file);
        size_t able = 0;
        for (size_t i = 0; i < graph.inputs.size(); ++i)
            able += words_of(graph, i).empty() ? 0 : 1;
        CHECK(able == item.inputs);
        CHECK((outputs(file, true, false) == outputs(file, false, false)));
        CHECK((outputs(file, true, true) == outputs(file, false, true)));
    }
}
