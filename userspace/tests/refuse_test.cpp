// SPDX-License-Identifier: MIT
// Files that cannot run: rknn_init returns the documented code and its line names what is missing.
#include <rknn_custom_op.h>

#include <functional>

#include "support/edit_model.hpp"
#include "support/test_device.hpp"

using namespace rknpu;        // NOLINT: tests
using namespace rknpu::test;  // NOLINT

namespace {

/// Code and line of rknn_init for a file.
struct Refusal {
    int code;
    std::string line;
};

Refusal init(const std::vector<std::byte>& file, LogLevel level = LogLevel::kError) {
    Capture capture(level);
    const int code = Net(file).code;
    return {code, capture.text()};
}

/// The digit model with other bytes at the start.
std::vector<std::byte> with_start(std::string_view bytes) {
    auto file = digits_file();
    std::memcpy(file.data(), bytes.data(), bytes.size());
    return file;
}

std::vector<std::byte> with_operator(const std::string& type) {
    return edit_model(digits_file(), [&](schema::ModelT& model) { append_cpu_node(model, type); });
}

int copy_values(rknn_custom_op_context*, rknn_custom_op_tensor* in, uint32_t,
                rknn_custom_op_tensor* out, uint32_t) {
    std::memcpy(out[0].mem.virt_addr, in[0].mem.virt_addr, in[0].attr.size);
    return 0;
}

}  // namespace

TEST_CASE("E6 E7 E8 rknn_init names what a file wants and the library lacks",
          "[refuse][E6][E7][E8]") {
    struct Case {
        const char* what;
        std::vector<std::byte> file;
        std::vector<const char*> words;
    };
    using namespace std::string_literals;
    const Case cases[] = {
        {"encrypted", with_start("CYPTRKNN"), {"Encrypted", "without encryption"}},
        {"newer layout",
         with_start("RKNN\0\0\0\0\7\0"s),
         {"Invalid RKNN model version 0x7", "layouts 2 to 6"}},
        {"newer family",
         with_start("RKNN\0\0\0\0\6\0\1"s),
         {"Invalid RKNN model version 0x10006", "newer than this library"}},
        {"older layout", with_start("RKNN\0\0\0\0\1\0"s), {"version 1", "older than 1.4"}},
        {"mini format", with_start("RKNN\0\0\0\0\4\x10"s), {"mini format", "RK3588"}},
        {"ONNX operator", with_operator("Loop"), {"operator 'Loop' in layer 'Loop:appended'"}},
        {"vendor's operator",
         with_operator("exMystery13"),
         {"operator 'exMystery13' in layer 'exMystery13:appended'", "RKNPU_OP_PLUGINS"}},
    };
    for (const auto& item : cases) {
        INFO(item.what);
        const auto got = init(item.file);
        INFO(got.line);
        CHECK(got.code == RKNN_ERR_MODEL_INVALID);
        CHECK(lines(got.line) == 1);
        for (const char* word : item.words)
            CHECK_THAT(got.line, Catch::Contains(word));
    }
}

TEST_CASE("E6 inputs in the NPU's layout that are no images are refused, not misread",
          "[refuse][E6]") {
    const auto flat = edit_model(digits_file(), [](schema::ModelT& model) {
        auto& graph = *model.graphs.front();
        auto& input = *graph.tensors[static_cast<size_t>(graph.inputs.front())];
        input.dims.erase(input.dims.begin());
    });
    const auto got = init(flat);
    CHECK(got.code == RKNN_ERR_MODEL_INVALID);
    CHECK_THAT(got.line, Catch::Contains("3 dims in the NPU's layout"));
}

TEST_CASE("E7 a model with many missing operators names some and counts the others",
          "[refuse][E7]") {
    const auto file = edit_model(digits_file(), [](schema::ModelT& model) {
        for (int i = 0; i < 11; ++i)
            append_cpu_node(model, i % 2 == 0 ? "Scan" : "exMystery");
    });
    const auto got = init(file);
    CHECK(got.code == RKNN_ERR_MODEL_INVALID);
    CHECK_THAT(got.line, Catch::Contains("'Scan' in layer 'Scan:appended'") &&
                             Catch::Contains("'exMystery' in layer") &&
                             Catch::Contains("and 3 more"));
    CHECK(lines(got.line) == 1);
}

TEST_CASE("O1 a custom operator may come after rknn_init, and is missed before anything runs",
          "[refuse][O1]") {
    const Placed placed;
    const auto file = with_operator("cstMystery");
    const auto loaded = init(file, LogLevel::kWarning);
    CHECK(loaded.code == RKNN_SUCC);
    CHECK_THAT(loaded.line, Catch::Contains("operator 'cstMystery' of layer "
                                            "'cstMystery:appended' is not in this library"));
    const auto pixels = digit_pixels();
    const Net net(file);
    REQUIRE(net.set(pixels.data(), pixels.size(), RKNN_TENSOR_UINT8) == RKNN_SUCC);
    placed.device->reset();
    Capture capture(LogLevel::kError);
    CHECK(net.run() == RKNN_ERR_FAIL);
    CHECK_THAT(capture.text(), Catch::Contains("operator 'cstMystery' in layer "
                                               "'cstMystery:appended'") &&
                                   Catch::Contains("rknn_register_custom_ops"));
    CHECK(placed.device->submits == 0);

    rknn_custom_op op{};
    op.target = RKNN_TARGET_TYPE_CPU;
    std::snprintf(op.op_type, sizeof(op.op_type), "cstMystery");
    op.compute = copy_values;
    REQUIRE(rknn_register_custom_ops(net.handle, &op, 1) == RKNN_SUCC);
    CHECK(net.digit(pixels) == Net(digits_file()).digit(pixels));
}
