// SPDX-License-Identifier: MIT
// What the library says and returns when something is wrong, and its tables and dumps.
#include <rknn_api.h>
#include <sys/wait.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "runtime/limits.hpp"
#include "support/test_device.hpp"

using namespace rknpu;        // NOLINT: tests
using namespace rknpu::test;  // NOLINT

TEST_CASE("E4 a hung NPU gives TIMEOUT and the context stays usable", "[device][E4]") {
    const Placed placed;
    const auto pixels = digit_pixels();
    const Net net(digits_file());
    const auto expected = net.digit(pixels);
    for (const auto& [error, code] :
         {std::pair{Error::kTimeout, int{RKNN_ERR_TIMEOUT}}, {Error::kFail, int{RKNN_ERR_FAIL}}}) {
        placed.device->fail_runs = error;
        REQUIRE(net.set(pixels.data(), pixels.size(), RKNN_TENSOR_UINT8) == RKNN_SUCC);
        CHECK(net.run() == code);
        rknn_run_extend extend{};
        extend.non_block = 1;
        CHECK(rknn_run(net.handle, &extend) == code);
        placed.device->fail_runs = Error::kNone;
        CHECK(net.digit(pixels) == expected);
    }
}

TEST_CASE("E1 E5 no NPU memory is MALLOC_FAIL and nothing is left over", "[device][E1][E5]") {
    const Placed placed;
    const auto before = placed.device->counters().live_bytes;
    {
        const Net works(digits_file());
        placed.device->fail_allocations = true;
        CHECK(Net(digits_file()).code == RKNN_ERR_MALLOC_FAIL);
        CHECK(rknn_create_mem(works.handle, 4096) == nullptr);
        const auto pixels = digit_pixels();
        CHECK(works.set(pixels.data(), pixels.size(), RKNN_TENSOR_UINT8) == RKNN_ERR_MALLOC_FAIL);
        rknn_context copy = 0;
        rknn_context from = works.handle;
        CHECK(rknn_dup_context(&from, &copy) == RKNN_ERR_MALLOC_FAIL);
        CHECK(copy == 0);
        placed.device->fail_allocations = false;
        CHECK(works.digit(pixels).size() == 10);
    }
    CHECK(placed.device->counters().live_bytes == before);
}

TEST_CASE("E3 five causes of a failing init: five lines, five codes", "[device][E3]") {
    struct Cause {
        std::string line;
        int code;
    };
    std::vector<Cause> causes;
    const auto record = [&](auto&& init) {
        Capture capture(LogLevel::kError);
        const int code = init();
        causes.push_back({capture.text(), code});
    };
    const auto file = digits_file();
    {
        const Placed placed;
        placed.device->fail_allocations = true;
        record([&] { return Net(file).code; });
    }
    record([] { return Net(std::vector<std::byte>(100)).code; });
    record([] {
        auto model = one_node("Identity", {"", FileType::kFloat, {1, 2}});
        model.target = "rk3576";
        return Net(model).code;
    });
    const auto drm = [&file] {
        const Environment device("RKNPU_DEVICE", "drm");
        auto copy = file;
        rknn_context context = 0;
        return rknn_init(&context, copy.data(), static_cast<uint32_t>(copy.size()), 0, nullptr);
    };
    const auto empty = std::filesystem::temp_directory_path() / "rknpu-no-nodes";
    std::filesystem::create_directories(empty);
    {
        const Environment nodes("RKNPU_DRI", empty.c_str());
        record(drm);
    }
    const auto closed = std::filesystem::temp_directory_path() / "rknpu-closed-nodes";
    std::filesystem::create_directories(closed);
    std::ofstream(closed / "renderD128").put('x');
    std::filesystem::permissions(closed / "renderD128", std::filesystem::perms::none);
    if (geteuid() == 0) {
        // Nothing is closed to root: another user tries.
        int result[2];
        REQUIRE(pipe(result) == 0);
        Capture capture(LogLevel::kError);
        const pid_t child = fork();
        if (child == 0) {
            const Environment nodes("RKNPU_DRI", closed.c_str());
            const int code = setuid(65534) == 0 ? drm() : 0;
            [[maybe_unused]] const auto sent = write(result[1], &code, sizeof(code));
            _exit(0);
        }
        int code = 0;
        CHECK(read(result[0], &code, sizeof(code)) == sizeof(code));
        waitpid(child, nullptr, 0);
        causes.push_back({capture.text(), code});
        close(result[0]);
        close(result[1]);
    } else {
        const Environment nodes("RKNPU_DRI", closed.c_str());
        record(drm);
    }
    std::filesystem::remove_all(empty);
    std::filesystem::remove_all(closed);
    REQUIRE(causes.size() == 5);
    const int codes[] = {RKNN_ERR_MALLOC_FAIL, RKNN_ERR_MODEL_INVALID,
                         RKNN_ERR_TARGET_PLATFORM_UNMATCH, RKNN_ERR_DEVICE_UNAVAILABLE,
                         RKNN_ERR_FAIL};
    const char* words[] = {"cannot allocate", "Invalid RKNN format", "current platform is",
                           "failed to open rknpu module", "No permission"};
    for (size_t i = 0; i < causes.size(); ++i) {
        INFO(causes[i].line);
        CHECK(causes[i].code == codes[i]);
        CHECK(lines(causes[i].line) == 1);
        CHECK_THAT(causes[i].line, Catch::Contains(words[i]) && Catch::Contains("rknn_init"));
    }
}

