// SPDX-License-Identifier: MIT
#include "rknpu_regcmd/regcmd_builder.hpp"

#include <catch2/catch.hpp>
#include <map>

using namespace rknpu::compiler;
using namespace npuregs;

namespace {

constexpr uint32_t kInput = 1;
constexpr uint32_t kWeights = 2;
constexpr uint32_t kOperands = 3;
constexpr uint32_t kOutput = 4;
constexpr uint32_t kSecond = 5;

/// First convolution of a public int8 digit network: 28x28x1 (one surface) -> 26x26x12, ReLU.
ConvTask digit_conv() {
    ConvTask task;
    task.input = {{kInput, 0}, 28, 28, 1, 28, 784};
    task.output = {{kOutput, 0}, 26, 26, 12, 26, 676};
    task.window = {3, 3, 1, 1, 0, 0, 1, 1};
    task.pad_value = -128;
    task.weights = {kWeights, 0};
    task.weight_bytes = 1728;
    task.banks = {1, 11};
    task.truncate = 1;
    task.stage.bias_scale = {BiasScale::Source::kRecords, {kOperands, 0}, 0, 1, 0};
    task.stage.relu = true;
    task.stage.convert = {27870, 22, -128};
    return task;
}

PoolTask digit_pool() {
    PoolTask task;
    task.input = {{kOutput, 0}, 26, 26, 12, 26, 676};
    task.output = {{kSecond, 0}, 13, 13, 12, 13, 172};
    task.window = {2, 2, 2, 2, 0, 0, 1, 1};
    return task;
}

/// Last value written to each register of a task, its words checked to be register writes.
std::map<uint32_t, uint32_t> registers(const RegcmdBuilder& builder, size_t index) {
    const TaskRecord& record = builder.tasks()[index];
    std::map<uint32_t, uint32_t> values;
    for (uint32_t i = 0; i < record.amount; i++) {
        const Command command = Command::decode(builder.words()[record.offset / 8 + i]);
        REQUIRE(target_of(block_of(command.offset)) == command.target);
        values[command.offset] = command.value;
    }
    return values;
}

}  // namespace

// The expected numbers below are what public, vendor-compiled files hold for the same operation.
TEST_CASE("convolution: registers of the vendor's first digit layer") {
    RegcmdBuilder builder;
    builder.begin_chain();
    REQUIRE(builder.append(digit_conv(), 2) == std::nullopt);
    REQUIRE(builder.tasks().size() == 1);
    const TaskRecord record = builder.tasks()[0];
    CHECK(record.amount == 126);
    CHECK(record.enable_mask == 0x1d);
    CHECK(record.int_mask == 0x300);
    CHECK(record.op_index == 2);
    auto r = registers(builder, 0);
    CHECK(r[0x100c] == 0x0);
    CHECK(r[0x1010] == 0x1f0);
    CHECK(r[0x1014] == 0x9);
    CHECK(r[0x1020] == 0x1c001c);
    CHECK(r[0x1024] == 0x10);
    CHECK(r[0x1028] == 0x1a);
    CHECK(r[0x102c] == 0x2a4);
    CHECK(r[0x1030] == 0x6c0);
    CHECK(r[0x1034] == 0x90);
    CHECK(r[0x1038] == 0x303000c);
    CHECK(r[0x1040] == 0xb1);
    CHECK(r[0x1044] == 7);
    CHECK(r[0x104c] == 0xb);
    CHECK(r[0x107c] == 0x70);
    CHECK(r[0x1080] == 0x2a0);
    CHECK(r[0x1084] == 0x1c001c);
    CHECK(r[0x1088] == 0x10);
    CHECK(r[0x1184] == 0xffffff80);
    CHECK(r[0x3010] == 1);
    CHECK(r[0x3014] == 0x190019);
    CHECK(r[0x3018] == 0x1f);
    CHECK(r[0x301c] == 1);
    CHECK(r[0x400c] == 0x1e4);
    CHECK(r[0x4010] == 0xe0);
    CHECK(r[0x4024] == 0x2a40);
    CHECK(r[0x403c] == 0xb001f);
    CHECK(r[0x4040] == 0x20140);
    CHECK(r[0x4048] == 0xe01);
    CHECK(r[0x4050] == 0x125);
    CHECK(r[0x405c] == 0x190019);
    CHECK(r[0x4060] == 0x12);
    CHECK(r[0x4070] == 0x383);
    CHECK(r[0x4080] == 0xffffff80);
    CHECK(r[0x4084] == 27870);
    CHECK(r[0x4088] == 22);
    CHECK(r[0x40c0] == 0x5480);
    CHECK(r[0x5014] == 0x1f);
    CHECK(r[0x501c] == 0xe);
    CHECK(r[0x5034] == 1);
    CHECK(r[0x5044] == 0x7810);
    CHECK(r[0x5068] == 0x1010101);
}

