// SPDX-License-Identifier: MIT
#include "npuregs/regcmd.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "tables.hpp"

namespace npuregs {
namespace {

struct BlockRow {
    Block block;
    std::string_view name;
    uint16_t target;
    uint32_t first;
    uint32_t last;
};

// Windows: 4 KiB each, PC at 0, GLOBAL on the last page (TRM address map).
constexpr std::array kBlocks = {
    BlockRow{Block::kPc, "PC", kTargetPc, 0x0000, 0x0fff},
    BlockRow{Block::kCna, "CNA", kTargetCna, 0x1000, 0x1fff},
    BlockRow{Block::kCore, "CORE", kTargetCore, 0x3000, 0x3fff},
    BlockRow{Block::kDpu, "DPU", kTargetDpu, 0x4000, 0x4fff},
    BlockRow{Block::kDpuRdma, "DPU_RDMA", kTargetDpuRdma, 0x5000, 0x5fff},
    BlockRow{Block::kPpu, "PPU", kTargetPpu, 0x6000, 0x6fff},
    BlockRow{Block::kPpuRdma, "PPU_RDMA", kTargetPpuRdma, 0x7000, 0x7fff},
    BlockRow{Block::kDdma, "DDMA", 0, 0x8000, 0x8fff},
    BlockRow{Block::kSdma, "SDMA", 0, 0x9000, 0x9fff},
    BlockRow{Block::kGlobal, "GLOBAL", 0, 0xf000, 0xffff},
};

struct EnableBit {
    uint32_t bit;
    std::string_view name;
};

// Bits of GLOBAL.OPERATION_ENABLE (TRM).
constexpr std::array kEnableBits = {
    EnableBit{0, "CNA"},      EnableBit{2, "CORE"}, EnableBit{3, "DPU"},
    EnableBit{4, "DPU_RDMA"}, EnableBit{5, "PPU"},  EnableBit{6, "PPU_RDMA"},
};

std::string hex(uint32_t value) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "0x%x", static_cast<unsigned>(value));
    return text.data();
}

std::string describe_fields(const RegisterInfo& info, uint32_t value) {
    if (info.fields.size() == 1 && info.fields[0].bits.lo == 0)
        return {};
    std::string text;
    for (const FieldInfo& field : info.fields) {
        const uint32_t part = get(field.bits, value);
        if (part == 0)
            continue;
        text += text.empty() ? " {" : " ";
        text += field.name;
        text += '=';
        text += part > 0xffff ? hex(part) : std::to_string(part);
    }
    return text.empty() ? text : text + "}";
}

}  // namespace

Block block_of(uint32_t offset) {
    for (const BlockRow& row : kBlocks) {
        if (offset >= row.first && offset <= row.last)
            return row.block;
    }
    return Block::kUnknown;
}

Block block_of_target(uint16_t target) {
    for (const BlockRow& row : kBlocks) {
        if (row.target != 0 && row.target == target)
            return row.block;
    }
    return Block::kUnknown;
}

uint16_t target_of(Block block) {
    for (const BlockRow& row : kBlocks) {
        if (row.block == block)
            return row.target;
    }
    return 0;
}

std::string_view block_name(Block block) {
    for (const BlockRow& row : kBlocks) {
        if (row.block == block)
            return row.name;
    }
    return "?";
}

std::span<const RegisterInfo> all_registers() {
    return register_table().registers();
}

const RegisterInfo* find_register(uint32_t offset) {
    const auto all = all_registers();
    const auto it = std::lower_bound(
        all.begin(), all.end(), offset,
        [](const RegisterInfo& info, uint32_t wanted) { return info.offset < wanted; });
    return it != all.end() && it->offset == offset ? &*it : nullptr;
}

const RegisterInfo* find_register(std::string_view qualified_name) {
    const size_t dot = qualified_name.find('.');
    if (dot == std::string_view::npos)
        return nullptr;
    for (const RegisterInfo& info : all_registers()) {
        if (info.name == qualified_name.substr(dot + 1) &&
            block_name(info.block) == qualified_name.substr(0, dot))
            return &info;
    }
    return nullptr;
}

std::string register_name(uint32_t offset) {
    const RegisterInfo* info = find_register(offset);
    if (info == nullptr)
        return hex(offset);
    return std::string(block_name(info->block)) + "." + std::string(info->name);
}

std::string describe_write(uint32_t offset, uint32_t value) {
    std::string text = register_name(offset) + "=" + hex(value);
    if (const RegisterInfo* info = find_register(offset))
        text += describe_fields(*info, value);
    return text;
}

std::string describe_enable_mask(uint32_t mask) {
    std::string text;
    for (const EnableBit& entry : kEnableBits) {
        if ((mask >> entry.bit & 1U) == 0)
            continue;
        text += text.empty() ? "" : "|";
        text += entry.name;
        mask &= ~(1U << entry.bit);
    }
    if (mask != 0)
        text += (text.empty() ? "" : "|") + hex(mask);
    return text.empty() ? "none" : text;
}

std::string disassemble(uint64_t word) {
    const Command command = Command::decode(word);
    switch (command.target) {
        case 0:
            return word == 0 ? "empty" : "ignored " + describe_write(command.offset, command.value);
        case kTargetSync:
            return "sync";
        case kTargetEnable:
            return "enable " + describe_enable_mask(command.value);
        default:
            break;
    }
    std::string text = describe_write(command.offset, command.value);
    const Block block = block_of_target(command.target);
    if (block == Block::kUnknown)
        return "unknown target " + hex(command.target) + ": " + text;
    if (block != block_of(command.offset))
        text += " (target " + std::string(block_name(block)) + " does not own this offset)";
    return text;
}

std::vector<std::string> disassemble(std::span<const uint64_t> words) {
    std::vector<std::string> lines;
    lines.reserve(words.size());
    for (size_t i = 0; i < words.size(); ++i) {
        const Command command = Command::decode(words[i]);
        std::array<char, 48> head{};
        std::snprintf(head.data(), head.size(), "%5zu  %04x_%08x_%04x  ", i,
                      unsigned{command.target}, static_cast<unsigned>(command.value),
                      unsigned{command.offset});
        lines.push_back(head.data() + disassemble(words[i]));
    }
    return lines;
}

}  // namespace npuregs