TEST_CASE("E3 vendor texts that users search for", "[device][E3]") {
    const auto line = [](auto&& body) {
        Capture capture(LogLevel::kError);
        body();
        return capture.text();
    };
    const Net net(digits_file());
    CHECK_THAT(line([&] { rknn_set_core_mask(net.handle, static_cast<rknn_core_mask>(9)); }),
               Catch::Contains("Not support core mask: 9"));
    CHECK_THAT(line([] {
                   auto file = digits_file();
                   file[8] = std::byte{9};
                   const Net wrong(file);
               }),
               Catch::Contains("Invalid RKNN model version"));
    const Net custom(one_node("Mystery", {"", FileType::kFloat, {1, 2}}));
    const float values[] = {1, 2};
    REQUIRE(custom.set(values, 8, RKNN_TENSOR_FLOAT32, RKNN_TENSOR_UNDEFINED) == RKNN_SUCC);
    CHECK_THAT(line([&] { custom.run(); }), Catch::Contains("Meet unsupport CPU operator"));
}

TEST_CASE("P4 levels of the log: nothing at 0, tables at 3 and 4", "[device][P4]") {
    const auto text = [](LogLevel level) {
        Capture capture(level);
        const Net net(digits_file());
        net.digit(digit_pixels());
        return capture.text();
    };
    CHECK(text(LogLevel::kError).empty());
    CHECK_THAT(text(LogLevel::kDebug), Catch::Contains("Total Internal Memory Size"));
    const auto layers = text(LogLevel::kLayers);
    CHECK_THAT(layers, Catch::Contains("Network Layer Information Table"));
    CHECK_THAT(layers, Catch::Contains("Target"));
}

TEST_CASE("P5 times of the layers add up to the total", "[device][P5]") {
    const Net net(digits_file(), RKNN_FLAG_COLLECT_PERF_MASK);
    net.digit(digit_pixels());
    rknn_perf_detail detail{};
    REQUIRE(rknn_query(net.handle, RKNN_QUERY_PERF_DETAIL, &detail, sizeof(detail)) == RKNN_SUCC);
    std::istringstream in{std::string(detail.perf_data)};
    std::string line;
    int64_t sum = 0;
    int64_t total = -1;
    bool ranking = false;
    while (std::getline(in, line)) {
        ranking = ranking || line.find("Ranking") != std::string::npos;
        std::istringstream words(line);
        std::vector<std::string> row;
        for (std::string word; words >> word;)
            row.push_back(word);
        if (!ranking && row.size() > 9 && std::isdigit(line[0]) != 0)
            sum += std::stoll(row[9]);
        if (row.size() > 5 && line.find("Elapsed Per Frame") != std::string::npos)
            total = std::stoll(row.back());
    }
    CHECK(total > 0);
    CHECK(sum == total);
}

namespace {

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream in(line);
    return std::vector<std::string>(std::istream_iterator<std::string>(in), {});
}