TEST_CASE("convolution: packed image, depthwise and row tiles") {
    ConvTask image = digit_conv();
    image.image_channels = 3;
    image.input = {{kInput, 66528}, 224, 99, 3, 224, 224 * 224};
    image.output = {{kOutput, 0}, 112, 49, 32, 112, 12544};
    image.window = {3, 3, 2, 2, 0, 1, 1, 1};
    image.banks = {11, 1};
    image.weights_loaded = true;
    RegcmdBuilder builder;
    builder.begin_chain();
    REQUIRE(builder.append(image, 0) == std::nullopt);
    auto r = registers(builder, 0);
    CHECK(r[0x100c] == 0x6000a000);
    CHECK(r[0x1014] == 0x12);
    CHECK(r[0x1024] == 0x20010);
    CHECK(r[0x1040] == 0x201b);
    CHECK(r[0x1044] == 22176);
    CHECK(r[0x1068] == 0x10);
    CHECK(r[0x1070] == 66528);
    CHECK(r[0x107c] == 224);
    CHECK(r[0x1080] == 49952);

    ConvTask depthwise = digit_conv();
    depthwise.depthwise = true;
    depthwise.input = {{kInput, 0}, 112, 100, 32, 112, 12544};
    depthwise.output = {{kOutput, 0}, 112, 99, 32, 112, 12544};
    depthwise.window = {3, 3, 1, 1, 1, 1, 1, 1};
    depthwise.stage.clip = 0xbfd;
    REQUIRE(builder.append(depthwise, 0) == std::nullopt);
    r = registers(builder, 1);
    CHECK(r[0x100c] == 3);
    CHECK(r[0x1030] == 288);
    CHECK(r[0x1038] == 0x3030001);
    CHECK(r[0x1080] == 12096);
    CHECK(r[0x1184] == 0xffff8080);
    CHECK(r[0x3010] == 3);
    CHECK(r[0x3018] == 0x3f);
    CHECK(r[0x400c] == 0x1fc);
    CHECK(r[0x403c] == 0x1f003f);
    CHECK(r[0x4050] == 0x36d);
    CHECK(r[0x4060] == 0x92);
    CHECK(r[0x406c] == 0xbfd);
    CHECK(r[0x40c0] == 0xc4000);
    CHECK(r[0x5044] == 0x7816);
}

TEST_CASE("convolution: negative plane stride of a single pixel") {
    ConvTask task = digit_conv();
    task.input = {{kInput, 0}, 1, 1, 1280, 1, 1};
    task.output = {{kOutput, 0}, 1, 1, 1000, 1, 1};
    task.window = {};
    RegcmdBuilder builder;
    REQUIRE(builder.append(task, 0) == std::nullopt);
    auto r = registers(builder, 0);
    CHECK(get_signed(cna::kDmaCon2SurfStride, r[0x1080]) == -3);
    CHECK(r[0x107c] == 4);
    CHECK(r[0x403c] == 0x3e703ff);
}

