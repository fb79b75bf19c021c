// SPDX-License-Identifier: MIT
#include "pc.hpp"

#include <cstdio>

#include "npuregs/regcmd.hpp"
#include "npuregs/regs.hpp"

namespace npusim {

namespace {

std::string refuse(size_t index, uint64_t word, const char* reason) {
    char text[200];
    std::snprintf(text, sizeof(text), "command word %zu (0x%016llx): %s", index,
                  static_cast<unsigned long long>(word), reason);
    return text;
}

const char* apply_pc(const npuregs::Command& command, StreamEnd& end) {
    switch (command.offset) {
        case npuregs::pc::kBaseAddress:
            if (command.value & npuregs::pc::kBaseAddressPcSel.mask())
                return "PC.BASE_ADDRESS selects slave mode inside a stream";
            end.next_address = command.value & npuregs::pc::kBaseAddressPcSourceAddr.mask();
            return nullptr;
        case npuregs::pc::kRegisterAmounts:
            end.next_amount = command.value;
            return nullptr;
        default:
            return "a stream may write only BASE_ADDRESS and REGISTER_AMOUNTS of the PC";
    }
}

const char* apply_block(const npuregs::Command& command, const SocConfig& soc, RegFile& regs,
                        TaskRunner& runner) {
    const auto id = RegFile::block_at(command.offset);
    if (!id || npuregs::block_of(command.offset) != npuregs::block_of_target(command.target))
        return "the offset lies outside the modelled registers of the target block";
    if (command.offset % 4 != 0)
        return "the offset is not a multiple of 4";
    // Names are known for the RK3588 map only; the engine of another map checks its own.
    if (soc.map == RegisterMap::kRk3588 && command.value != 0 &&
        npuregs::find_register(command.offset) == nullptr)
        return "no register is known at this offset, and the value is not zero";
    if ((command.offset & 0xfffU) == 0x8 && command.value != 0)
        return "a per-block op-enable starts a block without the PC's broadcast";
    regs.block(*id).write(command.offset & 0xfffU, command.value);
    if (command.offset == npuregs::dpu::kLutAccessCfg ||
        command.offset == npuregs::dpu::kLutAccessData)
        runner.write_lut(command.offset, command.value);
    return nullptr;
}

}  // namespace

uint32_t fetch_words(uint32_t amounts, const SocConfig& soc) {
    return (npuregs::get(npuregs::pc::kRegisterAmountsPcDataAmount, amounts) + 1) *
           soc.fetch_words_per_amount;
}

StreamEnd apply_stream(std::span<const uint64_t> words, const SocConfig& soc, RegFile& regs,
                       TaskRunner& runner) {
    StreamEnd end;
    bool marker = false;
    for (size_t i = 0; i < words.size(); ++i) {
        const auto command = npuregs::Command::decode(words[i]);
        const char* problem = nullptr;
        if (command.target == 0)
            continue;  // empty slot
        if (command.target == npuregs::kTargetSync) {
            marker = true;
            continue;
        }
        if (command.target == npuregs::kTargetEnable) {
            if (command.offset != npuregs::pc::kOperationEnable)
                problem = "the op-enable broadcast has an offset other than 8";
            else if (!marker)
                problem = "no 0x0041 marker stands before the op-enable broadcast";
            else if (command.value & ~soc.enable_bits)
                problem = "the op-enable value has unknown bits";
            else if ((command.value & soc.enable_bits & 0x7dU) == 0)
                problem = "the op-enable value enables no block";
            if (problem)
                end.error = refuse(i, words[i], problem);
            end.enable_mask = command.value & 0x7fU;
            return end;
        }
        if (command.target == npuregs::kTargetPc)
            problem = apply_pc(command, end);
        else if (npuregs::block_of_target(command.target) == npuregs::Block::kUnknown)
            problem = "unknown target";
        else
            problem = apply_block(command, soc, regs, runner);
        if (problem) {
            end.error = refuse(i, words[i], problem);
            return end;
        }
    }
    end.error = "the stream of " + std::to_string(words.size()) +
                " command words has no op-enable broadcast; is REGISTER_AMOUNTS too small?";
    return end;
}

}  // namespace npusim