/// What the log said between its time stamp and the end of the line.
std::vector<std::string> log_texts(const std::string& log) {
    std::vector<std::string> out;
    std::istringstream in(log);
    for (std::string line; std::getline(in, line);)
        out.push_back(line.substr(std::min(line.find("] ") + 2, line.size())));
    return out;
}

uint64_t number_behind(const std::vector<std::string>& texts, const std::string& name) {
    for (const auto& text : texts) {
        if (text.starts_with(name + ": "))
            return std::stoull(text.substr(name.size() + 2));
    }
    FAIL("no line '" << name << "'");
    return 0;
}

}  // namespace

TEST_CASE("P4 the memory table has the manual's columns and sums", "[device][P4]") {
    Capture capture(LogLevel::kDebug);
    const Net net(digits_file(), RKNN_FLAG_ENABLE_SRAM);
    const auto texts = log_texts(capture.text());
    const auto header = std::find_if(texts.begin(), texts.end(),
                                     [](const auto& text) { return text.starts_with("ID "); });
    REQUIRE(header != texts.end());
    CHECK(words_of(*header) ==
          words_of("ID User Tensor DataType OrigShape NativeShape | [Start End) Size | SramHit"));
    uint64_t sizes = 0;
    uint64_t ends = 0;
    uint64_t hits = 0;
    std::vector<std::vector<std::string>> rows;
    // A rule with crosses below the header's bars stands around the rows.
    CHECK(header[1].find('+') == header->find('|'));
    CHECK(header[1] == header[-1]);
    for (auto row = header + 2; *row != header[1]; ++row) {
        rows.push_back(words_of(*row));
        const auto& words = rows.back();
        INFO(*row);
        REQUIRE(words.size() == 12);
        CHECK(words[0] == std::to_string(rows.size()));
        const auto hex = [&](size_t i) { return std::stoull(words[i], nullptr, 16); };
        CHECK(hex(9) == hex(8) - hex(7));
        sizes += hex(9);
        if (words[11] == "\\")
            ends += hex(9);
        else
            hits += hex(11);
    }
    // The user of a tensor reads it: none is read by the first layer, the last by the last.
    REQUIRE(rows.size() > 2);
    CHECK(rows.front()[1] == "ConvRelu");
    CHECK(rows.front()[11] == "\\");
    CHECK(rows.back()[1] == "OutputOperator");
    CHECK(rows.back()[11] == "\\");
    CHECK(hits > 0);
    CHECK(number_behind(texts, "Predict Internal Memory RW Amount") == 2 * sizes - ends);
    CHECK(number_behind(texts, "Predict SRAM Hit RW Amount") == 2 * hits);
    CHECK(number_behind(texts, "Total Weight Memory Size") > 0);
    CHECK(number_behind(texts, "Total Internal Memory Size") > 0);
}

TEST_CASE("P4 the layer table has the manual's columns", "[device][P4]") {
    Capture capture(LogLevel::kLayers);
    const Net net(digits_file());
    net.digit(digit_pixels());
    const auto texts = log_texts(capture.text());
    const auto starts = [&](const char* text) {
        return std::find_if(texts.begin(), texts.end(),
                            [&](const auto& line) { return line.starts_with(text); });
    };
    const auto header = starts("ID   OpType");
    const auto ranking = starts("OpType ");
    REQUIRE((header != texts.end() && ranking != texts.end()));
    CHECK(words_of(*header) ==
          words_of("ID OpType DataType Target InputShape OutputShape DDRCycles NPUCycles MaxCycles "
                   "Time(us) MacUsage(%) WorkLoad(0/1/2)--ImproveTherical TaskNumber RW(KB) "
                   "FullName"));
    CHECK(words_of(*ranking) ==
          words_of("OpType CallNumber CPUTime(us) GPUTime(us) NPUTime(us) TotalTime(us) "
                   "TimeRatio(%)"));
    for (const auto& line : {header, ranking})
        CHECK((line[-1] == line[1] && line[1].find_first_not_of('-') == std::string::npos));
    size_t count = 0;
    for (auto row = header + 2; *row != header[1]; ++row) {
        const auto words = words_of(*row);
        INFO(*row);
        REQUIRE(words.size() == 15);
        CHECK(words[0] == std::to_string(++count));
        CHECK((words[3] == "NPU") == !words[1].ends_with("putOperator"));
        // A fused layer is named after the operator it begins with.
        CHECK(words[1].starts_with(words[14].substr(0, words[14].find(':'))));
    }
    CHECK(count > 3);
    CHECK(number_behind(texts, "Total Operator Elapsed Per Frame Time(us)") > 0);
    number_behind(texts, "Total Memory Read/Write Per Frame Size(KB)");
}