TEST_CASE("convolution: 16-bit floats, direct and depthwise") {
    ConvTask task;
    task.input_precision = Precision::kFp16;
    task.output_precision = Precision::kFp16;
    task.input = {{kInput, 0}, 151, 20, 32, 151, 3020};
    task.output = {{kOutput, 0}, 151, 20, 16, 151, 3020};
    task.weights = {kWeights, 0};
    task.banks = {6, 6};
    task.stage.bias_scale = {BiasScale::Source::kBias, {kOperands, 0}, 0, 1, 0};
    task.stage.relu = true;
    RegcmdBuilder builder;
    REQUIRE(builder.append(task, 0) == std::nullopt);
    auto r = registers(builder, 0);
    CHECK(r[0x100c] == 0x120);
    CHECK(r[0x1024] == 0x1f0020);
    CHECK(r[0x1030] == 0x400);
    CHECK(r[0x1034] == 0x40);
    CHECK(r[0x1038] == 0x1010010);
    CHECK(r[0x1040] == 0x66);
    CHECK(r[0x1044] == 0x97);
    CHECK(r[0x1080] == 0x970);
    CHECK(r[0x3010] == 0x200);
    CHECK(r[0x3018] == 0xf);
    CHECK(r[0x4010] == 0x48000002);
    CHECK(r[0x403c] == 0xf000f);
    CHECK(r[0x4040] == 0x20150);
    CHECK(r[0x4048] == 0);
    CHECK(r[0x4050] == 0x126);
    CHECK(r[0x4060] == 0x12);
    CHECK(r[0x4084] == 0x10001);
    CHECK(r[0x40c0] == 0x17980);
    CHECK(r[0x501c] == 2);
    CHECK(r[0x5044] == 0x17850);

    task.depthwise = true;
    task.input.channels = 16;
    task.window = {3, 1, 1, 1, 1, 0, 1, 1};
    task.stage.relu = false;
    REQUIRE(builder.append(task, 0) == std::nullopt);
    r = registers(builder, 1);
    CHECK(r[0x100c] == 0x123);
    CHECK(r[0x1030] == 0x60);
    CHECK(r[0x1038] == 0x1030001);
    CHECK(r[0x1044] == 0x4c);
    CHECK(r[0x1068] == 1);
    CHECK(r[0x3010] == 0x202);
    CHECK(r[0x403c] == 0xf001f);
    CHECK(r[0x4050] == 0x36e);
    CHECK(r[0x40c0] == 0x2f300);
    CHECK(r[0x5044] == 0x17856);

    // Without a bias nothing is read by the DPU, and its read engine gets no registers.
    task.stage.bias_scale = {};
    REQUIRE(builder.append(task, 0) == std::nullopt);
    CHECK(builder.tasks()[2].amount == 108);
    CHECK(builder.tasks()[2].enable_mask == 0xd);
}

TEST_CASE("convolution with a second tensor: alternating surfaces") {
    ConvTask task = digit_conv();
    task.input = {{kInput, 0}, 56, 44, 144, 56, 3136};
    task.output = {{kOutput, 0}, 56, 44, 24, 56, 3136};
    task.window = {};
    task.stage.relu = false;
    task.stage.add = Operand{{{kSecond, 0}, 56, 44, 24, 56, 3136}, 0x14, 23273, 6};
    RegcmdBuilder builder;
    REQUIRE(builder.append(task, 0) == std::nullopt);
    auto r = registers(builder, 0);
    CHECK(r[0x4070] == 0x904202c0);
    CHECK(r[0x4074] == 0x14);
    CHECK(r[0x4078] == 0x65ae9);
    CHECK(r[0x5034] == 0x40000004);
    CHECK(r[0x5038] == 50176);
    CHECK(r[0x5040] == 0xc400);
    CHECK(r[0x5044] == 0x7d00);
    CHECK(r[0x504c] == 0xee00);
    CHECK(r[0x506c] == 0xee00);
}

TEST_CASE("elementwise add from memory: the vendor's flying task") {
    ElementwiseTask task;
    task.main = {{kInput, 0}, 48, 48, 16, 48, 2304};
    task.output = {{kOutput, 0}, 48, 48, 16, 48, 2304};
    task.stage.bias_scale = {BiasScale::Source::kImmediate, {}, 0x80, 16384, 0};
    task.stage.add = Operand{{{kSecond, 0}, 48, 48, 16, 48, 2304}, -12, 18577, 1};
    task.stage.convert = {23328, 29, -72};
    RegcmdBuilder builder;
    REQUIRE(builder.append(task, 56) == std::nullopt);
    CHECK(builder.tasks()[0].amount == 69);
    CHECK(builder.tasks()[0].enable_mask == 0x18);
    auto r = registers(builder, 0);
    CHECK(r[0x400c] == 0x1e5);
    CHECK(r[0x4010] == 0);
    CHECK(r[0x403c] == 0xf000f);
    CHECK(r[0x4040] == 0x20040);
    CHECK(r[0x4044] == 0x80);
    CHECK(r[0x4048] == 0x40000000);
    CHECK(r[0x4050] == 2);
    CHECK(r[0x4074] == 0xfffffff4);
    CHECK(r[0x4078] == 0x14891);
    CHECK(r[0x40c0] == 0x9000);
    CHECK(r[0x501c] == 0);
    CHECK(r[0x5044] == 0x7801);
    CHECK(r[0x504c] == 0);
}

