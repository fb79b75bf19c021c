// SPDX-License-Identifier: MIT
#include "npuregs/regcmd.hpp"

#include <catch2/catch.hpp>

using namespace npuregs;

TEST_CASE("field helpers extract, place and sign-extend") {
    CHECK(get(cna::kConvCon3ConvYStride, 0x12) == 2);
    CHECK(put(cna::kConvCon1ArgbIn, 10) == 0xa000);
    CHECK(fits(cna::kPadCon0PadTop, 15));
    CHECK_FALSE(fits(cna::kPadCon0PadTop, 16));
    CHECK(get_signed(cna::kDmaCon2SurfStride, 0x0ffffff0) == -16);
    CHECK(Field{31, 0}.mask() == 0xffffffffU);
}

TEST_CASE("command words split and join") {
    const uint64_t word = 0x0201'2000'0120'100cULL;
    const Command command = Command::decode(word);
    CHECK(command.target == kTargetCna);
    CHECK(command.value == 0x20000120U);
    CHECK(command.offset == cna::kConvCon1);
    CHECK(command.encode() == word);
}

TEST_CASE("every register lies in its block's window and table order is ascending") {
    uint32_t previous = 0;
    bool first = true;
    for (const RegisterInfo& info : all_registers()) {
        CHECK(block_of(info.offset) == info.block);
        CHECK((first || info.offset > previous));
        CHECK_FALSE(info.fields.empty());
        uint32_t seen = 0;
        for (const FieldInfo& field : info.fields) {
            CHECK((seen & field.bits.mask()) == 0);
            seen |= field.bits.mask();
        }
        previous = info.offset;
        first = false;
    }
}

TEST_CASE("text forms") {
    CHECK(describe_write(0x100c, 0x20000120) ==
          "CNA.CONV_CON1=0x20000120 {GROUP_LINE_OFF=1 PROC_PRECISION=2 IN_PRECISION=2}");
    CHECK(describe_write(0x1070, 0x1000) == "CNA.FEATURE_DATA_ADDR=0x1000");
    CHECK(describe_write(0x1abc, 1) == "0x1abc=0x1");
    CHECK(describe_enable_mask(0x1d) == "CNA|CORE|DPU|DPU_RDMA");
    CHECK(describe_enable_mask(0) == "none");
    CHECK(disassemble(0x0081'0000'001d'0008ULL) == "enable CNA|CORE|DPU|DPU_RDMA");
    CHECK(disassemble(0x0041'0000'0000'0000ULL) == "sync");
    CHECK(disassemble(0) == "empty");
    CHECK(disassemble(0x0801'0000'0000'100cULL) ==
          "CNA.CONV_CON1=0x0 (target CORE does not own this offset)");
    CHECK(find_register("DPU.EW_CFG")->offset == dpu::kEwCfg);
    CHECK(find_register("DPU.NONE") == nullptr);
}