TEST_CASE("tensor dumps hold what the tensors hold", "[device][dump]") {
    const auto folder = std::filesystem::temp_directory_path() / "rknpu-dumps";
    std::filesystem::remove_all(folder);
    const Environment directory("RKNN_DUMP_DIR", folder.c_str());
    const auto pixels = digit_pixels();
    const auto expected = Net(digits_file()).digit(pixels);
    {
        Capture capture(LogLevel::kDump);
        const Net net(digits_file());
        net.digit(pixels);
    }
    size_t inputs = 0;
    size_t files = 0;
    std::vector<float> output;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const auto name = entry.path().filename().string();
        ++files;
        inputs += name.starts_with("InputOperator") ? 1 : 0;
        std::ifstream in(entry.path(), std::ios::binary);
        std::string bytes((std::istreambuf_iterator<char>(in)), {});
        REQUIRE(bytes.size() > 64);
        CHECK(bytes.substr(1, 5) == "NUMPY");
        const size_t start = 10 + static_cast<uint8_t>(bytes[8]) +
                             256 * static_cast<size_t>(static_cast<uint8_t>(bytes[9]));
        CHECK(start % 64 == 0);
        if (name.starts_with("OutputOperator")) {
            output.resize((bytes.size() - start) / 4);
            std::memcpy(output.data(), bytes.data() + start, output.size() * 4);
        }
    }
    CHECK(inputs == 1);
    CHECK(files > 4);
    CHECK(output == expected);
    std::filesystem::remove_all(folder);
}

TEST_CASE("layers on the CPU are named with a reason, strict mode refuses them",
          "[device][limits]") {
    struct Case {
        FileModel model;
        const char* reason;
    };
    auto wide = one_node("Relu", {"", FileType::kHalf, {1, 9000, 1, 1}});
    auto batch = one_node("Relu", {"", FileType::kHalf, {2, 8, 1, 1}});
    auto kernel = one_node("MaxPool", {"", FileType::kHalf, {1, 8, 20, 20}});
    kernel.tensors[1].dims = {1, 8, 1, 1};
    kernel.nodes[0].attributes = {{"kernel_shape", std::vector<int64_t>{20, 20}}};
    for (const auto& [model, reason] :
         {Case{one_node("Neg", {"", FileType::kHalf, {1, 8, 2, 2}}), "OP_UNSUPPORTED"},
          Case{one_node("Relu", {"", FileType::kFloat, {1, 8, 2, 2}}), "TYPE_UNSUPPORTED"},
          Case{wide, "PARAM_OUT_OF_RANGE"}, Case{batch, "BATCH_TOO_LARGE"},
          Case{kernel, "PARAM_OUT_OF_RANGE"},
          Case{one_node("Relu", {"", FileType::kHalf, {1, 8, 2, 2}}), "COMBINATION"}}) {
        Capture capture(LogLevel::kWarning);
        CHECK(Net(model).code == RKNN_SUCC);
        const auto text = capture.text();
        INFO(text);
        CHECK_THAT(text, Catch::Contains(reason) && Catch::Contains("runs on the CPU"));
        const Environment strict("RKNPU_STRICT", "1");
        Capture refused(LogLevel::kError);
        CHECK(Net(model).code == RKNN_ERR_MODEL_INVALID);
        CHECK_THAT(refused.text(), Catch::Contains(reason));
    }
    const Environment strict("RKNPU_STRICT", "1");
    CHECK(Net(digits_file()).code == RKNN_SUCC);
    CHECK(chip_limits("rk3588") != nullptr);
    CHECK(chip_limits("rk3576") != nullptr);
    CHECK(chip_limits("rk9999") == nullptr);
}