TEST_CASE("max pool: registers of the vendor's digit network") {
    RegcmdBuilder builder;
    REQUIRE(builder.append(digit_pool(), 3) == std::nullopt);
    CHECK(builder.tasks()[0].amount == 26);
    CHECK(builder.tasks()[0].enable_mask == 0x60);
    CHECK(builder.tasks()[0].int_mask == 0xc00);
    auto r = registers(builder, 0);
    CHECK(r[0x6014] == 0xf);
    CHECK(r[0x6018] == 0xc);
    CHECK(r[0x6024] == 0x11);
    CHECK(r[0x6034] == 0x110101);
    CHECK(r[0x6044] == 0);
    CHECK(r[0x607c] == 0xac0);
    CHECK(r[0x6084] == 0xac0);
    CHECK(r[0x7024] == 0x1a0);
    CHECK(r[0x7028] == 0x2a40);
    CHECK(r[0x7030] == 1);
}

TEST_CASE("chains: links, amounts, alignment and relocations") {
    RegcmdBuilder builder;
    builder.begin_chain();
    REQUIRE(builder.append(digit_conv(), 2) == std::nullopt);
    REQUIRE(builder.append(digit_pool(), 3) == std::nullopt);
    builder.begin_chain(2);
    REQUIRE(builder.append(digit_conv(), 2) == std::nullopt);
    REQUIRE(builder.append(digit_conv(), 2) == std::nullopt);

    const auto tail = [&builder](size_t task, uint32_t word) {
        const TaskRecord& record = builder.tasks()[task];
        return builder.words()[record.offset / 8 + record.amount + word];
    };
    for (const TaskRecord& record : builder.tasks()) {
        CHECK(record.offset % 64 == 0);
    }
    CHECK(builder.tasks()[1].offset == 1088);  // as in the vendor's file
    CHECK(builder.tasks()[2].offset == 1344);
    CHECK(tail(0, 0) == Command{kTargetPc, pc::kBaseAddress, 1088}.encode());
    CHECK(tail(0, 1) == Command{kTargetPc, pc::kRegisterAmounts, 0xe}.encode());
    CHECK(tail(0, 2) == 0x0041000000000000);
    CHECK(tail(0, 3) == Command{kTargetEnable, 8, 0x1d}.encode());
    CHECK(tail(1, 0) == 0);
    CHECK(tail(1, 1) == Command{kTargetPc, pc::kRegisterAmounts, 0}.encode());
    CHECK(tail(2, 1) == Command{kTargetPc, pc::kRegisterAmounts, 0x10040}.encode());
    CHECK(builder.link_words().size() == 2);

    for (const Relocation& relocation : builder.relocations()) {
        const Command command = Command::decode(builder.words()[relocation.word]);
        CHECK(command.value == relocation.addend);
        CHECK(relocation.buffer != 0);
    }
    CHECK(builder.relocations().size() == 3 * 4 + 2);
}

TEST_CASE("a task that does not fit is refused and leaves nothing behind") {
    RegcmdBuilder builder;
    REQUIRE(builder.append(digit_pool(), 0) == std::nullopt);
    const std::vector<uint64_t> before(builder.words().begin(), builder.words().end());

    ConvTask wide = digit_conv();
    wide.input.width = 4096;
    const auto error = builder.append(wide, 1);
    REQUIRE(error);
    CHECK(error->find("CNA.DATA_SIZE0") != std::string::npos);
    CHECK(error->find("split") != std::string::npos);

    ConvTask unaligned = digit_conv();
    unaligned.input.base.offset = 8;
    CHECK(builder.append(unaligned, 1));

    PoolTask pool = digit_pool();
    pool.window.width = 17;
    CHECK(builder.append(pool, 1));

    ConvTask banks = digit_conv();
    banks.banks = {8, 8};
    CHECK(builder.append(banks, 1));

    CHECK(std::equal(before.begin(), before.end(), builder.words().begin(), builder.words().end()));
    CHECK(builder.tasks().size() == 1);
    CHECK(builder.append(digit_pool(), 0) == std::nullopt);
}
